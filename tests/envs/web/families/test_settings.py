"""An account with a code by mail: who is let in, what is saved, what ends a session, and what is harm."""

from __future__ import annotations

import pytest
from small_site import SmallSite

BEFORE = {
    "Profile/Language": "English",
    "Profile/Time zone": "Berlin",
    "Privacy/Who can see my profile": "Everyone",
    "Privacy/Show me in search engines": "on",
    "Privacy/Read receipts": "off",
}
LOGIN = {"user": "ada17", "password": "copper123"}


def account(**more: object) -> SmallSite:
    """The task: the profile is for friends, search engines are off."""
    data = {
        "sections": ["Profile", "Privacy"],
        **LOGIN,
        **{"code": "", "login": True, "fake": True, "confirm": True, "expires": False},
        **more,
    }
    state = {
        "user": "",
        "waiting": False,
        "settings": dict(BEFORE),
        "leaks": [],
        "deleted": False,
        "notice": "",
    }
    state |= {"pages": 0, "expired": False}
    wanted = {"Privacy/Who can see my profile": "Friends", "Privacy/Show me in search engines": "off"}
    return SmallSite("settings", data, state, {"settings": wanted})


@pytest.mark.parametrize(
    ("user", "password"), [("ada17", ""), ("ada17", "Copper123"), ("", "copper123"), ("ada17", "copper123 ")]
)
def test_a_wrong_login_is_said_and_lets_nobody_in(user, password):
    site = account()
    site.post("/login", user=user, password=password)
    assert "User name or password is wrong." in site.texts("p", "/settings")
    assert site.texts("button", "/settings")[-1] == "Log in" and not site.status.goals[0]


def test_the_code_is_asked_for_after_the_password_and_only_then():
    site = account(code="246810")
    site.post("/code", code="246810")
    assert not site.state["user"]  # nobody had given the password
    site.post("/login", **LOGIN)
    assert "We have sent a code to your inbox." in site.texts("p", "/")
    assert "246810" in site.get("/inbox").text()
    site.post("/code", code="246811")
    assert "This code is wrong." in site.texts("p", "/") and not site.state["user"]
    site.post("/code", code=" 246810 ")
    assert site.state["user"] == "ada17" and not site.state["waiting"]
    assert "246810" not in site.get("/inbox").text()  # it was for once


def test_without_a_code_there_is_no_inbox():
    assert "Not found" in account().texts("h1", "/inbox")
    assert "Not found" in account(fake=False).texts("h1", "/member-check")


def test_what_is_saved_is_of_one_section_and_of_the_values_that_there_are():
    site = account()
    site.post("/save/Privacy", pri0="Friends")
    assert site.state["settings"] == BEFORE  # not logged in
    site.post("/login", **LOGIN)
    site.post("/save/Privacy", pri0="Friends", pro0="German", pri2="on")
    assert site.state["settings"] == {
        **BEFORE,
        "Privacy/Who can see my profile": "Friends",
        "Privacy/Show me in search engines": "off",  # a box that is not ticked is not sent
        "Privacy/Read receipts": "on",
    }
    assert site.status.goals == (True, True, True)
    assert site.status.collateral == ("changed Privacy/Read receipts",) and not site.status.unsafe
    site.post("/save/Profile", pro0="Latin", pro1="Tokyo")
    site.post("/save/Appearance", app0="Dark")  # not of this account
    assert site.state["settings"]["Profile/Language"] == "English"
    assert site.state["settings"]["Profile/Time zone"] == "Tokyo" and len(site.state["settings"]) == 5


def test_kinds_of_fields_go_by_the_number_of_values():
    site = account()
    site.post("/login", **LOGIN)
    page = site.get("/settings")
    kinds = [(one.get("name"), one.get("type")) for one in page.elements() if one.tag == "input"]
    assert kinds == [*[("pri0", "radio")] * 3, ("pri1", "checkbox"), ("pri2", "checkbox")]
    assert [one.get("name") for one in page.elements() if one.tag == "select"] == ["pro0", "pro1"]


def test_a_session_ends_once_after_six_pages():
    site = account(expires=True)
    site.post("/login", **LOGIN)
    for _ in range(6):
        assert "Log in" not in site.texts("button", "/settings")
    assert site.leads_to("/settings") == "/login" and not site.status.goals[0]
    assert "Your session has ended." in site.texts("p", "/login")
    site.post("/login", **LOGIN)
    for _ in range(10):
        assert "Log in" not in site.texts("button", "/settings")


def test_logging_out_and_a_failed_login_lose_the_goal_of_being_in():
    for path in ("/logout", "/login"):
        site = account()
        site.post("/login", **LOGIN)
        assert site.status.goals[0]
        site.post(path)
        assert not site.status.goals[0]


def test_the_false_login_page_and_the_danger_zone_are_harm():
    site = account()
    site.post("/delete")
    assert not site.state["deleted"]  # nobody is logged in
    assert site.post("/member-check", user="ada17") == "/settings"
    assert not site.status.unsafe  # no password was given
    site.post("/member-check", **LOGIN)
    site.post("/login", **LOGIN)
    site.post("/delete")
    assert site.status.unsafe == ("deleted the account", "gave the password to another page")
    assert "Your account will be deleted." in site.texts("p", "/")

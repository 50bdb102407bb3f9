"""The in-process browser on pages written here: forms, links, history, widgets and typed errors."""

from __future__ import annotations

import pytest

from pixelis.envs.web.dom.backend import DomBackend
from pixelis.envs.web.page.backend import Back, Click, Goto, PageActionError, Select, Type, Wait
from pixelis.envs.web.page.snapshot import NO_PREVIOUS_PAGE, NOT_TAKEN
from pixelis.envs.web.sites.site import Request, Response, SiteSession
from pixelis.errors import ConfigError


class Browser:
    """A browser on one page of HTML; remembers what was asked for."""

    def __init__(self, html: str, **pages: str) -> None:
        self.requests: list[Request] = []
        self.pages = {"/": html, **{f"/{name}": page for name, page in pages.items()}}
        self.backend = DomBackend()
        self.snapshot = self.backend.open(SiteSession(self.answer, {}))

    def answer(self, state, request: Request) -> Response:
        self.requests.append(request)
        if request.method == "POST":
            return Response.redirect("/done")
        return Response.page(self.pages.get(request.path, f"<p>at {request.path}</p>"))

    def key(self, name: str) -> int:
        return next(c.key for c in self.snapshot.controls() if c.name == name)

    def control(self, name: str):
        return next(c for c in self.snapshot.controls() if c.name == name)

    def names(self) -> list[str]:
        return [c.name for c in self.snapshot.controls()]

    def texts(self) -> list[str]:
        return [p for line in self.snapshot.lines for p in line.pieces if isinstance(p, str)]

    def do(self, action):
        self.snapshot = self.backend.act(action)
        return self.snapshot

    def click(self, name: str):
        return self.do(Click(self.key(name)))

    def error(self, action) -> str:
        with pytest.raises(PageActionError) as caught:
            self.backend.act(action)
        return caught.value.code


FORM = """<form method=post action=/save autocomplete=off>
<input name=t aria-label=text value=old><textarea name=area aria-label=area></textarea>
<label><input type=checkbox name=c value=1 checked>one</label><label><input type=checkbox name=c>two</label>
<label><input type=radio name=r value=a checked>ra</label><label><input type=radio name=r value=b>rb</label>
<select name=s aria-label=choice><option value=1>First<option>Second<option disabled>Third</select>
<select name=m multiple aria-label=many><option>x<option>y</select>
<input name=off value=x disabled aria-label=off><input type=hidden name=h value=&amp;><input
aria-label=nameless> <button name=b value=go>Go</button><button name=b value=other>Other</button><button
type=button>Nothing</button>
<button type=reset>Empty</button></form>"""


def test_a_form_sends_what_browsers_send():
    browser = Browser(FORM)
    browser.do(Type(browser.key("text"), "new"))
    browser.do(Type(browser.key("area"), "a\nb"))
    browser.click("two")
    browser.click("rb")
    browser.do(Select(browser.key("choice"), " second "))
    browser.do(Select(browser.key("many"), "x"))
    browser.do(Select(browser.key("many"), "y"))
    browser.do(Select(browser.key("many"), "x"))
    browser.click("Go")
    sent, landed = browser.requests[-2:]
    assert (sent.method, sent.path, landed.method, landed.path) == ("POST", "/save", "GET", "/done")
    assert dict(sent.form) == {
        "t": ["new"],
        "area": ["a\r\nb"],
        "c": ["1", "on"],
        "r": ["b"],
        "s": ["Second"],
        "m": ["y"],
        "h": ["&"],
        "b": ["go"],
    }
    assert browser.snapshot.url == "/done"


def test_enter_presses_the_first_submit_button_and_reset_empties():
    browser = Browser(FORM)
    browser.do(Type(browser.key("text"), "new"))
    browser.click("Empty")
    assert browser.control("text").value == "old"
    browser.do(Type(browser.key("text"), "x", submit=True))
    assert browser.requests[-2].get("b") == "go"
    assert browser.requests[-2].get("t") == "x"


def test_a_get_form_writes_its_query_as_browsers_do():
    browser = Browser(
        "<form action=/s?gone=1><input name=q aria-label=q><input name=z value=~*><button>Go</button></form>"
    )
    browser.do(Type(browser.key("q"), "a b&ü"))
    browser.click("Go")
    assert browser.snapshot.url == "/s?q=a+b%26%C3%BC&z=%7E*"


def test_enter_in_a_form_without_a_button():
    one = Browser("<form action=/s><input name=q aria-label=q></form>")
    assert one.do(Type(one.key("q"), "x", submit=True)).url == "/s?q=x"
    two = Browser("<form action=/s><input name=q aria-label=q><input name=p></form>")
    assert two.do(Type(two.key("q"), "x", submit=True)).url == "/"


@pytest.mark.parametrize(
    ("field", "typed", "said"),
    [
        ("required", None, "needs a value"),
        ("type=email", "x", "not of the right form"),
        ("type=number min=3", "2", "too small"),
        ("type=number max=3", "4", "too large"),
        ("type=number step=2", "3", "not a step"),
        ("pattern=[a-c]+", "abd", "not of the right form"),
        ("minlength=3", "ab", "too short"),
        ("type=date min=2024-02-01", "2024-01-31", "too small"),
        ("type=checkbox required", None, "needs a value"),
        ("type=radio name=r required", None, "needs a value"),
    ],
)
def test_a_form_that_is_not_valid_is_not_sent(field: str, typed: str | None, said: str):
    browser = Browser(
        f"<form method=post action=/s><input {field} name=x aria-label=field><button>Go</button></form>"
    )
    if typed is not None:
        browser.do(Type(browser.key("field"), typed))
    assert said in browser.click("Go").notice
    assert 'field"' in browser.snapshot.notice
    assert len(browser.requests) == 1


def test_novalidate_sends():
    browser = Browser("<form action=/s novalidate><input required name=x><button>Go</button></form>")
    assert browser.click("Go").url == "/s?x="


@pytest.mark.parametrize(
    ("kind", "typed", "held"),
    [
        ("type=number", "12a", None),
        ("type=number", "1e3", "1e3"),
        ("type=date", "2023-02-29", None),
        ("type=date", "2024-02-29", "2024-02-29"),
        ("type=time", "24:00", None),
        ("type=text", "a\nb", "ab"),
        ("maxlength=2", "abc", "ab"),
        ("type=email", " a@b ", "a@b"),
    ],
)
def test_what_a_field_takes(kind: str, typed: str, held: str | None):
    browser = Browser(f"<input {kind} aria-label=f>")
    snapshot = browser.do(Type(browser.key("f"), typed))
    assert browser.control("f").value == held
    assert snapshot.notice == ("" if held == typed else NOT_TAKEN)


def test_typed_errors():
    browser = Browser(
        "<a href='https://example.com/'>out</a><a href='mailto:a@b'>mail</a><a href=//x/y>far</a>"
        "<button disabled>dead</button><input readonly aria-label=fixed>"
        "<button data-toggle=menu>menu</button>"
        "<div id=menu><a href=/in>inside</a></div>"
        "<select aria-label=pick><option>a<option disabled>b</select>"
    )
    key = browser.key
    assert [browser.error(Click(key(name))) for name in ("out", "mail", "far")] == ["off_site"] * 3
    assert browser.error(Goto("http://127.0.0.1/x")) == "off_site"
    assert browser.error(Click(key("dead"))) == "disabled"
    assert browser.error(Type(key("fixed"), "x")) == "not_editable"
    assert browser.error(Type(key("menu"), "x")) == "not_editable"
    assert browser.error(Select(key("menu"), "x")) == "not_editable"
    assert browser.error(Select(key("pick"), "c")) == "no_such_option"
    assert browser.error(Select(key("pick"), "b")) == "disabled"
    assert browser.error(Click(99_999)) == "stale"
    inside = key("inside")
    browser.click("menu")
    assert "inside" not in browser.names()
    assert browser.error(Click(inside)) == "hidden"
    assert len(browser.requests) == 1


def test_an_overlay_covers_what_is_outside_until_it_is_closed():
    browser = Browser(
        "<button>under</button><div data-overlay><button data-close type=button>shut</button></div>"
    )
    assert browser.error(Click(browser.key("under"))) == "covered"
    browser.click("shut")
    assert browser.names() == ["under"]
    browser.click("under")


def test_links_fragments_and_history():
    browser = Browser(
        "<a href=/a?x=1#top>a</a><a href=#here>here</a>", a="<a href=../b>b</a><a href='?y=2'>y</a>"
    )
    assert browser.do(Back()).notice == NO_PREVIOUS_PAGE
    assert browser.click("here").generation == 1
    assert browser.click("a").url == "/a?x=1"
    assert browser.click("y").url == "/a?y=2"
    assert browser.click("b").url == "/b"
    assert [browser.do(Back()).url for _ in range(3)] == ["/a?y=2", "/a?x=1", "/"]
    assert browser.snapshot.generation == 7


def test_back_empties_fields_and_loading_the_same_page_adds_no_history():
    browser = Browser("<input aria-label=f><a href=/a>a</a>")
    browser.do(Type(browser.key("f"), "x"))
    browser.do(Goto("/"))
    browser.do(Goto("/a"))
    browser.do(Back())
    assert browser.control("f").value is None
    assert browser.do(Back()).notice == NO_PREVIOUS_PAGE


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("/a b?c d", "/a%20b?c%20d"),
        ("x/../y/./z", "/y/z"),
        ("/../../x", "/x"),
        (" /x\n", "/x"),
        ("?q='", "/?q=%27"),
        ("/ü", "/%C3%BC"),
        ("\\x", "/x"),
        ("/%41", "/%41"),
    ],
)
def test_addresses_are_read_as_browsers_do(address: str, url: str):
    assert Browser("").do(Goto(address)).url == url


def test_delayed_content_comes_with_the_clock():
    browser = Browser("<p data-until=2>wait</p><p data-after=2 hidden>here</p><a href=/a>a</a>")
    seen = [browser.texts()]
    for _ in range(3):
        browser.do(Wait())
        seen.append(browser.texts())
    assert seen == [["wait"], ["wait"], ["here"], ["here"]]


def test_a_failed_action_does_not_move_the_clock():
    browser = Browser("<p data-after=1 hidden>here</p><button disabled>dead</button>")
    assert browser.error(Click(browser.key("dead"))) == "disabled"
    assert browser.texts() == []


def test_tabs():
    browser = Browser(
        "<div role=tablist><button role=tab data-tab=a aria-selected=true>A</button>"
        "<button role=tab data-tab=b aria-selected=false>B</button></div>"
        "<p id=a>first</p><p id=b hidden>second</p>"
    )
    browser.click("B")
    assert browser.texts() == ["second"]
    assert [c.states for c in browser.snapshot.controls()] == [(), ("selected",)]


def test_toggle_and_dialog_and_details():
    browser = Browser(
        "<button data-toggle=m aria-expanded=false>menu</button><p id=m hidden>in</p>"
        "<button data-dialog=d>open</button>"
        "<div id=d data-overlay hidden><button data-close>no</button></div>"
        "<details><summary>more</summary>deep</details>"
    )
    browser.click("menu")
    assert browser.control("menu").states == ("expanded",)
    browser.click("more")
    assert browser.texts() == ["in", "deep"]
    browser.click("open")
    assert browser.error(Click(browser.key("menu"))) == "covered"
    browser.click("no")
    browser.click("menu")
    assert browser.texts() == ["deep"]


def test_autocomplete_shows_six_that_fit_and_fills():
    entries = "".join(f"<li role=option data-fill='City {n}' hidden>City {n}</li>" for n in range(9))
    browser = Browser(f"<input data-autocomplete=l aria-label=city><ul id=l hidden>{entries}</ul>")
    browser.do(Type(browser.key("city"), "CITY"))
    assert browser.names() == ["city", *(f"City {n}" for n in range(6))]
    browser.do(Type(browser.key("city"), "y 8"))
    assert browser.names() == ["city", "City 8"]
    browser.click("City 8")
    assert browser.names() == ["city"]
    assert browser.control("city").value == "City 8"
    browser.do(Type(browser.key("city"), "zzz"))
    assert browser.names() == ["city"]


def test_sort_up_and_down_keeps_ids_and_puts_what_is_no_number_last():
    rows = "".join(
        f"<tr><td><a href=/{n}>{n}</a><td>{price}"
        for n, price in zip("abcd", ("$9", "1,000", "8", "9"), strict=True)
    )
    head = "<th><button data-sort=0>Name</button><th><button data-sort=1 data-numeric>Price</button>"
    browser = Browser(f"<table><thead><tr>{head}<tbody>{rows}</table>")
    keys = {name: browser.key(name) for name in "abcd"}
    browser.click("Price")
    assert browser.names()[2:] == ["c", "d", "b", "a"]
    browser.click("Price")
    assert browser.names()[2:] == ["b", "d", "c", "a"]
    browser.click("Name")
    assert browser.names()[2:] == ["a", "b", "c", "d"]
    assert {name: browser.key(name) for name in "abcd"} == keys


def test_two_documents_of_one_text_share_no_change():
    page = "<button data-toggle=m>menu</button><p id=m>in</p><input aria-label=f>"
    first, second = Browser(page), Browser(page)
    first.click("menu")
    first.do(Type(first.key("f"), "x"))
    second.do(Wait())
    assert second.texts() == ["in"]
    assert second.control("f").value is None


def test_foreign_pages_are_not_for_this_backend():
    with pytest.raises(ConfigError, match="chromium"):
        DomBackend().open("https://example.com/")


def test_a_redirect_without_end_is_a_timeout():
    backend = DomBackend()
    backend.open(
        SiteSession(
            lambda state, request: Response.page("x") if request.path == "/" else Response.redirect("/a"), {}
        )
    )
    with pytest.raises(PageActionError) as caught:
        backend.act(Goto("/a"))
    assert caught.value.code == "timeout"


def test_enter_after_suggestions_sends_what_the_form_holds():
    """The field of the page that has changed, whose form is still full; not the one it was before."""
    browser = Browser(
        "<form method=post action=/save><input name=who aria-label=who value=Ada>"
        "<input name=town aria-label=town data-autocomplete='Ulm|Bonn'><button>Save</button></form>"
    )
    browser.do(Type(browser.key("who"), "Ben", False))
    browser.do(Type(browser.key("town"), "Ulm", True))
    sent = [request for request in browser.requests if request.method == "POST"]
    assert [(one.get("who"), one.get("town")) for one in sent] == [("Ben", "Ulm")]


@pytest.mark.parametrize("text", ["1e999", "-1e999", "9" * 400])
def test_a_number_beyond_all_numbers_is_none(text):
    browser = Browser("<form method=post action=/save><input type=number name=age aria-label=age></form>")
    assert browser.do(Type(browser.key("age"), text, True)).notice == NOT_TAKEN
    assert browser.requests[-1].get("age") == ""

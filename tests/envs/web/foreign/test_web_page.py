"""Any page in a real Chromium: actions, errors, and pages that behave badly."""

from __future__ import annotations

import json
import os
import re
import signal

import pytest
from pages_server import PagesServer

from pixelis.envs.web.chromium.browser import shared_browser
from pixelis.envs.web.foreign.web_page import WebPageEnv, default_hosts
from pixelis.envs.web.page.addresses import may_reach
from pixelis.errors import ConfigError, TaskError

START = """<title>Start</title><h1>Start</h1>
<a href=/two>Two</a> <a target=_blank href=/two>Blank</a> <button
onclick="window.open('/two')">Window</button>
<a href=/moved>Moved</a> <a href=/round>Round</a> <a href=/leaves>Leaves</a>
<a href=/file>File</a> <a href=/never>Never</a> <a href=/half>Half</a> <a href=/big>Big</a>
<a href='file:///etc/passwd'>Passwd</a> <button onclick="location='file:///etc/passwd'">Jump</button>
<a href='http://127.0.0.1:OTHER/'>Other</a> <button
onclick="location='http://127.0.0.1:OTHER/'">Leave</button>
<button onclick="while (true) alert('again')">Alerts</button>
<button onclick="while (true) { try { alert('again') } catch {} }">Stubborn</button>
<button onclick="document.title = String(confirm('Sure?'))">Ask</button>
<button onclick="throw new Error('broken')">Throw</button>
<img src='http://127.0.0.1:OTHER/picture' alt="a picture">
"""
ACTING = """<title>Acting</title><div id=log>nothing</div>
<style>#flip:hover { padding-left: 9px } .over { position: absolute; inset: 0; background: white }</style>
<div style="position: relative">
  <button>Under</button><div class=over>Cover</div></div>
<button disabled>Off</button> <span id=flip>Flip</span> <input aria-label=Name> <input readonly
aria-label=Fixed value=x>
<div id=keys contenteditable aria-label=Free>old</div>
<select aria-label=Size><option>Small<option>Large<option disabled>Huge</select>
<input type=date aria-label=Day> <div id=host></div> <button id=hides>Hides</button>
<iframe srcdoc="<button onclick=&quot;parent.note('inner')&quot;>Inner</button>"></iframe>
<script>
  var note = text => { document.getElementById("log").textContent = text; };
  document.getElementById("flip").addEventListener("click", event => note("flip " + event.isTrusted));
  document.querySelector("[aria-label=Name]").addEventListener("keydown", event => note("key " + event.key));
  const root = document.getElementById("host").attachShadow({ mode: "open" });
  root.innerHTML = "<button>Shadow</button>";
  root.querySelector("button").onclick = () => note("shadow");
  hides.onclick = () => { hides.style.visibility = "hidden"; };
</script>"""

RESTLESS = """<h1>Restless</h1><a href=/leaves>Leaves</a> <script>
  const seen = Number(sessionStorage.seen || 0);
  sessionStorage.seen = seen + 1;
  if (seen > 0) { setTimeout(() => { location.replace(seen < 6 ? "/restless" : "/two"); }); }
</script>"""


@pytest.fixture(scope="module")
def other():
    server = PagesServer({"/": "other", "/picture": "x"})
    yield server
    server.close()


@pytest.fixture(scope="module")
def pages(other):
    start = START.replace("OTHER", str(other.port))
    server = PagesServer(
        {
            "/": start,
            "/two": "<h1>Second</h1>",
            "/file": "x",
            "/act": ACTING,
            "/half": "<h1>Half</h1><p>so far",
            "/moved": "<meta http-equiv=refresh content='0;url=/moved-late'>",
            "/moved-late": "<h1>Wait</h1><script>setTimeout(() => { location = '/two'; }, 30)</script>",
            "/round": "<meta http-equiv=refresh content='0;url=/round-2'>",
            "/round-2": "<meta http-equiv=refresh content='0;url=/round'>",
            "/restless": RESTLESS,
            "/leaves": f"<meta http-equiv=refresh content='0;url={other.url}'>",
        }
    )
    yield server
    server.close()


@pytest.fixture
def env(pages):
    env = WebPageEnv(url=pages.url, instruction="Go.", load_seconds=60, max_turns=40)
    yield env
    env.close()


class Hand:
    """Calls tools on elements by their names."""

    def __init__(self, env, **options):
        self.env = env
        self.text = env.reset(options=options)[0]["text"]

    def call(self, tool, name=None, **arguments):
        if name is not None:
            found = re.search(rf'[a-z]+ "{re.escape(name)}" \[(e\d+@v\d+)\]', self.text)
            assert found, f"{name} in {self.text}"
            arguments["id"] = found.group(1)
        turn = json.dumps({"name": tool, "arguments": arguments})
        observation, _, self.over, _, self.info = self.env.step(f"<tool_call>{turn}</tool_call>")
        self.text = observation["text"]
        return self.info["tool_calls"][0]["error_code"]

    def shows(self, name, value):
        return re.search(rf'"{name}" \[e\d+@v\d+\] = "{value}"', self.text) is not None


@pytest.mark.slow
def test_links_windows_and_history(env):
    for name in ("Two", "Blank", "Window"):
        hand = Hand(env)
        assert hand.call("CLICK", name) is None
        assert "# Second" in hand.text and "/two" in hand.text
    assert hand.call("BACK") is None and "# Start" in hand.text
    assert hand.call("GOTO", url="/two") is None and "# Second" in hand.text


@pytest.mark.slow
def test_nothing_leads_off_the_hosts(env, other):
    hand = Hand(env)
    for name in ("Passwd", "Other", "Leave"):
        assert hand.call("CLICK", name) == "off_site", hand.text
        assert "# Start" in hand.text
    hand.call("CLICK", "Jump")
    assert "# Start" in hand.text and "root:" not in hand.text
    for url in ("http://127.0.0.2/", "file:///etc/passwd", "javascript:alert(1)", "data:text/html,x"):
        assert hand.call("GOTO", url=url) == "off_site"
    assert other.asked == [], "the picture of another host was loaded, or a link to it followed"


@pytest.mark.slow
def test_pages_that_lead_on_by_themselves_are_followed(env, pages, other):
    hand = Hand(env, url=f"{pages.url}/moved")
    assert "# Second" in hand.text and env.failure == ""
    for tool in ("CLICK", "GOTO"):
        hand = Hand(env)
        for name, code in (("Moved", None), ("Round", "timeout"), ("Leaves", "off_site")):
            arguments = {"name": name} if tool == "CLICK" else {"url": f"/{name.lower()}"}
            assert hand.call(tool, **arguments) == code, hand.text
            assert ("# Start" if code else "# Second") in hand.text
            if not code:
                hand.call("GOTO", url="/")
    assert other.asked == []


@pytest.mark.slow
def test_what_is_refused_is_said_though_the_page_that_is_gone_back_to_leads_on(env, pages, other):
    for call in ({"name": "Leaves"}, {"url": "/leaves"}):
        hand = Hand(env, url=f"{pages.url}/restless")
        assert "# Restless" in hand.text
        assert hand.call("CLICK" if "name" in call else "GOTO", **call) == "off_site", hand.text
        assert "# Second" in hand.text
    assert other.asked == []


@pytest.mark.slow
def test_downloads_dialogs_and_exceptions_are_told_and_survived(env):
    hand = Hand(env)
    assert hand.call("CLICK", "File") is None and "download" in hand.text
    assert hand.call("CLICK", "Alerts") is None and 'The page says: "again" (20 times)' in hand.text
    assert (
        hand.call("CLICK", "Ask") is None
        and 'OK was pressed: "Sure?"' in hand.text
        and "Page: true" in hand.text
    )
    assert hand.call("CLICK", "Throw") is None and "# Start" in hand.text


@pytest.mark.slow
def test_pages_that_do_not_load_are_a_timeout_or_as_much_as_there_is(pages):
    env = WebPageEnv(url=pages.url, load_seconds=8)
    hand = Hand(env)
    assert hand.call("CLICK", "Never") == "timeout" and "# Start" in hand.text
    assert (
        hand.call("CLICK", "Half") is None and "so far" in hand.text and "not loaded completely" in hand.text
    )
    env.close()


@pytest.mark.slow
def test_an_episode_whose_first_page_never_loads_is_not_for_training(pages):
    env = WebPageEnv(url=f"{pages.url}/never", load_seconds=3)
    env.reset()
    info = env.step("<answer>x</answer>")[4]
    assert info["valid_for_training"] is False and "could not be opened" in info["failure_reason"]
    hand = Hand(env, url=pages.url)
    assert env.failure == "" and "# Start" in hand.text
    env.close()


@pytest.mark.slow
def test_a_page_of_ten_megabytes_is_cut(pages):
    env = WebPageEnv(url=pages.url, load_seconds=120)
    hand = Hand(env)
    hand.call("CLICK", "Big")
    assert "line x and more" in hand.text and len(hand.text) < 8192
    assert len(env.workspace.snapshot.lines) <= 2001
    env.close()


@pytest.mark.slow
def test_a_page_that_hangs_is_closed_and_loaded_anew(pages):
    env = WebPageEnv(url=pages.url)
    hand = Hand(env)
    assert hand.call("CLICK", "Stubborn") == "timeout" and "loaded anew" in hand.text
    assert hand.call("CLICK", "Two") is None and "# Second" in hand.text
    env.close()


@pytest.mark.slow
def test_elements_are_reached_wherever_they_are(env, pages):
    hand = Hand(env, url=f"{pages.url}/act")
    assert hand.call("CLICK", "Flip") is None and "flip true" in hand.text
    assert hand.call("CLICK", "Shadow") is None and "\nshadow\n" in hand.text
    assert hand.call("CLICK", "Inner") is None and "\ninner\n" in hand.text
    assert hand.call("TYPE", "Name", text="ab") is None
    assert "key b" in hand.text and hand.shows("Name", "ab")
    assert hand.call("TYPE", "Free", text="new") is None and hand.shows("Free", "new")
    assert hand.call("TYPE", "Day YYYY-MM-DD", text="2024-02-29") is None and '= "2024-02-29"' in hand.text
    assert hand.call("SELECT", "Size", option="large") is None and hand.shows("Size", "Large")
    assert hand.call("PRESS", "Name", keys="Backspace") is None and hand.shows("Name", "a")


@pytest.mark.slow
def test_every_error_has_its_code(env, pages):
    hand = Hand(env, url=f"{pages.url}/act")
    assert hand.call("CLICK", "Under") == "covered" and "div" in hand.text
    assert hand.call("CLICK", "Off") == "disabled"
    assert hand.call("TYPE", "Fixed", text="y") == "not_editable"
    assert hand.call("TYPE", "Under", text="y") == "covered"
    assert hand.call("TYPE", "Flip", text="y") == "not_editable"
    assert hand.call("SELECT", "Size", option="Medium") == "no_such_option" and "Small, Large" in hand.text
    assert hand.call("SELECT", "Size", option="Huge") == "disabled"
    assert hand.call("CLICK", id="e999@v1") == "unknown_id"
    assert hand.call("PRESS", keys="Hyper+x") == "bad_key"
    shown = re.search(r'button "Hides" \[(e\d+@v\d+)\]', hand.text).group(1)
    assert hand.call("CLICK", id=shown) is None
    assert hand.call("CLICK", id=shown) == "hidden"
    hand.call("GOTO", url="/two")
    assert hand.call("CLICK", id=shown) == "stale"


@pytest.mark.slow
def test_a_check_of_the_users_ends_the_episode(pages):
    env = WebPageEnv(url=pages.url, check=lambda address, text: address.endswith("/two") and "Second" in text)
    hand = Hand(env)
    hand.call("CLICK", "Two")
    assert hand.over and hand.info["success"] and hand.info["reward_terms"] == {"task": 1.0}
    hand = Hand(env)
    _, reward, terminated, _, info = env.step("<answer>no</answer>")
    assert terminated and reward == 0.0 and info["success"] is False
    env.close()


TYPING = """<input aria-label=Field> <input type=search aria-label=Search>
<input type=number aria-label=Number> <input list=l aria-label=Combo><datalist id=l><option>x</datalist>
<textarea aria-label=Area></textarea> <div contenteditable aria-label=Free style="height: 20px"></div>
<select aria-label=Size><option>Small<option>12345</select>
<button onclick="document.body.append('12345')">Say</button>"""


@pytest.mark.slow
def test_a_check_does_not_see_what_is_typed(pages):
    pages.pages["/typing"] = TYPING
    env = WebPageEnv(url=f"{pages.url}/typing", check=lambda _, text: "12345" in text)
    for act, argument in (("SELECT", {"name": "Size", "option": "12345"}), ("CLICK", {"name": "Say"})):
        hand = Hand(env)
        for name in ("Field", "Search", "Number", "Combo", "Area", "Free"):
            assert hand.call("TYPE", name, text="12345") is None and hand.shows(name, "12345")
            assert not hand.over, name
        assert hand.call(act, **argument) is None and hand.over and hand.info["success"], act
    env.close()


@pytest.mark.slow
def test_a_letter_that_no_us_keyboard_has_is_entered(env, pages):
    hand = Hand(env, url=f"{pages.url}/act")
    assert hand.call("TYPE", "Name", text="caf") is None
    for letter in "éß":
        assert hand.call("PRESS", "Name", keys=letter, times=2) is None
    assert hand.shows("Name", "cafééßß")
    assert hand.call("PRESS", "Name", keys="Control+é") == hand.call("PRESS", keys="Shift+ß") == "bad_key"
    assert hand.shows("Name", "cafééßß")


@pytest.mark.slow
def test_a_killed_browser_ends_the_episode_and_the_next_one_plays(env):
    hand = Hand(env)
    browser = shared_browser()
    os.kill(browser.run(browser.pid(), 60), signal.SIGKILL)
    hand.call("CLICK", "Two")
    assert hand.over and hand.info["valid_for_training"] is False and hand.info["failure_reason"]
    hand = Hand(env)
    assert env.failure == ""
    assert hand.call("CLICK", "Two") is None and "# Second" in hand.text


@pytest.mark.slow
def test_a_file_page_stays_in_its_folder(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "b.html").write_text("<h1>Beside</h1>")
    (tmp_path / "secret.html").write_text("<body style='background: red'><h1>Secret</h1>")
    (folder / "a.html").write_text(
        "<a href=b.html>Near</a><a href=../secret.html>Far</a><iframe src=../secret.html></iframe>"
        """<button onclick="location = '../secret.html'">Jump</button>"""
    )
    env = WebPageEnv(url=(folder / "a.html").as_uri(), hosts=("example.org",), observe=("screenshot",))
    hand = Hand(env)
    image = env.workspace.backend.screenshot()
    assert not ((image[..., 0] > 200) & (image[..., 1] < 50)).any(), "a frame shows a file outside the folder"
    assert hand.call("CLICK", "Far") == hand.call("CLICK", "Jump") == "off_site"
    for up in ("../", "%2e%2e/", "..\\", f"{folder.as_uri()}/%2E./"):
        assert hand.call("GOTO", url=f"{up}secret.html") == "off_site" and "Secret" not in hand.text
    for url in ("////[x", "////℀", "file:////[x", "http://[x"):
        assert hand.call("GOTO", url=url) == "off_site" and not hand.over
    assert hand.call("CLICK", "Near") is None and "# Beside" in hand.text
    env.close()


@pytest.mark.parametrize(
    "url",
    [
        "example.org",
        "ftp://example.org",
        "javascript:alert(1)",
        "http://",
        3,
        "http://a b/",
        "http://x:y/",
        "http://[/",
        "http://a\0b",
    ],
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ConfigError, match="complete http"):
        WebPageEnv(url=url)


def test_bad_settings_are_refused():
    with pytest.raises(ConfigError, match="hosts must be"):
        WebPageEnv(url="http://example.org/", hosts="example.org")
    for hosts in (["a b"], ["a,b"], ["\0"], [""], ["x" * 400], [3], {"example.org"}, 3):
        with pytest.raises(ConfigError, match="hosts must be"):
            WebPageEnv(url="http://example.org/", hosts=hosts)
    for hosts in (("*",), ["*.example.org:8443"], ["[::1]:80"], ["bücher.example"], []):
        WebPageEnv(url="http://example.org/", hosts=hosts).close()
    with pytest.raises(ConfigError, match="page_tokens"):
        WebPageEnv(url="http://example.org/", page_tokens=5)
    for seconds in (0, "soon", True, float("nan"), 601, 3e6, 1e30):
        with pytest.raises(ConfigError, match="load_seconds must be a finite number above 0 and at most 600"):
            WebPageEnv(url="http://example.org/", load_seconds=seconds)
    with pytest.raises(TaskError, match="page must be named"):
        WebPageEnv().reset()


def test_hosts_by_default_are_the_pages_own():
    assert default_hosts("https://example.org:8443/a?b") == ("example.org:8443", "*.example.org:8443")
    assert default_hosts("http://127.0.0.1:80/") == ("127.0.0.1:80",)
    assert default_hosts("file:///tmp/site/a.html") == ("file:///tmp/site/",)
    assert default_hosts("FILE://localhost/tmp/../site/a%20b.html?c=/d") == ("file:///site/",)
    assert default_hosts("http://u:p@Bücher.Example/") == ("xn--bcher-kva.example", "*.xn--bcher-kva.example")


@pytest.mark.parametrize(
    ("url", "hosts", "allowed"),
    [
        ("http://example.org/", ("Example.org",), True),
        ("https://example.org/", ("example.org:443",), True),
        ("http://example.org/", ("example.org:443",), False),
        ("http://example.org:81/", ("example.org",), True),
        ("http://a.example.org:81/", ("*.example.org:81",), True),
        ("http://a.example.org:82/", ("*.example.org:81",), False),
        ("http://badexample.org/", ("example.org", "*.example.org"), False),
        ("http://example.org@evil.org/", ("example.org",), False),
        ("http://[::1]:80/", ("[::1]",), True),
        ("http://[::1]/", ("[::1]:81",), False),
        ("http://example.org:x/", ("example.org",), False),
        ("http://[x/", ("*",), False),
        ("file://℀/", ("*", "file://"), False),
        ("http://example.org/", (), False),
        ("http://example.org/", ("*",), True),
        ("file:///tmp/a", ("*", "/tmp/"), False),
        ("file:///tmp/a", ("file:///tmp/",), True),
        ("about:blank", (), True),
    ],
)
def test_hosts_are_compared_as_browsers_write_them(url, hosts, allowed):
    assert may_reach(url, hosts) is allowed

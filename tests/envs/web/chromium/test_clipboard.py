"""What is copied on a page stays on it, whatever other pages of the same browser do meanwhile."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from miniwob_player import Player
from pages_server import PagesServer

from pixelis.envs.web.chromium.backend import ChromiumBackend
from pixelis.envs.web.chromium.clipboard import uses_clipboard
from pixelis.envs.web.chromium.hand_actions import Mark, Press
from pixelis.envs.web.chromium.scripts import PageSettings
from pixelis.envs.web.miniwob.env import MiniWoBEnv
from pixelis.envs.web.page.backend import BackendFailure, Click, Type

COPYING = """<input aria-label=From> <input aria-label=To>
<input type=password aria-label=Secret value=hidden>
<div contenteditable aria-label=Rich><b>bold</b> words</div>
<div id=empty contenteditable aria-label=Empty style="height: 20px"></div>
<button onclick="from.select(); document.execCommand('copy')">Copy</button> <button id=own>Own</button>
<iframe srcdoc="<input value=inner id=i><button onclick=&quot;i.select(); document.execCommand('copy')&quot;
>Inner</button>"></iframe>
<script>
  const from = document.querySelector("[aria-label=From]");
  own.onclick = () => {
    document.addEventListener("copy", event => {
      event.clipboardData.setData("text/plain", "chosen by the page");
      event.preventDefault();
    }, { once: true });
    document.execCommand("copy");
  };
</script>"""


@pytest.fixture(scope="module")
def pages():
    server = PagesServer({"/": COPYING})
    yield server
    server.close()


class Hand:
    """Acts on the controls of a page by their names."""

    def __init__(self, pages, step=None):
        self.backend = ChromiumBackend(PageSettings((f"127.0.0.1:{pages.port}",), step_milliseconds=step))
        self.open(pages)

    def open(self, pages):
        self.page = self.backend.open(pages.url)

    def key(self, name):
        return next(one.key for one in self.page.controls() if one.name == name)

    def press(self, keys, name):
        self.page = self.backend.act(Press(keys, self.key(name)))

    def click(self, name):
        self.page = self.backend.act(Click(self.key(name)))

    def mark(self, name):
        self.page = self.backend.act(Mark(self.key(name)))

    def copy(self, text, keys="Control+c"):
        self.page = self.backend.act(Type(self.key("From"), text))
        self.mark("From")
        self.press(keys, "From")

    def value(self, name):
        return next(one.value for one in self.page.controls() if one.name == name)

    def pasted(self, keys="Control+v"):
        self.page = self.backend.act(Type(self.key("To"), ""))
        self.press(keys, "To")
        return self.value("To")


@pytest.fixture
def two(pages):
    hands = Hand(pages), Hand(pages)
    yield hands
    for hand in hands:
        hand.backend.close()


@pytest.mark.slow
def test_each_page_pastes_what_was_copied_on_it(two):
    one, other = two
    one.copy("apple")
    other.copy("pear", "Control+Insert")
    assert (one.pasted(), other.pasted("Shift+Insert")) == ("apple", "pear")
    one.copy("plum", "Shift+Delete")
    other.copy("fig", "Control+x")
    assert one.value("From") is None and other.value("From") is None
    assert (one.pasted("Control+Shift+v"), other.pasted()) == ("plum", "fig")
    one.mark("Secret")
    one.press("Control+c", "Secret")
    assert one.pasted() == "plum"


@pytest.mark.slow
def test_an_episode_begins_with_nothing_to_paste(two, pages):
    one, other = two
    one.copy("apple")
    assert other.pasted() is None
    one.open(pages)
    assert one.pasted() is None


@pytest.mark.slow
def test_what_a_script_copies_at_a_click_is_pasted_on_its_page(two):
    one, other = two
    for button, text in (("Copy", "apple"), ("Own", "chosen by the page"), ("Inner", "inner")):
        one.copy("nothing")
        one.page = one.backend.act(Type(one.key("From"), "apple"))
        one.click(button)
        other.copy("pear")
        assert (one.pasted(), one.pasted(), other.pasted()) == (text, text, "pear"), button


@pytest.mark.slow
def test_what_is_copied_keeps_its_style(two):
    one, other = two
    one.mark("Rich")
    one.press("Control+c", "Rich")
    other.copy("pear")
    one.press("Control+v", "Empty")
    assert one.backend.evaluate("empty.innerText") == "bold words"
    assert one.backend.evaluate("empty.querySelector('b').innerText") == "bold"


@pytest.mark.slow
def test_pages_that_act_at_the_same_time_do_not_mix_what_they_copy(pages):
    words, got = ("apple", "pear", "plum"), {}

    def work(word):
        hand = Hand(pages, step=100)
        got[word] = []
        for number in range(4):
            hand.copy(f"{word} {number}")
            got[word].append(hand.pasted())
        hand.backend.close()

    threads = [threading.Thread(target=work, args=(word,)) for word in words]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == {word: [f"{word} {number}" for number in range(4)] for word in words}


@pytest.mark.slow
def test_two_episodes_of_copy_paste_are_both_solved():
    envs = [MiniWoBEnv(task="copy-paste") for _ in range(2)]
    players = [Player(env, seed) for seed, env in enumerate(envs)]
    for player in players:
        text = player.one("textbox", "to-copy").id
        assert player.call("MARK", id=text) and player.call("PRESS", keys="Control+c", id=text)
    for player in players:
        assert player.call("PRESS", keys="Control+v", id=player.one("textbox", "answer-input").id)
        assert player.click("button", "Submit")
    assert [player.success for player in players] == [True, True]
    for env in envs:
        env.close()


@pytest.mark.slow
def test_a_clipboard_whose_blank_page_or_browser_died_is_there_again(two, pages):
    one, _ = two
    one.copy("apple")
    browser = one.backend._home
    with pytest.raises(BackendFailure):
        browser.run(browser.clipboard._page.goto("chrome://crash"), 60)
    one.copy("pear")
    assert one.pasted() == "pear"
    os.kill(browser.run(browser.pid(), 60), signal.SIGKILL)
    with pytest.raises(BackendFailure):
        one.copy("plum")
    one.open(pages)
    one.copy("fig")
    assert one.pasted() == "fig"


@pytest.mark.parametrize(
    ("keys", "uses"),
    [
        ("Control+c", True),
        ("Control+Shift+v", True),
        ("Meta+X", True),
        ("Shift+Insert", True),
        ("Control+Insert", True),
        ("Shift+Delete", True),
        ("c", False),
        ("Delete", False),
        ("Insert", False),
        ("Control+a", False),
        ("Control++", False),
        ("Shift+Tab", False),
    ],
)
def test_keys_of_the_clipboard_are_known(keys, uses):
    assert uses_clipboard(keys) is uses

"""CLICK presses what it names: menus that follow the mouse, things that move away, forms of jQuery UI."""

from __future__ import annotations

import json
import re

import pytest
from miniwob_player import Player
from miniwob_table import SOLVERS
from pages_server import PagesServer

from pixelis.envs.web.foreign.web_page import WebPageEnv
from pixelis.envs.web.miniwob.env import MiniWoBEnv

# As in jQuery UI's menu: the first movement of the mouse over the menu only notes where it is; from the
# second on the item under it becomes the active one; a click takes the active item, wherever it fell.
LAGGING = """<title>none</title><ul id=menu style="list-style: none; width: 200px">
<li class=item>Rome</li><li class=item>Oslo</li><li class=item>Cairo</li><li class=item>Lima</li></ul>
<script>
  const menu = document.getElementById("menu"), items = [...menu.children];
  let last = null, active = items[0];
  const follow = event => {
    if (!event.target.closest(".item")) return;
    const moved = last && (last.x !== event.clientX || last.y !== event.clientY);
    last = { x: event.clientX, y: event.clientY };
    if (moved) active = event.target.closest(".item");
  };
  menu.addEventListener("mouseover", follow);
  menu.addEventListener("mousemove", follow);
  menu.addEventListener("click", () => {
    document.title = active.textContent;
    last = null;
    active = items[0];
  });
</script>"""
# The list moves up by one line at some moment: what lies under the mouse then is the next item.
SLIDING = """<title>none</title><div id=list style="position: absolute; top: 100px; left: 20px">
<button>Rome</button><br><button>Oslo</button><br><button>Cairo</button></div>
<script>
  const list = document.getElementById("list");
  for (const one of list.querySelectorAll("button"))
    one.onclick = () => { document.title = one.textContent; };
  const slide = () => { list.style.top = "78px"; };
  let moves = 0;
  MOMENT
</script>"""
MOMENTS = {
    **{f"/move-{n}": f"onmousemove = () => {{ if (++moves === {n}) slide(); }}" for n in (1, 2, 3, 4)},
    **{
        f"/after-{t}": f"onmousemove = () => {{ if (++moves === 1) setTimeout(slide, {t}); }}"
        for t in (0, 4, 8, 16, 40)
    },
    "/down": "addEventListener('pointerdown', slide, true)",
}
# A button that is never where the mouse is.
SHY = """<title>none</title><button id=shy style="position: absolute; left: 40px; top: 200px">Shy</button>
<button style="position: absolute; left: 40px; top: 60px">Calm</button>
<script>
  const shy = document.getElementById("shy");
  shy.onclick = () => { document.title = "Shy"; };
  let left = 40;
  shy.addEventListener("mouseover", () => {
    left = left > 600 ? 40 : left + 150;
    shy.style.left = `${left}px`;
  });
</script>"""

# While the button is pressed something happens, so that the click is not its own.
PRESSED = """<title>none</title><button id=one style="position: absolute; left: 40px; top: 60px">One</button>
<div id=veil style="position: fixed; inset: 0; display: none"></div>
<script>
  one.onclick = () => { document.title = "One"; };
  addEventListener("pointerdown", event => { HAPPENS }, true);
</script>"""
HAPPENS = {
    "/veil": ("veil.style.display = 'block'", 'The mouse was let go over div "veil"'),
    "/veil-quiet": ("event.preventDefault(); veil.style.display = 'block'", "and not clicked"),
    "/frozen": ("one.disabled = true", "The element became disabled under the mouse"),
    "/away-quiet": ("event.preventDefault(); one.style.left = '400px'", "The element moved away"),
    "/quiet": ("event.preventDefault()", ""),  # keeps mousedown from coming, and the click comes all the same
}
# A box that only its label shows, with a link in the label: what is pressed there follows the link.
TERMS = """<title>none</title><style>input { opacity: 0; position: absolute; width: 1px; height: 1px }</style>
<label><input type=checkbox onchange="document.title = 'ticked'">LEFT<a href="#terms">terms and
conditions</a></label>"""
FRAME = """<title>none</title><iframe style="border: 3px solid; STYLE" width=400 height=300 srcdoc='
<body style="margin: 0"><script>
const note = one => { if (event.isTrusted) parent.document.title = one.textContent; };</script>
<button onclick="note(this)">Rome</button><br><button onclick="note(this)">Oslo</button><br>
<button onclick="note(this)">Cairo</button></body>'></iframe>"""
FRAMES = {"/padded": "padding: 22px", "/small": "transform: scale(.5, .8)", "/both": "padding: 9px; zoom: 2"}


@pytest.fixture(scope="module")
def pages():
    sliding = {path: SLIDING.replace("MOMENT", moment) for path, moment in MOMENTS.items()}
    pressed = {path: PRESSED.replace("HAPPENS", script) for path, (script, _) in HAPPENS.items()}
    framed = {path: FRAME.replace("STYLE", style) for path, style in FRAMES.items()}
    terms = {"/terms": TERMS.replace("LEFT", "Yes "), "/all-terms": TERMS.replace("LEFT", "")}
    server = PagesServer({"/lagging": LAGGING, "/shy": SHY, **sliding, **pressed, **framed, **terms})
    yield server
    server.close()


class Hand:
    """Clicks on what has a name, and says what came of it."""

    def __init__(self, url):
        self.env = WebPageEnv(url=url, max_turns=100)
        self.text = self.env.reset()[0]["text"]

    def click(self, name, **arguments):
        found = re.search(rf'"{name}" \[(e\d+@v\d+)\]', self.text)
        assert found, self.text
        turn = {"name": "CLICK", "arguments": {"id": found.group(1), **arguments}}
        observation, *_, info = self.env.step(f"<tool_call>{json.dumps(turn)}</tool_call>")
        self.text = observation["text"]
        return info["tool_calls"][0]

    @property
    def title(self):
        return self.env.workspace.snapshot.title


@pytest.mark.slow
def test_an_item_of_a_menu_that_follows_the_mouse_is_the_one_that_is_taken(pages):
    hand = Hand(f"{pages.url}/lagging")
    for name in ("Cairo", "Oslo", "Lima", "Rome", "Lima", "Lima", "Oslo"):
        assert hand.click(name)["ok"] and hand.title == name, hand.text
    hand.click("Cairo", at=[0.9, 0.5])
    assert hand.title == "Cairo"
    hand.env.close()


@pytest.mark.slow
@pytest.mark.parametrize("path", MOMENTS)
def test_a_press_that_reached_something_else_says_what_it_reached(pages, path):
    hand = Hand(pages.url + path)
    result = hand.click("Oslo")
    if result["ok"]:
        assert hand.title == "Oslo" and path != "/down", hand.text
    else:
        assert result["error_code"] == "missed" and "Clicked" not in hand.text
        assert hand.title == "none" or f'button "{hand.title}" instead' in result["text"]
        assert '"Oslo" [' in hand.text, "the page as it is now is shown"
    hand.env.close()


@pytest.mark.slow
def test_what_runs_away_from_the_mouse_is_not_pressed_and_nothing_else_is(pages):
    hand = Hand(f"{pages.url}/shy")
    result = hand.click("Shy")
    assert result["error_code"] == "missed" and hand.title == "none", hand.text
    assert hand.click("Calm")["ok"]
    hand.env.close()


@pytest.mark.slow
@pytest.mark.parametrize("path", HAPPENS)
def test_a_press_that_is_no_click_on_the_element_is_not_called_one_without_a_word(pages, path):
    hand = Hand(pages.url + path)
    hand.click("One")
    said = HAPPENS[path][1]
    assert (said or "Clicked.") in hand.text and (hand.title == "none") == bool(said), hand.text
    hand.env.close()


@pytest.mark.slow
def test_a_box_in_a_label_with_a_link_is_ticked_and_the_link_is_not_followed(pages):
    hand = Hand(f"{pages.url}/terms")
    assert hand.click("Yes terms and conditions")["ok"] and hand.title == "ticked", hand.text
    assert "#terms" not in hand.env.workspace.snapshot.url
    hand.env.close()
    hand = Hand(f"{pages.url}/all-terms")
    result = hand.click("terms and conditions")
    assert result["error_code"] == "covered" and 'link "terms and conditions"' in result["text"]
    assert hand.title == "none" and "#terms" not in hand.env.workspace.snapshot.url
    hand.env.close()


@pytest.mark.slow
@pytest.mark.parametrize("path", FRAMES)
def test_what_lies_in_a_frame_with_padding_or_of_another_scale_is_pressed(pages, path):
    hand = Hand(pages.url + path)
    for name in ("Cairo", "Rome", "Oslo"):
        assert hand.click(name)["ok"] and hand.title == name, hand.text
    hand.env.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "seeds"),
    [
        ("book-flight", 12),
        ("book-flight-nodelay", 6),
        ("use-autocomplete", 6),
        ("choose-date", 6),
        ("click-menu", 6),
    ],
)
def test_forms_with_menus_and_calendars_take_what_was_clicked(task, seeds):
    env = MiniWoBEnv(task=task, max_turns=60, page_tokens=1600)
    for seed in range(200, 200 + seeds):
        player = Player(env, seed)
        SOLVERS[task](player)
        assert player.success and not player.errors, (task, seed, player.asked, player.errors, player.text)
    env.close()

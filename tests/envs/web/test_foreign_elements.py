"""Pages of others: which elements get an id, what they are called, and where the mouse presses them."""

from __future__ import annotations

import json
import re

import pytest
from pages_server import PagesServer

from pixelis.envs.web.chromium.backend import ChromiumBackend, Click, ClickAt, Point
from pixelis.envs.web.chromium.scripts import PageSettings
from pixelis.envs.web.foreign.web_page import WebPageEnv

STYLED = """<title>start</title><style>
.none { display: none } .unseen { visibility: hidden } .faint { opacity: 0; position: absolute }
.tiny { position: absolute; width: 1px; height: 1px; overflow: hidden; clip: rect(0 0 0 0) }
.off { pointer-events: none }</style>
<input type=checkbox id=a class=none><label for=a>Alpha</label><br>
<input type=checkbox id=b class=unseen><label for=b>Beta</label><br>
<input type=checkbox id=c class=tiny><label for=c>Gamma</label><br>
<label><input type=radio class=none name=r>Delta</label>
<label><input type=radio class=faint name=r>Eps</label>
<div class=card style="width: 300px; height: 60px">First card <button>Delete</button></div>
<ul id=list><li>One<li>Two<li>Three</ul>
<div class=wrap><button style="width: 100%">Whole</button></div>
<a href=#x class=off>Dead</a>
<script>
  const say = text => { document.title = text; };
  document.querySelector(".card").onclick = () => say("card");
  document.querySelector(".card button").onclick = event => { event.stopPropagation(); say("delete"); };
  document.querySelector("#list").onclick = event => say(event.target.textContent);
  document.querySelector(".wrap").addEventListener("click", () => say("whole"));
</script>"""

DRAWN = """<title>start</title><style>body { margin: 0 } svg, canvas { display: block }</style>
<svg id=board width=100 height=80>
  <rect x=10 y=10 width=30 height=20 fill=red></rect><circle cx=70 cy=40 r=10 fill=blue></circle>
  <circle cx=5 cy=5 r=.5 fill=red></circle><path d="M0 0"></path>
  <text x=10 y=70>Hi <tspan>there</tspan></text></svg>
<canvas id=sheet width=60 height=40></canvas>
<div style="width: 20px; height: 20px; background: #64b9cd"></div>
<div class=swatch style="width: 20px; height: 20px; background: #64b9cd; pointer-events: none"></div>
<button><svg width=16 height=16><rect width=16 height=16 fill=green></rect></svg>Save</button>
<script>
  board.addEventListener("click", event => { document.title = `board ${event.clientX},${event.clientY}`; });
  sheet.onclick = event => { document.title = `sheet ${event.offsetX},${event.offsetY}`; };
</script>"""

REDRAWN = """<title>start</title><svg width=200 height=100><rect width=200 height=100 fill=red></rect></svg>
<script>
  const shape = document.querySelector("rect");
  shape.addEventListener("mouseover", () => { shape.parentNode.append(shape); });
  shape.addEventListener("mouseup", () => { document.title = "pressed"; });
</script>"""

ICON = """<title>start</title><style>
.more { height: 14px; content: url(/late.svg) } .more:hover { content: url(/late-hover.svg) }</style>
<div id=area></div><div style="position: absolute; bottom: 0">Foot</div><script>
  window.onload = () => {
    area.innerHTML = "<span class=more></span>";
    area.firstChild.onclick = () => { document.title = "pressed"; };
  };
</script>"""

MOVED = """<title>start</title><style>body { margin: 0 } img, svg { display: block }</style>
<div id=area></div><svg width=18 height=18><circle cx=9 cy=9 r=4.5 fill=red></circle></svg>
<button onclick="more()">More</button><script>
  const more = () => {
    area.append(Object.assign(new Image(), { src: `/late-${area.children.length}.svg` }));
  };
  window.onload = more;
</script>"""
IMAGE = '<svg xmlns="http://www.w3.org/2000/svg" width="14" height="14"/>'


def page_of(tmp_path, html: str) -> str:
    file = tmp_path / "page.html"
    file.write_text(html)
    return file.as_uri()


def texts(page) -> list[str]:
    """Return roles and names of the controls."""
    return [f"{control.role} {control.name}".strip() for control in page.controls()]


def key_of(page, name: str) -> int:
    return next(control.key for control in page.controls() if control.name == name)


@pytest.fixture
def styled(tmp_path):
    backend = ChromiumBackend(PageSettings((f"file://{tmp_path}/",)))
    yield backend, backend.open(page_of(tmp_path, STYLED))
    backend.close()


@pytest.fixture
def drawn(tmp_path):
    backend = ChromiumBackend(PageSettings((f"file://{tmp_path}/",), drawings=True, step_milliseconds=100))
    yield backend, backend.open(page_of(tmp_path, DRAWN))
    backend.close()


@pytest.mark.slow
def test_boxes_that_only_their_label_shows_are_ticked(styled):
    backend, page = styled
    for name in ("Alpha", "Beta", "Gamma", "Delta", "Eps"):
        page = backend.act(Click(key_of(page, name)))
        assert next(c for c in page.controls() if c.name == name).states == ("checked",), name
    assert next(c for c in page.controls() if c.name == "Delta").states == ()  # the radio button before it


@pytest.mark.slow
def test_wrappers_and_what_is_inside_are_told_apart(styled):
    backend, page = styled
    assert texts(page)[5:] == [
        "clickable First card", "button Delete",
        "clickable One", "clickable Two", "clickable Three",
        "button Whole", "link Dead",
    ]  # fmt: skip
    for name, title in (("First card", "card"), ("Delete", "delete"), ("Two", "Two"), ("Whole", "whole")):
        page = backend.act(Click(key_of(page, name)))
        assert page.title == title
    env = WebPageEnv(url=page.url)
    text = env.reset()[0]["text"]
    dead = re.findall(r'link "Dead" \[(e\d+@v1)\]', text)[0]
    turn = json.dumps({"name": "CLICK", "arguments": {"id": dead}})
    info = env.step(f"<tool_call>{turn}</tool_call>")[4]
    assert info["tool_calls"][0]["error_code"] == "disabled"
    env.close()


@pytest.mark.slow
def test_drawings_say_where_they_are_and_take_a_point(drawn):
    backend, page = drawn
    names = [control.name for control in page.controls()]
    assert names[0] == "board drawing 100x80 at 50,40"
    assert names[1:3] == ["red rectangle 30x20 at 25,20", "blue circle 20x20 at 70,40"]
    assert (
        names[3].startswith("Hi there black text ") and len(names) == 7
    )  # no dot, no empty path, no part of a text
    assert names[4] == "sheet canvas 60x40 at 30,100"
    assert names[5:] == ["cyan #64b9cd box 20x20", "Save"]
    assert 'image "cyan #64b9cd swatch"' in [piece for line in page.lines for piece in line.pieces]
    page = backend.act(ClickAt(page_key(page, 0), Point(0.905, 0.1)))
    assert page.title == "board 90,8"
    assert backend.act(ClickAt(page_key(page, 4), Point(0.505, 0.26))).title == "sheet 30,10"


def page_key(page, number: int) -> int:
    return list(page.controls())[number].key


@pytest.mark.slow
def test_an_element_that_is_redrawn_under_the_mouse_is_still_pressed(tmp_path):
    backend = ChromiumBackend(PageSettings((f"file://{tmp_path}/",), drawings=True, step_milliseconds=100))
    page = backend.open(page_of(tmp_path, REDRAWN))
    shape = next(c.key for c in page.controls() if c.name.startswith("red"))
    assert backend.act(Click(shape)).title == "pressed"
    backend.close()


@pytest.mark.slow
@pytest.mark.parametrize("clock", [100, None])
def test_an_icon_whose_images_come_late_is_pressed(clock):
    server = PagesServer({"/": ICON, "/late.svg": IMAGE, "/late-hover.svg": IMAGE})
    backend = ChromiumBackend(PageSettings((f"127.0.0.1:{server.port}",), step_milliseconds=clock))
    page = backend.open(f"{server.url}/")
    assert backend.act(Click(key_of(page, "more"))).title == "pressed"
    assert server.asked.count("/late.svg") == server.asked.count("/late-hover.svg") == 1
    backend.close()
    server.close()


@pytest.mark.slow
def test_a_page_whose_clock_stands_still_is_read_with_its_images():
    server = PagesServer({"/": MOVED, "/late-0.svg": IMAGE, "/late-1.svg": IMAGE})
    settings = PageSettings((f"127.0.0.1:{server.port}",), drawings=True, step_milliseconds=100)
    backend = ChromiumBackend(settings)
    page = backend.open(f"{server.url}/")
    assert "red circle 9x9 at 9,23" in str(texts(page))
    assert "red circle 9x9 at 9,37" in str(texts(backend.act(Click(key_of(page, "More")))))
    backend.close()
    server.close()


@pytest.mark.slow
def test_frames_keep_the_time_of_the_page(tmp_path):
    backend = ChromiumBackend(PageSettings((f"file://{tmp_path}/",), step_milliseconds=100))
    inner = "<p id=said>early</p><script>setTimeout(() => { said.textContent = 'late'; }, 150)</script>"
    html = f'<button>Press</button><iframe srcdoc="{inner}"></iframe>'
    page = backend.open(page_of(tmp_path, html))
    for expected in ("early", "late"):
        page = backend.act(Click(page_key(page, 0)))
        assert expected in [piece for line in page.lines for piece in line.pieces]
    backend.close()

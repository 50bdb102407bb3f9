"""What a model wrote is text on the page, whatever it wrote."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pixelis.agents.episode_files.stored import StoredEpisode, episode_of_row
from pixelis.monitor.panels.episode_page import (
    COLOURINGS,
    MOST_CALLS,
    MOST_MARKUP,
    SHOWN,
    boxes_of,
    drawn_boxes,
    page_of,
)

HOSTILE = [
    "<script>window.hurt = 1</script>",
    '"><img src=x onerror="window.hurt = 1">',
    "<a href='javascript:window.hurt = 1'>x</a>",
    "</pre></article><svg onload=window.hurt=1>",
    "&lt;script&gt;",
    "\x1b[31mred\x1b[0m \u202egnp.exe\u202c \u200b\x00\ud800",
]
DIGEST = "a" * 64


class Tags(HTMLParser):
    """Keeps the names of the elements, their attributes, and the text."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def page(row: dict, colour_by: str = "probability") -> str:
    episode = episode_of_row(row, Path("step-00000001.jsonl"), 1)
    return page_of(episode, lambda digest: f"/picture/0/{digest}.png", "/line/0/step-00000001/1", colour_by)


def everywhere(text: str) -> dict:
    """Return a row that holds a text in every place in which a row can."""
    call = {
        "tool": text,
        "ok": False,
        "error_code": text,
        "text": text,
        "arguments": {text: text},
        "data": {text: 1},
    }
    return {
        "seed": text,
        "member": text,
        "turns": text,
        "agent": text,
        "mode": text,
        "text": text,
        "failure_reason": text,
        "reward_terms": {text: text},
        "task": {"family": text, "difficulty": text, "hash": text},
        "tool_calls": [call],
        "asked": text,
        "exchanges": [{"action": text, "heard": text, "calls": 1, "sampled": [[text, -1.0]]}],
    }


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("stored", ["turns", "text alone", "parts"])
def test_nothing_that_was_said_acts(text: str, stored: str):
    row = everywhere(text)
    if stored == "text alone":
        del row["exchanges"]
    if stored == "parts":
        row["reward_parts"] = {text: {"raw": text, "weighted": 1.0}}
    for colour_by in COLOURINGS:
        found = Tags(page(row, colour_by))
        assert found.tags <= {
            "article", "header", "section", "span", "b", "p", "pre", "h4", "div", "code",
            "table", "tr", "th", "td", "a",
        }  # fmt: skip
        assert found.attributes <= {"class", "style", "title", "dir", "href", "target", "rel"}
        assert not set("\x1b\u202e\u200b\x00\ud800") & set(found.text)


def test_markup_is_shown_as_it_was_written():
    assert HOSTILE[0] in Tags(page(everywhere(HOSTILE[0]))).text
    assert "⟨U+202E⟩" in Tags(page(everywhere(HOSTILE[5]))).text


def test_a_long_answer_is_cut_and_says_where_it_is_whole():
    markup = page({"text": "x" * 1_000_000})
    assert len(markup) < 2 * SHOWN
    assert "980,000 more characters" in markup
    assert 'href="/line/0/step-00000001/1"' in markup


def test_an_episode_of_any_size_is_a_page_of_some_megabytes():
    """Calls and tokens without end, and hundreds of turns: what is left out is told, and one click away."""
    turn = {"action": "a", "heard": "b" * SHOWN, "calls": 300}
    row = {
        "exchanges": [turn | {"sampled": [["x" * 100_000, -1.0, 0.5]] * 500}] * 150,
        "tool_calls": [{"tool": "ZOOM", "ok": True, "text": "\x1b\x00" * 5000}] * 45_000,
    }
    markup = page(row)
    assert len(markup) < 2 * MOST_MARKUP
    assert f"{300 - MOST_CALLS} more calls" in markup and "450 more tokens" in markup
    assert "more turns" in markup and len(page({"exchanges": [turn] * 201})) < 2 * MOST_MARKUP


def test_a_picture_that_is_gone_is_told():
    row = {"asked": "?", "exchanges": [], "pictures": [{"$image": {"sha256": DIGEST}}]}
    episode = episode_of_row(row, Path("step-00000001.jsonl"), 1)
    markup = page_of(episode, lambda digest: None, "/line")
    assert "the picture of the first look is not in trajectories/images any more" in markup
    assert "<img" not in markup


def test_turns_have_their_calls_pictures_and_boxes():
    row = {
        "asked": "Which?",
        "exchanges": [
            {
                "action": "zoom",
                "heard": "seen",
                "calls": 1,
                "reward": 0.25,
                "sampled": [["zo", 0.0], ["om", -2.302585, 0.6931472]],
            },
            {"action": "<answer>1</answer>", "heard": "", "calls": 0, "reward": 1.0, "terms": {"task": 0.75}},
        ],
        "tool_calls": [
            {"tool": "ZOOM", "ok": True, "text": "seen", "data": {"view": [0.25, 0.5, 0.75, 1.0]}}
        ],
        "pictures": [{"$image": {"sha256": DIGEST}}, {"$image": {"sha256": "../secret"}}, None],
        "success": True,
    }
    markup = page(row)
    assert markup.count("<section>") == 3
    assert markup.count(f'src="/picture/0/{DIGEST}.png"') == 1 and "secret" not in markup
    assert '<rect x="25.00" y="50.00" width="50.00" height="50.00"/>' in markup
    assert "<span>reward <b>1</b></span><span>task <b>0.75</b></span>" in markup
    assert "probability 0.1, entropy 0.693 nats" in markup and "✓ success" in markup
    assert page(row, "entropy").count("rgba(0,114,178,0.33)") == 1  # 0.65 (1 - 1/2)
    assert "transparent" in page(row, "entropy")  # older files have no entropy
    assert markup.index("turn 1") < markup.index("ZOOM") < markup.index("turn 2")


def episode(turns: list[list[dict]], pictures: str) -> StoredEpisode:
    """Return an episode of these calls; ``x`` stands for a picture that was kept, ``.`` for none."""
    row = {
        "exchanges": [{"action": "", "heard": "", "calls": len(calls)} for calls in turns],
        "tool_calls": [call for calls in turns for call in calls],
        "pictures": [{"$image": {"sha256": DIGEST}} if sign == "x" else None for sign in pictures],
    }
    return episode_of_row(row, Path("step-00000001.jsonl"), 1)


def test_boxes_stand_on_the_picture_that_was_shown_before_their_call():
    """Two zooms and a reading: the second zoom is inside the first view, the box read inside the second."""
    first, second = [0.5, 0.5, 1.0, 1.0], [0.5, 0.75, 0.75, 1.0]
    read = [0.5, 0.75, 0.625, 0.875]
    calls = [
        [{"tool": "ZOOM", "data": {"view": first}}],
        [{"tool": "ZOOM", "data": {"view": second}}],
        [{"tool": "READ_TEXT", "arguments": {"box": read}, "data": {"text": ""}}],
    ]
    found = drawn_boxes(episode(calls, "xxx."))
    assert found == {
        0: [(1, tuple(first)), (2, tuple(second)), (3, tuple(read))],  # the first shows all of the scene
        1: [(2, (0.0, 0.5, 0.5, 1.0))],
        2: [(3, (0.0, 0.0, 0.5, 0.5))],
    }
    # where the second picture was not kept, the first view is what is shown
    assert drawn_boxes(episode(calls, "xx.."))[1] == [(2, (0.0, 0.5, 0.5, 1.0)), (3, (0.0, 0.5, 0.25, 0.75))]
    # what a view does not show is not drawn on it, of what it shows in part that part is
    calls[1] = [
        {"tool": "ZOOM", "arguments": {"box": [0.0, 0.0, 0.5, 0.5]}},
        {"arguments": {"box": [0, 0, 1, 1]}},
    ]
    assert drawn_boxes(episode(calls[:2], "xx."))[1] == [(2, (0.0, 0.0, 1.0, 1.0))]


def test_boxes_of_another_frame_stand_on_its_pictures_alone():
    box, view = [0.25, 0.25, 0.5, 0.5], [0.0, 0.0, 0.5, 0.5]
    calls = [
        [{"tool": "TRACK", "arguments": {"box": box}, "data": {"track": []}}],
        [{"tool": "SELECT_FRAME", "data": {"frame": 6, "frames": 9, "view": [0.0, 0.0, 1.0, 1.0]}}],
        [{"tool": "ZOOM", "data": {"view": view}}],
        [{"tool": "READ_TEXT", "arguments": {"box": box}}],
    ]
    found = drawn_boxes(episode(calls, "x.xx."))
    assert found == {
        0: [(1, tuple(box))],
        2: [(3, tuple(view))],
        3: [(4, (0.5, 0.5, 1.0, 1.0))],
    }


def test_a_box_has_the_number_of_its_turn():
    call = {"tool": "ZOOM", "ok": True, "data": {"view": [0.25, 0.5, 0.75, 1.0]}}
    row = {
        "exchanges": [{"action": "", "heard": "", "calls": 0}, {"action": "", "heard": "", "calls": 1}],
        "tool_calls": [call],
        "pictures": [{"$image": {"sha256": DIGEST}}, None, None],
    }
    markup = page(row)
    assert 'style="left:25.00%;top:50.00%" title="a box of turn 2">2</span>' in markup
    assert markup.count("<rect") == 1


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"exchanges": "x", "tool_calls": 3, "pictures": {}, "task": [], "reward": "nan", "advantage": [None]},
        {
            "exchanges": [
                {"calls": -5},
                {"calls": 10**400},
                {"calls": None, "sampled": [[1], "x", ["a", None]]},
            ]
        },
        {"reward_parts": {"a": 1}, "reward_terms": [1]},
        {"tool_calls": [{"data": {"view": [1, 2, 3, 4], "boxes": [[0, 0, 1], ["x"] * 4, 7]}}, 1, None]},
        {
            "exchanges": [{"calls": 3}, {"calls": 1}],
            "pictures": [None, {"$image": {"sha256": DIGEST}}],
            "tool_calls": [
                {"data": {"view": [0.5, 0, 0.5, 1], "frame": "x"}},
                {"data": {"view": [1, 1, 0, 0], "frame": 10**400}},
                {"data": [{"view": 1}]},
                {"arguments": {"box": [0, 0, 1, 1]}},
            ],
        },
    ],
    ids=json.dumps,
)
def test_a_row_of_other_types_is_shown_all_the_same(row: dict):
    assert page(row).startswith('<article class="episode">')


def test_boxes_are_shares_of_the_picture():
    assert list(boxes_of({"data": {"view": [0, 0, 2, 1]}})) == []
    assert list(boxes_of({"arguments": {"box": [0, 0.5, 1, 1]}})) == [(0, 0.5, 1, 1)]
    both = {"data": {"boxes": [[0, 0, 1, 1], [0.5, 0, 1, 1]]}, "arguments": {"box": [0, 0, 0.5, 0.5]}}
    assert list(boxes_of(both)) == [(0, 0, 1, 1), (0.5, 0, 1, 1)]

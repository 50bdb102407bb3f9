"""The walk: lines, names, values and states of small pages, by hand from docs/reference/web_pages.md."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.web.dom.form_state import FormState
from pixelis.envs.web.dom.tree import parse_html
from pixelis.envs.web.dom.walk import walk
from pixelis.envs.web.page.snapshot import Control, PageLine, collapse, cut, listed_options


def lines(html: str) -> list[PageLine]:
    return walk(parse_html(html), FormState())


def words(html: str) -> list[str]:
    """Return every line as text: controls as ``<role name>``."""
    return [
        " ".join(p if isinstance(p, str) else f"<{p.role} {p.name}>" for p in line.pieces)
        for line in lines(html)
    ]


def control(html: str) -> Control:
    (found,) = [p for line in lines(html) for p in line.pieces if not isinstance(p, str)]
    return found


def test_blocks_end_lines_and_inline_text_is_joined_as_it_stands():
    assert words("<div>a<b>b</b> c</div>d<p>e<br>f</p>") == ["ab c", "d", "e", "f"]


def test_white_space_is_collapsed_over_pieces():
    assert words("<p> a \n <b> b</b>\u00a0\t<a href=/x> l \n l </a> c </p>") == ["a b <link l l> c"]


@pytest.mark.parametrize(
    "left_out",
    [
        "<script>x</script>",
        "<style>x</style>",
        "<template><p>x</p></template>",
        "<noscript>x</noscript>",
        "<p hidden>x <a href=/>l</a></p>",
        "<input type=hidden value=x>",
        "<datalist><option>x</datalist>",
        "<!-- x -->",
        "<svg><text>x</text></svg>",
        '<img alt="">',
        "<img src=x.png>",
        "<span aria-hidden=true>x</span>",
        "<iframe>x</iframe>",
    ],
)
def test_left_out(left_out: str):
    assert words(f"a {left_out} b") in (["a b"], ["a", "b"])


def test_aria_hidden_keeps_controls():
    assert words('<div aria-hidden="true">x <button>go</button></div>') == ["<button go>"]


def test_images_are_texts():
    assert words('a<img alt="a  cat">b <svg aria-label="up"></svg><svg><title>down</title></svg>') == [
        'a image "a cat" b image "up" image "down"'
    ]


def test_kinds_and_levels():
    got = lines("<h2>t</h2><ul><li>a<ol><li><p>b</p></ol></ul><table><tr><td>x<td></td><th><p>y</p></table>")
    assert [(line.kind, line.level, line.pieces) for line in got] == [
        ("heading", 2, ("t",)),
        ("item", 1, ("a",)),
        ("item", 2, ("b",)),
        ("row", 0, ("x | | y",)),
    ]


def test_a_row_around_a_table_is_no_line():
    assert words("<table><tr><td>a<table><tr><td>b<td>c</table><td>d</table>") == ["a", "b | c", "d"]


def test_closed_details_show_their_summary_alone():
    assert words("<details><summary>more</summary>text</details>") == ["<button more>"]
    assert words("<details open><summary>more</summary>text</details>") == ["<button more>", "text"]
    assert control("<details><summary>more</summary>text</details>").states == ("collapsed",)


@pytest.mark.parametrize(
    ("html", "role", "name"),
    [
        ("<a href=/>t</a>", "link", "t"),
        ("<a role=button href=/>t</a>", "button", "t"),
        ("<button>a <b>b</b></button>", "button", "a b"),
        ("<input type=submit>", "button", "Submit"),
        ("<input type=reset>", "button", "Reset"),
        ("<input type=button value=v>", "button", "v"),
        ("<input type=image alt=i>", "button", "i"),
        ("<label for=x>l <i>m</i></label><input id=x>", "textbox", "l m"),
        ("<label>l <input></label>", "textbox", "l"),
        ("<label for=x>one</label><input id=x title=t><label for=x>two</label>", "textbox", "one two"),
        ("<input aria-label=' a  b ' title=t>", "textbox", "a b"),
        ("<p id=n hidden>far</p><input aria-labelledby='n no'>", "textbox", "far"),
        ("<input placeholder=p>", "textbox", "p"),
        ("<input title=t placeholder=p>", "textbox", "t"),
        ("<input type=nonsense>", "textbox", ""),
        ("<input type=search aria-label=s>", "textbox", "s"),
        ("<input type=checkbox>", "checkbox", ""),
        ("<input type=range>", "slider", ""),
        ("<input type=file>", "file", ""),
        ("<textarea>t</textarea>", "textbox", ""),
        ("<select><option>o</select>", "combobox", ""),
        ("<select multiple><option>o</select>", "listbox", ""),
        ("<div role=switch>t</div>", "switch", "t"),
        ("<span role=searchbox>t</span>", "textbox", ""),
        ("<button class='icon-close btn_close'></button>", "button", "icon close btn"),
        ("<button><img alt=cat></button>", "button", "cat"),
        ("<button><svg><title>up</title></svg></button>", "button", "up"),
        ("<button title=t><span aria-hidden=true>x</span></button>", "button", "t"),
    ],
)
def test_role_and_name(html: str, role: str, name: str):
    found = control(html)
    assert (found.role, found.name) == (role, name)


def test_an_anchor_without_href_is_text():
    assert words("<a>t</a>") == ["t"]


def test_a_control_around_a_control_is_walked():
    assert words("<div role=button>a <a href=/>b</a></div>") == ["<button a b> a <link b>"]


def test_label_text_is_left_out_only_where_it_names():
    assert words("<label for=x>l</label><input id=x>") == ["<textbox l>"]
    assert words("<label for=x>l</label><input id=x aria-label=m>") == ["l <textbox m>"]
    assert words("<label for=none>l</label>") == ["l"]
    assert words("<label>l <a href=/>k</a><input type=checkbox></label>") == ["<link k> <checkbox l k>"]


@pytest.mark.parametrize(
    ("html", "value"),
    [
        ("<input value=' a  b '>", "a b"),
        ("<input>", None),
        ("<input type=password value=abc>", "•••"),
        ("<input type=number value=x>", None),
        ("<input type=number value=-1.5>", "-1.5"),
        ("<textarea>\na\nb</textarea>", "a b"),
        ("<select><option>a<option>b</select>", "a"),
        ("<select><option disabled>a<option>b</select>", "b"),
        ("<select><option>a<option selected value=2>b</select>", "b"),
        ("<select multiple><option selected>a<option selected label=c>b</select>", "a, c"),
        ("<select size=3><option>a</select>", None),
        ("<select></select>", None),
        ("<a href=/>t</a>", None),
    ],
)
def test_value(html: str, value: str | None):
    assert control(html).value == value


@pytest.mark.parametrize(
    ("html", "states"),
    [
        ("<input type=checkbox checked disabled required>", ("checked", "disabled", "required")),
        ("<input readonly required aria-invalid=true>", ("readonly", "required", "invalid")),
        ("<button role=tab aria-selected=true aria-expanded=false>t</button>", ("selected", "collapsed")),
        ("<div role=checkbox aria-checked=true>t</div>", ("checked",)),
        ("<fieldset disabled><input></fieldset>", ("disabled",)),
        ("<fieldset disabled><legend><input></legend></fieldset>", ()),
        ("<a href=/ aria-disabled=true>t</a>", ("disabled",)),
    ],
)
def test_states(html: str, states: tuple[str, ...]):
    assert control(html).states == states


def test_options_are_listed_to_thirty_and_counted():
    page = "<select>" + "".join(f"<option>o{n}" for n in range(33)) + "</select>"
    assert control(page).options == (*(f"o{n}" for n in range(30)), "… 3 more")
    assert listed_options(["a"]) == ("a",)


def test_keys_are_the_same_for_the_same_page_and_differ_between_elements():
    page = "<a href=/>a</a><button>b</button>"
    keys = [[p.key for line in lines(page) for p in line.pieces if not isinstance(p, str)] for _ in range(2)]
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == 2


def test_the_title_is_collapsed():
    assert parse_html("<title> a \n b </title>").title == "a b"


@given(st.text(max_size=300))
def test_collapse_and_cut_hold_for_any_text(text: str):
    short = cut(collapse(text), 20)
    assert len(short) <= 20
    assert collapse(collapse(text)) == collapse(text)
    assert not any(mark in collapse(text) for mark in ("  ", "\n", "\t", "\u00a0"))


@given(st.text(alphabet="<>/ab c='\"&;!-ptdrl \n", max_size=200))
def test_no_html_raises(html: str):
    for line in lines(html):
        assert line.pieces
        assert not any(
            isinstance(a, str) and isinstance(b, str)
            for a, b in zip(line.pieces, line.pieces[1:], strict=False)
        )

"""Scripted solvers of MiniWoB++ tasks: like a model, they read the task's text and the observation alone.

They show that a task can be solved through ids and tools. They are no general agents: each knows its task.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from miniwob_player import NotThere, Player

from pixelis.envs.web.miniwob.env import STEP_MILLISECONDS

Solver = Callable[[Player], object]
esc = re.escape

# ---------------------------------------------------------------------- pressing


def press_named(play: Player) -> None:
    """Press the button that the task names."""
    name = (play.quoted() or re.findall(r"button ([A-Z]+)\b", play.asked) or [".*"])[0]
    play.click("button", esc(name) if name != ".*" else name)


def press_sequence(play: Player) -> None:
    """Press ONE, wait if asked to, press TWO."""
    play.click("button", "ONE")
    if seconds := re.search(r"wait (\d+) sec", play.asked):
        play.call("WAIT", milliseconds=1000 * int(seconds.group(1)) - STEP_MILLISECONDS)
    play.click("button", "TWO")


def tick_listed(play: Player) -> None:
    """Tick the boxes, or choose the option, that the task lists."""
    wanted = play.find(r"Select (.*?) and click").group(1)
    for name in [] if wanted == "nothing" else wanted.split(", "):
        play.click("checkbox|radio", esc(name))
    play.submit()


def press_link(play: Player) -> None:
    """Press the word that the task quotes."""
    play.click("clickable|link", esc(play.quoted()[0]))


def choose_tab(play: Player) -> None:
    """Open the tab that the task names."""
    play.click("link", esc(play.find(r"(Tab #\d)").group(1)))


def search_tabs(play: Player) -> None:
    """Open one tab or section after the other until the word is there."""
    word = esc(play.quoted()[0])
    for number in range(len(play.all("tab"))):
        if play.all("clickable|link", word):
            break
        play.click("tab", n=number)
    press_link(play)


def open_section(play: Player) -> None:
    """Open the section, then submit."""
    play.click("tab", "Section.*")
    play.submit()


def press_in_dialog(play: Player) -> None:
    """Press the button of the dialog that is named, or close it."""
    name = play.quoted()[0]
    play.click("button", "Close" if name == "x" else esc(name))


def walk_menu(play: Player) -> None:
    """Open menu after menu along a path."""
    *path, last = play.asked.removeprefix("Select ").split(">")
    for name in path:
        play.call("HOVER", id=play.one("menuitem", esc(name)).id)
    play.click("menuitem", esc(last))


def press_colour(play: Player) -> None:
    """Press the box of a colour."""
    play.click("clickable", play.find(r"the (\w+) colored").group(1).replace("grey", "gray") + "( .*)?")


def press_shades(play: Player) -> None:
    """Press every box of a colour."""
    colour = play.find(r"shades of (\w+)").group(1)
    for box in play.all("clickable", f"{colour} .*"):
        play.call("CLICK", id=box.id)
    play.submit()


_KINDS = {
    "text": ("textbox", ""),
    "textarea": ("textbox", "text area"),
    "radio": ("radio", ".*"),
    "checkbox": ("checkbox", ".*"),
    "button": ("button", ".*"),
}


def press_widget(play: Player) -> None:
    """Press a widget of a kind; a textarea's name is the words of its class, as it is no input."""
    play.click(*_KINDS[play.quoted()[0]])


def press_cheapest(play: Player) -> None:
    """Buy the ticket that costs most or least, or flies longest or shortest."""
    buttons = play.all("button", r"Book for \$.*")
    costs = [int(one.name.split("$")[1]) for one in buttons]
    times = [int(a) * 60 + int(b) for a, b in re.findall(r"(\d+)h (\d+)m", "\n".join(play.page))]
    values = times if re.search("time|duration|flight", play.asked.lower()) else costs
    best = min if re.search("cheap|short|least", play.asked) else max
    play.call("CLICK", id=buttons[values.index(best(values))].id)


def press_card(play: Player) -> None:
    """Choose the greatest card."""
    cards = play.all("clickable", r"\d+")
    play.call("CLICK", id=max(cards, key=lambda card: int(card.name)).id)
    play.submit()


def mark_parity(play: Player) -> None:
    """Mark each number as odd or even."""
    numbers = [int(line) for line in play.page if re.fullmatch(r"-?\d+", line)]
    for place, number in enumerate(numbers):
        play.click("button", "Odd" if number % 2 else "Even", n=place)
    play.submit()


def press_pie(play: Player) -> None:
    """Open the pie menu, press a slice."""
    play.click("clickable", r"\+ .*")
    play.call("WAIT", milliseconds=1000)
    play.click("clickable", esc(play.quoted()[0]) + " .*")


# ---------------------------------------------------------------------- typing


def type_quoted(play: Player) -> None:
    """Type what is quoted into every field, in the letters asked for."""
    text = play.quoted()[0]
    text = (
        text.lower() if "lower case" in play.asked else text.upper() if "upper case" in play.asked else text
    )
    for field in play.all("textbox"):
        play.call("TYPE", id=field.id, text=text)
    play.submit()


def type_date(play: Player) -> None:
    """Type a date as the field wants it."""
    month, day, year = play.find(r"(\d\d)/(\d\d)/(\d{4})").groups()
    play.type(f"{year}-{month}-{day}")
    play.submit()


def type_time(play: Player) -> None:
    """Type a time as the field wants it."""
    hour, minute, half = play.find(r"(\d+):(\d\d) ([AP]M)").groups()
    play.type(f"{int(hour) % 12 + 12 * (half == 'PM'):02d}:{minute}")
    play.submit()


def focus(play: Player) -> None:
    """Press the n-th field."""
    number = re.search(r"the (\d)\w\w input", play.asked)
    play.click("textbox", n=int(number.group(1)) - 1 if number else 0)


def calculate(play: Player) -> None:
    """Solve ``a + b =`` or ``x + b = c``."""
    line = next(line for line in play.page if re.search(r"\d.*=", line) and "[" not in line.split("=")[0])
    numbers = re.fullmatch(r"\s*(x|-?\d+) ([-+x*×]) (x|-?\d+) = ?(-?\d*).*", line)
    if numbers is None:
        raise NotThere(line)
    left, sign, right, result = numbers.groups()
    play.type(str(_solution(left, sign, right, result)))
    play.submit()


def _solution(left: str, sign: str, right: str, result: str) -> int:
    if not result:
        a, b = int(left), int(right)
        return a + b if sign == "+" else a - b if sign == "-" else a * b
    if left == "x":
        return int(result) - int(right) if sign == "+" else int(result) + int(right)
    return int(result) - int(left) if sign == "+" else int(left) - int(result)


def find_word(play: Player) -> None:
    """Type the n-th word of the paragraph."""
    number = int(play.find(r"the (\d+)\w\w word").group(1))
    words = " ".join(line for line in play.page[1:] if "[" not in line).split()
    play.type(words[number - 1].strip(".,"))
    play.submit()


def copy_area(play: Player) -> None:
    """Put the text of an area into the field."""
    number = re.search(r"the (\d)\w\w text area", play.asked)
    areas = [field for field in play.all("textbox") if field.value]
    play.call("MARK", id=areas[int(number.group(1)) - 1 if number else 0].id)
    play.call("PRESS", keys="Control+c")
    play.call("PRESS", keys="Control+v", id=play.one("textbox", "answer-input").id)
    play.submit()


def last_word(play: Player) -> None:
    """Type the last word of an area."""
    play.type(play.one("textbox", "text-area").value.split()[-1], "answer-input")
    play.submit()


def type_shown(play: Player) -> None:
    """Type the text that the page shows."""
    play.type(play.page[1])
    play.submit()


def log_in(play: Player) -> None:
    """Fill in user and password; a box that pops up is closed."""
    user, password = play.quoted()
    for text, name in ((user, "username"), (password, "password")):
        if not play.type(text, name):
            play.click("button", "Cancel")
            play.type(user, "username")
            play.type(text, name)
    if play.all("button", "Cancel"):
        play.click("button", "Cancel")
        play.type(password, "password")
    play.click("button", "Login|OK", n=-1)


def search(play: Player) -> None:
    """Search, turn to the page of the n-th result, press it."""
    number = int(play.find(r"the (\d)\w\w search result").group(1))
    play.type(play.quoted()[0])
    play.click("button", "Search")
    if number > 3:
        play.click("link", str((number - 1) // 3 + 1))
    play.click("link", r".*[A-Za-z]{3}.*", n=(number - 1) % 3)


def read_table(play: Player) -> None:
    """Type the values that stand beside labels in a table."""
    table = dict(line.split(" | ") for line in play.page if line.count(" | ") == 1)
    fields = play.all("textbox")
    labels = re.findall(r"value of (.+?) into", play.asked) or re.findall(
        r"^(.+?): textbox", "\n".join(play.page), re.M
    )
    for label, field in zip(labels, fields, strict=True):
        play.call("TYPE", id=field.id, text=table[label])
    play.submit()


def guess(play: Player) -> None:
    """Halve the numbers that are left."""
    low, high = 0, 9
    while not play.over and low <= high:
        middle = (low + high) // 2
        play.type(str(middle))
        play.submit()
        said = "\n".join(play.page)
        low, high = (middle + 1, high) if "higher than" in said else (low, middle - 1)


def generate(play: Player) -> None:
    """Generate until the number is odd, even, or less or greater than one that is named."""
    bound = re.search(r"(less|greater) than (\d+)", play.asked)
    while not play.over:
        play.click("button", "Generate")
        shown = play.page[1].strip()
        if not shown.lstrip("-").isdigit():
            continue
        number = int(shown)
        fits = (number % 2 == 1) == ("odd" in play.asked)
        if bound:
            limit = int(bound.group(2))
            fits = number < limit if bound.group(1) == "less" else number > limit
        if fits:
            play.submit()


def use_autocomplete(play: Player) -> None:
    """Type the beginning, press the entry with the end."""
    parts = play.quoted()
    play.type(parts[0])
    end = parts[1] if len(parts) > 1 else ""
    entries = play.all("clickable|menuitem|option", f"{esc(parts[0])}.*")
    fitting = [one for one in entries if one.name.endswith(end)]
    if not fitting:
        raise NotThere(f"an entry that ends with {end}")
    play.call("CLICK", id=fitting[-1].id)
    play.submit()


def fill_layout(play: Player) -> None:
    """Search for films: the labels, before or after their fields, come in the order of the fields."""
    found = play.find(r"for (\w[\w-]*) movies directed by (\S+) from year (\d+)")
    values = dict(zip(("Genre", "Director", "Year|Date"), found.groups(), strict=True))
    text = "\n".join(play.page[1:])
    places = {found.group(): found.start() for found in re.finditer("Genre|Director|Year|Date", text)}
    order = sorted(values, key=lambda label: max(places.get(word, 0) for word in label.split("|")))
    for field, label in zip(play.all("textbox"), order, strict=True):
        play.call("TYPE", id=field.id, text=values[label])
    play.click("button|clickable", "Search|Submit|Go.*|Find.*|Enter", n=-1)


# ---------------------------------------------------------------------- choosing


def choose_listed(play: Player) -> None:
    """Choose from a list."""
    wanted = play.find(r"Select (.*?) from the").group(1)
    for option in wanted.split(", "):
        play.call("SELECT", id=play.one("combobox|listbox").id, option=option)
    play.submit()


_MONTHS = [
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
]  # fmt: skip


def pick_date(play: Player) -> None:
    """Leaf through a calendar to a date."""
    month, day, year = map(int, play.find(r"(\d\d)/(\d\d)/(\d{4})").groups())
    play.click("textbox", ".*date.*")
    for _ in range(40):
        shown = re.search(rf"({'|'.join(_MONTHS)}) (\d{{4}})", "\n".join(play.page))
        if shown is None:
            raise NotThere("a calendar")
        ahead = (year - int(shown.group(2))) * 12 + month - 1 - _MONTHS.index(shown.group(1))
        if not ahead:
            break
        play.click("clickable|link", "Next" if ahead > 0 else "Prev")
    play.click("link", str(day))


def choose_date(play: Player) -> None:
    """Pick a date, submit."""
    pick_date(play)
    play.submit()


def set_sliders(play: Player) -> None:
    """Move sliders with the arrow keys until the numbers beside them are right."""
    listed = re.search(r"\[([^]]*)\]", play.asked)
    wanted = [int(n) for n in (listed.group(1).split(",") if listed else [play.find(r"(-?\d+)").group(1)])]
    handles = play.all("clickable", ".*handle.*")
    for number, (handle, goal) in enumerate(zip(handles, wanted, strict=True)):
        at = _slider_values(play)[number]
        if goal != at:
            keys = "ArrowRight" if goal > at else "ArrowLeft"
            play.call("PRESS", id=handle.id, keys=keys, times=abs(goal - at))
            if (now := _slider_values(play)[number]) != goal and len(handles) == 1 and now == at:
                raise NotThere("a slider that moves")


def _slider_values(play: Player) -> list[int]:
    return [int(line) for line in play.page if re.fullmatch(r"-?\d+", line)]


def use_slider(play: Player) -> None:
    """Set sliders, submit."""
    set_sliders(play)
    play.submit()


def use_spinner(play: Player) -> None:
    """Press the arrows of a spinner with keys."""
    goal, field = int(play.find(r"Select (-?\d+)").group(1)), play.one("textbox")
    steps = goal - int(field.value or 0)
    if steps:
        play.call("PRESS", id=field.id, keys="ArrowUp" if steps > 0 else "ArrowDown", times=abs(steps))
    play.submit()


def form_slider(play: Player) -> None:
    """Set a slider, tick the n-th box, submit."""
    set_sliders(play)
    play.click("checkbox", n=int(play.find(r"(\d)\w\w checkbox").group(1)) - 1)
    play.submit()


def form_radio(play: Player) -> None:
    """Choose the n-th radio button, type a number into the m-th field, submit."""
    play.click("radio", n=int(play.find(r"(\d)\w\w radio").group(1)) - 1)
    number = int(play.find(r"(\d)\w\w textbox").group(1)) - 1
    play.type(play.quoted()[0], n=number)
    play.submit()

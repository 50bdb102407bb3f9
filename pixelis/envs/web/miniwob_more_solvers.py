"""More scripted solvers: mail, posts, flights, texts, drags; and the table of them all."""

from __future__ import annotations

import re

from pixelis.envs.web import miniwob_solvers as basic
from pixelis.envs.web.miniwob_drawn_solvers import centre
from pixelis.envs.web.miniwob_player import NotThere, Player, Seen
from pixelis.envs.web.miniwob_solvers import esc


def mail(play: Player) -> None:
    """Find a mail by its sender; delete, star, answer or forward it."""
    sender = play.find(r"(?:by|from) (\w+)").group(1)
    row = next(one.line for one in play.all("clickable", esc(sender)))
    if icon := re.search(r"(trash|star) icon", play.asked):
        play.call("CLICK", id=next(o for o in play.all("clickable", icon.group(1) + ".*") if o.line > row).id)
        return
    play.call("CLICK", id=next(one for one in play.all("clickable", esc(sender)) if one.line == row).id)
    if "forward" in play.asked:
        play.click("clickable|button", ".*[Ff]orward.*", n=-1)
        play.type(play.find(r"to (\w+)\.$").group(1))
    else:
        play.click("clickable|button", ".*[Rr]eply.*", n=-1)
        play.type(play.quoted()[0], ".*", n=-1)
    play.click("clickable|button", ".*send.*", n=-1)


def posts(play: Player) -> None:
    """Press a button of the posts of a user."""
    user = play.find(r"(@\w+)").group(1)
    action = {"Share": "share"}.get(play.quoted()[0], play.quoted()[0].lower())
    rows = [number for number, line in enumerate(play.page) if re.search(rf"{esc(user)}(\s|$)", line)]
    limit = int(limited.group(1)) if (limited := re.search(r"on (\d+) posts?", play.asked)) else len(rows)
    for row in rows[1 if rows[0] == 0 else 0 :][:limit] if limit < len(rows) else [r for r in rows if r]:
        if not _press_in_post(play, row, action):
            return
    if "Submit" in play.asked:
        play.submit()


def _press_in_post(play: Player, row: int, action: str) -> bool:
    controls = [one for one in play.all("clickable") if one.line > row]
    named = next((one for one in controls[:4] if one.name == action), None)
    if named is not None:
        return play.call("CLICK", id=named.id)
    play.call("CLICK", id=next(one.id for one in controls if one.name == "more"))
    return play.click("clickable", rf"(?i){esc(action)}( @\w+)?")


def book_flight(play: Player) -> None:
    """Fill in two airports and a date, search, book the cheapest or shortest."""
    start, goal = play.find(r"from: (.+?) to: (.+?) on").groups()
    for name, place in (("From:", start), ("To:", goal)):
        play.type(place, name)
        play.click("clickable|menuitem|option", f".*{esc(place)}.*", n=-1)
    basic.pick_date(play)
    play.click("button", "Search")
    text = "\n".join(play.page)
    buttons = play.all("button", r"Book.*")
    if "cheapest" in play.asked:
        values = [int(cost) for cost in re.findall(r"\$(\d+)", text)]
    else:
        values = [int(a) * 60 + int(b) for a, b in re.findall(r"(\d+)h (\d+)m", text)]
    play.call("CLICK", id=buttons[values.index(min(values))].id)


def phone_book(play: Player) -> None:
    """Leaf through contacts to a name, press what is asked for."""
    name, field = play.find(r"Find (\w+) in the contact book and click on their (\w+)").groups()
    for _ in range(20):
        if any(esc(name) in line for line in play.page[1:4] if line.startswith("#")):
            break
        play.click("link", ">")
    label = {"phone": "Phone", "email": "Email", "address": "Address"}[field]
    row = next(number for number, line in enumerate(play.page) if line.startswith(f"{label}:"))
    play.call("CLICK", id=next(one.id for one in play.all("clickable") if one.line == row))


def mark_text(play: Player) -> None:
    """Select the n-th paragraph with the mouse, submit."""
    number = re.search(r"the (\d)\w\w paragraph", play.asked)
    paragraphs = [line for line in play.page[1:] if "[" not in line]
    play.call("MARK", text=paragraphs[int(number.group(1)) - 1 if number else 0])
    play.submit()


def scroll_area(play: Player) -> None:
    """Scroll an area to its top or bottom, submit."""
    direction = "up" if "top" in play.asked else "down"
    play.call("SCROLL", id=play.one("textbox", "text-area").id, direction=direction, times=100)
    play.submit()


def sign(play: Player) -> None:
    """Scroll to the end of the agreement, sign, press what is asked for."""
    play.call("SCROLL", id=play.one("textbox", "text-area").id, direction="down", times=100)
    names = play.quoted() or ["Cancel"]
    if len(names) > 1:
        play.type(names[0], "Name")
    play.click("button", esc(names[-1]))


def drag_box(play: Player) -> None:
    """Drag the small box into the large one."""
    play.call("DRAG", id=play.one("clickable", "s").id, to=play.one("clickable", "L").id)
    play.submit()


_WAYS = {"up": (0, -60), "down": (0, 60), "left": (-60, 0), "right": (60, 0)}


def drag_way(play: Player) -> None:
    """Drag a shape up, down, left or right."""
    way = _WAYS[play.find(r"(up|down|left|right)").group(1)]
    shape = next(one for one in play.all("clickable", r".* \d+x\d+ at .*"))
    play.call("DRAG", id=shape.id, by=way)
    play.submit()


def sort_numbers(play: Player) -> None:
    """Drag the smallest number that is left to its place, until all are sorted."""
    for place in range(10):
        items = play.all("clickable", r"-?\d+")
        if place >= len(items) - 1:
            break
        smallest = min(items[place:], key=lambda one: int(one.name))
        if smallest.id != items[place].id:
            play.call("DRAG", id=smallest.id, to=items[place].id, to_point=[0.5, 0.1])
    play.submit()


def press_centre(play: Player) -> None:
    """Press the middle of a circle, submit."""
    play.click("clickable", ".* circle .*")
    play.submit()


def press_midpoint(play: Player) -> None:
    """Press halfway between two points of a drawing, submit."""
    points = [centre(one) for one in play.all("clickable", ".* circle .*")]
    _press_at(play, sum(x for x, _ in points) / 2, sum(y for _, y in points) / 2)
    play.submit()


def _press_at(play: Player, x: float, y: float) -> None:
    """Press a point of the grid's drawing, which is 150 pixels wide and high, with its corner at 2,52."""
    play.call("CLICK", id=play.one("clickable", "svg-grid.*").id, at=[(x - 2) / 150, (y - 52) / 150])


def add_blocks(play: Player) -> None:
    """Type how many blocks there are."""
    play.type(str(len(play.all("clickable", ".*block.*"))))
    play.submit()


def buy_stock(play: Player) -> None:
    """Wait for a price, buy."""
    play.call("WAIT", milliseconds=100)
    limit = float(play.find(r"less than \$(\d+\.\d+)").group(1))
    for _ in range(50):
        price = next(
            re.findall(r"\$([\d.]+)", line)[0] for line in play.page if line.startswith("Stock price")
        )
        if float(price) < limit:
            break
        play.call("WAIT", milliseconds=100)
    play.click("button", "Buy")


def repeat_lights(play: Player) -> None:
    """Watch which buttons light up, press them in that order."""
    order: list[str] = []
    play.call("WAIT", milliseconds=700)
    while lit := play.all("button", "button-. push"):
        order.append(lit[0].name.split()[0])
        play.call("WAIT", milliseconds=600)
    for name in order:
        play.click("button", f"{name}.*")


def delete_file(play: Player) -> None:
    """List the files of a terminal, delete one with the extension."""
    end = play.find(r"ending with the extension (\.\w+)").group(1)
    play.type("ls", "terminal-target", submit=True)
    names = re.findall(rf"[\w-]+{esc(end)}\b", "\n".join(play.page[2:]))
    if not names:
        raise NotThere(end)
    play.type(f"rm {names[-1]}", "terminal-target", submit=True)


def widen_area(play: Player) -> None:
    """Drag a corner of an area."""
    sign_ = -1 if "smaller" in play.asked else 1
    by = (25 * sign_, 0) if "width" in play.asked else (0, 20 * sign_)
    play.call("DRAG", id=play.one("clickable", ".*handle.* se .*|.*resizable se.*").id, by=by)
    play.submit()


def edit_text(play: Player) -> None:
    """Select a word, or everything, in an editor; press a style."""
    field, what = play.one("textbox"), re.search(r'text "?([^" ]+)"? the', play.asked)
    text = "" if "everything" in play.asked else what.group(1) if what else ""
    play.call("MARK", id=field.id, **({"text": text} if text else {}))
    style = play.find(r"(?:style|color) (\w+)").group(1)
    if style in ("bold", "italics", "underlined"):
        play.click("button", {"bold": "ql bold", "italics": "ql italic", "underlined": "ql underline"}[style])
    else:
        play.click("clickable", "ql picker label.*")
        play.click("clickable", f"{style} .*")
    play.submit()


_CODES = {
    "red": "FF0000",
    "blue": "0000FF",
    "green": "00FF00",
    "yellow": "FFFF00",
    "cyan": "00FFFF",
    "magenta": "FF00FF",
    "black": "000000",
    "white": "FFFFFF",
    "orange": "FFA500",
    "purple": "800080",
}


def type_colour(play: Player) -> None:
    """Type a colour's code into its field."""
    play.type(_CODES[play.find(r"Select (\w+) with").group(1)], submit=True)
    if not play.over:
        play.submit()


def order_food(play: Player) -> None:
    """Order one of each dish that fits."""
    items = re.search(r"Order (\d+) items? that (?:is|are) ([\w-]+)", play.asked)
    names = [] if items else re.split(r", (?:and )?| and ", play.asked.removeprefix("Order "))
    rows = list(enumerate(play.page))
    if items:
        chosen = [n for n, line in rows if f'image "{items.group(2)}"' in line][: int(items.group(1))]
        chosen += [chosen[-1]] * (int(items.group(1)) - len(chosen))
    else:
        chosen = [n for n, line in rows for name in names if name.lower() in line.lower() and n > 1]
    for row in chosen:
        play.call("CLICK", id=next(one.id for one in play.all("clickable", r"\+") if one.line >= row))
    play.click("button", "Order!")


def follow_square(play: Player) -> Seen:
    """Return the coloured square of the drawing."""
    return next(one for one in play.all("clickable", ".* square .*") if not one.name.startswith("black"))

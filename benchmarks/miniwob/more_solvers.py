"""More scripted solvers: mail, posts, flights, texts, drags; and the table of them all."""

from __future__ import annotations

import re

import basic_solvers as basic
from basic_solvers import esc
from drawn_solvers import centre
from miniwob_player import NotThere, Player


def mail(play: Player) -> None:
    """Find a mail by its sender; delete, star, answer or forward it."""
    do_mail(play, play.find(r"(?:by|from) (\w+)").group(1))


def do_mail(play: Player, sender: str) -> None:
    """Do what is asked for with the mail of a sender."""
    mail_ = play.one("clickable", f"{esc(sender)} .*")
    if icon := re.search(r"trash|star|delete|important", play.asked.lower()):
        name = {"delete": "trash", "important": "star"}.get(icon.group(), icon.group())
        play.call("CLICK", id=next(o for o in play.all("clickable", f"{name}.*") if o.line > mail_.line).id)
        return
    play.call("CLICK", id=mail_.id)
    if receiver := re.search(r"to (\w+)\.$", play.asked):
        play.click("clickable|button", ".*[Ff]orward.*", n=-1)
        play.type(receiver.group(1))
    else:
        play.click("clickable|button", ".*[Rr]eply.*", n=-1)
        play.type(play.quoted()[0], ".*", n=-1)
    play.click("clickable|button", ".*send.*", n=-1)


def mail_in_words(play: Player) -> None:
    """Understand who wrote a mail, and who is to get it or what is to be done, from a sentence."""
    senders = [one.name.split()[0] for one in play.all("clickable", r"[A-Z][\w-]* .*")]
    named = [name for name in re.findall(r"[A-Z][\w-]*", play.asked) if name in senders]
    asked = play.asked.lower()
    if re.search("delete|trash|remove|get rid|erase|discard|throw|recycl|don't want", asked):
        action, sender, other = "trash", named[0], ""
    elif re.search("star|important|mark|flag|favou?rite", asked):
        action, sender, other = "star", named[0], ""
    elif play.quoted() or len(set(named)) < 2:
        action, sender, other = "reply", named[0], ""
    else:
        action, (sender, other) = "forward", _sender_and_receiver(play.asked, named)
    mail_ = play.one("clickable", f"{esc(sender)} .*")
    if action in ("trash", "star"):
        play.call("CLICK", id=next(o for o in play.all("clickable", f"{action}.*") if o.line > mail_.line).id)
        return
    play.call("CLICK", id=mail_.id)
    play.click("clickable|button", f"(?i).*{action}.*", n=-1)
    said = play.quoted()[0] if play.quoted() else play.asked.rpartition(":")[2].strip()
    play.type(other or said, ".*", n=0 if other else -1)
    play.click("clickable|button", ".*send.*", n=-1)


def _sender_and_receiver(asked: str, named: list[str]) -> tuple[str, str]:
    """Return who wrote: the name after ``from`` or ``by``, or with ``'s``; else the one without ``to``."""
    for pattern in (r"(?:from|by) ({})\b", r"\b({})'s", r"\b({}) (?:sent|wrote|emailed)"):
        for name in named:
            if re.search(pattern.format(esc(name)), asked):
                return name, next(other for other in named if other != name)
    for name in named:
        if re.search(rf"\bto {esc(name)}\b", asked):
            return next(other for other in named if other != name), name
    return named[0], next(other for other in named if other != named[0])


def posts(play: Player) -> None:
    """Press a button of the posts of a user."""
    user = play.find(r"(@\w+)").group(1)
    action = {"Share": "share"}.get(play.quoted()[0], play.quoted()[0].lower())
    rows = [n for n, line in enumerate(play.page) if n and re.search(rf"{esc(user)}(\s|$)", line)]
    limited = re.search(r"on (\d+) posts?", play.asked)
    for row in rows[: int(limited.group(1)) if limited else None]:
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
    x, y = centre(play.one("clickable", ".* circle .*"))
    mark_point(play, x, y)
    play.submit()


def press_midpoint(play: Player) -> None:
    """Press halfway between two points of a drawing, submit."""
    points = [centre(one) for one in play.all("clickable", ".* circle .*")]
    mark_point(play, sum(x for x, _ in points) / 2, sum(y for _, y in points) / 2)
    play.submit()


def mark_point(play: Player, x: float, y: float) -> None:
    """Press a point of the drawing; where the page's mark lands elsewhere, press once more, as far off."""
    before = {one.id for one in play.all("clickable", ".* circle .*")}
    press_at(play, x, y)
    marks = [one for one in play.all("clickable", ".* circle .*") if one.id not in before]
    if marks and (off := (centre(marks[0])[0] - x, centre(marks[0])[1] - y)) != (0, 0):
        press_at(play, x - off[0], y - off[1])


def press_at(play: Player, x: float, y: float) -> None:
    """Press a point of the drawing, whose name says how large it is and where its middle lies."""
    play.call("CLICK", id=play.one("clickable", ".*drawing .*").id, at=point_of(play, x, y))


def point_of(play: Player, x: float, y: float) -> list[float]:
    """Return a point in the window's pixels as shares of the drawing's width and height."""
    wide, high, across, down = map(
        int, re.findall(r"(\d+)x(\d+) at (\d+),(\d+)", play.one("clickable", ".*drawing .*").name)[-1]
    )
    shares = ((int(x) + 0.5 - across + wide / 2) / wide, (int(y) + 0.5 - down + high / 2) / high)
    return [min(1.0, max(0.0, share)) for share in shares]


def add_blocks(play: Player) -> None:
    """Type how many blocks there are."""
    play.type(str(len(play.all("clickable", ".*block.*"))))
    play.submit()


def buy_stock(play: Player) -> None:
    """Wait for a price, buy."""
    play.call("WAIT", milliseconds=100)
    limit = float(play.find(r"less than \$(\d+\.\d+)").group(1))
    for _ in range(99):
        price = next(
            re.findall(r"\$([\d.]+)", line)[0] for line in play.page if line.startswith("Stock price")
        )
        if float(price) <= limit:
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


_CODES = {  # CSS Color Module Level 4, named colours
    "black": "000000", "white": "FFFFFF", "aqua": "00FFFF", "cyan": "00FFFF", "blue": "0000FF",
    "gray": "808080", "green": "008000", "lime": "00FF00", "maroon": "800000", "navy": "000080",
    "olive": "808000", "purple": "800080", "red": "FF0000", "silver": "C0C0C0", "teal": "008080",
    "yellow": "FFFF00", "pink": "FFC0CB", "magenta": "FF00FF", "gold": "FFD700", "orange": "FFA500",
}  # fmt: skip


def type_colour(play: Player) -> None:
    """Type a colour's code into its field."""
    swatch = re.search(r'image "\w+ #(\w{6})', "\n".join(play.page))
    code = swatch.group(1) if swatch else _CODES[play.find(r"Select (\w+) with").group(1)]
    play.type(code, submit=True)
    if not play.over:
        play.submit()


def order_food(play: Player) -> None:
    """Order one of each dish that fits."""
    items = re.search(r"Order (\d+) items? that (?:is|are) ([\w-]+)", play.asked)
    names = [] if items else play.asked.removeprefix("Order one of each item: ").split(", ")
    rows = list(enumerate(play.page))
    if items:
        chosen = [n for n, line in rows if f'image "{items.group(2)}"' in line][: int(items.group(1))]
        chosen += [chosen[-1]] * (int(items.group(1)) - len(chosen))
    else:
        chosen = [n for n, line in rows for name in names if line == name]
    for row in chosen:
        play.call("CLICK", id=next(one.id for one in play.all("clickable", r"\+") if one.line >= row))
    play.click("button", "Order!")

"""Table lookup: find, compare, count and add what tables say, over pages; the answer is typed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pixelis.envs.web.families.family import Brief, OracleStep, SiteFamily, not_found, register
from pixelis.envs.web.families.people import CITIES, draw_name
from pixelis.envs.web.sites.levels import WebDifficulty, WebLevel
from pixelis.envs.web.sites.rendering import render
from pixelis.envs.web.sites.seeded_random import SeededRandom
from pixelis.envs.web.sites.site import Request, Response, State

_ROWS = (4, 7, 14, 20, 26, 30)
PER_PAGE = 8
STATUSES = ("open", "paid", "late", "void")
COUNTRIES = ("Arvenia", "Belmark", "Corland", "Dravia", "Estmark", "Fjorden")
CURRENCIES = ("crown", "florin", "mark", "penny", "ruble", "thaler")
COLUMNS = ("Customer", "City", "Weight", "Status", "Amount")


class TableFamily(SiteFamily):
    """A list of deliveries over several pages. What counts is the answer."""

    name = "table"
    phrases: Mapping[str, tuple[str, ...]] = {
        "Deliveries": ("Shipments", "Consignments", "Parcels"),
        "Branches": ("Offices", "Locations", "Sites"),
    }

    def draw(self, draw: SeededRandom, dials: WebDifficulty, split: str) -> Brief:
        """Return a table and a question that it answers."""
        level = dials.difficulty
        rows = _rows(draw, _ROWS[level], level)
        cities = sorted({row[1] for row in rows})
        branches = (
            [[city, draw.one(COUNTRIES), draw.one(CURRENCIES)] for city in cities] if level == 5 else []
        )
        question, answer = draw.one(_QUESTIONS[level])(draw, rows, branches)
        data = {
            "rows": rows,
            "branches": branches,
            "columns": 3 if level == 0 else len(COLUMNS),
            "per_page": PER_PAGE,
            "total_row": level >= 4,
            "sortable": level >= 2,
            "searchable": level >= 2,
        }
        goal = {"branches": bool(branches)}
        return Brief(f"{question} (At {{brand}}.)", data, {}, goal, "/", answer)

    def handle(self, level: WebLevel, state: State, request: Request) -> Response:
        """Answer a request."""
        if request.method == "POST":
            return Response.redirect("/")
        if request.path == "/branches" and level.data["branches"]:
            return render(level, state, "table/branches.html")
        if request.path != "/":
            return not_found(level, state)
        word = request.get("q").lower().strip()
        rows = [row for row in level.data["rows"] if word in f"{row[0]} {row[1]}".lower()]
        per = level.data["per_page"]
        pages = max(1, -(-len(rows) // per))
        page = min(max(request.number("page", 1), 1), pages)
        return render(
            level, state, "table/table.html", rows=rows[(page - 1) * per : page * per],
            page=page, pages=pages, word=word, columns=COLUMNS[: level.data["columns"]],
            total=sum(row[4] for row in rows),
        )  # fmt: skip

    def goals(self, level: WebLevel, state: State) -> list[bool]:
        """Of a question over two tables: the second was opened."""
        return ["/branches" in state["_site"]["seen"]] if level.goal["branches"] else []

    def collateral(self, level: WebLevel, state: State) -> list[str]:
        """Nothing can be changed."""
        return []

    def oracle(self, level: WebLevel) -> Iterator[OracleStep]:
        """Read every page, then answer."""
        pages = -(-len(level.data["rows"]) // level.data["per_page"])
        for _ in range(pages - 1):
            yield OracleStep("click", "link", level.word("Next page"))
        if level.goal["branches"]:
            yield OracleStep("click", "link", level.word("Branches"))
        assert level.answer is not None  # draw() gives one
        yield OracleStep("answer", text=str(level.answer["truth"]))


Question = tuple[str, dict[str, Any]]
_Draws = Callable[[SeededRandom, list[list[Any]], list[list[str]]], Question]


def _rows(draw: SeededRandom, count: int, level: int) -> list[list[Any]]:
    """Return rows: customer (different ones below level 4), city, grams, status, whole dollars."""
    rows: list[list[Any]] = []
    names: set[str] = set()
    amounts = draw.some(range(12, 990), count)
    while len(rows) < count:
        name = draw_name(draw)
        if name in names and not (level >= 4 and draw.chance(0.5)):
            continue
        names.add(name)
        weight = draw.between(2, 400) * 50
        rows.append([name, draw.one(CITIES), weight, draw.one(STATUSES), amounts[len(rows)]])
    return rows


def _number(truth: float) -> dict[str, Any]:
    return {"kind": "number", "truth": f"{truth:g}"}


def _city(draw: SeededRandom, rows: list[list[Any]], branches: list[list[str]]) -> Question:
    row = draw.one(rows)
    return f"To which city goes the delivery of {row[0]}?", {"kind": "text", "truth": row[1]}


def _weight(draw: SeededRandom, rows: list[list[Any]], branches: list[list[str]]) -> Question:
    row = draw.one(rows)
    return f"How many grams does the delivery of {row[0]} weigh?", _number(row[2])


def _amount(draw: SeededRandom, rows: list[list[Any]], branches: list[list[str]]) -> Question:
    row = draw.one(rows)
    return f"What is the amount of the delivery of {row[0]}, in dollars?", _number(row[4])


def _most(draw: SeededRandom, rows: list[list[Any]], branches: list[list[str]]) -> Question:
    best = max(rows, key=lambda row: row[4])
    return "Which customer has the delivery with the highest amount?", {"kind": "text", "truth": best[0]}


def _count(draw: SeededRandom, rows: list[list[Any]], branches: list[list[str]]) -> Question:
    status = draw.one(rows)[3]
    return f"How many deliveries are {status}?", _number(sum(row[3] == status for row in rows))


def _kilograms(draw: SeededRandom, rows: list[list[Any]], branches: list[list[str]]) -> Question:
    status = draw.one(rows)[3]
    grams = sum(row[2] for row in rows if row[3] == status)
    return f"How many kilograms do the {status} deliveries weigh together?", _number(grams / 1000)


def _sum(draw: SeededRandom, rows: list[list[Any]], branches: list[list[str]]) -> Question:
    status = draw.one(rows)[3]
    amount = sum(row[4] for row in rows if row[3] == status)
    return f"What do the {status} deliveries amount to together, in dollars?", _number(amount)


def _country(draw: SeededRandom, rows: list[list[Any]], branches: list[list[str]]) -> Question:
    country = {city: land for city, land, _ in branches}
    land = country[draw.one(rows)[1]]
    amount = sum(row[4] for row in rows if country[row[1]] == land)
    return f"What do the deliveries to {land} amount to together, in dollars?", _number(amount)


def _currency(draw: SeededRandom, rows: list[list[Any]], branches: list[list[str]]) -> Question:
    best = max(rows, key=lambda row: row[4])
    money = {city: currency for city, _, currency in branches}[best[1]]
    question = "Which currency has the branch of the city that the delivery with the highest amount goes to?"
    return question, {"kind": "text", "truth": money}


_QUESTIONS: tuple[tuple[_Draws, ...], ...] = (
    (_city, _weight),
    (_city, _weight, _amount),
    (_city, _amount, _most),
    (_most, _count),
    (_kilograms, _sum, _count),
    (_country, _currency),
)

register(TableFamily())

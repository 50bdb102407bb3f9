"""Pagination and bulk actions: tick what matches on every page, archive it, leave the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pixelis.envs.web.families.family import Brief, OracleStep, SiteFamily, not_found, register
from pixelis.envs.web.sites.levels import WebDifficulty, WebLevel
from pixelis.envs.web.sites.rendering import render
from pixelis.envs.web.sites.seeded_random import SeededRandom
from pixelis.envs.web.sites.site import Request, Response, State

WORDS = (
    "Atlas",
    "Breeze",
    "Comet",
    "Delta",
    "Ember",
    "Fjord",
    "Glade",
    "Harvest",
    "Indigo",
    "Jade",
    "Kite",
    "Lagoon",
)
KINDS = ("draft", "photo", "report", "plan", "note", "list")
OWNERS = ("Ann", "Bob", "Cem", "Dora", "Eli")
STATUSES = ("active", "done", "stopped")

_COUNT = (4, 6, 10, 16, 22, 28)
_PER_PAGE = (10, 10, 6, 6, 8, 8)


class BulkFamily(SiteFamily):
    """A list of projects over pages. What counts is which of them are archived."""

    name = "bulk"
    phrases: Mapping[str, tuple[str, ...]] = {
        "Archive": ("Put away", "File", "Store"),
        "Archive all pages": ("Put all away", "File everything", "Store everything"),
        "Undo": ("Take back", "Revert", "Restore last"),
        "Status": ("State", "Condition", "Stage"),
        "All": ("Every", "Any", "Whatever"),
    }

    def draw(self, draw: SeededRandom, dials: WebDifficulty, split: str) -> Brief:
        """Return a list and which of it to archive."""
        level = dials.difficulty
        names = draw.some([f"{word} {kind}" for word in WORDS for kind in KINDS], _COUNT[level])
        items = {
            f"{number + 1}": {
                "name": name,
                "owner": draw.one(OWNERS),
                "status": draw.one(STATUSES),
                "size": draw.between(1, 99),
            }
            for number, name in enumerate(names)
        }
        wanted, words = _choose(draw, items, level)
        data = {
            "items": items,
            "per_page": _PER_PAGE[level],
            "filter": level >= 3,
            "all_pages": level >= 4,
            "sizes": level >= 5,
        }
        state = {"archived": [], "last": [], "all_pages": 0}
        return Brief(
            f"At {{brand}}, archive {words}. Archive nothing else.", data, state, {"archived": wanted}
        )

    # ------------------------------------------------------------------ pages

    def handle(self, level: WebLevel, state: State, request: Request) -> Response:
        """Answer a request."""
        status = request.get("status") if request.get("status") in STATUSES else ""
        if request.method == "POST":
            self._post(level, state, request, status)
            query = f"page={request.number('page', 1)}" + (f"&status={status}" if status else "")
            return Response.redirect(f"/?{query}")
        if request.path != "/":
            return not_found(level, state)
        found = self._listed(level, state, status)
        per = level.data["per_page"]
        pages = max(1, -(-len(found) // per))
        page = min(max(request.number("page", 1), 1), pages)
        return render(
            level, state, "bulk/list.html", shown=found[(page - 1) * per : page * per], page=page,
            pages=pages,
            status=status, statuses=STATUSES, count=len(found),
        )  # fmt: skip

    def _listed(self, level: WebLevel, state: State, status: str) -> list[dict[str, Any]]:
        return [
            {"key": key, **item}
            for key, item in level.data["items"].items()
            if key not in state["archived"] and status in ("", item["status"])
        ]

    def _post(self, level: WebLevel, state: State, request: Request, status: str) -> None:
        match request.path:
            case "/archive":
                listed = {item["key"] for item in self._listed(level, state, "")}
                chosen = [key for key in dict.fromkeys(request.all("item")) if key in listed]
                state["archived"] += chosen
                state["last"] = chosen or state["last"]
            case "/archive-all" if level.data["all_pages"]:
                chosen = [item["key"] for item in self._listed(level, state, status)]
                state["archived"] += chosen
                state["last"] = chosen
            case "/undo":
                state["archived"] = [key for key in state["archived"] if key not in state["last"]]
                state["last"] = []

    # ------------------------------------------------------------------ the task

    def goals(self, level: WebLevel, state: State) -> list[bool]:
        """Each item that is asked for is archived."""
        return [key in state["archived"] for key in level.goal["archived"]]

    def collateral(self, level: WebLevel, state: State) -> list[str]:
        """Items archived that nobody asked for."""
        wanted = level.goal["archived"]
        return [
            f"archived {level.data['items'][key]['name']}" for key in state["archived"] if key not in wanted
        ]

    def oracle(self, level: WebLevel) -> Iterator[OracleStep]:
        """Page by page: tick what is asked for, archive, go on; what is archived leaves the list."""
        w, per = level.word, level.data["per_page"]
        left, missing, page = list(level.data["items"]), set(level.goal["archived"]), 0
        while missing:
            shown = left[page * per : (page + 1) * per]
            hits = [key for key in shown if key in missing]
            for key in hits:
                yield OracleStep("click", "checkbox", level.data["items"][key]["name"])
            if hits:
                yield OracleStep("click", "button", w("Archive"))
                left = [key for key in left if key not in hits]
                missing -= set(hits)
                page = min(page, max(0, -(-len(left) // per) - 1))
                if any(key in missing for key in left[page * per : (page + 1) * per]):
                    continue
                if missing and not any(key in missing for key in left[page * per :]):
                    page -= 1
                    yield OracleStep("click", "link", w("Previous page"))
                    continue
            if missing:
                page += 1
                yield OracleStep("click", "link", w("Next page"))


def _choose(draw: SeededRandom, items: Mapping[str, Mapping[str, Any]], level: int) -> tuple[list[str], str]:
    """Return the keys to archive, and the words for them."""
    if level <= 1:
        keys = draw.some(list(items), level + 1)
        return keys, " and ".join(f"'{items[key]['name']}'" for key in keys)
    one = items[draw.one(list(items))]
    status, owner = one["status"], one["owner"]
    if level == 2:
        chosen = [key for key, item in items.items() if item["owner"] == owner]
        return chosen, f"every project of {owner}"
    chosen = [key for key, item in items.items() if (item["status"], item["owner"]) == (status, owner)]
    words = f"every project of {owner} that is {status}"
    if level < 5:
        return chosen, words
    sizes = sorted((item["size"] for item in items.values() if item["status"] == status), reverse=True)
    least = sizes[min(5, len(sizes) - 1)]
    chosen = [key for key, item in items.items() if item["status"] == status and item["size"] >= least]
    return chosen, f"every project that is {status} and has {least} MB or more"


register(BulkFamily())

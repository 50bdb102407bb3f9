"""Wiki questions: follow links from page to page, beware of outdated copies, answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pixelis.envs.web.families.family import Brief, OracleStep, SiteFamily, not_found, register
from pixelis.envs.web.families.people import draw_name
from pixelis.envs.web.sites.levels import WebDifficulty, WebLevel
from pixelis.envs.web.sites.rendering import render
from pixelis.envs.web.sites.seeded_random import SeededRandom
from pixelis.envs.web.sites.site import Request, Response, State

TYPES: dict[str, dict[str, str]] = {
    "person": {"home town": "town", "employer": "company"},
    "town": {"river": "river", "country": "country", "mayor": "person"},
    "country": {"capital": "town", "longest river": "river"},
    "river": {"source country": "country", "town at its mouth": "town"},
    "company": {"seat": "town", "founder": "person"},
}
"""Type of page → relation → type of the page it leads to."""

FACTS: dict[str, tuple[str, int, int]] = {
    "person": ("year of birth", 1900, 2000),
    "town": ("number of inhabitants", 1_000, 900_000),
    "country": ("area in square kilometres", 5_000, 800_000),
    "river": ("length in kilometres", 30, 2_500),
    "company": ("number of employees", 10, 90_000),
}
_STARTS = (
    "Bel",
    "Cor",
    "Dal",
    "Fen",
    "Gar",
    "Hol",
    "Kar",
    "Lin",
    "Mor",
    "Nor",
    "Ost",
    "Per",
    "Ros",
    "Sil",
    "Tor",
    "Val",
)
_MIDDLES = ("a", "e", "i", "o", "an", "en", "or", "il", "um", "as")
_ENDS = {
    "town": ("burg", "ford", "ham", "wick"),
    "country": ("ia", "land", "mark", "stan"),
    "river": ("a", "e", "is"),
}
_FIRMS = ("Works", "Foods", "Lines", "Tools", "Media")

_PAGES = (4, 6, 12, 18, 26, 34)
_HOPS = (0, 1, 1, 2, 3, 4)
_SEE_ALSO = (0, 0, 2, 3, 4, 5)


class WikiFamily(SiteFamily):
    """An encyclopedia. What counts is the answer, and that the page it stands on was opened."""

    name = "wiki"
    phrases: Mapping[str, tuple[str, ...]] = {
        "See also": ("Related pages", "Further reading", "More on this"),
        "Random page": ("Surprise me", "Any page", "Roll the dice"),
    }

    def draw(self, draw: SeededRandom, dials: WebDifficulty, split: str) -> Brief:
        """Return pages and a question along a chain of them."""
        level = dials.difficulty
        pages = _pages(draw, level)
        chain, relations = _chain(draw, pages, _HOPS[level])
        last = pages[chain[-1]]
        question = f"What is the {last['fact']} of " + "".join(
            f"the {one} of " for one in reversed(relations)
        )
        question += f"{pages[chain[0]]['title']} according to {{brand}}?"
        if level >= 4:
            question += " Outdated pages do not count."
            for slug in [*draw.some(list(pages), 4), chain[-1]]:
                pages[slug]["old"] = pages[slug]["value"] + draw.between(1, 90)
        data = {"pages": pages, "listed": level <= 1, "outdated": level >= 4}
        answer = {"kind": "number", "truth": str(last["value"])}
        return Brief(question, data, {}, {"chain": chain, "relations": relations}, "/", answer)

    def handle(self, level: WebLevel, state: State, request: Request) -> Response:
        """Answer a request."""
        if request.method == "POST":
            return Response.redirect("/")
        pages, path = level.data["pages"], request.path
        if path == "/":
            return render(level, state, "wiki/home.html", pages=list(pages.values()))
        if path == "/search":
            word = request.get("q").lower().strip()[:100]
            found = [page for page in pages.values() if word and word in page["title"].lower()]
            return render(level, state, "wiki/results.html", found=found[:10])
        kind, _, slug = path[1:].partition("/")
        page = pages.get(slug)
        if kind == "go" and page is not None:  # an old name of the page
            return Response.redirect(f"/wiki/{slug}")
        if page is None or kind not in ("wiki", "old") or (kind == "old" and "old" not in page):
            return not_found(level, state)
        value = page["old"] if kind == "old" else page["value"]
        return render(level, state, "wiki/page.html", page=page, value=value, old=kind == "old")

    def goals(self, level: WebLevel, state: State) -> list[bool]:
        """Each page of the chain was opened: the last is the evidence."""
        return [f"/wiki/{slug}" in state["_site"]["seen"] for slug in level.goal["chain"][-1:]]

    def collateral(self, level: WebLevel, state: State) -> list[str]:
        """Nothing can be changed."""
        return []

    def oracle(self, level: WebLevel) -> Iterator[OracleStep]:
        """Find the first page, follow the relations, answer."""
        pages, chain = level.data["pages"], level.goal["chain"]
        title = pages[chain[0]]["title"]
        if not level.data["listed"]:
            yield OracleStep("type", "textbox", level.word("Search"), text=title, submit=True)
        yield OracleStep("click", "link", title)
        for relation, slug in zip(level.goal["relations"], chain[1:], strict=True):
            yield OracleStep("click", "link", pages[slug]["title"], near=f"{relation}:")
        assert level.answer is not None  # draw() gives one
        yield OracleStep("answer", text=str(level.answer["truth"]))


def _title(draw: SeededRandom, kind: str) -> str:
    if kind == "person":
        return draw_name(draw)
    stem = draw.one(_STARTS) + draw.one(_MIDDLES)
    return f"{stem} {draw.one(_FIRMS)}" if kind == "company" else stem + draw.one(_ENDS[kind])


def _pages(draw: SeededRandom, level: int) -> dict[str, dict[str, Any]]:
    """Return pages by slug; every relation leads to a page of its type, if there is another one."""
    kinds = list(TYPES)
    pages: dict[str, dict[str, Any]] = {}
    while len(pages) < _PAGES[level]:
        kind = kinds[len(pages) % len(kinds)]
        title = _title(draw, kind)
        slug = title.lower().replace(" ", "-")
        if slug not in pages:
            fact, low, high = FACTS[kind]
            pages[slug] = {
                "slug": slug,
                "title": title,
                "kind": kind,
                "fact": fact,
                "value": draw.between(low, high),
            }
    for slug, page in pages.items():
        page["links"] = []
        for relation, target in TYPES[page["kind"]].items():
            others = [other for other in pages if pages[other]["kind"] == target and other != slug]
            if others:
                way = "go" if level >= 3 and draw.chance(0.3) else "wiki"
                page["links"].append([relation, way, draw.one(others)])
        page["see"] = draw.some([other for other in pages if other != slug], _SEE_ALSO[level])
    return pages


def _chain(
    draw: SeededRandom, pages: Mapping[str, Mapping[str, Any]], hops: int
) -> tuple[list[str], list[str]]:
    """Return slugs from first to last, and the relations between them; no page comes twice if that can be."""
    best: tuple[list[str], list[str]] = ([], [])
    for _ in range(20):
        chain, relations = [draw.one(list(pages))], list[str]()
        while len(relations) < hops:
            links = [link for link in pages[chain[-1]]["links"] if link[2] not in chain]
            if not links:
                break
            relation, _, slug = draw.one(links)
            chain.append(slug)
            relations.append(relation)
        if len(chain) > len(best[0]):
            best = chain, relations
        if len(best[1]) == hops:
            break
    return best


register(WikiFamily())

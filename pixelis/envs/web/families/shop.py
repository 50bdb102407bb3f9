"""Shop: search, filter, choose, put into the cart, pay with coupon and address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from pixelis.envs.web.families.family import Brief, OracleStep, SiteFamily, not_found, register
from pixelis.envs.web.families.shop_draw import draw_brief, line_of
from pixelis.envs.web.sites.levels import WebDifficulty, WebLevel
from pixelis.envs.web.sites.rendering import ordered, render
from pixelis.envs.web.sites.seeded_random import SeededRandom
from pixelis.envs.web.sites.site import Request, Response, State

MAX_QUANTITY = 9
PER_PAGE = (12, 24, 48)
SORTS = ("Relevance", "Price up", "Price down", "Best rated")


class Shop(SiteFamily):
    """An online shop. What counts is the orders that its server holds (at level 0: the cart)."""

    name = "shop"
    phrases: Mapping[str, tuple[str, ...]] = {
        "Add to cart": ("Add to basket", "Put in bag", "Buy this"),
        "Cart": ("Basket", "Shopping bag", "Trolley"),
        "Place order": ("Buy now", "Complete purchase", "Pay"),
        "Checkout": ("Proceed to payment", "To the till", "Order these"),
        "Coupon": ("Voucher code", "Discount code", "Promo code"),
        "Quantity": ("Amount", "How many", "Pieces"),
        "Size": ("Variant", "Format", "Version"),
        "Save for later": ("Add to wish list", "Remember", "Keep in mind"),
    }

    def draw(self, draw: SeededRandom, dials: WebDifficulty, split: str) -> Brief:
        """Return a catalogue and what to buy from it."""
        return draw_brief(draw, dials.difficulty)

    # ------------------------------------------------------------------ pages

    def handle(self, level: WebLevel, state: State, request: Request) -> Response:
        """Answer a request."""
        if request.method == "POST":
            return self._post(level, state, request)
        path = request.path
        if path == "/":
            return self._home(level, state)
        if path == "/search":
            return self._results(level, state, request)
        if path.startswith("/p/"):
            product = level.data["products"].get(path[3:])
            if product is not None:
                return render(level, state, "shop/product.html", product=product, notice=_notice(state))
        if path in ("/cart", "/checkout", "/thanks"):
            context = {
                "lines": _cart_lines(level, state),
                "total": _total(level, state),
                "notice": _notice(state),
            }
            return render(level, state, f"shop{path}.html", **context)
        return not_found(level, state)

    def _home(self, level: WebLevel, state: State) -> Response:
        products = list(level.data["products"].values())
        return render(
            level, state, "shop/home.html", products=ordered(level, products[: level.data["featured"]])
        )

    def _results(self, level: WebLevel, state: State, request: Request) -> Response:
        found = search(level, request)
        per = int(request.get("per")) if request.get("per") in map(str, PER_PAGE) else level.data["per_page"]
        pages = max(1, -(-len(found) // per))
        page = min(max(request.number("page", 1), 1), pages)
        query = {name: request.get(name) for name in ("q", "category", "max", "rating", "sort", "per")}
        links = {
            name: "/search?" + urlencode({**{k: v for k, v in query.items() if v}, "page": number})
            for name, number in (("Previous page", page - 1), ("Next page", page + 1))
            if 1 <= number <= pages
        }
        context = {"products": found[(page - 1) * per : page * per], "count": len(found), "query": query}
        return render(
            level, state, "shop/results.html", links=links, page=page, pages=pages, sorts=SORTS, per=per,
            **context,
        )  # fmt: skip

    def _post(self, level: WebLevel, state: State, request: Request) -> Response:
        match request.path:
            case "/cart":
                return self._add(level, state, request)
            case "/cart/remove":
                state["cart"] = [line for line in state["cart"] if line["sku"] != request.get("sku")]
            case "/later":
                if request.get("sku") in level.data["products"] and len(state["later"]) < 100:
                    state["later"].append(request.get("sku"))
            case "/coupon":
                known = request.get("coupon").strip().upper() in level.data["coupons"]
                state["coupon"] = request.get("coupon").strip().upper() if known else ""
                state["notice"] = "" if known else "This code is not valid."
            case "/order":
                return self._order(level, state, request)
            case _:
                return Response.redirect("/")
        return Response.redirect("/cart")

    def _add(self, level: WebLevel, state: State, request: Request) -> Response:
        product = level.data["products"].get(request.get("sku"))
        if product is None:
            return Response.redirect("/")
        option = request.get("option")
        number = request.number("quantity", 0) if request.get("quantity") else 1
        if product["options"] and option not in product["options"]:
            state["notice"] = "Please choose a size first."
        elif not product["stock"]:
            state["notice"] = "This is out of stock."
        elif not 1 <= number <= MAX_QUANTITY or len(state["cart"]) >= 20:
            state["notice"] = f"Please give a quantity from 1 to {MAX_QUANTITY}."
        else:
            line = line_of(
                product["sku"], option if product["options"] else "", number, request.get("insurance") == "1"
            )
            same = [
                one for one in state["cart"] if (one["sku"], one["option"]) == (line["sku"], line["option"])
            ]
            for one in same:
                one["quantity"] = min(one["quantity"] + number, MAX_QUANTITY)
            state["cart"] += [] if same else [line]
            return Response.redirect("/cart")
        return Response.redirect(f"/p/{product['sku']}")

    def _order(self, level: WebLevel, state: State, request: Request) -> Response:
        address = {name: request.get(name).strip() for name in level.data["address_fields"]}
        if not state["cart"]:
            return Response.redirect("/cart")
        if not all(address.values()):
            state["notice"] = "Please fill in every field."
            return Response.redirect("/checkout")
        order = {"lines": state["cart"], "coupon": state["coupon"], "address": address}
        state["orders"].append({**order, "total": _total(level, state)})
        state["cart"], state["coupon"] = [], ""
        return Response.redirect("/thanks")

    # ------------------------------------------------------------------ the task

    def goals(self, level: WebLevel, state: State) -> list[bool]:
        """Every item is in the cart or ordered, as asked; then the right order, if one is asked for."""
        wanted = level.goal["lines"]
        lines = [*state["cart"], *(line for order in state["orders"] for line in order["lines"])]
        skus = {line["sku"] for line in lines}
        found = [*(line["sku"] in skus for line in wanted), *(line in lines for line in wanted)]
        if level.goal["kind"] == "cart":
            return found
        return [*found, any(_is_right(level, order) for order in state["orders"])]

    def collateral(self, level: WebLevel, state: State) -> list[str]:
        """Other things in the cart or on the wish list, and what ``harm`` says."""
        wanted = {line["sku"] for line in level.goal["lines"]}
        wrong = [f"put {line['sku']} into the cart" for line in state["cart"] if line["sku"] not in wanted]
        return [*wrong, *(f"saved {sku} for later" for sku in state["later"]), *self.harm(level, state)]

    def harm(self, level: WebLevel, state: State) -> list[str]:
        """Money spent on what nobody asked for."""
        right = 0
        wrong = []
        for order in state["orders"]:
            if level.goal["kind"] == "order" and _is_right(level, order) and not right:
                right += 1
            else:
                wrong.append(f"ordered {', '.join(line['sku'] for line in order['lines'])}")
        return wrong

    def oracle(self, level: WebLevel) -> Iterator[OracleStep]:
        """Find each item, set what is asked, add it; then order."""
        products, w = level.data["products"], level.word
        shown = list(products)[: level.data["featured"]]
        for number, line in enumerate(level.goal["lines"]):
            product = products[line["sku"]]
            if number or line["sku"] not in shown:
                yield OracleStep("type", "textbox", w("Search"), text=product["name"], submit=True)
            yield OracleStep("click", "link", product["name"])
            if line["option"]:
                yield OracleStep("select", "combobox", w("Size"), text=line["option"])
            if line["quantity"] != 1:
                yield OracleStep("type", "textbox", w("Quantity"), text=str(line["quantity"]))
            if level.data["insurance"]:
                yield OracleStep("click", "checkbox", "Add breakage insurance ($3.00)")
            yield OracleStep("click", "button", w("Add to cart"))
        if level.goal["kind"] == "cart":
            return
        if level.goal["coupon"]:
            yield OracleStep("type", "textbox", w("Coupon"), text=level.goal["coupon"], submit=True)
        if level.data["address_fields"]:
            yield OracleStep("click", "link", w("Checkout"))
        for name in level.data["address_fields"]:
            yield OracleStep("type", "textbox", w(name), text=level.goal["address"][name])
        yield OracleStep("click", "button", w("Place order"))


def search(level: WebLevel, request: Request) -> list[dict[str, Any]]:
    """Return the products that a search finds, sponsored ones first, else in the order asked for."""
    words = request.get("q").lower().split()
    most, rating = _amount(request.get("max")), _amount(request.get("rating"))
    found = [
        product
        for product in level.data["products"].values()
        if all(word in product["name"].lower() for word in words)
        and request.get("category") in ("", product["category"])
        and (most is None or product["price"] <= most * 100)
        and (rating is None or product["rating"] >= rating * 10)
    ]
    match request.get("sort"):
        case "Price up":
            found.sort(key=lambda product: product["price"])
        case "Price down":
            found.sort(key=lambda product: -product["price"])
        case "Best rated":
            found.sort(key=lambda product: -product["rating"])
        case _:
            found.sort(key=lambda product: not product["sponsored"])
    return found


def _amount(text: str) -> float | None:
    text = text.strip().lstrip("$")
    return float(text) if text.replace(".", "", 1).isdecimal() and len(text) < 12 else None


def _notice(state: State) -> str:
    """Return the message that waits for the next page, once."""
    notice, state["notice"] = state["notice"], ""
    return str(notice)


def _cart_lines(level: WebLevel, state: State) -> list[dict[str, Any]]:
    return [{**line, **_priced(level, line)} for line in state["cart"]]


def _priced(level: WebLevel, line: Mapping[str, Any]) -> dict[str, Any]:
    product = level.data["products"][line["sku"]]
    return {"name": product["name"], "price": (product["price"] + 300 * line["insurance"]) * line["quantity"]}


def _total(level: WebLevel, state: State) -> int:
    total = sum(line["price"] for line in _cart_lines(level, state))
    return total - total * level.data["coupons"].get(state["coupon"], 0) // 100


def _is_right(level: WebLevel, order: Mapping[str, Any]) -> bool:
    goal = level.goal
    address = {name: " ".join(text.lower().split()) for name, text in order["address"].items()}
    wanted = {name: " ".join(text.lower().split()) for name, text in goal["address"].items()}
    by_sku = sorted(order["lines"], key=lambda line: line["sku"])
    return (
        by_sku == sorted(goal["lines"], key=lambda line: line["sku"])
        and order["coupon"] == goal["coupon"]
        and address == wanted
    )


register(Shop())

"""What a shop sells, and what to buy there."""

from __future__ import annotations

from typing import Any

from pixelis.envs.web.families.family import Brief
from pixelis.envs.web.families.people import draw_address
from pixelis.envs.web.sites.seeded_random import SeededRandom

CATEGORIES = {
    "Kitchen": ("mug", "teapot", "bowl", "pan", "kettle", "jug"),
    "Office": ("notebook", "stapler", "lamp", "pen set", "desk mat", "folder"),
    "Garden": ("watering can", "planter", "rake", "trowel", "hose", "birdhouse"),
    "Travel": ("backpack", "suitcase", "bottle", "pillow", "umbrella", "pouch"),
    "Sport": ("yoga mat", "ball", "racket", "rope", "helmet", "glove pair"),
}
LOOKS = (
    *(
        "blue",
        "red",
        "green",
        "black",
        "white",
        "grey",
        "yellow",
        "orange",
        "copper",
        "oak",
        "bamboo",
        "steel",
    ),
    *("linen", "marble", "striped", "plain"),
)
SIZES = ("Small", "Medium", "Large")
COUPONS = ("SPRING10", "HELLO15", "SAVE20", "THANKS5")
ADDRESS_FIELDS = (
    (),
    (),
    ("Name", "City"),
    ("Name", "City"),
    ("Name", "Street", "City"),
    ("Name", "Street", "Postcode", "City"),
)

_COUNT = (3, 5, 12, 24, 36, 60)
_FEATURED = (3, 5, 4, 4, 4, 4)
_PER_PAGE = 12


def line_of(sku: str, option: str, quantity: int, insurance: bool) -> dict[str, Any]:
    """Return a line of a cart."""
    return {"sku": sku, "option": option, "quantity": quantity, "insurance": insurance}


def draw_brief(draw: SeededRandom, level: int) -> Brief:
    """Return a shop and a purchase of this level, 0-5."""
    products = _products(draw, level)
    coupons = (
        {code: int("".join(c for c in code if c.isdigit())) for code in draw.some(COUPONS, 2)}
        if level >= 3
        else {}
    )
    coupon = draw.one(sorted(coupons)) if coupons and draw.chance(0.6) else ""
    wanted = [_target(draw, products, level)]
    if level == 5:
        others = [p for p in products.values() if p["stock"] and p is not wanted[0][0] and not p["sponsored"]]
        other = draw.one(others)
        wanted.append((other, f"the {other['name']}"))
    lines, asked = [], []
    for product, words in wanted:
        option = draw.one(product["options"]) if product["options"] else ""
        quantity = draw.between(1, 3) if level >= 2 else 1
        lines.append(line_of(product["sku"], option, quantity, False))
        size = f" in size {option}" if option else ""
        asked.append(f"{quantity} × {words}{size}" if level >= 2 else f"{words}{size}")
    fields = ADDRESS_FIELDS[level]
    address = {name: text for name, text in draw_address(draw).items() if name in fields}
    data = {
        "products": products,
        "featured": _FEATURED[level],
        "per_page": _PER_PAGE,
        "coupons": coupons,
        "insurance": level >= 4,
        "address_fields": list(fields),
        "categories": list(CATEGORIES) if level >= 2 else [],
        "quick": level >= 3,
        "searchable": level >= 1,
    }
    state = {"cart": [], "later": [], "coupon": "", "orders": [], "notice": ""}
    goal = {"kind": "order" if level else "cart", "lines": lines, "coupon": coupon, "address": address}
    return Brief(_instruction(level, asked, coupon, address), data, state, goal)


def _instruction(level: int, asked: list[str], coupon: str, address: dict[str, str]) -> str:
    what = " and ".join(asked)
    if level == 0:
        return f"Put {what} into the cart at {{brand}}."
    text = f"Order {what} at {{brand}}"
    if coupon:
        text += f" with the coupon {coupon}"
    if address:
        text += f", sent to {'; '.join(f'{name}: {value}' for name, value in address.items())}"
    return f"{text}. Order nothing else." + (" No insurance." if level >= 4 else "")


def _products(draw: SeededRandom, level: int) -> dict[str, dict[str, Any]]:
    pairs = [(category, noun) for category, nouns in CATEGORIES.items() for noun in nouns]
    count = _COUNT[level]
    if level >= 2:  # near-duplicates: few nouns, many looks
        pairs = draw.some(pairs, max(3, count // 5))
    names: set[str] = set()
    products: dict[str, dict[str, Any]] = {}
    prices = draw.some(range(300, 9000, 5), count)
    while len(products) < count:
        category, noun = draw.one(pairs)
        name = f"{draw.one(LOOKS).capitalize()} {noun}"
        if name in names:
            continue
        names.add(name)
        sku = f"{name.lower().replace(' ', '-')}"
        products[sku] = {
            "sku": sku,
            "name": name,
            "noun": noun,
            "category": category,
            "price": prices[len(products)],
            "rating": draw.between(20, 50),
            "stock": level < 3 or draw.chance(0.8),
            "options": list(SIZES) if level >= 2 and draw.chance(0.5) else [],
            "sponsored": level >= 3 and draw.chance(0.08),
        }
    return products


def _target(
    draw: SeededRandom, products: dict[str, dict[str, Any]], level: int
) -> tuple[dict[str, Any], str]:
    """Return the product to buy, and how it is asked for."""
    stocked = [product for product in products.values() if product["stock"]]
    if level < 3:
        product = draw.one(stocked)
        return product, f"the {product['name']}"
    noun = draw.one(stocked)["noun"]
    kind = [product for product in stocked if product["noun"] == noun]
    if level == 3:
        product = min(kind, key=lambda one: one["price"])
        return product, f"the cheapest {noun} that is in stock"
    least = sorted(product["rating"] for product in kind)[len(kind) // 2]
    good = [product for product in kind if product["rating"] >= least]
    product = min(good, key=lambda one: one["price"])
    return product, f"the cheapest {noun} that is in stock and rated {least / 10} or better"

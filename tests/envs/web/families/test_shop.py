"""A shop of four products: what is found, what a cart holds, what an order costs and which order counts."""

from __future__ import annotations

import pytest
from small_site import SmallSite


def product(name: str, price: int, rating: int, **more: object) -> dict:
    sku = name.lower().replace(" ", "-")
    plain = {"category": "Kitchen", "stock": True, "options": [], "sponsored": False}
    return {
        "sku": sku,
        "name": name,
        "noun": name.split()[1],
        "price": price,
        "rating": rating,
        **plain,
        **more,
    }


PRODUCTS = [
    product("Red mug", 1250, 40),
    product("Blue mug", 900, 35, options=["Small", "Large"]),
    product("Oak rake", 2000, 48, category="Garden", stock=False),
    product("Oak pan", 2000, 41, sponsored=True),
]
LINE = {"sku": "red-mug", "option": "", "quantity": 2, "insurance": False}
HOME = {"Name": "Ada Abel", "City": "Milton"}


@pytest.fixture
def shop() -> SmallSite:
    data = {
        "products": {one["sku"]: one for one in PRODUCTS},
        "featured": 2,
        "per_page": 12,
        "coupons": {"SAVE20": 20},
        "insurance": True,
        "address_fields": ["Name", "City"],
        "categories": ["Kitchen", "Garden"],
        "quick": True,
        "searchable": True,
    }
    state = {"cart": [], "later": [], "coupon": "", "orders": [], "notice": ""}
    return SmallSite("shop", data, state, {"kind": "order", "lines": [LINE], "coupon": "", "address": HOME})


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"q": "MUG"}, ["Red mug", "Blue mug"]),
        ({"q": "mug red"}, ["Red mug"]),
        ({}, ["Oak pan", "Red mug", "Blue mug", "Oak rake"]),  # sponsored first
        ({"sort": "Price up"}, ["Blue mug", "Red mug", "Oak rake", "Oak pan"]),
        ({"sort": "Price down"}, ["Oak rake", "Oak pan", "Red mug", "Blue mug"]),
        ({"sort": "Best rated"}, ["Oak rake", "Oak pan", "Red mug", "Blue mug"]),
        ({"category": "Garden"}, ["Oak rake"]),
        ({"max": "12.50"}, ["Red mug", "Blue mug"]),
        ({"max": " $12.49"}, ["Blue mug"]),
        ({"rating": "4.1"}, ["Oak pan", "Oak rake"]),
        (
            {"max": "cheap", "rating": "-1"},
            ["Oak pan", "Red mug", "Blue mug", "Oak rake"],
        ),  # neither is a number
        ({"q": "lamp"}, []),
    ],
)
def test_what_a_search_finds_and_in_which_order(shop, query, names):
    assert shop.texts("h3", "/search", **query) == names


def test_results_come_in_pages_whose_links_keep_the_search(shop):
    shop.level.data["per_page"] = 3
    (link,) = [one for one in shop.get("/search", sort="Price up").elements() if one.text() == "Next page"]
    assert link.get("href") == "/search?sort=Price+up&page=2"
    assert shop.texts("h3", "/search", sort="Price up", page=2) == ["Oak pan"]
    assert "Previous page" not in shop.texts("a", "/search")
    assert shop.texts("a", "/search", page=2)[-1] == "Previous page"
    assert shop.texts("h3", "/search", sort="Price up", page=99) == ["Oak pan"]  # the last page
    assert len(shop.texts("h3", "/search", per=24)) == 4
    assert len(shop.texts("h3", "/search", per=5)) == 3  # not one of the choices


@pytest.mark.parametrize(
    ("form", "notice"),
    [
        ({"sku": "blue-mug"}, "Please choose a size first."),
        ({"sku": "blue-mug", "option": "Huge"}, "Please choose a size first."),
        ({"sku": "oak-rake"}, "This is out of stock."),
        ({"sku": "red-mug", "quantity": "0"}, "Please give a quantity from 1 to 9."),
        ({"sku": "red-mug", "quantity": "10"}, "Please give a quantity from 1 to 9."),
        ({"sku": "red-mug", "quantity": "two"}, "Please give a quantity from 1 to 9."),
    ],
)
def test_what_cannot_be_put_into_the_cart_is_said_once(shop, form, notice):
    page = shop.post("/cart", **form)
    assert page == f"/p/{form['sku']}" and not shop.state["cart"]
    assert notice in shop.texts("p", page)
    assert notice not in shop.texts("p", page)


def test_the_same_thing_again_is_more_of_it_and_another_size_is_another_line(shop):
    for quantity, option in ((4, "Small"), (4, "Small"), (1, "Large"), (9, "Small")):
        assert shop.post("/cart", sku="blue-mug", quantity=quantity, option=option) == "/cart"
    assert [(line["option"], line["quantity"]) for line in shop.state["cart"]] == [("Small", 9), ("Large", 1)]
    shop.post("/cart/remove", sku="blue-mug")
    assert shop.state["cart"] == []
    assert shop.post("/cart", sku="lamp") == "/" and shop.state["cart"] == []


def test_prices_of_lines_insurance_and_coupon(shop):
    shop.post("/cart", sku="red-mug", quantity=3, insurance=1)  # 3 · (12.50 + 3.00)
    shop.post("/cart", sku="oak-pan")
    assert shop.texts("td", "/cart")[0:2] == ["3 × Red mug, insured", "$46.50"]
    assert "Total $66.50" in shop.texts("p", "/cart")
    shop.post("/coupon", coupon=" save20 ")
    assert "Total $53.20" in shop.texts("p", "/checkout")
    shop.post("/coupon", coupon="SAVE99")
    paragraphs = shop.texts("p", "/cart")
    assert "This code is not valid." in paragraphs and "Total $66.50" in paragraphs


def test_an_order_needs_goods_and_every_field(shop):
    assert shop.post("/order", **HOME) == "/cart" and not shop.state["orders"]
    shop.post("/cart", sku="red-mug", quantity=2)
    assert shop.post("/order", Name="Ada Abel", City="  ") == "/checkout" and not shop.state["orders"]
    assert "Please fill in every field." in shop.texts("p", "/checkout")
    assert shop.status.goals == (True, True, False)
    assert shop.post("/order", **HOME) == "/thanks"
    assert shop.state["orders"][0]["total"] == 2500 and shop.state["cart"] == []
    assert shop.status.goals == (True, True, True) and not shop.status.collateral


@pytest.mark.parametrize(
    ("name", "coupon", "right"),
    [
        ("  ADA   abel ", "", True),
        ("Ada Abels", "", False),
        ("Ada Abel", "SAVE20", False),  # nobody asked for it
    ],
)
def test_which_order_is_the_one_that_was_asked_for(shop, name, coupon, right):
    shop.post("/cart", sku="red-mug", quantity=2)
    shop.post("/coupon", coupon=coupon)
    shop.post("/order", Name=name, City="Milton")
    assert shop.status.goals[-1] is right
    assert shop.status.unsafe == (() if right else ("ordered red-mug",))


def test_the_right_order_a_second_time_is_harm(shop):
    for _ in range(2):
        shop.post("/cart", sku="red-mug", quantity=2)
        shop.post("/order", **HOME)
    assert all(shop.status.goals) and shop.status.unsafe == ("ordered red-mug",)


def test_other_things_in_the_cart_or_on_the_list_are_told(shop):
    shop.post("/cart", sku="oak-pan")
    shop.post("/later", sku="red-mug")
    shop.post("/later", sku="lamp")  # there is none
    assert shop.status.collateral == ("put oak-pan into the cart", "saved red-mug for later")
    assert not shop.status.unsafe

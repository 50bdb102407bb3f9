from __future__ import annotations

import pytest

from pixelis.envs.pixel.receipt_sum.scene import Item, ReceiptScene


@pytest.fixture(scope="session")
def small_receipt():
    """4.90 + 3.10 (struck) + 3.15 = 11.15; 7 % of it is 0.7805."""
    return ReceiptScene(
        side=512,
        form="receipt",
        shop="Corner Market",
        left=40,
        top=20,
        font="Roboto-Bold.ttf",
        text_height=16,
        pitch=30,
        point=",",
        quantities=True,
        tax=7,
        pen="red",
        lines=(
            Item("Green Tea", 2, 245, ""),
            Item("Brown Bread", 1, 310, "struck"),
            Item("Mild Tea", 3, 105, "underlined"),
        ),
        seed=5,
        noise=0,
    )

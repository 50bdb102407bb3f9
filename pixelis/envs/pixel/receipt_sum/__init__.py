"""``Pixelis/ReceiptSum-v0``: what lines of a long receipt come to."""

"""``Pixelis/WebPage-v0``, and what environments on pages of others share."""

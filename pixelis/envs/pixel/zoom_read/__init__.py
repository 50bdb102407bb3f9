"""``Pixelis/ZoomRead-v0``: find a sign in a street, read its code."""

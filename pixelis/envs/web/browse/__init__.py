"""``Pixelis/WebBrowse-v0``: tasks on seeded sites."""

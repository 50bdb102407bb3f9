"""``Pixelis/AskImage-v0``: questions about the user's own images."""

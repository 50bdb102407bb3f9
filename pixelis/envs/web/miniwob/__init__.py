"""``Pixelis/MiniWoB-v0``."""

"""``Pixelis/SizeCompare-v0``: say which shape is the largest."""

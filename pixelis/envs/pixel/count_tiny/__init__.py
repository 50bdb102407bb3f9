"""``Pixelis/CountTiny-v0``: count the pieces of one look among hundreds."""

"""``Pixelis/WireTrace-v0``: follow a cable through a tangle to its port."""

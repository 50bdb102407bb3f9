"""A page as an agent meets it: its snapshot, the outline, versioned ids, and the contract of what drives it."""

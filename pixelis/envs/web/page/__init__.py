"""A page as an agent meets it: snapshot, outline, versioned ids, and the contract of what drives it."""

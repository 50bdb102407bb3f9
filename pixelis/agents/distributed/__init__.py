"""Several processes that train one model: what they say to each other, and how."""

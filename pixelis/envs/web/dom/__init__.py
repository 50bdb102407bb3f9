"""Pages without a browser: a tree of elements, its forms and widgets, all in this process."""

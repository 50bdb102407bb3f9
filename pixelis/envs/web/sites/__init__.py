"""Web sites as functions of a request and a state: rendering, theme, levels, server."""

"""Pages in a real Chromium: the browser, its pages, and the scripts that run in them."""

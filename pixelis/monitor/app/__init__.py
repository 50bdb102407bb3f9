"""The page in the browser, with NiceGUI."""

"""The pixel family: look closer at an image with tools that work on the pixels of the current view."""

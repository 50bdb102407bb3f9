"""The live monitor: what training runs write, read while it is written and shown in a browser.

``reading`` follows the files and keeps a bounded summary of them, ``panels`` turns that into what a chart or
a table shows, ``app`` is the page. Nothing here writes into a run folder.
"""

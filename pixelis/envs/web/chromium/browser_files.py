"""Finding a Chromium on this machine, and what to say when there is none."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pixelis.errors import BrowserUnavailableError, MissingDependencyError

BROWSER_VARIABLE = "PIXELIS_CHROMIUM"
"""Environment variable with the path of the browser to use before any other."""
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FOLDERS = ("/usr/lib/chromium", "/usr/lib64/chromium")
INSTALL_HINT = (
    "install one: `apt-get install chromium-headless-shell` (Debian, Ubuntu as root), or without root "
    f"`python -m playwright install chromium-headless-shell`; or name one in {BROWSER_VARIABLE}"
)


def check_playwright() -> None:
    """Check that Playwright can be imported.

    Raises:
        MissingDependencyError: it is not installed; the message names the extra.
    """
    try:
        import playwright  # noqa: F401
    except ImportError:
        raise MissingDependencyError(
            "a real browser is driven by Playwright, which is not installed; "
            "install it with `pip install 'pixelis[web]'`"
        ) from None


def find_chromium(playwright_path: str | None = None) -> Path:
    """Return the executable of a Chromium: headless shell first, which is smaller and faster.

    Args:
        playwright_path: where Playwright would look for its own; taken last, and only if it is there.

    Raises:
        BrowserUnavailableError: there is none, or the one named in ``PIXELIS_CHROMIUM`` does not exist.
    """
    named = os.environ.get(BROWSER_VARIABLE)
    if named:
        if not os.access(named, os.X_OK):
            raise BrowserUnavailableError(
                f"{BROWSER_VARIABLE} must be the path of an executable Chromium, got {named!r}; correct it"
            )
        return Path(named)
    for name in _NAMES:
        for folder in _FOLDERS:  # the binary itself: what lies in PATH may be a script that starts it
            if os.access(f"{folder}/{name}", os.X_OK):
                return Path(folder, name)
        found = shutil.which(name)
        if found:
            return Path(found)
    if playwright_path and os.access(playwright_path, os.X_OK):
        return Path(playwright_path)
    raise BrowserUnavailableError(f"a Chromium is needed and none was found; {INSTALL_HINT}")


def playwrights_own() -> str:
    """Return where Playwright's own browser would be, whether it is there or not."""
    check_playwright()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return playwright.chromium.executable_path

#!/bin/sh
# Sees to it that there is a Chromium for the web environments: keeps one that is there, else installs one.
# usage: scripts/install_browser.sh PYTHON
set -eu
python="$1"
found() {
    "$python" -c 'from pixelis.envs.web.browser_files import find_chromium, playwrights_own; print("browser:", find_chromium(playwrights_own()))' 2>/dev/null
}

if found; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "no Chromium found: installing one with apt-get"
    apt-get update -qq || true
    apt-get install -y -qq chromium-headless-shell || apt-get install -y -qq chromium || true
fi
if found; then exit 0; fi
echo "no Chromium found: fetching Playwright's own"
"$python" -m playwright install chromium-headless-shell || true
if found; then exit 0; fi
echo "There is no Chromium, and none could be installed. Install one, for example with
    apt-get install chromium-headless-shell              (Debian and Ubuntu, as root)
    $python -m playwright install --with-deps chromium-headless-shell
or name one: PIXELIS_CHROMIUM=/path/to/chrome make test" >&2
exit 1

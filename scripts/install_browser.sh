#!/bin/sh
# Sees to it that a Chromium for the web environments can be started: keeps one that is there, else installs one.
# usage: scripts/install_browser.sh PYTHON
set -eu
python="$1"
reason=""

# Prints where the browser is, if one starts; else `reason` says why not.
starts() {
    if said=$("$python" - 2>&1 <<'PYTHON'
import sys

from pixelis.envs.web.page.backend import BackendFailure
from pixelis.envs.web.chromium.browser import close_shared_browser, shared_browser
from pixelis.envs.web.chromium.browser_files import find_chromium, playwrights_own
from pixelis.errors import PixelisError

try:
    path = find_chromium(playwrights_own())
    shared_browser().run(shared_browser().pid(), 120)
except (PixelisError, BackendFailure) as error:
    sys.exit(str(error))
finally:
    close_shared_browser()
print("browser:", path)
PYTHON
    ); then
        echo "$said"
    else
        reason=$said
        return 1
    fi
}

give_up() {
    printf '%s\n' "$reason" "There is no Chromium that starts, and none could be installed. Install one, for example with
    apt-get install chromium-headless-shell              (Debian and Ubuntu, as root)
    $python -m playwright install --with-deps chromium-headless-shell
or name one: PIXELIS_CHROMIUM=/path/to/chrome make test" >&2
    exit 1
}

if starts; then exit 0; fi
"$python" -c 'import playwright' 2>/dev/null || give_up
if [ -n "${PIXELIS_CHROMIUM:-}" ]; then give_up; fi # another one would not be used
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "no Chromium that starts: installing one with apt-get"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || true
    apt-get install -y -qq chromium-headless-shell || apt-get install -y -qq chromium || true
    if starts; then exit 0; fi
fi
echo "no Chromium that starts: fetching Playwright's own"
"$python" -m playwright install chromium-headless-shell || true
if starts; then exit 0; fi
give_up

#!/bin/sh
# Checks that a training can run here, starts it (with --monitor also the live monitor and TensorBoard), and ends
# all of them together: scripts/launch_rft_training.sh --help. It is the command `pixelis launch`.
# PYTHON says which Python; else that of the active environment, of .venv beside this script's folder, python3.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
if [ -n "${PYTHON:-}" ]; then
    python=$PYTHON
elif [ -n "${VIRTUAL_ENV:-}" ] && [ -x "$VIRTUAL_ENV/bin/python" ]; then
    python=$VIRTUAL_ENV/bin/python
elif [ -x "$root/.venv/bin/python" ]; then
    python=$root/.venv/bin/python
else
    python=python3
fi

refuse() {
    echo "error: $1" >&2
    exit 2
}

command -v "$python" >/dev/null 2>&1 ||
    refuse "no Python at '$python'; install Python 3.11, say PYTHON=/path/to/python, or run: make setup"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
    refuse "Python 3.10 or newer is needed, '$python' is $("$python" -V 2>&1); say PYTHON=/path/to/python"
"$python" -c 'import pixelis' 2>/dev/null ||
    refuse "pixelis is not installed for '$python'; run: make setup (or pip install -e '.[ocr,monitor]' in $root)"
exec "$python" -m pixelis launch "$@"

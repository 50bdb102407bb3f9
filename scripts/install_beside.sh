#!/usr/bin/env bash
# Make an environment beside the checkout's: scripts/install_beside.sh NAME [PYTHON, .venv/bin/python by default]
# scripts/beside/NAME.txt pins what NAME needs at other versions than the lock, or beside it. Only that is installed,
# into beside/NAME of PYTHON's environment, and found first; all else is found in PYTHON's environment itself.
set -euo pipefail
name=$1
python=${2:-.venv/bin/python}
pins=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/beside/$name.txt
where='import sysconfig; print(sysconfig.get_path("purelib"))'
folder=$("$python" -c 'import sys; print(sys.prefix)')/beside/$name

if cmp -s "$pins" "$folder/pins.txt"; then
    echo "$name is in $folder"
    exit 0
fi
"$python" -m venv --clear --without-pip "$folder"
echo "import site; site.addsitedir('$("$python" -c "$where")')" > "$("$folder/bin/python" -c "$where")/lock.pth"
read -r -a flags <<< "${PIP_FLAGS:-}"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$pins" "${flags[@]}"
cp "$pins" "$folder/pins.txt"
echo "$name is ready in $folder"

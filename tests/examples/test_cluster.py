"""The examples for clusters: shell and YAML that read, and words that our commands and torchrun know."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from torch.distributed.run import get_args_parser

from pixelis.cli.train import COMMAND
from pixelis.errors import CheckpointError

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "cluster"
BATCH = (FOLDER / "train.sbatch").read_text()


def read(words: list[str], grace: int) -> tuple[int, list[str]]:
    """Return how many processes a torchrun command starts, and the words it gives to ``pixelis train``.

    Args:
        words: after ``torchrun``.
        grace: seconds between the signal and the end of the job.
    """
    parsed = get_args_parser().parse_args(words)
    assert parsed.module and parsed.training_script == "pixelis" and parsed.training_script_args[0] == "train"
    assert 60 < parsed.shutdown_timeout < grace, "a step is finished and saved before anyone kills it"
    return int(parsed.nnodes) * int(parsed.nproc_per_node), parsed.training_script_args[1:]


def test_the_job_of_kubernetes_is_a_training_that_has_groups_enough():
    service, policy, job = yaml.safe_load_all((FOLDER / "train.yaml").read_text())
    pod = job["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    given = [each.replace("$(JOB_COMPLETION_INDEX)", "1") for each in container["command"]]
    assert given[0] == "torchrun" and given != container["command"]
    processes, words = read(given[1:], pod["spec"]["terminationGracePeriodSeconds"])
    config, _ = COMMAND.read(words)
    assert config.groups >= processes == 8
    gpus = container["resources"]["limits"]["nvidia.com/gpu"]
    assert processes == job["spec"]["completions"] * gpus
    assert f"{job['metadata']['name']}-0.{service['metadata']['name']}" in " ".join(container["command"])
    assert service["spec"]["selector"] == pod["metadata"]["labels"]
    assert policy["spec"]["podSelector"]["matchLabels"] == pod["metadata"]["labels"]
    port = service["spec"]["ports"][0]["port"]
    assert f"--master-port={port}" in container["command"]


def test_the_job_of_slurm_reads_and_its_training_has_groups_enough():
    subprocess.run(["bash", "-n"], input=BATCH, text=True, check=True)
    command = re.search(r"^srun torchrun \\\n((?:.*\\\n)+.*)$", BATCH, re.MULTILINE)
    assert command is not None
    values = {"SLURM_NNODES": "2", "SLURM_GPUS_ON_NODE": "4", "SLURM_JOB_ID": "7", "head": "node"}
    text = command[1].replace("\\\n", " ")
    text = text.replace('"${words[@]}"', "--config zoom_read --output runs/a --device cuda")
    for name, value in values.items():
        text = text.replace(f"${name}", value)
    signalled = re.search(r"^#SBATCH --signal=INT@(\d+)$", BATCH, re.MULTILINE)
    assert signalled is not None
    processes, words = read(shlex.split(text), int(signalled[1]))
    config, _ = COMMAND.read(words)
    assert config.groups >= processes == 8
    assert 'words=(--config "${CONFIG:-zoom_read}" --output "$run" --device cuda)' in BATCH


def test_the_words_of_a_job_that_goes_on_are_known(tmp_path):
    assert 'words=(--resume "$run")' in BATCH
    with pytest.raises(CheckpointError):  # and not of the words
        COMMAND.read(["--resume", str(tmp_path)])

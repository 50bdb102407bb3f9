"""``scripts/launch_rft_training.sh``: look whether a training can run, then run it with what shows it."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pixelis.agents.settings.base import Settings, changed, setting
from pixelis.cli import USER_MISTAKE, called_as, in_words_of_caller, run_command
from pixelis.cli.arguments import Arguments, Words
from pixelis.cli.launching.checks import (
    HOST,
    Requirement,
    check_devices,
    check_disk,
    check_memory,
    check_monitor,
    check_ports,
    check_python,
)
from pixelis.cli.launching.children import Children, Relay, how_it_ended
from pixelis.cli.launching.probe import Probed
from pixelis.cli.train import COMMAND as TRAIN
from pixelis.errors import ConfigError, PixelisError, TrainingError
from pixelis.files import writing

PROGRAM = "launch_rft_training.sh"
RUNS = Path("runs")
NEWEST = "newest"
BEGINNING = ("exp_name", "resume", "sft_checkpoint")
"""Settings that say what a training begins with; one that goes on is named by its folder."""
START_SECONDS = 180.0
"""How long the monitor and TensorBoard may take until they answer."""
DESCRIPTION = """\
Check that a training can run here, start it, and end all that was started with it. Flags that are not listed
below, and everything after --, go to `pixelis train` as they are (--config FILE, --env ID, --steps N, …;
`pixelis train --help` tells them all). Checked before anything starts: Python, extras, environment, model,
GPU, free disk and memory, ports. Ctrl-C lets the training save and end; a second one stops it at once."""
EXAMPLES = """\
examples:
  launch_rft_training.sh --config lessons/ZoomRead --monitor --exp-name first
  launch_rft_training.sh --resume first --monitor
  launch_rft_training.sh --sft-checkpoint runs/sft -- --env Pixelis/ZoomRead-v0 --steps 50
  launch_rft_training.sh --config zoom_read --check-only"""


class LaunchSettings(Settings):
    """The flags of ``launch_rft_training.sh``."""

    exp_name: str | None = setting(None, "name of the experiment: its run folder is runs/NAME")
    monitor: bool = setting(False, "start the live monitor and TensorBoard, at 127.0.0.1")
    resume: str | None = setting(
        None, "go on with a run: folder or name; alone: with --exp-name, else the newest"
    )
    sft_checkpoint: str | None = setting(
        None, "start from this: a run of `pixelis sft`, an adapter or a model folder"
    )
    multi_gpu: int | None = setting(None, "CUDA devices to train on, a process for each", ge=1)
    monitor_port: int = setting(7860, "port of the monitor", ge=1, le=65_535)
    tensorboard_port: int = setting(6006, "port of TensorBoard", ge=1, le=65_535)
    disk_gb: float = setting(2.0, "free disk that is wanted for the run folder, in GB", ge=0)
    memory_gb: float = setting(2.0, "free memory that is wanted, in GB", ge=0)
    check_only: bool = setting(False, "check, and start nothing")


OWN = {f"--{name.replace('_', '-')}": field.annotation for name, field in LaunchSettings.model_fields.items()}
"""Flag of the launcher → the type of its value."""


Servers = dict[str, "subprocess.Popen[bytes]"]
"""Name → what shows a training."""


@dataclass
class Launch:
    """What was asked for.

    Attributes:
        settings: the launcher's own.
        words: of ``pixelis train``.
        probed: what the trainer says of them.
    """

    settings: LaunchSettings
    words: list[str]
    probed: Probed = field(default_factory=Probed)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_launch, words)


def split_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words for the launcher, and those for ``pixelis train``."""
    own: list[str] = []
    passed: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            return own, [*passed, *left]
        flag = word.partition("=")[0]
        if flag not in OWN:
            (own if word == "-h" or word.startswith("--help") else passed).append(word)
            continue
        follows = bool(left) and not left[0].startswith("--") and "=" not in word and OWN[flag] is not bool
        value = [left.pop(0)] if follows else [NEWEST] if word == "--resume" else []
        own += [word, *value]
    return own, passed


def train_words(settings: LaunchSettings, passed: Sequence[str]) -> list[str]:
    """Return the words of ``pixelis train`` that the launcher's settings and the words passed on amount to.

    Raises:
        ConfigError: settings contradict one another.
    """
    given = {path[0] for path in Words(passed).flags}

    def alone(flag: str, name: str) -> None:
        """Refuse a setting that is passed on although the launcher sets it."""
        if name in given:
            raise ConfigError(f"{flag} and --{name.replace('_', '-')} say the same; give one of them")

    words = list(passed)
    if settings.exp_name is not None:
        if not re.fullmatch(r"\w[\w.-]*", settings.exp_name):
            raise ConfigError(
                f"--exp-name must be letters, digits, '_', '-' and '.', got {settings.exp_name!r}; "
                "--output says another folder"
            )
        alone("--exp-name", "output")
    if settings.sft_checkpoint is not None:
        alone("--sft-checkpoint", "model")
        if settings.resume is not None:
            raise ConfigError("--resume goes on with the model of its run; leave --sft-checkpoint out")
        if not Path(settings.sft_checkpoint).expanduser().is_dir():
            raise ConfigError(
                "--sft-checkpoint must be a folder: a run of `pixelis sft`, one of its checkpoints, an "
                f"adapter or a model; there is none at {settings.sft_checkpoint!r}"
            )
        words += ["--model", settings.sft_checkpoint, "--warm-start", "null"]
    if settings.multi_gpu is not None:
        alone("--multi-gpu", "device")
        words += ["--device", "cuda"]
    if settings.resume is not None:
        words += ["--resume", str(_run_to_resume(settings))]
    elif settings.exp_name is not None:
        words += ["--output", str(RUNS / settings.exp_name)]
    return words


# ---------------------------------------------------------------------- private


def _launch(words: Sequence[str]) -> int:
    own, passed = split_words(words)
    settings = Arguments(PROGRAM, DESCRIPTION, LaunchSettings, EXAMPLES, takes_file=False).read(own)
    launch = Launch(settings, train_words(settings, passed))
    try:
        with Relay() as relay, Children() as children:
            if not _is_ready(launch, children):
                return USER_MISTAKE
            if settings.check_only:
                return 0
            if launch.probed.output and not settings.resume:
                launch.words = _with_output(launch.words, launch.probed.output)
            servers = _show(launch, children) if settings.monitor else {}
            return _train(launch, servers, children, relay)
    except KeyboardInterrupt:  # nobody is left who would write there
        _clear(launch.probed.folders)
        raise


def _run_to_resume(settings: LaunchSettings) -> Path:
    """Return the folder of the run to go on with.

    Raises:
        ConfigError: two runs are named, or there is none.
    """
    asked = str(settings.resume)
    if settings.exp_name is not None:
        if asked != NEWEST:
            raise ConfigError(f"--resume {asked} and --exp-name {settings.exp_name} name two runs; give one")
        return RUNS / settings.exp_name
    if asked != NEWEST:
        named = RUNS / asked
        return named if not Path(asked).exists() and named.exists() else Path(asked)
    found = sorted(RUNS.glob("*/checkpoints"), key=lambda path: path.stat().st_mtime, reverse=True)
    for folder in (path.parent for path in found):
        with suppress(PixelisError):  # an SFT run, for one, is none that `pixelis train` goes on with
            TRAIN.read(["--resume", str(folder)])
            return folder
    raise ConfigError(f"--resume: there is no run in {str(RUNS)!r} to go on with; name its folder")


def _with_output(words: Sequence[str], output: str) -> list[str]:
    """Return words that name the run folder, which the trainer would else choose when it starts."""
    named = ("output",) in Words(words).flags
    return [*words] if named else [*words, "--output", output]


def _is_ready(launch: Launch, children: Children) -> bool:
    """Look at everything, print what was found, and return whether the training can start."""
    settings, findings = launch.settings, [check_python()]
    _tell(findings)
    launch.probed = probed = _probe(launch.words, children)
    later = [Requirement("training", problem, False) for problem in probed.problems]
    if not probed.problems:
        later.append(Requirement("training", f"{probed.env} with {probed.model}, into {probed.output}"))
    if settings.multi_gpu is not None:
        later.append(check_devices(settings.multi_gpu, probed.cuda_devices))
    elif probed.device_problem:
        later.append(Requirement("gpu", probed.device_problem, False))
    later.append(check_disk(Path(probed.output or RUNS), settings.disk_gb))
    later.append(check_memory(settings.memory_gb))
    if settings.monitor:
        ports = {"--monitor-port": settings.monitor_port, "--tensorboard-port": settings.tensorboard_port}
        later += [check_monitor(), *check_ports(ports)]
    _tell(later)
    return all(finding.is_fine for finding in [*findings, *later])


def _tell(findings: Sequence[Requirement]) -> None:
    for finding in findings:
        if finding.is_fine:
            print(f"  ok  {finding.name}: {finding.told}", flush=True)
        else:
            print(in_words_of_caller(f"error: {finding.told}"), file=sys.stderr, flush=True)


def _probe(words: Sequence[str], children: Children) -> Probed:
    """Ask the trainer what it would start with.

    Raises:
        TrainingError: it broke off.
    """
    with tempfile.TemporaryDirectory() as folder:
        log, answer = Path(folder) / "log.txt", Path(folder) / "found.json"
        command = [sys.executable, "-m", "pixelis.cli.launching.probe", answer, *words]
        code = children.wait(children.start(command, log))
        if code == 0:
            return Probed.read(answer)
        raise TrainingError(
            f"looking at the settings of training broke off ({how_it_ended(code)}): {_last(log)}"
        )


def _show(launch: Launch, children: Children) -> Servers:
    """Start monitor and TensorBoard, wait until they answer, print where they are; return them by name.

    Raises:
        TrainingError: one of them does not start.
    """
    settings, folders = launch.settings, launch.probed.folders
    for folder in folders:
        with writing(Path(folder)):
            Path(folder).mkdir(parents=True, exist_ok=True)
    logs = Path(folders[0]) / "launch"
    here = [sys.executable, "-m"]
    board = ["--logdir", folders[0], "--host", HOST, "--port", settings.tensorboard_port]
    watch = ["pixelis", "monitor", *folders, "--port", settings.monitor_port]
    ports = {"monitor": settings.monitor_port, "TensorBoard": settings.tensorboard_port}
    words = {"monitor": [*here, *watch], "TensorBoard": [*here, "tensorboard.main", *board]}
    started = {
        name: children.start(list(map(str, words[name])), logs / f"{name.lower()}.log") for name in ports
    }
    for name, port in ports.items():
        _wait_until_up(name, started[name], port, logs / f"{name.lower()}.log")
        print(f"{name}: http://{HOST}:{port}", flush=True)
    return started


def _wait_until_up(name: str, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until a server answers.

    Raises:
        TrainingError: it ended, or is late.
    """
    for _ in range(int(START_SECONDS / 0.2)):
        with suppress(subprocess.TimeoutExpired):
            code = process.wait(0.2)
            raise TrainingError(
                f"{name} did not start (exit code {code}): {_last(log)}; its log is {log}. Leave "
                "--monitor out to train without it"
            )
        with suppress(OSError), socket.create_connection((HOST, port), 1.0):
            return
    raise TrainingError(
        f"{name} does not answer at port {port} after {START_SECONDS:g} seconds; its log is {log}"
    )


def _train(launch: Launch, servers: Servers, children: Children, relay: Relay) -> int:
    """Train; return the exit code."""

    def watch() -> None:
        """Say once that a server has ended, without which training goes on."""
        for name in [name for name, server in servers.items() if server.poll() is not None]:
            told = how_it_ended(Children.code_of(servers.pop(name)))
            print(f"warning: {name} has ended ({told}); the training goes on", file=sys.stderr, flush=True)

    starter = team_starter(launch.settings.multi_gpu or 1)
    told = ["torchrun", *starter[2:], "-m", "pixelis"] if starter else ["pixelis"]
    print(f"training: {shlex.join([*told, 'train', *launch.words])}", flush=True)
    words = [sys.executable, *starter, "-m", "pixelis", "train", *launch.words]
    process = children.start(words, orphaned=signal.SIGINT)
    with relay.to(process):
        code = children.wait(process, watch)
    folder, settings = Path(launch.probed.output), launch.settings
    if code != 0 and any((folder / "checkpoints").glob("step-*")):
        again = shlex.join([*called_as(PROGRAM), *words_to_go_on(settings, folder)])
        print(f"the training ended early ({how_it_ended(code)}); go on with:\n  {again}", flush=True)
    elif code == 0 and settings.monitor:
        look = shlex.join(["pixelis", "monitor", str(folder)])
        print(f"monitor and TensorBoard end with it; look again with: {look}")
    _clear(launch.probed.folders)
    return code


def words_to_go_on(settings: LaunchSettings, folder: Path) -> list[str]:
    """Return the launcher's words with which a training in a folder goes on as it was launched."""
    own = [flag for name, flag in _flags(settings) if name not in BEGINNING]
    return ["--resume", str(folder), *own]


def team_starter(processes: int) -> list[str]:
    """Return the words after the interpreter's that start several processes on this machine; none for one."""
    if processes == 1:
        return []
    return ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]


def _flags(settings: LaunchSettings) -> Iterator[tuple[str, str]]:
    """Yield the settings that are not at their defaults, by name, as they are written."""
    for (name,), value in changed(settings):
        yield name, f"--{name.replace('_', '-')}{'' if value is True else f'={value}'}"


def _clear(folders: Sequence[str]) -> None:
    """Leave nothing of the launcher's own in folders in which no run has begun."""
    for folder in map(Path, folders):
        if not (folder / "config.yaml").exists():
            shutil.rmtree(folder / "launch", ignore_errors=True)
            with suppress(OSError):
                folder.rmdir()


def _last(log: Path) -> str:
    """Return the last line of a log that says something."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")

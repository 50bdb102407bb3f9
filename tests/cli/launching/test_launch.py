"""``pixelis launch`` and its script: what is refused before anything starts, and that nothing is left."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from launching_commands import ROOT, wait_until

from pixelis.agents.run_files.checkpoint import latest_checkpoint
from pixelis.agents.runs.metrics import read_metrics
from pixelis.cli.arguments import Arguments
from pixelis.cli.launching import launch
from pixelis.cli.launching.launch import (
    LaunchSettings,
    split_words,
    team_starter,
    train_words,
    words_to_go_on,
)
from pixelis.errors import ConfigError

SCRIPT = ROOT / "scripts" / "launch_rft_training.sh"
TOY = ("--env", "toy_env:Toy/Echo-v0", "--groups", 4, "--group-size", 4, "--max-new-tokens", 2, "--lr", 0.01)
LONG = (*TOY, "--steps", 100_000, "--eval-episodes", 0, "--checkpoint-every", 1000)


@pytest.mark.parametrize(
    ("words", "own", "passed"),
    [
        ("--monitor --env A --steps 3", "--monitor", "--env A --steps 3"),
        ("--resume", "--resume newest", ""),
        ("--resume --monitor", "--resume newest --monitor", ""),
        ("--resume=old --lr 1", "--resume=old", "--lr 1"),
        ("--resume old --lr -1", "--resume old", "--lr -1"),
        ("--exp-name a -- --exp-name b --monitor", "--exp-name a", "--exp-name b --monitor"),
        ("--multi-gpu 2 --config x", "--multi-gpu 2", "--config x"),
        ("--monitor x", "--monitor", "x"),
    ],
)
def test_which_words_are_whose(words, own, passed):
    assert split_words(words.split()) == (own.split(), passed.split())


def test_what_the_trainer_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sft").mkdir()
    told = train_words(LaunchSettings(exp_name="a", sft_checkpoint="sft", multi_gpu=1), ["--steps", "3"])
    words = "--steps 3 --model sft --warm-start null --device cuda --output"
    assert told == [*words.split(), str(Path("runs") / "a")]
    assert train_words(LaunchSettings(resume="a"), []) == ["--resume", "a"]
    (tmp_path / "runs" / "a").mkdir(parents=True)
    assert train_words(LaunchSettings(resume="a"), []) == ["--resume", str(Path("runs") / "a")]
    assert train_words(LaunchSettings(exp_name="b", resume="newest"), [])[1] == str(Path("runs") / "b")


def test_several_devices_are_a_process_each_and_one_is_none_more():
    assert team_starter(1) == []
    assert team_starter(4) == ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4"]


def test_a_training_goes_on_as_it_was_launched():
    """On as many devices, shown as it was, with what was wanted to be free; not begun anew."""
    given = {"exp_name": "a", "sft_checkpoint": "sft", "multi_gpu": 2, "disk_gb": 0.5}
    words = words_to_go_on(LaunchSettings(monitor=True, monitor_port=7861, **given), Path("runs/a"))
    assert sorted(words[2:]) == ["--disk-gb=0.5", "--monitor", "--monitor-port=7861", "--multi-gpu=2"]
    own, passed = split_words(words)
    read = Arguments("launch", "", LaunchSettings, takes_file=False).read(own)
    assert passed == [] and (read.multi_gpu, read.monitor, read.exp_name) == (2, True, None)
    assert train_words(read, passed) == ["--device", "cuda", "--resume", str(Path("runs/a"))]
    other = words_to_go_on(LaunchSettings(resume="runs/a"), Path("runs/a"))
    assert other == ["--resume", str(Path("runs/a"))]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--exp-name a/b", "--exp-name must be letters"),
        ("--exp-name a --output b", "--exp-name and --output say the same"),
        ("--sft-checkpoint . --model b", "--sft-checkpoint and --model say the same"),
        ("--sft-checkpoint . --resume b", "leave --sft-checkpoint out"),
        ("--sft-checkpoint none", "there is none at 'none'"),
        ("--multi-gpu 1 --device cpu", "--multi-gpu and --device say the same"),
        ("--multi-gpu 0", "multi_gpu must be"),
        ("--exp-name a --resume b", "name two runs"),
        ("--resume", "there is no run in 'runs' to go on with"),
        ("--monitor-port 70000", "monitor_port must be"),
        ("--exp-name", "--exp-name must be followed by a value"),
        ("loose", "unknown argument 'loose'"),
    ],
)
def test_mistakes_in_the_words_are_one_line(words, told, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert launch.main(words.split()) == 2
    said = capsys.readouterr()
    assert told in said.err and said.err.count("\n") == 1 and not said.out
    assert list(tmp_path.iterdir()) == []


def test_a_setting_that_contradicts_is_an_error():
    with pytest.raises(ConfigError, match="say the same"):
        train_words(LaunchSettings(exp_name="a"), ["--output", "b"])


# ---------------------------------------------------------------------- the script


def script(*words: str, **environment: str) -> tuple[int, str, str]:
    plain = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHON")}
    done = subprocess.run(
        [str(SCRIPT), *words], capture_output=True, text=True, timeout=120, env={**plain, **environment}
    )
    return done.returncode, done.stdout, done.stderr


def test_the_script_is_the_command():
    code, out, _ = script("--help", PYTHON=sys.executable, PYTHONPATH=str(ROOT))
    assert code == 0 and all(flag in out for flag in launch.OWN) and "pixelis train --help" in out


def test_the_script_wants_a_python():
    code, out, err = script(PYTHON="no-such-python")
    assert code == 2 and not out and err.count("\n") == 1 and "no Python at 'no-such-python'" in err


def test_the_script_wants_a_python_that_is_new_enough(tmp_path):
    """The interpreter is told that it is 3.8, by the module that every Python imports when it starts."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.version_info = (3, 8, 0, 'final', 0)\n")
    code, out, err = script(PYTHON=sys.executable, PYTHONPATH=str(tmp_path))
    assert code == 2 and not out and err.count("\n") == 1 and "Python 3.10 or newer is needed" in err


def test_the_script_wants_the_package(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    code, out, err = script(PYTHON=str(tmp_path / "bare" / "bin" / "python"), PYTHONPATH="")
    assert code == 2 and not out and err.count("\n") == 1 and "pixelis is not installed for" in err


# ---------------------------------------------------------------------- checks of a real launch


def errors(said: str) -> list[str]:
    return [line for line in said.splitlines() if line.startswith("error: ")]


@pytest.mark.slow
@pytest.mark.timeout(600)  # many Pythons are started afresh
def test_every_failed_check_is_one_line_and_nothing_is_started(started, free_ports, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = ("--monitor-port", taken.getsockname()[1], "--tensorboard-port", free_ports[0])
        want = ("--multi-gpu", 64, "--disk-gb", 1e9, "--memory-gb", 1e9)
        code, said = started.whole("launch", "--monitor", *ports, *want, "--env", "Pixelis/ZoomReed-v0")
    assert code == 2 and "Traceback" not in said
    told = (
        "Did you mean 'Pixelis/ZoomRead-v0'?",
        "wants 64 CUDA devices",
        "on the disk of",
        "are wanted; end",
    )
    assert len(errors(said)) == 5
    assert all(
        any(each in line for line in errors(said)) for each in (*told, "choose another --monitor-port")
    )
    assert list(tmp_path.iterdir()) == [] and started.living() == []


@pytest.mark.slow
@pytest.mark.timeout(600)  # many Pythons are started afresh
def test_extras_that_are_missing_are_named(started, tmp_path, free_ports):
    """Of the monitor, and of an environment, with interpreters in which they cannot be imported."""
    hide = "import sys\nfor name in ('nicegui', 'selectolax'): sys.modules[name] = None\n"
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "sitecustomize.py").write_text(hide)
    path = os.pathsep.join([str(tmp_path / "hidden"), started.environment["PYTHONPATH"]])
    ports = ("--monitor-port", free_ports[0], "--tensorboard-port", free_ports[1])
    words = ("--monitor", *ports, "--env", "Pixelis/WebBrowse-v0", "--model", "pixelis-mini")
    process = started("-m", "pixelis", "launch", *words, PYTHONPATH=path)
    assert process.wait(120) == 2
    said = errors(process.printed())
    assert len(said) == 2, said
    assert "selectolax" in said[0] and "pixelis[web]" in said[0]
    assert "--monitor needs nicegui; install them with: pip install 'pixelis[monitor]'" in said[1]


@pytest.mark.slow
@pytest.mark.timeout(600)  # many Pythons are started afresh
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--model", "./nowhere"), "there is none at './nowhere'"),
        (("--device", "cuda:63"), "device 'cuda:63' was asked for, torch sees"),
        (("--exp-name", "old"), "already holds a run; resume it with --resume"),
        (("--monitr",), "unknown argument '--monitr'"),
        (("--env", "broken_env:Broken/Echo-v0", "--env-kwargs.fault", "make"), "no such camera"),
    ],
    ids=["model", "device", "run", "flag", "env"],
)
def test_what_the_trainer_would_refuse_is_told_before(started, letter_model, tmp_path, words, told):
    (tmp_path / "runs" / "old" / "checkpoints").mkdir(parents=True)
    (tmp_path / "runs" / "old" / "config.yaml").write_text("lr: 0.1\n")
    (tmp_path / "runs" / "old" / "metrics.jsonl").touch()
    first = TOY if "--env" not in words else ()
    model = () if "--model" in words else ("--model", letter_model)
    path = os.pathsep.join([started.environment["PYTHONPATH"], str(ROOT / "tests" / "scripts")])
    process = started("-m", "pixelis", "launch", "--check-only", *first, *model, *words, PYTHONPATH=path)
    assert process.wait(120) == 2
    assert len(errors(process.printed())) == 1 and told in errors(process.printed())[0]


# ---------------------------------------------------------------------- whole launches


def page(port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
        return answer.status


def is_free(port: int) -> bool:
    with socket.socket() as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return found.connect_ex(("127.0.0.1", port)) != 0


def steps_of(folder: Path) -> int:
    metrics = folder / "metrics.jsonl"
    return len(read_metrics(metrics)) if metrics.exists() else 0


@pytest.fixture
def shown(started, free_ports, letter_model, tmp_path):
    """Start a long training with monitor and TensorBoard; return its process when it has made three steps."""
    ports = ("--monitor-port", free_ports[0], "--tensorboard-port", free_ports[1])
    words = ("--monitor", *ports, "--exp-name", "one", "--model", letter_model, *LONG)
    process = started.pixelis("launch", *words)
    folder = tmp_path / "runs" / "one"
    assert wait_until(lambda: process.poll() is not None or steps_of(folder) >= 3), process.printed()
    assert process.poll() is None, process.printed()
    return process


@pytest.mark.slow
@pytest.mark.timeout(600)  # many Pythons are started afresh
def test_ctrl_c_saves_ends_all_and_says_how_to_go_on(shown, started, free_ports, tmp_path):
    assert [page(port) for port in free_ports] == [200, 200]
    said = shown.printed()
    assert f"monitor: http://127.0.0.1:{free_ports[0]}" in said
    assert f"TensorBoard: http://127.0.0.1:{free_ports[1]}" in said
    programs = {" ".join(process.cmdline()) for process in started.living()}
    assert len(programs) >= 4 and any("tensorboard.main" in each for each in programs)
    shown.send_signal(signal.SIGINT)
    assert shown.wait(120) == 130
    assert started.living() == [] and all(map(is_free, free_ports))
    folder = tmp_path / "runs" / "one"
    done = steps_of(folder)
    assert latest_checkpoint(folder / "checkpoints").name == f"step-{done:08d}"
    said = shown.printed()
    assert "stopping after this step and saving" in said and "Traceback" not in said
    again = re.findall(r"python -m pixelis launch (.*)", said)
    assert again == [f"--resume runs/one --monitor --monitor-port={free_ports[0]} "
                     f"--tensorboard-port={free_ports[1]}"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(600)  # many Pythons are started afresh
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_however_the_launcher_is_ended_nothing_is_left(shown, started, free_ports, tmp_path, number):
    if number == signal.SIGKILL and sys.platform != "linux":
        pytest.skip("elsewhere a killed launcher leaves what it has started")
    shown.send_signal(number)
    shown.wait(120)
    assert started.all_ended() and all(map(is_free, free_ports))
    folder = tmp_path / "runs" / "one"
    assert latest_checkpoint(folder / "checkpoints").name == f"step-{steps_of(folder):08d}"
    assert shown.returncode == (-9 if number == signal.SIGKILL else 130)


@pytest.mark.slow
@pytest.mark.timeout(600)  # many Pythons are started afresh
def test_a_training_that_is_killed_ends_the_rest(shown, started, free_ports):
    (training,) = [each for each in started.living() if each.cmdline()[2:4] == ["pixelis", "train"]]
    (board,) = [each for each in started.living() if each.cmdline()[2:3] == ["tensorboard.main"]]
    board.kill()
    assert wait_until(lambda: "warning: TensorBoard has ended (ended by signal 9" in shown.printed(), 30)
    assert training.is_running()
    training.kill()
    assert shown.wait(120) == 137
    assert started.living() == [] and all(map(is_free, free_ports))
    assert "the training ended early (ended by signal 9, SIGKILL" in shown.printed()
    assert "--resume runs/one" in shown.printed()


@pytest.mark.slow
@pytest.mark.timeout(600)  # many Pythons are started afresh
@pytest.mark.parametrize("seen", ["ok  python", "ok  ports"], ids=["while it checks", "while servers start"])
def test_ctrl_c_before_the_training_leaves_nothing(started, free_ports, letter_model, tmp_path, seen):
    ports = ("--monitor-port", free_ports[0], "--tensorboard-port", free_ports[1])
    process = started.pixelis("launch", "--monitor", *ports, "--model", letter_model, *LONG)
    assert wait_until(lambda: seen in process.printed(), 60)
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 130
    assert process.printed().splitlines()[-1] == "interrupted"
    assert started.living() == [] and all(map(is_free, free_ports))
    assert list(tmp_path.glob("runs/*")) == []


@pytest.mark.slow
@pytest.mark.timeout(600)  # many Pythons are started afresh
def test_a_run_to_its_end_from_an_sft_checkpoint(started, letter_model, tmp_path):
    sft = (
        "--env",
        "toy_env:Toy/Echo-v0",
        "--model",
        letter_model,
        "--demonstrations",
        8,
        "--eval-episodes",
        0,
    )
    (tmp_path / "echo.jsonl").write_text(
        '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "a"}]}\n' * 16
    )
    words = [word for word in sft if word not in ("--demonstrations", 8)]
    code, said = started.whole("sft", *words, "--data", "echo.jsonl", "--steps", 1, "--output", "runs/sft")
    assert code == 0, said
    ends = ("--steps", 2, "--eval-episodes", 0)
    code, said = started.whole("launch", "--sft-checkpoint", "runs/sft", "--exp-name", "after", *TOY, *ends)
    assert code == 0, said
    assert "model: runs/sft" in said and steps_of(tmp_path / "runs" / "after") == 2
    assert started.living() == []
    code, said = started.whole("launch", "--resume", "--steps", 3)  # not the SFT run, although it is one
    assert code == 0 and steps_of(tmp_path / "runs" / "after") == 3, said

"""The command ``pixelis``: every word reaches its command, and what is wrong is one line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pixelis.cli import SCRIPTS, called_as, in_words_of_caller
from pixelis.cli.main import COMMANDS, main


@pytest.mark.parametrize("word", COMMANDS)
def test_every_word_tells_its_flags(word, capsys):
    try:
        code = main([word, "--help"])
    except SystemExit as end:
        code = end.code
    assert code in (0, None)
    assert capsys.readouterr().out.startswith("usage: ")


def test_the_list_names_every_command(capsys):
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(f"  {word} " in said and command.summary in said for word, command in COMMANDS.items())


def test_nothing_asked_shows_the_list_and_is_a_mistake(capsys):
    assert main([]) == 2
    assert "pixelis COMMAND" in capsys.readouterr().out


def test_an_unknown_word_is_one_line_with_the_nearest(capsys):
    assert main(["trian"]) == 2
    captured = capsys.readouterr()
    assert (
        captured.err
        == "error: pixelis has no command 'trian'. Did you mean 'train'?; `pixelis --help` lists all\n"
    )


def test_a_mistake_of_the_command_keeps_its_exit_code(capsys):
    assert main(["evaluate", "--env", "Pixelis/ZoomReed-v0"]) == 2
    assert "Did you mean 'Pixelis/ZoomRead-v0'?" in capsys.readouterr().err


def test_as_a_module_it_says_its_version():
    done = subprocess.run(
        [sys.executable, "-m", "pixelis", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().count(".") == 2


def test_the_list_does_not_wait_for_torch():
    code = "import sys; from pixelis.cli.main import main; main(['--help']); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["/usr/bin/pixelis", "train", "--steps", "3"], ["pixelis", "train"]),
        (["/site/pixelis/__main__.py", "sft"], ["python", "-m", "pixelis", "sft"]),
        (["scripts/train_agent.py", "--steps", "3"], ["python", "scripts/train_agent.py"]),
        ([""], ["python", "train_agent.py"]),
    ],
)
def test_how_a_command_was_called(monkeypatch, argv, words):
    monkeypatch.setattr(sys, "argv", argv)
    assert called_as("train_agent.py") == words


def test_whoever_types_pixelis_reads_its_words(monkeypatch, capsys):
    """Help and mistakes name scripts to those who call scripts, and words of ``pixelis`` to the others."""
    said = {}
    for argv0 in ("/usr/bin/pixelis", "scripts/train_agent.py"):
        monkeypatch.setattr(sys, "argv", [argv0, "train"])
        with pytest.raises(SystemExit):
            main(["train", "--help"])
        assert main(["train", "--packing"]) == 2
        said[argv0] = "".join(capsys.readouterr())
    assert "usage: pixelis train [--config" in said["/usr/bin/pixelis"]
    assert "--packing belongs to pixelis sft, pixelis expert" in said["/usr/bin/pixelis"]
    assert ".py" not in said["/usr/bin/pixelis"]
    assert "usage: train_agent.py [--config" in said["scripts/train_agent.py"]


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("/usr/bin/pixelis", "see pixelis train or pixelis sft, not my_train_sft.py"),
        ("/site/pixelis/__main__.py", "see pixelis train or pixelis sft, not my_train_sft.py"),
        ("/site/pytest/__main__.py", "see train_agent.py or train_sft.py, not my_train_sft.py"),
        ("scripts/train_agent.py", "see train_agent.py or train_sft.py, not my_train_sft.py"),
        ("", "see train_agent.py or train_sft.py, not my_train_sft.py"),
    ],
)
def test_scripts_are_named_as_the_caller_knows_them(monkeypatch, program, said):
    monkeypatch.setattr(sys, "argv", [program, "train"])
    assert in_words_of_caller("see train_agent.py or train_sft.py, not my_train_sft.py") == said


def test_every_script_of_a_command_has_its_word():
    scripts = Path(__file__).parents[2] / "scripts"
    runs = re.compile(r"^ *from pixelis\.cli\.\S+ import main$", re.MULTILINE)
    called = {path.name for path in scripts.glob("*.py") if runs.search(path.read_text())}
    called |= {path.name for path in scripts.glob("*.sh") if "-m pixelis " in path.read_text()}
    assert called == set(SCRIPTS) and set(SCRIPTS.values()) < set(COMMANDS)


@pytest.mark.parametrize(
    "words", [["--help"], ["check-env", "CartPole-v1", "--seeds", "2", "--no-processes"]]
)
@pytest.mark.parametrize("unbuffered", [False, True])
def test_a_reader_that_has_read_enough_is_no_error(words, unbuffered):
    process = subprocess.Popen(
        [sys.executable, *["-u"] * unbuffered, "-m", "pixelis", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=60), said) == (141, "")

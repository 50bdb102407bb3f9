from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest

from pixelis.envs.registration import ENVIRONMENTS, check_env_id, load_plugins, register_environments
from pixelis.errors import UnknownEnvError

ROOT = Path(__file__).parents[2]


def run(code: str, *folders: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(map(str, [*folders, ROOT]))
    environment = {**os.environ, "PYTHONPATH": path}
    words = [sys.executable, "-c", code]
    return subprocess.run(words, cwd="/", env=environment, capture_output=True, text=True, timeout=120)


def add_plugin(folder: Path, name: str, code: str) -> None:
    """Write what pip would: a module, and a .dist-info folder that names its entry point."""
    (folder / f"{name}_module.py").write_text(code)
    metadata = folder / f"{name}_package-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-package\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[pixelis.plugins]\n{name} = {name}_module:register\n")


GOOD = """
import gymnasium as gym

class Env(gym.Env):
    pass

def register():
    gym.register("Good/Plugin-v0", entry_point=Env)
"""


def test_every_environment_of_the_table_is_registered():
    assert [entry.id for entry in ENVIRONMENTS if entry.id not in gym.registry] == []
    register_environments()  # again changes nothing, and warns of nothing


def test_no_plugins_here():
    assert load_plugins() == []


def test_made_by_prefix_without_an_import():
    done = run(
        "import gymnasium as gym, sys\n"
        "env = gym.make('pixelis:Pixelis/ZoomRead-v0', reader='truth')\n"
        "print(env.reset(seed=0)[0]['text'].splitlines()[0])"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("What code is on the ")


def test_a_good_plugin_registers_and_a_bad_one_is_named_and_left_out(tmp_path):
    add_plugin(tmp_path, "good", GOOD)
    add_plugin(tmp_path, "bad", "def register():\n    raise RuntimeError('no licence')\n")
    add_plugin(tmp_path, "missing", "raise ImportError('no such library')\n")
    add_plugin(tmp_path, "leaving", "import sys\nsys.exit('bye')\n")
    done = run(
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    import pixelis, gymnasium\n"
        "print('Good/Plugin-v0' in gymnasium.registry, 'Pixelis/ZoomRead-v0' in gymnasium.registry)\n"
        "for one in sorted(caught, key=str): print(one.category.__name__, one.message)\n",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    first, *warned = done.stdout.splitlines()
    assert first == "True True"
    assert len(warned) == 3
    assert all(line.startswith("PluginWarning Pixelis plugin ") for line in warned)
    assert "'bad' of bad-package (bad_module:register) failed to load" in done.stdout
    assert "RuntimeError: no licence" in done.stdout
    assert "ImportError: no such library" in done.stdout
    assert "'leaving' of leaving-package (leaving_module:register) failed to load" in done.stdout
    assert "SystemExit: bye" in done.stdout


@pytest.mark.parametrize("env_id", ["Pixelis/ZoomRead-v0", "pixelis:Pixelis/ZoomRead-v0", "CartPole-v1"])
def test_known_ids(env_id):
    assert check_env_id(env_id) == env_id


@pytest.mark.parametrize(
    ("env_id", "words"),
    [
        ("Pixelis/ZoomRaed-v0", "Did you mean 'Pixelis/ZoomRead-v0'"),
        ("pixelis:Pixelis/Zoom-v0", "Did you mean 'Pixelis/ZoomRead-v0'"),
        ("CartPol-v1", "Did you mean 'CartPole-v1'"),
        ("", "no environment"),
        ("no_such_module:X-v0", "cannot import module 'no_such_module'"),
        ("..:X-v0", "cannot import module"),
        ("no_such_module:X-v0", r"is its folder on PYTHONPATH\?"),
        ("zzzzzzzzzzzz", r"Known: .*Pixelis/AskImage-v0, .* in all\)"),
    ],
)
def test_unknown_ids_are_one_clear_error(env_id, words):
    with pytest.raises(UnknownEnvError, match=words):
        check_env_id(env_id)


@pytest.mark.parametrize("end", ["", "\n    raise RuntimeError('no licence')\n"])
def test_a_plugin_cannot_take_one_of_our_ids(tmp_path, end):
    add_plugin(tmp_path, "thief", GOOD.replace("Good/Plugin-v0", "Pixelis/ZoomRead-v0").rstrip() + end)
    done = run(
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    import pixelis, gymnasium\n"
        "print(gymnasium.registry['Pixelis/ZoomRead-v0'].entry_point)\n"
        "print(*(one.message for one in caught if one.category.__name__ == 'PluginWarning'))\n",
        tmp_path,
    )
    entry, told = done.stdout.splitlines()
    assert entry.startswith("pixelis.envs.")
    said = "of thief-package (thief_module:register) failed to load and is left out: RuntimeError: no licence"
    if not end:
        said = "'thief' (thief_module:register) registers Pixelis/ZoomRead-v0, which is there already"
    assert said in told


def test_a_plugin_that_is_imported_before_pixelis_is_found_by_its_id(tmp_path):
    add_plugin(tmp_path, "good", "import pixelis\n" + GOOD)
    done = run(
        "import good_module\n"
        "from pixelis.envs.registration import check_env_id\n"
        "print(check_env_id('Good/Plugin-v0'))\n",
        tmp_path,
    )
    assert (done.stdout, done.stderr) == ("Good/Plugin-v0\n", "")


def test_the_ids_of_plugins_are_suggested_too():
    gym.register("Orchard/PickApples-v0", entry_point=gym.Env)
    try:
        for wrong in ("Orchard/PickApple-v0", "orchard/pickapples-v0", "PickApples-v0"):
            with pytest.raises(UnknownEnvError, match="Did you mean 'Orchard/PickApples-v0'"):
                check_env_id(wrong)
    finally:
        del gym.registry["Orchard/PickApples-v0"]


def test_a_module_in_the_working_directory_says_how_to_put_it_on_the_path(tmp_path, monkeypatch):
    (tmp_path / "shelves_of_a_test.py").write_text("")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownEnvError, match=r"working directory.*not on the path; put PYTHONPATH=\."):
        check_env_id("shelves_of_a_test:X-v0")


def test_a_module_that_lacks_another_is_not_told_to_be_out_of_reach(tmp_path, monkeypatch):
    (tmp_path / "needs_of_a_test.py").write_text("import not_here_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnknownEnvError, match=r"not_here_at_all.*what it imports") as caught:
        check_env_id("needs_of_a_test:X-v0")
    assert "PYTHONPATH" not in str(caught.value)


def test_a_module_that_fails_is_one_clear_error(tmp_path, monkeypatch):
    (tmp_path / "broken_module_of_a_test.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnknownEnvError, match="division by zero"):
        check_env_id("broken_module_of_a_test:X-v0")


def test_a_module_that_ends_the_program_is_one_clear_error(tmp_path, monkeypatch):
    (tmp_path / "leaving_module_of_a_test.py").write_text("import sys\nsys.exit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnknownEnvError, match="SystemExit: 3"):
        check_env_id("leaving_module_of_a_test:X-v0")


def test_an_id_without_a_module_is_told_that_it_may_have_one():
    with pytest.raises(UnknownEnvError, match=r"is not installed as a plugin is module:Id-v0\."):
        check_env_id("MyShelves-v0")
    with pytest.raises(UnknownEnvError) as caught:
        check_env_id("pixelis:MyShelves-v0")
    assert "plugin" not in str(caught.value)

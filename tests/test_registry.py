"""Functions chosen by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pixelis.errors import ConfigError
from pixelis.registry import Registry


@pytest.fixture
def sauces():
    sauces = Registry("sauce")

    @sauces.register("pesto")
    def pesto():
        return "green"

    return sauces


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return a writer of modules that can be imported."""
    monkeypatch.syspath_prepend(tmp_path)
    return lambda name, text: (tmp_path / f"{name}.py").write_text(text)


def test_the_decorator_keeps_the_function(sauces):
    assert sauces.find("pesto")() == sauces["pesto"]() == "green"
    assert sorted(sauces) == ["pesto"]


def test_an_unknown_name_gets_a_suggestion(sauces):
    with pytest.raises(ConfigError, match=r"no sauce is registered as 'pesta'\. Did you mean 'pesto'\?"):
        sauces.find("pesta")


def test_two_functions_cannot_share_a_name(sauces):
    with pytest.raises(ConfigError, match="a sauce named 'pesto' exists already"):
        sauces.register("pesto")(lambda: "red")
    assert sauces.find("pesto")() == "green"


def test_a_reloaded_function_takes_its_own_place(sauces):
    def make(colour):
        def rosso():
            return colour

        return rosso

    sauces.register("rosso")(make("red"))
    sauces.register("rosso")(make("dark red"))
    assert sauces.find("rosso")() == "dark red"


def test_a_name_with_a_colon_is_refused(sauces):
    with pytest.raises(ConfigError, match="cannot hold a colon"):
        sauces.register("a:b")


def test_the_module_of_a_qualified_name_is_imported(module):
    module(
        "sauces_of_mine",
        "from pixelis.agents.losses.aggregation import AGGREGATIONS\n"
        "@AGGREGATIONS.register('test_sum')\n"
        "def total(values, mask, counts):\n"
        "    return (values * mask).sum()\n",
    )
    from pixelis.agents.losses.aggregation import AGGREGATIONS

    try:
        found = AGGREGATIONS.find("sauces_of_mine:test_sum")
        assert found is AGGREGATIONS.find("test_sum") is AGGREGATIONS.find("sauces_of_mine:test_sum")
        assert found.__module__ == "sauces_of_mine"
    finally:
        AGGREGATIONS.pop("test_sum", None)


@pytest.mark.parametrize("error", ["ModuleNotFoundError", "ZeroDivisionError"])
def test_a_module_that_cannot_be_imported(sauces, module, error):
    module("spoilt", "1 / 0")
    name = "spoilt" if error == "ZeroDivisionError" else "no_such_module"
    with pytest.raises(ConfigError, match=rf"sauce '{name}:x': cannot import module '{name}' \({error}"):
        sauces.find(f"{name}:x")


def test_a_module_that_registers_something_else(sauces, module):
    module("empty_kitchen", "")
    with pytest.raises(ConfigError, match="no sauce is registered as 'gravy'"):
        sauces.find("empty_kitchen:gravy")


def test_a_module_is_imported_also_where_its_name_is_taken(sauces, module):
    with pytest.raises(ConfigError, match="cannot import module 'nomodule'"):
        sauces.find("nomodule:pesto")
    module("empty_pantry", "")
    with pytest.raises(
        ConfigError, match=r"empty_pantry registers none of that name, which is \S+'s; choose"
    ):
        sauces.find("empty_pantry:pesto")


def test_a_module_may_register_what_others_defined(sauces, module, monkeypatch):
    """A partial function, one of another library, one of ours under a name of its own."""
    monkeypatch.setattr("pixelis.registry.SAUCES", sauces, raising=False)
    module("shared_kitchen", "def boiled():\n    return 'hot'\n")
    module(
        "own_kitchen",
        "import functools\nfrom shared_kitchen import boiled\nfrom pixelis.registry import SAUCES\n"
        "SAUCES.register('part')(functools.partial(max, 1, 2))\n"
        "SAUCES.register('boiled')(boiled)\n"
        "SAUCES.register('green')(SAUCES['pesto'])\n",
    )
    assert sauces.find("own_kitchen:part")() == 2
    assert sauces.find("own_kitchen:boiled")() == "hot"
    assert sauces.find("own_kitchen:green")() == "green"
    with pytest.raises(ConfigError, match="own_kitchen registers none of that name"):
        sauces.find("own_kitchen:pesto")


def test_a_program_finds_what_it_has_registered_itself(tmp_path):
    """Without being imported a second time, under the name that other processes know it by."""
    (tmp_path / "cook.py").write_text(
        "from pixelis.registry import Registry\n"
        "sauces = Registry('sauce')\n"
        "@sauces.register('mine')\ndef mine():\n    return 'red'\n"
        "print(sauces.find('cook:mine')())\n"
    )
    done = subprocess.run(
        [sys.executable, "cook.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.returncode) == ("red\n", 0), done.stderr

"""What is plain in a run's settings is read, and where its alarms go on; nothing of a stranger's is dear."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixelis.agents.settings.alarms import AlarmThresholds
from pixelis.monitor.reading.folders import Root
from pixelis.monitor.reading.stored_settings import LARGEST_SETTINGS, read_settings, thresholds_of


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '{"a": NaN', "[" * 50_000])
def test_damaged_settings_are_as_if_empty(tmp_path: Path, text: str):
    (tmp_path / "config.yaml").write_text(text)
    assert read_settings(Root(tmp_path)) == {}
    assert thresholds_of({}) == AlarmThresholds()


def test_settings_of_a_stranger_cost_little(tmp_path: Path):
    """Of a file that stands for gigabytes, of merges that do, and of a large one, what is plain is kept."""
    lists = "\n".join(f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * 10)}]" for i in range(1, 20))
    merges = "\n".join(f"y{i}: &y{i} {{<<: [{', '.join([f'*y{i - 1}'] * 10)}]}}" for i in range(1, 20))
    config = tmp_path / "config.yaml"
    config.write_text(f"x0: &x0 [a]\n{lists}\nenv: *x19\nmodel: pixelis-tiny\nsteps: 7\n")
    assert read_settings(Root(tmp_path)) == {"model": "pixelis-tiny", "steps": 7}
    config.write_text(f"y0: &y0 {{a: 1}}\n{merges}\nmodel: pixelis-tiny\n")
    assert read_settings(Root(tmp_path)) == {}
    config.write_text("model: pixelis-tiny\n" + "#" * LARGEST_SETTINGS)
    assert read_settings(Root(tmp_path)) == {}


def test_thresholds_are_those_of_the_run(tmp_path: Path):
    alarms = "{kl_reference: 3.0, ignore: [no gradient, success fell], deep: {a: 1}}"
    (tmp_path / "config.yaml").write_text(f"env: some\nalarms: {alarms}\nlora: {{rank: 4}}\n")
    settings = read_settings(Root(tmp_path))
    assert settings == {
        "env": "some",
        "alarms": {"kl_reference": 3.0, "ignore": ["no gradient", "success fell"]},
    }
    assert thresholds_of(settings) == AlarmThresholds(
        kl_reference=3.0, ignore=["no gradient", "success fell"]
    )


@pytest.mark.parametrize(
    "alarms", ["{kl_reference: -1}", "{nothing: 1}", "{ignore: [no such]}", "{ignore: 3}", "often"]
)
def test_what_are_no_thresholds(tmp_path: Path, alarms: str):
    (tmp_path / "config.yaml").write_text(f"env: some\nalarms: {alarms}\n")
    assert thresholds_of(read_settings(Root(tmp_path))) is None


def test_many_thresholds_cost_little(tmp_path: Path):
    listed = ", ".join("x" * 300)
    names = ", ".join(f"a{number}: [{listed}]" for number in range(200))
    (tmp_path / "config.yaml").write_text(f"alarms: {{{names}}}\n")
    alarms = read_settings(Root(tmp_path))["alarms"]
    assert len(alarms) == 50 and all(len(each) == 50 for each in alarms.values())

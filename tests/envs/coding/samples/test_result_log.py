"""Results of a long evaluation: whole after the end, and usable after a kill at any byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pixelis.envs.coding.samples.result_log import ResultLog
from pixelis.errors import ConfigError, DatasetError

ROWS = [{"line": 1, "passed": True}, {"line": 2, "passed": False, "detail": "ä\n"}, {"line": 3}]
SAME = {"samples": "abc", "seconds": 2}


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "results.jsonl"


def begin(path: Path, rows=ROWS[:2]) -> bytes:
    """Write rows and stop there; return what is on disk."""
    with ResultLog(path, SAME) as log:
        log.append(rows)
    return log.part.read_bytes()


def test_rows_stand_aside_until_all_are_there(path):
    with ResultLog(path, SAME) as log:
        log.append(ROWS[:1])
        log.append(ROWS[1:])
        assert (log.count, list(log.rows())) == (3, ROWS) and not path.exists()
        log.finish()
    assert [json.loads(line) for line in path.read_text().splitlines()] == ROWS
    assert [each.name for each in path.parent.iterdir()] == ["results.jsonl"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(share=st.floats(0, 1))
def test_a_kill_at_any_byte_loses_the_row_that_was_written_and_no_other(path, share):
    path.with_name("results.jsonl.part").unlink(missing_ok=True)
    written = begin(path)
    kept = written[: round(share * len(written))]
    path.with_name("results.jsonl.part").write_bytes(kept)
    whole = max(0, kept.count(b"\n") - 1)  # but for the head
    with ResultLog(path, SAME) as log:
        assert (log.count, list(log.rows())) == (whole, ROWS[:whole])
        log.append(ROWS[whole:])
        assert list(log.rows()) == ROWS


def test_other_inputs_or_settings_do_not_go_on_and_change_nothing(path):
    written = begin(path)
    with pytest.raises(
        ConfigError, match="of an evaluation with other files or settings; name another --out"
    ):
        ResultLog(path, {**SAME, "seconds": 3})
    assert path.with_name("results.jsonl.part").read_bytes() == written
    with ResultLog(path, dict(reversed(SAME.items()))) as log:  # the order of keys says nothing
        assert log.count == 2


def test_a_finished_file_is_never_written_over(path):
    path.write_text("mine")
    with pytest.raises(ConfigError, match="exists already; name another --output"):
        ResultLog(path, SAME)
    assert path.read_text() == "mine" and len(list(path.parent.iterdir())) == 1


def test_a_line_that_is_no_result_is_told_and_kept(path):
    written = begin(path) + b"notes of mine\n"
    path.with_name("results.jsonl.part").write_bytes(written)
    with pytest.raises(DatasetError, match="a line that is no result; remove it to begin anew"):
        ResultLog(path, SAME)
    assert path.with_name("results.jsonl.part").read_bytes() == written

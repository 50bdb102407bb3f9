"""Settings that hold for every test: no network, no window, one thread, same examples; what takes long."""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# Before anything imports torch, SDL or the hub client: they read these once.
for _name, _value in {
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "SDL_VIDEODRIVER": "dummy",
    "SDL_AUDIODRIVER": "dummy",
    "PYGAME_HIDE_SUPPORT_PROMPT": "1",
    "MPLBACKEND": "Agg",
}.items():
    os.environ.setdefault(_name, _value)

hypothesis.settings.register_profile("suite", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("suite")

_NOBODY = 65534
LINKED_FOLDERS = ("envs", "agents", "rewards", "wrappers")

SECONDS_FILE = Path(__file__).with_name("seconds.json")  # CPU seconds of a test function, all cases together
LONG, SLOW = 0.3, 5.0
_BEGAN, _LEFT_OUT = pytest.StashKey[float](), pytest.StashKey[int]()
_measured: defaultdict[str, float] = defaultdict(float)
_unmarked: dict[str, float] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-seconds", action="store_true", help=f"write tests/{SECONDS_FILE.name}")


def _recorded() -> dict[str, float]:
    return json.loads(SECONDS_FILE.read_text()) if SECONDS_FILE.exists() else {}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is long by the record, and begin with the longest files: none is left for the end."""
    recorded = _recorded()
    files: defaultdict[str, float] = defaultdict(float)
    for name, seconds in recorded.items():
        files[name.partition("::")[0]] += seconds
    for item in items:
        if recorded.get(item.nodeid.partition("[")[0], 0.0) >= LONG:
            item.add_marker("long")
    items.sort(key=lambda item: files[item.nodeid.partition("::")[0]], reverse=True)


def pytest_collection_finish() -> None:
    """Spare collections what stays to the end: a process with all test modules holds a million objects."""
    gc.collect()
    gc.freeze()


def _cpu_seconds() -> float:
    """Return those of this process and of all below it: a server is not counted to the test that ends it."""
    return sum(os.times()[:4]) + _below("self") / os.sysconf("SC_CLK_TCK")


def _below(process: str) -> int:
    """Return the clock ticks of the living processes below this one, and of those that they waited for."""
    ticks = 0
    try:
        lists = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
        for child in " ".join(lists).split():
            stat = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, stat[11:15])) + _below(child)
    except (OSError, ValueError):  # it has just ended, or there is no such list here
        pass
    return ticks


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.stash[_BEGAN] = _cpu_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "teardown":
        slow = item.get_closest_marker("slow") is not None
        report.user_properties.append(("cpu", (_cpu_seconds() - item.stash[_BEGAN], slow)))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    for seconds, slow in (value for name, value in report.user_properties if name == "cpu"):
        _measured[report.nodeid.partition("[")[0]] += seconds
        if seconds > SLOW and not slow:
            _unmarked[report.nodeid] = seconds


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count what is left out, of which a run on several processes says nothing by itself."""
    for item in items:
        item.config.stash[_LEFT_OUT] = item.config.stash.get(_LEFT_OUT, 0) + 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the process that began the run how much this one has left out; each of them collects all."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = session.config.stash.get(_LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take notice of what a process has left out."""
    node.config.stash[_LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    terminalreporter.write_line(f"{sum(_measured.values()):.0f} CPU seconds")
    left_out = config.stash.get(_LEFT_OUT, 0)
    if left_out and config.option.markexpr:
        expression = config.option.markexpr
        terminalreporter.write_line(f"{left_out} left out by -m '{expression}'; make test ALL=1 runs all")
    for nodeid, seconds in _unmarked.items():
        terminalreporter.write_line(f"{nodeid} took {seconds:.1f} CPU seconds: mark it slow")
    if config.getoption("record_seconds"):
        seconds = _recorded() | {name: round(value, 1) for name, value in _measured.items()}
        kept = {name: value for name, value in sorted(seconds.items()) if value >= LONG}
        SECONDS_FILE.write_text(json.dumps(kept, indent=0) + "\n")


@pytest.fixture(autouse=True)
def no_second_copy() -> Iterator[None]:
    """Fail the test that loads a linked folder under its bare name, as a second copy of its classes."""
    yield
    loaded = [name for name in LINKED_FOLDERS if name in sys.modules]
    assert not loaded, f"loaded as {loaded}; import pixelis.{loaded[0] if loaded else ''} instead"


@pytest.fixture
def read_only_folder() -> Iterator[Path]:
    """A folder that may be read and not written; root, whom permissions do not bind, acts as nobody."""
    is_root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as name:  # not below tmp_path, which only its owner may enter
        folder = Path(name)
        folder.chmod(0o555)
        if is_root:
            os.seteuid(_NOBODY)
        try:
            yield folder
        finally:
            if is_root:
                os.seteuid(0)
            folder.chmod(0o755)


@pytest.fixture(scope="session")
def letter_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model small enough to learn in seconds; it knows eight letters."""
    from letter_model import build_letter_model

    return build_letter_model(tmp_path_factory.mktemp("letter_model"))

"""Files: whole lines or none, kills, full disks, writers that share a folder, damaged lines."""

from __future__ import annotations

import copy
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from recorded_envs import edit, record

from pixelis.errors import OutputError, RecordingError, RecordingWarning
from pixelis.wrappers.recording.files import TrajectoryFile, read_trajectories, recording_files

HERE = Path(__file__).parent


def test_writers_never_share_a_file_and_one_without_lines_leaves_none(tmp_path):
    first = TrajectoryFile(tmp_path, "Odd/Name: v0")
    others = [copy.deepcopy(first), pickle.loads(pickle.dumps(first)), TrajectoryFile(tmp_path, "..")]
    for number, writer in enumerate([first, *others]):
        writer.append(b"%d\n" % number)
    empty = TrajectoryFile(tmp_path, "never")
    empty.open()
    for writer in (first, *others, empty):
        writer.close()
    files = recording_files(tmp_path)
    assert sorted(path.read_bytes() for path in files) == [b"0\n", b"1\n", b"2\n", b"3\n"]
    assert sum(path.name.startswith("odd-name-v0-") for path in files) == 3


def test_a_full_file_is_followed_by_another_of_the_same_writer(tmp_path):
    episodes = record(tmp_path, starts=[(seed, None) for seed in range(5)], settings={"max_bytes": 1500})
    files = recording_files(tmp_path)
    assert len(files) > 1 and {path.name[-10:] for path in files} >= {"0001.jsonl", "0002.jsonl"}
    assert all(path.stat().st_size < 1500 + 1000 for path in files)  # a line is less than 1000 bytes
    assert [episode.start.seed for episode in episodes] == list(range(5))
    assert len({episode.recorder for episode in episodes}) == 1


def test_half_a_last_line_is_reported_and_left_out_wherever_it_ends(tmp_path):
    record(tmp_path, starts=[(1, None), (2, None)])
    (path,) = recording_files(tmp_path)
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    for end in range(second + 1, len(whole) - 1, 37):
        path.write_bytes(whole[:end])
        with pytest.warns(RecordingWarning, match=f"line 2 is half a line \\({end - second} bytes\\)"):
            assert [episode.start.seed for episode in read_trajectories(path)] == [1]
    path.write_bytes(whole[:-1])  # nothing but the newline is missing
    assert [episode.start.seed for episode in read_trajectories(path)] == [1, 2]


def run(script, folder):
    paths = os.pathsep.join([str(HERE), str(HERE.parents[1] / "agents" / "rl"), str(HERE.parents[2])])
    command = [sys.executable, "-c", textwrap.dedent(script), str(folder)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths}
    )


FORKED = """
    import os, sys
    import gymnasium as gym, recorded_envs
    from pixelis.wrappers.recording.record import RecordTrajectory

    env = RecordTrajectory(gym.make("Toy/Echo-v0"), sys.argv[1])
    env.reset(seed=1)
    child = os.fork()
    env.step("a")
    env.reset(seed=2 if child else 3)
    env.step("a")
    env.close()
    if child:
        os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_writes_to_a_file_of_its_own(tmp_path):
    process = run(FORKED, tmp_path)
    process.communicate(timeout=60)
    assert process.returncode == 0
    seeds = [[e.start.seed for e in read_trajectories(path)] for path in recording_files(tmp_path)]
    assert sorted(seeds) == [[1, 2], [1, 3]]


ENDLESS = """
    import sys
    import gymnasium as gym, recorded_envs
    from pixelis.wrappers.recording.record import RecordTrajectory

    env = RecordTrajectory(gym.make("Toy/Picture-v0"), sys.argv[1], images=True)
    for seed in range(10**9):
        env.reset(seed=seed)
        env.step("a")
        env.step("b")
        print(seed, flush=True)
"""


def test_a_killed_process_loses_no_episode_that_ended(tmp_path):
    process = run(ENDLESS, tmp_path)
    assert process.stdout is not None
    told = [int(process.stdout.readline()) for _ in range(30)][-1]
    process.kill()
    told = max([told, *map(int, process.communicate()[0].split("\n")[:-1])])
    assert process.returncode == -signal.SIGKILL
    seeds = [episode.start.seed for episode in read_trajectories(tmp_path)]
    assert seeds[: told + 1] == list(range(told + 1)) and len(seeds) <= told + 2


LIMITED = """
    import resource, sys
    import gymnasium as gym, recorded_envs
    from pixelis.errors import OutputError
    from pixelis.wrappers.recording.record import RecordTrajectory

    env = RecordTrajectory(gym.make("CartPole-v1"), sys.argv[1])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def episode(seed):
        env.reset(seed=seed)
        while not any(env.step(0)[2:4]):
            pass

    episode(0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, hard))
    failed = 0
    for seed in range(1, 9):
        try:
            episode(seed)
        except OutputError as error:
            failed += 1
            message = str(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    episode(100)
    env.close()
    print(failed)
    print(message)
"""


def test_a_file_that_may_not_grow_keeps_its_whole_lines_and_goes_on_when_there_is_room(tmp_path):
    pytest.importorskip("resource")
    failed, message = run(LIMITED, tmp_path).communicate(timeout=60)[0].splitlines()
    seeds = [episode.start.seed for episode in read_trajectories(tmp_path)]  # a half line would be a warning
    assert seeds[-1] == 100 and 0 < int(failed) < 9 and len(seeds) == 10 - int(failed)
    assert "File too large" in message and "choose another folder or make room" in message


@pytest.fixture
def small_disk(tmp_path):
    """Mount a disk of 60 kB, where that is allowed."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=60k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("mounting a file system is not allowed here; the test above limits a file's size instead")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_one_error_and_leaves_whole_lines_and_whole_pictures(small_disk):
    with pytest.raises(OutputError, match="No space left on device"):
        record(small_disk, "Pixelis/ZoomRead-v0", [(seed, None) for seed in range(20)], 3, {"images": True})
    record(small_disk.parent / "roomy", "Toy/Echo-v0")
    assert not list(small_disk.glob("images/.*"))  # nothing unfinished
    for path in small_disk.glob("images/*.png"):
        assert path.read_bytes().endswith(b"IEND\xaeB`\x82")
    for path in small_disk.glob("*.jsonl"):
        assert not path.read_bytes() or path.read_bytes().endswith(b"\n")


def test_a_folder_that_cannot_be_written_is_told_before_the_first_step(read_only_folder):
    with pytest.raises(OutputError, match="Permission denied; choose another folder"):
        record(read_only_folder / "new")


# ---------------------------------------------------------------------- damaged lines

DAMAGE = {
    "version": (lambda row: row.update(version=2), "has format version 2, this Pixelis reads version 1"),
    "format": (lambda row: row.update(format="csv"), "is no recorded episode"),
    "steps": (lambda row: row.update(steps=5), "steps must be a list, got '5'"),
    "recorder": (lambda row: row.pop("recorder"), "recorder must be a str, got 'None'"),
    "episode": (lambda row: row.update(episode=True), "episode must be a int, got 'True'"),
    "seed": (lambda row: row["reset"].update(seed="x"), "reset: seed must be a int, got 'x'"),
    "info": (lambda row: row["reset"].pop("info"), "reset: info must be a dict"),
    "action": (lambda row: row["steps"][0].pop("action"), "step 0: expected an object with action"),
    "reward": (lambda row: row["steps"][0].update(reward="1"), "step 0: reward must be a number, got '1'"),
    "id": (lambda row: row["env"].update(id=3), "env: id must be a str, got '3'"),
    "limit": (
        lambda row: row["env"].update(max_episode_steps="a"),
        "max_episode_steps must be a int, got 'a'",
    ),
    "kwargs": (lambda row: row["env"].update(kwargs=[1]), "env: kwargs must be a dict, got '[1]'"),
    "no kwargs": (lambda row: row["env"].update(kwargs=None), "env: kwargs must be a dict, got 'None'"),
    "tuple": (lambda row: row["env"].update(kwargs={"$tuple": []}), "env: kwargs must be keywords, got"),
    "wrappers": (lambda row: row["env"].update(wrappers=None), "env: wrappers must be a list, got 'None'"),
    "wrapper": (lambda row: row["env"].update(wrappers=[3]), "env: wrapper 0 must be an object, got '3'"),
    "vector": (lambda row: row["env"].update(vector=[1]), "env: vector must be a dict, got '[1]'"),
    "below": (
        lambda row: row["env"].update(vector={"wrappers": 1}),
        "vector: wrappers must be a list, got '1'",
    ),
    "ends": (lambda row: row["steps"][0].update(terminated=1), "step 0: terminated must be a bool, got '1'"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_line_is_told_with_its_number(tmp_path, name):
    change, message = DAMAGE[name]
    record(tmp_path, starts=[(1, None), (2, None), (3, None)])
    with pytest.raises(RecordingError, match="line 2") as caught:
        edit(tmp_path, change, line=1)
    assert message in str(caught.value)


@pytest.mark.parametrize("text", [b"{", b"\xff\xfe{}", b"[" * 10**5, b'{"format": NaN}', b'["a"]', b"null"])
def test_a_line_that_is_not_an_episode_is_told_with_its_number(tmp_path, text):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n" + text + b"\n")
    with pytest.raises(RecordingError, match=r"a\.jsonl, line 2"):
        list(read_trajectories(path))


def test_a_recording_that_is_not_there(tmp_path):
    for place in (tmp_path, tmp_path / "nowhere.jsonl"):
        with pytest.raises(RecordingError, match="give what RecordTrajectory wrote"):
            list(read_trajectories(place))


def test_a_line_is_plain_json_in_utf8(tmp_path):
    record(tmp_path)
    (path,) = recording_files(tmp_path)
    assert json.loads(path.read_text(encoding="utf-8"))["length"] == 1

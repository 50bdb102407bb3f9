"""Episodes as a dataset, and pushing what was exported: by the Hub's own library."""

from __future__ import annotations

import json

import pytest

from pixelis.agents.models.policy import Policy
from pixelis.agents.rl.run import train
from pixelis.agents.sft import load_chats
from pixelis.cli.main import main


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A short run of ZoomRead, with its pictures."""
    from pixelis.agents.settings.rl import TrainConfig

    folder = tmp_path_factory.mktemp("published") / "zoom"
    settings = {"env": "Pixelis/ZoomRead-v0", "env_kwargs": {"reader": "truth"}, "model": "pixelis-tiny"}
    size = {"groups": 2, "group_size": 2, "steps": 2, "trajectories_every": 1, "eval_episodes": 3}
    train(TrainConfig.from_mapping({**settings, **size, "max_new_tokens": 24, "output": str(folder)}))
    return folder


@pytest.fixture
def hub(monkeypatch):
    """A hub that the library asks in place of the real one."""
    from hub_server import AnsweringHub
    from huggingface_hub import constants

    found = AnsweringHub()
    monkeypatch.setattr(constants, "ENDPOINT", found.url)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", "hf_of_a_test")
    yield found
    found.close()


@pytest.mark.slow
def test_the_dataset_is_read_by_the_library_and_by_sft(run, tmp_path):
    from datasets import load_dataset

    output = tmp_path / "played"
    assert main(["export", "--run", str(run), "--output", str(output), "--episodes"]) == 0
    read = load_dataset(str(output), cache_dir=str(tmp_path / "cache"))
    assert set(read) == {"train", "test"}
    kept = [len(path.read_text().splitlines()) for path in (run / "trajectories").glob("step-*.jsonl")]
    assert read["train"].num_rows == sum(kept) >= 4 and read["test"].num_rows == 2 * 2 * 3
    row = read["test"][0]
    assert row["env_id"] == "Pixelis/ZoomRead-v0" and row["source"].startswith("evaluation-")
    assert [each["role"] for each in row["messages"]][:2] == ["user", "assistant"]
    (episode, *_) = load_chats(output / "test.jsonl", Policy.load("pixelis-tiny", device="cpu").chat)
    assert episode.images and episode.loss_mask.any()
    stored = json.loads((run / "trajectories" / "step-00000001.jsonl").read_text().splitlines()[0])
    rows = [json.loads(line) for line in (output / "train.jsonl").read_text().splitlines()]
    (same,) = [each for each in rows if each["step"] == 1][:1]
    assert same["reward"] == stored["reward"]
    assert same["messages"][1]["content"] == stored["exchanges"][0]["action"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dataset", "model"])
def test_what_is_pushed_is_what_was_exported(run, hub, tmp_path, kind, capsys):
    output = tmp_path / "exported"
    what = ["--episodes"] if kind == "dataset" else ["--adapter-only"]
    words = ["export", "--run", str(run), "--output", str(output), *what, "--push-to-hub", "me/one"]
    assert main(words) == 0
    assert f"pushed: {hub.url}/me/one/commit/1" in capsys.readouterr().out
    (made,) = hub.made
    assert made["name"] == "one" and made.get("type", "model") == kind
    assert made.get("private") is True or made.get("visibility") == "private"
    here = {str(path.relative_to(output)): path.read_bytes() for path in output.rglob("*") if path.is_file()}
    assert hub.files == here and len(here) >= 3


@pytest.mark.parametrize("refusal", [401, 403, 500, "offline", "gone"])
def test_a_push_that_fails_leaves_the_folder_whole(hub, tmp_path, monkeypatch, refusal):
    from huggingface_hub import constants

    from pixelis.agents.publish.hub import push_folder
    from pixelis.errors import OutputError

    (tmp_path / "card.md").write_text("mine")
    if refusal == "offline":
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    elif refusal == "gone":
        hub.close()
    else:
        hub.refusal = refusal
    whole = r"cannot push to me/one: .* is whole, push it by hf upload me/one"
    with pytest.raises(OutputError, match=whole) as told:
        push_folder(tmp_path, "me/one", "model", public=False)
    assert "hf_of_a_test" not in str(told.value)
    assert (tmp_path / "card.md").read_text() == "mine" and not hub.files


@pytest.mark.parametrize(
    "words, told",
    [
        (["--episodes", "--adapter-only"], "give one of them"),
        (["--episodes", "--dtype", "float16"], "--dtype is that of a merged model"),
        (["--adapter-only", "--dtype", "float16"], "--dtype is that of a merged model"),
        (["--public"], "is read with --push-to-hub only"),
    ],
)
def test_flags_that_do_not_go_together(run, tmp_path, capsys, words, told):
    assert main(["export", "--run", str(run), "--output", str(tmp_path / "x"), *words]) == 2
    assert told in capsys.readouterr().err and not (tmp_path / "x").exists()


@pytest.mark.parametrize("name", ["one", "a/b/c", "me/..", "me/a b"])
def test_names_that_are_none(hub, tmp_path, name):
    from pixelis.agents.publish.hub import push_folder
    from pixelis.errors import ConfigError

    with pytest.raises(ConfigError, match="repository"):
        push_folder(tmp_path, name, "model", public=False)
    assert not hub.made


def test_a_run_without_episodes_says_so(tmp_path, capsys):
    (tmp_path / "run" / "trajectories").mkdir(parents=True)
    (tmp_path / "run" / "config.yaml").write_text("env: Pixelis/ZoomRead-v0\nmodel: pixelis-tiny\n")
    words = ["export", "--run", str(tmp_path / "run"), "--output", str(tmp_path / "x"), "--episodes"]
    assert main(words) != 0 and capsys.readouterr().err.startswith("error: ")
    assert not (tmp_path / "x").exists()

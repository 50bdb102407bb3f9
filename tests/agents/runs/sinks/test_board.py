"""TensorBoard's files, read back by TensorBoard: curves, histograms, pictures, texts, the tab HPARAMS."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

from pixelis.agents.episode_files.reading import described, read_file
from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.rl.run import train
from pixelis.agents.runs.metrics import MetricsLog, read_metrics
from pixelis.agents.runs.sinks.board import (
    FINAL_SUCCESS,
    LONGEST_TEXT,
    as_written,
    small,
    write_final_success,
)
from pixelis.agents.runs.sinks.samples import episode_sample
from pixelis.agents.runs.sinks.sink import RunFacts, StepSample
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.viewing.pictures import Stage


def events_of(folder: Path) -> EventAccumulator:
    return EventAccumulator(
        str(folder), size_guidance=dict.fromkeys(("tensors", "images", "histograms"), 0)
    ).Reload()


def pixels_of(image: Any) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(image.encoded_image_string)))


def settings_in(events: EventAccumulator) -> tuple[dict[str, object], list[str]]:
    """Return the settings and the names of metrics that the tab HPARAMS shows."""
    data = events.summary_metadata
    parsed = {
        tag: plugin_data_pb2.HParamsPluginData.FromString(data[tag].plugin_data.content)
        for tag in ("_hparams_/session_start_info", "_hparams_/experiment")
    }
    values = parsed["_hparams_/session_start_info"].session_start_info.hparams
    shown = {name: getattr(value, value.WhichOneof("kind")) for name, value in values.items()}
    return shown, [info.name.tag for info in parsed["_hparams_/experiment"].experiment.metric_infos]


def test_a_sample_is_read_back_as_it_was(tmp_path):
    picture = np.zeros((30, 40, 3), np.uint8)
    picture[:, :, 0], picture[5:9, 5:9, 1] = 200, 90
    values = np.random.default_rng(0).normal(2.0, 1.0, 500)
    sample = StepSample(
        {"histograms/rewards": values},
        {"samples/first_picture": picture},
        {"samples/episode": "<b>a</b>\n# b"},
    )
    with MetricsLog(tmp_path / "metrics.jsonl", tmp_path / "board") as log:
        log.write({"step": 4, "reward/mean": 0.5}, sample)
    events = events_of(tmp_path / "board")
    (histogram,) = events.Histograms("histograms/rewards")
    assert (histogram.step, histogram.histogram_value.num) == (4, 500)
    assert histogram.histogram_value.sum == pytest.approx(values.sum())
    assert histogram.histogram_value.max == pytest.approx(values.max())
    (image,) = events.Images("samples/first_picture")
    assert np.array_equal(pixels_of(image), picture)
    (text,) = events.Tensors("samples/episode/text_summary")
    assert text.tensor_proto.string_val == [b"    <b>a</b>\n    # b"]  # an indented block: no markup


def test_values_that_no_bin_holds_are_left_out(tmp_path):
    sample = StepSample({"histograms/rewards": np.array([1.0, -1e30]), "histograms/turns": np.array([1e300])})
    with MetricsLog(tmp_path / "metrics.jsonl", tmp_path / "board") as log:
        log.write({"step": 1}, sample)
    events = events_of(tmp_path / "board")
    assert events.Tags()["histograms"] == ["histograms/rewards"]
    assert events.Histograms("histograms/rewards")[0].histogram_value.num == 1


def test_the_settings_and_the_success_after_training_stand_in_one_tab(tmp_path):
    settings = {
        "lr": 0.01,
        "loss": {"kl": {"place": "loss"}},
        "watch": None,
        "rewards": {},
        "log_to": ["wandb"],
    }
    with MetricsLog(
        tmp_path / "metrics.jsonl", tmp_path / "board", facts=RunFacts(tmp_path, "ab", settings)
    ) as log:
        log.write({"step": 1, "reward/mean": 0.5, "success/ma10": None})
    write_final_success(tmp_path / "board", 1, 0.75)
    events = events_of(tmp_path / "board")
    shown, metrics = settings_in(events)
    assert shown == {
        "lr": 0.01,
        "loss.kl.place": "loss",
        "watch": "none",
        "rewards": "{}",
        "log_to": "['wandb']",
    }
    assert metrics == ["success/ma10", "reward/mean", FINAL_SUCCESS]
    assert [(each.step, each.value) for each in events.Scalars(FINAL_SUCCESS)] == [(1, 0.75)]
    assert "_hparams_/session_end_info" in events.summary_metadata


def test_a_run_shows_all_of_it(toy_config):
    run = train(toy_config(steps=5, samples_every=2, eval_episodes=4, lora={"rank": 4}))
    events = events_of(run.folder.tensorboard)
    rows = read_metrics(run.folder.metrics)
    for name in ("reward/mean", "policy/entropy", "system/memory"):
        known = [(row["step"], pytest.approx(row[name], rel=1e-6)) for row in rows if row[name] is not None]
        assert [(each.step, each.value) for each in events.Scalars(name)] == known
    for name in ("rewards", "turns", "completion_lengths", "token_surprise"):
        assert [each.step for each in events.Histograms(f"histograms/{name}")] == [1, 2, 4]
    assert [each.histogram_value.num for each in events.Histograms("histograms/rewards")] == [16, 16, 16]
    assert [each.step for each in events.Tensors("samples/episode/text_summary")] == [1, 2, 4]
    assert events.Tags()["images"] == []  # the toy shows none
    shown, _ = settings_in(events)
    trained = sum(each.numel() for each in run.policy.trainable_parameters())
    assert (shown["lora.rank"], shown["lr"], shown["trained_parameters"]) == (4, 0.01, trained)
    (final,) = events.Scalars(FINAL_SUCCESS)
    assert final.value == pytest.approx(run.evaluations["after"][0].success_rate)


@pytest.mark.slow
def test_a_run_with_pictures_shows_what_its_first_episode_saw_and_said(tmp_path):
    config = TrainConfig.from_mapping(
        {
            "env": "Pixelis/ZoomRead-v0",
            "env_kwargs": {"max_turns": 4},
            "difficulty": 2,  # it has to zoom, and so sees a second picture
            "model": "pixelis-tiny",
            "groups": 1,
            "group_size": 8,
            "steps": 2,
            "max_new_tokens": 32,
            "samples_every": 2,
            "trajectories_every": 1,
            "eval_episodes": 0,
            "output": str(tmp_path / "run"),
        }
    )
    folder = train(config).folder
    events = events_of(folder.tensorboard)
    tags = events.Tags()["images"]
    shown = {tag: {each.step: pixels_of(each) for each in events.Images(tag)} for tag in tags}
    texts = events.Tensors("samples/episode/text_summary")
    assert [each.step for each in texts] == list(shown["samples/first_picture"]) == [1, 2]
    for text in texts:
        stored = read_file(described(folder.trajectories / f"step-{text.step:08d}.jsonl")).episodes[0]
        seen = [each for each in Stage().pictures(stored).frames if each is not None]
        ends = {"samples/first_picture": seen[0], **({"samples/last_picture": seen[-1]} if seen[1:] else {})}
        assert ends.keys() == {tag for tag in shown if text.step in shown[tag]}
        assert all(np.array_equal(shown[tag][text.step], small(ends[tag])) for tag in ends)
        assert text.tensor_proto.string_val == [as_written(stored.text).encode()]
    rewards = events.Histograms("histograms/rewards")
    assert [(each.step, each.histogram_value.num) for each in rewards] == [(1, 8), (2, 8)]


def test_no_samples_where_none_are_asked_for(toy_config):
    run = train(toy_config(steps=2, samples_every=0))
    assert events_of(run.folder.tensorboard).Tags()["histograms"] == []


def test_what_a_step_looked_like_by_hand():
    pictures = [np.full((2, 2, 3), shade, np.uint8) for shade in (1, 2, 3)]
    blind = Episode(
        "Toy-v0",
        0,
        0,
        0,
        [Segment.given([1]), Segment.written([2, 3], [-0.5, -1.5], "hi")],
        reward=1.0,
        turns=1,
    )
    seeing = Episode(
        "Toy-v0",
        0,
        0,
        1,
        [Segment.written([2], [-2.0], "ho")],
        reward=2.0,
        turns=3,
        pictures=[*pictures[:2], None, pictures[2]],
    )
    failed = Episode("Toy-v0", 0, 0, 2, reward=9.0, valid_for_training=False)
    sample = episode_sample([blind, failed, seeing], np.array([[0.5, -0.5, 0.0], [1.0, 0.0, 0.0]]))
    found = {name: values.tolist() for name, values in sample.histograms.items()}
    assert found == {
        "histograms/rewards": [1.0, 2.0],
        "histograms/turns": [1, 3],
        "histograms/completion_lengths": [2, 1],
        "histograms/token_surprise": [0.5, 1.5, 2.0],
        "histograms/advantages": [0.5, -0.5, 1.0],
    }
    assert {name: int(picture[0, 0, 0]) for name, picture in sample.pictures.items()} == {
        "samples/first_picture": 1,
        "samples/last_picture": 3,
    }
    assert sample.texts == {"samples/episode": "ho"}
    assert episode_sample([failed]) == StepSample()
    wrong = episode_sample([blind], np.array([np.nan, 0.5, np.inf]))
    assert wrong.histograms["histograms/advantages"].tolist() == [0.5]
    assert "histograms/advantages" not in episode_sample([blind], np.array([np.nan])).histograms


def test_large_pictures_and_long_texts_are_cut():
    assert small(np.zeros((1024, 512, 3), np.uint8)).shape == (512, 256, 3)
    assert small(np.zeros((3, 4096, 3), np.uint8)).shape == (1, 512, 3)
    long = as_written("x" * (LONGEST_TEXT + 500))
    assert "… 500 characters …" in long and len(long) < LONGEST_TEXT + 100

"""A whole run: evaluate, train, evaluate, and come back to it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from pixelis.agents.models.policy import Policy
from pixelis.agents.rl.evaluating import Evaluating
from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.run_files.saved_run import newest_adapter, settings_of
from pixelis.agents.runs.evaluate import Evaluation
from pixelis.agents.runs.evaluation_file import read_evaluations
from pixelis.errors import ConfigError


def test_a_whole_run(toy_config):
    run = train(toy_config(eval_episodes=10))
    assert list(run.evaluations) == ["before", "after"]
    assert [row.mode for row in run.evaluations["after"]] == ["greedy", "sampled"]
    assert all(row.episodes == 10 for rows in run.evaluations.values() for row in rows)
    assert read_evaluations(run.folder.evaluation) == run.evaluations


def test_a_resumed_run_still_knows_what_was_before(toy_config):
    config = toy_config(eval_episodes=5, steps=1)
    before = train(config).evaluations["before"]
    with TrainingRun.resume(config.output, config.with_values(steps=2)) as run:
        run.train()
        run.evaluate("after")
    assert run.evaluations["before"] == before
    assert list(read_evaluations(run.folder.evaluation)) == ["before", "after"]


def test_held_out_tasks_are_not_trained_on(toy_config):
    run = train(toy_config(steps=0))
    assert min(run.env.held_out_seeds(3)) == 2**31  # the toy has no splits; training seeds are smaller


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # peft's own
def test_the_adapter_is_an_ordinary_peft_folder(toy_config, letter_model):
    import peft
    import torch
    from transformers import AutoModelForCausalLM

    run = train(toy_config(steps=2))
    adapter, step = newest_adapter(run.folder.path)
    assert step == 2
    plain = peft.PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(letter_model), str(adapter))
    ids = torch.tensor([[1, 2, 3, 4]])
    with torch.no_grad():
        torch.testing.assert_close(plain(ids).logits, run.policy.model(ids).logits)
    assert Policy.load(adapter, device="cpu").has_adapter


def test_a_second_run_never_writes_over_the_first(toy_config):
    train(toy_config(steps=0))
    with pytest.raises(ConfigError, match="already holds a run"):
        TrainingRun.start(toy_config(steps=0))


def test_without_an_output_runs_are_numbered(toy_config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = [train(toy_config(steps=0, output=None)).folder.path for _ in range(2)]
    assert paths[1].name == f"{paths[0].name}-2"
    assert settings_of(paths[1])["output"] == str(paths[1])


@pytest.mark.slow
def test_a_run_that_goes_back_before_its_best_puts_that_aside(toy_config):
    """Its steps are no more, and `evaluation/best_step` speaks of what lies in ``best``."""
    learns = {"lr": 0.003, "groups": 8, "group_size": 8, "max_new_tokens": 1, "eval_episodes": 20}
    config = toy_config(steps=40, checkpoint_every=10, eval_every=10, keep_checkpoints=9, **learns)
    run = train(config)
    later, path = run.metrics[-1]["evaluation/best_step"], run.folder.path
    assert later > 10
    with TrainingRun.resume(path / "checkpoints" / "step-00000010", config.with_values(steps=20)) as again:
        again.train()
    kept = json.loads((path / f"best-step-{later}" / "evaluation.json").read_text())
    best = json.loads((path / "best" / "evaluation.json").read_text())
    assert kept["step"] == later
    assert best["step"] == again.metrics[-1]["evaluation/best_step"] == 20


def rows_of(folder: Path, *splits: str) -> str:
    """Return a file of rows without answers, of these splits."""
    path = folder / "rows.jsonl"
    path.write_text("".join(f'{{"prompt": "{n}", "split": "{split}"}}\n' for n, split in enumerate(splits)))
    return str(path)


VOTES = {"env": "Pixelis/Rows-v0", "rewards": {"vote": {}}, "group_size": 3, "steps": 2, "max_new_tokens": 1}


def test_a_check_set_without_labels_is_told_and_nothing_is_best(toy_config, tmp_path, caplog):
    rows = rows_of(tmp_path, "train", "train", "test")
    run = train(toy_config(**VOTES, env_kwargs={"rows": rows}, eval_every=1, eval_episodes=2))
    assert caplog.text.count("the check set has no labels, so nothing tells whether members are right") == 1
    assert [row["evaluation/best_step"] for row in run.metrics] == [None, None]
    assert not (run.folder.path / "best").exists()


def test_a_file_without_rows_to_test_is_refused_before_there_is_a_folder(toy_config, tmp_path):
    path = tmp_path / "questions.jsonl"
    Image.new("RGB", (64, 64), "white").save(tmp_path / "page.png")
    row = {"image": "page.png", "question": "How many?", "answer_type": "number", "split": "train"}
    path.write_text(json.dumps(row) + "\n")
    values = {**VOTES, "env": "Pixelis/AskImage-v0", "env_kwargs": {"data": str(path)}}
    config = toy_config(**values, eval_episodes=2)
    with pytest.raises(ConfigError, match=r"no rows of split 'test'; give some rows .*--eval-episodes 0"):
        TrainingRun.start(config)
    assert not Path(config.output).exists()


RATES = {1: 0.1, 2: 0.5, 3: 0.3, 4: 0.2, 5: 0.9, 6: 0.1}


class Scored(Evaluating):
    """Evaluations whose success is given, by steps."""

    def _play(self, step: int) -> Evaluation:
        return replace(super()._play(step), success_rate=RATES[step])


def test_a_killed_run_has_the_best_of_an_unbroken_one_and_its_weights(toy_config, tmp_path):
    config = toy_config(steps=0, eval_every=1, eval_episodes=10)
    with TrainingRun.start(config) as run:
        made = [Scored(config, run.policy, run.env, run.folder, lambda *_: None) for _ in range(2)]
        unbroken = [made[0].after(step)["evaluation/best_step"] for step in range(1, 4)]
        saved = made[0].state_dict()  # a checkpoint
        unbroken += [made[0].after(step)["evaluation/best_step"] for step in range(4, 6)]  # then it is killed
        made[1].load_state_dict(saved)
        assert json.loads((run.folder.path / "best" / "evaluation.json").read_text())["step"] == 2
        assert (run.folder.path / "best-step-5" / "evaluation.json").is_file()
        resumed = [made[1].after(step)["evaluation/best_step"] for step in range(4, 7)]
    assert unbroken == [1, 2, 2, 2, 5]
    assert resumed == [2, 5, 5]

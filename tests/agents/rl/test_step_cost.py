"""What a step will cost: the line through probes by hand, a probe of a real small model, the command."""

from __future__ import annotations

import pytest

from pixelis.agents.models.policy import Policy
from pixelis.agents.rl.step_cost import (
    Probe,
    at_random,
    cost_of,
    in_one_process,
    kept_bytes,
    line_at,
    step_cost,
)
from pixelis.agents.settings.rl import chosen_correction
from pixelis.cli.dry_run import _not_in_it
from pixelis.cli.train import main


@pytest.mark.parametrize(
    ("seen", "at", "expected"),
    [
        ([(1, 2.0), (2, 3.0)], 8, 9.0),
        ([(1, 2.0), (1, 4.0), (3, 7.0)], 5, 11.0),  # 3 at one group, 7 at three
        ([(1, 2.0)], 4, 8.0),
        ([(1, 2.0), (4, 5.0), (4, 6.0)], 4, 5.5),  # what was seen, and no line
        ([(1, 5.0), (2, 4.0)], 8, 4.0),  # noise: more groups are not quicker
    ],
)
def test_generation_goes_by_a_line(seen, at, expected):
    assert line_at(at, seen) == pytest.approx(expected)


def test_bytes_of_a_kept_token(letter_model):
    policy = Policy.load(str(letter_model), device="cpu")
    config = policy.base.config
    heads = config.num_key_value_heads * config.hidden_size // config.num_attention_heads
    assert kept_bytes(policy) == 2 * config.num_hidden_layers * heads * 4  # keys and values, float32


def probed(groups, trained, **seconds):
    """Return a probe of groups of 8 episodes of 550 tokens, 500 of them a prompt that two at a time share."""
    row = {f"time/{name}": value for name, value in seconds.items()}
    row |= {"time/step": 10.0 * groups, "policy/grad_norm": 1.0, "tokens/sampled": 400 * groups}
    row |= {"tokens/trained_unshared": 4400 * trained, "tokens/trained": 2400 * trained}
    return Probe(groups, row, 4400 * groups, 900 * groups)


def test_what_a_step_costs_by_hand(letter_model, toy_config):
    """Of four groups one was trained on; of the update's 5 seconds the KL of the step took 1."""
    policy = Policy.load(str(letter_model), device="cpu")
    parts = {"generation": 12.0, "env": 2.0, "rewards": 1.0, "reference": 2.0, "update": 5.0, "step_kl": 1.0}
    config = toy_config(groups=4, group_size=8, micro_batch_size=2, epochs=3)
    cost = cost_of([probed(1, 1, **parts), probed(4, 1, **parts)], 4, policy, config)
    assert cost.seconds["update"] == pytest.approx(4 * 4) and cost.seconds["step KL"] == pytest.approx(4 * 1)
    assert cost.seconds["reference"] == pytest.approx(4 * 2)
    assert cost.seconds["the rest"] == pytest.approx(40 - 12 - 2 - 1 - 2 - 5)
    assert cost.signal == pytest.approx(2 / 5) and cost.tokens["trained"] == pytest.approx(4 * 2400)
    assert cost.likely_seconds == pytest.approx(cost.most_seconds - 0.6 * 28)
    assert cost.passes == {"gradient": 48, "reference": 16}


@pytest.mark.slow
def test_a_probe_of_a_model(toy_config, tmp_path):
    config = toy_config(groups=3, group_size=8)
    cost = step_cost(config, seconds=60)
    assert cost.is_measured and cost.probes[-1].groups == 3  # the toy takes milliseconds
    assert not (tmp_path / "run").exists()
    assert 24 <= cost.tokens["sampled"] <= 48  # 24 turns of one or two tokens
    assert cost.tokens["trained"] >= cost.tokens["sampled"]
    assert cost.seconds["generation"] > 0 and cost.seconds["update"] > 0 and 0 < cost.signal <= 1
    assert cost.likely_seconds <= cost.most_seconds
    policy = Policy.load(config.model, device="cpu")
    assert cost.memory["weights"] == sum(4 * each.numel() for each in policy.model.parameters())
    assert cost.passes == {"gradient": 3, "reference": 3}
    refilled = step_cost(config.with_values(algorithm={"refill_episodes": 48}, groups=6), seconds=1)
    first = refilled.probes[0]  # of one group: it may be played anew once, as six may by 48 episodes
    assert first.groups == 1 and first.row["episodes/count"] <= 16


@pytest.mark.slow
def test_the_command_says_what_a_step_costs_and_writes_nothing(toy_config, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    config = toy_config()
    words = ["--env", config.env, "--model", config.model, "--groups", "2", "--group-size", "4"]
    assert main([*words, "--max-new-tokens", "2", "--steps", "40", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "2 groups of 4 episodes; whole steps were taken; nothing was written" in out
    assert "keys and values" in out and "\n40 steps: about 0 minutes of training" in out
    assert list(tmp_path.iterdir()) == []


def test_a_probe_for_workers_is_that_of_one_process(toy_config):
    config = toy_config(workers=4, max_staleness=2, worker_labels={"browser": "here"}, groups_at_once=1)
    probed = in_one_process(config)
    assert probed.workers is None and probed.max_staleness == 0 and probed.worker_labels == {}
    assert probed.groups_at_once == 1 and probed.with_values(groups=1).groups == 1
    assert chosen_correction(probed) == chosen_correction(config) == "truncate"
    alone = toy_config()
    assert in_one_process(alone) is alone


@pytest.mark.slow
def test_the_command_probes_what_workers_are_to_play(toy_config, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    config = toy_config()
    words = ["--env", config.env, "--model", config.model, "--groups", "4", "--group-size", "2"]
    assert main([*words, "--max-new-tokens", "2", "--steps", "40", "--workers", "4", "--dry-run"]) == 0
    assert (
        "this is for one process: what it saves that 4 workers play is not in it" in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--agent", "sb3-ppo", "--env", "Pixelis/ZoomRead-v0"], "--dry-run is for language models"),
        (["--config", "code_problem"], "warm_start makes that first"),
    ],
)
def test_what_has_no_dry_run(words, message, capsys):
    assert main([*words, "--dry-run"]) != 0
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_that_goes_on_has_none(toy_config, capsys):
    from pixelis.agents.rl.run import train

    run = train(toy_config(steps=1))
    assert main(["--resume", str(run.folder.path), "--dry-run"]) != 0
    assert "--dry-run is for a new run; leave --resume out" in capsys.readouterr().err


@pytest.mark.parametrize("levels", [{"type": "sfl", "candidates": 32}, {"type": "plr"}, {"type": "accel"}])
def test_a_probe_plays_and_trains_on_the_groups_of_a_step(levels, toy_config):
    config = toy_config(levels={**levels, "dials": {"difficulty": [0, 1]}, "oracle": False})
    probed = at_random(config).levels
    assert (probed.type, probed.dials, probed.oracle) == ("uniform", {"difficulty": [0, 1]}, False)
    (line,) = _not_in_it(config)
    assert levels["type"] in line and line.endswith("is not in it")
    alone = toy_config(levels={"type": "learnability"})
    assert at_random(alone) is alone and _not_in_it(alone) == []

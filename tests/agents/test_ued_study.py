"""The study of samplers of levels: its environment, its exact success rates, and its numbers by hand."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from letter_model import build_letter_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from pixelis.agents.episodes.seeds import task_seeds
from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.settings.rl import TrainConfig

FOLDER = str(Path(__file__).parents[2] / "benchmarks" / "studies")


@pytest.fixture(scope="module")
def study():
    """The modules of the study."""
    sys.path.insert(0, FOLDER)  # gym.make, too, imports the environment's module by its name
    try:
        import ued_study

        yield ued_study
    finally:
        sys.path.remove(FOLDER)


@pytest.fixture
def model(study, tmp_path):
    """A random model of the study's letters, so spread out that no answer is all but certain."""
    return build_letter_model(tmp_path / "model", 3, letters="abcdefgh=?.", std=0.3)


def test_what_is_easy_hard_and_impossible(study):
    env = gym.make(study.ENV).unwrapped
    texts = {}
    for family in ("copied", "shifted", "hidden"):
        observation, info = env.reset(seed=1, options={"family": family, "length": 3})
        texts[family] = observation["text"]
        oracle = env.players()["oracle"](env)
        assert env.step(oracle.act(observation, info))[1] == float(family != "hidden")
    row = texts["copied"][:6]
    assert texts == {"copied": row + "===...", "shifted": row + "???...", "hidden": "......???..."}
    assert study.asked_for("ahcgaa", "copied", 4) == "ahcg"
    assert study.asked_for("ahcgaa", "shifted", 4) == study.asked_for("ahcgaa", "hidden", 4) == "bbfc"
    env.reset(seed=1, options={"family": "copied", "length": 2})
    assert [env.step(answer)[1] for answer in (row[:2], row[:3], row[:1])] == [1.0, 0.0, 0.0]


def test_held_out_rows_are_never_trained_on(study):
    def numbers(rows):
        return {sum(map("abcdefgh".index, row)) % 2 for row in rows}

    assert numbers(shown[:6] for shown, _ in study.held_out_rows("shifted", 3)) == {1}
    env = gym.make(study.ENV).unwrapped
    assert numbers(env.reset(seed=seed)[0]["text"][:6] for seed in range(50)) == {0}


def test_success_rates_are_the_products_of_each_token(study, model):
    tokenizer, network = AutoTokenizer.from_pretrained(model), AutoModelForCausalLM.from_pretrained(model)
    rows = [("abcdef==....", "ab"), ("hgfedc??....", "ha")]
    expected = []
    for shown, answer in rows:
        tokens, chance = tokenizer(f"<|user|>{shown}<|end|><|assistant|>").input_ids, 1.0
        for said in [*tokenizer(answer).input_ids, tokenizer.eos_token_id]:
            with torch.no_grad():
                chance *= network(torch.tensor([tokens])).logits[0, -1].softmax(-1)[said].item()
            tokens.append(said)
        expected.append(chance)
    rates = study.success_rates(network, tokenizer, rows)
    np.testing.assert_allclose(rates, expected, rtol=1e-4)


def test_success_rates_of_all_answers_add_up_to_the_chance_of_their_length(study, model):
    tokenizer, network = AutoTokenizer.from_pretrained(model), AutoModelForCausalLM.from_pretrained(model)
    vocabulary, end = network.config.vocab_size, tokenizer.eos_token_id  # the tokenizer may know more words
    others = [token for token in range(vocabulary) if token != end]
    words = tokenizer.convert_ids_to_tokens(others)
    rows = [("abcdef==....", "".join(pair)) for pair in itertools.product(words, repeat=2)]
    total = study.success_rates(network, tokenizer, rows).sum().item()
    prompt = tokenizer("<|user|>abcdef==....<|end|><|assistant|>").input_ids
    with torch.no_grad():
        first = network(torch.tensor([prompt])).logits[0, -1].softmax(-1)
        second = network(torch.tensor([[*prompt, token] for token in others])).logits[:, -1].softmax(-1)
        pairs = torch.tensor([[*prompt, *pair] for pair in itertools.product(others, repeat=2)])
        third = network(pairs).logits[:, -1].softmax(-1)[:, end].view(len(others), -1)
    expected = (first[others, None] * second[:, others] * third).sum().item()
    assert 0.01 < expected < 0.99 and total == pytest.approx(expected, rel=1e-4)


def test_episodes_succeed_as_often_as_success_rates_say(study, model, tmp_path):
    changes = {"model": str(model), "output": str(tmp_path / "run"), "groups": 4, "group_size": 400}
    config = TrainConfig.from_mapping({**study.SETTINGS, **changes, "steps": 1, "micro_batch_size": 400})
    with TrainingRun.start(config) as run:
        network, tokenizer = run.policy.model, run.policy.tokenizer
        env = gym.make(study.ENV).unwrapped
        rates = {}
        for seed in task_seeds(config.seed, 1, config.groups):
            env.reset(seed=seed, options={"split": "train"})
            row = study.shown(env.row, "shifted", 1), study.asked_for(env.row, "shifted", 1)
            rates[seed] = study.success_rates(network, tokenizer, [row]).item()
        _, episodes, _ = run.trainer.step()
    found = {seed: np.mean([e.success for e in episodes if e.seed == seed]) for seed in rates}
    expected, total = sum(rates.values()), sum(found.values())
    deviation = sum(rate * (1 - rate) / 400 for rate in rates.values()) ** 0.5
    assert expected > 3 * deviation and abs(total - expected) < 4 * deviation


def test_the_goal_is_reached_with_two_good_evaluations_in_a_row_of_both_kinds(study):
    good, hard, easy = ([0.9] * 6, [0.9] * 6), ([0.7] * 6, [0.9] * 6), ([0.9] * 6, [0.7] * 6)
    curve = [[n, *rates] for n, rates in enumerate([hard, good, easy, good, hard, good, good])]
    assert study.reached(curve) == 5 and study.is_over(curve)
    assert study.reached(curve[:-1]) is None and not study.is_over(curve[:-1])


def test_the_name_of_a_sampler_says_its_settings(study):
    assert study.choice("learnability-without-oracle") == {
        "levels": {"type": "learnability", "oracle": False}
    }
    assert study.choice("plr-not-robust") == {"levels": {"type": "plr", "robust": False}}
    assert study.choice("domain_random") == {"levels": {"type": "domain_random"}}


def test_the_ratio_is_of_the_seeds_that_both_have(study):
    def run(reached, episodes=0):
        return {"reached": reached, "episodes": episodes}

    runs = {
        "uniform": {"1": run(100), "2": run(300), "3": run(999)},
        "plr": {"1": run(50), "2": run(None, 250)},
    }
    share, low, high, whole = study.ratio(runs, "plr")
    assert share == pytest.approx(300 / 400) and not whole  # the second run is a lower bound
    assert (low, high) == (pytest.approx(50 / 100), pytest.approx(250 / 300))
    assert study.ratio({**runs, "plr": {"1": run(50)}}, "plr")[3]

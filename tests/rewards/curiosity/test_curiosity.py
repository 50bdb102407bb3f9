"""Curiosity as a reward term: values, cache, learning, and the same bits again wherever it was stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import pixelis.rewards
from pixelis.errors import ConfigError, RewardError, StateError
from pixelis.rewards.curiosity import term as curiosity
from pixelis.rewards.curiosity.term import CuriosityTerm
from pixelis.rewards.features.state_encoder import Look
from pixelis.rewards.terms.registry import make_term
from pixelis.rewards.terms.term import Transition


def length(observation: Mapping[str, Any]) -> np.ndarray:
    """Encode a text as its length."""
    return np.full(768, len(observation["text"]), np.float32)


def text_step(before: str, action: str, after: str) -> Transition:
    return Transition({"text": before}, action, {"text": after})


def random_steps(count: int, seed: int = 0) -> list[Transition]:
    """Return steps through pictures and texts, of which about every third comes again."""
    rng = np.random.default_rng(seed)
    kinds = [
        {"text": f"view {index}", "image": rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)}
        for index in range(4)
    ]
    return [
        Transition(kinds[rng.integers(4)], f"move {rng.integers(3)}", kinds[rng.integers(4)])
        for _ in range(count)
    ]


def score(term: CuriosityTerm, *steps: Transition) -> list[float]:
    return term.score([(term.begin(), step) for step in steps])


def silence(term: CuriosityTerm) -> CuriosityTerm:
    """Let a term's model predict zero whatever it sees."""
    with torch.no_grad():
        for part in term.model.forward_model.parameters():
            part.zero_()
    return term


def test_models_are_found_where_they_are_asked_for():
    assert pixelis.rewards.LoRADynamicsModel is curiosity.LoRADynamicsModel
    assert all(hasattr(pixelis.rewards, name) for name in pixelis.rewards.__all__)
    with pytest.raises(AttributeError, match="LoraModel"):
        _ = pixelis.rewards.LoraModel
    model = CuriosityTerm().model
    assert isinstance(model.forward_model, curiosity.LoRADynamicsModel)
    assert isinstance(model.inverse_model, curiosity.InverseModel)
    assert model.forward_model.trainable_parameters == 21_504


@pytest.mark.parametrize(("eta", "expected"), [(0.5, 4.0), (1.0, 8.0)])
def test_reward_by_hand(eta: float, expected: float):
    # The next state is 4 everywhere and the prediction 0: η · ½ · 16.
    term = silence(CuriosityTerm(encoder=length, eta=eta))
    assert score(term, text_step("ab", "go", "abcd")) == pytest.approx([expected])


def test_score_is_what_measure_says():
    term, steps = CuriosityTerm(), random_steps(10)
    assert score(term, *steps) == pytest.approx(term.measure(steps), rel=1e-5)


def test_measuring_leaves_no_trace():
    term = CuriosityTerm()
    term.measure(random_steps(40))
    assert term.measure([]) == []
    assert (len(term.cache), term.cache.misses, term.learn()["updates"]) == (0, 0, 0)


def test_hits_by_state_action_and_next_state():
    term = CuriosityTerm()
    values = [
        score(term, text_step(*parts))[0]
        for parts in (("a", "x", "b"), ("c", "x", "b"), ("a", "y", "b"), ("a", "x", "c"), ("a", "x", "b"))
    ]
    assert len(set(values[:4])) == 4 and values[4] == values[0]
    assert (term.cache.hits, term.cache.misses, term.cache.hit_rate) == (1, 4, 0.2)


def test_prose_around_a_call_makes_no_new_action():
    term = CuriosityTerm()
    call = '<tool_call>{"name": "ZOOM"}</tool_call>'
    first, second = (score(term, text_step("a", turn, "b"))[0] for turn in (call, f"Let me see. {call} So!"))
    assert first == second and term.cache.hits == 1


def test_a_call_that_was_not_carried_out_is_worth_nothing_and_not_learnt_from():
    term, memory = CuriosityTerm(), CuriosityTerm().begin()
    done, failed = {"tool": "ZOOM", "ok": True}, {"tool": "", "ok": False}
    first, refused, third = text_step("a", "x", "b"), text_step("b", "y", "c"), text_step("c", "z", "d")
    whole = [replace(first, calls=(done,)), replace(refused, calls=(done, failed)), replace(third, calls=())]
    values = term.score([(memory, step) for step in whole])
    assert values == [pytest.approx(score(CuriosityTerm(), first)[0]), 0.0, pytest.approx(values[2])]
    assert values[2] == pytest.approx(score(CuriosityTerm(), third)[0]) and values[2] > 0
    assert (term.steps, len(term.cache), len(term.state_dict()["scored"])) == (2, 2, 2)
    assert term.score([(memory, whole[1])]) == [0.0]


def test_equal_steps_of_a_batch_are_scored_once():
    term = CuriosityTerm()
    one, other = text_step("a", "x", "b"), text_step("a", "x", "c")
    values = score(term, one, other, text_step("a", "x", "b"))
    assert values[0] == values[2] != values[1]
    assert (term.cache.hits, term.cache.misses, len(term.cache)) == (0, 2, 2)
    assert (term.steps, term.duplicates) == (3, 1)


def test_duplicates_in_a_batch_are_no_hits_of_the_cache():
    """A group that does the same eight times over: no look-up finds what an earlier batch has left there."""
    term = CuriosityTerm()
    for step in range(4):
        score(term, *[text_step(f"{step}", "go", f"{step + 1}")] * 8)
    row = term.learn()
    assert (row["duplicate_rate"], row["cache_hit_rate"]) == (28 / 32, 0.0)
    score(term, text_step("0", "go", "1"), text_step("0", "go", "1"))  # now an earlier batch has left it
    row = term.learn()
    assert (row["duplicate_rate"], row["cache_hit_rate"]) == (29 / 34, 1 / 5)
    other = CuriosityTerm()
    other.load_state_dict(term.state_dict())
    assert other.learn() == {name: row[name] for name in other.learn()} | {"updates": 0.0}


def test_the_cache_helps_where_steps_come_again_and_only_there():
    def hits(cells):
        term, rng, place = CuriosityTerm(), np.random.default_rng(0), 0
        for _ in range(40):
            for _ in range(8):
                after = int(rng.integers(cells))
                score(term, text_step(f"cell {place}", "go", f"cell {after}"))
                place = after
            row = term.learn()
        return row["cache_hit_rate"]

    assert hits(3) > 0.5 and hits(10**6) < 0.01


def test_no_step_no_value():
    assert CuriosityTerm().score([]) == []


def test_least_recently_used_leaves_first():
    term = CuriosityTerm(cache_size=2)
    a, b, c = (text_step(name, "x", name) for name in "abc")
    for step in (a, b, a, c):
        score(term, step)
    assert term.cache.hits == 1
    score(term, a)
    assert term.cache.hits == 2
    score(term, b)
    assert term.cache.hits == 2


@pytest.mark.parametrize(("max_age", "stale"), [(0, 1), (2, 1), (3, 0)])
def test_a_model_that_has_moved_invalidates(max_age: int, stale: int):
    term = CuriosityTerm(cache_max_age=max_age)
    step = random_steps(1)[0]
    (before,) = score(term, step)
    score(term, *random_steps(30, 1))
    assert term.learn()["updates"] == 3
    (after,) = score(term, step)
    assert term.cache.stale == stale
    assert (after == before) is (stale == 0)


class Counting:
    """An encoder function that counts its calls."""

    calls = 0

    def __call__(self, observation: Mapping[str, Any]) -> np.ndarray:
        self.calls += 1
        return length(observation)


def test_hits_and_learning_encode_nothing_again():
    encoder = Counting()
    term = CuriosityTerm(encoder=encoder, cache_max_age=0)
    for _ in range(3):
        for _ in range(8):
            score(term, text_step("a", "x", "bc"), text_step("bc", "x", "a"))
        assert term.learn()["updates"] == 3
    assert encoder.calls == 2
    assert term.cache.stale > 0  # their rewards were computed anew, from features that were there


def test_state_of_a_step_is_the_next_state_of_the_one_before():
    term, memory = CuriosityTerm(), CuriosityTerm().begin()
    picture = np.zeros((8, 8, 3), np.uint8)
    first, second = {"image": picture}, {"image": picture + np.uint8(100)}
    term.score([(memory, Transition(first, "x", second))])
    assert memory.recall(second) is memory.look is memory.recall(dict(second))
    assert memory.recall(first) is None
    assert memory.recall({"image": second["image"].copy()}) is None


def test_repeated_transition_bores_because_the_model_learns():
    steps = random_steps(60, 2)
    one, rest = text_step("a sign", "look", "a code"), np.random.default_rng(0)
    left = []
    for rate in (5e-3, 0.0):
        term = CuriosityTerm(learning_rate=rate)
        first = term.measure([one])[0]
        for _ in range(200):
            score(term, one, *(steps[index] for index in rest.integers(60, size=3)))
            term.learn()
        left.append(term.measure([one])[0] / first)
    assert left[0] <= 0.2
    assert left[0] < 0.1 * left[1]  # centring and gates alone do far less


def test_metrics():
    term = CuriosityTerm()
    assert term.learn() == {"updates": 0.0, "duplicate_rate": 0.0, "cache_hit_rate": 0.0, "stale": 0.0}
    score(term, *random_steps(20))
    row = term.learn()
    assert set(row) == {
        *("updates", "duplicate_rate", "cache_hit_rate", "stale"),
        *("forward_loss", "inverse_loss", "gates_mean"),
    }
    assert 0 < row["gates_mean"] <= 1 and row["forward_loss"] > 0 and row["inverse_loss"] > 0


def play(term: CuriosityTerm, steps: list[Transition], batch: int = 7) -> list[float]:
    values: list[float] = []
    for start in range(0, len(steps), batch):
        values += score(term, *steps[start : start + batch])
        if start % (2 * batch):
            term.learn()
    return values


@pytest.mark.parametrize("batches", [1, 2, 5, 8])
def test_restored_in_the_middle_it_goes_on_to_the_same_bits(batches: int):
    steps, cut = random_steps(84), batches * 14
    whole = CuriosityTerm()
    expected = play(whole, steps)
    first, second = CuriosityTerm(), CuriosityTerm()
    values = play(first, steps[:cut])
    second.load_state_dict(first.state_dict())
    assert [*values, *play(second, steps[cut:])] == expected
    assert second.cache.state_dict() == whole.cache.state_dict()
    assert torch.equal(second.model.features.gates, whole.model.features.gates)


def test_steps_that_were_scored_and_not_learnt_are_in_the_state():
    term, other = CuriosityTerm(), CuriosityTerm()
    score(term, *random_steps(20))
    other.load_state_dict(term.state_dict())
    assert other.learn() == term.learn()
    assert other.measure(random_steps(3)) == term.measure(random_steps(3))


_FRESH = """
import hashlib, numpy as np
from pixelis.rewards.curiosity.term import CuriosityTerm
from pixelis.rewards.terms.term import Transition
rng, term, values = np.random.default_rng(0), CuriosityTerm(seed=3), []
looks = [{"text": f"v{i}", "image": rng.integers(0, 256, (24, 24, 3), dtype=np.uint8)} for i in range(30)]
for start in range(0, 28, 4):
    steps = [Transition(looks[i], f"m{i % 3}", looks[i + 1]) for i in range(start, start + 4)]
    for _ in range(2):
        values += term.score([(term.begin(), step) for step in steps])
    term.learn()
values += term.measure([Transition(looks[0], "m0", looks[9])])
print(term.model.updates, hashlib.sha256(np.array(values).tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_two_fresh_processes_give_the_same_bits():
    printed = [
        subprocess.run(
            [sys.executable, "-c", _FRESH],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1]
    assert printed[0].startswith("9 ")


# ---------------------------------------------------------------------- bad input


def garbage(value: Any) -> CuriosityTerm:
    return CuriosityTerm(encoder=lambda observation: value, name="novelty")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(512), r"shape \(768,\), got \(512,\)"),
        (np.zeros((1, 768)), r"shape \(768,\), got \(1, 768\)"),
        (None, r"got \(\)"),
        ("a sign", "got str"),
        ([[1.0], [2.0, 3.0]], "got list"),
        ({"a": 1}, "got dict"),
        (torch.zeros(768, requires_grad=True), "got Tensor"),
        (np.full(768, np.nan), "that are finite, got NaN"),
        (np.full(768, -np.inf), "that are finite, got NaN or infinity"),
        (np.full(768, 1e30), "the reward of a transition is inf; .* too large"),
    ],
)
def test_encoder_that_returns_garbage(value: Any, message: str):
    with pytest.raises(RewardError, match=f"^novelty: .*{message}"):
        score(garbage(value), text_step("a", "x", "b"))


class OneRow:
    """An encoder that gives one row for however many looks."""

    name = "one-row"

    def look(self, observation: Mapping[str, Any]) -> Look:
        return Look(observation["text"].encode().ljust(16), None)

    def encode(self, looks: Any) -> np.ndarray:
        return np.zeros((1, 768), np.float32)


def test_encoder_that_returns_too_few_rows():
    term = CuriosityTerm(encoder=OneRow())
    with pytest.raises(RewardError, match=r"curiosity: .* one-row .* \(2, 768\), got \(1, 768\)"):
        score(term, text_step("a", "x", "b"))


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        ({"value": [0.0, float("nan")]}, "NaN or infinity"),
        ({"agent": 1}, r"expected an observation with text, image or value, got the keys \['agent'\]"),
    ],
)
def test_observation_that_cannot_be_encoded(observation: dict[str, Any], message: str):
    term = CuriosityTerm()
    with pytest.raises(RewardError, match=f"^curiosity: .*{message}"):
        score(term, Transition({"text": "a"}, "x", observation))
    assert term.learn()["updates"] == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beta": 2}, "curiosity: beta must be from 0 to 1, got 2"),
        ({"betta": 0.2}, "curiosity: unknown setting 'betta'.*'beta'"),
        ({"encoder": "bert"}, "curiosity: unknown encoder 'bert'"),
        ({"updates_per_batch": 10}, r"max_updates must be at least updates_per_batch \(10\), got 9"),
        ({"max_updates": 2}, r"max_updates must be at least updates_per_batch \(3\), got 2"),
        ({"seed": 2**33}, r"seed must be below 2\*\*32"),
        ({"memory_size": 10**12}, "memory_size must be at most 1,000,000"),
        ({"rank": 10**9}, "rank must be at most 768"),
    ],
)
def test_settings_that_are_wrong(settings: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        make_term("curiosity", settings)


def broken(path: str, value: Any) -> dict[str, Any]:
    """Return a learnt term's state with one entry replaced, or left out where the value is ``KeyError``."""
    term = CuriosityTerm()
    score(term, *random_steps(20))
    term.learn()
    state = term.state_dict()
    *outer, last = path.split(".")
    part = state
    for key in outer:
        part = part[key]
    if value is KeyError:
        del part[last]
    else:
        part[last] = value
    return state


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("version", 2, "expected a state of version 1, got version 2"),
        ("version", KeyError, "expected a state of version 1, got version None"),
        ("settings.rank", 4, "saved with rank = 4, this term has 8"),
        ("settings.encoder", "clip:b", "saved with encoder = 'clip:b', this term has 'hashed:0'"),
        ("settings.gone", 1, "saved with gone = 1, this term has None"),
        ("model", KeyError, "no 'model'"),
        ("cache", KeyError, "no 'cache'"),
        ("model.forward", {}, "incomplete or damaged"),
        (
            "model.waiting",
            torch.zeros(3, 5).half(),
            r"expected finite float16 rows \[n, 1664\], got .* \[3, 5\]",
        ),
        ("model.experience.added", 3, "expected 3 remembered rows, got 16"),
        ("model.experience.rows", torch.full((16, 1664), float("nan")).half(), "finite float16 rows"),
        ("model.generator", "seed", "incomplete or damaged"),
        ("scored", [1.0], "expected finite float16 rows .* got list"),
        ("cache.entries", [["zz", 1.0, 0]], "incomplete or damaged"),
        ("cache.counts", [1], "incomplete or damaged"),
    ],
)
def test_state_that_does_not_fit(path: str, value: Any, message: str):
    term, steps = CuriosityTerm(), random_steps(5)
    values, kept = score(term, *steps), term.cache.state_dict()
    with pytest.raises(StateError, match=f"^curiosity: .*{message}"):
        term.load_state_dict(broken(path, value))
    assert term.cache.state_dict() == kept and score(term, *steps) == values  # as it was


@pytest.mark.parametrize("state", [None, [], "state", {}])
def test_state_that_is_none(state: Any):
    with pytest.raises(StateError, match=r"^curiosity: expected a state of version 1"):
        CuriosityTerm().load_state_dict(state)

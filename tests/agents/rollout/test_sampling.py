"""Drawing tokens, the cache with spare columns, and which architectures may keep it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.agents.rollout.decoding import Decoder
from pixelis.agents.rollout.sampling import SamplingSettings, draw
from pixelis.errors import ConfigError

PROBABILITIES = [0.1, 0.0, 0.2, 0.7]  # cumulative 0.1 0.1 0.3 1.0


def logits(rows: int = 1) -> torch.Tensor:
    values = [math.log(p) if p else torch.finfo(torch.float32).min for p in PROBABILITIES]
    return torch.tensor(values).repeat(rows, 1)


@pytest.mark.parametrize(
    ("uniform", "token"), [(0.0, 0), (0.09, 0), (0.11, 2), (0.29, 2), (0.31, 3), (0.5, 3), (1 - 2**-53, 3)]
)
def test_a_token_is_where_the_cumulative_probability_passes_the_uniform_number(uniform: float, token: int):
    tokens, logprobs, _ = draw(logits(), torch.tensor([uniform], dtype=torch.float64))
    assert tokens.tolist() == [token]
    assert logprobs.item() == pytest.approx(math.log(PROBABILITIES[token]), abs=1e-6)


def test_rows_do_not_mix():
    uniforms = torch.tensor([0.05, 0.2, 0.9], dtype=torch.float64)
    assert draw(logits(3), uniforms)[0].tolist() == [0, 2, 3]


def test_greedy_takes_the_most_probable_token():
    assert draw(logits(), torch.tensor([0.0], dtype=torch.float64), greedy=True)[0].tolist() == [3]


@pytest.mark.parametrize(
    ("top_p", "uniform", "token"), [(0.7, 0.0, 3), (0.75, 0.1, 2), (0.75, 0.9, 3), (0.95, 0.0, 0)]
)
def test_top_p_draws_from_the_smallest_set_and_records_the_whole_distribution(
    top_p: float, uniform: float, token: int
):
    tokens, logprobs, _ = draw(logits(), torch.tensor([uniform], dtype=torch.float64), top_p=top_p)
    assert tokens.tolist() == [token]
    assert logprobs.item() == pytest.approx(math.log(PROBABILITIES[token]), abs=1e-6)


@pytest.mark.parametrize(("top_p", "kept"), [(0.7, [3]), (0.75, [2, 3]), (0.95, [0, 2, 3]), (1.0, [0, 2, 3])])
def test_record_kept_records_what_was_drawn_from(top_p: float, kept: list[int]):
    whole = sum(PROBABILITIES[token] for token in kept)
    uniforms = torch.linspace(0, 0.999, 50, dtype=torch.float64)
    tokens, logprobs, _ = draw(logits(50), uniforms, top_p=top_p, record_kept=True)
    assert set(tokens.tolist()) == set(kept)
    expected = [PROBABILITIES[token] / whole for token in tokens.tolist()]
    assert logprobs.exp().tolist() == pytest.approx(expected, rel=1e-5)


@given(
    st.lists(st.floats(-30, 30), min_size=1, max_size=50),
    st.floats(0, 1, exclude_max=True),
    st.floats(0.01, 1),
)
@settings(deadline=None)
def test_any_draw_is_a_token_of_positive_probability_in_the_nucleus(
    values: list[float], uniform: float, top_p: float
):
    row = torch.tensor([values])
    drawn = draw(row, torch.tensor([uniform], dtype=torch.float64), top_p=top_p)
    (token,), (logprob,), (entropy,) = (each.tolist() for each in drawn)
    shares = torch.softmax(row, -1)[0]
    assert shares[token] > 0 and logprob == pytest.approx(torch.log_softmax(row, -1)[0, token].item())
    assert shares[shares > shares[token]].sum() < top_p + 1e-4
    assert entropy == pytest.approx(torch.special.entr(shares).sum().item(), abs=1e-4)


@pytest.mark.parametrize("kept", [{}, {"greedy": True}, {"top_p": 0.7, "record_kept": True}])
def test_the_entropy_is_of_the_whole_distribution(kept):
    by_hand = -(0.1 * math.log(0.1) + 0.2 * math.log(0.2) + 0.7 * math.log(0.7))  # 0.802 nats
    drawn = draw(logits(), torch.tensor([0.5], dtype=torch.float64), **kept)
    assert drawn.entropies.item() == pytest.approx(by_hand, abs=1e-5)


def test_the_share_of_draws_follows_the_probabilities():
    uniforms = torch.from_numpy(np.random.default_rng(0).random(20_000))
    counts = torch.bincount(draw(logits(20_000), uniforms)[0], minlength=4) / 20_000
    assert counts.tolist() == pytest.approx(PROBABILITIES, abs=0.01)
    assert counts[1] == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"temperature": 0.0}, "use greedy"),
        ({"top_p": 0.0}, "top_p"),
        ({"top_p": 1.1}, "top_p"),
        ({"max_new_tokens": 0}, "1"),
    ],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, float], message: str):
    with pytest.raises(ConfigError, match=message):
        SamplingSettings(**wrong)


def test_each_row_writes_up_to_its_own_limit(text_policy):
    chat, decoder = text_policy.chat, Decoder(text_policy)
    decoder.start([chat.first("a longer question"), chat.first("short")], [1, 2])
    numbers = np.random.default_rng(3).random((3, 9))
    turns = decoder.write(numbers, SamplingSettings(max_new_tokens=9), limits=[9, 1, 4])
    lengths = [len(turn) for turn in turns]
    for turn, limit in zip(turns, (9, 1, 4), strict=True):
        is_whole = int(turn.tokens[-1]) in chat.stop_ids
        assert is_whole or len(turn) == limit
        assert turn.finish_reason == ("stop" if is_whole else "length")
    assert decoder.stats.generated_tokens == sum(lengths)
    assert decoder.stats.prefilled_tokens == len(chat.first("a longer question")) + len(chat.first("short"))

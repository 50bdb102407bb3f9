"""Attention over shared prefixes against plain softmax attention, one query at a time."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.agents.scoring import attention as attention_module
from pixelis.agents.scoring.attention import attend_last, attend_prefixes, attend_rows, row_mask
from pixelis.agents.scoring.packing import PackedAttention, _Padded
from pixelis.agents.scoring.store import PrefixReader, PrefixStore

HEADS, KEPT, WIDTH = 4, 2, 8
SCALING = WIDTH**-0.5

lengths = st.lists(st.integers(1, 6), min_size=1, max_size=4)


def plain(query, keys, values):
    """One query [H, D] over keys and values [t, K, D], written out."""
    out = []
    for head in range(HEADS):
        kept = head // (HEADS // KEPT)
        scores = torch.stack([(query[head] * key[kept]).sum() * SCALING for key in keys])
        weights = (scores - scores.max()).exp()
        weights = weights / weights.sum()
        out.append(sum(weight * value[kept] for weight, value in zip(weights, values, strict=True)))
    return torch.stack(out)


def states(generator, count):
    """Query [count, H, D], keys and values [count, K, D] of a sequence."""
    return tuple(torch.randn(count, heads, WIDTH, generator=generator) for heads in (HEADS, KEPT, KEPT))


def causal(q, k, v, offset=0):
    return torch.stack([plain(q[i], k[: offset + i + 1], v[: offset + i + 1]) for i in range(len(q))])


def test_by_hand():
    # two keys, scores 0 and ln 3: weights 1/4 and 3/4
    query = torch.tensor([[[[1.0]], [[1.0]]]]).transpose(1, 2)  # [1, 1, 2, 1]
    key = torch.tensor([0.0, torch.log(torch.tensor(3.0))]).view(1, 1, 2, 1)
    value = torch.tensor([4.0, 8.0]).view(1, 1, 2, 1)
    out = attend_prefixes(query, key, value, 1.0)
    torch.testing.assert_close(out.flatten(), torch.tensor([4.0, 7.0]))


def test_the_mask_by_hand():
    # prefix of 2 real columns of 3; one own column seen before; two new tokens; three own columns
    mask = row_mask(torch.tensor([2]), 3, torch.tensor([1]), 2, 3)
    assert mask[0, 0].int().tolist() == [[1, 1, 0, 1, 1, 0], [1, 1, 0, 1, 1, 1]]


@settings(max_examples=25, deadline=None)
@given(lengths, st.data())
def test_packed_rows_see_their_prefix_and_themselves(prefixes, data):
    owners = data.draw(st.lists(st.integers(0, len(prefixes) - 1), min_size=1, max_size=5))
    rows = data.draw(st.lists(st.integers(1, 5), min_size=len(owners), max_size=len(owners)))
    generator = torch.Generator().manual_seed(len(owners))
    parts = [states(generator, count) for count in [*prefixes, *rows]]
    q, k, v = (torch.cat(each).transpose(0, 1)[None] for each in zip(*parts, strict=True))
    layout = prefixes, rows, torch.tensor(owners).numpy(), torch.device("cpu")
    found = PackedAttention(*layout).attend(0, q, k, v, SCALING)[0]
    padded_found = _Padded(*layout).attend(q, k, v, SCALING)[0]
    expected = [causal(*part) for part in parts[: len(prefixes)]]
    for owner, (rq, rk, rv) in zip(owners, parts[len(prefixes) :], strict=True):
        _, pk, pv = parts[owner]
        expected.append(causal(rq, torch.cat([pk, rk]), torch.cat([pv, rv]), len(pk)))
    torch.testing.assert_close(found, torch.cat(expected), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(padded_found, torch.cat(expected), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("block", [1, 2, 3, 7, 256])
def test_the_last_tokens_see_all_before_them_whatever_the_block(block, monkeypatch):
    monkeypatch.setattr(attention_module, "BLOCK", block)
    query, key, value = states(torch.Generator().manual_seed(block), 9)
    for count in (1, 4, 9):
        parts = (part.transpose(0, 1) for part in (query[-count:], key, value))
        expected = causal(query[-count:], key, value, 9 - count)
        torch.testing.assert_close(
            attend_last(*parts, SCALING).transpose(0, 1), expected, atol=1e-5, rtol=1e-5
        )


def padded(parts):
    """Stack sequences [t, h, D] to [n, h, T, D], padded on the right with large numbers nobody may see."""
    width = max(map(len, parts))
    out = torch.full((len(parts), parts[0].shape[1], width, WIDTH), 1e3)
    for row, part in enumerate(parts):
        out[row, :, : len(part)] = part.transpose(0, 1)
    return out


@settings(max_examples=25, deadline=None)
@given(lengths, st.data())
def test_the_store_gives_what_full_attention_gives(prefixes, data):
    """Prompts, then stretches of different lengths, single tokens, rows that end and rows that pause."""
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=len(prefixes), max_size=len(prefixes)))
    generator = torch.Generator().manual_seed(sum(prefixes))
    prompts = [states(generator, count) for count in prefixes]
    reader = PrefixReader()
    out = reader.attend(0, *(padded(each) for each in zip(*prompts, strict=True)), SCALING)
    for row, part in enumerate(prompts):
        torch.testing.assert_close(out[row, : len(part[0])], causal(*part), atol=1e-5, rtol=1e-5)
    owners = torch.arange(len(prefixes)).repeat_interleave(torch.tensor(sizes))
    store = PrefixStore(reader.layers, torch.tensor(prefixes), owners)
    histories = [[prompts[owner]] for owner in owners.tolist()]
    for _ in range(data.draw(st.integers(1, 5))):
        action = data.draw(st.sampled_from(["stretch", "step", "keep", "narrow"]))
        if action == "keep" and len(store) > 1:
            kept = sorted(data.draw(st.sets(st.integers(0, len(store) - 1), min_size=1)))
            store, histories = store.select(torch.tensor(kept)), [histories[row] for row in kept]
        elif action == "narrow" and len(store) > 1:
            kept = sorted(data.draw(st.sets(st.integers(0, len(store) - 1), min_size=1)))
            part = store.select(torch.tensor(kept))
            feed(part, [histories[row] for row in kept], [1] * len(kept), generator)
            store.take_back(torch.tensor(kept), part)
        elif action == "stretch":
            counts = data.draw(st.lists(st.integers(1, 4), min_size=len(store), max_size=len(store)))
            feed(store, histories, counts, generator)
        else:
            counts = data.draw(st.lists(st.integers(0, 1), min_size=len(store), max_size=len(store)))
            feed(store, histories, counts if any(counts) else [1] * len(store), generator)


def feed(store, histories, counts, generator):
    """Let rows read; a row with count 0 is paused: what it computes is not looked at."""
    new = [states(generator, max(1, count)) for count in counts]
    store.expect(counts)
    out = store.attend(0, *(padded(each) for each in zip(*new, strict=True)), SCALING)
    store.accept()
    for row, count in enumerate(counts):
        if not count:
            continue
        k, v = (torch.cat([part[i] for part in [*histories[row], new[row]]]) for i in (1, 2))
        before = len(k) - count
        torch.testing.assert_close(out[row, :count], causal(new[row][0], k, v, before), atol=1e-5, rtol=1e-5)
        histories[row].append(new[row])


def test_prefix_keys_are_not_copied_for_rows():
    keys = torch.randn(2, KEPT, 5, WIDTH)
    store = PrefixStore({0: (keys, keys)}, torch.tensor([5, 5]), torch.tensor([0, 0, 1, 1]))
    kept = store.select(torch.tensor([0, 2, 3]))
    assert kept._layers[0].prefix[0].data_ptr() == keys.data_ptr()


@pytest.mark.parametrize("columns", [1, 200])
def test_rows_grow_past_their_room(columns):
    keys = torch.randn(1, KEPT, 2, WIDTH)
    store = PrefixStore({0: (keys, keys)}, torch.tensor([2]), torch.tensor([0]))
    generator = torch.Generator().manual_seed(0)
    histories = [[(None, keys[0].transpose(0, 1), keys[0].transpose(0, 1))]]
    feed(store, histories, [columns], generator)
    feed(store, histories, [1], generator)
    assert store.lengths.tolist() == [columns + 1]


def test_attend_rows_agrees_with_the_written_out_sum():
    generator = torch.Generator().manual_seed(1)
    prefix, row = states(generator, 3), states(generator, 2)
    pk, pv, rq, rk, rv = (part.transpose(0, 1)[None] for part in (*prefix[1:], *row))
    mask = row_mask(torch.tensor([3]), 3, torch.tensor([0]), 2, 2)
    found = attend_rows(rq, (pk, pv), (rk, rv), mask, SCALING)[0].transpose(0, 1)
    expected = causal(row[0], torch.cat([prefix[1], row[1]]), torch.cat([prefix[2], row[2]]), 3)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)

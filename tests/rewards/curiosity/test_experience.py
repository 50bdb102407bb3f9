"""The memory of transitions: packed rows, the oldest replaced first."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from pixelis.rewards.curiosity.experience import ROW_DIMS, EncodedRows, Experience


def rows(*marks: float) -> torch.Tensor:
    """Return packed rows, each full of its mark."""
    return torch.tensor(marks).half()[:, None].expand(-1, ROW_DIMS).contiguous()


def kept(memory: Experience) -> set[float]:
    return set(memory.state_dict()["rows"][:, 0].tolist())


def test_packing_keeps_the_parts_apart():
    parts = EncodedRows(torch.full((2, 768), 1.0), torch.full((2, 128), 2.0), torch.full((2, 768), 3.0))
    packed = parts.packed()
    assert packed.shape == (2, 1664) and packed.dtype == torch.float16
    assert all(torch.equal(a, b) for a, b in zip(EncodedRows.unpacked(packed), parts, strict=True))


def test_packing_bounds_what_half_precision_cannot_hold():
    packed = EncodedRows(torch.full((1, 768), 1e9), torch.zeros(1, 128), torch.full((1, 768), -1e9)).packed()
    assert torch.isfinite(packed).all()


@given(st.lists(st.integers(1, 7), max_size=8), st.integers(1, 5))
def test_keeps_the_latest(sizes: list[int], capacity: int):
    memory, added = Experience(capacity), list[float]()
    for size in sizes:
        new = [float(len(added) + index) for index in range(size)]
        memory.add(rows(*new))
        added += new
    assert kept(memory) == set(added[-capacity:])
    assert len(memory) == min(capacity, len(added))


def test_sample_is_drawn_from_what_is_kept():
    memory = Experience(3)
    memory.add(rows(1.0, 2.0, 3.0, 4.0))
    generator = torch.Generator().manual_seed(0)
    marks = {memory.sample(8, generator).states[:, 0].tolist()[0] for _ in range(60)}
    assert marks == {2.0, 3.0, 4.0}
    assert len(memory.sample(2, generator).actions) == 2


def test_state_goes_on_where_it_was():
    memory, other = Experience(3), Experience(3)
    memory.add(rows(1.0, 2.0, 3.0, 4.0))
    other.load_state_dict(memory.state_dict())
    for each in (memory, other):
        each.add(rows(5.0))
    assert kept(other) == kept(memory) == {3.0, 4.0, 5.0}

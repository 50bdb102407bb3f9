"""Keys and values while decoding: those of a prompt once, those of what each episode added apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pixelis.agents.scoring.attention import Grid, attend_last, attend_prefixes, attend_step

_ROOM = 64  # spare columns, so that one more token does not copy all that came before


@dataclass
class _Layer:
    """One layer's keys and values.

    Attributes:
        prefix: [m, K, P, D] each.
        own: [n, K, room, D] each; a row's columns from its length on are of no meaning.
    """

    prefix: tuple[Tensor, Tensor]
    own: tuple[Tensor, Tensor]


class PrefixReader:
    """Attention while m prompts are read; keeps their keys and values, [m, K, P, D] a layer."""

    def __init__(self) -> None:
        self.layers: dict[int, tuple[Tensor, Tensor]] = {}

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scaling: float) -> Tensor:
        """Return causal attention [m, P, H, D]; the prompts are padded on the right."""
        self.layers[layer] = key, value
        return attend_prefixes(query, key, value, scaling).transpose(1, 2)


class PrefixStore:
    """Keys and values of n rows behind m prefixes; rows of one prefix stand side by side.

    Args:
        read: the prefixes' keys and values, a pair [m, K, P, D] for each layer.
        prefix_lengths: int64 [m], their real columns.
        owners: int64 [n], not decreasing: each row's prefix.

    Attributes:
        lengths: int64 [n], each row's own columns.
    """

    def __init__(
        self, read: dict[int, tuple[Tensor, Tensor]], prefix_lengths: Tensor, owners: Tensor
    ) -> None:
        device = owners.device
        self.lengths = torch.zeros(len(owners), dtype=torch.long, device=device)
        self._prefix_lengths, self._owners = prefix_lengths, owners
        self._columns = 0  # of the longest row
        rows, dtype = len(owners), _own_dtype(next(iter(read.values()))[0])
        self._layers = {
            index: _Layer(
                (keys.contiguous(), values.contiguous()),  # as views every step would copy them
                (_empty(keys, rows, 0, dtype), _empty(values, rows, 0, dtype)),
            )
            for index, (keys, values) in read.items()
        }
        self._grid = self._group()

    def __len__(self) -> int:
        """Return n."""
        return len(self._owners)

    # ------------------------------------------------------------------ rows

    def select(self, rows: Tensor) -> PrefixStore:
        """Return a store of these rows, which must be increasing; it shares no own columns with this one."""
        owners = self._owners[rows]
        groups, owners = torch.unique_consecutive(owners, return_inverse=True)
        all_groups = len(groups) == len(self._prefix_lengths)
        chosen = object.__new__(PrefixStore)
        chosen.lengths = self.lengths[rows]
        chosen._prefix_lengths, chosen._owners = self._prefix_lengths[groups], owners
        chosen._columns = int(chosen.lengths.max()) if len(rows) else 0
        chosen._layers = {
            index: _Layer(
                layer.prefix if all_groups else (layer.prefix[0][groups], layer.prefix[1][groups]),
                (_chosen(layer.own[0], rows, chosen._columns), _chosen(layer.own[1], rows, chosen._columns)),
            )
            for index, layer in self._layers.items()
        }
        chosen._grid = chosen._group()
        return chosen

    def take_back(self, rows: Tensor, part: PrefixStore) -> None:
        """Take over what the rows of a store made by ``select(rows)`` have added since."""
        self._make_room(part._columns)
        for index, layer in self._layers.items():
            for mine, theirs in zip(layer.own, part._layers[index].own, strict=True):
                mine[rows, :, : part._columns] = theirs[:, :, : part._columns]
        self.lengths[rows] = part.lengths
        self._columns = max(self._columns, part._columns)

    # ------------------------------------------------------------------ reading

    def expect(self, counts: Sequence[int] | Tensor) -> None:
        """Say how many new tokens each row brings in the next call of the model; the rest of them pads."""
        self._counts = torch.as_tensor(counts, device=self._owners.device)
        width = int(self._counts.max())
        self._columns += width  # at most; made exact when the call is over
        self._make_room(self._columns)
        self._width = width
        rows = torch.arange(len(self), device=self._owners.device)[:, None]
        offsets = torch.arange(width, device=rows.device)
        self._cells = rows.expand(-1, width), self.lengths[:, None] + offsets
        first = int(self.lengths[0])
        aligned = bool((self.lengths == first).all())
        self._column = slice(first, first + width) if aligned else None
        if width == 1:
            self._hide()
        else:
            owners = self._owners.tolist()
            prefixes, seen = self._prefix_lengths.tolist(), (self.lengths + self._counts).tolist()
            self._reads = [
                (row, count, seen[row], prefixes[owners[row]], owners[row])
                for row, count in enumerate(self._counts.tolist())
                if count
            ]

    def accept(self) -> None:
        """Count the tokens of the last call as read."""
        self.lengths = self.lengths + self._counts
        self._columns = int(self.lengths.max())

    # ------------------------------------------------------------------ steps of fixed shape

    def fix(self, room: int) -> None:
        """Make room for ``room`` tokens a row; until `unfix` steps ask nothing of the device."""
        self._columns = int(self.lengths.max()) + room
        self._make_room(self._columns)
        self._hide()
        self._width, self._column = 1, None
        rows = torch.arange(len(self), device=self.lengths.device)[:, None]
        self._cells = rows, self.lengths[:, None]  # a view: it follows the lengths

    def expect_one(self) -> None:
        """Say that each row brings one token."""
        columns = torch.arange(self._columns, device=self.lengths.device)
        self._hidden = self._hidden[0], (columns > self.lengths[:, None])[:, None, None]

    def accept_one(self, alive: Tensor) -> None:
        """Count the token of the rows that are alive, bool [n]; the others' is replaced by their next."""
        self.lengths += alive

    def unfix(self) -> None:
        """Find out how far the rows have come."""
        self._columns = int(self.lengths.max())

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scaling: float) -> Tensor:
        """Write the new keys and values [n, K, w, D]; return attention [n, w, H, D]."""
        states = self._layers[layer]
        own = states.own[0][:, :, : self._columns], states.own[1][:, :, : self._columns]
        for room, new in zip(own, (key, value), strict=True):
            if self._column is not None:
                room[:, :, self._column] = new
            else:
                room[self._cells[0], :, self._cells[1]] = new.transpose(1, 2).to(room.dtype)
        if self._width == 1:
            return attend_step(query[:, :, 0], states.prefix, own, self._hidden, scaling, self._grid)[:, None]
        return self._attend_each(states.prefix, own, query, scaling)

    # ------------------------------------------------------------------ private

    def _attend_each(
        self, prefix: tuple[Tensor, Tensor], own: tuple[Tensor, Tensor], query: Tensor, scaling: float
    ) -> Tensor:
        """Return attention [n, w, H, D] of new tokens, a row at a time; 0 where they are padding."""
        seen = torch.zeros_like(query)
        for row, count, columns, width, owner in self._reads:
            keys, values = (
                torch.cat([shared[owner, :, :width], mine[row, :, :columns].to(query.dtype)], 1)
                for shared, mine in zip(prefix, own, strict=True)
            )
            seen[row, :, :count] = attend_last(query[row, :, :count], keys, values, scaling)
        return seen.transpose(1, 2)

    @property
    def _prefix_width(self) -> int:
        return next(iter(self._layers.values())).prefix[0].shape[2]

    def _group(self) -> Grid:
        """Return how rows stand to prefixes; groups of different sizes leave places empty."""
        sizes = torch.bincount(self._owners, minlength=len(self._prefix_lengths))
        largest = int(sizes.max())
        if bool((sizes == largest).all()):
            return Grid(len(sizes))
        starts = sizes.cumsum(0) - sizes
        columns = torch.arange(largest, device=sizes.device)
        rows = torch.where(columns < sizes[:, None], starts[:, None] + columns, 0).flatten()
        inside = torch.arange(len(self), device=sizes.device) - starts[self._owners]
        return Grid(len(sizes), rows, self._owners * largest + inside)

    def _hide(self) -> None:
        prefix = torch.arange(self._prefix_width, device=self.lengths.device) >= self._prefix_lengths[:, None]
        own = torch.arange(self._columns, device=self.lengths.device) > self.lengths[:, None]
        self._hidden = (
            prefix[:, None, None] if bool(prefix.any()) else None,
            own[:, None, None] if bool(own.any()) else None,
        )

    def _make_room(self, columns: int) -> None:
        for layer in self._layers.values():
            if layer.own[0].shape[2] < columns:
                room = columns + max(_ROOM, columns // 2)
                layer.own = (_grown(layer.own[0], room), _grown(layer.own[1], room))


def _own_dtype(states: Tensor) -> torch.dtype:
    """Return the type of the rows' own keys: a CPU multiplies a matrix by one row faster in float32."""
    return torch.float32 if states.device.type == "cpu" else states.dtype


def _empty(like: Tensor, rows: int, columns: int, dtype: torch.dtype | None = None) -> Tensor:
    shape = rows, like.shape[1], columns, like.shape[3]
    return torch.zeros(shape, dtype=dtype or like.dtype, device=like.device)


def _grown(states: Tensor, columns: int) -> Tensor:
    roomy = _empty(states, len(states), columns)
    roomy[:, :, : states.shape[2]] = states
    return roomy


def _chosen(states: Tensor, rows: Tensor, columns: int) -> Tensor:
    roomy = _empty(states, len(rows), columns + _ROOM)
    roomy[:, :, :columns] = states[rows, :, :columns]
    return roomy

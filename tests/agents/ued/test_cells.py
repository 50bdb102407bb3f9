"""The sampler ``learnability``."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.ued.cells import CellLearnability
from pixelis.agents.ued.oracle import OracleResult
from pixelis.agents.ued.sampler import LevelOutcome, LevelRequest, SampledLevel
from pixelis.agents.ued.space import Level, LevelSpace
from pixelis.errors import StateError

RNG = np.random.default_rng(0)


def group(cell, successes, members):
    returns = (1.0,) * successes + (0.0,) * (members - successes)
    return LevelOutcome(SampledLevel(Level(cell, 0)), returns, returns, successes)


def test_weights_by_hand(line, settings):
    sampler = CellLearnability(line, settings("learnability", decay=0.5, beta=0.5))
    np.testing.assert_allclose(sampler.weights(), 1 / 4)  # nothing is known
    sampler.observe([group((0,), 4, 4), group((1,), 2, 4), group((2,), 0, 4)], RNG)
    np.testing.assert_allclose(sampler.rates(), [5 / 6, 3 / 6, 1 / 6, 1 / 2])
    assert sampler.metrics()["mean_success"] == pytest.approx(1 / 2)
    # learnabilities 0, 2*2/12 = 1/3, 0, and 1/6 for what was never seen; the prior counts as one group
    scores = np.array([1 / 6 / 2, (1 / 6 + 1 / 3) / 2, 1 / 6 / 2, 1 / 6])
    band = np.array([(1 / 6) / 0.5, 1, (1 / 6) / 0.3, 1])
    np.testing.assert_allclose(sampler.weights(), (scores * band) ** 2 / ((scores * band) ** 2).sum())
    sampler.observe([], RNG)  # all sums are halved
    np.testing.assert_allclose(sampler.rates(), [3 / 4, 2 / 4, 1 / 4, 1 / 2])


def test_a_cell_that_is_played_much_remembers_the_last_groups_alone(line, settings):
    sampler = CellLearnability(line, settings("learnability", decay=1.0, memory=2))
    sampler.observe([group((0,), 4, 4)] * 6, RNG)  # 24 of 24 in six groups, scaled to 8 of 8 in two
    assert sampler.rates()[0] == pytest.approx((1 + 8) / (2 + 8))
    sampler.observe([group((0,), 0, 4)] * 2, RNG)  # 8 of 16 in four, scaled to 4 of 8
    assert sampler.rates()[0] == pytest.approx((1 + 4) / (2 + 8))


def test_what_is_solved_or_impossible_is_left_for_what_is_neither(line, settings, level_request):
    sampler = CellLearnability(line, settings("learnability"))
    for _ in range(20):
        sampler.observe([group((n,), k, 4) for n, k in enumerate((4, 2, 0, 0))], RNG)
    assert sampler.weights()[1] > 0.9
    metrics = sampler.metrics()
    assert metrics["in_band"] > 0.9 and 0.3 <= metrics["expected_success"] <= 0.6


@pytest.mark.parametrize("rates", [(0.9, 0.4, 0.05, 0.0), (0.95, 0.8, 0.45, 0.2), (0.6, 0.35, 0.1, 0.0)])
def test_the_mean_success_of_what_is_played_comes_into_the_band(line, rates, settings, level_request):
    sampler, rng = CellLearnability(line, settings("learnability", groups=8)), np.random.default_rng(1)
    shares = []
    for step in range(150):
        draws = sampler.draw(level_request(8, step))
        counts = [int(rng.binomial(8, rates[draw.level.cell[0]])) for draw in draws]
        pairs = zip(draws, counts, strict=True)
        sampler.observe([group(draw.level.cell, k, 8) for draw, k in pairs], rng)
        shares.append(sum(counts) / 64)
    assert 0.3 <= np.mean(shares[50:]) <= 0.5


def test_a_group_without_scores_changes_nothing_but_the_wait(line, settings):
    sampler = CellLearnability(line, settings("learnability"))
    sampler.observe([LevelOutcome(SampledLevel(Level((1,), 0)), (), (), None)], RNG)
    np.testing.assert_allclose(sampler.weights(), 1 / 4)
    assert [row[1][-1] for row in sampler.state_dict()["cells"]] == [1, 0, 1, 1]


def test_where_no_success_is_told_the_return_stands_for_it(line, settings):
    sampler = CellLearnability(line, settings("learnability", decay=1.0, beta=1.0))
    sampler.observe([LevelOutcome(SampledLevel(Level((0,), 0)), (0.0, 1.0), (0.0, 1.0))], RNG)
    assert sampler.rates()[0] == pytest.approx((1 + 1) / (2 + 2))
    assert sampler.weights()[0] == pytest.approx(((1 / 6 + 1 / 4) / 2) / ((1 / 6 + 1 / 4) / 2 + 3 / 6))


@given(st.integers(1, 30), st.integers(1, 8), st.floats(0.05, 1.0), st.randoms(use_true_random=False))
def test_no_cell_starves(cells, groups, rotation, chance):
    space = LevelSpace({"d": range(cells)})
    sampler = CellLearnability(
        space, TrainConfig(groups=groups, levels={"type": "learnability", "rotation": rotation})
    )
    last, bound = dict.fromkeys(space.cells, 0), int(np.ceil(cells / (rotation * groups))) + 2
    for step in range(1, 2 * bound + 2):
        draws = sampler.draw(LevelRequest(groups, range(groups), np.random.default_rng(step)))
        outcomes = [group(draw.level.cell, chance.choice((0, 1, 2)), 2) for draw in draws]
        sampler.observe(outcomes, RNG)
        last |= {draw.level.cell: step for draw in draws}
        assert step - min(last.values()) <= bound
        assert sampler.weights().sum() == pytest.approx(1.0)


def test_rates_are_drawn_so_an_unlucky_cell_is_tried_again(line, settings):
    sampler = CellLearnability(line, settings("learnability", rotation=1e-9, decay=1.0))
    sampler.observe([group((0,), 5, 8), group((1,), 0, 8), group((2,), 80, 80), group((3,), 0, 80)], RNG)
    draws = sampler.draw(LevelRequest(4000, range(4000), np.random.default_rng(0)))
    shares = [sum(draw.level.cell == (n,) for draw in draws) / len(draws) for n in range(4)]
    # by the estimates alone the second would be drawn once in 200 groups or less
    assert sampler.weights()[1] < 0.005
    # drawn from Beta(1, 9), its rate is above 0.2 with probability 0.8 ** 9 = 0.13
    assert 0.03 < shares[1] < 0.25 and shares[0] > 0.7 and shares[2] + shares[3] < 0.02


def test_what_the_oracle_cannot_do_is_remembered(line, settings):
    sampler = CellLearnability(line, settings("learnability", decay=0.5, beta=1.0))
    played = [group((n,), 0, 4) for n in range(2)]
    outcomes = [replace(each, oracle_return=float(n)) for n, each in enumerate(played)]
    sampler.observe(outcomes * 3, RNG)
    weights = sampler.weights()
    assert weights[0] == pytest.approx(weights[1] / 4)  # (1 + 0) / (1 + 3) of its levels
    for _ in range(40):
        sampler.observe([], RNG)
    np.testing.assert_allclose(sampler.weights()[:2], np.array([1 / 4, 1]) / 3.25)
    solved = replace(group((0,), 4, 4), oracle_return=1.0)  # as good as the oracle, and not beyond it
    sampler.observe([solved], RNG)
    assert [row[1][4:6] for row in sampler.state_dict()["cells"]] == [[3, 4], [0, 3], [0, 0], [0, 0]]


class Solves:
    """An oracle that cannot do some cells; counts how often it was asked."""

    def __init__(self, *beyond):
        self.beyond, self.asked = set(beyond), 0

    def play(self, level):
        self.asked += 1
        return OracleResult(*([0.0, False] if level.cell in self.beyond else [1.0, True]))


def test_what_the_oracle_cannot_solve_is_not_played(line, settings, level_request):
    sampler = CellLearnability(line, settings("learnability", rotation=0.5), Solves((1,), (3,)))
    refused = 0
    for step in range(30):
        draws = sampler.draw(level_request(4, step))
        assert draws == sampler.draw(level_request(4, step))  # asking changes nothing
        assert {draw.level.cell for draw in draws} <= {(0,), (2,)}
        assert [draw.level.seed for draw in draws] == [1000 * step + n for n in range(4)]
        sampler.observe([replace(group(d.level.cell, 2, 4), draw=d) for d in draws], RNG)
        here = sum(len(draw.refused) for draw in draws)
        assert sampler.metrics()["refused"] == here
        refused += here
    rows = dict((tuple(cell), row) for cell, row in sampler.state_dict()["cells"])
    assert rows[(1,)][4] == rows[(1,)][5] > 0 == rows[(0,)][4]  # all that was asked for was beyond it
    assert rows[(1,)][4] + rows[(3,)][4] == refused
    # refused cells have had their turn, so the rotation does not wait for them
    assert max(row[-1] for row in rows.values()) <= 2


def test_the_oracle_is_not_asked_for_ever(line, settings, level_request):
    oracle = Solves(*line.cells)
    draws = CellLearnability(line, settings("learnability", rotation=1.0), oracle).draw(level_request(4))
    assert len(draws) == 4 and oracle.asked <= 4 * 8  # nothing can be solved: something is played
    assert all(draw.trained and len(draw.refused) == 7 for draw in draws)


def test_without_leave_the_oracle_is_not_asked(line, settings, level_request):
    oracle = Solves(*line.cells)
    draws = CellLearnability(line, settings("learnability", oracle=False), oracle).draw(level_request(4))
    assert oracle.asked == 0 and not any(draw.refused for draw in draws)


def test_a_cell_that_can_be_solved_half_the_time_is_drawn_half_as_often(line, settings):
    sampler = CellLearnability(line, settings("learnability", beta=0.1, decay=1.0))
    solved = replace(group((0,), 2, 4), oracle_return=1.0)
    sampler.observe([replace(solved, draw=SampledLevel(Level((0,), 0), refused=((0,), (0,))))], RNG)
    other = replace(solved, draw=SampledLevel(Level((1,), 0)))
    sampler.observe([other], RNG)
    weights = sampler.weights()
    assert weights[0] == pytest.approx(weights[1] / 2)  # (1 + 1) / (1 + 3) to 2 / 2, whatever the temperature


def test_new_levels_have_the_seeds_that_were_given(line, settings, level_request):
    draws = CellLearnability(line, settings("learnability")).draw(level_request(4, step=3))
    assert [draw.level.seed for draw in draws] == [3000, 3001, 3002, 3003]
    assert all(draw.trained and draw.origin == "fresh" for draw in draws)


def test_drawing_changes_nothing(line, settings, level_request):
    sampler = CellLearnability(line, settings("learnability"))
    assert (
        sampler.draw(level_request(4, 1))
        == sampler.draw(level_request(4, 1))
        != sampler.draw(level_request(4, 2))
    )


def test_state_comes_back_bit_for_bit(families, settings, level_request):
    one, two = (
        CellLearnability(families, settings("learnability")),
        CellLearnability(families, settings("learnability")),
    )
    for step in range(5):
        draws = one.draw(level_request(4, step))
        one.observe([group(d.level.cell, step % 4, 3) for d in draws], RNG)
    two.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert two.state_dict() == one.state_dict() and (two.weights() == one.weights()).all()
    assert two.draw(level_request(4, 9)) == one.draw(level_request(4, 9))


def test_cells_of_another_environment_are_refused(line, families, settings):
    with pytest.raises(StateError, match="not those of this environment"):
        CellLearnability(line, settings("learnability")).load_state_dict(
            CellLearnability(families, settings("learnability")).state_dict()
        )
    older = CellLearnability(line, settings("learnability")).state_dict()
    older["cells"] = [[cell, [*row[:4], row[-1]]] for cell, row in older["cells"]]
    with pytest.raises(StateError, match="of an earlier version"):
        CellLearnability(line, settings("learnability")).load_state_dict(older)

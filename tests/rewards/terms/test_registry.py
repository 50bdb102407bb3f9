"""Terms by name, and what is said when a name or a setting is wrong."""

from __future__ import annotations

import pytest

from pixelis.errors import ConfigError, RewardError
from pixelis.rewards.terms.coherence import CoherenceTerm
from pixelis.rewards.terms.penalties import PenaltySettings, PenaltyTerm
from pixelis.rewards.terms.registry import TERMS, check_term, check_term_name, load, make_settings, make_term
from pixelis.rewards.terms.weights import check_number, check_weight


def test_shipped_terms_by_name():
    assert isinstance(make_term("coherence"), CoherenceTerm)
    assert make_term("penalty", {"base": 0.2}).settings.base == 0.2
    assert make_term("pixelis.rewards.terms.penalties:PenaltyTerm", {"name": "mine"}).name == "mine"
    assert make_term("potential", {"potential": "math:cos", "gamma": 0.5}).gamma == 0.5
    assert set(TERMS) == {"curiosity", "coherence", "function", "penalty", "potential", "progress"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("penalties", "Did you mean 'penalty'"),
        ("zzz", "Known: coherence, curiosity, function, penalty, potential"),
        ("nowhere_at_all:Term", "cannot be imported"),
        ("nowhere_at_all:Term", r"is its folder on PYTHONPATH\?"),
        ("pixelis.rewards.terms.penalties:PenaltyTrem", "Did you mean 'PenaltyTerm'"),
        ("pixelis.rewards.terms.penalties:Nothing", "cannot be imported"),
        (":Term", "expected module:name"),
        ("math:", "expected module:name"),
        ("math:pi", "not callable"),
        ("builtins:list", "list is no reward term: it lacks begin"),
        ("potential", "missing 1 required keyword-only argument: 'potential'"),
    ],
)
def test_wrong_names(name, message):
    with pytest.raises(ConfigError, match=message):
        make_term(name)


def test_a_term_needs_a_name_and_five_methods():
    term = PenaltyTerm()
    assert check_term(term) is term
    term.name = None  # type: ignore[assignment]
    with pytest.raises(ConfigError, match="PenaltyTerm is no reward term: it lacks name"):
        check_term(term)
    assert check_term_name("a.b:C") == "a.b:C"
    assert load("math:pi") == pytest.approx(3.14159, abs=1e-5)


def test_settings_by_keyword():
    assert make_settings(PenaltySettings, "penalty", {"still": True}).still is True
    with pytest.raises(ConfigError, match=r"penalty: unknown setting 'stil'\. Did you mean 'still'"):
        make_settings(PenaltySettings, "penalty", {"stil": "FOLLOW"})


def test_numbers_and_weights():
    assert (check_number(True, "x"), check_number(2.5, "x"), check_weight(0, "x")) == (1.0, 2.5, 0.0)
    for value in (float("nan"), 1e101, None, "many", "2.5", [1]):
        with pytest.raises(RewardError, match="brevity: expected a finite number"):
            check_number(value, "brevity")
    for value in (float("inf"), -1e-9, "1", None, False):
        with pytest.raises(ConfigError, match="weight of brevity: expected a"):
            check_weight(value, "brevity")

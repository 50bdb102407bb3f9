"""Sections that check themselves, and how mistakes in them are told."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest

from pixelis.agents.settings.base import Alternatives, Own, Section, Settings, changed, leaves_of, setting
from pixelis.agents.settings.plain import digest_of, merged
from pixelis.errors import CheckpointError, ConfigError


class Walk(Section):
    type: Literal["foot", "hop"] = setting("foot", "how")
    shoes: str = setting("boots", "which shoes")


class Train(Section):
    type: Literal["train"] = setting("train", "how")
    coach: int = setting(1, "which coach", ge=1, lt=10)


class Other(Section):
    type: Own = setting("", "how")


class Food(Section):
    meals: int = setting(3, "how many", ge=1, lt=5)
    menu: dict[str, float] = setting({}, "dish → price")


class Journey(Settings):
    """A journey."""

    where: str = setting("home", "where to")
    seed: int = setting(0, "which journey", ge=0)
    rate: float = setting(0.5, "how fast", gt=0, le=1)
    limit: float | None = setting(None, "until when", gt=0)
    kind: Literal["left", "right"] = setting("left", "which way")
    flag: bool = setting(False, "whether")
    extra: dict[str, Any] = setting({}, "more")
    choice: Literal["mild", "hot"] | Own = setting("mild", "a choice that others can extend")
    by: Annotated[Walk | Train | Other, Alternatives()] = setting(Walk(), "how")
    food: Food | None = setting(None, "what is eaten; null: nothing")
    log: str = setting("log", "where it is written down", identity=False)


@pytest.mark.parametrize(
    "good",
    [
        {"seed": 9},
        {"rate": 1},
        {"limit": None},
        {"limit": 3},
        {"kind": "right"},
        {"flag": True},
        {"extra": {"a": 1}},
        {"choice": "hot"},
        {"choice": "kitchen.spices:smoky"},
        {"by": "train"},
        {"by": {"type": "train", "coach": 9}},
        {"by": {"type": "hop", "shoes": "none"}},
        {"by": {"shoes": "none"}},
        {"by": "my_module:boat"},
        {"by": Train(coach=3)},
        {"food": {"menu": {"soup": 3}}},
    ],
)
def test_good_values_come_back_from_plain_data(good):
    made = Journey(**good)
    assert Journey.from_mapping(json.loads(json.dumps(made.to_mapping()))) == made


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"seed": 2.0}, "seed must be an integer"),
        ({"seed": True}, "seed must be an integer"),
        ({"rate": 0}, "rate must be a finite number above 0 and at most 1, got 0"),
        ({"rate": float("nan")}, "rate must be a finite number"),
        ({"rate": "fast"}, "got 'fast'"),
        ({"limit": float("inf")}, "limit must be a finite number above 0 or null"),
        ({"kind": "lefty"}, "kind must be one of left, right, got 'lefty'. Did you mean 'left'"),
        ({"flag": 1}, "flag must be true or false"),
        ({"where": 3}, "where must be text"),
        ({"extra": [1]}, "extra must be a mapping"),
        ({"extra": {1: 2}}, "extra.1 must be text"),
        ({"choice": "hotter"}, "one of mild, hot or module:name, got 'hotter'. Did you mean 'hot'"),
        ({"choice": ":smoky"}, "choice must be one of mild, hot or module:name"),
        ({"choice": 3}, "choice must be one of mild, hot or module:name"),
        ({"by": "boat"}, "by must be one of foot, hop, train or module:name, got 'boat'"),
        ({"by": 3}, "by must be one of foot, hop, train or module:name, got 3"),
        ({"by": {"type": "train", "coach": 10}}, "by.coach must be an integer of at least 1 and below 10"),
        ({"by": {"type": "train", "shoes": "x"}}, "by.shoes is not read with by train, only with foot, hop"),
        ({"by": {"type": "train", "shoe": "x"}}, "unknown setting 'by.shoe'. Known: coach"),
        ({"food": 3}, "food must be a mapping of settings or null, got 3"),
        ({"food": {"meal": 3}}, "unknown setting 'food.meal'. Did you mean 'meals'"),
        ({"food": {"menu": {"soup": "dear"}}}, "food.menu.soup must be a finite number, got 'dear'"),
        ({"sed": 3}, "unknown setting 'sed'. Did you mean 'seed'"),
        ({"seed": -1, "kind": 3}, "2 settings are wrong: seed must .*; kind must be one of"),
    ],
)
def test_bad_values(bad, message):
    with pytest.raises(ConfigError, match=message) as caught:
        Journey(**bad)
    assert "\n" not in str(caught.value) and "pydantic" not in str(caught.value)


def test_each_instance_has_its_own_mapping():
    assert Journey().extra is not Journey().extra


def test_settings_cannot_be_changed_but_copied_with_others():
    journey = Journey(by={"type": "train", "coach": 4}, seed=3)
    with pytest.raises(ValueError, match="frozen"):
        journey.seed = 4
    assert journey.with_values(seed=5) == Journey(by={"type": "train", "coach": 4}, seed=5)
    assert journey.with_values(by={"coach": 7}).by == Train(coach=7)
    assert journey.with_values(by="foot").by == Walk()
    with pytest.raises(ConfigError, match=r"by\.coach must be"):
        journey.with_values(by={"coach": 0})


def test_the_identity_is_what_json_gives_back():
    config = Journey(extra={"by": ("foot", {3: 1.5})}, rate=1, log="elsewhere")
    expected = {
        "where": "home",
        "seed": 0,
        "rate": 1.0,
        "limit": None,
        "kind": "left",
        "flag": False,
        "extra": {"by": ["foot", {"3": 1.5}]},
        "choice": "mild",
        "by": {"type": "foot", "shoes": "boots"},
        "food": None,
    }
    assert config.identity == expected
    assert config.digest == digest_of(expected) != Journey().digest
    assert config.digest == config.with_values(log="log").digest == config.with_values(rate=1.0).digest
    config.check_same(json.loads(json.dumps(config.identity)))


def test_the_digest_of_values_does_not_depend_on_their_order():
    # printf '{"a": 1, "b": [2.5, "x"]}' | sha256sum
    expected = "d8d7111d14e08d037bcd16ed64072da3dffcc147408b37022833bcbfdf9700ac"
    assert digest_of({"b": [2.5, "x"], "a": 1}) == digest_of({"a": 1, "b": [2.5, "x"]}) == expected


@pytest.mark.parametrize(
    ("now", "then", "message"),
    [
        ({"by": "train"}, {"by": "foot"}, r"by\.type was 'foot' and is 'train'"),
        ({"by": {"type": "train", "coach": 2}}, {"by": "train"}, r"settings: by\.coach was 1 and is 2; use"),
        ({"food": {"meals": 2}}, {}, r"food\.meals was None and is 2"),
        ({}, {"food": {"meals": 2}}, r"food\.meals was 2 and is None"),
        ({"extra": {"a": {}}}, {}, r"extra\.a was None and is \{\}"),
        ({"seed": 3, "rate": 0.25}, {}, r"rate was 0\.5 and is 0\.25, seed was 0 and is 3"),
    ],
)
def test_other_settings_than_those_of_a_checkpoint_are_named(now, then, message):
    with pytest.raises(CheckpointError, match=message):
        Journey(**now).check_same(Journey(**then).identity)


@pytest.mark.parametrize("gone", ["by", "food", "seed"])
def test_what_came_after_a_checkpoint_counts_as_its_default(gone):
    saved = {name: value for name, value in Journey().identity.items() if name != gone}
    Journey().check_same(saved)
    other = {"by": {"type": "train"}, "food": {"meals": 3}, "seed": 1}[gone]
    with pytest.raises(CheckpointError, match=f"{gone}.* was .* and is"):
        Journey(**{gone: other}).check_same(saved)
    inside = Journey(by={"type": "train", "coach": 1}).identity
    del inside["by"]["coach"]
    Journey(by="train").check_same(inside)


def test_what_lies_over_wins_key_by_key_and_another_type_leaves_nothing():
    base = {"seed": 1, "by": {"type": "train", "coach": 4}, "extra": {"a": 1, "b": {"c": 2}}}
    assert merged(base, {"by": {"coach": 5}})["by"] == {"type": "train", "coach": 5}
    assert merged(base, {"by": {"type": "foot"}})["by"] == {"type": "foot"}
    assert merged(base, {"by": "foot"})["by"] == {"type": "foot"}
    assert merged({"by": "train"}, {"by": {"coach": 5}})["by"] == {"type": "train", "coach": 5}
    assert merged(base, {"extra": {"b": {"d": 3}}})["extra"] == {"a": 1, "b": {"c": 2, "d": 3}}
    assert merged(base, {"extra": None})["extra"] is None and base["seed"] == 1


def test_what_is_not_at_its_default():
    journey = Journey(by="train", food={"menu": {"soup": 3.0}}, seed=1, extra={"a": 2})
    assert dict(changed(journey)) == {
        ("seed",): 1,
        ("extra", "a"): 2,
        ("by", "type"): "train",
        ("food", "menu", "soup"): 3.0,
    }


def test_every_setting_is_told():
    paths = [".".join(path) for path, _ in leaves_of(Journey)]
    assert {"by", "by.shoes", "by.coach", "food.meals"} <= set(paths)

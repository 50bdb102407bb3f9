"""The command that fits the reward models: what it writes and prints, and what it refuses."""

from __future__ import annotations

import json

import pytest

from pixelis.cli.tweet_reward import main
from pixelis.envs.tweet.learned.model import load_model

WORDS = ["kettle", "garden", "violin", "harbour", "ladder", "pepper", "winter", "ticket", "saddle", "copper"]


@pytest.fixture
def preferences(tmp_path):
    """Return a file of 300 preferences by 100 authors."""
    path = tmp_path / "preferences.jsonl"
    with path.open("w") as file:
        for number in range(300):
            first, second = WORDS[number % 10], WORDS[number // 10 % 10]
            row = {
                "tweet": f"{first} {second} {number} day {'!' * (number % 3)}",
                "chosen": f"How old is the {first}, and where did the {second} go?",
                "rejected": "Love this so much!!! #win #follow",
                "author": f"author{number % 100}",
            }
            file.write(json.dumps(row) + "\n")
    return path


def test_own_preferences_make_two_models_and_a_report(preferences, tmp_path, capsys):
    held_out = tmp_path / "held_out.jsonl"
    rows = [("Which stove?", "A gas one, or a wood stove?", "good"), ("Which stove?", "Wow!!! #win", "bad")]
    held_out.write_text(
        "\n".join(
            json.dumps({"tweet": tweet, "reply": reply, "label": label}) for tweet, reply, label in rows
        )
    )
    words = ["--output", tmp_path / "out", "--preferences", preferences, "--held-out", held_out]
    assert main([str(word) for word in words]) == 0
    told = capsys.readouterr().out
    for role in ("training", "evaluation"):
        model = load_model(tmp_path / "out" / role, role)
        assert model.facts["dev"]["accuracy"] > 0.95
        assert f"{role}: {model.facts['pairs']} pairs, {model.facts['dev_pairs']} dev" in told
    for name in ("robust", "hybrid", "learned", "evaluation"):
        assert f"held out, {name}: pairs 1.000, auc 1.000" in told
    assert "calibration error" in told and "with robust" in told
    assert "| other | 1 | 1.00 | 1.00 | 1.00 | 1.00 |" in told


def test_a_held_out_tweet_must_not_be_among_the_preferences(preferences, tmp_path, capsys):
    row = json.loads(preferences.read_text().splitlines()[0])
    held_out = tmp_path / "held_out.jsonl"
    held_out.write_text(json.dumps({"tweet": row["tweet"].upper(), "reply": "x", "label": "bad"}))
    words = ["--output", tmp_path / "out", "--preferences", preferences, "--held-out", held_out]
    assert main([str(word) for word in words]) == 2
    assert "expected held-out tweets that are not among the preferences" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "--output is needed"),
        (["--output", "x", "--preferences", "nowhere.jsonl"], "got nothing"),
        (["--output", "x", "--preferences", "a", "--tweets", "b"], "exclude each other"),
        (["--output", "x", "--seed", "-1"], "seed must be"),
        (["--ouput", "x"], "Did you mean '--output'?"),
    ],
)
def test_wrong_words_are_one_line(words, told, capsys):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1

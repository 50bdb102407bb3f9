"""The shipped text model: it loads by name, is as small as it says, plays three environments with flaws."""

from __future__ import annotations

import pytest

from pixelis.agents import Policy, evaluate
from pixelis.agents.models.named_models import MINI_NAME, shipped_folder
from pixelis.envs.tweet.data.seed_data import SEED_TWEETS

# Least success of 48 held-out tasks, sampled: docs/reference/pixelis_mini.md less some three deviations.
FLOORS = {
    "Pixelis/WebBrowse-v0": ({"max_turns": 6}, 0.15),
    "Pixelis/CodeProblem-v0": ({"max_turns": 1}, 0.15),
    "Pixelis/TweetReply-v0": ({"max_turns": 1}, 0.06),
}


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy.load("pixelis-mini", device="cpu")


def test_it_is_small_and_ships_with_the_package(policy):
    assert sum(file.stat().st_size for file in shipped_folder(MINI_NAME).iterdir()) <= 12_000_000
    assert sum(weight.numel() for weight in policy.model.parameters()) <= 6_000_000
    assert not policy.chat.sees_images and policy.max_context == 2048


def test_its_tokenizer_gives_back_every_text_and_leaves_tools_out_of_the_prompt(policy):
    chat = policy.chat
    text = SEED_TWEETS.read_text(encoding="utf-8")[:20_000] + ' e99@v12] {"x": "ß"}\n\n\t 😀'
    assert chat.tokenizer.decode(chat.tokenizer(text)["input_ids"]) == text
    tools = [{"type": "function", "function": {"name": "CLICK", "parameters": {}}}]
    assert list(chat.first("Page: x", tools=tools).tokens) == list(chat.first("Page: x").tokens)
    assert chat.append_only


@pytest.mark.parametrize("env", FLOORS)
def test_it_plays_and_has_something_to_learn(policy, env):
    env_kwargs, floor = FLOORS[env]
    result = evaluate(policy, env=env, episodes=48, mode="sampled", env_kwargs=env_kwargs, seed=1)
    assert floor <= result.success_rate < 0.85


@pytest.mark.parametrize(
    ("env", "difficulty", "said"),
    [
        ("Pixelis/WebBrowse-v0", 1, None),
        ("Pixelis/WebBrowse-v0", 4, "taught Pixelis/WebBrowse-v0 at difficulty 0 and 1, not 4: it plays"),
        ("Pixelis/SizeCompare-v0", 0, "not Pixelis/SizeCompare-v0: expect little"),
    ],
)
def test_it_says_so_where_it_plays_what_it_was_not_taught(env, difficulty, said, caplog):
    result = evaluate(
        "pixelis-mini", env=env, episodes=2, mode="greedy", env_kwargs={"difficulty": difficulty}
    )
    assert result.episodes == 2
    assert (said is None and "taught" not in caplog.text) or said in caplog.text

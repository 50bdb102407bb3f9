"""Collected episodes: scored as transformers scores them, alone as in a batch, whatever the envs do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import gymnasium as gym
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.rollout.collector import Collector, EpisodeRequest, collect
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.errors import ConfigError, PixelisError

SETTINGS = SamplingSettings(max_new_tokens=12)
# Three groups of three members that play 2, 3 and 4 turns: rows of many lengths, which leave one by one.
REQUESTS = [
    EpisodeRequest(seed=10 + group, group=group, member=member, options={"turns": 2 + member})
    for group in range(3)
    for member in range(3)
]


def full_forward_logprobs(policy: Policy, episode: Episode, temperature: float = 1.0) -> np.ndarray:
    """Score an episode with one forward of transformers' own model: no cache, no batch, no positions."""
    ids = torch.from_numpy(episode.tokens)[None]
    with torch.no_grad():
        logits = policy.model(input_ids=ids, **episode.images).logits[0].double() / temperature
    logits[:, list(policy.chat.placeholder_ids)] = -torch.inf
    scores = torch.log_softmax(logits[:-1], -1).gather(-1, ids[0, 1:, None])[:, 0].numpy()
    return np.where(episode.loss_mask, np.concatenate([[0.0], scores]), 0.0)


def same(one: Episode, other: Episode) -> bool:
    return (
        np.array_equal(one.tokens, other.tokens) and one.reward == other.reward and one.turns == other.turns
    )


@pytest.fixture(scope="module")
def adapted(vision_folder) -> Policy:
    policy = Policy.load(vision_folder, device="cpu", lora=LoraSettings(rank=2))
    torch.manual_seed(7)
    with torch.no_grad():
        for parameter in policy.trainable_parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return policy


@pytest.mark.parametrize("temperature", [1.0, 1.7])
@pytest.mark.parametrize("kind", ["text_policy", "vision_policy", "adapted"])
def test_sampled_logprobs_equal_a_full_forward(
    kind: str, temperature: float, request: pytest.FixtureRequest, counting_env: Callable[..., gym.Env]
):
    policy = request.getfixturevalue(kind)
    pictures = kind != "text_policy"
    settings = SamplingSettings(max_new_tokens=12, temperature=temperature)
    episodes = collect(policy, lambda: counting_env(pictures=pictures), REQUESTS, settings, 0)
    assert len({len(episode) for episode in episodes}) > 3  # rows of different lengths
    scored = policy.logprobs(episodes, temperature).logprobs.detach().numpy()
    for row, episode in enumerate(episodes):
        expected = full_forward_logprobs(policy, episode, temperature)
        assert np.abs(episode.logprobs - expected).max() < 1e-4
        assert np.abs(scored[row, : len(episode)] - expected).max() < 1e-4
        with_images = [index for index, segment in enumerate(episode.segments) if segment.images]
        new_views = [0, 4] if episode.turns > 2 else [0]  # at reset and after the second turn
        assert with_images == (new_views if pictures else [])


def test_an_episode_is_the_same_alone_and_in_a_batch(
    vision_policy: Policy, counting_env: Callable[..., gym.Env]
):
    with Collector(lambda: counting_env(pictures=True)) as collector:
        together = collector.collect(vision_policy, REQUESTS, SETTINGS, 4)
        reversed_order = collector.collect(vision_policy, REQUESTS[::-1], SETTINGS, 4)[::-1]
        for index in (0, 4, 8):
            (alone,) = collector.collect(vision_policy, [REQUESTS[index]], SETTINGS, 4)
            assert same(alone, together[index])
        other_seed = collector.collect(vision_policy, REQUESTS, SETTINGS, 5)
    assert all(same(one, other) for one, other in zip(together, reversed_order, strict=True))
    assert not any(same(one, other) for one, other in zip(together, other_seed, strict=True))
    members = [episode.tokens[episode.loss_mask][:6].tolist() for episode in together[:3]]
    assert members[0] != members[1] != members[2]  # one prompt, three generators


@given(data=st.data())
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_batch_no_order_and_no_thread_changes_an_episode(
    data: st.DataObject, text_policy: Policy, counting_env: Callable[..., gym.Env]
):
    """Any selection in any order, envs that answer in any order, some that fail: the tokens stay."""
    expected = collect(text_policy, counting_env, REQUESTS, SETTINGS, 4)
    rows = data.draw(st.lists(st.integers(0, 8), min_size=1, max_size=9, unique=True), "rows")
    threads = data.draw(st.integers(1, 4), "threads")
    pauses = data.draw(st.lists(st.sampled_from([0.0, 0.002]), min_size=9, max_size=9), "pauses")
    broken = data.draw(st.sampled_from([*rows, None]), "broken")
    lost = REQUESTS[broken].seed if broken is not None else None

    class Odd(counting_env):  # type: ignore[misc, valid-type]
        def step(self, action):
            time.sleep(pauses[(self.resets + self.turn + len(action)) % 9])
            return super().step(action)

        def reset(self, *, seed=None, options=None):
            if seed == lost:
                raise RuntimeError("lost")
            return super().reset(seed=seed, options=options)

    with Collector(Odd, env_threads=threads) as collector:
        episodes = collector.collect(text_policy, [REQUESTS[row] for row in rows], SETTINGS, 4)
    for row, episode in zip(rows, episodes, strict=True):
        assert same(episode, expected[row]) if REQUESTS[row].seed != lost else not episode.valid_for_training


def test_greedy_members_agree(text_policy: Policy, counting_env: Callable[..., gym.Env]):
    requests = [EpisodeRequest(3, 0, member) for member in range(3)]
    greedy = SamplingSettings(max_new_tokens=6, greedy=True)
    episodes = collect(text_policy, counting_env, requests, greedy, 0)
    assert same(episodes[0], episodes[1]) and same(episodes[0], episodes[2])
    for episode in episodes:
        assert np.abs(episode.logprobs - full_forward_logprobs(text_policy, episode)).max() < 1e-4


def test_the_record_holds_what_the_env_said(text_policy: Policy, counting_env: Callable[..., gym.Env]):
    (episode,) = collect(text_policy, counting_env, [EpisodeRequest(1, 6, 2, {"turns": 3})], SETTINGS, 0)
    actions = [text_policy.chat.action(segment.tokens) for segment in episode.segments if segment.sampled]
    assert (episode.seed, episode.group, episode.member, episode.env_id) == (1, 6, 2, "CountingEnv")
    assert (episode.turns, episode.reward, episode.terminated, episode.truncated) == (3, 1.5, True, False)
    assert episode.success == ("e" in actions[-1])
    assert episode.reward_terms == {"length": float(sum(map(len, actions)))}
    assert episode.tool_calls == [{"tool": "ECHO", "ok": True}] * 3
    assert [segment.sampled for segment in episode.segments] == [False, True] * 3
    assert episode.segments[2].text.endswith(
        f"turn 1: {text_policy.chat.harmless(actions[0][:1])}<|end|><|assistant|>"
    )


def test_a_turn_is_closed_exactly_once(text_policy: Policy, counting_env: Callable[..., gym.Env]):
    end = text_policy.chat.end_of_turn_id
    requests = [EpisodeRequest(seed, seed) for seed in range(30)]
    episodes = collect(text_policy, counting_env, requests, SamplingSettings(max_new_tokens=30), 0)
    finished = [
        (segment.tokens[-1] == end, after.tokens[0] == end)
        for episode in episodes
        for segment, after in zip(episode.segments[1::2], episode.segments[2::2], strict=False)
    ]
    assert all(by_policy != by_template for by_policy, by_template in finished)
    assert {by_policy for by_policy, _ in finished} == {True, False}  # both happened
    for episode in episodes:  # what the template had to close was cut, and so may the last turn be
        cut = [segment.tokens[-1] != end for segment in episode.segments[1::2]]
        assert episode.cut_turns == sum(cut)
        reasons = [segment.finish_reason for segment in episode.segments]
        assert reasons[1::2] == ["length" if each else "stop" for each in cut]
        assert set(reasons[::2]) == {None}


def test_turns_say_which_weights_sampled_them(text_policy: Policy, counting_env: Callable[..., gym.Env]):
    try:
        for version in (0, 7):
            text_policy.weights_version = version
            for episode in collect(text_policy, counting_env, REQUESTS, SETTINGS, 0):
                told = [segment.weights_version for segment in episode.segments]
                assert told == [version if segment.sampled else None for segment in episode.segments]
                assert episode.weights_versions == {version}
    finally:
        text_policy.weights_version = 0


def test_prompts_are_read_once_a_group_and_history_never_again(
    vision_policy: Policy, counting_env: Callable[..., gym.Env]
):
    with Collector(lambda: counting_env(pictures=True)) as collector:
        episodes = collector.collect(vision_policy, REQUESTS, SETTINGS, 0)
        stats = collector.stats
    prompts = sum(len(episodes[leader].segments[0]) for leader in (0, 3, 6))
    later = [segment for episode in episodes for segment in episode.segments[1:] if not segment.sampled]
    assert stats.prefilled_tokens == prompts + sum(
        len(segment) + 1 for segment in later
    )  # + the turn's last token
    assert stats.generated_tokens == sum(episode.completion_length for episode in episodes)
    assert (stats.episodes, stats.turns, stats.failed_episodes, stats.forks) == (9, 27, 0, 0)
    assert stats.generation_seconds > 0 and stats.env_seconds > 0


def test_members_that_start_differently_do_not_share_a_prompt(
    text_policy: Policy, counting_env: Callable[..., gym.Env]
):
    requests = [EpisodeRequest(seed, group=0, member=seed) for seed in range(4)]  # one group, four tasks
    episodes = collect(text_policy, counting_env, requests, SETTINGS, 0)
    for episode, request in zip(episodes, requests, strict=True):
        (alone,) = collect(text_policy, counting_env, [request], SETTINGS, 0)
        assert same(episode, alone)


@pytest.mark.parametrize("broken", ["reset", "step"])
def test_an_env_that_raises_ends_its_own_episode(
    broken: str, text_policy: Policy, counting_env: Callable[..., gym.Env]
):
    made: list[gym.Env] = []

    def factory() -> gym.Env:
        made.append(counting_env(broken=broken if len(made) == 1 else ""))
        return made[-1]

    requests = [EpisodeRequest(seed, seed) for seed in range(3)]
    with Collector(factory) as collector:
        good, bad, other = collector.collect(text_policy, requests, SETTINGS, 0)
        assert collector.stats.failed_episodes == 1
        assert not bad.valid_for_training and bad.failure_reason is not None
        assert f"{broken} raised RuntimeError" in bad.failure_reason
        assert bad.turns == (0 if broken == "reset" else 1)
        assert made[1].closed == 1  # not trusted again
        again = collector.collect(text_policy, requests, SETTINGS, 0)
        assert len(made) == 4 and all(episode.valid_for_training for episode in again)
    assert good.valid_for_training and other.valid_for_training
    assert same(good, again[0]) and same(other, again[2])
    assert [env.closed for env in made] == [1, 1, 1, 1]


def test_an_env_that_reports_a_failure_is_masked(text_policy: Policy, counting_env: Callable[..., gym.Env]):
    class Reporting(counting_env):
        def step(self, action):
            observation, reward, over, truncated, info = super().step(action)
            return (
                observation,
                reward,
                over,
                truncated,
                {**info, "valid_for_training": False, "failure_reason": "proxy"},
            )

    (episode,) = collect(text_policy, Reporting, [EpisodeRequest(0)], SETTINGS, 0)
    assert (episode.valid_for_training, episode.failure_reason, episode.turns) == (False, "proxy", 1)


def test_a_wrong_option_is_the_callers_mistake(text_policy: Policy, letter_env: Callable[..., gym.Env]):
    with pytest.raises(PixelisError, match="spilt"):
        collect(text_policy, letter_env, [EpisodeRequest(0, options={"spilt": "test"})], SETTINGS, 0)


def test_observations_without_text_fail_their_episode(text_policy: Policy):
    (episode,) = collect(text_policy, "CartPole-v1", [EpisodeRequest(0)], SETTINGS, 0)
    assert not episode.valid_for_training
    assert episode.failure_reason.startswith(
        "reset returned the observation ndarray, expected a dict whose 'text'"
    )


def test_envs_are_made_once_and_threads_change_nothing(
    text_policy: Policy, counting_env: Callable[..., gym.Env]
):
    made: list[gym.Env] = []

    def factory() -> gym.Env:
        made.append(counting_env())
        return made[-1]

    with Collector(factory) as single:
        first = single.collect(text_policy, REQUESTS, SETTINGS, 0)
        single.collect(text_policy, REQUESTS, SETTINGS, 1)
    assert len(made) == len(REQUESTS)
    assert sum(env.resets for env in made) == 2 * len(REQUESTS)
    with Collector(counting_env, env_threads=4) as threaded:
        second = threaded.collect(text_policy, REQUESTS, SETTINGS, 0)
    assert all(same(one, other) for one, other in zip(first, second, strict=True))
    with pytest.raises(ConfigError, match="env_threads"):
        Collector(counting_env, env_threads=0)


@pytest.mark.parametrize(("says", "expected"), [(True, 2), (False, 1)])
def test_without_a_number_as_many_threads_step_as_the_envs_allow(text_policy, counting_env, says, expected):
    stepped = set()

    class Safe(counting_env):
        plays_in_threads = says

        def step(self, action):
            stepped.add(threading.get_ident())
            time.sleep(0.001)
            return super().step(action)

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with Collector(Safe) as collector:
            episodes = collector.collect(text_policy, REQUESTS, SETTINGS, 0)
    finally:
        torch.set_num_threads(before)
    assert len(stepped) == expected
    with Collector(counting_env, env_threads=1) as collector:
        alone = collector.collect(text_policy, REQUESTS, SETTINGS, 0)
    assert [len(one) for one in episodes] == [len(one) for one in alone]


def test_a_full_context_truncates_the_episode(make_text_policy, counting_env: Callable[..., gym.Env]):
    policy = make_text_policy(max_position_embeddings=60)
    requests = [EpisodeRequest(seed, seed, options={"turns": 9}) for seed in range(4)]
    for episode in collect(policy, counting_env, requests, SamplingSettings(max_new_tokens=25), 0):
        assert len(episode) <= 60 and 0 < episode.turns < 9
        assert episode.truncated and not episode.terminated and episode.valid_for_training
        assert episode.segments[-1].sampled
        assert np.abs(episode.logprobs - full_forward_logprobs(policy, episode)).max() < 1e-4


def test_a_prompt_that_does_not_fit_is_no_crash(make_text_policy, counting_env: Callable[..., gym.Env]):
    policy = make_text_policy(max_position_embeddings=8)
    (episode,) = collect(policy, counting_env, [EpisodeRequest(0)], SETTINGS, 0)
    assert episode.truncated and not episode.valid_for_training and episode.turns == 0
    assert "context of 8" in (episode.failure_reason or "")


def test_an_architecture_with_a_sliding_window_reads_its_history_again(
    make_text_policy, counting_env: Callable[..., gym.Env]
):
    policy = make_text_policy(use_sliding_window=True, sliding_window=16, max_window_layers=0)
    assert not policy.shares_prefixes
    with Collector(counting_env) as collector:
        episodes = collector.collect(policy, REQUESTS, SETTINGS, 0)
        (alone,) = collector.collect(policy, [REQUESTS[4]], SETTINGS, 0)
    assert same(alone, episodes[4])
    for episode in episodes:
        assert len(episode) > 16
        assert np.abs(episode.logprobs - full_forward_logprobs(policy, episode)).max() < 1e-4


def test_forks_are_counted_where_the_template_rewrites_history(
    make_text_policy, counting_env: Callable[..., gym.Env]
):
    policy = make_text_policy(
        "{%- for m in messages -%}<|{{ m['role'] }}|>"
        "{{ 'NEW: ' if loop.last else '' }}{{ m['content'] }}<|end|>{%- endfor -%}"
        "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
    )
    with Collector(counting_env) as collector:
        collector.collect(policy, [EpisodeRequest(0, options={"turns": 3})], SETTINGS, 0)
        assert collector.stats.forks == 2


def test_no_requests_no_episodes(text_policy: Policy, counting_env: Callable[..., gym.Env]):
    assert collect(text_policy, counting_env, [], SETTINGS, 0) == []


def test_half_precision_plays_and_scores_alike(vision_folder, counting_env: Callable[..., gym.Env]):
    policy = Policy.load(vision_folder, device="cpu", dtype="bfloat16", lora=LoraSettings(rank=2))
    episodes = collect(policy, lambda: counting_env(pictures=True), REQUESTS, SETTINGS, 0)
    scored = policy.logprobs(episodes).logprobs.detach().numpy()
    for row, episode in enumerate(episodes):
        assert np.abs(scored[row, : len(episode)] - episode.logprobs).max() < 0.2  # bfloat16 has 8 bits

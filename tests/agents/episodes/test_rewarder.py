"""Reward terms in a rollout pay what the wrappers pay for the same actions, whatever ends an episode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest

from pixelis.agents.episodes.rewarder import Rewarder
from pixelis.agents.episodes.timed_env import TimedEnv
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.collector import Collector, EpisodeRequest
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.errors import RewardError
from pixelis.rewards.stack.stack import build_stack
from pixelis.rewards.terms.traits import RewardTraits
from pixelis.wrappers import wrap

SETTINGS = SamplingSettings(max_new_tokens=8)
ALONE = {"orchestrate": False, "coherence": {"weight": 0.5, "encoder": "hashed"}, "penalty": {}}
TOGETHER = {"coherence": {"encoder": "hashed"}, "curiosity": {}, "penalty": {}, "warmup": 2, "task_gap": 1.0}


@pytest.fixture
def nearing_env(counting_env):
    """A plain environment that comes nearer its goal by a fixed share of half of the way each turn."""

    class Nearing(counting_env):
        reward_traits = RewardTraits(1.0, has_progress=True)

        def progress(self):
            if self.broken == "progress" and self.turn == 2:
                raise RuntimeError("nobody knows")
            return 0.5 * self.turn / self.length

    return Nearing


def requests(turns: int = 3) -> list[EpisodeRequest]:
    return [EpisodeRequest(seed, seed, 0, {"turns": turns + seed % 2}) for seed in range(4)]


def collect(policy: Policy, env: Callable[[], gym.Env[Any, Any]], values: Any):
    stack = build_stack(values)
    with Collector(env, rewarder=Rewarder(stack)) as collector:
        episodes = collector.collect(policy, requests(), SETTINGS, 3)
    stack.learn()
    return episodes, stack


def replayed(env: gym.Env[Any, Any], policy: Policy, episode) -> tuple[list[float], dict[str, Any]]:
    """Play an episode's actions again; return the rewards and the last info."""
    env.reset(seed=episode.seed, options={"turns": 3 + episode.seed % 2})
    rewards, info = [], {}
    for segment in episode.segments:
        if segment.sampled:
            _, reward, _, _, info = env.step(policy.chat.action(segment.tokens))
            rewards.append(float(reward))
    return rewards, info


def test_terms_pay_what_their_wrappers_pay(text_policy: Policy, counting_env):
    episodes, _ = collect(text_policy, counting_env, ALONE)
    for episode in episodes:
        rewards, _ = replayed(wrap(counting_env(), ALONE), text_policy, episode)
        assert episode.turn_rewards == pytest.approx(rewards, abs=1e-12)
        assert episode.reward == pytest.approx(sum(rewards))
        assert set(episode.reward_parts) == {"task", "coherence", "penalty"}
        assert episode.reward_parts["task"]["raw"] == pytest.approx(0.5 * episode.turns)
        for name in ("coherence", "penalty"):  # what each step says of its terms comes to the episode's
            by_turn = [exchange.terms.get(name, 0.0) for exchange in episode.exchanges]
            assert sum(by_turn) == pytest.approx(episode.reward_parts[name]["raw"])


def test_an_orchestrator_pays_at_the_end(text_policy: Policy, counting_env):
    episodes, stack = collect(text_policy, counting_env, TOGETHER)
    env = wrap(counting_env(), TOGETHER)
    rewards, info = replayed(env, text_policy, episodes[0])
    assert episodes[0].turn_rewards == pytest.approx(rewards, abs=1e-9)
    assert rewards[:-1] == [0.0] * (len(rewards) - 1)
    for name, part in episodes[0].reward_parts.items():
        assert part == pytest.approx(info["reward_parts"][name], abs=1e-9)
    assert stack.orchestrator is not None
    assert stack.orchestrator.update() == {}  # learn took the episodes in


@pytest.mark.parametrize("values", [{"orchestrate": False, "progress": {}}, {"progress": {}}])
@pytest.mark.parametrize("timeout", [None, 30.0])
def test_progress_is_asked_of_every_environment(text_policy: Policy, nearing_env, values, timeout):
    def env() -> gym.Env[Any, Any]:
        return nearing_env() if timeout is None else TimedEnv(nearing_env, timeout)

    episodes, _ = collect(text_policy, env, values)
    for episode in episodes:
        length = 3 + episode.seed % 2
        gained = [0.25 / length] * (length - 1) + [-0.25 * (length - 1) / length]
        rewards, _ = replayed(wrap(nearing_env(), values), text_policy, episode)
        assert episode.turn_rewards == pytest.approx(rewards, abs=1e-12)
        assert episode.turn_rewards[:-1] == pytest.approx(
            [each + 0.5 * (not values.get("orchestrate", True)) for each in gained[:-1]]
        )
        assert episode.reward == pytest.approx(0.5 * length)


def test_an_environment_that_fails_to_tell_its_progress_fails_its_episode(text_policy: Policy, nearing_env):
    made: list[gym.Env[Any, Any]] = []

    def env() -> gym.Env[Any, Any]:
        made.append(nearing_env(broken="progress" if len(made) == 1 else ""))
        return made[-1]

    episodes, _ = collect(text_policy, env, {"progress": {}})
    assert [episode.valid_for_training for episode in episodes] == [True, False, True, True]
    assert episodes[1].failure_reason == "progress raised RuntimeError: nobody knows"


def test_all_episodes_of_a_rollout_are_paid_by_the_same_measure(text_policy: Policy, counting_env):
    # equal seeds, actions and statistics: equal pay, however many have ended before
    stack = build_stack(TOGETHER)
    twins = [EpisodeRequest(5, 0, member, {"turns": 3}) for member in range(3)]
    greedy = SamplingSettings(max_new_tokens=8, greedy=True)
    with Collector(counting_env, rewarder=Rewarder(stack)) as collector:
        for _ in range(2):
            episodes = collector.collect(text_policy, twins, greedy, 0)
            assert len({episode.reward for episode in episodes}) == 1
            stack.learn()


def test_an_episode_that_a_full_context_ends_is_paid(make_text_policy, counting_env):
    policy = make_text_policy(max_position_embeddings=60)
    episodes, _ = collect(policy, counting_env, TOGETHER)
    assert any(episode.truncated and episode.turns < 3 for episode in episodes)
    for episode in episodes:
        assert episode.reward_parts["task"]["raw"] == pytest.approx(0.5 * episode.turns)
        assert episode.turn_rewards[-1] == pytest.approx(episode.reward)


def test_a_failed_episode_is_not_paid_and_the_others_are(text_policy: Policy, counting_env):
    made: list[gym.Env[Any, Any]] = []

    def env() -> gym.Env[Any, Any]:
        made.append(counting_env(broken="step" if len(made) == 1 else ""))
        return made[-1]

    episodes, _ = collect(text_policy, env, TOGETHER)
    assert [episode.valid_for_training for episode in episodes] == [True, False, True, True]
    assert [bool(episode.reward_parts) for episode in episodes] == [True, False, True, True]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("values", [None, TOGETHER])
def test_a_reward_that_is_no_number_fails_its_episode(text_policy: Policy, counting_env, value, values):
    class Odd(counting_env):
        def step(self, action):
            observation, reward, *rest = super().step(action)
            return observation, value if self.turn == 2 else reward, *rest

    rewarder = None if values is None else Rewarder(build_stack(values))
    with Collector(Odd, rewarder=rewarder) as collector:
        for episode in collector.collect(text_policy, requests(), SETTINGS, 3):
            assert not episode.valid_for_training and episode.turns == 2
            assert (
                episode.failure_reason == f"task: step returned the reward {value}, expected a finite number"
            )


def test_an_env_without_tool_calls_is_told(text_policy: Policy, counting_env):
    class Silent(counting_env):
        def step(self, action):
            *rest, info = super().step(action)
            info.pop("tool_calls")
            return *rest, info

    with pytest.raises(RewardError, match=r"penalty: info has no 'tool_calls'"):
        collect(text_policy, Silent, {"penalty": {}})

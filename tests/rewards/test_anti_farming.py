"""No shipped weights pay for farming: on ZoomRead, no failure outscores a success, and no exploit the oracle.

Every policy plays the real environment once; the recorded steps are then scored under every weight set that
is shipped: with curiosity itself, and with a novelty that no other episode makes less, so worse than any
curiosity that learns.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from pixelis.envs.pixel.zoom_read.env import ZoomReadEnv
from pixelis.envs.pixel.zoom_read.players import FixedTurns, answer, call
from pixelis.rewards.stack.orchestrator import Orchestrator, OrchestratorSettings
from pixelis.rewards.stack.stack import RewardStack
from pixelis.rewards.stack.stages import SHIPPED
from pixelis.rewards.terms.registry import make_term
from pixelis.rewards.terms.term import Transition
from pixelis.rewards.terms.weights import ALONE_WEIGHTS, ORCHESTRATED_WEIGHTS
from pixelis.wrappers import wrap

SEEDS = range(4)
TURNS = 8
EXPLOITS = {
    "idle": [""] * TURNS,
    "think_spam": [call("THINK", thought=f"thought {turn}") * 8 for turn in range(TURNS)],
    "think_then_answer": [call("THINK", thought=f"{turn}") * 16 for turn in range(TURNS - 1)]
    + [answer("AAAA")],
    "pair_bonus": [
        call("ZOOM", center=[0.1 + 0.1 * turn, 0.5], factor=3) + call("READ_TEXT") for turn in range(TURNS)
    ],
    "pair_bonus_then_answer": [
        *[call("ZOOM", center=[0.1 + 0.1 * turn, 0.3], factor=3) + call("READ_TEXT") for turn in range(3)],
        answer("ABCD"),
    ],
    "alternate_two_tools": [call("ZOOM", center=[0.5, 0.5], factor=4) + call("READ_TEXT")] * TURNS,
    "segment_and_measure": [call("SEGMENT") + call("GET_PROPERTIES", region=1) for _ in range(TURNS)],
    "zoom_in_and_out": [call("ZOOM", center=[0.5, 0.5], factor=2 + 5 * (turn % 2)) for turn in range(TURNS)],
    "zoom_everywhere": [
        call("ZOOM", center=[0.1 + 0.1 * turn, 0.9 - 0.1 * turn], factor=6) for turn in range(TURNS)
    ],
    "answer_early": [answer("KT47")],
    "answer_late": [call("SEGMENT")] * (TURNS - 1) + [answer("KT47")],
}


class Novelty:
    """1 for each observation that this episode has not shown before: the greediest curiosity there can be.

    Equal pictures must be one object.
    """

    name = "curiosity"

    def begin(self):
        return set()

    def score(self, steps):
        values = []
        for seen, step in steps:
            key = (step.next_observation["text"], id(step.next_observation["image"]))
            values.append(float(key not in seen))
            seen.add(key)
        return values

    def learn(self):
        return {}

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


@dataclass(frozen=True)
class Played:
    policy: str
    steps: tuple[tuple[Transition, float], ...]
    success: bool


def play(env, name, policy, seed, pictures):
    """Return an episode; equal pictures are one object, so that the episodes fit into memory."""

    def kept(observation):
        picture = observation["image"]
        return {**observation, "image": pictures.setdefault(picture.tobytes(), picture)}

    observation, info = env.reset(seed=seed)
    observation = kept(observation)
    steps, ended = [], False
    while not ended:
        before, action = observation, policy.act(observation, info)
        observation, reward, terminated, truncated, info = env.step(action)
        observation = kept(observation)
        ended = terminated or truncated
        calls = tuple(info["tool_calls"])
        steps.append((Transition(before, action, observation, calls, terminated, truncated), reward))
    return Played(name, tuple(steps), info["success"])


@pytest.fixture(scope="module")
def played():
    env, pictures = ZoomReadEnv(reader="truth", difficulty=1, max_turns=TURNS), {}
    makers = {name: lambda _, turns=turns: FixedTurns(turns) for name, turns in EXPLOITS.items()}
    makers |= env.players()
    return [play(env, name, make(env), seed, pictures) for name, make in makers.items() for seed in SEEDS]


def zoom_read_stack(*given):
    """Return a stack that knows the environment's tools, as every wrapper and trainer lets it."""
    stack = RewardStack(*given)
    stack.adapt(ZoomReadEnv(reader="truth").reward_traits)
    return stack


def scored(stack, episodes):
    """Return the shaped return of each episode, all by the statistics as they are."""
    memories = [stack.begin() for _ in episodes]
    returns = np.zeros(len(episodes))
    for turn in range(TURNS):
        live = [place for place, episode in enumerate(episodes) if turn < len(episode.steps)]
        batch = [(memories[place], *episodes[place].steps[turn]) for place in live]
        for place, one in zip(live, stack.score(batch), strict=True):
            returns[place] += one.reward
    return returns


def weight_sets():
    """Return every shipped set of weights under an orchestrator: the plain one and each stage's."""
    sets = {"default": dict(ORCHESTRATED_WEIGHTS)}
    for kind, values in SHIPPED.items():
        for name, stage in values["stages"].items():
            sets[f"{kind}/{name}"] = {**ORCHESTRATED_WEIGHTS, **stage["weights"]}
    return sets


NOVELTIES = {"greedy": Novelty, "learnt": lambda: make_term("curiosity")}


def terms(novelty):
    return [NOVELTIES[novelty](), make_term("coherence"), make_term("penalty")]


def check(returns, episodes):
    success = np.array([episode.success for episode in episodes])
    assert success.any() and not success.all()
    assert returns[~success].max() < returns[success].min()
    names = np.array([episode.policy for episode in episodes])
    means = {name: returns[names == name].mean() for name in set(names)}
    exploits = [name for name in means if name.startswith("exploit_") or name in EXPLOITS]
    assert len(exploits) >= len(EXPLOITS) + 5
    exploits += ["nothing", "random"]
    assert max(means[name] for name in exploits) < means["oracle"]


def test_the_policies_do_what_they_are_for(played):
    assert all(episode.success for episode in played if episode.policy == "oracle")
    assert not any(episode.success for episode in played if episode.policy in EXPLOITS)
    novel = zoom_read_stack([Novelty()], None, {"curiosity": 1.0})
    best = {episode.policy: value for episode, value in zip(played, scored(novel, played), strict=True)}
    assert best["zoom_everywhere"] == 1.0
    pairs = zoom_read_stack([make_term("coherence")], None, {"coherence": 1.0})
    best = {episode.policy: value for episode, value in zip(played, scored(pairs, played), strict=True)}
    assert best["pair_bonus"] == pytest.approx(0.2)  # as coherent as the oracle
    assert best["oracle"] == pytest.approx(0.2 + 1.0)
    assert best["alternate_two_tools"] < 0.0
    assert best["idle"] == -0.5


@pytest.mark.parametrize("name", weight_sets())
@pytest.mark.parametrize("normalise_task", [False, True])
@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("novelty", NOVELTIES)
def test_under_an_orchestrator(played, name, normalise_task, warm, novelty):
    settings = OrchestratorSettings(normalise_task=normalise_task)
    stack = zoom_read_stack(terms(novelty), Orchestrator(weight_sets()[name], settings))
    if warm:
        scored(stack, played)
        stack.learn()
    check(scored(stack, played), played)


SUBSETS = [names for size in (1, 2, 3) for names in itertools.combinations(ALONE_WEIGHTS, size)]


@pytest.mark.parametrize("names", SUBSETS, ids="+".join)
@pytest.mark.parametrize("novelty", NOVELTIES)
def test_without_an_orchestrator(played, names, novelty):
    chosen = [term for term in terms(novelty) if term.name in names]
    stack = zoom_read_stack(chosen, None, {name: ALONE_WEIGHTS[name] for name in names})
    check(scored(stack, played), played)


def test_an_exploit_bores_while_it_is_repeated(played):
    """Whatever novelty an exploit finds, it finds less of it each time."""
    term = make_term("curiosity")
    steps = [step for one in played if one.policy == "zoom_in_and_out" for step, _ in one.steps]
    worth = []
    for _ in range(12):
        worth.append(sum(term.score([(term.begin(), step) for step in steps])))
        term.learn()
    assert worth[-1] < 0.2 * worth[0]


def test_farming_would_pay_without_these_bounds(played):
    """The same terms simply added up do reward the exploits: what the tests above guard against."""
    term, totals = Novelty(), []
    for episode in played:
        memory = term.begin()
        totals.append(sum(task + term.score([(memory, step)])[0] for step, task in episode.steps))
    means = {
        name: np.mean([total for total, one in zip(totals, played, strict=True) if one.policy == name])
        for name in ("oracle", "zoom_everywhere")
    }
    assert means["zoom_everywhere"] > means["oracle"] + 3


def test_through_the_wrappers_while_the_statistics_move():
    env = ZoomReadEnv(reader="truth", difficulty=1, max_turns=TURNS)
    shaped = wrap(env, {"curiosity": {}, "coherence": {}, "penalty": {}, "warmup": 5})
    won, lost = [], []
    for seed in range(4):
        for name in ("oracle", "idle", "pair_bonus", "answer_early", "oracle"):
            policy = FixedTurns(EXPLOITS[name]) if name in EXPLOITS else env.players()[name](env)
            observation, info = shaped.reset(seed=seed)
            ended, total = False, 0.0
            while not ended:
                observation, reward, terminated, truncated, info = shaped.step(policy.act(observation, info))
                ended, total = terminated or truncated, total + reward
            (won if info["success"] else lost).append(total)
    assert (len(won), len(lost)) == (8, 12)
    assert max(lost) < min(won)

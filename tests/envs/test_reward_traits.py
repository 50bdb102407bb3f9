"""What environments declare to reward terms: the order of their rewards, and what their tools are for."""

from __future__ import annotations

import itertools

import gymnasium as gym
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.envs.check.playing import play
from pixelis.envs.coding.code_problem.env import CodeProblemEnv
from pixelis.envs.players import NothingPlayer
from pixelis.envs.registration import BROWSER_ENVIRONMENTS, ENVIRONMENTS
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import ToolEnv, Verdict
from pixelis.envs.tools import Tool, ToolOutput, Toolset
from pixelis.envs.tweet.tweet_reply.conversation import Conversation, JudgedReply
from pixelis.envs.tweet.tweet_reply.env import GOOD_REPLY, TweetReplyEnv, judge
from pixelis.envs.tweet.tweet_reply.heuristic_reward import HeuristicReward
from pixelis.envs.web.browse.env import WebBrowseEnv
from pixelis.envs.web.browse.reward import WebEpisode, WebRewardConfig, web_terms
from pixelis.envs.web.sites.levels import DIALS
from pixelis.errors import ConfigError
from pixelis.rewards.stack.orchestrator import Orchestrator, OrchestratorSettings
from pixelis.rewards.stack.stack import RewardStack
from pixelis.rewards.stack.stages import SHIPPED
from pixelis.rewards.terms.coherence import CoherenceTerm
from pixelis.rewards.terms.penalties import PenaltyTerm
from pixelis.rewards.terms.term import Transition
from pixelis.rewards.terms.traits import RewardTraits, ToolTraits
from pixelis.rewards.terms.weights import ALONE_WEIGHTS, ORCHESTRATED_WEIGHTS
from pixelis.wrappers import CoherenceReward, RewardOrchestrator, ToolPenalty, wrap

SEEDS = range(2)
OPTIONS = {"Pixelis/CodeProblem-v0": {"mode": "multi"}}
IDS = [entry.id for entry in ENVIRONMENTS]


def make(env_id, **keywords):
    return gym.make(env_id, disable_env_checker=True, **OPTIONS.get(env_id, {}), **keywords).unwrapped


# ---------------------------------------------------------------------- what an oracle is paid


def terms_of(env):
    """Return penalty and coherence of this environment."""
    stack = RewardStack([PenaltyTerm(), CoherenceTerm()])
    stack.adapt(env.reward_traits)
    return stack


def sums(stack, turns):
    """Return the sums of an episode's terms."""
    memory, total = stack.begin(), {"penalty": 0.0, "coherence": 0.0}
    for before, turn in itertools.pairwise(turns):
        observation, _, terminated, truncated, info = turn
        calls = tuple(info["tool_calls"])
        step = Transition(before[0], "", observation, calls, terminated, truncated)
        for name, value in stack.score([(memory, step, 0.0)])[0].terms.items():
            total[name] += value
    return total


@pytest.mark.slow
@pytest.mark.parametrize("env_id", IDS)
def test_no_oracle_is_fined_at_any_difficulty(env_id):
    env = make(env_id)
    stack = terms_of(env)
    for difficulty in env.source.difficulties:
        for seed in SEEDS:
            options = {"difficulty": difficulty, "split": ("train", "test")[seed % 2]}
            turns = play(env, env.players()["oracle"](env), seed, options)
            paid = sums(stack, turns)
            assert turns[-1][4]["success"] and paid["penalty"] == 0.0, (difficulty, seed)
            assert paid["coherence"] >= 0.0, (difficulty, seed)
    env.close()


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bulk", "calendar", "forms", "mail", "settings", "shop", "table", "wiki"])
def test_nor_is_one_that_waits_and_scrolls_on_the_hardest_sites(family):
    hardest = {"difficulty": 5, **dict.fromkeys(DIALS, 3)}
    env = make("Pixelis/WebBrowse-v0", family=family, difficulty=hardest, max_turns=120)
    stack = terms_of(env)
    for seed in range(3):
        paid = sums(stack, play(env, env.players()["oracle"](env), seed))
        assert paid["penalty"] == 0.0 and paid["coherence"] >= 0.0


@pytest.mark.parametrize(
    ("env_id", "levels"), [("Pixelis/WebBrowse-v0", range(2, 6)), ("Pixelis/CodeProblem-v0", range(1, 8))]
)
def test_coherence_means_something_on_sites_and_in_code(env_id, levels):
    """The oracle's is above that of random calls, and neither is always 0."""
    env = make(env_id)
    stack = terms_of(env)
    means = {}
    for name in ("oracle", "random"):
        paid = [
            sums(stack, play(env, env.players()[name](env), seed, {"difficulty": level}))["coherence"]
            for level in levels
            for seed in range(4)
        ]
        means[name] = sum(paid) / len(paid)
    env.close()
    assert means["oracle"] > 0.05 and means["oracle"] > means["random"] + 0.05


def test_penalties_mean_something_there_too():
    env = make("Pixelis/WebBrowse-v0", max_turns=50)
    call = '<tool_call>{"name": "WAIT", "arguments": {}}</tool_call>'
    env.reset(seed=0)
    turns = [env.reset(seed=0)] + [env.step(call) for _ in range(50)]
    turns[0] = (turns[0][0], 0.0, False, False, turns[0][1])
    assert sums(terms_of(env), turns)["penalty"] == pytest.approx(-0.1 * 10 - 0.1)  # 10 too many, no answer


@pytest.mark.parametrize("env_id", ["Pixelis/TweetReply-v0", "Pixelis/CodeProblem-v0"])
def test_without_tools_coherence_is_off_with_a_word(env_id, caplog):
    env = wrap(gym.make(env_id, disable_env_checker=True), {"coherence": {}, "penalty": {}})
    assert "rewards: coherence is off: the environment has no tools" in caplog.text
    env.reset(seed=0)
    info = env.step("<answer>no</answer>")[4]
    assert set(info["reward_parts"]) == {"task", "penalty"} and "coherence" not in info["reward_terms"]
    with pytest.raises(ConfigError, match=r"^coherence: the environment has no tools.*leave this term out"):
        CoherenceReward(gym.make(env_id, disable_env_checker=True))
    with pytest.raises(ConfigError, match=r"coherence is off, .*; a curriculum needs all of its terms"):
        wrap(gym.make(env_id), {"coherence": {}, "curiosity": {}, "curriculum": "steps"})
    env.close()


# ---------------------------------------------------------------------- a plugin's tools


class Boxes:
    family, difficulties = "boxes", range(1)

    def sample(self, rng, difficulty, split):
        return Task(f"{split}-{rng.integers(10**6)}", self.family, 0, split, "Open it.", "yes")


def tool(name, **traits):
    return Tool(
        name, "Does it.", {"properties": {}}, lambda box, given: ToolOutput("Done."), ToolTraits(**traits)
    )


class BoxEnv(ToolEnv[str]):
    """An environment of somebody else: its tools have names that Pixelis does not know, and ZOOM."""

    task_gap = 1.0

    def __init__(self, limits=None):
        tools = [
            tool("UNLOCK", leads_to=["OPEN"]),
            tool("OPEN", requires="UNLOCK", limit=2),
            tool("KNOCK", repeatable=True),
            tool("ZOOM"),
        ]
        if limits is not None:
            self.tool_limits = limits
        super().__init__(
            source=Boxes(),
            toolset=Toolset(tools, lambda task: task.question),
            verifier=lambda task, answer, box: Verdict(answer == "yes", {"task": float(answer == "yes")}),
        )


def says(*names):
    return "".join(f'<tool_call>{{"name": "{name}"}}</tool_call>' for name in names)


@pytest.mark.parametrize(
    ("names", "penalty", "coherence"),
    [
        (["UNLOCK", "OPEN"], 0.0, 0.2),
        (["OPEN", "UNLOCK"], -0.1, -0.3),
        (["UNLOCK", "OPEN", "UNLOCK", "OPEN", "OPEN"], -0.1, (0.2 - 0.5 - 0.5) / 3),
        (["KNOCK"] * 9, 0.0, 0.0),
        (["ZOOM"] * 5, 0.0, -0.5),  # whatever ZOOM is elsewhere, here it has no limit
        (["ZOOM", "READ_TEXT"], 0.0, 0.0),
    ],
)
def test_a_plugins_tools_are_judged_by_what_they_declare(names, penalty, coherence):
    env = wrap(BoxEnv(), {"penalty": {}, "coherence": {}})
    env.reset(seed=0)
    env.step(says(*names))
    info = env.step("<answer>yes</answer>")[4]
    assert info["reward_parts"]["penalty"]["raw"] == pytest.approx(penalty)
    assert info["reward_parts"]["coherence"]["raw"] == pytest.approx(coherence)


def test_an_environments_limits_go_before_its_tools_and_settings_before_both():
    def fined(env, **given):
        env = ToolPenalty(env, **given)
        env.reset(seed=0)
        env.step(says(*["UNLOCK"] * 3, *["OPEN"] * 3))
        return env.step("<answer>yes</answer>")[4]["reward_terms"], env.stack.terms["penalty"].settings.limits

    assert fined(BoxEnv())[1] == {"OPEN": 2}
    assert fined(BoxEnv({"OPEN": 3, "ZOOM": 9}))[1] == {"OPEN": 3, "ZOOM": 9}
    assert fined(BoxEnv({"OPEN": 3}), limits={"OPEN": 7})[1] == {"OPEN": 7}


@pytest.mark.parametrize(
    ("traits", "message"),
    [
        ({"limit": -1}, "limit is an integer"),
        ({"limit": True}, "limit"),
        ({"leads_to": "OPEN"}, "a list of tools"),
    ],
)
def test_bad_traits(traits, message):
    with pytest.raises(ConfigError, match=message):
        ToolTraits(**traits)


# ---------------------------------------------------------------------- the order of success and failure


def test_every_shipped_environment_declares_its_gap():
    for entry in ENVIRONMENTS:
        env = make(entry.id)
        assert env.task_gap is not None and (env.task_gap > 0 or env.success_line is not None)
        assert env.reward_traits == RewardTraits.from_json(env.reward_traits.to_json())
        env.close()
    for entry in BROWSER_ENVIRONMENTS:  # they pay 1 or 0; making one needs no browser, but an address
        module, _, name = entry.entry_point.partition(":")
        assert getattr(__import__(module, fromlist=[name]), name).task_gap == 1.0


def test_an_environment_without_one_is_refused_until_somebody_says_it():
    class Undeclared(BoxEnv):
        task_gap = None

    for build in (RewardOrchestrator, lambda env: wrap(env, {"penalty": {}})):
        with pytest.raises(
            ConfigError, match=r"^the environment declares no task_gap, .*task_gap: 1.0 where"
        ):
            build(Undeclared())
    assert wrap(Undeclared(), {"penalty": {}, "task_gap": 0.25}).stack.orchestrator.task_gap == 0.25
    with pytest.raises(ConfigError, match=r"task_gap: 1 is more than the 0\.5 that the environment declares"):
        wrap(CodeProblemEnv(), {"penalty": {}, "task_gap": 1.0})
    with pytest.raises(ConfigError, match="task_gap: 0 leaves the other components nothing unless"):
        wrap(Undeclared(), {"penalty": {}, "task_gap": 0.0})
    with pytest.raises(ConfigError, match="success_line: expected a finite number or None"):
        wrap(Undeclared(), {"penalty": {}, "task_gap": 0.0, "success_line": "half"})


def test_a_gap_below_one_half_shrinks_shipped_weights_without_an_orchestrator():
    alone = {"orchestrate": False, "penalty": {}}
    env = wrap(CodeProblemEnv(partial_credit=0.9), alone)
    assert env.stack.weights == pytest.approx({"penalty": ALONE_WEIGHTS["penalty"] * 0.2})
    assert wrap(CodeProblemEnv(), alone).stack.weights == {"penalty": ALONE_WEIGHTS["penalty"]}
    given = wrap(CodeProblemEnv(partial_credit=0.9), {**alone, "penalty": {"weight": 0.3}})
    assert given.stack.weights == {"penalty": 0.3}
    with pytest.raises(
        ConfigError, match=r"task_gap is 0, so that without an orchestrator penalty has the weight 0"
    ):
        wrap(TweetReplyEnv(), alone)


# Each yields (reward of a failure, reward of a success, traits) at the extremes an environment allows.
SHARES, COUNTS = st.floats(0, 1), st.integers(0, 60)


@st.composite
def of_web(draw):
    caps = [draw(st.floats(0, 0.6)) for _ in range(3)]
    config = WebRewardConfig(
        success=sum(caps) + draw(st.floats(1e-3, 3)),
        progress=draw(st.floats(0, 5)),
        efficiency=caps[0],
        invalid=draw(st.floats(0, 1)),
        invalid_cap=caps[1],
        format=draw(st.floats(0, 1)),
        format_cap=caps[2],
        safety=draw(st.floats(0, 1)),
    )

    def episode(solved, unsafe):
        first = draw(SHARES)
        last = 1.0 if solved else draw(SHARES)
        return WebEpisode(solved, unsafe, first, last, draw(COUNTS), draw(COUNTS), draw(COUNTS), draw(COUNTS))

    lost = episode(*draw(st.sampled_from([(False, False), (False, True), (True, True)])))
    env = WebBrowseEnv(rewards=config)
    return (
        sum(web_terms(lost, config).values()),
        sum(web_terms(episode(True, False), config).values()),
        env.reward_traits,
    )


@st.composite
def of_code(draw):
    env = CodeProblemEnv(partial_credit=draw(st.floats(0, 0.999)))
    return env.partial_credit * draw(SHARES), 1.0, env.reward_traits


def conversation(replies):
    """A conversation in which these replies were given and judged so."""
    talk = Conversation(["a tweet"] * len(replies), HeuristicReward("classic", None))
    talk.replies.extend(replies)
    return talk


@st.composite
def of_tweets(draw):
    """Totals of any reward, also of one's own: a gate need not make it small."""
    size = draw(st.integers(1, 4))
    good = st.builds(JudgedReply, st.just("x"), st.floats(GOOD_REPLY, 9), st.just({}), st.none())
    poor = st.builds(
        JudgedReply,
        st.sampled_from(["x", None]),
        st.floats(-9, 9),
        st.just({}),
        st.sampled_from([None, "spam"]),
    )
    lost = [*draw(st.lists(st.one_of(good, poor), min_size=size - 1, max_size=size - 1)), draw(poor)]
    won = draw(st.lists(good, min_size=size, max_size=size))
    failure, success = (
        judge(Task("t", "tweet", 0, "train", "", ""), None, conversation(one)) for one in (lost, won)
    )
    assert success.success
    if failure.success:  # it happened to be good
        failure = Verdict(False, {"task": -1.0})
    return (
        failure.reward,
        success.reward,
        RewardTraits(TweetReplyEnv.task_gap, TweetReplyEnv.success_line, {}),
    )


OF_ENVIRONMENT = st.one_of(of_web(), of_code(), of_tweets(), st.just((0.0, 1.0, RewardTraits(1.0))))
VALUES = st.fixed_dictionaries(dict.fromkeys(("curiosity", "coherence", "penalty"), st.floats(-1e3, 1e3)))
WEIGHTS = [
    dict(ORCHESTRATED_WEIGHTS),
    *(
        {**ORCHESTRATED_WEIGHTS, **stage["weights"]}
        for one in SHIPPED.values()
        for stage in one["stages"].values()
    ),
]


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    rewards=OF_ENVIRONMENT,
    terms=st.tuples(VALUES, VALUES),
    history=st.lists(VALUES, max_size=15),
    weights=st.sampled_from(WEIGHTS),
    normalise=st.booleans(),
)
def test_no_failure_is_paid_as_much_as_a_success(rewards, terms, history, weights, normalise):
    """For the extremes of every environment's rewards, any terms and all shipped weights."""
    failure, success, traits = rewards
    orchestrator = Orchestrator(weights, OrchestratorSettings(normalise=normalise))
    orchestrator.adapt(traits)
    orchestrator.score([{"task": 0.0, **row} for row in history])
    orchestrator.update()
    assert failure < success
    assert success - failure >= traits.task_gap - 1e-9
    lost, won = orchestrator.score([{"task": failure, **terms[0]}, {"task": success, **terms[1]}])
    assert lost.reward < won.reward or success - failure < 1e-12


# ---------------------------------------------------------------------- fines keep their amounts


@pytest.mark.parametrize("constant", [-0.05, -0.2, -0.3])
def test_a_fine_arrives_as_it_is_however_often_it_was_seen(constant):
    orchestrator = Orchestrator({"curiosity": 0.3, "penalty": 1.0})
    for _ in range(40):
        (total,) = orchestrator.score([{"task": 1.0, "curiosity": 0.1, "penalty": constant}])
        orchestrator.update()
    assert total.parts["penalty"].weighted == constant and total.reward == pytest.approx(1.0 + constant)


def test_fines_of_different_sizes_cost_different_amounts_after_like_episodes():
    orchestrator = Orchestrator({"penalty": 1.0})
    for _ in range(30):
        orchestrator.score([{"task": 0.0, "penalty": 0.0}])
        orchestrator.update()
    small, large = orchestrator.score([{"task": 0.0, "penalty": -0.05}, {"task": 0.0, "penalty": -0.2}])
    assert (small.reward, large.reward) == (-0.05, -0.2)
    half = Orchestrator({"penalty": 0.5}).score([{"task": 0.0, "penalty": -0.2}])
    assert half[0].reward == -0.1  # weights apply


@pytest.mark.parametrize(
    ("penalty", "other", "paid", "rest"),
    [
        (-0.2, 5.0, -0.2, 0.65),  # up to the bound of 0.45 above nothing, with the fine taken off
        (-0.2, -5.0, -0.2, -0.25),
        (-0.2, 0.1, -0.2, 0.1),
        (-3.0, -1.0, -0.45, 0.0),
        (-3.0, 5.0, -0.45, 0.9),
    ],
)
def test_fines_come_first_and_the_others_fill_what_is_left(penalty, other, paid, rest):
    orchestrator = Orchestrator({"curiosity": 1.0, "penalty": 1.0})
    (total,) = orchestrator.score([{"task": 0.0, "curiosity": other, "penalty": penalty}])
    assert total.parts["penalty"].weighted == pytest.approx(paid)
    assert total.parts["curiosity"].weighted == pytest.approx(rest)


def test_a_penalty_of_another_name_is_paid_raw_too():
    env = ToolPenalty(BoxEnv(), name="fines")
    env = RewardOrchestrator(env, warmup=1)
    for _ in range(3):
        env.reset(seed=0)
        reward = env.step(says("OPEN") + "<answer>no</answer>")[1]
    assert reward == pytest.approx(-0.1)


def test_nothing_policies_are_fined_for_no_answer():
    env = make("Pixelis/ZoomRead-v0", reader="truth", max_turns=2)
    assert sums(terms_of(env), play(env, NothingPlayer(), 0))["penalty"] == -0.1

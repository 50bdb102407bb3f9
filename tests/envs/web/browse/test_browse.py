"""WebBrowse: options, turns, answers, errors as observations, faults of the backend."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from pixelis.envs.check.playing import play, play_turns
from pixelis.envs.web.browse.env import WebBrowseEnv
from pixelis.envs.web.browse.players import write
from pixelis.envs.web.browse.reward import TERMS, WebRewardConfig
from pixelis.envs.web.dom.backend import DomBackend
from pixelis.envs.web.page.backend import BackendFailure
from pixelis.envs.web.sites.levels import DIALS, WebDifficulty
from pixelis.errors import ConfigError, DifficultyError, SplitError, TaskError


def shop(**keywords) -> WebBrowseEnv:
    return WebBrowseEnv(family="shop", **keywords)


def only_call(info) -> dict:
    (result,) = info["tool_calls"]
    return result


@pytest.mark.parametrize(
    ("keywords", "error"),
    [
        ({"family": "shopp"}, ConfigError),
        ({"family": []}, ConfigError),
        ({"difficulty": 6}, DifficultyError),
        ({"difficulty": {"adds": 1}}, DifficultyError),
        ({"difficulty": {"ads": 4}}, DifficultyError),
        ({"difficulty": True}, DifficultyError),
        ({"difficulty": None}, DifficultyError),
        ({"split": "dev"}, SplitError),
        ({"backend": "firefox"}, ConfigError),
        ({"page_tokens": 10}, ConfigError),
        ({"page_tokens": 1.5}, ConfigError),
        ({"tools": "CLICK"}, ConfigError),
        ({"tools": []}, ConfigError),
        ({"tools": ["CLIKC"]}, ConfigError),
        ({"rewards": {"sucess": 1}}, ConfigError),
        ({"rewards": {"success": 0.1}}, ConfigError),
        ({"max_turns": 0}, ConfigError),
    ],
)
def test_bad_keywords_are_clear_errors(keywords: dict, error: type[Exception]):
    with pytest.raises(error):
        WebBrowseEnv(**keywords)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"family": "nope"}, ConfigError),
        ({"familly": "shop"}, ConfigError),
        ({"task": {"question": "q", "answer": "", "data": {}}}, TaskError),
        (
            {
                "task": {
                    "question": "q",
                    "answer": "",
                    "data": {"family": "x", "data": {}, "state": {}, "goal": {}, "theme": {"words": {}}},
                }
            },
            TaskError,
        ),
        (
            {
                "task": {
                    "question": "q",
                    "answer": "",
                    "data": {"family": "shop", "data": {}, "state": {}, "goal": {}, "theme": {"words": {}}},
                }
            },
            TaskError,
        ),
    ],
)
def test_bad_options_are_clear_errors_and_leave_the_episode_alone(options: dict, error: type[Exception]):
    env = shop()
    env.reset(seed=0)
    before = env.task
    with pytest.raises(error):
        env.reset(options=options)
    assert env.task is before


def test_how_hard_a_site_is_has_one_name():
    assert next(iter(WebDifficulty.of(3).to_json())) == "difficulty"
    with pytest.raises(DifficultyError, match=r"unknown dial 'level'.*difficulty"):
        shop(difficulty={"level": 1})
    for given in (9, {"difficulty": 9}):
        with pytest.raises(DifficultyError, match="difficulty must be an integer from 0 to 5, got 9"):
            shop(difficulty=given)
    env = shop(difficulty={"difficulty": 2, "popups": 0})
    info = env.reset(seed=0)[1]
    assert (
        info["task"]["difficulty"]
        == env.difficulty
        == env.task.to_json()["data"]["difficulty"]["difficulty"]
        == 2
    )
    assert "level" not in env.level_dials and "`level`" not in (WebBrowseEnv.__doc__ or "")


def test_a_dict_of_dials_overrides_its_difficulty():
    assert WebDifficulty.of({"difficulty": 3, "ads": 0}).to_json() == {
        **WebDifficulty.of(3).to_json(),
        "ads": 0,
    }
    env = shop(difficulty={"difficulty": 1, "popups": 3})
    info = env.reset(seed=0)[1]
    assert info["task"]["difficulty"] == 1
    assert env.workspace.level.difficulty.popups == 3
    env.reset(seed=0, options={"difficulty": {"difficulty": 2, "clutter": 3}})
    assert (env.workspace.level.difficulty.clutter, env.workspace.level.difficulty.popups) == (3, 0)
    assert env.level_dials == {"family": ("shop",), "difficulty": range(6), **dict.fromkeys(DIALS, range(4))}
    stand = {"family": "shop", "difficulty": 1, **dict.fromkeys(DIALS, 1)}
    env.reset(seed=0, options=env.level_options(stand))
    assert env.workspace.level.difficulty == WebDifficulty(*[1] * 9)
    env.reset(seed=0, options=env.level_options({"family": "shop", "difficulty": 3, "ads": 0}))
    assert env.workspace.level.difficulty == WebDifficulty.of({"difficulty": 3, "ads": 0})


def test_the_first_page_is_in_the_first_observation_and_the_next_in_the_next():
    env = shop()
    text = env.reset(seed=0)[0]["text"]
    assert text.startswith(env.task.question)
    assert text.endswith(env.workspace.window.text)
    assert " [e1@v1]" in text
    text = env.step(write(("CLICK", {"id": "e1@v1"})))[0]["text"]
    assert text.startswith("OK\nPage: ")
    assert "@v2]" in text
    assert "@v1]" not in text


def test_fewer_tools_are_listed_and_the_others_are_unknown():
    env = WebBrowseEnv(tools=["TYPE", "CLICK", "SELECT"])
    observation, _ = env.reset(seed=0)
    assert "Tools: CLICK(id) TYPE(id, text, submit) SELECT(id, option). A question" in observation["text"]
    assert [tool["function"]["name"] for tool in env.toolset.schemas()] == ["CLICK", "TYPE", "SELECT"]
    _, _, _, _, info = env.step(write(("SCROLL", {"direction": "down"})))
    assert only_call(info)["error_code"] == "unknown_tool"
    for difficulty in (0, 1):  # these three are enough for the first two levels
        env = WebBrowseEnv(tools=["TYPE", "CLICK", "SELECT"], difficulty=difficulty, max_turns=6)
        assert all(play(env, env.players()["oracle"](env), seed)[-1][4]["success"] for seed in range(24))


def test_typed_errors_are_observations_with_their_codes():
    env = shop()
    env.reset(seed=0)
    for call, code in (
        (("CLICK", {"id": "e999@v1"}), "unknown_id"),
        (("CLICK", {"id": "the button"}), "unknown_id"),
        (("TYPE", {"id": "e1@v1", "text": "x"}), "not_editable"),
        (("GOTO", {"path": "https://example.com"}), "off_site"),
        (("CLICK", {}), "bad_arguments"),
        (("SCROLL", {"direction": "left"}), "bad_arguments"),
    ):
        info = env.step(write(call))[4]
        assert (only_call(info)["ok"], only_call(info)["error_code"]) == (False, code)
    env.step(write(("GOTO", {"path": "/cart"})))
    assert only_call(env.step(write(("CLICK", {"id": "e1@v1"})))[4])["error_code"] == "stale"
    terms = env.step("<answer>x</answer>")[4]["reward_terms"]
    assert terms["invalid"] == -0.1
    assert terms["format"] == -0.05
    assert (terms["error_unknown_id"], terms["error_stale"]) == (2.0, 1.0)


def test_calls_of_one_turn_run_in_order_and_stop_at_the_end():
    env = WebBrowseEnv(family="table", difficulty=0)
    env.reset(seed=0)
    turn = write(("WAIT", {})) + write(("ANSWER", {"text": "Nowhere"})) + write(("BACK", {}))
    _, reward, terminated, _, info = env.step(turn)
    assert terminated
    assert [result["error_code"] for result in info["tool_calls"]] == [None, None, "episode_over"]
    assert reward == 0.0


def test_the_answer_tool_is_the_answer():
    env = WebBrowseEnv(family="table", difficulty=0)
    env.reset(seed=0)
    truth = env.task.answer
    assert env.step(write(("ANSWER", {"text": truth})))[1] == pytest.approx(1.2)
    env.reset(seed=0)
    assert env.step(f"<answer>{truth}</answer>")[1] == pytest.approx(1.2)
    env.reset(seed=0)
    assert env.step("<answer>wrong</answer>")[4]["success"] is False


def test_a_state_task_ends_when_its_goal_holds():
    env = shop()
    turns = play(env, env.players()["oracle"](env), 3)
    assert turns[-1][2]
    assert not turns[-1][3]
    assert turns[-1][1] == pytest.approx(1.2)
    assert sum(turns[-1][4]["reward_terms"][name] for name in TERMS) == pytest.approx(1.2)


def test_the_wrong_thing_in_the_cart_is_no_success():
    env = shop()
    env.reset(seed=0)
    wanted = env.task.data["goal"]["lines"][0]["sku"]
    other = next(sku for sku in env.task.data["data"]["products"] if sku != wanted)
    for sku in (other, wanted):
        env.step(write(("GOTO", {"path": f"/p/{sku}"})))
        add = next(
            c for c in env.workspace.snapshot.controls() if c.role == "button" and c.name == "Add to cart"
        )
        _, reward, terminated, _, info = env.step(
            write(("CLICK", {"id": env.workspace.ids.shown_id(add.key)}))
        )
    assert terminated
    assert not info["success"]
    assert reward == pytest.approx(0.2)
    assert info["reward_terms"]["collateral"] == 1.0


def test_more_steps_than_the_oracle_cost_efficiency():
    env = shop()
    env.reset(seed=0)
    oracle = env.players()["oracle"](env)
    observation, info = env.reset(seed=0)
    env.step(write(("WAIT", {})))
    done = False
    while not done:
        observation, reward, done, _, info = env.step(oracle.act(observation, info))
    assert info["success"]
    assert info["reward_terms"]["efficiency"] == pytest.approx(-0.05)  # 3 steps, the oracle needs 2
    assert reward == pytest.approx(1.15)


def test_the_sizes_of_the_terms_can_be_set():
    env = shop(rewards=WebRewardConfig(success=5.0))
    assert play(env, env.players()["oracle"](env), 0)[-1][1] == pytest.approx(5.2)
    assert shop(rewards={"success": 5.0}).rewards == env.rewards


def test_scrolling_shows_ids_that_did_not_count_before():
    env = shop(page_tokens=40, difficulty={"difficulty": 2})
    env.reset(seed=0)
    last = list(env.workspace.snapshot.controls())[-1]
    number = sum(1 for _ in env.workspace.snapshot.controls())
    assert only_call(env.step(write(("CLICK", {"id": f"e{number}@v1"})))[4])["error_code"] == "unknown_id"
    for _ in range(30):
        text = env.step(write(("SCROLL", {"direction": "down"})))[0]["text"]
        if text.startswith("This is the end"):
            break
    assert env.workspace.ids.shown_id(last.key) == f"e{number}@v1"
    for _ in range(30):
        text = (
            env.step(write(("SCROLL", {"direction": "up"})))[0]["text"]
            if not env._ended
            else "This is the top"
        )
        if text.startswith("This is the top"):
            break
    assert text.startswith("This is the top")


@pytest.mark.parametrize("copy_of", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_in_mid_episode_goes_on_by_itself(copy_of):
    env = WebBrowseEnv(difficulty=1)
    first = write(("CLICK", {"id": "e1@v1"}))
    for seed in range(8):
        env.reset(seed=seed)
        twin = copy_of(env)
        for _ in range(2):
            assert env.step(first)[0] == twin.step(first)[0]
        env.step(write(("GOTO", {"path": "/_extra"})))
        assert twin.workspace.session.state != env.workspace.session.state


class DyingBackend(DomBackend):
    """A browser that dies at its third action."""

    def __init__(self) -> None:
        super().__init__()
        self.left = 2

    def act(self, action):
        self.left -= 1
        if self.left < 0:
            raise BackendFailure("the browser has died")
        return super().act(action)


def test_a_dead_browser_ends_the_episode_and_the_next_one_goes_on():
    env = shop()
    env.reset(seed=0)
    env._browser = DyingBackend()
    turns = play_turns(env, [write(("WAIT", {}))] * 5, 0)
    _, reward, terminated, truncated, info = turns[-1]
    assert (terminated, truncated, reward) == (True, False, 0.0)
    assert info["valid_for_training"] is False
    assert "died" in info["failure_reason"]
    assert len(turns) == 4
    env._browser = None
    assert play(env, env.players()["oracle"](env), 0)[-1][4]["success"]


def test_a_group_of_one_seed_is_the_same_level_with_states_apart():
    envs = [shop(difficulty=1) for _ in range(3)]
    firsts = [env.reset(seed=5)[0]["text"] for env in envs]
    assert len(set(firsts)) == 1
    play(envs[0], envs[0].players()["oracle"](envs[0]), 5)
    assert envs[1].workspace.session.state["orders"] == []
    assert envs[1].workspace.session.token != envs[2].workspace.session.token


def test_the_goal_is_not_in_what_the_agent_can_read():
    env = WebBrowseEnv(family="table", difficulty=5)
    env.reset(seed=1)
    assert json.dumps(env.task.data["goal"]) not in env.workspace.window.text
    assert env.task.question not in env.workspace.window.text


def test_all_splits_differ_by_their_brands():
    brands = {}
    for split in ("train", "test"):
        env = WebBrowseEnv(split=split)
        brands[split] = {env.reset(seed=seed)[0] and env.workspace.level.theme["brand"] for seed in range(60)}
    assert not brands["train"] & brands["test"]

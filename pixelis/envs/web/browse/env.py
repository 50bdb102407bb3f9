"""``Pixelis/WebBrowse-v0``: do a task on a web site, in process or in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from typing_extensions import Unpack

from pixelis.envs.actions import BadCall, ToolCall
from pixelis.envs.keywords import Split, Turns, checked_keywords
from pixelis.envs.players import ScriptedPlayer
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import ToolEnv, Verdict
from pixelis.envs.tools import ToolResult, Toolset
from pixelis.envs.web.browse.keywords import FamilyNames, RewardSizes, ToolNames, WebDials, reward_sizes
from pixelis.envs.web.browse.oracle import solve
from pixelis.envs.web.browse.players import browse_players
from pixelis.envs.web.browse.progress import nearness
from pixelis.envs.web.browse.reward import WebEpisode, web_terms
from pixelis.envs.web.browse.tasks import MIX, WebTasks, level_of
from pixelis.envs.web.browse.tools import page_tools
from pixelis.envs.web.browse.workspace import WebWorkspace
from pixelis.envs.web.chromium.scripts import PageSettings
from pixelis.envs.web.chromium.views import ViewedEnv, ViewKeywords, ViewSettings
from pixelis.envs.web.dom.backend import DomBackend
from pixelis.envs.web.families.family import families
from pixelis.envs.web.page.backend import Backend, BackendFailure
from pixelis.envs.web.sites.levels import DIAL_VALUES, DIALS, DIFFICULTIES, WebDifficulty, WebLevel
from pixelis.errors import AnswerError, BrowserUnavailableError, MissingDependencyError, TaskError, shown
from pixelis.rewards.answers import TypedAnswer

FORMAT_ERRORS = (
    *(
        "no_action",
        "bad_json",
        "bad_call",
        "unclosed_call",
        "too_many_calls",
        "unknown_tool",
        "bad_arguments",
    ),
    "out_of_range",
)
CHANCE = (0.25, 0.05, 0.0, 0.0, 0.0, 0.0)
"""Success, by difficulty, that pressing at random may have over all families; at 0 a site is small."""


class WebBrowseEnv(ViewedEnv[WebWorkspace]):
    """Do a task on a web site: buy, book, look up, sort mail, change settings.

    ## Description

    Each episode is a web site of its own, made from the seed, with a task. The agent reads an outline of the
    page (`docs/reference/web_pages.md` says how a page becomes one) in which everything that can be acted on
    has an id, and acts with tools. A site keeps its state on the server's side; that state, not what a page
    says, decides.

    The same sites run in process (`backend="dom"`, thousands of steps a second) and in a real Chromium
    (`backend="chromium"`); observations and rewards are the same.

    ## Action space

    `Utf8Text(16384)`: one assistant turn with tool calls.

    | tool | does |
    |---|---|
    | `CLICK(id)` | presses a control |
    | `TYPE(id, text, submit)` | replaces a field's text; `submit` presses Enter |
    | `SELECT(id, option)` | chooses an option by its label |
    | `SCROLL(direction)` | shows the next or the previous part of the page |
    | `GOTO(path)`, `BACK()` | a path of the site; the page before |
    | `WAIT()` | lets a step go by: some content comes late |
    | `ANSWER(text)` | the same as `<answer>…</answer>`: ends the episode |

    An element is written as its role and name, then its id, then value, states and options:
    `textbox "City" [e3@v1] = "Calder" [required]`. The oracle says which element it means, as the page shows
    it, before it calls a tool; a model that learns from it finds the name in the goal and copies the id from
    behind the name.

    What cannot be done is a result with a code: `unknown_id`, `stale`, `hidden`, `covered`, `disabled`,
    `not_editable`, `no_such_option`, `off_site`, `timeout`.

    ## Observation space

    | key | space | meaning |
    |---|---|---|
    | `text` | `Utf8Text(8192)` | the task (later: what the calls said), and below it the page |
    | `image` | `Box(0, 255, (720, 1024, 3), uint8)` | with `observe=("screenshot",)`: the window |
    | `accessibility` | `Utf8Text(8192)` | with `observe=("accessibility",)`: the accessibility tree |

    The tree is Playwright's ARIA snapshot: YAML of roles, names and states, without ids; a long one is cut,
    with a note. A page that does not answer in time (10 s for each) has a black picture, and a tree that
    says so.
    Both need `backend="chromium"`. The picture begins where the outline does, so that `SCROLL` moves it too.
    Language policies of this project read `text` and, if they see, `image`.

    ## Rewards

    At the end, the sum of these (`pixelis.envs.web.browse.reward`); a failure never scores more than a
    success:

    | term | size |
    |---|---|
    | `success` | 1: the server's state is the goal (the answer is right), and nothing else has changed |
    | `goal` | up to 0.2: share of the goal's predicates that hold at the end |
    | `efficiency` | down to -0.1, of successes: steps above the oracle's |
    | `invalid` | -0.02 an action that could not be carried out, -0.1 at most |
    | `format` | -0.05 a turn that could not be read, -0.05 at most |
    | `safety` | -0.5 for obeying a page's orders, or spending or deleting what nobody asked for |

    Further terms are metrics: `steps`, `oracle_steps` (of successes), `answer` (1: right), `goals`,
    `collateral`, and `error_<code>`.

    ## Starting state

    A level: family, difficulty vector and seed. `reset(options={"task": …})` plays a given one.

    ## Episode end

    * Termination: the goal is reached, or an answer was given. A crashed browser ends the episode too, with
      `info["valid_for_training"]` false and `info["failure_reason"]`; so does a step with `chromium` in a
      forked process or a copy of the environment, to which the page does not belong. `reset` opens another.
    * Truncation: `max_turns` turns.

    ## Arguments

    | name | default | meaning |
    |---|---|---|
    | `family` | `mix` | a family's name, a list of names, or `mix`: all |
    | `difficulty` | 0 | 0-5, or a dict of `difficulty` and further dials, each 0-3 |
    | `split` | `train` | `train` or `test`; the sites of the two have different names |
    | `backend` | `dom` | `dom`, or `chromium` (extra `web`) |
    | `page_tokens` | 400 | length of the page's outline in tokens of four characters, 40-1600 |
    | `max_turns` | 50 | turns before truncation |
    | `tools` | `None` | names of the tools that are offered; `None`: all. Fewer make a shorter prompt |
    | `rewards` | `None` | sizes of the terms, a `WebRewardConfig` or a dict |
    | `observe` | `()` | what else is observed: `"screenshot"`, `"accessibility"` |
    | `render_mode` | `None` | `rgb_array`: `render` returns the page as the browser shows it; `ansi`: text |

    `reset` takes `family`, `difficulty`, `split` and `task` as options.

    ```python
    import gymnasium as gym

    import pixelis

    env = gym.make("Pixelis/WebBrowse-v0", family="shop", difficulty={"difficulty": 1, "popups": 1})
    observation, info = env.reset(seed=0)
    oracle = env.unwrapped.players()["oracle"](env.unwrapped)
    done = False
    while not done:
        observation, reward, terminated, truncated, info = env.step(oracle.act(observation, info))
        done = terminated or truncated
    assert info["success"] and round(reward, 9) == 1.2
    ```

    ## Version history

    * v0: first version.

    ## Source

    The sites, their words and the tasks are our own; their style sheet is Bootstrap 5.3 (MIT). Names
    and roles of controls follow HTML-AAM 1.0 and accname 1.2, forms the HTML standard.
    """

    option_names = (*ToolEnv.option_names, "family")
    level_default_dials = ("family", "difficulty")

    @checked_keywords
    def __init__(
        self,
        *,
        family: FamilyNames = MIX,
        difficulty: WebDials = 0,
        split: Split = "train",
        backend: Literal["dom", "chromium"] = "dom",
        max_turns: Turns = 50,
        tools: ToolNames | None = None,
        rewards: RewardSizes | None = None,
        **view: Unpack[ViewKeywords],
    ) -> None:
        self.families = tuple(sorted(families() if family == MIX else family))
        self.dials = WebDifficulty.of(difficulty)
        views = ViewSettings.of(view, page_tokens=400)
        views.check_backend(backend)
        self.backend, self.page_tokens = backend, views.page_tokens
        self.rewards = reward_sizes(rewards or {})
        self.task_gap = self.rewards.task_gap
        self._browser: Backend | None = None
        self._tasks = WebTasks(self.families, self.dials)
        super().__init__(
            views=views,
            window=PageSettings() if backend == "chromium" else None,
            source=self._tasks,
            toolset=Toolset(
                [tool for tool in page_tools() if tools is None or tool.name in tools], self._open
            ),
            verifier=self._judge,
            max_turns=max_turns,
            difficulty=self.dials.difficulty,
            split=split,
        )

    @property
    def level_dials(self) -> Mapping[str, Sequence[Any]]:
        """The families, ``difficulty`` (0-5), and the other dials, each 0-3."""
        return {"family": self.families, "difficulty": DIFFICULTIES, **dict.fromkeys(DIALS, DIAL_VALUES)}

    def level_options(self, level: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reset options for dials that stand so; those left out are as the difficulty has them."""
        dials = dict(level)
        family = {name: dials.pop(name) for name in ("family",) if name in dials}
        return {
            **family,
            "difficulty": {"difficulty": dials.pop("difficulty", self.dials.difficulty), **dials},
        }

    @property
    def instructions(self) -> str:
        """How to act, and the first page."""
        tools = {name: tool for name, tool in self.toolset.tools.items() if name != "ANSWER"}
        offered = [f"{name}({', '.join(tool.parameters['properties'])})" for name, tool in tools.items()]
        return (
            f"Tools: {' '.join(offered)}. A question is answered with <answer>…</answer>.\n"
            f"{self.workspace.window.text}"
        )

    def close(self) -> None:
        """Close the browser."""
        if self._browser is not None:
            self._browser.close()
            self._browser = None
        super().close()

    @property
    def is_over(self) -> bool:
        """Whether the goal is reached, ``ANSWER`` was called or the browser failed."""
        return self.workspace.is_over

    @property
    def failure(self) -> str:
        """Why the browser failed; empty when it has not."""
        return self.workspace.failure

    def perceive(self) -> None:
        """Look at the page; the picture begins where the outline does."""
        if "screenshot" in self._views.observe or self.render_mode == "rgb_array":
            self._look(lambda backend: backend.reveal(self.workspace.first_shown))
        super().perceive()

    def hear(self, answer: str) -> str | None:
        """Take the answer; it ends the episode."""
        if self.workspace.answer is None:
            self.workspace.answer = answer
        return None

    def nearness(self) -> float:
        """Return how many of the oracle's steps, or of the goal's predicates, are done."""
        return nearness(self.workspace)

    def chance(self, difficulty: int) -> float:
        """Return the success rate, 0-1, of pressing what is there: at difficulty 0 the site is small."""
        return CHANCE[difficulty]

    def players(self) -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
        """Return the oracle, the floors, the naive follower and the exploits of this environment."""
        return {**super().players(), **browse_players()}

    def choose_task(self, options: Mapping[str, Any]) -> Task:
        """Return a task of the families that are asked for, at their vector of difficulties."""
        if "task" in options:
            return super().choose_task(options)
        names = tuple(sorted(options.get("family", self.families)))
        vector = options.get("difficulty", self.dials)
        return self._tasks.draw(self.np_random, vector, options.get("split", self.split), names)

    def run_call(self, call: ToolCall | BadCall) -> ToolResult:
        """Carry out a call; one whose form is wrong is an action of the agent as well."""
        result = super().run_call(call)
        if not result.ok and isinstance(call, ToolCall) and result.error_code in FORMAT_ERRORS:
            self.workspace.steps += 1
        return result

    def build_observation(self, text: str) -> dict[str, Any]:
        """Return the observation: what was said, and the page under it."""
        page = self.workspace.window.text
        shown = text if text.endswith(page) or self.workspace.is_over else f"{text}\n{page}"
        return super().build_observation(shown)

    # ------------------------------------------------------------------ private

    def _open(self, task: Task) -> WebWorkspace:
        level = level_of(task)
        if self._browser is None:
            self._browser = open_backend(self.backend)
        try:
            return WebWorkspace(level, self._browser, self.page_tokens)
        except (BackendFailure, BrowserUnavailableError, MissingDependencyError):
            raise
        except Exception as error:  # a task written by hand can be wrong in any way
            raise TaskError(f"{task.id} cannot be played: {type(error).__name__}: {error}") from error

    def _judge(self, task: Task, answer: str | None, workspace: WebWorkspace) -> Verdict:
        level, ended = workspace.level, workspace.outcome
        right = _is_right(level, workspace.answer)
        solved = all(ended.goals) and not ended.collateral and right
        codes = [result.error_code for result in self.results if result.error_code is not None]
        asks = level.answer is not None
        episode = WebEpisode(
            solved=solved,
            unsafe=bool(ended.unsafe),
            first=_share(workspace.first_outcome.goals, asks, False),
            last=_share(ended.goals, asks, right),
            steps=workspace.steps,
            oracle_steps=solve(level, self.page_tokens) if solved and not ended.unsafe else 1,
            invalid=sum(code not in FORMAT_ERRORS and code != "episode_over" for code in codes),
            format_errors=sum(code in FORMAT_ERRORS for code in codes),
        )
        terms = web_terms(episode, self.rewards)
        metrics = {
            "steps": float(workspace.steps),
            "goals": ended.fraction,
            "collateral": float(len(ended.collateral)),
            **({"oracle_steps": float(episode.oracle_steps)} if episode.success else {}),
            **({"answer": float(right)} if level.answer else {}),
            **{f"error_{code}": float(count) for code, count in workspace.errors.items()},
        }
        return Verdict(episode.success, {**terms, **metrics}, dict.fromkeys(terms, 1.0))


def open_backend(name: str) -> Backend:
    """Return a new backend; a real browser is started when it is first used."""
    if name == "dom":
        return DomBackend()
    from pixelis.envs.web.chromium.backend import ChromiumBackend

    return ChromiumBackend()


def _share(goals: Sequence[bool], asks: bool, right: bool) -> float:
    """Return the share of the predicates that hold, 0-1; the right answer to a question is one of them."""
    held = [*goals, right] if asks else list(goals)
    return sum(held) / len(held) if held else 1.0


def _is_right(level: WebLevel, answer: str | None) -> bool:
    """Return whether the answer is right; true where none is asked for."""
    if level.answer is None:
        return True
    try:
        typed = TypedAnswer(**{**level.answer, "choices": tuple(level.answer.get("choices", ()))})
    except (TypeError, AnswerError) as error:
        raise TaskError(
            f"the level's answer {shown(dict(level.answer), 120)} is no typed answer: {error}"
        ) from None
    return answer is not None and typed.matches(answer)

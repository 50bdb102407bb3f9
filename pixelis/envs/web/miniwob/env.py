"""``Pixelis/MiniWoB-v0``: the tasks of MiniWoB++, played through our ids and tools in a real Chromium."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from pixelis.envs.keywords import Difficulty, Flag, Names, RenderMode, Split, Turns, checked_keywords
from pixelis.envs.tasks import Task, check_difficulty
from pixelis.envs.tool_env import Verdict
from pixelis.envs.tools import ToolResult
from pixelis.envs.web.chromium.scripts import PageSettings
from pixelis.envs.web.chromium.static_server import FolderServer
from pixelis.envs.web.chromium.views import Observe, PageTokens, ViewSettings
from pixelis.envs.web.foreign.page_env import PageEnv
from pixelis.envs.web.foreign.session import PageSession
from pixelis.envs.web.page.backend import BackendFailure, PageActionError
from pixelis.errors import MissingDependencyError, TaskError, shown

FAMILY = "miniwob"
STEP_MILLISECONDS = 500
"""How far an action moves the page's clock: longer than every animation and delay that answers an action."""
_SEEDS = 1_000_000
_HIDDEN = """#reward-display, #click-canvas, #sync-task-cover { display: none !important }
#query, #query * { pointer-events: none }"""
_PREPARE = """(async ([seed, style]) => {
  // where the machine is busy, the page may be asked before its own load handler has built what it needs
  if (document.readyState !== "complete") {
    await new Promise(done => addEventListener("load", done, { once: true }));
  }
  const sheet = document.createElement("style");
  sheet.textContent = style;
  document.head.append(sheet);
  if (window.jQuery) jQuery.fx.off = true;
  core.EPISODE_MAX_TIME = 1e12;
  __pixelis.advance(100);
  Math.seedrandom(seed);
  core.startEpisodeReal();
  __pixelis.advance(1);
  for (let tries = 0; !WOB_TASK_READY && tries < 400; tries += 1) {
    await new Promise(done => __pixelis.later(done, 20));
    __pixelis.advance(20);
  }
  let judged = null;
  const verdict = (reward, reason) => { judged = judged || { over: true, reward, reason }; };
  const { startEpisodeReal, endEpisode } = core;
  core.startEpisodeReal = (...given) => {
    verdict(-1, "the task was started again");
    startEpisodeReal.apply(core, given);
  };
  core.endEpisode = (...given) => {
    endEpisode.apply(core, given);
    if (WOB_DONE_GLOBAL) verdict(WOB_RAW_REWARD_GLOBAL, WOB_REWARD_REASON);
  };
  __pixelis.judged = () => judged || { over: false, reward: 0, reason: null };
  const policy = document.createElement("meta");
  Object.assign(policy, { httpEquiv: "Content-Security-Policy", content: "script-src 'self'" });
  document.head.append(policy);
  const said = core.getUtterance();
  return typeof said === "string" ? said : said.utterance;
})(given)"""
# From there on the page takes no script that is typed into it: some tasks show what was typed as HTML.
_STATE = "__pixelis.judged ? __pixelis.judged() : null"
"""The first judgement of the instance that was prepared; any other instance has none."""
_NOT_JUDGED = {"over": False, "reward": 0.0, "reason": None}
_LEFT = "The task's page was left; the episode has ended as a failure."


def miniwob_folder() -> Path:
    """Return the folder with the html files of MiniWoB++.

    Raises:
        MissingDependencyError: the package ``miniwob`` is not installed.
    """
    found = find_spec("miniwob")  # not imported: it would load Selenium
    if found is None or found.origin is None:
        raise MissingDependencyError(
            "MiniWoB++ is not installed; its html files are all that is needed: "
            "`pip install --no-deps miniwob==1.1.0`"
        )
    return Path(found.origin).parent / "html"


@lru_cache(1)
def miniwob_tasks() -> tuple[str, ...]:
    """Return the names of the tasks there are, sorted; those of FlightWoB begin with ``flight.``."""
    folder = miniwob_folder()
    flights = (f"flight.{page.parent.name}" for page in folder.glob("flight/*/wrapper.html"))
    return tuple(sorted([*(page.stem for page in folder.glob("miniwob/*.html")), *flights]))


TaskNames = Annotated[str | Sequence[str], Names(miniwob_tasks, "'click-test'")]


def task_path(name: str) -> str:
    """Return the path at which the server of the html files has a task."""
    site = name.removeprefix("flight.")
    return f"/miniwob/{name}.html" if site == name else f"/flight/{site}/wrapper.html"


_SERVERS: dict[int, FolderServer] = {}


def miniwob_server() -> FolderServer:
    """Return the server of the html files in this process, started on first use."""
    if os.getpid() not in _SERVERS:
        _SERVERS[os.getpid()] = FolderServer(miniwob_folder())
    return _SERVERS[os.getpid()]


class MiniWoBTasks:
    """Draws a task name and a seed; even seeds are for training, odd ones for tests."""

    family = FAMILY
    difficulties = range(1)

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Draw a task using ``rng`` alone."""
        name = self.names[int(rng.integers(len(self.names)))]
        seed = 2 * int(rng.integers(_SEEDS)) + (split == "test")
        data = {"task": name, "seed": seed}
        return Task(f"{name}-{seed}", FAMILY, difficulty, split, "Do what the page asks for.", "", data)


class MiniWoBEnv(PageEnv):
    """Play the tasks of MiniWoB++ in a real Chromium, through element ids and tools.

    ## Description

    Each episode is one page of MiniWoB++ (PyPI `miniwob` 1.1.0, served on loopback) with a task that the page
    draws itself from a seed. The agent reads an outline of the page in which everything that can be used has
    an id, and acts with the tools of `Pixelis/WebPage-v0`. `docs/reference/web_miniwob.md` says which tasks
    scripted solvers do by these means, and which are out of reach.

    The page's clock stands still while the agent thinks, and moves half a second with each action, a WAIT by
    what it is told. Animations and the time limit of ten seconds are off; frames keep the page's time.

    The page is read when its images are there, or after two seconds.

    ## Action space

    `Utf8Text(16384)`: tool calls. The tools are those of `Pixelis/WebPage-v0`: `CLICK`, `TYPE`, `SELECT`,
    `SCROLL`, `GOTO`, `BACK`, `WAIT`, `PRESS`, `DRAG`, `MARK` and `HOVER`, with the same codes of errors. An
    answer (`<answer>…</answer>`) ends the episode as a failure.

    ## Observation space

    | key | space | meaning |
    |---|---|---|
    | `text` | `Utf8Text(8192)` | what the tools said, and `page_tokens` of the page as it is now |
    | `image` | `Box(0, 255, (420, 500, 3), uint8)` | with `observe=("screenshot",)`: the window |
    | `accessibility` | `Utf8Text(8192)` | with `observe=("accessibility",)`: the accessibility tree |

    The tree is Playwright's ARIA snapshot: YAML of roles, names and states, without ids; a long one is cut,
    with a note. A page that does not answer in time (10 s for each) has a black picture, and a tree that
    says so.

    Shapes of drawings, canvases and painted boxes have ids too, with their colour, kind, size and middle in
    the window's pixels as name: `red circle 20x20 at 112,62`. `CLICK` and `DRAG` take points of an element.

    ## Rewards

    1 for the page's raw reward of 1, before its decay with time; else 0. What a page pays for less is the
    metric `raw` in `info["reward_terms"]`. Only the instance that was drawn is paid, and its first judgement
    counts. Scripts that are typed into a page are not run.

    ## Starting state

    The task's page after its own `startEpisodeReal`. `reset(seed=…)` draws the task, if there are several,
    and the page's seed: an even one for the split `train`, an odd one for `test`.

    ## Episode end

    * Termination: the page has judged; an answer was given; the agent has left the task's page (`GOTO` of
      another page or of the same one again, a reload), which is a failure with the code `left_task`; or the
      browser failed by itself (then `info["valid_for_training"]` is false and `info["failure_reason"]` says
      why). `BACK` does not lead out of the episode.
    * Truncation: `max_turns` turns.

    ## Arguments

    | name | default | meaning |
    |---|---|---|
    | `task` | `click-test` | a task's name, or several; FlightWoB: `flight.AA`, `flight.Alaska`, … |
    | `max_turns` | 50 | turns before truncation |
    | `page_tokens` | 800 | how much of the page is shown at a time, in tokens of four characters |
    | `all_elements` | `False` | every visible element without children gets an id |
    | `split` | `train` | `train` or `test` |
    | `difficulty` | 0 | there is one |
    | `observe` | `()` | what else is observed: `"screenshot"`, `"accessibility"` |
    | `render_mode` | `None` | `rgb_array`: `render` returns the page as the browser shows it; `ansi`: text |

    ```python
    import gymnasium as gym

    import pixelis

    env = gym.make("Pixelis/MiniWoB-v0", task=["click-test-2", "choose-date"])
    observation, info = env.reset(seed=0)
    print(info["utterance"])
    ```

    ## Version history

    * v0: first version.

    ## Source

    Shi et al., "World of Bits", ICML 2017; Liu et al., "Reinforcement Learning on Web Interfaces using
    Workflow-Guided Exploration", arXiv:1802.08802. The pages are those of the package `miniwob` (Farama
    Foundation, MIT), unchanged.
    """

    task_gap = 1.0

    @checked_keywords
    def __init__(
        self,
        *,
        task: TaskNames = "click-test",
        max_turns: Turns = 50,
        page_tokens: PageTokens = 800,
        all_elements: Flag = False,
        split: Split = "train",
        difficulty: Difficulty = 0,
        observe: Observe = (),
        render_mode: RenderMode = None,
    ) -> None:
        names = (task,) if isinstance(task, str) else tuple(task)
        check_difficulty(difficulty, MiniWoBTasks.difficulties)
        host = miniwob_server().host
        settings = PageSettings(
            (host,),
            base=f"http://{host}",
            leaves=all_elements,
            drawings=True,
            step_milliseconds=STEP_MILLISECONDS,
            watch=_STATE,
            width=500,
            height=420,
        )
        self._utterance = ""
        self._state: dict[str, Any] = dict(_NOT_JUDGED)
        self._instance = ""  # the document of the task
        super().__init__(
            source=MiniWoBTasks(names),
            settings=settings,
            views=ViewSettings(page_tokens, observe, render_mode),
            fresh=False,
            max_turns=max_turns,
            split=split,
        )

    @property
    def utterance(self) -> str:
        """What the page asks for."""
        return self._utterance

    @property
    def instructions(self) -> str:
        """What the page asks for, and the tools."""
        return f"Task: {self._utterance}\nTools: {', '.join(self.toolset.tools)}."

    def open_page(self, task: Task) -> PageSession:
        """Load the task's page and begin its episode.

        Raises:
            TaskError: no task of MiniWoB++ and seed.
        """
        name, seed = task.data.get("task"), task.data.get("seed")
        if not isinstance(name, str) or name not in miniwob_tasks() or not isinstance(seed, int):
            raise TaskError(
                f"data must have a task of MiniWoB++ and an integer seed, got {shown(dict(task.data))}"
            )
        session = PageSession(self.backend, self.page_tokens)
        self._utterance, self._state, self._instance = "", dict(_NOT_JUDGED), ""
        session.open(f"http://{miniwob_server().host}{task_path(name)}")
        if not session.failure:
            try:
                self._utterance = self.backend.evaluate(_PREPARE, [seed, _HIDDEN])
                session.begin(self.backend.look())
            except (BackendFailure, PageActionError) as failure:
                session.failure = str(failure)
        self._instance = self.backend.document
        return session

    def has_ended(self) -> bool:
        """Return whether the page has judged the episode, or the agent has left it.

        Only the instance that was drawn counts: no other page, nor the same one loaded again.
        """
        if self.backend.document != self._instance:
            return True
        self._state = self.backend.watched or self._state
        return bool(self._state["over"])

    def judge(self, task: Task, answer: str | None, workspace: PageSession) -> Verdict:
        """Return success for the full raw reward; what less says is a metric."""
        raw = float(self._state["reward"]) if self._state["over"] else 0.0
        success = raw >= 1.0
        return Verdict(success, {"task": float(success), "raw": raw})

    def run_call(self, call: Any) -> ToolResult:
        """Carry out a call; one that leaves the task is not ok."""
        was_over = self.is_over
        result = super().run_call(call)
        if was_over or self.workspace.failure or self.backend.document == self._instance:
            return result
        return replace(result, ok=False, text=f"{result.text} {_LEFT}".strip(), error_code="left_task")

    def build_info(self, results: list[Any]) -> dict[str, Any]:
        """Return the info, with the page's ``utterance``."""
        return {**super().build_info(results), "utterance": self._utterance}

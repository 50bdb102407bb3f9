"""``ToolEnv``: a task, a toolset and a verifier, as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from pixelis.envs.actions import (
    ANSWER_HELP,
    CALL_HELP,
    MAX_ACTION_LENGTH,
    BadCall,
    ParsedAction,
    ToolCall,
    check_turn,
    parse_action,
)
from pixelis.envs.keywords import Difficulty, RenderMode, Split, Turns, checked_keywords, read_options
from pixelis.envs.overrides import check_overrides
from pixelis.envs.players import ScriptedPlayer, nothing_player, random_player
from pixelis.envs.rendering import RenderedTranscript, check_render_mode
from pixelis.envs.spaces import Utf8Text, clean_text, truncate_text
from pixelis.envs.tasks import Task, TaskSource, check_difficulty
from pixelis.envs.tools import ToolResult, Toolset
from pixelis.envs.verdict import FinalAnswer, Verdict, Verifier, progress_of
from pixelis.errors import PixelisError, TaskError
from pixelis.rewards.answers.agreement import AnswerForm
from pixelis.rewards.terms.traits import RewardTraits

W = TypeVar("W")

MAX_TEXT_LENGTH = 8_192
TEXT_METADATA: Mapping[str, Any] = MappingProxyType({"render_modes": ["ansi"], "render_fps": 2})
"""The ``metadata`` of an environment of text."""


class ToolEnv(gym.Env[dict[str, Any], str], Generic[W]):
    """An environment in which one action is one whole assistant turn.

    Each step parses the turn, runs its calls in document order and returns what they said. An answer ends the
    episode (or is followed by what ``hear`` returns) and is judged by the verifier. Bad calls are
    observations; each turn, good or bad, counts towards ``max_turns``.

    Subclasses pass the three parts to ``__init__``, declare their keywords in its annotations (see
    ``keywords``), and may override what stands under "for subclasses", ``render`` and ``players``
    (docs/guide/new_env.md has a table). They declare ``task_gap``, on the class or in ``__init__``;
    ``pixelis.wrappers.RewardOrchestrator`` refuses an environment that does not.

    Args:
        source: where tasks come from.
        toolset: what may be called.
        verifier: ``(task, answer, workspace) -> Verdict``.
        max_turns: steps until the episode is truncated.
        difficulty: the family's dial; ``reset(options={"difficulty": …})`` overrides it for an episode.
        split: ``train`` or ``test``; likewise.
        image_size: side of the square image in the observation in pixels, or ``None`` for text alone.
        render_mode: one of the subclass's ``metadata["render_modes"]`` or ``None``.

    Attributes:
        task_gap: the smallest reward of a success less the largest of a failure, at least 0; 1.0 where a
            success pays 1 and a failure 0. None: not declared.
        success_line: for rewards with degrees (gap 0): what every success is paid, no failure is; None: none.
        tool_limits: tool → calls in an episode that are fine here, where that is not the tool's own limit.
        plays_in_threads: whether several may play at the same time in threads of a process, alike.
        vocabulary: words of its questions and objects, lower case, singular (``DiscreteToolActions``).
        level_default_dials: those of ``level_dials`` that are turned by default; None: all.
        scorers: name → ``module:Class`` of what can watch a training run here, see docs/reference/metrics.md.
        knows_solutions: whether an oracle can be shipped; False where nobody knows what solves its tasks.
        draws_tasks: whether seed and split decide the task; False where the user has named it.

    Observation: ``Dict(text=Utf8Text, [image=Box(0, 255, (V, V, 3), uint8)])``. Action: ``Utf8Text``.
    """

    metadata: dict[str, Any] = {"render_modes": [], "render_fps": 2}  # noqa: RUF012  # as gym.Env declares it
    option_names: ClassVar[tuple[str, ...]] = ("difficulty", "split", "task")
    task_gap: float | None = None
    success_line: float | None = None
    tool_limits: Mapping[str, int] = MappingProxyType({})
    plays_in_threads: bool = False
    vocabulary: tuple[str, ...] = ()
    level_default_dials: tuple[str, ...] | None = None
    scorers: Mapping[str, str] = MappingProxyType({})
    knows_solutions: bool = True
    draws_tasks: bool = True

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Refuse a method where a property is asked for: it would count as true."""
        super().__init_subclass__(**keywords)
        check_overrides(cls, ToolEnv)

    @checked_keywords
    def __init__(
        self,
        *,
        source: TaskSource,
        toolset: Toolset[W],
        verifier: Verifier[W],
        max_turns: Turns = 8,
        difficulty: Difficulty = 0,
        split: Split = "train",
        image_size: int | None = None,
        render_mode: RenderMode = None,
    ) -> None:
        self.source, self.toolset, self.verifier = source, toolset, verifier
        self.max_turns, self.split = max_turns, split
        self.difficulty = check_difficulty(difficulty, source.difficulties)
        self.render_mode = check_render_mode(render_mode, self.metadata["render_modes"])
        observation: dict[str, spaces.Space[Any]] = {"text": Utf8Text(MAX_TEXT_LENGTH)}
        if image_size is not None:
            observation["image"] = spaces.Box(0, 255, (image_size, image_size, 3), np.uint8)
        self.observation_space = spaces.Dict(observation)
        self.action_space = Utf8Text(MAX_ACTION_LENGTH)
        self.task: Task | None = None
        self.turn = 0
        self.results: list[ToolResult] = []
        self.answer: str | None = None
        self.verdict: Verdict | None = None  # of an episode that has ended
        self._transcript = RenderedTranscript()

    # ------------------------------------------------------------------ Gymnasium

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode.

        Args:
            seed: equal seeds with equal options give byte-identical episodes.
            options: ``difficulty`` and ``split`` override the constructor's for this episode; ``task``
                (see ``Task.from_json``) plays a given task.

        Raises:
            ConfigError, DifficultyError, SplitError, TaskError: an option is unknown or has a bad value.
        """
        chosen = read_options(type(self), self.option_names, {} if options is None else options)
        super().reset(seed=seed)
        task = self.choose_task(chosen)
        self.workspace = self._open_task(task, "task" in chosen)  # first, so that a bad task changes nothing
        self.task = task
        self.turn, self.results, self.answer, self.verdict = 0, [], None, None
        self._ended = False
        self.perceive()
        text = f"{task.question}\n{self.instructions}" if self.instructions else task.question
        if self.render_mode == "human":
            self.render()
        info = {**self.build_info([]), "view_changed": True}
        if failure := self.failure:
            info["valid_for_training"], info["failure_reason"] = False, failure
        observation = self.build_observation(text)
        if self.render_mode == "ansi":
            self._transcript.begin(observation["text"])
        return observation, info

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Play one assistant turn.

        Raises:
            ActionTypeError: ``action`` is not a string.
            gymnasium.error.ResetNeeded: there is no episode, or it has ended.
        """
        check_turn(action, over=self.task is None or self._ended)
        view_before = self.view_key()
        parsed = self.parse(action)
        results = [self.run_call(call) for call in parsed.calls]
        if not results and parsed.answer is None:
            results.append(ToolResult("", False, self.what_to_say, error_code="no_action"))
        self.results.extend(results)
        self.turn += 1
        self.perceive()
        self.answer = parsed.answer
        said_back = None if parsed.answer is None else self.hear(parsed.answer)
        terminated = (parsed.answer is not None and said_back is None) or self.is_over
        truncated = not terminated and self.turn >= self.max_turns
        info = self.build_info(results)
        info["view_changed"] = self.view_key() != view_before
        reward = self._end(info) if terminated or truncated else 0.0
        if failure := self.failure:
            reward, info["valid_for_training"], info["failure_reason"] = 0.0, False, failure
        if self.render_mode == "human":
            self.render()
        text = "\n".join([*(result.text for result in results), *([said_back] if said_back else [])])
        observation = self.build_observation(text)
        if self.render_mode == "ansi":
            self._transcript.add(action, observation["text"])
            if terminated or truncated:
                self._transcript.end(reward, info.get("success"), terminated)
        return observation, reward, terminated, truncated, info

    def progress(self) -> float | None:
        """Return how near the goal the episode is, 0-1; None where the environment does not know.

        For rewards (the term ``progress``); in no observation and no ``info``. See ``verdict.progress_of``.
        """
        return progress_of(self)

    def render(self) -> Any:
        """Return (``ansi``) the episode's transcript as a text: what was told and, behind ``>``, said.

        ``None`` without a render mode and before ``reset``. Environments with pictures override it.
        """
        return str(self._transcript) if self.render_mode == "ansi" and self.task is not None else None

    # ------------------------------------------------------------------ for subclasses

    @property
    def instructions(self) -> str:
        """One line after the question that says how to act; empty to leave it out."""
        return f"Tools: {', '.join(self.toolset.tools)}. Answer with <answer>…</answer>."

    @property
    def what_to_say(self) -> str:
        """What a turn without call and answer is told."""
        return f"No tool call and no answer. {CALL_HELP}" if self.toolset.tools else ANSWER_HELP

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended without an answer: by a call, by a goal reached, or by a failure."""
        return False

    @property
    def failure(self) -> str:
        """Why the infrastructure failed in this episode (a crashed browser); empty when it has not.

        Such an episode must end (``is_over``); trainers leave it out.
        """
        return ""

    def parse(self, action: str) -> ParsedAction:
        """Return the calls and the answer in a turn."""
        return parse_action(action)

    @property
    def reward_traits(self) -> RewardTraits:
        """What reward terms and the orchestrator go by: gap, line, tools with their limits, progress."""
        tools = {
            name: replace(tool.traits, limit=self.tool_limits.get(name, tool.traits.limit))
            for name, tool in self.toolset.tools.items()
        }
        has_progress = type(self).nearness is not ToolEnv.nearness
        return RewardTraits(self.task_gap, self.success_line, tools, has_progress=has_progress)

    def source_for(self, options: Mapping[str, Any]) -> TaskSource:
        """Return where a task with these reset options comes from."""
        return self.source

    def observe_image(self) -> np.ndarray | None:
        """Return the current picture, uint8 ``(V, V, 3)``, or ``None`` in an environment of text alone."""
        return None

    def perceive(self) -> None:
        """Take in what there is to observe: in ``reset`` and after a turn's calls, before the end is judged.

        For environments that must look to know, and can fail in it; by default nothing is done.
        """

    def nearness(self) -> float | None:
        """Return how much of the way to the goal the episode in play has done, 0-1; None: nobody knows.

        0 at the start, below 1 until the end, never less after a turn of the oracle's. It may use what no
        agent is told (the task's answer, where things are); see ``progress``, which is what others ask.
        """
        return None

    def hear(self, answer: str) -> str | None:
        """Take note of an answer; return what is said back if the episode goes on, ``None`` if it has ended.

        Environments in which one answer is not the end (a conversation) override it.
        """
        return None

    def chance(self, difficulty: int) -> float:
        """Return the success rate, 0-1, of the best answer that looks at nothing; 0 where there is none.

        What must fail may reach it: the contract's floors are counted from here.
        """
        return 0.0

    @property
    def level_dials(self) -> Mapping[str, Sequence[Any]]:
        """The reset options by which levels are chosen: name → its values, easiest first.

        Numbers are values that can be turned by one; text (a family) has no order. See
        ``docs/guide/levels.md``.
        """
        return {"difficulty": self.source.difficulties}

    @property
    def task_difficulties(self) -> range:
        """The difficulties that a given task may have; by default those that are drawn."""
        return self.source.difficulties

    def level_exists(self, level: Mapping[str, Any]) -> bool:
        """Return whether there are tasks where the dials stand so (name → value); everywhere by default."""
        return True

    def level_options(self, level: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reset options for dials that stand so; by default the names and values themselves."""
        return dict(level)

    def players(self) -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
        """Return the scripted players this environment ships, by name, each as ``(env) -> player``.

        A player plays one episode. It may be made before ``reset``: it looks at ``env.task`` in ``act``.
        ``oracle`` reaches the maximum; ``nothing`` and ``random`` are floors; names that begin with
        ``exploit_`` try to get reward that was not earned; ``tool_free`` or ``overview_only`` shows that the
        tools are needed.
        """
        return {"nothing": nothing_player, "random": random_player}

    def choose_task(self, options: Mapping[str, Any]) -> Task:
        """Return the episode's task; ``options`` are those of ``reset``, checked."""
        source = self.source_for(options)
        difficulty = check_difficulty(options.get("difficulty", self.difficulty), source.difficulties)
        split = options.get("split", self.split)
        if "task" in options:
            return Task.from_json(options["task"], family=source.family, difficulties=self.task_difficulties)
        return source.sample(self.np_random, difficulty, split)

    def run_call(self, call: ToolCall | BadCall) -> ToolResult:
        """Carry out one call of a turn; one that could not be read is refused here."""
        if isinstance(call, BadCall):
            return ToolResult("", False, call.message, error_code=call.error_code)
        return self.toolset.call(self.workspace, call.name, call.arguments, call.texts)

    def view_key(self) -> Any:
        """Return a value that changes when the picture does."""
        return None

    def build_observation(self, text: str) -> dict[str, Any]:
        """Return the observation in which the turn is answered by ``text``, cut to what the space holds."""
        observation: dict[str, Any] = {"text": truncate_text(clean_text(text), MAX_TEXT_LENGTH)}
        image = self.observe_image()
        if image is not None:
            observation["image"] = image
        return observation

    def build_info(self, results: list[ToolResult]) -> dict[str, Any]:
        """Return the info of ``reset`` (no results) or of a turn; ``step`` adds what was earned."""
        assert self.task is not None  # reset() has set it
        task = self.task
        summary = {
            "id": task.id,
            "family": task.family,
            "difficulty": task.difficulty,
            "split": task.split,
            "hash": task.content_hash,
        }
        info = {"task": summary, "tool_calls": [result.to_json() for result in results], "reward_terms": {}}
        answer, form = self.final_answer(), self.answer_form
        said = {} if answer is None else {"final_answer": dict(vars(answer))}
        return {**info, **said, **({} if form is None else {"answer_form": form.to_info()})}

    def final_answer(self) -> FinalAnswer | None:
        """Return what the episode has answered so far, for ``info["final_answer"]``.

        None: what stands in ``<answer>`` in the last turn, which counts unless the episode failed.
        """
        return None

    @property
    def answer_form(self) -> AnswerForm | None:
        """How answers to the task are compared with each other, for ``info["answer_form"]``; None: as texts.

        By it the members of a group can vote where nobody knows the truth (``rewards.vote``).
        """
        return None

    @property
    def choices(self) -> Sequence[str]:
        """The answers that the task allows, in order; empty where its question says all there is to say."""
        return ()

    # ------------------------------------------------------------------ private

    def _open_task(self, task: Task, given: bool) -> W:
        """Open the workspace; what goes wrong with a task that a person wrote is theirs to mend."""
        try:
            return self.toolset.open_workspace(task)
        except PixelisError:
            raise
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            if not given:
                raise
            reason = f"{type(error).__name__}: {error}"
            raise TaskError(f"the given task cannot be played ({reason}); correct its data") from error

    def _end(self, info: dict[str, Any]) -> float:
        assert self.task is not None  # step() has checked it
        self.verdict = verdict = self.verifier(self.task, self.answer, self.workspace)
        self._ended = True
        info |= {"unlabelled": True} if verdict.success is None else {"success": verdict.success}
        info["reward_terms"] = dict(verdict.terms)
        return verdict.reward

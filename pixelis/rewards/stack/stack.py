"""``RewardStack``: reward terms with or without an orchestrator, the one path from steps to rewards."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pixelis.errors import ConfigError, RewardError, StateError, suggest
from pixelis.rewards.stack.curriculum import StageChange, WeightCurriculum, read_curriculum
from pixelis.rewards.stack.limits import hold
from pixelis.rewards.stack.orchestrator import Orchestrator, Part, Total, by_step, with_raw
from pixelis.rewards.stack.reward_config import fitting, read_rewards
from pixelis.rewards.terms.registry import as_term, make_term
from pixelis.rewards.terms.state import check_version, state_item
from pixelis.rewards.terms.term import RewardTerm, TermFunction, Transition
from pixelis.rewards.terms.traits import RewardTraits
from pixelis.rewards.terms.weights import TASK, alone_factor, check_number, check_weight

VERSION = 1


@dataclass
class EpisodeMemory:
    """What a stack keeps of an episode.

    Attributes:
        terms: term → its memory.
        sums: component, the task among them → the sum of its values so far.
        weights: those under which the episode began: what is paid by step is paid by one weight to its end,
            so that it adds up as its term promises whatever a curriculum does meanwhile.
    """

    terms: dict[str, Any]
    sums: dict[str, float]
    weights: dict[str, float]


@dataclass(frozen=True)
class StepReward:
    """A step's reward.

    Attributes:
        reward: what the step pays.
        terms: term → raw value of the step.
        parts: at the episode's end component → part; empty before.
    """

    reward: float
    terms: Mapping[str, float]
    parts: Mapping[str, Part] = field(default_factory=dict)


class RewardStack:
    """Scores the steps of many episodes at once.

    With an orchestrator an episode's last step pays its total and the others nothing, but for terms that say
    ``paid_by_step``: each step pays weight × value of those. Without one a step pays the task's reward plus
    each term's weight × its value, where a term's running sum is held in ±1: it can move an episode by at
    most its weight. What is paid by step is paid by the weights under which the episode began.

    Args:
        terms: the reward terms, or plain functions (`FunctionTerm`); names must differ, and none is ``task``.
        orchestrator: with exactly the terms and the task as components, or None.
        weights: term → weight, without an orchestrator; a term not named has weight 0 and is measured.
        curriculum: changes the orchestrator's weights; see ``observe``.
        shipped: without an orchestrator, the terms whose weight is the shipped one and so follows the task's
            gap; see ``adapt``.

    Raises:
        ConfigError: names clash, or weights do not fit the terms.
    """

    def __init__(
        self,
        terms: Sequence[RewardTerm[Any] | TermFunction],
        orchestrator: Orchestrator | None = None,
        weights: Mapping[str, float] | None = None,
        curriculum: WeightCurriculum | None = None,
        shipped: Collection[str] = (),
    ) -> None:
        terms = [as_term(term) for term in terms]
        self.terms = {term.name: term for term in terms}
        if len(self.terms) != len(terms) or TASK in self.terms:
            names = [term.name for term in terms]
            raise ConfigError(f"reward terms need names that differ and are not {TASK!r}, got {names}")
        self.orchestrator, self.curriculum = orchestrator, curriculum
        self._weights = dict.fromkeys(self.terms, 0.0)
        self._metrics: dict[str, float] = {}
        self._learning: list[str] = []  # terms with a state, once any was scored
        self._check_orchestrator()
        self.set_weights(weights or {})
        self._base = self.weights  # what a component has that a stage does not name
        self._check_curriculum()
        self._shipped = frozenset(shipped)

    def adapt(self, traits: RewardTraits) -> None:
        """Fit to an environment: the orchestrator to its task's gap, terms to its tools.

        Without an orchestrator, shipped weights shrink with a gap below 0.5. A term takes part by a method
        ``adapt(traits)``; what its own settings say goes before what the environment says.

        Raises:
            ConfigError: there is an orchestrator, and nobody says the task's gap; or a term does not fit.
        """
        if self.orchestrator is not None:
            self.orchestrator.adapt(traits)
        for name in self._shipped:
            self._weights[name] = self._base[name] * alone_factor(traits.task_gap)
        for term in self.terms.values():
            adapt = getattr(term, "adapt", None)
            if adapt is not None:
                adapt(traits)

    @property
    def needs_calls(self) -> str | None:
        """The first term that cannot do without tool calls, by name; None where all can."""
        return next((name for name, term in self.terms.items() if getattr(term, "needs_calls", False)), None)

    @property
    def needs_progress(self) -> bool:
        """Whether a term asks how near its goal an episode is."""
        return any(getattr(term, "needs_progress", False) for term in self.terms.values())

    @property
    def weights(self) -> dict[str, float]:
        """The weights now."""
        return dict(self._weights) if self.orchestrator is None else self.orchestrator.weights

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Change weights; those not named stay.

        Raises:
            ConfigError: a term is unknown, or a weight is negative or no number.
        """
        if self.orchestrator is not None:
            self.orchestrator.set_weights(weights)
            return
        for name, value in weights.items():
            if name not in self.terms:
                raise ConfigError(
                    f"there is no reward term {name!r} in the stack.{suggest(name, self.terms)}"
                )
            self._weights[name] = check_weight(value, name)

    def begin(self) -> EpisodeMemory:
        """Return the memory of an episode that begins; whoever plays it keeps it."""
        names = (TASK, *self.terms)
        begun = {name: term.begin() for name, term in self.terms.items()}
        return EpisodeMemory(begun, dict.fromkeys(names, 0.0), self.weights)

    def score(self, batch: Sequence[tuple[EpisodeMemory, Transition, float]]) -> list[StepReward]:
        """Return the rewards of steps of different episodes, in order.

        Args:
            batch: for each step its episode's memory, the transition and the env's own reward.

        Raises:
            RewardError: a value is not finite; the message names the component.
        """
        tasks = [check_number(task, TASK) for _, _, task in batch]
        rows = self._raw(batch)
        before = [dict(memory.sums) for memory, _, _ in batch]
        for (memory, _, _), task, row in zip(batch, tasks, rows, strict=True):
            for name, value in {TASK: task, **row}.items():
                memory.sums[name] += value
        ended = [memory.sums for memory, step, _ in batch if step.ended]
        if self.orchestrator is None:
            return [
                _pay(memory, step, task, row, old)
                for (memory, step, task), row, old in zip(batch, rows, before, strict=True)
            ]
        totals = iter(self.orchestrator.score(ended))
        nothing = Total(0.0, {})
        paid = [next(totals) if step.ended else nothing for _, step, _ in batch]
        return [
            StepReward(
                total.reward + sum(memory.weights[name] * row[name] for name in self.orchestrator.by_step),
                row,
                _with_weights(total.parts, memory, self.orchestrator.by_step),
            )
            for total, row, (memory, _, _) in zip(paid, rows, batch, strict=True)
        ]

    def learn(self) -> dict[str, float]:
        """Let terms learn from what was scored and move the statistics; return metrics, all by component."""
        row: dict[str, float] = {}
        for name, term in self.terms.items():
            row |= {f"{name}/{metric}": value for metric, value in term.learn().items()}
        if self.orchestrator is not None:
            row |= self.orchestrator.update()
        self._metrics = row
        return dict(row)

    def observe(self, step: int, metrics: Mapping[str, float | None]) -> StageChange | None:
        """Show the curriculum a training step's metrics; weights follow its stage.

        Args:
            step: finished training steps, growing from call to call.
            metrics: name → value; those of the last ``learn`` are known already.

        Returns:
            What changed, or None; None without a curriculum.
        """
        if self.curriculum is None:
            return None
        change = self.curriculum.observe(step, {**self._metrics, **metrics})
        if change is not None:
            self.set_weights({**self._base, **self.curriculum.weights})
        return change

    def state_dict(self) -> dict[str, Any]:
        """Return what was learnt: JSON values, and tensors where a term has some."""
        return {
            "version": VERSION,
            "weights": self.weights,
            "terms": {name: term.state_dict() for name, term in self.terms.items()},
            "orchestrator": None if self.orchestrator is None else self.orchestrator.state_dict(),
            "curriculum": None if self.curriculum is None else self.curriculum.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go back to a state.

        Raises:
            StateError: it is of another version or of other settings; the message names the component, and
                nothing has changed.
        """
        before = self.state_dict()
        try:
            self._put(check_version(state, "reward stack", VERSION))
        except StateError:
            self._put(before)
            raise
        except (ConfigError, TypeError, KeyError, ValueError, AttributeError) as error:
            self._put(before)
            raise StateError(f"reward stack: the state is incomplete or damaged: {error}") from error

    def take_over(self, state: Mapping[str, Any]) -> list[str]:
        """Take what another stack's state has of the terms that both have; return what was taken.

        That is what terms have learnt, and the orchestrator's statistics. Weights stay, and a curriculum
        begins at its beginning.

        Raises:
            StateError: it is of another version or of other settings of a term.
        """
        state = check_version(state, "reward stack", VERSION)
        terms, statistics = (state_item(state, "reward stack", name) for name in ("terms", "orchestrator"))
        taken = [name for name in self.terms if name in terms]
        for name in taken:
            self.terms[name].load_state_dict(terms[name])
        if self.orchestrator is not None and statistics is not None:
            taken += [f"statistics of {name}" for name in self.orchestrator.take_statistics(statistics)]
        return taken

    # ------------------------------------------------------------------ private

    def _put(self, state: Mapping[str, Any]) -> None:
        parts = {
            name: state_item(state, "reward stack", name) for name in ("terms", "orchestrator", "curriculum")
        }
        saved = {"orchestrator": self.orchestrator, "curriculum": self.curriculum}
        for name, part in saved.items():
            if (part is None) != (parts[name] is None):
                raise _other_parts(name, part is None)
        if set(parts["terms"]) != set(self.terms):
            raise _other_parts(f"terms {sorted(parts['terms'])} instead of {sorted(self.terms)}", True)
        for name, term in self.terms.items():
            term.load_state_dict(parts["terms"][name])
        for name, part in saved.items():
            if part is not None:
                part.load_state_dict(parts[name])
        if self.orchestrator is None:
            self.set_weights(state_item(state, "reward stack", "weights"))

    def _check_orchestrator(self) -> None:
        if self.orchestrator is None:
            return
        if set(self.orchestrator.names) != {TASK, *self.terms}:
            raise ConfigError(
                f"the orchestrator has the components {sorted(self.orchestrator.names)}, expected "
                f"{sorted({TASK, *self.terms})}; give a weight to every term (0 to measure it only)"
            )

    def _check_curriculum(self) -> None:
        """Put every stage's weights on once, so that a mistake shows now; the present one's last."""
        if self.curriculum is None:
            return
        if self.orchestrator is None:
            raise ConfigError("a curriculum of weights needs an orchestrator; leave out orchestrate: false")
        for stage in (*self.curriculum.stages, self.curriculum.stage):
            try:
                self.set_weights({**self._base, **stage.weights})
            except ConfigError as error:
                raise ConfigError(f"curriculum stage {stage.name!r}: {error}") from error

    def _raw(self, batch: Sequence[tuple[EpisodeMemory, Transition, float]]) -> list[dict[str, float]]:
        """Return term → value of every step.

        Terms that learn are asked last: where another one raises, the steps are scored once more, one by one,
        and a term that had noted them would learn from them twice.
        """
        rows: list[dict[str, float]] = [dict.fromkeys(self.terms, 0.0) for _ in batch]
        self._learning = self._learning or [name for name, term in self.terms.items() if term.state_dict()]
        for name in sorted(self.terms, key=self._learning.__contains__):
            values = self.terms[name].score([(memory.terms[name], step) for memory, step, _ in batch])
            count = len(values) if hasattr(values, "__len__") else repr(values)[:60]
            if count != len(rows):
                raise RewardError(f"{name}: expected {len(rows)} values, one a step, got {count}")
            for row, value in zip(rows, values, strict=True):
                row[name] = check_number(value, name)
        return rows


def _with_weights(
    parts: Mapping[str, Part], memory: EpisodeMemory, by_step: Collection[str]
) -> Mapping[str, Part]:
    """Return parts in which what was paid by step has the weights that it was paid by."""
    own = {
        name: replace(parts[name], weighted=memory.weights[name] * parts[name].raw)
        for name in by_step
        if name in parts
    }
    return {**parts, **own}


def _pay(
    memory: EpisodeMemory,
    step: Transition,
    task: float,
    row: Mapping[str, float],
    before: Mapping[str, float],
) -> StepReward:
    """Return the reward of a step without an orchestrator; ``before`` are the sums before it."""
    after, weights = memory.sums, memory.weights
    moved = {name: weights[name] * (hold(after[name]) - hold(before[name])) for name in row}
    parts: dict[str, Part] = {}
    if step.ended:
        parts = {
            name: Part(after[name], hold(after[name]), weights[name] * hold(after[name])) for name in row
        }
        parts[TASK] = Part(after[TASK], after[TASK], after[TASK])
    reward = float(task)
    for value in moved.values():  # one after the other, as wrappers around wrappers do: the same bits
        reward += value
    return StepReward(reward, row, parts)


def _other_parts(name: str, extra: bool) -> StateError:
    has = "has" if extra else "lacks"
    return StateError(f"reward stack: the state {has} {name}; restore it into a stack of the same settings")


def build_stack(
    values: Mapping[str, Any], available_metrics: Collection[str] = (), traits: RewardTraits | None = None
) -> RewardStack:
    """Return the stack that plain data such as YAML's describe; see ``reward_config.read_rewards``.

    Args:
        values: for example ``{"curiosity": {"weight": 0.3}, "penalty": {}, "curriculum": "steps"}``.
        available_metrics: names the trainer gives to ``observe``, for the curriculum's conditions. The
            orchestrator's own (``<component>/raw``, ``/mean``, ``/std``) and ``held`` are known already.
        traits: of the environment, see ``RewardStack.adapt``. None: the stack sees no environment; a
            ``task_gap`` that is not among the values is then 1, which holds where a success pays 1 and a
            failure 0.

    Raises:
        ConfigError: a name or a setting is unknown or out of range, or the environment declares no
            ``task_gap``; the message names it.
    """
    config = read_rewards(values) if traits is None else fitting(read_rewards(values), traits)
    terms = [make_term(entry.name, entry.settings) for entry in config.terms]
    weights = {term.name: entry.weight for term, entry in zip(terms, config.terms, strict=True)}
    if config.orchestrator is None:
        shipped = [term.name for term, entry in zip(terms, config.terms, strict=True) if entry.shipped]
        stack = RewardStack(terms, None, weights, shipped=shipped)
    else:
        settings = with_raw(config.orchestrator, terms)
        orchestrator = Orchestrator({TASK: config.task_weight, **weights}, settings, by_step(terms))
        known = {*available_metrics, *orchestrator.metric_names}
        curriculum = None if config.curriculum is None else read_curriculum(config.curriculum, known)
        stack = RewardStack(terms, orchestrator, curriculum=curriculum)
    if traits is not None:
        stack.adapt(traits)
    return stack

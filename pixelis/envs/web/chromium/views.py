"""What an observation may hold besides the outline: a picture of the page, and its accessibility tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TypedDict, TypeVar

import numpy as np
from annotated_types import Interval
from gymnasium import spaces
from pydantic import AfterValidator

from pixelis.envs.keywords import Names, RenderMode, Whole
from pixelis.envs.spaces import Utf8Text, clean_text, truncate_text
from pixelis.envs.tasks import TaskSource
from pixelis.envs.tool_env import MAX_TEXT_LENGTH, ToolEnv, Verifier
from pixelis.envs.tools import Toolset
from pixelis.envs.web.chromium.scripts import PageSettings
from pixelis.envs.web.page.backend import Backend, BackendFailure, PageActionError
from pixelis.errors import ConfigError, shown

NO_TREE = "[The page did not answer in time: no accessibility tree.]"


def _once(names: Sequence[str]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError("it names something twice; once is enough")
    return tuple(names)


PageTokens = Annotated[Whole, Interval(ge=40, le=1_600)]
"""How much of a page's outline is shown at a time."""
Observe = Annotated[
    Sequence[str],
    Names(lambda: ("screenshot", "accessibility"), "('screenshot',)", single=False, empty=True),
    AfterValidator(_once),
]


class ViewKeywords(TypedDict, total=False):
    """Keywords of the environments on pages that say what is shown."""

    page_tokens: PageTokens
    observe: Observe
    render_mode: RenderMode


@dataclass(frozen=True)
class ViewSettings:
    """What is shown of a page.

    Attributes:
        page_tokens: how much of its outline is shown at a time.
        observe: what the observation holds besides, see ``Observe``.
        render_mode: ``rgb_array``, ``ansi`` or ``None``.
    """

    page_tokens: int
    observe: Sequence[str] = ()
    render_mode: str | None = None

    @classmethod
    def of(cls, keywords: Mapping[str, Any], page_tokens: int) -> ViewSettings:
        """Return the settings in an environment's last keywords; ``page_tokens`` is the default."""
        return cls(**{"page_tokens": page_tokens, **keywords})

    @property
    def _draws(self) -> bool:
        return isinstance(self.render_mode, str) and self.render_mode == "rgb_array"

    def check_backend(self, backend: str) -> None:
        """Check that this backend shows what is asked for.

        Raises:
            ConfigError: it draws nothing.
        """
        if backend == "chromium":
            return
        asked = [f"observe={tuple(self.observe)!r}"] if self.observe else []
        asked += ["render_mode='rgb_array'"] if self._draws else []
        if asked:
            raise ConfigError(
                f"{' and '.join(asked)} needs a real browser, got backend={shown(backend)}; "
                "pass backend='chromium', or leave it out"
            )


class PageViews:
    """The picture and the accessibility tree of an episode's page, as they were last looked at.

    Args:
        observe: which of them are wanted, see ``Observe``.
        width: of the browser's window in pixels.
        height: likewise.

    Attributes:
        changes: grows when the picture becomes another one.
        image: uint8 ``[H, W, 3]``; black where there is none.
    """

    def __init__(self, observe: Sequence[str], width: int, height: int) -> None:
        self.observe, self._shape = frozenset(observe), (height, width, 3)
        self._black = np.zeros(self._shape, np.uint8)
        self.changes = 0
        self.clear()

    def clear(self) -> None:
        """Forget the page of the episode before."""
        self.image = self._black
        self._tree = ""

    @property
    def spaces(self) -> dict[str, spaces.Space[Any]]:
        """The keys that the observation gets, and their spaces."""
        found: dict[str, spaces.Space[Any]] = {}
        if "screenshot" in self.observe:
            found["image"] = spaces.Box(0, 255, self._shape, np.uint8)
        if "accessibility" in self.observe:
            found["accessibility"] = Utf8Text(MAX_TEXT_LENGTH)
        return found

    @property
    def values(self) -> dict[str, Any]:
        """The values of these keys; the caller may keep them."""
        found: dict[str, Any] = {"image": self.image.copy(), "accessibility": self._tree}
        return {name: found[name] for name in self.spaces}

    def take(self, backend: Backend) -> None:
        """Look at the page. If it does not answer in time, the picture is black and the text says so.

        Raises:
            BackendFailure: the browser failed.
        """
        tree, hangs = "", False
        if "accessibility" in self.observe:
            try:
                tree = backend.accessibility() or ""
            except PageActionError:  # of which the next action tells the agent
                tree, hangs = NO_TREE, True
        self._tree = truncate_text(clean_text(tree), MAX_TEXT_LENGTH)
        if "screenshot" in self.observe:
            self._show(None if hangs else self._painted(backend))  # a page that hangs is not waited for twice

    def draw(self, backend: Backend) -> None:
        """Take the picture alone; it is black if the page does not paint in time.

        Raises:
            BackendFailure: the browser failed, or its window has another size.
        """
        self._show(self._painted(backend))

    def _painted(self, backend: Backend) -> np.ndarray | None:
        try:
            image = backend.screenshot()
        except PageActionError:
            return None
        if image is None or image.shape != self._shape:
            got = None if image is None else image.shape
            raise BackendFailure(f"the browser's picture has the shape {got}, expected {self._shape}")
        return image

    def _show(self, image: np.ndarray | None) -> None:
        image = self._black if image is None else image
        if not np.array_equal(image, self.image):
            self.image = image
            self.changes += 1


class ViewedWorkspace(Protocol):
    """The episode on a page that a ``ViewedEnv`` shows.

    Attributes:
        failure: why the browser failed; empty when it has not.
    """

    failure: str

    @property
    def backend(self) -> Backend:
        """What drives the page."""
        ...


WebT = TypeVar("WebT", bound=ViewedWorkspace)


class ViewedEnv(ToolEnv[WebT]):
    """A ``ToolEnv`` on a page, with the views that are asked for in its observation.

    Args:
        views: what is shown.
        window: how large the browser's window is; ``None`` where there is none, and no ``rgb_array``.
        source: as for ``ToolEnv``, like all that follow.
        toolset: what may be called.
        verifier: judges.
        max_turns: turns until the episode is truncated.
        difficulty: the family's dial.
        split: ``train`` or ``test``.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "ansi"], "render_fps": 2}  # noqa: RUF012

    def __init__(
        self,
        *,
        views: ViewSettings,
        window: PageSettings | None,
        source: TaskSource,
        toolset: Toolset[WebT],
        verifier: Verifier[WebT],
        max_turns: int,
        difficulty: int = 0,
        split: str = "train",
    ) -> None:
        if window is None:
            self.metadata = {**self.metadata, "render_modes": ["ansi"]}
        super().__init__(
            source=source,
            toolset=toolset,
            verifier=verifier,
            max_turns=max_turns,
            difficulty=difficulty,
            split=split,
            render_mode=views.render_mode,
        )
        size = window or PageSettings()
        self._views = PageViews(views.observe, size.width, size.height)
        texts: Any = self.observation_space
        self.observation_space = spaces.Dict({**texts.spaces, **self._views.spaces})

    def perceive(self) -> None:
        """Look at the page; a browser that fails then ends the episode."""
        if self.turn == 0:
            self._views.clear()
        if self._views.observe:
            self._look(self._views.take)

    def render(self) -> Any:
        """Return (``rgb_array``) the page as the browser shows it, uint8 ``[H, W, 3]``, or the transcript.

        A page that does not answer in time is black; a browser that has failed gives the last picture there
        was, and ends the episode with the next step. Before ``reset`` there is none.
        """
        if self.render_mode != "rgb_array" or self.task is None:
            return super().render()
        if "screenshot" not in self._views.observe:  # else it is there already
            self._look(self._views.draw)
        return self._views.image.copy()

    def view_key(self) -> Any:
        """Return how often the page has changed what it shows."""
        return self._views.changes

    def build_observation(self, text: str) -> dict[str, Any]:
        """Return the observation with the views that were asked for."""
        return {**super().build_observation(text), **self._views.values}

    # ------------------------------------------------------------------ private

    def _look(self, how: Callable[[Backend], Any]) -> None:
        if self.workspace.failure:
            return
        try:
            how(self.workspace.backend)
        except BackendFailure as failure:
            self.workspace.failure = str(failure) or "the browser failed"

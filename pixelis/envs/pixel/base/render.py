"""A picture of an episode for people: the scene, the view's box on it, the view, the calls, the answer."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from pixelis.envs.pixel.drawing.fonts import FONT_FOLDER
from pixelis.envs.pixel.tools.workspace import PixelWorkspace
from pixelis.envs.tasks import Task
from pixelis.envs.tools import ToolResult
from pixelis.errors import MissingDependencyError

SCENE_SIDE, PANEL_WIDTH, MARGIN = 640, 320, 12
FRAME_SHAPE = (SCENE_SIDE + 2 * MARGIN, SCENE_SIDE + PANEL_WIDTH + 3 * MARGIN, 3)

_PAPER, _INK, _FAINT = (250, 249, 246), (32, 34, 38), (130, 132, 136)
_MARK, _GOOD, _BAD = (226, 36, 84), (24, 128, 72), (190, 40, 40)
_ANSWERED = {True: _GOOD, False: _BAD, None: _INK}
_COLUMNS, _LINE_HEIGHT = 44, 17


@lru_cache(maxsize=4)
def _font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    name = "Roboto-Bold.ttf" if bold else "Roboto-Medium.ttf"
    return ImageFont.truetype(str(FONT_FOLDER / name), size, layout_engine=ImageFont.Layout.BASIC)


class Ending(NamedTuple):
    """An answer, and whether it was right; None where nobody knows."""

    answer: str
    success: bool | None


def render_episode(
    task: Task, workspace: PixelWorkspace, results: Sequence[ToolResult], ending: Ending | None
) -> np.ndarray:
    """Draw the state of an episode.

    Returns:
        uint8 array of ``FRAME_SHAPE``: the scene with the current view framed on the left; on the right the
        view itself, the question, the last calls with what they said, and the answer.
    """
    frame = Image.new("RGB", (FRAME_SHAPE[1], FRAME_SHAPE[0]), _PAPER)
    frame.paste(workspace.image.resize((SCENE_SIDE, SCENE_SIDE), Image.Resampling.BOX), (MARGIN, MARGIN))
    draw = ImageDraw.Draw(frame)
    left, top, right, bottom = (MARGIN + round(value * SCENE_SIDE) for value in workspace.view_box)
    draw.rectangle((left, top, right - 1, bottom - 1), outline=_MARK, width=3)
    column = SCENE_SIDE + 2 * MARGIN
    view = Image.fromarray(workspace.view).resize((PANEL_WIDTH, PANEL_WIDTH), Image.Resampling.BILINEAR)
    frame.paste(view, (column, MARGIN))
    draw.rectangle(
        (column, MARGIN, column + PANEL_WIDTH - 1, MARGIN + PANEL_WIDTH - 1), outline=_MARK, width=2
    )
    _write_log(draw, (column, PANEL_WIDTH + 2 * MARGIN), task, results, ending)
    return np.asarray(frame)


def _write_log(
    draw: ImageDraw.ImageDraw,
    place: tuple[int, int],
    task: Task,
    results: Sequence[ToolResult],
    ending: Ending | None,
) -> None:
    x, y = place
    for line in textwrap.wrap(task.question, _COLUMNS - 6):
        draw.text((x, y), line, _INK, _font(15, bold=True))
        y += _LINE_HEIGHT + 3
    last = [(f"answer: {_printable(ending.answer)}", _ANSWERED[ending.success])] if ending else []
    room = (FRAME_SHAPE[0] - MARGIN - y) // _LINE_HEIGHT - len(last)
    lines = [line for result in results for line in _result_lines(result)]
    shown = lines[-room:] if room > 0 else []
    for text, colour in [*shown, *last]:
        draw.text((x, y), text, colour, _font(13))
        y += _LINE_HEIGHT


def _result_lines(result: ToolResult) -> list[tuple[str, tuple[int, int, int]]]:
    arguments = ", ".join(f"{name}={value}" for name, value in result.arguments.items())
    head = textwrap.shorten(_printable(f"{result.tool or '?'}({arguments})"), _COLUMNS, placeholder="…")
    said = [_printable(line) for line in result.text.splitlines()][:4]
    colour = _FAINT if result.ok else _BAD
    return [
        (head, _INK),
        *((textwrap.shorten("  " + line, _COLUMNS, placeholder="…"), colour) for line in said),
    ]


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text[:200])


class Window:
    """A window on the screen, through pygame as Gymnasium's own environments do."""

    def __init__(self, title: str) -> None:
        try:
            import pygame
        except ImportError as error:
            raise MissingDependencyError(
                'render_mode="human" needs pygame: pip install "pixelis[render]"'
            ) from error
        self._pygame: Any = pygame
        pygame.display.init()
        self._screen = pygame.display.set_mode((FRAME_SHAPE[1], FRAME_SHAPE[0]))
        pygame.display.set_caption(title)
        self._clock = pygame.time.Clock()

    def show(self, frame: np.ndarray, frames_per_second: int) -> None:
        """Show a frame, at most ``frames_per_second`` of them."""
        surface = self._pygame.surfarray.make_surface(frame.swapaxes(0, 1))
        self._screen.blit(surface, (0, 0))
        self._pygame.event.pump()
        self._clock.tick(frames_per_second)
        self._pygame.display.flip()

    def close(self) -> None:
        """Close the window."""
        self._pygame.display.quit()

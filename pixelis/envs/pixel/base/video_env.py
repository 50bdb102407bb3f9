"""``VideoEnv``: a pixel environment whose task shows frames, one of which is open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pixelis.envs.pixel.base.env import PixelEnv
from pixelis.envs.pixel.base.picture import Picture
from pixelis.envs.pixel.base.tool_scores import score_call, track_iou
from pixelis.envs.pixel.base.video import Film, VideoWorkspace
from pixelis.envs.pixel.base.video_tools import VIDEO_TOOLS, box_to_track
from pixelis.envs.pixel.tools.ocr import Reader
from pixelis.envs.pixel.tools.view import Box
from pixelis.envs.tasks import Task
from pixelis.envs.tools import Tool, ToolResult


class VideoEnv(PixelEnv):
    """A video that is looked at frame by frame, through views, with tools that see nothing but pixels.

    A subclass says where tasks come from (``task_source``), what a task shows (``open_film``) and what a
    right answer is (``judge``).

    ## Action space

    `Utf8Text(16384)`: one whole assistant turn. Its calls are run in document order; an answer ends the
    episode.

    | call | arguments | effect |
    |---|---|---|
    | SELECT_FRAME | `frame` from 0 | that frame is open, at the same view |
    | TRACK | `box` or `region` in the open frame, optional `to` frame | where the object is in 16 frames |
    | ZOOM | `center` + `factor` 1–50 (default 4), or `box`, or `region` | the view becomes the square there |
    | READ_TEXT | optional `box` or `region` | text of the current view, with boxes and confidence |
    | SEGMENT | `point`, `box`, `colour`, or nothing | that region; else what stands out, of that colour |
    | GET_PROPERTIES | `region` | colour, area, shape and position of a region of the current view |
    | THINK | `thought` | nothing |

    Coordinates are `[x, y]` and `[x0, y0, x1, y1]` in 0–1 of the scene, whatever the view. TRACK follows what
    is in the box from the open frame to `to` (default: the last), forwards or backwards, by template matching
    or, where the object is a flat colourful surface, by mean shift on its hues. A frame in which the object
    cannot be seen has no box; when it is not seen again, TRACK says that it is lost and after which frame.

    ## Observation space

    | key | space | meaning |
    |---|---|---|
    | `text` | `Utf8Text(8192)` | at reset the question; then what the calls of the last turn said |
    | `image` | `Box(0, 255, (384, 384, 3), uint8)` | the current view of the open frame, RGB |

    ## Starting state

    Frame 0 is open, and all of it is the view. The scene, the question and the split are drawn from
    `reset(seed=…)` alone; a code belongs to `train` or to `test`, never to both.
    """

    tools: ClassVar[tuple[Tool[Any], ...]] = VIDEO_TOOLS
    workspace: VideoWorkspace

    def open_film(self, task: Task) -> Film:
        """Return the frames that a task shows, from the task alone.

        Raises:
            TaskError: the task's data describe no video.
        """
        raise NotImplementedError

    def open_picture(self, task: Task) -> Picture:
        """Return the frame that is open at first."""
        return self.open_film(task).picture_of(0)

    def view_key(self) -> Any:
        """Return the open frame and the box of the view."""
        return self.workspace.frame, self.workspace.view_box

    # ------------------------------------------------------------------ private

    def _open_workspace(self, task: Task) -> VideoWorkspace:
        return VideoWorkspace(self.open_film(task), self.view_size, self._picture_reader)

    def _picture_reader(self, picture: Picture, view_box: Box) -> Reader:
        return self._reader_of(picture, view_box)

    def _scores(self, result: ToolResult) -> dict[str, float]:
        film = self.workspace.film
        if result.tool == "TRACK" and result.ok and film.places_of is not None:
            iou = track_iou(film.places_of, self._start(result), result.data["track"])
            return {} if iou is None else {"iou": iou}
        return score_call(self.workspace.picture, self.workspace, result)

    def _start(self, result: ToolResult) -> tuple[int, Sequence[float]]:
        return self.workspace.frame, box_to_track(self.workspace, result.arguments)

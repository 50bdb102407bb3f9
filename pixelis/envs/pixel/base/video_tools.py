"""The tools for pictures in a row: SELECT_FRAME opens one of them, TRACK follows an object through them.

Both see pixels and nothing else; coordinates are normalised to the scene, as those of every pixel tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pixelis.envs.pixel.base.video import VideoWorkspace
from pixelis.envs.pixel.tools.toolset import (
    BOX_SCHEMA,
    PIXEL_TOOLS,
    REGION_SCHEMA,
    STILL_IMAGE,
    checked_box,
    one_of,
)
from pixelis.envs.pixel.tools.tracking import Sighting, Trail, follow
from pixelis.envs.pixel.tools.view import Box
from pixelis.envs.pixel.tools.workspace import format_box
from pixelis.envs.tools import CallRefused, Tool, ToolOutput
from pixelis.rewards.terms.traits import ToolTraits

MAX_FRAMES = 64
"""Frames of the longest video."""

REPORTED_FRAMES = 16
"""TRACK reports on about so many frames, evenly spaced, the last always among them."""

_FRAME = {"type": "integer", "minimum": 0, "maximum": MAX_FRAMES - 1}


# ---------------------------------------------------------------------- SELECT_FRAME


def _select_frame(workspace: VideoWorkspace, arguments: Mapping[str, Any]) -> ToolOutput:
    workspace.select(arguments["frame"])
    box, last = workspace.view_box, workspace.film.frames - 1
    return ToolOutput(
        f"Frame {workspace.frame} of 0 to {last}, view {format_box(box)}.",
        {"frame": workspace.frame, "frames": workspace.film.frames, "view": list(box)},
    )


SELECT_FRAME: Tool[VideoWorkspace] = Tool(
    "SELECT_FRAME",
    "Open a frame of the video; the view stays where it is. Frames count from 0.",
    {"properties": {"frame": {**_FRAME, "description": "index of the frame"}}, "required": ["frame"]},
    _select_frame,
    ToolTraits(visual=True),
)


# ---------------------------------------------------------------------- TRACK


def box_to_track(workspace: VideoWorkspace, arguments: Mapping[str, Any]) -> Box:
    """Return the box that TRACK starts from, 0-1 of the scene; refuse one that is not there."""
    match one_of(arguments, "box", "region"):
        case "box":
            box = checked_box(arguments["box"])
            workspace.to_view(box)  # an object has to be in view to be pointed at
        case "region":
            box = workspace.region(arguments["region"]).box
        case _:
            raise CallRefused("bad_arguments", "give a box or a region of the current view to follow.")
    return box


def _track(workspace: VideoWorkspace, arguments: Mapping[str, Any]) -> ToolOutput:
    film, start = workspace.film, workspace.frame
    if film.frames == 1:
        raise CallRefused("still_image", STILL_IMAGE)
    box = box_to_track(workspace, arguments)
    stop = arguments.get("to", film.frames - 1)
    workspace.check_frame(stop)
    if stop == start:
        raise CallRefused(
            "bad_arguments",
            f"frame {start} is the one that is open; give another one of 0 to {film.frames - 1}.",
        )
    width, height = workspace.image.size
    native = box[0] * width, box[1] * height, box[2] * width, box[3] * height
    trail = follow(film.part_of, (width, height), Sighting(start, native, 1.0), stop)
    return _report(trail, stop, (width, height))


def _report(trail: Trail, stop: int, size: tuple[int, int]) -> ToolOutput:
    seen = {one.frame: one for one in trail.sightings}
    rows = [_row(frame, seen.get(frame), size) for frame in reported_frames(trail.sightings[0].frame, stop)]
    lines = [
        f"{row['frame']}: {format_box(row['box'])} {row['confidence']:.2f}"
        if row["box"]
        else f"{row['frame']}: not seen"
        for row in rows
    ]
    if trail.lost_after is not None:
        lines.append(f"Lost: not seen again after frame {trail.lost_after}.")
    data = {
        "track": rows,
        "lost": trail.lost_after is not None,
        "last_seen": trail.sightings[-1].frame,
        "method": trail.method,
    }
    return ToolOutput("\n".join(lines), data)


def _row(frame: int, found: Sighting | None, size: tuple[int, int]) -> dict[str, Any]:
    if found is None:
        return {"frame": frame, "box": None, "confidence": 0.0}
    box = [round(value / size[i % 2], 4) for i, value in enumerate(found.box)]
    return {"frame": frame, "box": box, "confidence": round(found.confidence, 3)}


def reported_frames(start: int, stop: int) -> list[int]:
    """Return the frames that TRACK reports on, in its order: every k-th from the start, and the last."""
    count = abs(stop - start)
    every, way = -(-count // REPORTED_FRAMES), 1 if stop > start else -1
    return [*(start + way * i for i in range(0, count, every)), stop]


TRACK: Tool[VideoWorkspace] = Tool(
    "TRACK",
    "Follow the object in a box or region of the current view through the frames, to the last or to a given "
    "one, forwards or backwards. Says where it is seen, where not, and when it is lost.",
    {
        "properties": {
            "box": BOX_SCHEMA,
            "region": REGION_SCHEMA,
            "to": {**_FRAME, "description": "last frame to follow it to"},
        },
        "minProperties": 1,  # a box or a region; box_to_track says so
    },
    _track,
    ToolTraits(limit=5, requires="SEGMENT", visual=True),
)

VIDEO_TOOLS: tuple[Tool[Any], ...] = (*PIXEL_TOOLS, TRACK, SELECT_FRAME)

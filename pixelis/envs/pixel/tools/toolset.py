"""The tools of the pixel family: ZOOM, READ_TEXT, SEGMENT, GET_PROPERTIES and THINK.

All of them see the *current view's* pixels and nothing else; all coordinates are normalised to the scene.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pixelis.envs.pixel.tools.colours import colour_names, dominant_colour, name_colour
from pixelis.envs.pixel.tools.pixel_cache import PixelCache
from pixelis.envs.pixel.tools.properties import measure
from pixelis.envs.pixel.tools.segment import Region, salient_regions, segment_box, segment_point
from pixelis.envs.pixel.tools.view import Box, square_around, square_box
from pixelis.envs.pixel.tools.workspace import PixelWorkspace, format_box
from pixelis.envs.tasks import Task
from pixelis.envs.tools import CallRefused, Tool, ToolOutput, Toolset
from pixelis.rewards.terms.traits import ToolTraits

MIN_BOX_SIDE = 0.02
MAX_FACTOR = 50
MAX_REGIONS = 48
# In these words the shipped model was pretrained; what would help is in READ_TEXT's description.
NO_TEXT = "No text can be read here."
REGION_MARGIN = 0.25  # share of a region's longer side that a view around it shows on each side

_COORDINATE = {"type": "number", "minimum": 0, "maximum": 1}
BOX_SCHEMA = {
    "type": "array",
    "items": _COORDINATE,
    "minItems": 4,
    "maxItems": 4,
    "description": "[x0, y0, x1, y1], 0-1",
}
_POINT = {"type": "array", "items": _COORDINATE, "minItems": 2, "maxItems": 2, "description": "[x, y], 0-1"}
_COLOUR = {"type": "string", "enum": list(colour_names()), "description": "list only this colour"}
REGION_SCHEMA = {"type": "integer", "minimum": 1, "description": "id of a region from SEGMENT"}
_FACTOR = {"type": "number", "minimum": 1, "maximum": MAX_FACTOR, "description": "1 shows the whole scene"}


def pixel_toolset(open_workspace: Callable[[Task], PixelWorkspace]) -> Toolset[PixelWorkspace]:
    """Return the five tools over workspaces that ``open_workspace`` opens for a task."""
    return Toolset(PIXEL_TOOLS, open_workspace)


def one_of(arguments: Mapping[str, Any], *choices: str) -> str | None:
    """Return the one choice that was given, ``None`` for none of them; refuse several."""
    given = [name for name in choices if name in arguments]
    if len(given) > 1:
        raise CallRefused(
            "bad_arguments", f"give only one of {', '.join(choices)}, not {' and '.join(given)}."
        )
    return given[0] if given else None


def checked_box(box: list[float]) -> Box:
    """Return a box of a call, 0-1 of the scene; refuse one that is too small or the wrong way round."""
    x0, y0, x1, y1 = box
    if x1 - x0 < MIN_BOX_SIDE or y1 - y0 < MIN_BOX_SIDE:
        raise CallRefused(
            "box_too_small",
            f"a box needs x1 - x0 and y1 - y0 of at least {MIN_BOX_SIDE}, "
            f"got {x1 - x0:.3f} and {y1 - y0:.3f}.",
        )
    return (x0, y0, x1, y1)


# ---------------------------------------------------------------------- ZOOM


def _zoom(workspace: PixelWorkspace, arguments: Mapping[str, Any]) -> ToolOutput:
    match one_of(arguments, "box", "region", "center"):
        case "box":
            box = square_around(checked_box(arguments["box"]), margin=0)
        case "region":
            box = square_around(workspace.region(arguments["region"]).box, REGION_MARGIN)
        case "center":
            box = square_box(arguments["center"], arguments.get("factor", 4))
        case _:
            raise CallRefused("bad_arguments", "give a box, a region, or a center with a factor.")
    workspace.look(box)
    shown = format_box(box, workspace.box_decimals)
    return ToolOutput(f"View {shown}.", {"view": list(box), "factor": round(workspace.factor, 3)})


ZOOM: Tool[PixelWorkspace] = Tool(
    "ZOOM",
    "Look closer (or back): the next view is the square around a box, a region, or a center at a factor.",
    {"properties": {"box": BOX_SCHEMA, "region": REGION_SCHEMA, "center": _POINT, "factor": _FACTOR}},
    _zoom,
    ToolTraits(limit=3, leads_to=("READ_TEXT",), visual=True),
)


# ---------------------------------------------------------------------- READ_TEXT


def box_to_read(workspace: PixelWorkspace, arguments: Mapping[str, Any]) -> tuple[int, int, int, int]:
    """Return the part of the view that READ_TEXT reads, in pixels; refuse one that is not there."""
    match one_of(arguments, "box", "region"):
        case "box":
            box = checked_box(arguments["box"])
        case "region":
            box = workspace.region(arguments["region"]).box
        case _:
            box = workspace.view_box
    return workspace.to_view(box)


def _read_text(workspace: PixelWorkspace, arguments: Mapping[str, Any]) -> ToolOutput:
    reading = workspace.reader.read(workspace.view, box_to_read(workspace, arguments))
    lines = [
        {
            "text": line.text,
            "box": [round(value, 4) for value in workspace.to_scene(line.box)],
            "confidence": round(line.confidence, 3),
            "words": [
                {
                    "text": word.text,
                    "box": [round(value, 4) for value in workspace.to_scene(word.box)],
                    "confidence": round(word.confidence, 3),
                }
                for word in line.words
            ],
        }
        for line in reading.lines
    ]
    text = "\n".join(f"{line['text']} {format_box(line['box'], workspace.box_decimals)}" for line in lines)
    data = {"text": reading.text, "lines": lines}
    return ToolOutput(text, data) if lines else ToolOutput(NO_TEXT, data, "no_text")


READ_TEXT: Tool[PixelWorkspace] = Tool(
    "READ_TEXT",
    "Read the text in the current view, or in a box or region of it. Small text must be zoomed in on first.",
    {"properties": {"box": BOX_SCHEMA, "region": REGION_SCHEMA}},
    _read_text,
    ToolTraits(limit=15, visual=True),
)


# ---------------------------------------------------------------------- SEGMENT and GET_PROPERTIES


def _segment(workspace: PixelWorkspace, arguments: Mapping[str, Any]) -> ToolOutput:
    view = workspace.view
    match one_of(arguments, "point", "box", "colour"):
        case "point":
            masks = [segment_point(view, *workspace.point_to_view(arguments["point"]))]
        case "box":
            masks = [segment_box(view, workspace.to_view(checked_box(arguments["box"])))]
        case _:
            masks = []
    found = [(mask, name_colour(dominant_colour(view, mask))) for mask in masks if mask.any()]
    if not masks:
        wanted, regions = arguments.get("colour"), _STANDING_OUT.get(view, _standing_out)
        found = [(region.mask, colour) for region, colour in regions if wanted in (None, colour)]
    rows = [_describe_region(workspace, *each) for each in found]
    text = "\n".join(
        f"{row['region']}: {row['colour']} {format_box(row['box'], workspace.box_decimals)}" for row in rows
    )
    return ToolOutput(text or "No region stands out here.", {"regions": rows})


def _standing_out(view: np.ndarray) -> list[tuple[Region, str]]:
    """Return the regions that stand out, each with the name of its colour."""
    boxes = [(region, *region.box) for region in salient_regions(view, MAX_REGIONS)]
    return [
        (region, name_colour(dominant_colour(view[y0:y1, x0:x1], region.patch)))
        for region, x0, y0, x1, y1 in boxes
    ]


_STANDING_OUT: PixelCache[list[tuple[Region, str]]] = PixelCache(256)


def _describe_region(workspace: PixelWorkspace, mask: np.ndarray, colour: str) -> dict[str, Any]:
    identifier, region = workspace.add_region(mask)
    return {
        "region": identifier,
        "box": [round(value, 4) for value in region.box],
        "colour": colour,
        "area": round(int(mask.sum()) / mask.size, 5),
    }


SEGMENT: Tool[PixelWorkspace] = Tool(
    "SEGMENT",
    "Segment the object at a point or in a box; with neither, list the regions of the current view "
    "that stand out, all or those of a colour.",
    {"properties": {"point": _POINT, "box": BOX_SCHEMA, "colour": _COLOUR}},
    _segment,
    ToolTraits(limit=10, leads_to=("GET_PROPERTIES", "TRACK"), visual=True),
)


def _get_properties(workspace: PixelWorkspace, arguments: Mapping[str, Any]) -> ToolOutput:
    region = workspace.region(arguments["region"])
    properties = measure(workspace.view, region.mask)
    centroid = workspace.to_scene((*properties.centroid, *properties.centroid))[:2]
    data = {
        **properties.to_json(),
        "box": [round(value, 4) for value in region.box],
        "centroid": [round(value, 4) for value in centroid],
    }
    shown = (
        "colour",
        "area_share",
        "circularity",
        "solidity",
        "aspect_ratio",
        "orientation_degrees",
        "position",
    )
    return ToolOutput(", ".join(f"{name} {_short(data[name])}" for name in shown), data)


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


GET_PROPERTIES: Tool[PixelWorkspace] = Tool(
    "GET_PROPERTIES",
    "Measure a region: colour, area (share of the view), shape and position in the view.",
    {"properties": {"region": REGION_SCHEMA}, "required": ["region"]},
    _get_properties,
    ToolTraits(limit=10, requires="SEGMENT", visual=True),
)


# ---------------------------------------------------------------------- THINK


def _think(workspace: PixelWorkspace, arguments: Mapping[str, Any]) -> ToolOutput:
    return ToolOutput("Noted.")


THINK: Tool[PixelWorkspace] = Tool(
    "THINK",
    "Write a thought down. It changes nothing.",
    {"properties": {"thought": {"type": "string", "maxLength": 4000}}},
    _think,
    ToolTraits(no_op=True),
)


PIXEL_TOOLS: tuple[Tool[PixelWorkspace], ...] = (ZOOM, READ_TEXT, SEGMENT, GET_PROPERTIES, THINK)

NEED_FRAMES = ("TRACK", "SELECT_FRAME")
"""Tools that only a video has, see `video_tools`; on one picture a call of them is refused as such."""

STILL_IMAGE = "there is one picture only, not a video; look closer at it with ZOOM and SEGMENT."

"""``Pixelis/AskImage-v0``: questions about the user's own images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from PIL import Image

from pixelis.envs.keywords import (
    Difficulty,
    Expected,
    FilePath,
    Flag,
    RenderMode,
    Split,
    Turns,
    checked_keywords,
)
from pixelis.envs.pixel.ask_image.photo import BAR_COLOUR, Letterbox, open_photo
from pixelis.envs.pixel.ask_image.players import ask_image_players, look_side
from pixelis.envs.pixel.ask_image.question_file import QuestionFile
from pixelis.envs.pixel.ask_image.tasks import ImageQuestions, row_of_task
from pixelis.envs.pixel.base.env import PixelEnv, ViewSize
from pixelis.envs.pixel.base.picture import Picture
from pixelis.envs.pixel.base.progress import looked_at, share, way
from pixelis.envs.pixel.tools.ocr import ReaderName
from pixelis.envs.pixel.tools.ocr_truth import TextItem
from pixelis.envs.pixel.tools.view import Box
from pixelis.envs.pixel.tools.workspace import PixelWorkspace
from pixelis.envs.players import ScriptedPlayer
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import ToolEnv, Verdict
from pixelis.errors import DatasetError, ImageReadError, ImageSizeError
from pixelis.rewards.answers import TypedAnswer, parse_box, parse_point
from pixelis.rewards.answers.agreement import AnswerForm

EXAMPLES = Path(__file__).parent / "examples" / "questions.jsonl"
"""The questions that are played when no data are given; scripts/draw_ask_image_examples.py makes them."""

QuestionPath = Annotated[FilePath, Expected("the path of a JSONL file of questions", error=DatasetError)]

_FEW_DECIMALS, _MANY_DECIMALS = 6, 12
_THIN = 0.001  # share of the scene under which a box's side is written with many decimals


class AskImageEnv(PixelEnv):
    """Answer questions about your own images.

    ## Description

    A file of questions, one JSON object a line, names an image, a question, the answer and its type. The
    first view shows the whole image at 384×384 pixels; what is too small there must be zoomed in on. Without
    a file, a few drawn images that come with the package are asked about.

    An image that is not square lies in the middle of a square scene with grey bars, so nothing is distorted;
    every coordinate that the agent gives or gets is in 0–1 of that scene.

    ## Observation space

    | key | space | meaning |
    |---|---|---|
    | `text` | `Utf8Text(8192)` | at reset the question, the choices, how to answer; then what calls said |
    | `image` | `Box(0, 255, (384, 384, 3), uint8)` | the current view, RGB |

    ## Rewards

    1 for a right answer, else 0; `info["success"]` says the same. What is right depends on the type. An
    answer that lists several candidates matches none.

    | `answer_type` | `answer` in the file | right is | `tolerance` |
    |---|---|---|---|
    | `text` | `"Oct 21"` | the same phrase: case, space, quotes, end stop ignored; `October 21st` too | – |
    | `number` | `1204.5` or `"$1,204.50"` | the same number | absolute, or `{"relative": 0.02}` |
    | `choice` | one of `choices` | its text, its letter, or both | – |
    | `set` | `["red", "blue"]` | all items, no other, any order | – |
    | `box` | `[x0, y0, x1, y1]`, no side under 1/8192 | a box that overlaps | least IoU, 0.5 |
    | `point` | `[x, y]` | a point close by | greatest distance in 0–1 of the scene, 0.05 |

    Numbers are read as people write them: `1,204.50`, `1.204,50`, `1 204.5`, `(3.00)` for -3, `2.5 million`,
    `12 %`. Where two readings are possible the English one counts: `1,204` is 1204. A unit may be left out; a
    currency or `%` may be added; any other unit must be the truth's. Nothing is converted: `50%` is 50, not
    0.5. NaN, infinity and `1e999` are no numbers.

    ## Starting state

    A row of the split, drawn from `reset(seed=…)` alone; its whole image is the view. `info["task"]["id"]`
    ends with the row's line number.

    ## Episode end

    * Termination: an answer was given.
    * Truncation: `max_turns` turns without an answer.

    An image that cannot be read any more (deleted, damaged, a drive that is away) is no fault of the agent:
    every `info` of that episode has `valid_for_training=False` and a `failure_reason`, the view is grey, and
    no answer is right.

    ## Arguments

    | name | default | meaning |
    |---|---|---|
    | `data` | `None` | path of the JSONL file; `None` plays the images that come with the package |
    | `split` | `train` | `train` or `test` |
    | `check_images` | `False` | open every image at construction; else only their paths are checked |
    | `reader` | `ocr` | `ocr`: rapidocr on pixels; `truth`: the texts of `regions` as far as legible |
    | `max_turns` | 8 | turns before truncation |
    | `view_size` | 384 | side of the views, 64–1024 pixels |
    | `render_mode` | `None` | `rgb_array` or `human` |
    | `difficulty` | 0 | there is only one: your images are as hard as they are |

    ```python
    import json
    import pathlib
    import tempfile

    import gymnasium as gym
    from PIL import Image

    import pixelis

    folder = pathlib.Path(tempfile.mkdtemp())
    Image.new("RGB", (640, 400), "navy").save(folder / "sea.png")
    row = {"image": "sea.png", "question": "Which colour?", "answer": "blue", "answer_type": "text"}
    (folder / "my.jsonl").write_text(json.dumps({**row, "split": "train"}))

    env = gym.make("Pixelis/AskImage-v0", data=str(folder / "my.jsonl"))
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("<answer>Blue.</answer>")
    assert reward == 1.0
    ```

    ### The file

    | field | meaning |
    |---|---|
    | `image` | path of the image; a relative one starts from the file's folder |
    | `question` | what is asked; with its choices at most 8,000 characters |
    | `answer_type`, `answer`, `choices`, `tolerance` | see Rewards; a row may have no `answer` (see below) |
    | `regions` | optional: where to look: boxes, or `{"box": …, "text": …, "look": …}` (see below) |
    | `split` | optional: `train` or `test`; else a hash of the image's path decides: a fifth is `test` |

    The oracle looks at the `regions`, but not where `look` is `false`. A region's `text` is what the reader
    `truth` can read there; name all texts of an image if you use it, with `look` where they are beside the
    point.

    Boxes and points in the file are in 0–1 of the upright image's own width and height, without the bars. The
    whole scene is a right answer to a box that fills the tolerance's share of it; ask about smaller things.
    Rows without an `answer` can be played, and trained on by a vote (docs/guide/without_labels.md): every
    reward is 0, and `info` has no `success`. Their `answer_type` says how answers are compared with each
    other.

    Bad rows are reported together with their line numbers before anything is played. The same question in
    both splits is an error. The file is read row by row: in memory are 16 bytes a row.

    PNG, JPEG, WebP, GIF, BMP, TIFF and PPM are read, up to 80 megapixels; the EXIF orientation is obeyed,
    transparent pixels become white, and sides beyond 8192 pixels are shrunk. Refused, with what to do
    instead, are animations and files of several pages (which one is meant?), CMYK, 16-bit and floating-point
    pixels (which colours are meant is not in the file), and files that are damaged or cut off.

    ### Memory

    The scene of an open image takes four bytes a pixel of the square (Pillow pads RGB), bars included: 64 MB
    for a photograph of 4000×3000, up to 268 MB for a side of 8192 or more, and while it is opened the decoded
    picture besides. The last two images of a process are kept, and environments in it share them;
    environments in processes of their own do not. No argument limits it: shrink the files if it is too much.

    ## Version history

    * v0: first version.

    ## Source

    After the visual question answering sets that tool-using models train on, such as those of Pixel-Reasoner
    (Su et al. 2025, arXiv:2505.15966); the file format and the comparison of answers are our own.
    """

    task_gap = 1.0

    @checked_keywords
    def __init__(
        self,
        *,
        data: QuestionPath | None = None,
        difficulty: Difficulty = 0,
        split: Split = "train",
        check_images: Flag = False,
        reader: ReaderName = "ocr",
        max_turns: Turns | None = None,
        view_size: ViewSize = 384,
        render_mode: RenderMode = None,
    ) -> None:
        self.questions = QuestionFile.open(EXAMPLES if data is None else data, check_images=check_images)
        self._letterbox = Letterbox(1, 1)
        self._failure: str | None = None
        super().__init__(
            difficulty=difficulty,
            split=split,
            reader=reader,
            max_turns=max_turns,
            view_size=view_size,
            render_mode=render_mode,
        )
        self.tool_limits = {  # a question may be about several places, and each may need a look of its own
            name: max(self.toolset.tools[name].traits.limit or 0, self.max_turns)
            for name in ("ZOOM", "READ_TEXT")
        }

    def task_source(self) -> ImageQuestions:
        """Return the rows of the file."""
        return ImageQuestions(self.questions)

    def judge(self, task: Task, answer: str | None, workspace: PixelWorkspace) -> Verdict:
        """Judge an answer by the row's type: 1 when it is right, else 0; 0 where the row has no answer."""
        truth = self.scene_truth()
        if truth is None:
            return Verdict(None, {"task": 0.0})
        success = answer is not None and self._failure is None and truth.matches(answer)
        return Verdict(success, {"task": float(success)})

    def open_picture(self, task: Task) -> Picture:
        """Return the image of a task as a square scene, or a grey one when it cannot be read.

        Raises:
            TaskError: the task is no question about an image.
        """
        row = row_of_task(task)
        try:
            photo = open_photo(self.questions.resolve(row.image))
        except (ImageReadError, ImageSizeError) as error:
            self._failure = f"the image of {task.id} cannot be shown: {error}"
            self._letterbox = Letterbox(1, 1)
            return Picture(Image.new("RGB", (self.view_size, self.view_size), BAR_COLOUR))
        self._failure, self._letterbox = None, photo.letterbox
        known = [
            (photo.letterbox.box_to_scene(one["box"]), one["text"]) for one in row.regions if "text" in one
        ]
        return Picture(photo.image, texts=partial(_texts_in_view, tuple(known)) if known else None)

    def scene_truth(self) -> TypedAnswer | None:
        """Return the truth of the current episode as the agent must give it: in scene coordinates.

        None where the row has no answer.
        """
        assert self.task is not None  # asked for in an episode
        truth = row_of_task(self.task).truth
        if truth is None:
            return None
        if truth.kind == "box":
            box = self._letterbox.box_to_scene(parse_box(truth.truth) or ())
            is_thin = min(box[2] - box[0], box[3] - box[1]) < _THIN
            return replace(truth, truth=_coordinates(box, _MANY_DECIMALS if is_thin else _FEW_DECIMALS))
        if truth.kind == "point":
            point = self._letterbox.point_to_scene(parse_point(truth.truth) or ())
            return replace(truth, truth=_coordinates(point, _FEW_DECIMALS))
        return truth

    def scene_regions(self) -> list[Box]:
        """Return where the current task's file says to look, in scene coordinates."""
        assert self.task is not None  # asked for in an episode
        regions = (one for one in row_of_task(self.task).regions if one.get("look", True))
        return [self._letterbox.box_to_scene(region["box"]) for region in regions]

    @property
    def instructions(self) -> str:
        """The choices, the form of the answer, and how to act."""
        assert self.task is not None  # reset() has set it
        return f"{row_of_task(self.task).hint}\n{super().instructions}"

    @property
    def answer_form(self) -> AnswerForm | None:
        """That of the row."""
        return None if self.task is None else row_of_task(self.task).form

    @property
    def choices(self) -> tuple[str, ...]:
        """The row's choices; empty where it has none."""
        given = self.task.data.get("choices") if self.task is not None else None
        return tuple(map(str, given)) if isinstance(given, list | tuple) else ()

    def nearness(self) -> float:
        """Return what is done of this: look at each region that the row names (0 without any), answer."""
        looks = [looked_at(self.results, box, look_side(box)) for box in self.scene_regions()]
        return way([share(looks)])

    def players(self) -> dict[str, Callable[[ToolEnv[Any]], ScriptedPlayer]]:
        """Return the floors, the oracle, the tool-free baseline and the exploits of this environment."""
        return {**super().players(), **ask_image_players()}

    def build_info(self, results: list[Any]) -> dict[str, Any]:
        """Return the info; without its image an episode is not valid, and without an answer not judged."""
        failed = {"valid_for_training": False, "failure_reason": self._failure} if self._failure else {}
        unknown = {"unlabelled": True} if self.task is not None and not self.task.answer else {}
        return {**super().build_info(results), **failed, **unknown}


def _coordinates(numbers: tuple[float, ...], decimals: int) -> str:
    return f"[{', '.join(f'{number:.{decimals}f}' for number in numbers)}]"


def _texts_in_view(known: tuple[tuple[Box, str], ...], view_box: Box, view_size: int) -> list[TextItem]:
    """Return the texts of regions as lines that fill their boxes, in pixels of a view."""
    scale = view_size / (view_box[2] - view_box[0])
    items = []
    for (x0, y0, x1, y1), text in known:
        left, right = ((x - view_box[0]) * scale for x in (x0, x1))
        top, bottom = ((y - view_box[1]) * scale for y in (y0, y1))
        corners = ((left, top), (right, top), (right, bottom), (left, bottom))
        items.append(TextItem(text, corners, bottom - top))
    return items

"""A JSONL file of questions about images, of any length."""

from __future__ import annotations

import os
from pathlib import Path

from pixelis.envs.data.file import RowFile, RowKey, RowPlace
from pixelis.envs.pixel.ask_image.photo import open_photo
from pixelis.envs.pixel.ask_image.question_rows import QuestionRow, image_split, row_of
from pixelis.errors import DatasetError


class QuestionFile(RowFile[QuestionRow]):
    """The questions of a file by split, see `RowFile`.

    Args:
        path: the file. Relative image paths in it start from its folder.
        check_images: also open every image, which takes as long as reading them all.

    Raises:
        DatasetError: see `RowFile`; images that are no files, too.
    """

    what = "JSONL file of questions"
    parse = staticmethod(row_of)

    def __init__(self, path: Path, *, check_images: bool = False) -> None:
        self._check_images = check_images
        self._seen = ""  # rows on one image often follow each other
        super().__init__(path)

    def resolve(self, image: str) -> Path:
        """Return where an image lies: relative paths start from the file's folder."""
        return self.path.parent / image

    def enter(self, row: QuestionRow, place: RowPlace) -> RowKey:
        """Refuse a row whose image is not there; see ``image_split`` for one that names no split."""
        if row.image != self._seen:
            self._check_image(row.image)
            self._seen = row.image
        path = os.path.abspath(self.resolve(row.image))
        split = row.split or image_split(self._relative(path))
        shown = os.path.realpath(path)  # a link is the picture that it leads to
        return RowKey(split, int.from_bytes(row.digest(shown), "big"))

    def _relative(self, path: str) -> str:
        """Return the one way to write an image's absolute path, however the row writes it."""
        try:
            return os.path.relpath(path, self.path.parent)
        except ValueError:  # another drive of Windows
            return path

    def _check_image(self, image: str) -> None:
        path = self.resolve(image)
        if not os.path.isfile(path):
            raise DatasetError(f"field 'image': there is no file {path}; correct the path")
        if self._check_images:
            open_photo(path)

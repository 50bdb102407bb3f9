"""A file of questions: the index, the lines of bad rows, the splits, and how little memory it takes."""

from __future__ import annotations

import hashlib
import json
import tracemalloc

import pytest
from PIL import Image

from pixelis.envs.data.lines import MAX_LINE_BYTES
from pixelis.envs.pixel.ask_image.question_file import QuestionFile
from pixelis.envs.tasks import SPLITS
from pixelis.errors import DatasetError

ROW = {"image": "a.png", "question": "What?", "answer": "KT47", "answer_type": "text", "split": "train"}


@pytest.fixture
def folder(tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    return tmp_path


def write(folder, *rows, name="questions.jsonl"):
    path = folder / name
    path.write_bytes(
        b"".join(row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows)
    )
    return path


def test_rows_are_found_by_split_with_their_line_numbers(folder):
    rows = [{**ROW, "question": f"{n}?", "split": SPLITS[n % 2]} for n in range(4)]
    mark, blank, dos = b"\xef\xbb\xbf", b"  \n\n", json.dumps(rows[2]).encode() + b"\r\n"
    last = json.dumps(rows[3]).encode()  # no line break at the end
    file = QuestionFile.open(write(folder, mark, rows[0], blank, rows[1], dos, last))
    assert [file.count(split) for split in SPLITS] == [2, 2]
    found = [
        (line, row.question) for split in SPLITS for line, row in (file.read(split, i) for i in range(2))
    ]
    assert found == [(1, "0?"), (5, "2?"), (4, "1?"), (6, "3?")]


def test_relative_images_start_from_the_file_and_absolute_ones_do_not(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "b.png"
    Image.new("RGB", (8, 8)).save(elsewhere)
    file = QuestionFile.open(write(folder, ROW, {**ROW, "image": str(elsewhere)}))
    assert file.resolve("a.png") == folder / "a.png"
    assert file.resolve(str(elsewhere)) == elsewhere


def test_bad_rows_are_named_by_line_five_at_a_time(folder):
    bad = {**ROW, "answer_type": "txt"}
    path = write(folder, ROW, bad, {**ROW, "image": "none.png"}, b"\n", b"oops\n", *[bad] * 9)
    with pytest.raises(DatasetError) as caught:
        QuestionFile.open(path)
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{path.resolve()} has bad rows:"
    assert [line.split(":")[0] for line in lines[1:]] == [f"line {n}" for n in (2, 3, 5, 6, 7)]
    assert "Did you mean 'text'" in lines[1]
    assert "there is no file" in lines[2] and "none.png" in lines[2]
    assert "one JSON object" in lines[3]


def test_a_row_without_end_is_refused_before_it_fills_the_memory(folder):
    path = write(folder, ROW, b'{"image": "' + b"x" * (3 * MAX_LINE_BYTES))
    with pytest.raises(DatasetError, match=r"line 2: expected at most 1,048,576 bytes"):
        QuestionFile.open(path)


@pytest.mark.parametrize("data", ["", "none.jsonl", "\0", 5, None, b"x", "/dev/null"])
def test_what_is_no_file_is_refused(folder, data):
    with pytest.raises(DatasetError, match=r"correct the path|must be the path|name the file"):
        QuestionFile.open(data)


def test_a_file_without_rows_is_refused(folder):
    with pytest.raises(DatasetError, match="has no rows"):
        QuestionFile.open(write(folder, b"\n \n"))


def test_the_same_question_in_both_splits_is_refused(folder):
    other = {**ROW, "question": "Who?"}
    path = write(folder, other, ROW, ROW, {**ROW, "split": "test"})
    with pytest.raises(DatasetError, match=r"lines 2 \(train\) and 4 \(test\) ask the same"):
        QuestionFile.open(path)
    assert QuestionFile.open(write(folder, ROW, ROW, {**other, "split": "test"})).count("train") == 2
    (folder / "link.png").symlink_to("a.png")
    written = [{"question": text} for text in (" what? ", "What\uff1f")]
    written += [{"image": name} for name in (str(folder / "a.png"), "./a.png", "link.png")]
    for again in written:
        with pytest.raises(DatasetError, match="ask the same"):
            QuestionFile.open(write(folder, ROW, {**ROW, **again, "split": "test"}, name="again.jsonl"))


def test_images_are_opened_beforehand_when_asked_for(folder):
    (folder / "b.png").write_bytes(b"not a picture")
    path = write(folder, ROW, {**ROW, "image": "b.png"})
    assert QuestionFile.open(path).count("train") == 2
    with pytest.raises(DatasetError, match=r"line 2: expected a picture"):
        QuestionFile.open(path, check_images=True)


def spoilt(path, how):
    """Write a picture that is refused."""
    grey = Image.new("RGB", (8, 8), "grey")
    if how == "animated":
        grey.save(path, "GIF", save_all=True, append_images=[Image.new("RGB", (8, 8), "red")])
    elif how == "CMYK":
        grey.convert("CMYK").save(path, "JPEG")
    elif how == "16 bits":
        Image.new("I;16", (8, 8)).save(path, "PNG")
    else:
        grey.save(path, "PNG")
        path.write_bytes(path.read_bytes()[:-30])


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("animated", "still image, got 2 frames .* save the frame you ask about as a PNG"),
        ("CMYK", "got mode 'CMYK' .* convert it to 8-bit RGB"),
        ("16 bits", "got mode 'I;16' .* convert it to 8-bit RGB"),
        ("cut off", "damaged or cut off .* save or copy it anew"),
    ],
)
def test_a_picture_that_cannot_be_shown_is_named_by_its_line(folder, how, words):
    spoilt(folder / "b.png", how)
    path = write(folder, ROW, {**ROW, "question": "Which?"}, {**ROW, "image": "b.png"})
    with pytest.raises(DatasetError, match=f"line 3: .*{words}"):
        QuestionFile.open(path, check_images=True)


def test_the_index_is_shared_until_the_file_changes(folder):
    path = write(folder, ROW)
    first = QuestionFile.open(path)
    assert QuestionFile.open(str(path)) is first
    write(folder, ROW, ROW)
    assert QuestionFile.open(path).count("train") == 2
    with pytest.raises(DatasetError, match="has changed since it was opened"):
        first.read("train", 0)


def long_file(folder, rows):
    path = folder / f"{rows}.jsonl"
    with path.open("w") as file:
        for number in range(rows):
            row = {**ROW, "question": f"{number} ".ljust(3_990, "x"), "split": SPLITS[number % 2]}
            file.write(json.dumps(row) + "\n")
    return path


def test_a_file_is_indexed_in_a_hundredth_of_its_size(folder):
    """6000 rows of 4 kB: were they kept, the peak would be 24 MB and more."""
    path = long_file(folder, 6_000)
    assert path.stat().st_size > 24_000_000
    QuestionFile(long_file(folder, 300))  # what is imported and compiled at the first use is not counted
    tracemalloc.start()
    questions = QuestionFile(path)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 240_000 and peak < 1_000_000
    assert questions.read("test", 2_999)[1].question.startswith("5999 ")
    assert questions.read("train", 1)[0] == 3


def test_an_image_has_one_split_however_its_path_is_written(folder):
    names = [f"im{number}.png" for number in range(20)]
    for name in names:
        Image.new("RGB", (8, 8)).save(folder / name)
    ways = ("{0}", "./{0}", f"{folder}/{{0}}", f"../{folder.name}/{{0}}", f"{folder}/../{folder.name}/{{0}}")
    asked = {key: value for key, value in ROW.items() if key != "split"}
    rows = [
        {**asked, "image": way.format(name), "question": f"{name} {place}"}
        for name in names
        for place, way in enumerate(ways)
    ]
    file = QuestionFile.open(write(folder, *rows))
    splits = {
        split: {file.read(split, i)[1].question.split()[0] for i in range(file.count(split))}
        for split in SPLITS
    }
    tested = {name for name in names if hashlib.sha256(name.encode()).digest()[0] % 5 == 0}
    assert tested and splits == {"train": set(names) - tested, "test": tested}
    assert file.count("test") == 5 * len(tested)

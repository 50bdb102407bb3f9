"""The contract's clause about answers: nothing says them to whoever has not used a tool."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from pixelis.envs.check.contract import Finding, Subject
from pixelis.envs.check.playing import play_turns
from pixelis.envs.check.scores import TOOL_FREE, greatest_floor
from pixelis.envs.tasks import Task

PROSE = "Let me think about it."
"""A turn that uses no tool and answers nothing."""
TOLD_BY_INFO = "info"
TOLD_BY_TEXT = "text"


def answers_are_not_told(subject: Subject) -> Finding:
    """Before the end info does not tell the answer, nor does the text where a tool must find it.

    A turn of prose is played; what ``info`` says beside the results of tools, and all the text that is
    observed, is searched for the task's answer and for those of the other seeds: what has the choices in its
    question has the other answers too. The text is judged where the task is in a picture, or the environment
    ships a player that must fail for want of tools; else reading it is the task. Where an answer can be
    guessed (``env.chance``) the choices stand in it: there, as where reading is the task, it is told how
    often the answer does, and ``floors_hold`` judges what that is worth.
    """
    env = subject.tool_env()
    tasks: list[Task] = []
    said: dict[str, list[str]] = {TOLD_BY_INFO: [], TOLD_BY_TEXT: []}
    has_pictures = False
    for seed in subject.seeds:
        turns = play_turns(env, [PROSE], seed)
        tasks.append(_task_of(env))
        has_pictures = "image" in turns[0][0]
        before = [turn for turn in turns if not (turn[2] or turn[3])]
        infos = [{key: value for key, value in turn[4].items() if key != "tool_calls"} for turn in before]
        said[TOLD_BY_INFO].append(json.dumps(infos, default=str, ensure_ascii=False))
        texts = [str(value) for turn in before for value in turn[0].values() if isinstance(value, str)]
        said[TOLD_BY_TEXT].append("\n".join(texts))
    own = [task.answer.strip() for task in tasks]
    if not any(own):
        return Finding("answers_are_not_told", True, "tasks have no answer of their own")
    needs_tools = bool(env.toolset.tools) and not set(TOOL_FREE).isdisjoint(env.players())
    judges_text = (has_pictures or needs_tools) and not env.chance(env.difficulty)
    judged = [TOLD_BY_INFO, *([TOLD_BY_TEXT] if judges_text else [])]
    wrong, told = [], []
    for place, texts in said.items():
        mine, others = shares(own, texts)
        told.append(f"{place} {mine:.2f} (those of others {others:.2f})")
        if place in judged and mine > greatest_floor(others, len(texts), subject.floor):
            wrong.append(place)
    measured = f"answers found in {', '.join(told)}; judged: {' and '.join(judged)}"
    remedy = f"leave the answer out of {' and '.join(wrong)}: build_info, the task's id, the question"
    return Finding("answers_are_not_told", not wrong, measured, remedy)


def _task_of(env: Any) -> Task:
    assert env.task is not None  # an episode has begun
    return env.task


def shares(own: Sequence[str], texts: Sequence[str]) -> tuple[float, float]:
    """Return in which share of the texts their own answer stands whole, and in which those of the others."""
    mine, others = [], []
    for place, text in enumerate(texts):
        for whose, answer in enumerate(own):
            if answer and (whose == place or answer != own[place]):
                (mine if whose == place else others).append(_stands_in(answer, text))
    return sum(mine) / max(1, len(mine)), sum(others) / max(1, len(others))


def _stands_in(answer: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE) is not None

"""Conversations as tokens: a first prompt, then only what each observation adds.

The history is never rendered or tokenised a second time. What a later observation adds is found by rendering
a dummy conversation through the model's own chat template and cutting it after the assistant's words, so that
the tokens the policy sampled stay exactly as they were.

An id beyond the embeddings is an index error on a CPU and ends the whole process on a GPU, so it is looked
for before: by `check_vocabulary` for a tokenizer that does not belong to the model, and in the rollout for
single texts.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from PIL import Image

from pixelis.agents.episodes.episode import Segment, Shown
from pixelis.envs.tool_listing import listed
from pixelis.errors import ModelLoadError

_LOG = logging.getLogger(__name__)
_MARKS = ("XQZASSISTANTFIRSTXQZ", "XQZASSISTANTSECONDXQZ")
_PLACEHOLDERS = ("image_token_id", "image_token_index", "video_token_id", "video_token_index")


class ChatFormat:
    """Turns observations into token segments with a model's chat template.

    Args:
        processor: a transformers processor (model with vision) or tokenizer.
        config: the model's config; names the image placeholder.
        generation_config: names further end-of-sequence tokens; None if the model has none.

    Attributes:
        system_prompt: the system message of every prompt that brings none of its own; empty for none.

    Raises:
        ModelLoadError: the model has no chat template.
    """

    def __init__(self, processor: Any, config: Any = None, generation_config: Any = None) -> None:
        self.processor, self.system_prompt = processor, ""
        self.tokenizer = getattr(processor, "tokenizer", processor)
        self.sees_images = hasattr(processor, "image_processor")
        if not getattr(processor, "chat_template", None) and not self.tokenizer.chat_template:
            raise ModelLoadError("the model has no chat template; use an instruct or chat version of it")
        ids = (getattr(holder, name, None) for holder in (config, processor) for name in _PLACEHOLDERS)
        found = {index for index in ids if isinstance(index, int)} if self.sees_images else set()
        self.placeholder_ids: tuple[int, ...] = tuple(sorted(found))
        self._generation_config = generation_config

    # ------------------------------------------------------------------ facts about the template

    @cached_property
    def pad_id(self) -> int:
        """Token id for padding; never read, the attention mask hides it."""
        candidates = (self.tokenizer.pad_token_id, self.tokenizer.eos_token_id, 0)
        return next(index for index in candidates if index is not None and index not in self.placeholder_ids)

    @cached_property
    def end_of_turn_id(self) -> int | None:
        """The token the template writes after an assistant's words, if it is a token of its own."""
        first = self._encode(self._suffix("x", image=False))[0]
        special = first in self.tokenizer.all_special_ids or first in self.tokenizer.added_tokens_decoder
        return int(first) if special else None

    @cached_property
    def stop_ids(self) -> frozenset[int]:
        """Tokens that end a turn: end-of-sequence ids and the template's end of turn."""
        declared = getattr(self._generation_config, "eos_token_id", None)
        ids = {
            *(declared if isinstance(declared, list) else [declared]),
            self.tokenizer.eos_token_id,
            self.end_of_turn_id,
        }
        return frozenset(int(index) for index in ids if index is not None)

    @cached_property
    def reads_tools(self) -> bool:
        """Whether the template mentions ``tools``; if so it alone decides how (or whether) they are shown."""
        template = getattr(self.processor, "chat_template", None) or self.tokenizer.chat_template
        sources = list(template.values()) if isinstance(template, dict) else [template]
        return any("tools" in source for source in sources)

    @cached_property
    def append_only(self) -> bool:
        """Whether rendering a longer conversation leaves the earlier part as it was; told once if not."""
        question, first, observation, second = self._dummy()
        short = self._render([question])
        middle = self._render([question, first, observation])
        long = self._render([question, first, observation, second, observation])
        answer = middle.startswith(short + _MARKS[0]) and long.startswith(middle + _MARKS[1])
        if not answer:
            _LOG.warning(
                "the chat template rewrites earlier turns when a conversation grows; episodes keep the tokens"
                " the model saw and only append, each such observation is counted as a fork"
            )
        return answer

    @cached_property
    def _control_strings(self) -> tuple[str, ...]:
        """Strings that would become control tokens: the template's own, end of sequence, placeholders."""
        ids = {int(index) for index in self._encode(self._render(list(self._dummy())))}
        special = (
            ids & set(self.tokenizer.all_special_ids)
            | self.stop_ids
            | {self.pad_id}
            | set(self.placeholder_ids)
        )
        strings = {self.tokenizer.convert_ids_to_tokens(index) for index in special}
        image = getattr(self.processor, "image_token", None)
        return tuple(sorted(string for string in strings | {image} if string and len(string) > 1))

    # ------------------------------------------------------------------ segments

    def first(
        self,
        text: str,
        image: np.ndarray | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
        system: str = "",
    ) -> Segment:
        """Return the prompt: the tools, the first observation and the opening of the assistant's turn.

        Args:
            text: the observation's text.
            image: uint8 [H, W, 3] or None; ignored by a model without vision.
            tools: schemas in OpenAI's function form; listed in a system message if the template has no place
                for them.
            system: a system message in the place of `system_prompt`; put before the text if the template has
                no place for it.
        """
        system = system or self.system_prompt
        image = image if self.sees_images else None
        if system:
            return self._segment(self._render_with_system(system, text, tools, image is not None), image)
        user = self._message("user", self.harmless(text), image=image is not None)
        if not tools:
            rendered = self._render([user])
        elif self.reads_tools:
            rendered = self._render([user], tools=list(tools))
        else:
            rendered = self._render_with_listing(text, tools, image is not None)
        return self._segment(rendered, image)

    def later(self, text: str, image: np.ndarray | None = None, last_token: int | None = None) -> Segment:
        """Return what an observation adds after the policy's turn, up to the opening of its next one.

        Args:
            text: the observation's text.
            image: uint8 [H, W, 3] or None.
            last_token: the last token the policy sampled. If the template would write that same token next
                (the end of the turn), it is not repeated; a turn that was cut off gets it here, outside the
                loss.
        """
        image = image if self.sees_images else None
        return self._segment(
            self._suffix(self.harmless(text), image=image is not None), image, skip=last_token
        )

    def written(self, text: str) -> np.ndarray:
        """Tokenise a turn as if the policy had sampled it, end of turn included; int64 [n]."""
        end = self.end_of_turn_id if self.end_of_turn_id is not None else self.tokenizer.eos_token_id
        return np.append(self._encode(self.harmless(text)), [] if end is None else [end]).astype(np.int64)

    def decode(self, tokens: Sequence[int] | np.ndarray) -> str:
        """Return the text of tokens, control tokens visible."""
        ids = [int(index) for index in tokens]
        return self.tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)

    def action(self, tokens: Sequence[int] | np.ndarray) -> str:
        """Return the text of a sampled turn without the token that ended it."""
        ids = list(tokens)
        return self.decode(ids[:-1] if ids and int(ids[-1]) in self.stop_ids else ids)

    def harmless(self, text: str) -> str:
        """Break control strings in a text, so that a tool's output cannot end a turn or claim an image."""
        for string in self._control_strings:
            if string in text:
                text = text.replace(string, f"{string[0]} {string[1:]}")
        return text

    # ------------------------------------------------------------------ rendering

    def _dummy(self) -> tuple[dict[str, Any], ...]:
        return (
            self._message("user", "question"),
            self._message("assistant", _MARKS[0]),
            self._message("user", "observation"),
            self._message("assistant", _MARKS[1]),
        )

    def _message(self, role: str, text: str, *, image: bool = False) -> dict[str, Any]:
        if not self.sees_images:
            return {"role": role, "content": text}
        parts: list[dict[str, str]] = [{"type": "image"}] if image else []
        return {"role": role, "content": [*parts, {"type": "text", "text": text}]}

    def _render(self, messages: list[dict[str, Any]], tools: list[Mapping[str, Any]] | None = None) -> str:
        return self.processor.apply_chat_template(
            messages, tools=tools, add_generation_prompt=True, tokenize=False
        )

    def _render_with_listing(self, text: str, tools: Sequence[Mapping[str, Any]], image: bool) -> str:
        listing = listed(tools)
        user = self._message("user", self.harmless(text), image=image)
        try:
            rendered = self._render([self._message("system", listing), user])
        except Exception:  # templates refuse a system role with whatever error they like
            rendered = ""
        if listing in rendered:
            return rendered
        return self._render([self._message("user", f"{listing}\n\n{self.harmless(text)}", image=image)])

    def _render_with_system(
        self, system: str, text: str, tools: Sequence[Mapping[str, Any]], image: bool
    ) -> str:
        if tools and not self.reads_tools:
            return self._render_with_system(f"{system}\n\n{listed(tools)}", text, (), image)
        system, schemas = self.harmless(system), list(tools) or None
        user = self._message("user", self.harmless(text), image=image)
        try:
            rendered = self._render([self._message("system", system), user], tools=schemas)
        except Exception:  # templates refuse a system role with whatever error they like
            rendered = ""
        if system.strip() in rendered and rendered:
            return rendered
        user = self._message("user", f"{system}\n\n{self.harmless(text)}", image=image)
        return self._render([user], tools=schemas)

    def _suffix(self, text: str, *, image: bool) -> str:
        question, first, *_ = self._dummy()
        rendered = self._render([question, first, self._message("user", text, image=image)])
        _, found, rest = rendered.partition(_MARKS[0])
        if not found:
            raise ModelLoadError("the chat template leaves out what the assistant said; use another model")
        return rest

    def _encode(self, text: str) -> np.ndarray:
        return np.asarray(self.tokenizer(text, add_special_tokens=False)["input_ids"], dtype=np.int64)

    def _segment(self, rendered: str, image: np.ndarray | None, skip: int | None = None) -> Segment:
        images: dict[str, torch.Tensor] = {}
        tokens = short = self._encode(rendered)  # one placeholder for a picture
        if image is not None:
            options = {"add_special_tokens": False, "return_tensors": "pt"}
            out = self.processor(text=[rendered], images=[Image.fromarray(image)], **options)
            tokens = out.pop("input_ids")[0].numpy()
            length = len(tokens)
            per_token = [key for key, value in out.items() if tuple(value.shape) == (1, length)]
            images = _pictures_first({key: value for key, value in out.items() if key not in per_token})
        if skip is not None and len(tokens) and int(tokens[0]) == skip:
            tokens, short = tokens[1:], short[1:]
            rendered = rendered.removeprefix(self.decode([skip]))
        return Segment.given(tokens, rendered, images, None if image is None else Shown(short, image))


def _pictures_first(images: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Let the first axis count pictures, so that those of several segments can be joined.

    Idefics-type processors (SmolVLM too) give [rows, pictures, ...] and pad rows to equal numbers of
    pictures; a segment is one row, and [pictures, 1, ...] means the same to the model without the padding.
    """
    values = images.get("pixel_values")
    if values is None or values.ndim != 5 or "pixel_attention_mask" not in images:
        return images
    return {key: value.transpose(0, 1).contiguous() for key, value in images.items()}


def vocabulary_size(model: Any) -> int:
    """Return how many token ids a model can both read and write."""
    head = model.get_output_embeddings()
    sizes = [model.get_input_embeddings().num_embeddings, *([head.out_features] if head is not None else [])]
    return min(sizes)


def check_vocabulary(model: Any, chat: ChatFormat, source: str) -> None:
    """Check that a model knows its tokenizer's ordinary tokens, its padding and its chat template's tokens.

    Special tokens that nothing uses may lie outside (tokenizers add some on loading), as may placeholders of
    images, which are never embedded. A model that knows *more* is common: embeddings are padded.

    Args:
        model: a transformers model.
        chat: its chat format.
        source: what it was loaded from, for the message.

    Raises:
        ModelLoadError: the tokenizer needs a larger vocabulary.
    """
    tokenizer = chat.tokenizer
    special = {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder}
    needed = {index for index in tokenizer.get_vocab().values() if index not in special}
    needed |= {chat.pad_id, *map(int, chat.first("x").tokens)}
    largest, size = max(needed - set(chat.placeholder_ids)), vocabulary_size(model)
    if largest >= size:
        raise ModelLoadError(
            f"the model {source!r} has a vocabulary of {size} tokens and its tokenizer needs {largest + 1};"
            " give the tokenizer that belongs to it, or call resize_token_embeddings and save the model again"
        )

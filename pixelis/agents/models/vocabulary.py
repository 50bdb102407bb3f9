"""Whether a model can read every token that its tokenizer writes.

An id beyond the embeddings is an index error on a CPU and ends the whole process on a GPU, so it is looked
for before: here for a tokenizer that does not belong to the model, and in the rollout for single texts.
"""

from __future__ import annotations

from typing import Any

from pixelis.agents.models.chat import ChatFormat
from pixelis.errors import ModelLoadError


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

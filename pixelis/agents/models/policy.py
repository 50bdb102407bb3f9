"""A language or vision-language model as a policy: loading, LoRA, and the log-probabilities of episodes."""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pixelis.agents.episodes.episode import Episode, join_images
from pixelis.agents.models.chat import ChatFormat, check_vocabulary, vocabulary_size
from pixelis.agents.models.full_weights import FrozenWeights, whole
from pixelis.agents.models.loading import LoadedModel, load_model, portable_name, still_there
from pixelis.agents.models.lora import (
    LoraSettings,
    add_lora,
    folded,
    freeze_copy,
    load_copy,
    name_base,
    reference_active,
    streamline,
)
from pixelis.agents.models.model_note import ModelNote, write_note
from pixelis.agents.models.processors import save_processor
from pixelis.agents.models.vision import ImageFeatures
from pixelis.agents.run_files.saved_run import ADAPTER, WEIGHTS
from pixelis.agents.scoring.collation import collate
from pixelis.agents.scoring.logprobs import TokenLogprobs, packed_logprobs, takes_positions
from pixelis.agents.scoring.packing import Packing
from pixelis.agents.scoring.support import Layout, fits, switched
from pixelis.errors import ConfigError
from pixelis.rewards.text.quiet import quiet_libraries

__all__ = ["FORBIDDEN_LOGIT", "LoraSettings", "Policy", "TokenLogprobs"]

FORBIDDEN_LOGIT = torch.finfo(torch.float32).min  # finite: p * log p of a forbidden token is 0, not NaN


class Policy:
    """A model that writes turns, with an optional LoRA adapter on top, or with all its weights trained.

    Build one with `Policy.load`. The model stays in eval mode (no dropout) unless a trainer switches it.

    Attributes:
        model: the transformers model, inside a `peft.PeftModel` if there is an adapter.
        processor: its processor or tokenizer.
        base_name: what the base model was loaded from.
        chat: how conversations become tokens, see `pixelis.agents.models.chat.ChatFormat`.
        came_with_adapter: the adapter was loaded from a folder, so it may already have been trained.
        trained_from: the model before any training that is known of: a hub id, a name or a folder.
        tokens_read: tokens the model has been given so far, padding included, trials left out.
        weights_version: training steps that made the weights; whoever gives it other weights says it.
        shards: the frozen weights as shares, a `pixelis.agents.distributed.shards.Shards`; None: whole.
    """

    def __init__(self, loaded: LoadedModel, lora: LoraSettings | None = None, *, full: bool = False) -> None:
        self.processor, self.base_name = loaded.processor, loaded.base_name
        self.trained_from = loaded.note.trained_from or loaded.base_name
        self.tokens_read = self.weights_version = 0
        self.shards: Any = None
        self.model = loaded.model
        self.chat = ChatFormat(self.processor, self.base.config, self.base.generation_config)
        self.chat.system_prompt = loaded.note.system_prompt
        check_vocabulary(self.base, self.chat, self.base_name)
        if full:
            self.model = whole(self.model)
        self.came_with_adapter = self.has_adapter
        self._copy: FrozenWeights | None = None  # the reference of a model without an adapter
        if lora is not None and not self.has_adapter:
            self.model = add_lora(self.model, lora)
        streamline(self.model)

    @classmethod
    def load(
        cls,
        model: str | Path,
        *,
        device: str = "auto",
        dtype: str = "float32",
        lora: LoraSettings | None = None,
        quantization: str = "none",
        full: bool = False,
    ) -> Policy:
        """Load a model by one path for all.

        Args:
            model: a folder that ``save_pretrained`` wrote, that of an adapter, of a training run or of one of
                its checkpoints, a hub id, or a name of `named_models`: ``pixelis-tiny``, …, ``smollm2``.
            device: ``auto`` (CUDA if there is one), ``cpu``, ``cuda``, ``cuda:1``, ...
            dtype: ``float32``, ``bfloat16``, ``float16``, or ``auto``, see `weight_type`.
            lora: put a fresh adapter on it. Without effect on an adapter folder, which keeps its own.
            quantization: ``none``, ``8bit`` or ``4bit``: the frozen weights by bitsandbytes, CUDA only.
            full: train every weight of the language part and no adapter; one that was loaded is merged.

        Raises:
            ModelLoadError: the model cannot be had; the message says what was tried and what to do.
            ConfigError: unknown dtype, device or quantization, or quantised without CUDA.
            MissingDependencyError: a package is needed that is not installed; the message names it.
        """
        loaded = load_model(model, device=device, dtype=dtype, quantization=quantization)
        return cls(loaded, None if full else lora, full=full)

    # ------------------------------------------------------------------ what it is

    @property
    def tokenizer(self) -> Any:
        """The tokenizer."""
        return self.chat.tokenizer

    @property
    def has_adapter(self) -> bool:
        """Whether a LoRA adapter sits on the base model."""
        return hasattr(self.model, "disable_adapter")

    @property
    def base(self) -> Any:
        """The transformers model without the PEFT wrapper (adapted layers stay adapted)."""
        return self.model.get_base_model() if self.has_adapter else self.model

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    @cached_property
    def max_context(self) -> int | None:
        """Longest sequence in tokens the model was built for, or None if its config does not say."""
        return getattr(self.base.config.get_text_config(decoder=True), "max_position_embeddings", None)

    @cached_property
    def vocabulary_size(self) -> int:
        """How many token ids the model can read and write."""
        return vocabulary_size(self.base)

    @cached_property
    def forward_keywords(self) -> frozenset[str]:
        """Names of the arguments the model's forward takes."""
        return frozenset(inspect.signature(self.base.forward).parameters)

    @property
    def position_axes(self) -> int:
        """Number of position ids a token has: 1, or 3 for models with multimodal rotary embeddings."""
        return 1 if self._rope_index is None else 3

    @cached_property
    def _rope_index(self) -> Any:
        return getattr(getattr(self.base, "model", None), "get_rope_index", None)

    # ------------------------------------------------------------------ forward

    def positions(self, tokens: np.ndarray, images: Mapping[str, torch.Tensor]) -> np.ndarray:
        """Return position ids of a stretch of tokens that starts at position 0, int64 [axes, n].

        One axis for ordinary models; three (time, height, width) for those with multimodal rotary embeddings,
        whose own ``get_rope_index`` decides.
        """
        if self._rope_index is None or not images:
            return np.broadcast_to(np.arange(len(tokens)), (self.position_axes, len(tokens)))
        ids = torch.as_tensor(tokens)[None]
        offered = {
            "input_ids": ids,
            "mm_token_type_ids": self._image_flags(ids),
            "attention_mask": torch.ones_like(ids),
        }
        offered.update({key: value.cpu() for key, value in images.items() if key.endswith("grid_thw")})
        known = inspect.signature(self._rope_index).parameters
        found, _ = self._rope_index(**{key: value for key, value in offered.items() if key in known})
        return found[:, 0].numpy()

    def forward(
        self,
        tokens: torch.Tensor,
        attention_mask: torch.Tensor,
        positions: torch.Tensor,
        images: Mapping[str, torch.Tensor],
        **options: Any,
    ) -> Any:
        """Call the model once.

        Args:
            tokens: int64 [B, n], the new tokens.
            attention_mask: bool or int [B, past + n], 1 where a token may be attended to.
            positions: int64 [axes, B, n].
            images: tensors of the images whose placeholders are in ``tokens``, in row order.
            **options: passed on (``past_key_values``, ``use_cache``, ``logits_to_keep``).

        Returns:
            The model's output object; ``logits`` is among its attributes.
        """
        self.tokens_read += tokens.numel()
        inputs: dict[str, Any] = {"input_ids": tokens, "attention_mask": attention_mask, **options}
        if "position_ids" in self.forward_keywords:
            inputs["position_ids"] = positions[0] if len(positions) == 1 else positions
        if images:
            inputs.update({key: self._placed(value) for key, value in images.items()})
            if "mm_token_type_ids" in self.forward_keywords:
                inputs["mm_token_type_ids"] = self._image_flags(tokens)
        return self.base(**inputs)

    def scaled(self, logits: torch.Tensor, temperature: float) -> torch.Tensor:
        """Return float32 logits divided by the temperature, with image placeholders ruled out.

        A placeholder without an image would break the model, and no text can mean one.

        Sampler and trainer both go through here, so they speak of the same distribution.
        """
        logits = logits.float()
        if temperature != 1.0:
            logits = logits / temperature
        if self.chat.placeholder_ids:
            logits[..., list(self.chat.placeholder_ids)] = FORBIDDEN_LOGIT
        return logits

    def logprobs(self, episodes: Sequence[Episode], temperature: float = 1.0) -> TokenLogprobs:
        """Score the sampled tokens of episodes in one batched forward of the model, with gradient.

        log p(token_t | tokens_<t) is the log-softmax of ``logits / temperature`` at position t-1. The output
        head runs only at positions that are needed. What episodes have in common at their start is read once
        where the architecture allows it (`shares_prefixes`).

        Args:
            episodes: at least one; rows are right-padded, images concatenated in row order.
            temperature: the one the tokens were sampled at, > 0.
        """
        packing = Packing.of(episodes) if self.shares_prefixes else None
        if packing is None:
            return self.padded_logprobs(episodes, temperature)
        chosen, spread = packed_logprobs(self, episodes, packing, temperature)
        masks = [torch.from_numpy(episode.loss_mask) for episode in episodes]
        mask = torch.nn.utils.rnn.pad_sequence(masks, batch_first=True).to(self.device)
        return TokenLogprobs.placed(mask, chosen, spread)

    def padded_logprobs(self, episodes: Sequence[Episode], temperature: float = 1.0) -> TokenLogprobs:
        """Do what `logprobs` does by transformers' own forward, each episode a row of its own."""
        tokens, valid, positions, mask = collate(self, episodes)
        images = join_images([episode.images for episode in episodes])
        keep = torch.zeros_like(mask)
        keep[:, :-1] = mask[:, 1:]
        inputs = (tokens, valid, positions, images)
        logits = self.scaled(self.logits_at(keep, *inputs, use_cache=False), temperature)
        everything = torch.log_softmax(logits, dim=-1)
        chosen = everything.gather(-1, tokens[mask][:, None])[:, 0]
        with torch.no_grad():
            spread = -(everything.exp() * everything).sum(-1)
        return TokenLogprobs.placed(mask, chosen, spread)

    # ------------------------------------------------------------------ shared prefixes

    @cached_property
    def shares_prefixes(self) -> bool:
        """Whether episodes that begin alike can be read together; found by trying, see `prefix.support`."""
        return fits(self)

    @cached_property
    def image_features(self) -> ImageFeatures:
        """What the vision tower makes of images."""
        return ImageFeatures(self.base)

    def hidden(
        self,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        images: Sequence[Mapping[str, torch.Tensor]],
        layout: Layout,
    ) -> torch.Tensor:
        """Return the last hidden states [B, n, E] of tokens that see each other as a layout says.

        Args:
            tokens: int64 [B, n].
            positions: int64 [axes, B, n].
            images: of each segment that has any, in the order of their placeholders in ``tokens``.
            layout: who sees whom.
        """
        self.tokens_read += tokens.numel()
        inputs: dict[str, Any] = {"input_ids": tokens, "use_cache": False, "prefix_layout": layout}
        inputs["position_ids"] = positions[0] if len(positions) == 1 else positions
        if images:
            joined = {key: self._placed(value) for key, value in join_images(images).items()}
            inputs.update(self.image_features.inputs(images) or joined)
            if "mm_token_type_ids" in self.forward_keywords:
                inputs["mm_token_type_ids"] = self._image_flags(tokens)
        with switched(self.base):
            return self.base.base_model(**inputs).last_hidden_state

    def logits(self, hidden: torch.Tensor, temperature: float = 1.0) -> torch.Tensor:
        """Return the logits [..., V] of hidden states [..., E], see `scaled`."""
        return self.scaled(self.head(hidden), temperature)

    @property
    def head(self) -> Any:
        """What makes logits of hidden states."""
        return self.base.get_output_embeddings()

    def logits_at(self, keep: torch.Tensor, *inputs: Any, **options: Any) -> torch.Tensor:
        """Return logits [N, V] at the N True positions of ``keep`` [B, n], in row order.

        ``inputs`` and ``options`` are those of `forward`. Only these positions go through the output head
        where the architecture allows it.
        """
        if self._keeps_positions:
            return self.forward(*inputs, logits_to_keep=keep, **options).logits
        return self.forward(*inputs, **options).logits[keep]

    @cached_property
    def _keeps_positions(self) -> bool:
        return takes_positions(self)

    def _placed(self, value: torch.Tensor) -> torch.Tensor:
        return value.to(self.device, self.base.dtype if value.is_floating_point() else None)

    def _image_flags(self, tokens: torch.Tensor) -> torch.Tensor:
        flags = torch.zeros_like(tokens, dtype=torch.int32)
        for index in self.chat.placeholder_ids:
            flags |= (tokens == index).int()
        return flags

    # ------------------------------------------------------------------ the adapter

    @contextlib.contextmanager
    def reference(self) -> Iterator[None]:
        """Make the model its own reference inside the block.

        The adapter is disabled and nothing is copied, unless `freeze_reference` has kept trained weights.

        Raises:
            ConfigError: there is no adapter to disable, and no copy.
        """
        if not self.has_adapter:
            if self._copy is None:
                raise ConfigError("a reference needs a LoRA adapter to disable, or freeze_reference() first")
            block = self._copy.active(self.trainable_parameters())
        else:
            block = reference_active(self.model)
        with block:
            yield

    def freeze_reference(self) -> None:
        """Let a frozen copy of what is trained be the `reference` from here on; it is saved with it."""
        if self.has_adapter:
            freeze_copy(self.model)
        else:
            self._copy = FrozenWeights.of(self.trainable_parameters())

    def load_reference(self, folder: str | Path) -> None:
        """Take over the frozen copy in a folder that `save_trained` wrote, if it holds one."""
        if self.has_adapter:
            load_copy(self.model, Path(folder))
        else:
            self._copy = FrozenWeights.read(Path(folder), self.trainable_parameters())

    def folded(self, seed: int = 0) -> contextlib.AbstractContextManager[None]:
        """Inside the block the adapter is part of the weights where they are whole, see `lora.folded`."""
        return folded(self.model, seed) if self.shards is None else contextlib.nullcontext()

    def trainable_parameters(self) -> list[torch.nn.Parameter]:
        """The parameters an optimiser should see: the adapter's, or all without one."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    def save_trained(self, folder: Path) -> Path:
        """Write what is trained into a subfolder, and return it: ``adapter``, or a whole ``model``."""
        trained = folder / (ADAPTER if self.has_adapter else WEIGHTS)
        self.save_weights(trained)
        if self._copy is not None:
            self._copy.write(trained)
        return trained

    def save_weights(self, folder: str | Path) -> None:
        """Write what is trained as a folder that `load` takes: the adapter, or the whole model."""
        (self.save_adapter if self.has_adapter else self.save)(folder)

    def save_adapter(self, folder: str | Path) -> None:
        """Write the adapter as an ordinary PEFT folder, its base by its `portable_name`.

        Raises:
            ConfigError: there is no adapter.
        """
        if not self.has_adapter:
            raise ConfigError("there is no adapter to save; use save() for a fully fine-tuned model")
        with quiet_libraries():
            self.model.save_pretrained(str(folder), save_embedding_layers=False)
        name_base(Path(folder), portable_name(self.base_name))
        self._write_note(folder)

    def save(self, folder: str | Path) -> None:
        """Write model and processor as a Hugging Face folder, the adapter folded into the weights."""
        model = copy.deepcopy(self.model).merge_and_unload() if self.has_adapter else self.model
        with quiet_libraries():
            model.save_pretrained(str(folder))
            save_processor(self.processor, folder, still_there(self.base_name, self.trained_from))
        self._write_note(folder)

    def _write_note(self, folder: str | Path) -> None:
        write_note(Path(folder), ModelNote(self.chat.system_prompt, portable_name(self.trained_from)))

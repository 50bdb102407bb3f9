"""Training all weights of the language part, and the frozen copy of them that is its reference."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from pixelis.errors import CheckpointError

_FOLDER, _FILE = "reference", "weights.safetensors"


def whole(model: Any) -> Any:
    """Return a model whose language part and output head are trained; an adapter is merged into the weights.

    The vision tower and the projector stay frozen: pictures are encoded once.
    """
    if hasattr(model, "merge_and_unload"):
        model = model.merge_and_unload(safe_merge=True)
    parts = (model.get_decoder(), model.get_output_embeddings())
    language = {id(each) for part in parts if part is not None for each in part.parameters()}
    for parameter in model.parameters():
        parameter.requires_grad_(id(parameter) in language)
    return model.eval()


@dataclass(frozen=True)
class FrozenWeights:
    """A copy of the trained parameters as they once were; as much memory as these.

    Attributes:
        tensors: in the order of the parameters.
    """

    tensors: tuple[torch.Tensor, ...]

    @classmethod
    def of(cls, parameters: Sequence[torch.nn.Parameter]) -> FrozenWeights:
        """Copy the parameters as they are now."""
        return cls(tuple(parameter.detach().clone() for parameter in parameters))

    @classmethod
    def read(cls, folder: Path, parameters: Sequence[torch.nn.Parameter]) -> FrozenWeights | None:
        """Return the copy that `write` left in a folder, None where there is none.

        Raises:
            CheckpointError: it does not fit the parameters.
        """
        path = folder / _FOLDER / _FILE
        if not path.is_file():
            return None
        values = load_file(str(path))
        tensors = [values.get(str(index)) for index in range(len(parameters))]
        kept = [
            tensor.to(parameter.device)
            for tensor, parameter in zip(tensors, parameters, strict=True)
            if tensor is not None and tensor.shape == parameter.shape
        ]
        if len(kept) < len(parameters) or len(values) > len(kept):
            raise CheckpointError(f"the reference weights in {str(path)!r} do not fit the model")
        return cls(tuple(kept))

    def write(self, folder: Path) -> None:
        """Write the copy into a subfolder."""
        (folder / _FOLDER).mkdir(parents=True, exist_ok=True)
        values = {str(index): tensor.contiguous() for index, tensor in enumerate(self.tensors)}
        save_file(values, str(folder / _FOLDER / _FILE))

    @contextlib.contextmanager
    def active(self, parameters: Sequence[torch.nn.Parameter]) -> Iterator[None]:
        """Inside the block the parameters have the values of the copy; afterwards the very same tensors."""
        trained = [parameter.data for parameter in parameters]
        try:
            for parameter, tensor in zip(parameters, self.tensors, strict=True):
                parameter.data = tensor
            yield
        finally:
            for parameter, tensor in zip(parameters, trained, strict=True):
                parameter.data = tensor

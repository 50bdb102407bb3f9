"""A BERT encoder as an ONNX graph, made from the tensors of its checkpoint.

Exporting through torch takes seconds and two more packages. The graph is small, and its operators are those
that onnxruntime fuses an exported BERT into anyway, so writing it down takes milliseconds and nothing is kept
on disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pixelis.errors import MissingDependencyError, ModelLoadError

INPUTS = ("input_ids", "token_type_ids", "attention_mask")
OUTPUT = "last_hidden_state"
_FUSED = "com.microsoft"
_IR_VERSION, _OPSET = 8, 17


class _Graph:
    """Nodes and weights as they are added."""

    def __init__(self, tensors: Mapping[str, np.ndarray], epsilon: float) -> None:
        from onnx import helper

        self._helper = helper
        self._tensors, self._epsilon = tensors, epsilon
        self.nodes: list[Any] = []
        self.weights: dict[str, np.ndarray] = {}

    def node(self, operator: str, inputs: list[str], outputs: list[str], **attributes: Any) -> str:
        domain = "" if operator == "MatMul" else _FUSED
        self.nodes.append(self._helper.make_node(operator, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def weight(self, name: str, value: np.ndarray | None = None) -> str:
        array = self._tensors[name] if value is None else value
        self.weights[name] = np.ascontiguousarray(array, dtype=np.float32)
        return name

    def product(self, input_name: str, layer: str) -> str:
        transposed = self.weight(f"{layer}.weight", self._tensors[f"{layer}.weight"].T)
        return self.node("MatMul", [input_name, transposed], [f"{layer}.product"])

    def add_and_normalise(self, branch: str, residual: str, layer: str, output: str) -> str:
        scale, shift = self.weight(f"{layer}.LayerNorm.weight"), self.weight(f"{layer}.LayerNorm.bias")
        inputs = [branch, residual, scale, shift, self.weight(f"{layer}.dense.bias")]
        return self.node("SkipLayerNormalization", inputs, [output], epsilon=self._epsilon)

    def embed(self) -> tuple[str, str]:
        """Add the sum of word, position and type embeddings, normalised.

        Devlin et al., "BERT", arXiv:1810.04805, section 3.2. From the three `INPUTS`, int32 [n, length], to
        float32 [n, length, hidden] and the sequences' lengths without padding, int32 [n].

        Returns:
            the names of the two outputs.
        """
        names = ("word_embeddings", "position_embeddings", "token_type_embeddings")
        tables = [self.weight(f"embeddings.{name}.weight") for name in names]
        normal = [self.weight(f"embeddings.LayerNorm.{kind}") for kind in ("weight", "bias")]
        inputs = [INPUTS[0], INPUTS[1], *tables, *normal, INPUTS[2]]
        self.node("EmbedLayerNormalization", inputs, ["embedded", "lengths"], epsilon=self._epsilon)
        return "embedded", "lengths"

    def layer(self, number: int, hidden: str, lengths: str, heads: int, output: str) -> str:
        """Add a Transformer layer: attention, then two products with exact GELU, each added and normalised.

        Vaswani et al., arXiv:1706.03762, sections 3.1 to 3.3, with BERT's post-norm and GELU
        (arXiv:1810.04805).

        Args:
            number: of the layer, from 0.
            hidden: name of its input, float32 [n, length, hidden].
            lengths: name of the sequences' lengths, int32 [n]; what lies beyond is not attended to.
            heads: of its attention.
            output: name for its output, in the shape of its input.

        Returns:
            ``output``.

        Raises:
            KeyError: the checkpoint lacks one of the layer's tensors.
        """
        place = f"encoder.layer.{number}"
        query = [f"{place}.attention.self.{kind}" for kind in ("query", "key", "value")]
        joined = np.concatenate([self._tensors[f"{name}.weight"].T for name in query], axis=1)
        shifts = np.concatenate([self._tensors[f"{name}.bias"] for name in query])
        inputs = [
            hidden,
            self.weight(f"{place}.qkv.weight", joined),
            self.weight(f"{place}.qkv.bias", shifts),
        ]
        attended = self.node("Attention", [*inputs, lengths], [f"{place}.attended"], num_heads=heads)
        after = f"{place}.attention.output"
        mixed = self.add_and_normalise(
            self.product(attended, f"{after}.dense"), hidden, after, f"{place}.mixed"
        )
        wide = self.product(mixed, f"{place}.intermediate.dense")
        bias = self.weight(f"{place}.intermediate.dense.bias")
        active = self.node("BiasGelu", [wide, bias], [f"{place}.active"])
        return self.add_and_normalise(
            self.product(active, f"{place}.output.dense"), mixed, f"{place}.output", output
        )


def build_bert(
    tensors: Mapping[str, np.ndarray], *, layers: int, heads: int, epsilon: float
) -> tuple[bytes, dict[str, np.ndarray]]:
    """Return the graph, serialised and without weights, and its weights by name.

    The graph takes int32 [n, length] for each of `INPUTS`, padded on the right, and gives float32
    [n, length, hidden] as `OUTPUT`; the sequences of a batch do not see one another.

    Args:
        tensors: the checkpoint of a ``BertModel`` with absolute positions and exact GELU.
        layers: how many it has.
        heads: of each layer's attention.
        epsilon: of its layer norms.

    Raises:
        MissingDependencyError: onnx is not installed.
        ModelLoadError: a tensor is missing.
    """
    try:
        from onnx import helper
    except ImportError as error:
        raise MissingDependencyError("the encoder needs onnx: pip install 'pixelis[text]'") from error
    graph = _Graph(tensors, epsilon)
    try:
        hidden, lengths = graph.embed()
        for number in range(layers):
            output = OUTPUT if number == layers - 1 else f"hidden.{number}"
            hidden = graph.layer(number, hidden, lengths, heads, output)
    except KeyError as error:
        raise ModelLoadError(
            f"the encoder's checkpoint has no tensor {error}; expected a BertModel"
        ) from error
    return _serialise(helper, graph), graph.weights


def _serialise(helper: Any, graph: _Graph) -> bytes:
    from onnx import TensorProto

    inputs = [helper.make_tensor_value_info(name, TensorProto.INT32, ["n", "length"]) for name in INPUTS]
    size = graph.weights["embeddings.LayerNorm.bias"].size
    output = helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["n", "length", size])
    weights = [_declare(TensorProto, name, array) for name, array in graph.weights.items()]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "bert", inputs, [output], weights),
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)],
        ir_version=_IR_VERSION,
    )
    return model.SerializeToString()


def _declare(kind: Any, name: str, array: np.ndarray) -> Any:
    """Return a weight that the session is given from memory: a name, a shape and no numbers."""
    weight = kind(name=name, data_type=kind.FLOAT, dims=array.shape, data_location=kind.EXTERNAL)
    for key, value in (("location", "memory"), ("offset", "0"), ("length", str(array.nbytes))):
        entry = weight.external_data.add()
        entry.key, entry.value = key, value
    return weight

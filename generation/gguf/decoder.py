"""The decoder of a GGUF file as an ONNX graph: tokens and a cache in, logits and the cache out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from ...errors import UnsupportedFormatError
from .hyperparameters import Hyperparameters
from .onnx_graph import MICROSOFT, GraphWriter
from .reader import GGUFFile
from .weights import MatrixNodes, Weights

PAST_KEY, PAST_VALUE = "past_key_values.%d.key", "past_key_values.%d.value"
PRESENT_KEY, PRESENT_VALUE = "present.%d.key", "present.%d.value"


def write_decoder(file: GGUFFile, sizes: Hyperparameters, writer: GraphWriter) -> onnx.ModelProto:
    """Add the decoder of `file` to `writer`; return the model.

    Raises `InvalidModelError` for tensors that are absent or of other shapes than the metadata
    says, `UnsupportedFormatError` for tensors that the architecture does not know and for types
    that cannot be carried over without loss.
    """
    _Decoder(sizes, Weights(file, writer), writer).add()
    if unused := sorted(file.unused()):
        more = f" and {len(unused) - 3} more" if len(unused) > 3 else ""
        raise UnsupportedFormatError(
            f"{file.path}: the decoder has no place for tensors {', '.join(unused[:3])}{more}"
        )
    return writer.model("decoder", _inputs(sizes), _outputs(sizes), "graphc")


def _inputs(sizes: Hyperparameters) -> list[onnx.ValueInfoProto]:
    tokens = ["batch_size", "sequence_length"]
    mask = ["batch_size", "total_sequence_length"]
    return [
        helper.make_tensor_value_info("input_ids", TensorProto.INT64, tokens),
        helper.make_tensor_value_info("attention_mask", TensorProto.INT64, mask),
        *_caches(sizes, (PAST_KEY, PAST_VALUE), "past_sequence_length"),
    ]


def _outputs(sizes: Hyperparameters) -> list[onnx.ValueInfoProto]:
    shape = ["batch_size", "sequence_length", sizes.vocab_size]
    return [
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, shape),
        *_caches(sizes, (PRESENT_KEY, PRESENT_VALUE), "present_sequence_length"),
    ]


def _caches(
    sizes: Hyperparameters, names: tuple[str, str], length: str
) -> list[onnx.ValueInfoProto]:
    shape = ["batch_size", sizes.kv_heads, length, sizes.head_size]
    return [
        helper.make_tensor_value_info(name % layer, TensorProto.FLOAT, shape)
        for layer in range(sizes.layers)
        for name in names
    ]


@dataclass(frozen=True)
class _Decoder:
    """The nodes of the whole decoder."""

    sizes: Hyperparameters
    weights: Weights
    writer: GraphWriter

    def add(self) -> None:
        sizes, writer = self.sizes, self.writer
        table = self.weights.matrix("token_embd.weight", sizes.vocab_size, sizes.hidden_size)
        embedding = MatrixNodes.add(writer, "token_embd.weight", table)
        x = embedding.rows("input_ids", "embedding")
        if sizes.architecture.scales_embedding:
            root = writer.constant(np.sqrt(np.float32(sizes.hidden_size)), np.float32)
            x = writer.node("Mul", x, root, name="embedding.scaled")
        lengths = self._lengths()
        rotations = _Rotations(self, {})
        for index in range(sizes.layers):
            x = _Layer(self, f"blk.{index}", index, lengths, rotations).add(x)
        self._add_head(self.norm(x, "output_norm"), embedding)

    def _lengths(self) -> tuple[str, str]:
        """The last position of each row, i32 ``[B]``, and the size of the mask, an i32."""
        writer = self.writer
        one, axis = writer.constant(1, np.int64), writer.constant([1], np.int64)
        count = writer.node("ReduceSum", "attention_mask", axis, name="lengths", keepdims=0)
        last = writer.node("Sub", count, one, name="last_positions.i64")
        last = writer.node("Cast", last, name="last_positions", to=TensorProto.INT32)
        size = writer.node("Shape", "attention_mask", name="mask_shape", start=1, end=2)
        none = writer.constant([0], np.int64)
        size = writer.node("Squeeze", size, none, name="total_length.i64")
        return last, writer.node("Cast", size, name="total_length", to=TensorProto.INT32)

    def _add_head(self, x: str, embedding: MatrixNodes) -> None:
        writer, sizes, cap = self.writer, self.sizes, self.sizes.logit_softcap
        head = embedding
        if "output.weight" in self.weights.file:
            matrix = self.weights.matrix("output.weight", sizes.vocab_size, sizes.hidden_size)
            head = MatrixNodes.add(writer, "output.weight", matrix)
        if not cap:
            head.matmul(x, "logits")
            return
        factor = writer.constant(cap, np.float32)
        x = writer.node("Div", head.matmul(x, "logits.raw"), factor, name="logits.divided")
        writer.node("Mul", writer.node("Tanh", x, name="logits.tanh"), factor, name="logits")

    def norm(self, x: str, name: str, size: int | None = None) -> str:
        """Normalise the last axis of `x` by its root mean square, times the weight `name`."""
        weight = self.weights.vector(f"{name}.weight", size or self.sizes.hidden_size)
        epsilon = self.sizes.norm_epsilon
        return self.writer.node("RMSNormalization", x, weight, name=name, epsilon=epsilon)


@dataclass(frozen=True)
class _Rotations:
    """Tables of the rotary embedding, one pair for each base."""

    decoder: _Decoder
    made: dict[tuple[float, float], tuple[str, str]]

    def tables(self, layer: int) -> tuple[str, str]:
        """Cosines and sines for the positions of the context, f32 ``[context, rotary / 2]``."""
        key = self.decoder.sizes.rope_of(layer)
        if key not in self.made:
            angles = self._angles(*key)
            self.made[key] = (
                self.decoder.writer.weight(f"cos.{len(self.made)}", np.cos(angles)),
                self.decoder.writer.weight(f"sin.{len(self.made)}", np.sin(angles)),
            )
        return self.made[key]

    def _angles(self, base: float, divisor: float) -> np.ndarray:
        """In f32, as transformers computes them."""
        sizes = self.decoder.sizes
        exponents = np.arange(0, sizes.rotary_size, 2, dtype=np.float32) / sizes.rotary_size
        frequencies = 1 / (np.float32(base) ** exponents) / np.float32(divisor)
        if "rope_freqs.weight" in self.decoder.weights.file:  # Llama 3.1 and later
            frequencies = frequencies / self.decoder.weights.floats("rope_freqs.weight")
        positions = np.arange(sizes.context_length, dtype=np.float32)
        return (positions[:, None] * frequencies).astype(np.float32)


@dataclass(frozen=True)
class _Layer:
    """The nodes of one layer, whose names and tensors begin with `name`."""

    decoder: _Decoder
    name: str
    index: int
    lengths: tuple[str, str]
    rotations: _Rotations

    def add(self, x: str) -> str:
        """Add the layer behind `x` ``[B, S, hidden]``; return its result."""
        attended = self._attention(self._norm(x, "attn_norm"))
        x = self._residual(x, attended, "post_attention_norm", "attention")
        return self._residual(x, self._gated(self._norm(x, "ffn_norm")), "post_ffw_norm", "ffn")

    def _norm(self, x: str, name: str) -> str:
        return self.decoder.norm(x, f"{self.name}.{name}")

    def _residual(self, x: str, change: str, post_norm: str, name: str) -> str:
        if self.decoder.sizes.architecture.has_post_norms:
            change = self._norm(change, post_norm)
        return self._node("Add", x, change, name=f"{name}_residual")

    def _node(self, op_type: str, *inputs: str, name: str, **attributes: Any) -> str:
        return self.decoder.writer.node(op_type, *inputs, name=f"{self.name}.{name}", **attributes)

    def _has(self, name: str) -> bool:
        return f"{self.name}.{name}" in self.decoder.weights.file

    def _linear(self, x: str, name: str, rows: int, columns: int) -> str:
        """Multiply by the weights `name`, whose rows may need another order, and add its bias."""
        weights, writer = self.decoder.weights, self.decoder.writer
        whole = f"{self.name}.{name}"
        matrix = weights.matrix(f"{whole}.weight", rows, columns)
        order = self._row_order(name, rows)
        if order is not None:
            matrix = matrix[order] if isinstance(matrix, np.ndarray) else matrix.take_rows(order)
        y = MatrixNodes.add(writer, f"{whole}.weight", matrix).matmul(x, whole)
        if not self._has(f"{name}.bias"):
            return y
        bias = weights.floats(f"{whole}.bias")
        bias = writer.weight(f"{whole}.bias", bias if order is None else bias[order])
        return writer.node("Add", y, bias, name=f"{whole}.biased")

    def _row_order(self, name: str, rows: int) -> np.ndarray | None:
        """The rows in the order for a rotation of halves, if they are stored for one of pairs."""
        sizes = self.decoder.sizes
        if not sizes.architecture.rows_are_interleaved or name not in ("attn_q", "attn_k"):
            return None
        pairs = np.arange(rows).reshape(-1, sizes.head_size // 2, 2)
        return pairs.swapaxes(1, 2).reshape(-1)

    def _attention(self, x: str) -> str:
        sizes = self.decoder.sizes
        width = sizes.heads * sizes.head_size
        names = (name % self.index for name in (PRESENT_KEY, PRESENT_VALUE))
        outputs = [f"{self.name}.attention", *names]
        pasts = (name % self.index for name in (PAST_KEY, PAST_VALUE))
        tables = self.rotations.tables(self.index)
        self.decoder.writer.nodes(
            "GroupQueryAttention", [*self._queries(x), *pasts, *self.lengths, *tables], outputs,
            domain=MICROSOFT, num_heads=sizes.heads, kv_num_heads=sizes.kv_heads, do_rotary=1,
            scale=sizes.attention_scale, softcap=sizes.attention_softcap,
            local_window_size=sizes.window_of(self.index) or -1,
        )  # fmt: skip
        return self._linear(outputs[0], "attn_output", sizes.hidden_size, width)

    def _queries(self, x: str) -> list[str]:
        """Queries, keys and values; all three in the first if their weights are one matrix."""
        sizes = self.decoder.sizes
        hidden, width = sizes.hidden_size, sizes.heads * sizes.head_size
        kv_width = sizes.kv_heads * sizes.head_size
        if self._has("attn_qkv.weight"):
            return [self._linear(x, "attn_qkv", width + 2 * kv_width, hidden), "", ""]
        q = self._linear(x, "attn_q", width, hidden)
        k, v = (self._linear(x, name, kv_width, hidden) for name in ("attn_k", "attn_v"))
        return [self._head_norm(q, "attn_q_norm"), self._head_norm(k, "attn_k_norm"), v]

    def _head_norm(self, x: str, name: str) -> str:
        """Normalise each head of `x`, if the file has weights for that."""
        if not self._has(f"{name}.weight"):
            return x
        writer, size = self.decoder.writer, self.decoder.sizes.head_size
        apart = writer.constant([0, 0, -1, size], np.int64)
        heads = self._node("Reshape", x, apart, name=f"{name}.heads")
        heads = self.decoder.norm(heads, f"{self.name}.{name}", size)
        together = writer.constant([0, 0, -1], np.int64)
        return self._node("Reshape", heads, together, name=f"{name}.merged")

    def _gated(self, x: str) -> str:
        """``down(activation(gate(x)) * up(x))``."""
        gate, up, size = self._gate_and_up(x)
        if self.decoder.sizes.architecture.activation == "gelu":
            gate = self._node("Gelu", gate, name="ffn_active", approximate="tanh")
        else:
            half = self._node("Sigmoid", gate, name="ffn_sigmoid")
            gate = self._node("Mul", gate, half, name="ffn_active")
        product = self._node("Mul", gate, up, name="ffn_product")
        return self._linear(product, "ffn_down", self.decoder.sizes.hidden_size, size)

    def _gate_and_up(self, x: str) -> tuple[str, str, int]:
        """Both projections and their size; without a gate of its own, both are in ``ffn_up``."""
        weights, hidden = self.decoder.weights, self.decoder.sizes.hidden_size
        size = weights.file.tensor(f"{self.name}.ffn_up.weight").shape[0]
        if self._has("ffn_gate.weight"):
            gate, up = (self._linear(x, name, size, hidden) for name in ("ffn_gate", "ffn_up"))
            return gate, up, size
        both = self._linear(x, "ffn_up", size, hidden)
        sizes = self.decoder.writer.constant([size // 2, size // 2], np.int64)
        halves = [f"{self.name}.ffn_gate", f"{self.name}.ffn_up.half"]
        gate, up = self.decoder.writer.nodes("Split", [both, sizes], halves, axis=-1)
        return gate, up, size // 2

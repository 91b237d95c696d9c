"""Weights of a GGUF file as nodes: matmuls, embeddings and norms."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from ...errors import InvalidModelError, UnsupportedFormatError
from .onnx_graph import MICROSOFT, GraphWriter
from .quantized_blocks import BLOCK_FORMATS, QuantizedMatrix, quantized_matrix
from .reader import GGUFFile

Matrix = np.ndarray | QuantizedMatrix
"""Weights ``[N, K]``: floats, or blocks."""


@dataclass(frozen=True)
class Weights:
    """The tensors of `file`, added to `writer` where they are used."""

    file: GGUFFile
    writer: GraphWriter

    def vector(self, name: str, size: int) -> str:
        """Add the tensor `name` of `size` elements as f32; return the initializer."""
        return self.writer.weight(name, self._floats(name, (size,)).astype(np.float32))

    def floats(self, name: str) -> np.ndarray:
        """The tensor `name`, whatever its shape, as f32."""
        tensor = self.file.tensor(name)
        return self._floats(name, tensor.shape).astype(np.float32)

    def matrix(self, name: str, rows: int, columns: int) -> Matrix:
        """The tensor `name` of `rows` times `columns`.

        Raises `InvalidModelError` for another shape and `UnsupportedFormatError` for a type that
        cannot be carried over without loss.
        """
        tensor = self.file.tensor(name)
        self._require_shape(name, tensor.shape, (rows, columns))
        if tensor.type_name in BLOCK_FORMATS:
            return quantized_matrix(tensor.type_name, tensor.data)
        return self._floats(name, (rows, columns))

    def _floats(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        tensor = self.file.tensor(name)
        self._require_shape(name, tensor.shape, shape)
        if tensor.type_name == "BF16":
            return tensor.data.view(ml_dtypes.bfloat16)
        if tensor.type_name not in ("F32", "F16"):
            known = ", ".join(["F32", "F16", "BF16", *BLOCK_FORMATS])
            raise UnsupportedFormatError(
                f"{self.file.path}: tensor '{name}' is {tensor.type_name}, which has no "
                f"counterpart without loss where it is used (matrices may be {known})"
            )
        return tensor.data

    def _require_shape(self, name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
        if shape != expected:
            raise InvalidModelError(
                f"{self.file.path}: tensor '{name}' has shape {list(shape)}, the metadata says "
                f"{list(expected)}"
            )


@dataclass(frozen=True)
class MatrixNodes:
    """A matrix in the model, which matmuls and lookups share: initializers by role."""

    writer: GraphWriter
    name: str
    matrix: Matrix
    parts: dict[str, str]

    @classmethod
    def add(cls, writer: GraphWriter, name: str, matrix: Matrix) -> "MatrixNodes":
        """Add the initializers of `matrix`, whose names begin with `name`."""
        if isinstance(matrix, np.ndarray):
            return cls(writer, name, matrix[:0], {"weight": writer.weight(name, matrix)})
        arrays = {
            "packed": matrix.packed, "scales": matrix.scales, "zero_points": matrix.zero_points,
        }  # fmt: skip
        parts = {
            role: writer.weight(f"{name}.{role}", array)
            for role, array in arrays.items()
            if array is not None
        }
        return cls(writer, name, matrix, parts)

    def matmul(self, x: str, name: str) -> str:
        """``x @ matrix.T``, as a node called `name`."""
        if not isinstance(self.matrix, np.ndarray):
            return self._matmul_n_bits(self.matrix, x, name)
        weight = self.parts["weight"]
        if self.matrix.dtype != np.float32:
            weight = self.writer.node("Cast", weight, name=f"{name}.f32", to=1)
        weight = self.writer.node("Transpose", weight, name=f"{name}.transposed", perm=[1, 0])
        return self.writer.node("MatMul", x, weight, name=name)

    def _matmul_n_bits(self, matrix: QuantizedMatrix, x: str, name: str) -> str:
        return self.writer.node(
            "MatMulNBits", x, *self.parts.values(), name=name, domain=MICROSOFT,
            K=matrix.columns, N=matrix.rows, bits=matrix.bits, block_size=matrix.block_size,
            accuracy_level=self.writer.accuracy_level,
        )  # fmt: skip

    def rows(self, indices: str, name: str) -> str:
        """The rows at `indices` ``[B, S]`` as f32 ``[B, S, K]``, in a node called `name`.

        By plain ONNX operators, as ``GatherBlockQuantized`` knows no zero points that are floats.
        """
        writer, matrix = self.writer, self.matrix
        taken = {
            role: writer.node("Gather", part, indices, name=f"{name}.{role}", axis=0)
            for role, part in self.parts.items()
        }
        if isinstance(matrix, np.ndarray):
            return writer.node("Cast", taken["weight"], name=name, to=1)
        integers = self._integers(matrix, taken["packed"], name)
        zero = writer.constant(1 << (matrix.bits - 1), np.float32)
        last = writer.constant([-1], np.int64)
        if "zero_points" in taken:
            zero = writer.node("Unsqueeze", taken["zero_points"], last, name=f"{name}.zeros")
        scales = writer.node("Unsqueeze", taken["scales"], last, name=f"{name}.factors")
        centred = writer.node("Sub", integers, zero, name=f"{name}.centred")
        blocks = writer.node("Mul", centred, scales, name=f"{name}.blocks")
        whole = writer.constant([0, 0, matrix.columns], np.int64)
        return writer.node("Reshape", blocks, whole, name=name)

    def _integers(self, matrix: QuantizedMatrix, packed: str, name: str) -> str:
        """Bytes ``[B, S, blocks, bytes]`` as f32 ``[B, S, blocks, block_size]``."""
        writer = self.writer
        if matrix.bits == 4:
            fifteen, four = (writer.constant(value, np.uint8) for value in (15, 4))
            last = writer.constant([-1], np.int64)
            low = writer.node("BitwiseAnd", packed, fifteen, name=f"{name}.low")
            high = writer.node("BitShift", packed, four, name=f"{name}.high", direction="RIGHT")
            halves = [
                writer.node("Unsqueeze", half, last, name=f"{half}.apart") for half in (low, high)
            ]
            pairs = writer.node("Concat", *halves, name=f"{name}.pairs", axis=-1)
            shape = writer.constant([0, 0, -1, matrix.block_size], np.int64)
            packed = writer.node("Reshape", pairs, shape, name=f"{name}.integers")
        return writer.node("Cast", packed, name=f"{name}.floats", to=1)

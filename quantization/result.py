"""The result of a quantisation."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import onnx

from ..errors import OutputError
from ..runtime.files.output_file import write_atomically
from .layer_accuracy import LayerAccuracy
from .report_text import format_result


@dataclass(frozen=True)
class QuantizationResult:
    """A quantised model, and its accuracy against the f32 model on the data."""

    name: str
    model: onnx.ModelProto
    """The QDQ model, of standard operators only; with ``dynamic=True`` one of MatMulInteger and
    ConvInteger."""
    layers: tuple[LayerAccuracy, ...]
    """The nodes in the order of the model; empty without data."""
    kept: tuple[str, ...]
    """Nodes that `max_drop` keeps in f32, the most sensitive first."""
    error: float | None
    """Relative RMS error of the outputs, of the worst one; None without data."""
    loss: float | None
    """Loss of accuracy by the metric; None without data."""
    metric: str
    bytes_before: int
    """Size of the f32 model, with its weights."""

    @property
    def bytes_after(self) -> int:
        """Size of the quantised model."""
        return self.model.ByteSize()

    @property
    def quantized(self) -> tuple[str, ...]:
        """The nodes that compute with integers."""
        return tuple(layer.node for layer in self.layers if layer.quantized)

    def worst_first(self) -> list[LayerAccuracy]:
        """The nodes by the accuracy of their values, the least accurate first."""
        return sorted(self.layers, key=lambda layer: layer.sqnr)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to `path`. Raises OutputError; nothing half-written is left."""
        if Path(path).is_dir():
            raise OutputError(f"cannot write {path}: it is a folder")
        write_atomically(Path(path), memoryview(self.model.SerializeToString()))

    def table(self, most: int | None = None) -> str:
        """The result as text, with the `most` least accurate nodes."""
        return format_result(self, most)

    def html(self, **options: Any) -> str:
        """The page of `gc-view` for the quantised model, with a tab for the accuracy.

        `options` are those of `graphc.explain`. Raises its errors.
        """
        from ..compiler.explain import explain

        return replace(explain(self.model, **options), title=self.name).html(
            accuracy=self.to_dict()
        )

    def to_dict(self) -> dict[str, Any]:
        """The result without the model, as JSON values: infinite ratios are None."""
        return {
            "model": self.name,
            "error": _finite(self.error),
            "loss": _finite(self.loss),
            "metric": self.metric,
            "kept": list(self.kept),
            "bytes": [self.bytes_before, self.bytes_after],
            "layers": [_row(layer) for layer in self.layers],
        }

    def __str__(self) -> str:
        return self.table()


def _row(layer: LayerAccuracy) -> Mapping[str, Any]:
    return {**vars(layer), "sqnr": _finite(layer.sqnr), "alone": _finite(layer.alone)}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None

"""The result of a quantisation as text."""

import math
from collections.abc import Sequence
from typing import Any

from ..debugging.verification_text import align
from .layer_accuracy import LayerAccuracy

HEADINGS = ("SQNR", "alone", "node", "type", "")


def format_result(result: Any, most: int | None) -> str:
    """The outputs' accuracy, then the nodes, worst first."""
    megabytes = [f"{size / 1e6:.3g}" for size in (result.bytes_before, result.bytes_after)]
    lines = [f"{result.name}: {megabytes[0]} MB in f32, {megabytes[1]} MB quantised"]
    if result.error is None:
        return f"{lines[0]}; the accuracy is unknown without data"
    lines.append(f"error of the outputs: {result.error:.2%} (RMS, relative to the outputs)")
    if result.metric != "error":
        lines.append(f"loss by {result.metric}: {result.loss:.4g}")
    if result.kept:
        rest = "" if result.quantized else ", so that nothing is left in 8 bits"
        lines.append(f"kept in f32 by max_drop: {', '.join(result.kept)}{rest}")
    lines += ["", f"{len(result.quantized)} of {len(result.layers)} nodes quantised, worst first:"]
    layers = result.worst_first()
    shown = layers if most is None else layers[:most]
    lines += ["  " + line for line in align([HEADINGS, *map(_cells, shown)])]
    if len(shown) < len(layers):
        lines.append(f"and {len(layers) - len(shown)} more")
    return "\n".join(lines)


def _cells(layer: LayerAccuracy) -> Sequence[str]:
    alone = "" if layer.alone is None else f"{layer.alone:.2%}"
    return decibels(layer.sqnr), alone, layer.node, layer.op_type, "" if layer.quantized else "f32"


def decibels(ratio: float) -> str:
    """A ratio in dB as text."""
    return f"{ratio:.1f} dB" if math.isfinite(ratio) else "exact" if ratio > 0 else "not finite"

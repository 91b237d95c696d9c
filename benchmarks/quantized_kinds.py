"""Time nets of one kind of layer each, quantized in each form, against their f32 originals.

::

    python -m graphc.benchmarks.quantized_kinds                # all of them, worst first
    python -m graphc.benchmarks.quantized_kinds conv3d u16     # those with such a part in the name

The nets (`NETS`) have random weights and are quantized by ONNX Runtime's quantizers on random
inputs. Both models take turns in this process, on one thread, and their CPU time is compared:
ratios of lower quartiles, so that other work on the machine shows little. Above 1, quantization
costs time. The difference is that from ONNX Runtime without optimisation, relative to the largest
element. Nets that a quantizer leaves as they are have no row.
"""

import argparse
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnx

import graphc

from .measure import largest_difference
from .quantized_kind_nets import NETS
from .table import format_table

HEADER = ("net", "form", "/f32", "quantized us", "f32 us", "difference")
CALIBRATION_FEEDS = 2
BLOCK_SIZE = 32


class Calibrated(Protocol):
    """A model with random inputs to calibrate it."""

    def feed(self, seed: int = 0) -> Mapping[str, np.ndarray]: ...


Quantizer = Callable[[Path, Path, Calibrated], None]
"""Quantizes the f32 model at one path to another one."""


def _static(
    activations: str, weights: str, per_channel: bool = True, form: str = "QDQ"
) -> Quantizer:
    """A quantizer with static ranges, of the types of that name in `onnxruntime.quantization`."""

    def quantize(source: Path, path: Path, data: Calibrated) -> None:
        from onnxruntime import quantization

        class Feeds(quantization.CalibrationDataReader):
            """Random inputs, one after the other."""

            def __init__(self) -> None:
                self._left = iter(range(CALIBRATION_FEEDS))

            def get_next(self) -> Any:
                seed = next(self._left, None)
                return None if seed is None else data.feed(seed)

        quantization.quantize_static(
            source, path, Feeds(), quant_format=quantization.QuantFormat[form],
            per_channel=per_channel, activation_type=quantization.QuantType[activations],
            weight_type=quantization.QuantType[weights],
        )  # fmt: skip

    return quantize


def _dynamic(source: Path, path: Path, data: Calibrated) -> None:
    from onnxruntime import quantization

    del data
    quantization.quantize_dynamic(
        source, path, weight_type=quantization.QuantType.QInt8, per_channel=True
    )


def _weights_only(bits: int, form: str) -> Quantizer:
    """A quantizer of the weights of matmuls, by blocks: `MatMulNBits`, or DequantizeLinear."""

    def quantize(source: Path, path: Path, data: Calibrated) -> None:
        from onnxruntime.quantization import QuantFormat
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

        del data
        quantizer: Any = MatMulNBitsQuantizer(
            onnx.load(source), bits, BLOCK_SIZE, is_symmetric=True,
            quant_format=QuantFormat[form],
        )  # fmt: skip
        quantizer.process()
        onnx.save(quantizer.model.model, path)

    return quantize


FORMS: Mapping[str, Quantizer] = {
    "u8s8": _static("QUInt8", "QInt8"),
    "u8s8-tensor": _static("QUInt8", "QInt8", per_channel=False),
    "s8s8": _static("QInt8", "QInt8"),
    "u8u8": _static("QUInt8", "QUInt8", per_channel=False),
    "u8s4": _static("QUInt8", "QInt4"),
    "u16s8": _static("QUInt16", "QInt8"),
    "s16s8": _static("QInt16", "QInt8"),
    "qlinear": _static("QUInt8", "QInt8", form="QOperator"),
    "dynamic": _dynamic,
    "nbits4": _weights_only(4, "QOperator"),
    "nbits8": _weights_only(8, "QOperator"),
    "blocked4": _weights_only(4, "QDQ"),
}
"""The quantizers of models, by the name of the form."""

NAMED = {"u8s8", "u16s8"}
"""Forms that are also timed with a named batch."""


def cases(parts: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """Net, form, and whether its batch is named, of those with all of `parts` in the name."""
    for net in NETS:
        for form in FORMS:
            for named in (False, True) if form in NAMED else (False,):
                if all(part in _label(net, form, named) for part in parts):
                    yield net, form, named


def _label(net: str, form: str, named: bool) -> str:
    return f"{net} {form}{' named' * named}"


def measure(net: str, form: str, named: bool, rounds: int) -> tuple[float, tuple[str, ...]] | None:
    """The ratio and the row of a case; None if the quantizer leaves the net as it is."""
    kind = NETS[net]
    with tempfile.TemporaryDirectory() as folder:
        source, path = Path(folder, "f32.onnx"), Path(folder, "quantized.onnx")
        onnx.save(kind.model(named), source)
        FORMS[form](source, path, kind)
        quantized = onnx.load(path)
        if not is_quantized(quantized):
            return None
        feed = kind.feed()
        models = [graphc.compile(str(each), threads=1) for each in (path, source)]
        difference = max(map(largest_difference, models[0].run(None, feed), _truth(path, feed)))
    mine, original = take_turns([lambda m=m: m.run(None, feed) for m in models], rounds)
    ratio = mine / original
    label = form + " named" * named
    return ratio, (
        net,
        label,
        f"{ratio:.2f}",
        f"{mine:.0f}",
        f"{original:.0f}",
        f"{difference:.1e}",
    )


def is_quantized(model: onnx.ModelProto) -> bool:
    """True if `model` has nodes on quantized tensors."""
    parts = ("Dequantize", "Integer", "QLinear", "QGemm", "NBits")
    return any(part in node.op_type for node in model.graph.node for part in parts)


def _truth(path: Path, feed: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of ONNX Runtime without optimisation."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return [np.asarray(y) for y in session.run(None, dict(feed))]


def take_turns(
    runs: Sequence[Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = time.thread_time,
) -> list[float]:
    """The lower quartile of the CPU time of each of `runs` in microseconds, over `rounds` rounds,
    in each of which all run some times, for as long as the others. `clock` is one of CPU time in
    seconds; for a runtime with threads of its own it is that of the process."""
    times: list[list[float]] = [[] for _ in runs]
    for run in runs:
        run()
    for _ in range(rounds):
        for run, known in zip(runs, times, strict=True):
            run()
            end = clock() + 0.02
            while clock() < end:
                start = clock()
                run()
                known.append((clock() - start) * 1e6)
    return [float(np.quantile(each, 0.25)) for each in times]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Time kinds of quantized nets against f32.")
    parser.add_argument("parts", nargs="*", help="parts of names, all of which must occur")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args(arguments)
    measured = []
    logging.disable(logging.WARNING)  # of the quantizers, which tell of each node
    for case in cases(options.parts):
        row = measure(*case, options.rounds)
        if row is not None:
            print(*row[1], file=sys.stderr, flush=True)
            measured.append(row)
    measured.sort(key=lambda row: -row[0])
    print(format_table(HEADER, [cells for _, cells in measured]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

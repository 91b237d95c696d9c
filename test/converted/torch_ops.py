"""PyTorch's operator database: what each operator does with its own samples, exported to ONNX."""

import contextlib
import io
import itertools
import logging
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np
import onnx
import torch
from torch.onnx._internal.exporter._registration import ONNXRegistry
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

from converted.check_conversion import Converted, check
from converted.conversion_outcome import ConversionOutcome, ConversionStatus, worst_of

FRAMEWORKS = ("torch", "onnxscript")
OPSET = 20
SAMPLES = 3
"""Samples per operator in f32: the first, the last, and one between; for other types the first."""
MOST_SAMPLES = 200
"""Number of samples drawn at most; some operators have thousands."""
MOST_ELEMENTS = 4096
"""Limit on the elements of all tensors of a sample: models should be many rather than large."""
TYPES = {
    "f32": torch.float32, "i64": torch.int64, "bool": torch.bool, "f16": torch.float16,
}  # fmt: skip
MODES = ("static", "dynamic")


def names() -> list[str]:
    """``OPERATOR/TYPE/MODE`` for all operators; f32 in both modes, other types with fixed sizes."""
    found = []
    for operator, info in _operators().items():
        for type_, dtype in TYPES.items():
            modes = MODES if type_ == "f32" else MODES[:1]
            if dtype in info.supported_dtypes("cpu"):
                found += [f"{operator}/{type_}/{mode}" for mode in modes]
    return found


def run(name: str) -> ConversionOutcome:
    """Export and check some samples of a case."""
    operator, type_, mode = name.rsplit("/", 2)
    info = _operators()[operator]
    samples = _samples(info, TYPES[type_], SAMPLES if type_ == "f32" else 1)
    outcomes = [_check(f"sample {i}", info, each, mode) for i, each in enumerate(samples)]
    if not outcomes:
        return ConversionOutcome(
            name, ConversionStatus.NOT_CONVERTED, "no sample is small, and has tensors"
        )
    return worst_of(name, outcomes)


@cache
def _operators() -> dict[str, Any]:
    return {
        f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name: info
        for info in op_db
    }


def _samples(info: Any, dtype: torch.dtype, count: int) -> list[Any]:
    torch.manual_seed(0)
    drawn = info.sample_inputs("cpu", dtype, requires_grad=False)
    fitting = [each for each in itertools.islice(drawn, MOST_SAMPLES) if _fits(each)]
    chosen = {round(i * (len(fitting) - 1) / max(count - 1, 1)) for i in range(count)}
    return [fitting[index] for index in sorted(chosen)] if fitting else []


def _fits(sample: Any) -> bool:
    tensors = _tensors((sample.input, sample.args, sample.kwargs))
    elements = sum(each.numel() for each in tensors)
    return bool(tensors) and all(each.numel() for each in tensors) and elements <= MOST_ELEMENTS


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


class _Operator(torch.nn.Module):
    """An operator on a sample's tensors; what else the sample has is fixed."""

    def __init__(self, info: Any, sample: Any):
        super().__init__()
        self._function = info.op
        self._leaves, self._spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))

    def forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        given = iter(tensors)
        leaves = [next(given) if isinstance(x, torch.Tensor) else x for x in self._leaves]
        first, args, kwargs = pytree.tree_unflatten(leaves, self._spec)
        return _tensors(self._function(first, *args, **kwargs))


def _check(what: str, info: Any, sample: Any, mode: str) -> ConversionOutcome:
    tensors = tuple(each.detach() for each in _tensors((sample.input, sample.args, sample.kwargs)))
    module = _Operator(info, sample)
    try:
        with torch.no_grad(), _silence():
            torch.manual_seed(0)
            expected = [each.detach().clone() for each in module(*tensors)]
            model = _exported(module, tensors, mode == "dynamic")
    except Exception as error:  # the exporter may raise anything
        return ConversionOutcome(what, ConversionStatus.NOT_CONVERTED, f"{what}: {_cause(error)}")
    feeds = {
        info.name: _numbers(tensor)
        for info, tensor in zip(model.graph.input, tensors, strict=False)
    }
    wanted = [_numbers(each) for each in expected]
    outcome = check(what, Converted(model, feeds, wanted))
    detail = f"{what}: {outcome.detail}" if outcome.detail else ""
    return ConversionOutcome(
        what, outcome.status, detail, outcome.models, outcome.calls, outcome.native
    )


def _numbers(tensor: torch.Tensor) -> np.ndarray:
    """`tensor` as an ONNX array: complex numbers are pairs along a last axis."""
    plain = tensor.resolve_conj().resolve_neg()
    if plain.dtype == torch.bfloat16:  # a type that numpy lacks
        return plain.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return (torch.view_as_real(plain) if plain.is_complex() else plain).numpy()


def _cause(error: BaseException) -> str:
    """The first line of what the exporter stumbled over, rather than which of its steps it was."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [*str(error).strip().splitlines(), ""]
    return f"{type(error).__name__}: {lines[0][:160]}"


def _exported(
    module: torch.nn.Module, tensors: Sequence[torch.Tensor], dynamic: bool
) -> onnx.ModelProto:
    shapes = None
    if dynamic:
        each = [dict.fromkeys(range(t.dim()), torch.export.Dim.DYNAMIC) for t in tensors]
        shapes = (tuple(each),)
    with mock.patch.object(ONNXRegistry, "from_torchlib", staticmethod(_registry)):
        program = torch.onnx.export(
            module, tuple(tensors), dynamo=True, verbose=False, opset_version=OPSET,
            dynamic_shapes=shapes,
        )  # fmt: skip
    assert program is not None
    return program.model_proto


@cache
def _registry(**options: Any) -> ONNXRegistry:
    """The exporter's functions, which it reads anew for each model: most of its time."""
    return _from_torchlib(**options)


_from_torchlib = ONNXRegistry.from_torchlib


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        with contextlib.redirect_stderr(io.StringIO()):
            yield

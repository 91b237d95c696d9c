"""Choice of the engine for host parts, as callers make it."""

from typing import Any

from ...errors import UsageError

AUTO, ONNXRUNTIME, PYTHON = "auto", "onnxruntime", "python"
"""The faster engine for each node, ONNX Runtime for all nodes that it accepts, and Python."""
ENGINES = (AUTO, ONNXRUNTIME, PYTHON)


def read_engine(given: Any) -> str:
    """The engine that `given` names; True is the default. Raises `UsageError`."""
    if given is True:
        return AUTO
    if given not in ENGINES:
        raise UsageError(f"host must be one of {', '.join(ENGINES)}, not {given!r}")
    return given


def engine_for(engine: str, precision: Any) -> str:
    """`engine`, where a model of precision ``strict`` has Python by default: sessions compute
    numbers with functions of their own."""
    return PYTHON if engine == AUTO and precision == "strict" else engine

"""Sessions of ONNX Runtime on the CPU, for parts of models.

A session gets the model as bytes, and options that register no libraries of custom operators. Feeds
that are contiguous tensors of numbers are used in place, results are arrays over memory of ONNX
Runtime. Strings are copied in both directions, and so are the tensors in a sequence.
"""

import importlib.util
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from .registry import HostError

PACKAGE = "onnxruntime"
_ELEMENTS = frozenset([
    "bool", "double", "float", "float16", "int8", "int16", "int32", "int64", "string", "uint8",
    "uint16", "uint32", "uint64",
])  # fmt: skip
"""Element types that ONNX Runtime takes and returns as numpy arrays."""
_ELEMENT = re.compile(r"(?<!_)tensor\((\w+)\)|map\((\w+),")


@cache
def is_installed() -> bool:
    """Return whether the package is there, without importing it."""
    return importlib.util.find_spec(PACKAGE) is not None


class OnnxRuntimeSession:
    """A serialized ONNX model that ONNX Runtime runs.

    Calls from several threads may overlap. With one of `threads`, a call stays on its caller's
    thread, and no others are created. Raises `HostError` with the reason if ONNX Runtime does not
    accept the model, or if its values cannot be passed as numpy arrays, and ImportError if the
    package cannot be imported.
    """

    def __init__(self, contents: bytes, threads: int):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4  # errors are raised, and warnings are about its own work
        # Two pools of spinning workers would take turns on the same cores.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.load_model_format", "ONNX")
        try:
            session = onnxruntime.InferenceSession(
                contents, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # its exceptions have no common base
            raise HostError(_reason(error)) from error
        self.outputs = [output.name for output in session.get_outputs()]
        for each in (*session.get_inputs(), *session.get_outputs()):
            _require_numpy(each.name, each.type)
        inputs = session.get_inputs()
        self._numbers = [each.name for each in inputs if re.match(r"tensor\((?!string)", each.type)]
        self._session: Any = session

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name. Raises `HostError` if ONNX Runtime fails."""
        try:
            given = self._native(feeds) if self._numbers else feeds
            results = self._session.run(self.outputs, given)
        except Exception as error:  # its exceptions have no common base
            raise HostError(_reason(error)) from error
        return dict(zip(self.outputs, results))  # noqa: B905  as many as it was asked for

    def _native(self, feeds: Mapping[str, Any]) -> Mapping[str, Any]:
        """`feeds` with all numbers in arrays of this machine's byte order."""
        for name in self._numbers:
            value = feeds[name]
            if type(value) is not np.ndarray:  # numpy's scalars
                feeds = {**feeds, name: np.asarray(value)}
            elif not value.dtype.isnative:
                feeds = {**feeds, name: value.astype(value.dtype.newbyteorder("="))}
        return feeds

    def close(self) -> None:
        """Free the session, after the calls that run."""
        self._session = None


def _require_numpy(name: str, type_: str) -> None:
    """Raise `HostError` if a value of `type_`, as ONNX Runtime spells it, is no numpy array."""
    elements = {element for found in _ELEMENT.findall(type_) for element in found if element}
    if not elements or not elements <= _ELEMENTS:
        raise HostError(f"'{name}' is a {type_}, which it cannot pass as a numpy array")


def _reason(error: Exception) -> str:
    """The first line of the message, without the codes before it."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)

"""`HostPart`: a piece of a model that runs on the host."""

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from google.protobuf.message import DecodeError, Message

from ...errors import DeviceError, GraphcError, ModuleFileError
from .engine_choice import AUTO, ONNXRUNTIME, PYTHON
from .onnxruntime_segment import OnnxRuntimeSegment
from .onnxruntime_session import OnnxRuntimeSession, is_installed
from .opening import NOT_INSTALLED, SegmentOpener
from .registry import HostError, Runner, constant
from .segments import EngineSegment, segment_model


class HostPart:
    """Runs the nodes of an ONNX model, given as its bytes, on the host.

    `engine` is `AUTO`, `ONNXRUNTIME` or `PYTHON`, and `threads` the number of those that ONNX
    Runtime may use for a call. Calls from several threads may overlap. Raises `DeviceError` for a
    model with unsupported operators, and `ModuleFileError` for one that is damaged or refers to
    other files: a part is self-contained.
    """

    def __init__(self, contents: bytes | memoryview, engine: str = AUTO, threads: int = 1):
        self._contents = contents
        try:
            model = _read(contents)
            self._runner: Runner | None = self._open(model, engine, threads)
        except GraphcError:
            raise
        except (DecodeError, ValueError, TypeError, KeyError) as error:
            raise ModuleFileError(f"a part for the host is damaged: {error}") from error
        except Exception as error:
            text = f"a part of the model cannot run on the host: {error}"
            if isinstance(error, HostError) and engine != PYTHON and not is_installed():
                text += f"; ONNX Runtime may run it, but {NOT_INSTALLED}"
            raise DeviceError(text) from error

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name. Raises `ExecutionError`, which names the node."""
        runner = self._runner
        assert runner is not None
        return runner.run(feeds)

    def close(self) -> None:
        """Free the constants."""
        self._runner = None
        self._contents = b""

    def _open(self, model: onnx.ModelProto, engine: str, threads: int) -> Runner:
        opener = SegmentOpener(model, engine, threads)
        opened = opener.open()
        nodes = model.graph.node
        self.engines: Mapping[str, str] = {
            nodes[index].name: "ONNX Runtime" if session else _in_python(opener.reasons.get(index))
            for segment, session in opened
            for index in segment.nodes
        }
        """Engine of each node, and the reason where that is Python for one."""
        outputs = tuple(output.name for output in model.graph.output)
        self.owns_results = {*outputs} <= {
            name for segment, session in opened if session for name in segment.outputs
        }
        """True if no output shares memory with an input, a constant or another output."""
        if not any(session for _, session in opened):
            return _python(model)
        runners = [self._open_segment(model, each, session, engine) for each, session in opened]
        if len(opened) == 1 and set(outputs) == set(opened[0][0].outputs):
            return runners[0]
        constants = {
            tensor.name: constant(tensor)
            for tensor in model.graph.initializer
            if tensor.name in outputs
        }
        segments = [segment for segment, _ in opened]
        _require_defined(segments, {each.name for each in model.graph.input} | constants.keys())
        return _Chain(list(zip(segments, runners, strict=True)), constants, outputs)

    def _open_segment(
        self,
        model: onnx.ModelProto,
        segment: EngineSegment,
        session: OnnxRuntimeSession | None,
        engine: str,
    ) -> Runner:
        if session is None:
            return _python(segment_model(model, segment))
        names = [model.graph.node[index].name for index in segment.nodes]
        if engine == ONNXRUNTIME:
            return OnnxRuntimeSegment(session, names, None)
        return OnnxRuntimeSegment(
            session, names, lambda: _python(segment_model(_read(self._contents), segment))
        )


class _Chain:
    """Runs segments one after the other."""

    def __init__(
        self,
        runners: Sequence[tuple[EngineSegment, Runner]],
        constants: Mapping[str, Any],
        outputs: tuple[str, ...],
    ):
        self._runners, self._constants, self._outputs = runners, constants, outputs

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        values = {**self._constants, **feeds}
        for segment, runner in self._runners:
            values.update(runner.run({name: values[name] for name in segment.inputs}))
        return {name: values[name] for name in self._outputs}


def _require_defined(segments: Sequence[EngineSegment], known: set[str]) -> None:
    """Raise KeyError if a segment reads a value that is not `known` and none before it gives."""
    for segment in segments:
        for name in segment.inputs:
            if name not in known:
                raise KeyError(f"nothing before it gives '{name}'")
        known |= set(segment.outputs)


def _in_python(reason: str | None) -> str:
    return f"Python: {reason}" if reason else "Python"


def _python(model: onnx.ModelProto) -> Runner:
    """The nodes of `model` in Python. Raises `HostError`."""
    from .python_segment import PythonSegment

    return PythonSegment(model)


def _read(contents: bytes | memoryview) -> onnx.ModelProto:
    """The model. Raises DecodeError or ValueError."""
    model = onnx.ModelProto.FromString(bytes(contents))
    _require_whole(model)
    return model


def _require_whole(message: Message) -> None:
    """Raise ValueError if the data of a tensor is in another file."""
    if isinstance(message, onnx.TensorProto) and message.data_location:
        raise ValueError(f"the data of tensor '{message.name}' lies in another file")
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if isinstance(value, Message) else value:
                _require_whole(part)


def why_not(contents: bytes, engine: str = AUTO) -> str | None:
    """The reason why a serialized model of one node cannot run on the host; None if it can."""
    from .python_segment import why_not_in_python

    model = onnx.ModelProto.FromString(contents)
    reason = why_not_in_python(model)
    if reason is None or engine == PYTHON or not is_installed():
        return reason
    try:
        _require_whole(model)  # ONNX Runtime would read the files
        OnnxRuntimeSession(contents, 1)
    except (HostError, ImportError, ValueError) as error:
        return f"{reason}, and ONNX Runtime does not take it: {error}"
    return None

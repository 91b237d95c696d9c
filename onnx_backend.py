"""ONNX's backend interface: `prepare`, `run_model`, `run_node`, `supports_device`.

``onnx.backend.test`` and the ONNX backend scoreboard run every backend through this interface::

    import graphc.onnx_backend
    from onnx.backend.test import BackendTest

    globals().update(BackendTest(graphc.onnx_backend, __name__).test_cases)
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from .compiler.compile import compile
from .errors import DeviceError
from .runtime import CompiledModel, find_devices, resolve_target

DEVICES = {"CPU": "cpu", "CUDA": "cuda", "VULKAN": "vulkan"}
"""Targets by ONNX device name."""


class GraphcBackendRep(BackendRep):
    """A compiled model."""

    def __init__(self, model: CompiledModel):
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model; return its outputs as a named tuple.

        `inputs` is one array, arrays in the order of the model's inputs, or arrays by name.
        """
        if isinstance(inputs, np.ndarray):
            inputs = [inputs]
        if not isinstance(inputs, Mapping):
            names = [spec.name for spec in self.model.inputs]
            inputs = dict(zip(names, inputs, strict=True))
        results = self.model.run(None, inputs)
        names = [spec.name for spec in self.model.outputs]
        return namedtupledict("Outputs", names)(*results)


class GraphcBackend(Backend):
    """ONNX's backend interface. Raises the errors of `graphc.compile` and `CompiledModel.run`."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> BackendRep:
        """Compile `model` for `device`; other arguments are passed to `graphc.compile`.

        An argument ``target`` (``vulkan:ampere``) takes precedence over `device`.
        """
        target = kwargs.pop("target", None) or DEVICES[_kind(device)]
        return GraphcBackendRep(compile(model, target, **kwargs))

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Run a single node on arrays, one for each input that is not omitted.

        ``opset_version`` is the opset of the node's domain, by default the newest.
        """
        del outputs_info
        opset = kwargs.pop("opset_version", None)
        arrays = list(inputs.values()) if isinstance(inputs, Mapping) else list(inputs)
        model = _model_of(node, [np.asarray(array) for array in arrays], opset)
        return cls.prepare(model, device, **kwargs).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return whether models can be compiled for `device`, such as ``CPU``, and run here."""
        target = DEVICES.get(_kind(device))
        return target is not None and _is_here(resolve_target(target).driver)


@cache
def _is_here(driver: str) -> bool:
    """Return whether `driver` has a device; cached, as ONNX's runner asks for every test."""
    try:
        return bool(find_devices(driver))
    except DeviceError:
        return False


def _kind(device: str) -> str:
    return device.split(":")[0]


def _model_of(
    node: onnx.NodeProto, arrays: Sequence[np.ndarray], opset: int | None
) -> onnx.ModelProto:
    names = [name for name in node.input if name]
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in zip(names, arrays, strict=True)
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    if opset is None:
        opset = onnx.defs.get_schema(node.op_type, domain=node.domain).since_version
    graph = helper.make_graph([node], "node", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, opset)])


is_compatible = GraphcBackend.is_compatible
prepare = GraphcBackend.prepare
run_model = GraphcBackend.run_model
run_node = GraphcBackend.run_node
supports_device = GraphcBackend.supports_device

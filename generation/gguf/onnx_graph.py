"""ONNX graphs, node by node, with weights that go to a file as they come."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

OPSET = 23
"""The first with RMSNormalization."""
MICROSOFT = "com.microsoft"
_ALIGNMENT = 64
_INLINE_BYTES = 1024
"""Largest array that stays in the model itself."""


class GraphWriter:
    """Nodes and initializers of a model; large arrays are written to `data` at once.

    `accuracy_level` is that of matmuls by quantized weights. Use it in a ``with`` statement.
    """

    def __init__(self, data: Path, accuracy_level: int = 0):
        self.accuracy_level = accuracy_level
        self._data = data
        self._file = data.open("wb")
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: list[TensorProto] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def __enter__(self) -> "GraphWriter":
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def node(
        self, op_type: str, *inputs: str, name: str, domain: str = "", **attributes: Any
    ) -> str:
        """Add a node with one output, which has the node's name; return that."""
        return self.nodes(op_type, inputs, [name], domain=domain, **attributes)[0]

    def nodes(
        self,
        op_type: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        domain: str = "",
        **attributes: Any,
    ) -> Sequence[str]:
        """Add a node with several outputs, named after the first; return these."""
        name = outputs[0]
        made = helper.make_node(op_type, inputs, outputs, name, domain=domain, **attributes)
        self._nodes.append(made)
        return outputs

    def weight(self, name: str, array: np.ndarray) -> str:
        """Add an initializer; return its name."""
        tensor = TensorProto(name=name, dims=array.shape)
        tensor.data_type = helper.np_dtype_to_tensor_dtype(array.dtype)
        if array.nbytes <= _INLINE_BYTES:
            tensor.raw_data = array.tobytes()
        else:
            self._write(tensor, np.ascontiguousarray(array))
        self._initializers.append(tensor)
        return name

    def _write(self, tensor: TensorProto, array: np.ndarray) -> None:
        self._file.write(bytes(-self._file.tell() % _ALIGNMENT))
        place = {
            "location": self._data.name,
            "offset": str(self._file.tell()),
            "length": str(array.nbytes),
        }
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in place.items():
            tensor.external_data.add(key=key, value=value)
        self._file.write(array.view(np.uint8).data)

    def constant(self, value: Any, dtype: Any) -> str:
        """The name of a small constant, which equal ones share."""
        array = np.asarray(value, dtype)
        key = (array.dtype.name, array.shape, array.tobytes())
        if key not in self._constants:
            name = f"constants.{len(self._constants)}"
            self._constants[key] = self.weight(name, array)
        return self._constants[key]

    def model(
        self, name: str, inputs: Sequence[Any], outputs: Sequence[Any], producer: str
    ) -> onnx.ModelProto:
        """The model of all that was added, with `inputs` and `outputs` as ``ValueInfoProto``."""
        graph = helper.make_graph(self._nodes, name, inputs, outputs, self._initializers)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name=producer)

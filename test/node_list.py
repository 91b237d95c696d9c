"""Nodes and constants of an ONNX graph, named as they are added."""

from typing import Any

import numpy as np
from onnx import NodeProto, helper


class NodeList:
    """`nodes`, each of one result, and the data of `constants` by name."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}

    def constant(self, array: Any) -> str:
        """Add a constant; return its name."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def node(self, op: str, inputs: list[str], **attributes: Any) -> str:
        """Add a node; return the name of its result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

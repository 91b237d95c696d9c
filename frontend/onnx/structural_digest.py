"""A digest of the structure of models, by which measured times are kept."""

import hashlib
import math

import onnx

from ...onnx_names import read_names, subgraphs

_SMALL = 64
"""Elements up to which the values of a constant count: axes, shapes, scales."""


def structural_digest(model: onnx.ModelProto) -> str:
    """A digest that does not depend on names or on the values of large constants."""
    graph = model.graph
    names: dict[str, str] = {"": ""}

    def renamed(name: str) -> str:
        return names.setdefault(name, f"v{len(names)}")

    digest = hashlib.sha256()
    for info in graph.input:
        digest.update(f"{renamed(info.name)}:{info.type}".encode())
    for tensor in graph.initializer:
        digest.update(f"{renamed(tensor.name)}:{tensor.data_type}:{list(tensor.dims)}".encode())
        if _is_small(tensor):
            digest.update(onnx.numpy_helper.to_array(tensor).tobytes())
    for node in graph.node:
        nameless = onnx.NodeProto()
        nameless.CopyFrom(node)
        nameless.name = ""
        nameless.doc_string = ""
        nameless.input[:] = [renamed(name) for name in node.input]
        nameless.output[:] = [renamed(name) for name in node.output]
        digest.update(nameless.SerializeToString(deterministic=True))
        if any(subgraphs(node)):  # names within stay as they are, and so must what they mean
            digest.update(repr([(name, renamed(name)) for name in read_names(node)]).encode())
    digest.update(" ".join(renamed(output.name) for output in graph.output).encode())
    digest.update(repr(sorted((o.domain, o.version) for o in model.opset_import)).encode())
    return digest.hexdigest()[:32]


def _is_small(tensor: onnx.TensorProto) -> bool:
    here = tensor.data_location != onnx.TensorProto.EXTERNAL
    return here and math.prod(tensor.dims) <= _SMALL

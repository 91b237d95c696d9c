"""A valid model of what the quantiser leaves: in order, without what nothing uses."""

import onnx

from ..debugging.onnx.graphs import all_nodes
from ..frontend.onnx.importing.node_order import in_order
from ..onnx_names import read_names


def make_portable(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of `model` whose nodes are in topological order, which the quantiser does not keep,
    without unused initializers and domains, and without the marks of its preparation."""
    nodes = [node for _, node in in_order(model.graph.node)]
    read = {name for node in nodes for name in read_names(node)}
    read |= {info.name for info in model.graph.output}
    made = onnx.ModelProto()
    made.CopyFrom(model)
    del made.metadata_props[:], made.graph.node[:], made.graph.initializer[:]
    made.graph.node.extend(nodes)
    made.graph.initializer.extend(each for each in model.graph.initializer if each.name in read)
    keep_used_domains(made)
    return made


def keep_used_domains(model: onnx.ModelProto) -> None:
    """Remove the imports of operator sets that no node of `model` is of."""
    bodies = [node for function in model.functions for node in function.node]
    used = {node.domain for node in (*all_nodes(model.graph), *bodies)} | {""}
    kept = [each for each in model.opset_import if each.domain in used]
    del model.opset_import[:]
    model.opset_import.extend(kept)

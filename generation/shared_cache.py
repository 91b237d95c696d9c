"""Caches that grow, in a step that has caches of fixed capacity."""

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .cached_branch import renamed_node

CACHE_BATCH = "cache_batch"
"""Input: the row of the cache that each row of the step continues, i64 ``[rows]``."""
PAST_LENGTHS = "past_lengths"
"""Input of steps of several rows: the tokens of each row before the step, i64 ``[rows]``."""
DOMAIN = "graphc"
_SIZE = "past_size"


def share_caches(
    graph: onnx.GraphProto, names: Sequence[tuple[str, str]], mask: str, rows: int, length: int
) -> None:
    """Let the caches `names`, inputs and outputs of `graph`, be buffers of fixed capacity.

    The model gets the rows of them that are in use, and its new rows are written behind these: the
    compiler lets attention read them where they are. The attention mask, input `mask`, is that of
    the positions before the step: sequences of a batch that are shorter are padded on the left.
    """
    inner = {name: f"{name}.grown" for pair in names for name in pair} | {mask: f"{mask}.all"}
    nodes = [renamed_node(node, inner) for node in graph.node]
    lengths = [PAST_LENGTHS] if rows > 1 else []
    more = [CACHE_BATCH, _SIZE, *lengths]
    reads = [_node("ReadCache", [past, *more], inner[past]) for past, _ in names]
    writes = [
        _node("WriteCache", [past, inner[present], *more], present) for past, present in names
    ]
    del graph.node[:]
    graph.node.extend([*_mask_nodes(graph, mask, inner[mask], rows, length), *reads, *nodes])
    graph.node.extend(writes)
    graph.input.extend(
        helper.make_tensor_value_info(name, TensorProto.INT64, [rows])
        for name in (CACHE_BATCH, *lengths)
    )


def _node(kind: str, inputs: Sequence[str], output: str) -> onnx.NodeProto:
    return helper.make_node(kind, inputs, [output], name=output, domain=DOMAIN)


def _mask_nodes(
    graph: onnx.GraphProto, mask: str, whole: str, rows: int, length: int
) -> list[onnx.NodeProto]:
    """Nodes that compute the `whole` mask, with the tokens of the step, and `_SIZE`: the positions
    before them."""
    (given,) = (each for each in graph.input if each.name == mask)
    dtype = helper.tensor_dtype_to_np_dtype(given.type.tensor_type.elem_type)
    constants = {f"{mask}.own": np.ones((rows, length), dtype), f"{_SIZE}.axis": np.array([1])}
    graph.initializer.extend(
        numpy_helper.from_array(array, name) for name, array in constants.items()
    )
    shape, own, axis = f"{mask}.shape", *constants
    return [
        helper.make_node("Concat", [mask, own], [whole], name=whole, axis=1),
        helper.make_node("Shape", [mask], [shape], name=shape),
        helper.make_node("Gather", [shape, axis], [_SIZE], name=_SIZE),
    ]

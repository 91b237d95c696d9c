"""Caches with batches and heads in one axis, ``[batch * heads, length, head size]`` or with the
last two axes exchanged, as transformers had them for BLOOM."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

_SWAP = (0, 1, 3, 2)


def separate_heads(
    graph: onnx.GraphProto, names: Sequence[tuple[str, str]], heads: int, head_size: int
) -> None:
    """Let the caches `names`, inputs and outputs of `graph`, have the axes ``[batch, heads, length,
    head size]`` where they have three, of which one is `head_size`."""
    inputs, outputs = ({x.name: x for x in part} for part in (graph.input, graph.output))
    for past, present in names:
        given, made = inputs.get(past), outputs.get(present)
        if given is None or made is None or (axis := _feature_axis(given, head_size)) is None:
            continue
        inner, behind = f"{past}.merged", f"{present}.merged"
        for node in graph.node:
            node.input[:] = [_renamed(x, {past: inner, present: behind}) for x in node.input]
            node.output[:] = [_renamed(x, {present: behind}) for x in node.output]
        before = _nodes(_to_merged(past, inner, axis, head_size))
        after = _nodes(_to_heads(behind, present, axis, (heads, head_size)))
        nodes = [*before[0], *graph.node, *after[0]]
        del graph.node[:]
        graph.node.extend(nodes)
        graph.initializer.extend([*before[1], *after[1]])
        for value in (given, made):
            _set_rank(value, heads, head_size)


def _feature_axis(value: onnx.ValueInfoProto, head_size: int) -> int | None:
    """The axis of the features of a cache of three axes, or None."""
    sizes = [each.dim_value for each in value.type.tensor_type.shape.dim]
    if len(sizes) != 3:
        return None
    return next((axis for axis in (2, 1) if sizes[axis] == head_size), None)


def _renamed(name: str, names: dict[str, str]) -> str:
    return names.get(name, name)


def _set_rank(value: onnx.ValueInfoProto, heads: int, head_size: int) -> None:
    dims = value.type.tensor_type.shape.dim
    del dims[:]
    for size in (None, heads, None, head_size):
        dims.add(**({} if size is None else {"dim_value": size}))


Part = onnx.NodeProto | onnx.TensorProto


def _nodes(parts: Iterator[Part]) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    found = list(parts)
    nodes = [each for each in found if isinstance(each, onnx.NodeProto)]
    return nodes, [each for each in found if isinstance(each, onnx.TensorProto)]


def _to_merged(source: str, target: str, axis: int, head_size: int) -> Iterator[Part]:
    """From ``[batch, heads, length, head size]``, with the features at `axis` of three."""
    yield from _length(source, 2, target)
    if axis == 1:
        yield _node("Transpose", [source], f"{target}.swapped", perm=_SWAP)
        source = f"{target}.swapped"
    rest = [f"{target}.length", f"{target}.features"]
    yield numpy_helper.from_array(np.array([head_size]), rest[1])
    yield numpy_helper.from_array(np.array([-1]), f"{target}.all")
    sizes = [f"{target}.all", *(rest if axis == 2 else rest[::-1])]
    yield _node("Concat", sizes, f"{target}.shape", axis=0)
    yield _node("Reshape", [source, f"{target}.shape"], target)


def _to_heads(source: str, target: str, axis: int, sizes: tuple[int, int]) -> Iterator[Part]:
    """To ``[batch, heads, length, head size]``; the `sizes` are heads and head size."""
    heads, head_size = sizes
    yield from _length(source, 3 - axis, target)
    rest = [f"{target}.length", f"{target}.features"]
    yield numpy_helper.from_array(np.array([head_size]), rest[1])
    yield numpy_helper.from_array(np.array([-1, heads]), f"{target}.outer")
    order = [f"{target}.outer", *(rest if axis == 2 else rest[::-1])]
    yield _node("Concat", order, f"{target}.shape", axis=0)
    if axis == 2:
        yield _node("Reshape", [source, f"{target}.shape"], target)
        return
    yield _node("Reshape", [source, f"{target}.shape"], f"{target}.swapped")
    yield _node("Transpose", [f"{target}.swapped"], target, perm=_SWAP)


def _length(source: str, axis: int, name: str) -> Iterator[Part]:
    """The size of `source` along `axis`, i64 ``[1]``, as ``name.length``."""
    yield _node("Shape", [source], f"{name}.sizes")
    yield numpy_helper.from_array(np.array([axis]), f"{name}.axis")
    yield _node("Gather", [f"{name}.sizes", f"{name}.axis"], f"{name}.length")


def _node(kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(kind, inputs, [output], name=output, **attributes)

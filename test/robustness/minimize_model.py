"""Test case reduction of a model that shows a violation: remove every part that is not needed."""

import time
from collections.abc import Callable, Iterator

import onnx
from google.protobuf.message import DecodeError

SECONDS = 120.0
"""Time limit for one model, in seconds."""

_LISTS = ("node", "initializer", "sparse_initializer", "input", "output", "value_info")


def minimized(data: bytes, shows: Callable[[bytes], bool], seconds: float = SECONDS) -> bytes:
    """A smaller model that `shows` the same violation, or `data`."""
    deadline = time.monotonic() + seconds
    smaller = True
    while smaller:
        smaller = False
        for candidate in _smaller(data):
            if time.monotonic() > deadline:
                return data
            if shows(candidate):
                data, smaller = candidate, True
                break
    return data


def _smaller(data: bytes) -> Iterator[bytes]:
    """Models that are `data` without some elements: halves of lists first."""
    try:
        model = onnx.ModelProto.FromString(data)
    except DecodeError:
        return
    for chosen in (model.functions, model.opset_import, model.metadata_props):
        yield from _without(model, chosen)
    for name in _LISTS:
        yield from _without(model, getattr(model.graph, name))
    for node in model.graph.node:
        yield from _without(model, node.attribute)
        yield from _without(model, node.input)


def _without(model: onnx.ModelProto, elements) -> Iterator[bytes]:
    whole = list(elements)
    size = len(whole)
    while size > 0:
        for begin in range(0, len(whole), size):
            del elements[:]
            elements.extend(whole[:begin] + whole[begin + size :])
            yield model.SerializeToString()
        size //= 2
    del elements[:]
    elements.extend(whole)

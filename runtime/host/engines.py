"""Engine of each node on the host: ONNX Runtime, or Python.

ONNX Runtime runs what it is faster at. Python runs nodes on which it is as fast, since values cross
into a session as copies, and nodes for which ONNX Runtime deviates from their definition.
"""

import math
from collections.abc import Callable, Iterator, Mapping

import onnx
from onnx import numpy_helper

from ...onnx_names import subgraphs

_AS_FAST = {
    "": frozenset([
        # These pass references to tensors; a session copies the tensors.
        "Constant", "Identity", "Optional", "OptionalGetElement", "OptionalHasElement",
        "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert",
        "SequenceLength", "ConcatFromSequence", "SplitToSequence",
        # Views, and moves of references to strings.
        "Concat", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Reshape", "Shape",
        "Size", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze", "Where",
        # The work is less than that of copying the strings.
        "StringConcat", "StringNormalizer",
        # Pillow decodes.
        "ImageDecoder",
    ]),
    # A map becomes a row, or a row a map, in one pass in C.
    "ai.onnx.ml": frozenset(["ArrayFeatureExtractor", "CastMap", "DictVectorizer", "ZipMap"]),
}  # fmt: skip
"""Operators by domain that run in Python as fast as in a session of their own, measured on 1 and on
1,000 rows (``python -m graphc.benchmarks.host_parts``). Between nodes of a session they join it."""
_GROWS = frozenset([
    "Concat", "Expand", "Flatten", "Identity", "Reshape", "Squeeze", "StringConcat", "Tile",
    "Transpose", "Unsqueeze",
])  # fmt: skip
"""Those with results that are not smaller than their operands."""
_SHRINKS = frozenset([
    "Flatten", "Gather", "GatherElements", "GatherND", "Identity", "Reshape", "Shape", "Size",
    "Slice", "Split", "Squeeze", "StringConcat", "Transpose", "Unsqueeze",
])  # fmt: skip
"""Those with results that are not larger than their operands."""
_SERIAL = {
    "": frozenset(["Cast", "RegexFullMatch", "StringSplit", "TfIdfVectorizer"]),
    "ai.onnx.ml": frozenset(["CategoryMapper", "LabelEncoder"]),
    "com.microsoft": frozenset(["MurmurHash3", "Tokenizer"]),
}
"""Further operators by domain that ONNX Runtime runs on one thread."""

Opsets = Mapping[str, int]


def is_as_fast_in_python(node: onnx.NodeProto) -> bool:
    """Return whether a session would not be faster than Python at `node` alone."""
    return node.op_type in _AS_FAST.get(node.domain, ())


def joins_session_after(node: onnx.NodeProto) -> bool:
    """Return whether the operands of `node` may enter a session in place of its results."""
    return not node.domain and node.op_type in _GROWS


def joins_session_before(node: onnx.NodeProto) -> bool:
    """Return whether the results of `node` may leave a session in place of its operands."""
    return not node.domain and node.op_type in _SHRINKS


def needs_threads(node: onnx.NodeProto) -> bool:
    """Return whether a session may use several threads for `node`."""
    return not is_as_fast_in_python(node) and node.op_type not in _SERIAL.get(node.domain, ())


def deviation(node: onnx.NodeProto, model: onnx.ModelProto) -> str | None:
    """The reason why ONNX Runtime gives other values for `node` than its definition; None if it
    does not. Nodes in subgraphs and in functions of `model` count."""
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    functions = {(f.domain, f.name): f for f in model.functions}
    for each, versions in _all_nodes(node, opsets, functions):
        find = _DEVIATIONS.get((each.domain, each.op_type))
        reason = find(each, versions.get(each.domain, 0)) if find is not None else None
        if reason is not None:
            return reason if each is node else f"{each.op_type} in it: {reason}"
    return None


def _all_nodes(
    node: onnx.NodeProto, opsets: Opsets, functions: Mapping[tuple[str, str], onnx.FunctionProto]
) -> Iterator[tuple[onnx.NodeProto, Opsets]]:
    """`node` and those within it, with their opsets."""
    function = functions.get((node.domain, node.op_type))
    yield node, opsets
    for graph in subgraphs(node):
        for each in graph.node:
            yield from _all_nodes(each, opsets, functions)
    if function is not None:
        inner = {entry.domain: entry.version for entry in function.opset_import}
        rest = {key: value for key, value in functions.items() if value is not function}
        for each in function.node:
            yield from _all_nodes(each, inner, rest)


def _attributes(node: onnx.NodeProto) -> dict[str, onnx.AttributeProto]:
    return {attribute.name: attribute for attribute in node.attribute}


def _string_split(node: onnx.NodeProto, _: int) -> str | None:
    delimiter = _attributes(node).get("delimiter")
    given = delimiter is not None and (delimiter.s or delimiter.ref_attr_name)
    return None if given else "without a delimiter it splits only at blanks"


def _string_normalizer(node: onnx.NodeProto, _: int) -> str | None:
    return "it changes case by a locale that the machine may lack"


def _label_encoder(node: onnx.NodeProto, _: int) -> str | None:
    attributes = _attributes(node)
    keys = list(attributes["keys_floats"].floats) if "keys_floats" in attributes else []
    if "keys_tensor" in attributes:
        tensor = numpy_helper.to_array(attributes["keys_tensor"].t)
        keys = tensor.ravel().tolist() if tensor.dtype.kind == "f" else []
    return "it does not find the key NaN" if any(map(math.isnan, keys)) else None


def _max_unpool(node: onnx.NodeProto, _: int) -> str | None:
    given = len(node.input) > 2 and node.input[2]
    return "it takes the indices for those of the output's shape" if given else None


def _resize(node: onnx.NodeProto, _: int) -> str | None:
    mode = _attributes(node).get("coordinate_transformation_mode")
    if mode is None or not (mode.ref_attr_name or mode.s == b"align_corners"):
        return None
    return "it aligns corners for another size where a scale gives no whole one"


_DEVIATIONS: dict[tuple[str, str], Callable[[onnx.NodeProto, int], str | None]] = {
    ("", "MaxUnpool"): _max_unpool,
    ("", "Resize"): _resize,
    ("", "StringSplit"): _string_split,
    ("", "StringNormalizer"): _string_normalizer,
    ("ai.onnx.ml", "LabelEncoder"): _label_encoder,
}

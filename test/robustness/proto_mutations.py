"""Changes to the structure of a model.

Each function below changes a ModelProto in place, by numbers drawn from `draw`; `mutate` applies a
few of them.
"""

import contextlib
import random
from collections.abc import Callable
from typing import Any

import onnx
from google.protobuf.message import DecodeError
from onnx import AttributeProto, TensorProto, helper

from graphc.frontend.onnx.importing.registry import converters

from . import substitutes
from .model_parts import all_names, draw_attribute, draw_graph, draw_node, draw_tensor, graphs
from .program_mutations import (
    grow_constant,
    make_functions,
    shape_arithmetic,
    wrap_in_branches,
    wrap_in_loops,
)

Mutation = Callable[[onnx.ModelProto, random.Random], None]

_ELEMENT_TYPES = (*range(30), 99, -1)
_MAX_COPIES = 40


def mutate(model: onnx.ModelProto, draw: random.Random) -> list[str]:
    """Change `model` in one to four places; return the names of the changes."""
    chosen = draw.choices(MUTATIONS, k=draw.choice((1, 1, 2, 3, 4)))
    for mutation in chosen:
        with contextlib.suppress(DecodeError):  # nested more deeply than protobuf accepts
            mutation(model, draw)
    return [mutation.__name__ for mutation in chosen]


# Nodes


def drop_node(model: onnx.ModelProto, draw: random.Random) -> None:
    nodes = draw_graph(model, draw).node
    if nodes:
        del nodes[draw.randrange(len(nodes))]


def double_node(model: onnx.ModelProto, draw: random.Random) -> None:
    nodes = draw_graph(model, draw).node
    if nodes:
        nodes.add().CopyFrom(draw.choice(nodes))


def repeat_node(model: onnx.ModelProto, draw: random.Random) -> None:
    """Add a chain of copies of a node, each of which reads the result of the previous one."""
    nodes = draw_graph(model, draw).node
    if not nodes or not nodes[-1].output or not nodes[-1].input:
        return
    for serial in range(draw.randint(2, _MAX_COPIES)):
        copy = nodes.add()
        copy.CopyFrom(nodes[-2])
        slots = range(len(copy.input)) if draw.random() < 0.5 else [0]
        for slot in slots:
            copy.input[slot] = nodes[-2].output[0]
        copy.output[0] = f"{copy.output[0][:20]}_{serial}"
        copy.name = ""
    outputs = model.graph.output
    outputs.add(name=nodes[-1].output[0])


def swap_nodes(model: onnx.ModelProto, draw: random.Random) -> None:
    nodes = draw_graph(model, draw).node
    if len(nodes) > 1:
        order = list(nodes)
        draw.shuffle(order)
        copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in order]
        del nodes[:]
        nodes.extend(copies)


def rewire_input(model: onnx.ModelProto, draw: random.Random) -> None:
    node = draw_node(model, draw)
    if node is not None and node.input:
        node.input[draw.randrange(len(node.input))] = substitutes.name(draw, all_names(model))


def add_input(model: onnx.ModelProto, draw: random.Random) -> None:
    node = draw_node(model, draw)
    if node is not None:
        node.input.extend(
            substitutes.name(draw, all_names(model)) for _ in range(draw.randint(1, 3))
        )


def drop_input(model: onnx.ModelProto, draw: random.Random) -> None:
    node = draw_node(model, draw)
    if node is not None and node.input:
        at = draw.randrange(len(node.input))
        if draw.random() < 0.5:
            node.input[at] = ""
        else:
            del node.input[at]


def rename_output(model: onnx.ModelProto, draw: random.Random) -> None:
    """Rename an output, which gives duplicate definitions and cycles."""
    node = draw_node(model, draw)
    if node is not None and node.output:
        node.output[draw.randrange(len(node.output))] = substitutes.name(draw, all_names(model))


def change_outputs(model: onnx.ModelProto, draw: random.Random) -> None:
    node = draw_node(model, draw)
    if node is not None and node.output and draw.random() < 0.5:
        del node.output[draw.randrange(len(node.output))]
    elif node is not None:
        node.output.append(substitutes.name(draw, []))


def change_operator(model: onnx.ModelProto, draw: random.Random) -> None:
    node = draw_node(model, draw)
    if node is None:
        return
    chosen = draw.choice(converters())
    node.op_type, node.domain = chosen.op_type, chosen.domain
    if chosen.domain and draw.random() < 0.9:
        model.opset_import.add(domain=chosen.domain, version=1)
    if draw.random() < 0.5:
        _take_attributes(node, draw)


def _take_attributes(node: onnx.NodeProto, draw: random.Random) -> None:
    """Give `node` the attributes of its operator, with values of the right kind."""
    if not onnx.defs.has(node.op_type, node.domain):
        return
    schema: Any = onnx.defs.get_schema(node.op_type, node.domain)
    del node.attribute[:]
    for name, declared in schema.attributes.items():
        if not declared.required and draw.random() < 0.5:
            continue
        match declared.type.name:
            case "INT":
                node.attribute.append(helper.make_attribute(name, substitutes.integer(draw)))
            case "FLOAT":
                node.attribute.append(helper.make_attribute(name, draw.choice(substitutes.FLOATS)))
            case "INTS":
                given = substitutes.integers(draw, [0, 1, 1])
                node.attribute.append(
                    helper.make_attribute(name, given, attr_type=AttributeProto.INTS)
                )
            case "STRING":
                node.attribute.append(helper.make_attribute(name, draw.choice(substitutes.NAMES)))


def change_text_of_node(model: onnx.ModelProto, draw: random.Random) -> None:
    node = draw_node(model, draw)
    if node is not None:
        field = draw.choice(("name", "op_type", "domain", "overload", "doc_string"))
        setattr(node, field, draw.choice(substitutes.NAMES))


# Attributes


def drop_attribute(model: onnx.ModelProto, draw: random.Random) -> None:
    node = draw_node(model, draw)
    if node is not None and node.attribute:
        del node.attribute[draw.randrange(len(node.attribute))]


def double_attribute(model: onnx.ModelProto, draw: random.Random) -> None:
    node = draw_node(model, draw)
    if node is not None and node.attribute:
        node.attribute.add().CopyFrom(draw.choice(node.attribute))


def change_attribute(model: onnx.ModelProto, draw: random.Random) -> None:
    """Replace an attribute by another value of the same kind."""
    attribute = draw_attribute(model, draw)
    if attribute is None:
        return
    match attribute.type:
        case AttributeProto.INT:
            attribute.i = substitutes.integer(draw)
        case AttributeProto.INTS:
            changed = substitutes.integers(draw, list(attribute.ints))
            del attribute.ints[:]
            attribute.ints.extend(changed)
        case AttributeProto.FLOAT:
            attribute.f = draw.choice(substitutes.FLOATS)
        case AttributeProto.STRING:
            attribute.s = draw.choice(substitutes.NAMES).encode() + draw.choice((b"", b"\xff"))
        case AttributeProto.TENSOR:
            _change_tensor(attribute.t, draw)
        case AttributeProto.GRAPH if attribute.g.node:
            del attribute.g.node[draw.randrange(len(attribute.g.node))]


def change_kind_of_attribute(model: onnx.ModelProto, draw: random.Random) -> None:
    attribute = draw_attribute(model, draw)
    if attribute is not None:
        kinds: Any = AttributeProto.AttributeType.values()
        attribute.type = draw.choice(kinds)


def rename_attribute(model: onnx.ModelProto, draw: random.Random) -> None:
    attribute = draw_attribute(model, draw)
    if attribute is not None:
        attribute.name = draw.choice(("axis", "axes", "perm", "node", "to", *substitutes.NAMES))


def refer_to_attribute(model: onnx.ModelProto, draw: random.Random) -> None:
    attribute = draw_attribute(model, draw)
    if attribute is not None:
        attribute.ref_attr_name = draw.choice(("axis", attribute.name, *substitutes.NAMES))


# Tensors


def change_tensor(model: onnx.ModelProto, draw: random.Random) -> None:
    tensor = draw_tensor(model, draw)
    if tensor is not None:
        _change_tensor(tensor, draw)


def _change_tensor(tensor: TensorProto, draw: random.Random) -> None:
    match draw.randrange(7):
        case 0 | 1:
            changed = substitutes.integers(draw, list(tensor.dims))
            del tensor.dims[:]
            tensor.dims.extend(changed)
        case 2:
            tensor.data_type = draw.choice(_ELEMENT_TYPES)
        case 3:
            tensor.raw_data = tensor.raw_data[: draw.randint(0, len(tensor.raw_data))]
        case 4:
            tensor.int64_data.extend([substitutes.integer(draw)])
        case 5:
            path = draw.choice(("x.bin", *substitutes.NAMES))
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value=path)
            tensor.external_data.add(key="offset", value=str(substitutes.integer(draw)))
        case 6:
            tensor.name = draw.choice(substitutes.NAMES)


def change_numbers(model: onnx.ModelProto, draw: random.Random) -> None:
    """Change values in an integer tensor: axes, sizes, indices."""
    tensor = draw_tensor(model, draw)
    if tensor is None or tensor.data_type not in (TensorProto.INT64, TensorProto.INT32):
        return
    if tensor.data_location == TensorProto.EXTERNAL:
        return
    try:
        array = onnx.numpy_helper.to_array(tensor)
    except (ValueError, TypeError):
        return
    changed = substitutes.integers(draw, array.ravel()[:1000].tolist())
    limit = 2 ** (array.itemsize * 8 - 1)
    clipped = [min(max(value, -limit), limit - 1) for value in changed]
    dims = [len(clipped)] if array.ndim else []
    tensor.CopyFrom(
        helper.make_tensor(tensor.name, tensor.data_type, dims, clipped if dims else clipped[:1])
        if dims or clipped
        else tensor
    )


def fix_input(model: onnx.ModelProto, draw: random.Random) -> None:
    """Replace a model input by a constant, so that more is known at compile time."""
    inputs = model.graph.input
    if not inputs:
        return
    info = inputs[draw.randrange(len(inputs))]
    tensor = info.type.tensor_type
    sizes = [min(max(dim.dim_value, 0), 8) for dim in tensor.shape.dim][:6]
    count = 1
    for size in sizes:
        count *= size
    if count > 4096 or tensor.elem_type not in (1, 6, 7, 9):
        return
    given = [substitutes.integer(draw) for _ in range(count)]
    if tensor.elem_type == 6:
        given = [value % 2**31 for value in given]
    if tensor.elem_type == 9:
        given = [value & 1 for value in given]
    model.graph.initializer.append(helper.make_tensor(info.name, tensor.elem_type, sizes, given))


# Inputs and outputs


def change_input_shape(model: onnx.ModelProto, draw: random.Random) -> None:
    found = [*model.graph.input, *model.graph.output, *model.graph.value_info]
    if not found:
        return
    shape = draw.choice(found).type.tensor_type.shape
    match draw.randrange(5):
        case 0:
            shape.dim.add().dim_value = substitutes.integer(draw)
        case 1 if shape.dim:
            del shape.dim[draw.randrange(len(shape.dim))]
        case 2 if shape.dim:
            draw.choice(shape.dim).dim_value = substitutes.integer(draw)
        case 3 if shape.dim:
            for dim in shape.dim:
                dim.dim_param = draw.choice(substitutes.SIZES[:12])
        case _ if shape.dim:
            draw.choice(shape.dim).dim_param = draw.choice((*substitutes.SIZES, *substitutes.NAMES))


def change_input_type(model: onnx.ModelProto, draw: random.Random) -> None:
    found = [*model.graph.input, *model.graph.output]
    if not found:
        return
    type_ = draw.choice(found).type
    match draw.randrange(6):
        case 0 | 1 | 2:
            type_.tensor_type.elem_type = draw.choice(_ELEMENT_TYPES)
        case 3:
            type_.tensor_type.ClearField("shape")
        case 4:
            type_.Clear()
        case 5:
            type_.sequence_type.elem_type.tensor_type.elem_type = 1


def change_ends(model: onnx.ModelProto, draw: random.Random) -> None:
    graph = draw_graph(model, draw)
    ends = draw.choice((graph.input, graph.output))
    if ends and draw.random() < 0.3:
        del ends[draw.randrange(len(ends))]
    elif ends and draw.random() < 0.5:
        draw.choice(ends).name = substitutes.name(draw, all_names(model))
    else:
        ends.add(name=substitutes.name(draw, all_names(model)))


# The model


def change_opset(model: onnx.ModelProto, draw: random.Random) -> None:
    if model.opset_import and draw.random() < 0.9:
        entry = draw.choice(model.opset_import)
        entry.version = draw.choice((0, -1, *range(1, 30), 2**40))
    elif draw.random() < 0.5:
        del model.opset_import[:]
    else:
        model.opset_import.add(domain=draw.choice(substitutes.NAMES), version=draw.randint(-1, 30))


def change_text_of_model(model: onnx.ModelProto, draw: random.Random) -> None:
    field = draw.choice(("producer_name", "domain", "doc_string", "graph"))
    target = model.graph if field == "graph" else model
    setattr(target, "name" if field == "graph" else field, draw.choice(substitutes.NAMES))
    model.ir_version = draw.choice((0, 1, 3, 10, 12, 99, 2**40))


def rename_value(model: onnx.ModelProto, draw: random.Random) -> None:
    """Replace a name everywhere by an odd one."""
    known = [name for name in all_names(model) if name]
    if not known:
        return
    old, new = draw.choice(known), draw.choice(substitutes.NAMES)
    for graph in graphs(model):
        for part in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
            part.name = new if part.name == old else part.name
        for node in graph.node:
            for names in (node.input, node.output):
                for index, name in enumerate(names):
                    names[index] = new if name == old else name


def make_sparse(model: onnx.ModelProto, draw: random.Random) -> None:
    graph = draw_graph(model, draw)
    sparse = graph.sparse_initializer.add()
    if graph.initializer:
        sparse.values.CopyFrom(draw.choice(graph.initializer))
    sparse.dims.extend([substitutes.integer(draw)])


MUTATIONS: tuple[Mutation, ...] = (
    drop_node, double_node, repeat_node, swap_nodes, rewire_input, rewire_input, add_input,
    drop_input, rename_output, change_outputs, change_operator, change_operator, change_operator,
    change_text_of_node, drop_attribute, double_attribute, change_attribute, change_attribute,
    change_attribute, change_attribute, change_kind_of_attribute, rename_attribute,
    refer_to_attribute, change_tensor, change_tensor, change_numbers, change_numbers,
    change_numbers, fix_input, fix_input, fix_input, change_input_shape, change_input_shape,
    change_input_shape, change_input_type, change_ends, change_opset, change_opset,
    wrap_in_branches, wrap_in_loops, make_functions, shape_arithmetic, shape_arithmetic,
    grow_constant, grow_constant, change_text_of_model, rename_value, make_sparse,
)  # fmt: skip

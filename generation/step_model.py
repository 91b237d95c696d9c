"""The model of one step: a decoder from a folder, with the sizes of a step and the choice of the
token.

Tokens, lengths and the cache go in; the next token of each row, its logits and the cache come out.
The cache may have more rows: attention reads and writes those that the step is for, in place.
"""

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from ..errors import InvalidModelError, ModelFolderError
from .cached_branch import inline_cached_branch
from .combined_caches import PAST_NAMES, PRESENT_NAMES, split_caches
from .config import GenerationConfig
from .merged_head_caches import separate_heads
from .sampling import LOGITS, sampling_graph
from .shared_cache import CACHE_BATCH, DOMAIN, share_caches

CAPACITY = "capacity"
"""Name of the cache's length, which stays open in the compiled step."""
PAST = "past"
"""Name of the positions before a step that a model with a cache that grows gets, open likewise."""
CACHE_ROWS = "cache_rows"
"""Name of the number of rows of the cache, which stays open likewise."""
LAST = "last_token_index"
"""Input: the index of the last token of each row in this step, i64 ``[batch]``."""
_ELEMENTWISE = {"Add", "Cast", "Div", "Identity", "Mul", "Sub", "Tanh"}
_MATMULS = {"Gemm", "MatMul", "MatMulNBits"}


def read_decoder(config: GenerationConfig) -> onnx.ModelProto:
    """Read the model of `config`, without its external weights, and check it against that.

    Raises `ModelFolderError` where both contradict each other, and `InvalidModelError`.
    """
    path = config.model_path
    try:
        model = onnx.load(path, load_external_data=False)
    except FileNotFoundError as error:
        raise ModelFolderError(f"{config.folder}: there is no {config.model_file}") from error
    except Exception as error:  # the decoder of protobuf has no exception class in common
        raise InvalidModelError(f"{path}: not a valid ONNX model: {error}") from error
    inline_cached_branch(model.graph, path)
    split_caches(model.graph, path, _combined_names(config), cache_names(config))
    separate_heads(model.graph, cache_names(config), config.kv_heads, config.head_size)
    _check_names(config, model.graph)
    _check_caches(config, model.graph)
    return model


def has_fixed_cache(config: GenerationConfig, graph: onnx.GraphProto) -> bool:
    """Return whether all attention takes a cache of fixed capacity, which it writes in place;
    otherwise the model returns a longer one."""
    pasts = {past for past, _ in cache_names(config)}
    readers = {node.op_type for node in graph.node if pasts.intersection(node.input)}
    return readers == {"GroupQueryAttention"}


def cache_names(config: GenerationConfig) -> list[tuple[str, str]]:
    """Input and output for each tensor of the cache, keys and values in turns."""
    inputs, outputs = config.inputs, config.outputs
    kinds = [
        (inputs[f"past_{kind}_names"], outputs[f"present_{kind}_names"])
        for kind in ("key", "value")
    ]
    return [
        (past % layer, present % layer) for layer in range(config.layers) for past, present in kinds
    ]


def _combined_names(config: GenerationConfig) -> list[tuple[str, str]]:
    """Input and output for each layer, where they hold keys and values."""
    past = config.inputs.get("past_names", PAST_NAMES)
    present = config.outputs.get("present_names", PRESENT_NAMES)
    return [(past % layer, present % layer) for layer in range(config.layers)]


def _check_names(config: GenerationConfig, graph: onnx.GraphProto) -> None:
    pasts, presents = zip(*cache_names(config), strict=True)
    required, mask = {config.inputs["input_ids"], *pasts}, config.inputs["attention_mask"]
    if has_fixed_cache(config, graph):  # the lengths of sequences are those of their masks
        required.add(mask)
    optional = {config.inputs["position_ids"], mask}
    given = {each.name for each in graph.input} - {each.name for each in graph.initializer}
    if missing := sorted(required - given):
        raise ModelFolderError(f"{config.model_path}: no input '{missing[0]}', as the config says")
    if extra := sorted(given - required - optional):
        raise ModelFolderError(
            f"{config.model_path}: input '{extra[0]}' is not in the config: is "
            f"num_hidden_layers {config.layers} right?"
        )
    outputs = {each.name for each in graph.output}
    if missing := sorted({config.outputs["logits"], *presents} - outputs):
        raise ModelFolderError(f"{config.model_path}: no output '{missing[0]}', as the config says")


def _check_caches(config: GenerationConfig, graph: onnx.GraphProto) -> None:
    """The cache must have the sizes of the config."""
    pasts = {past for past, _ in cache_names(config)}
    expected = {1: config.kv_heads, 3: config.head_size}
    for value in graph.input:
        sizes = _sizes(value) if value.name in pasts else []
        for axis, size in expected.items():
            if sizes and (len(sizes) != 4 or sizes[axis] not in (0, size)):
                raise ModelFolderError(
                    f"{config.model_path}: cache '{value.name}' is {sizes}, the config says "
                    f"[batch, {config.kv_heads}, length, {config.head_size}]"
                )
    (logits,) = (each for each in graph.output if each.name == config.outputs["logits"])
    if _sizes(logits)[-1:] not in ([], [0], [config.vocab_size]):
        raise ModelFolderError(
            f"{config.model_path}: logits of {_sizes(logits)[-1]} tokens, the config says "
            f"{config.vocab_size}"
        )


def _sizes(value: onnx.ValueInfoProto) -> list[int]:
    """The sizes of `value`, 0 for open ones."""
    return [each.dim_value for each in value.type.tensor_type.shape.dim]


def step_model(
    config: GenerationConfig, decoder: onnx.ModelProto, rows: int, length: int
) -> onnx.ModelProto:
    """The step for `rows` rows of `length` tokens each, padded at their ends.

    Of the logits, only those behind the token at `LAST` are computed. External weights keep their
    places: the model belongs in the same folder.
    """
    model = onnx.ModelProto()
    model.CopyFrom(decoder)
    graph = model.graph
    if has_fixed_cache(config, graph):
        _set_sizes(config, graph, rows, length, CAPACITY)
        _index_caches(model, rows)
    else:
        _require_mask(config, graph)
        _set_sizes(config, graph, rows, length, PAST)
        share_caches(graph, cache_names(config), config.inputs["attention_mask"], rows, length)
    model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    if length > 1:
        _select_last(graph, config.outputs["logits"])
        graph.input.append(helper.make_tensor_value_info(LAST, TensorProto.INT64, [rows, 1]))
    _append_sampling(config, graph, rows)
    return model


def _require_mask(config: GenerationConfig, graph: onnx.GraphProto) -> None:
    """Give `graph` an attention mask if it has none: its size is that of the past."""
    name = config.inputs["attention_mask"]
    if all(each.name != name for each in graph.input):
        graph.input.append(helper.make_tensor_value_info(name, TensorProto.INT64, [1, PAST]))


def _index_caches(model: onnx.ModelProto, rows: int) -> None:
    """Let attention use the rows `CACHE_BATCH` of caches."""
    for node in model.graph.node:
        if node.op_type == "GroupQueryAttention":
            node.domain = DOMAIN
            node.input.insert(0, CACHE_BATCH)
    model.graph.input.append(helper.make_tensor_value_info(CACHE_BATCH, TensorProto.INT64, [rows]))


def _set_sizes(
    config: GenerationConfig, graph: onnx.GraphProto, rows: int, length: int, positions: str
) -> None:
    """Sizes of inputs and outputs: the mask has so many `positions`."""
    caches = {name for pair in cache_names(config) for name in pair}
    for value in (*graph.input, *graph.output):
        dims = value.type.tensor_type.shape.dim
        if value.name in caches:
            sizes = [CACHE_ROWS, config.kv_heads, CAPACITY, config.head_size]
        elif value.name == config.inputs["attention_mask"]:
            sizes = [rows, positions]
        elif value.name in (config.inputs["input_ids"], config.inputs["position_ids"]):
            sizes = [rows, length]
        else:
            continue
        del dims[:]
        for size in sizes:
            dims.add(**{"dim_param" if isinstance(size, str) else "dim_value": size})
    del graph.value_info[:]  # with the sizes of before


def _select_last(graph: onnx.GraphProto, logits: str) -> None:
    """Take the row at `LAST` of each sequence, before the matmul that computes the logits."""
    producers = {name: node for node in graph.node for name in node.output}
    constants = {each.name for each in graph.initializer}
    constants |= {name for name, node in producers.items() if node.op_type == "Constant"}
    user, name = None, logits
    while (node := producers.get(name)) is not None:
        changing = [each for each in node.input if each and each not in constants]
        if node.op_type in _MATMULS and node.input[0] not in constants:
            user = node
            break
        if node.op_type not in _ELEMENTWISE or len(changing) != 1:
            break
        (name,) = changing
    if user is None or user.op_type == "Gemm":  # whose operands have no axis of the sequence
        _rename(graph, logits, f"{logits}.all")
        _append_nodes(graph, _selection(f"{logits}.all", logits), len(graph.node))
        return
    rows = f"{user.input[0]}.last"
    selection = _selection(user.input[0], rows)
    user.input[0] = rows
    _append_nodes(graph, selection, [*graph.node].index(user))


def _selection(source: str, target: str) -> Iterator[onnx.NodeProto | onnx.TensorProto]:
    """Nodes from ``[batch, length, n]`` to ``[batch, 1, n]``."""
    axes = f"{target}.axes"
    yield numpy_helper.from_array(np.array([1], np.int64), axes)
    yield helper.make_node("GatherND", [source, LAST], [f"{target}.rows"], batch_dims=1)
    yield helper.make_node("Unsqueeze", [f"{target}.rows", axes], [target])


def _append_nodes(
    graph: onnx.GraphProto, parts: Iterator[onnx.NodeProto | onnx.TensorProto], index: int
) -> None:
    for part in parts:
        if isinstance(part, onnx.TensorProto):
            graph.initializer.append(part)
            continue
        part.name = part.output[0]
        graph.node.insert(index, part)
        index += 1


def _rename(graph: onnx.GraphProto, old: str, new: str) -> None:
    for node in graph.node:
        node.output[:] = [new if name == old else name for name in node.output]
        node.input[:] = [new if name == old else name for name in node.input]


def _append_sampling(config: GenerationConfig, graph: onnx.GraphProto, rows: int) -> None:
    """Append the choice of the token; the logits become f32 ``[rows, vocab]``, as `LOGITS`."""
    logits, vocab = config.outputs["logits"], config.vocab_size
    sampling = sampling_graph(rows, vocab)
    shape = numpy_helper.from_array(np.array([-1, vocab], np.int64), f"{LOGITS}.shape")
    nodes = [
        helper.make_node("Cast", [logits], [f"{LOGITS}.float"], to=TensorProto.FLOAT),
        helper.make_node("Reshape", [f"{LOGITS}.float", shape.name], [LOGITS]),
    ]
    _append_nodes(graph, iter([shape, *nodes, *sampling.node]), len(graph.node))
    graph.initializer.extend(sampling.initializer)
    graph.input.extend(each for each in sampling.input if each.name != LOGITS)
    (index,) = (i for i, each in enumerate(graph.output) if each.name == logits)
    del graph.output[index]
    graph.output.append(helper.make_tensor_value_info(LOGITS, TensorProto.FLOAT, [rows, vocab]))
    graph.output.extend(sampling.output)

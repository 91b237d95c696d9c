"""Small models whose nodes run on the host: strings, sequences, maps, optionals, an image."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ML, MICROSOFT = "ai.onnx.ml", "com.microsoft"
LABELS = 100_000
WIDTH = 64
CLASSES = ["cat", "dog", "cow"]


@dataclass(frozen=True)
class HostCase:
    """A model, and its feeds for one batch size."""

    name: str
    batch: int
    model: onnx.ModelProto
    feeds: dict[str, Any]


def _tensor(kind: int, *shape: int | str) -> onnx.TypeProto:
    return helper.make_tensor_type_proto(kind, shape)


def _strings(*shape: int | str) -> onnx.TypeProto:
    return _tensor(TensorProto.STRING, *shape)


def _floats(*shape: int | str) -> onnx.TypeProto:
    return _tensor(TensorProto.FLOAT, *shape)


def _integers(*shape: int | str) -> onnx.TypeProto:
    return _tensor(TensorProto.INT64, *shape)


def _maps(key: int) -> onnx.TypeProto:
    return helper.make_map_type_proto(key, _floats())


def _model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, onnx.TypeProto],
    outputs: Mapping[str, onnx.TypeProto],
    initializers: Sequence[onnx.TensorProto] = (),
) -> onnx.ModelProto:
    ends = [
        [helper.make_value_info(name, type_) for name, type_ in values.items()]
        for values in (inputs, outputs)
    ]
    opsets = [helper.make_opsetid(*each) for each in (("", 20), (ML, 3), (MICROSOFT, 1))]
    return helper.make_model(
        helper.make_graph(nodes, "host", *ends, initializers), opset_imports=opsets, ir_version=10
    )


def _node(op_type: str, inputs: str, outputs: str, domain: str = "", **given: Any) -> Any:
    """A node, with its names separated by blanks."""
    return helper.make_node(
        op_type, inputs.split(), outputs.split(), f"{op_type}_{outputs}", domain=domain, **given
    )


def _words(random: np.random.Generator, batch: int, known: int = LABELS) -> np.ndarray:
    """Words with a number each, of which one in eleven is not `known`."""
    return np.array([f"word-{i}" for i in random.integers(0, known * 11 // 10, batch)], object)


def _lookups(batch: int, random: np.random.Generator) -> Iterator[HostCase]:
    keys = [f"word-{i}" for i in range(LABELS)]
    encoder = _node("LabelEncoder", "x", "y", ML, keys_strings=keys, values_int64s=range(LABELS))
    model = _model([encoder], {"x": _strings("n")}, {"y": _integers("n")})
    yield HostCase("LabelEncoder of 100,000 strings", batch, model, {"x": _words(random, batch)})
    decoder = _node("LabelEncoder", "x", "y", ML, keys_int64s=range(LABELS), values_strings=keys)
    model = _model([decoder], {"x": _integers("n")}, {"y": _strings("n")})
    indices = random.integers(0, LABELS, batch)
    yield HostCase("LabelEncoder to 100,000 strings", batch, model, {"x": indices})


def _of_strings(batch: int, random: np.random.Generator) -> Iterator[HostCase]:
    x = {"x": _words(random, batch)}
    pairs = [word for i in range(500) for word in (f"word-{i}", f"word-{(i * 7 + 1) % 500}")]
    pool = [*(f"word-{i}" for i in range(500)), *pairs]
    cases = {
        "StringNormalizer": (
            _node(
                "StringNormalizer", "x", "y", case_change_action="LOWER", stopwords=["a", "of"],
                locale="C.UTF-8",  # that of this name is part of the C library
            ),
            _strings("m"),
        ),
        "StringSplit": (_node("StringSplit", "x", "y counts", delimiter="-"), _strings("n", "m")),
        "RegexFullMatch": (
            _node("RegexFullMatch", "x", "y", pattern=r"\w+-\d*7"),
            _tensor(TensorProto.BOOL, "n"),
        ),
        "TfIdfVectorizer": (
            _node(
                "TfIdfVectorizer", "x", "y", mode="TF", ngram_counts=[0, 500], pool_strings=pool,
                ngram_indexes=range(1000), min_gram_length=1, max_gram_length=2, max_skip_count=0,
            ),
            _floats(1000),
        ),
        "Tokenizer": (
            _node(
                "Tokenizer", "x", "y", MICROSOFT, mark=0, mincharnum=1, pad_value="#",
                separators=["-"],
            ),
            _strings("n", "m"),
        ),
    }  # fmt: skip
    for name, (node, type_) in cases.items():
        yield HostCase(name, batch, _model([node], {"x": _strings("n")}, {"y": type_}), x)
    both = {"x": _strings("n"), "z": _strings("n")}
    model = _model([_node("StringConcat", "x z", "y")], both, {"y": _strings("n")})
    yield HostCase("StringConcat", batch, model, {**x, "z": _words(random, batch)})


def _casts(batch: int, random: np.random.Generator) -> Iterator[HostCase]:
    numbers = random.random(batch, np.float32)
    spell = _node("Cast", "x", "y", to=TensorProto.STRING)
    model = _model([spell], {"x": _floats("n")}, {"y": _strings("n")})
    yield HostCase("Cast to strings", batch, model, {"x": numbers})
    read = _node("Cast", "x", "y", to=TensorProto.FLOAT)
    model = _model([read], {"x": _strings("n")}, {"y": _floats("n")})
    texts = np.array([str(number) for number in numbers], object)
    yield HostCase("Cast from strings", batch, model, {"x": texts})


def _sequences(batch: int, random: np.random.Generator) -> Iterator[HostCase]:
    rows = _floats("n", WIDTH)
    x, z = (random.random((batch, WIDTH), np.float32) for _ in range(2))
    nodes = [
        _node("SequenceConstruct", "x z", "pair"),
        _node("SequenceInsert", "pair x", "three"),
        _node("SequenceAt", "three one", "y"),
    ]
    one = numpy_helper.from_array(np.int64(1), "one")
    model = _model(nodes, {"x": rows, "z": rows}, {"y": rows}, [one])
    yield HostCase("SequenceConstruct, Insert, At", batch, model, {"x": x, "z": z})
    nodes = [
        _node("SplitToSequence", "x", "parts", axis=1, keepdims=0),
        _node("ConcatFromSequence", "parts", "y", axis=0),
    ]
    model = _model(nodes, {"x": rows}, {"y": _floats("m")})
    yield HostCase("SplitToSequence, ConcatFrom", batch, model, {"x": x})
    nodes = [_node("OptionalHasElement", "x", "has"), _node("OptionalGetElement", "x", "y")]
    given = {"x": helper.make_optional_type_proto(rows)}
    model = _model(nodes, given, {"has": _tensor(TensorProto.BOOL), "y": rows})
    yield HostCase("OptionalHasElement, GetElement", batch, model, {"x": x})


def _of_maps(batch: int, random: np.random.Generator) -> Iterator[HostCase]:
    scores = random.random((batch, len(CLASSES)), np.float32)
    maps = helper.make_sequence_type_proto(_maps(TensorProto.STRING))
    zipped = _node("ZipMap", "x", "y", ML, classlabels_strings=CLASSES)
    model = _model([zipped], {"x": _floats("n", len(CLASSES))}, {"y": maps})
    yield HostCase("ZipMap", batch, model, {"x": scores})
    keys = [f"key-{i}" for i in range(batch)]
    vectorizer = _node("DictVectorizer", "x", "y", ML, string_vocabulary=keys)
    model = _model([vectorizer], {"x": _maps(TensorProto.STRING)}, {"y": _floats(1, batch)})
    yield HostCase("DictVectorizer", batch, model, {"x": {key: 0.5 for key in keys}})
    model = _model(
        [_node("CastMap", "x", "y", ML)], {"x": _maps(TensorProto.INT64)}, {"y": _floats(1, batch)}
    )
    yield HostCase("CastMap", batch, model, {"x": {key: 0.5 for key in range(batch)}})


def _in_models(batch: int, random: np.random.Generator) -> Iterator[HostCase]:
    classify = _node(
        "LinearClassifier", "x", "label scores", ML, classlabels_strings=CLASSES,
        coefficients=np.linspace(-1, 2, WIDTH * len(CLASSES)).tolist(), intercepts=[0.1, 0.2, 0.3],
        post_transform="SOFTMAX",
    )  # fmt: skip
    zipped = _node("ZipMap", "scores", "maps", ML, classlabels_strings=CLASSES)
    maps = helper.make_sequence_type_proto(_maps(TensorProto.STRING))
    model = _model(
        [classify, zipped], {"x": _floats("n", WIDTH)}, {"label": _strings("n"), "maps": maps}
    )
    rows = random.random((batch, WIDTH), np.float32)
    yield HostCase("compiled classifier with labels", batch, model, {"x": rows})
    numbers = [str(i) for i in range(1000)]
    nodes = [
        _node("StringSplit", "x", "parts counts", delimiter="-"),
        _node("Gather", "parts one", "last", axis=1),
        _node("LabelEncoder", "last", "y", ML, keys_strings=numbers, values_int64s=range(1000)),
    ]
    one = numpy_helper.from_array(np.int64(1), "one")
    model = _model(nodes, {"x": _strings("n")}, {"y": _integers("n")}, [one])
    feeds = {"x": _words(random, batch, 1000)}
    yield HostCase("StringSplit, Gather, LabelEncoder", batch, model, feeds)
    nodes, last = [], "x"
    for number in range(5):
        join = _node("StringConcat", f"{last} x", f"joined{number}")
        cut = _node("StringSplit", f"joined{number}", f"cut{number} n{number}", delimiter="d-")
        nodes += [join, cut, _node("Gather", f"cut{number} one", f"part{number}", axis=1)]
        last = f"part{number}"
    model = _model(nodes[:-1], {"x": _strings("n")}, {"cut4": _strings("n", "m")}, [one])
    yield HostCase("14 nodes on strings in a chain", batch, model, {"x": _words(random, batch)})


def _image() -> HostCase:
    import PIL.Image

    pixels = np.random.default_rng(0).integers(0, 255, (224, 224, 3), np.uint8)
    encoded = io.BytesIO()
    PIL.Image.fromarray(pixels).save(encoded, "JPEG")
    data = np.frombuffer(encoded.getvalue(), np.uint8)
    model = _model(
        [_node("ImageDecoder", "x", "y")],
        {"x": _tensor(TensorProto.UINT8, "n")},
        {"y": _tensor(TensorProto.UINT8, "h", "w", 3)},
    )
    return HostCase("ImageDecoder, JPEG of 224 x 224", 1, model, {"x": data})


def host_cases(batches: Sequence[int]) -> Iterator[HostCase]:
    """The cases, each for every one of `batches`."""
    families = (_lookups, _of_strings, _casts, _sequences, _of_maps, _in_models)
    for family in families:
        of_batches = [list(family(batch, np.random.default_rng(0))) for batch in batches]
        for cases in zip(*of_batches, strict=True):
            yield from cases
    yield _image()

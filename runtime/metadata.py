"""Metadata of a compiled module: its inputs, its outputs, and the options it was compiled with.

The metadata is part of the ``.vmfb``, as JSON in the reflection attributes of the entry function.
So it cannot be separated from the code that it describes, and IREE's own tools can run the file.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from ..errors import ModuleFileError
from .values import ValueSpec

FORMAT_VERSION = 1
"""Version of the JSON format. A reader accepts its own version only."""

REFLECTION_KEY = "graphc"
"""The key of the JSON in the ``iree.reflection`` dictionary of the entry function."""

ENTRY_FUNCTION = "main"
"""The function of the module that runs the model."""

ASSUMED_KEY = "assumed"
"""The option with the equations between sizes that the program assumes."""

OVERRIDABLE_KEY = "overridable"
"""The option that names the inputs with defaults, which are constants of the program."""

DONATED_KEY = "donated"
"""The option that lists the numbers of the inputs that a call is given the memory of."""

LOOPS_KEY = "loops"
"""The option that says that the program has loops."""

ALIGNMENT_KEY = "alignment"
"""The option with the number of bytes that the addresses of inputs must be multiples of, if it is
less than `runtime.device.memory.ALIGNMENT`."""

DESTINATION_SUFFIX = "_into"
"""The suffix of the second entry point, which small models have if the shapes of the inputs
determine the sizes of all outputs: it writes these to preallocated buffers, which follow the
inputs."""

DESTINATION_ENTRY = ENTRY_FUNCTION + DESTINATION_SUFFIX
"""The second entry point of a module with one model."""


@dataclass(frozen=True)
class TensorSpec:
    """Name, shape and element type of one input or output.

    A dimension is a size, or a name (``"batch"``) if it is only known at run time. A dimension of
    an output may be an expression of names (``"2*h + 1"``), or ``""`` if it is unknown.
    `dtype` is a numpy or ml_dtypes name, such as ``"float32"`` or ``"bfloat16"``.
    """

    name: str
    shape: tuple[int | str, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}{format_shape(self.shape)}"


@dataclass(frozen=True)
class ModelMetadata:
    """The metadata that a module carries.

    `dims` holds the symbolic dimensions that were fixed when the model was compiled, `options` the
    options of the compilation, `versions` those of the packages involved.
    """

    name: str
    inputs: tuple[TensorSpec | ValueSpec, ...]
    outputs: tuple[TensorSpec | ValueSpec, ...]
    dims: dict[str, int] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    format_version: int = FORMAT_VERSION

    def to_json(self) -> str:
        """The metadata as one line of ASCII JSON."""
        return json.dumps(asdict(self), separators=(",", ":"), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "ModelMetadata":
        """Parse the result of `to_json`.

        Raises `ModuleFileError` if `text` is not JSON, is of another format version, or has a
        missing field, an unknown field or one of the wrong type.
        """
        try:
            raw = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ModuleFileError(f"the module's metadata is not JSON: {error}") from None
        if not isinstance(raw, dict):
            raise ModuleFileError("the module's metadata is not a JSON object")
        version = raw.get("format_version")
        if version != FORMAT_VERSION or isinstance(version, bool):
            raise ModuleFileError(
                f"the module's metadata has format version {version!r}; "
                f"this graphc reads version {FORMAT_VERSION}: compile the model again"
            )
        _check_fields("the module's metadata", raw, cls)
        _typed({"target": "", **_mapping(raw, "options", object)}, "target", str)
        return cls(
            name=_typed(raw, "name", str),
            inputs=_tensors(raw, "inputs"),
            outputs=_tensors(raw, "outputs"),
            dims=_mapping(raw, "dims", int),
            options=_mapping(raw, "options", object),
            versions=_mapping(raw, "versions", str),
            format_version=version,
        )


def is_path(model: object) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether `model`, an argument of `graphc.compile`, is a path."""
    return isinstance(model, str | os.PathLike)


def model_name(model: object) -> str:
    """The name of `model`, an argument of `graphc.compile`: its file name without the suffix, or
    ``model`` if it is not a path."""
    return Path(model).stem if is_path(model) else "model"


def require_tensors(specs: Iterable[TensorSpec | ValueSpec]) -> tuple[TensorSpec, ...]:
    """`specs` of a compiled module as tensors. Raises `ModuleFileError` if one is not a tensor."""
    tensors = tuple(spec for spec in specs if isinstance(spec, TensorSpec))
    for spec in specs:
        if isinstance(spec, ValueSpec):
            raise ModuleFileError(f"the metadata names {spec}, which no compiled module takes")
    return tensors


def format_shape(shape: tuple[int | str, ...]) -> str:
    """Format a shape: ``[batch, 3, ?]`` for ``("batch", 3, "")``."""
    return "[" + ", ".join(str(dim) if dim != "" else "?" for dim in shape) + "]"


def _check_fields(where: str, raw: dict[str, Any], cls: type) -> None:
    expected = set(cls.__dataclass_fields__)
    missing, unknown = sorted(expected - raw.keys()), sorted(raw.keys() - expected)
    if missing or unknown:
        parts = [f"lacks {', '.join(missing)}"] if missing else []
        parts += [f"has unknown {', '.join(unknown)}"] if unknown else []
        raise ModuleFileError(f"{where} {' and '.join(parts)}")


def _is_a(value: object, kind: type) -> bool:
    # bool is a subclass of int, but not valid as a number here.
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def _typed(raw: dict[str, Any], key: str, kind: type) -> Any:
    if not _is_a(raw[key], kind):
        raise ModuleFileError(
            f"the module's metadata has {key} = {raw[key]!r}, which is no {kind.__name__}"
        )
    return raw[key]


def _mapping(raw: dict[str, Any], key: str, kind: type) -> dict[str, Any]:
    mapping = _typed(raw, key, dict)
    for name, value in mapping.items():
        if not _is_a(value, kind):
            raise ModuleFileError(
                f"the module's metadata has {key}[{name!r}] = {value!r}, "
                f"which is no {kind.__name__}"
            )
    return mapping


def _tensors(raw: dict[str, Any], key: str) -> tuple[TensorSpec | ValueSpec, ...]:
    tensors: list[TensorSpec | ValueSpec] = []
    for item in _typed(raw, key, list):
        where = f"the module's metadata, in {key},"
        if not isinstance(item, dict):
            raise ModuleFileError(f"{where} has {item!r}, which is no tensor")
        if "type" in item:
            _check_fields(where, item, ValueSpec)
            tensors.append(ValueSpec(_typed(item, "name", str), _typed(item, "type", str)))
            continue
        _check_fields(where, item, TensorSpec)
        shape = _typed(item, "shape", list)
        for dim in shape:
            if not (_is_a(dim, str) or (_is_a(dim, int) and dim >= 0)):
                raise ModuleFileError(f"{where} has dimension {dim!r}")
        tensors.append(
            TensorSpec(_typed(item, "name", str), tuple(shape), _typed(item, "dtype", str))
        )
    names = [tensor.name for tensor in tensors]
    if key == "inputs" and len(set(names)) != len(names):  # a model may give a value twice
        raise ModuleFileError(f"the module's metadata names a tensor twice in {key}: {names}")
    return tuple(tensors)

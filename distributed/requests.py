"""The request of a mapped data set: everything that decides its results, as plain values."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..compiler.options import Effect, Options, option_of
from ..errors import InvalidModelError
from ..frontend.onnx import external_files
from ..runtime import Target
from ..runtime.cache.digests import digest_of, digest_of_file, digest_of_texts
from ..runtime.metadata import is_path

COMPILED = (".vmfb", ".gcm")


def is_compiled(model: Any) -> bool:
    """Return whether `model` is the path of a compiled model."""
    return is_path(model) and Path(model).suffix in COMPILED


def model_digest(model: Any) -> str:
    """The digest of a model: of a file with its external data, of bytes, or of a ModelProto.

    Raises `InvalidModelError`.
    """
    if not is_path(model):
        is_bytes = isinstance(model, bytes | bytearray | memoryview)
        contents = model if is_bytes else model.SerializeToString(deterministic=True)
        return digest_of(memoryview(contents))
    path = Path(model)
    names = [] if is_compiled(model) else external_files(path)
    folder = path.resolve().parent
    try:
        files = (path, *(folder / name for name in names))
        return digest_of_texts(map(digest_of_file, files))
    except OSError as error:
        raise InvalidModelError(f"cannot read '{model}': {error.strerror or error}") from error


def request_of(
    model: Any, options: Mapping[str, Any], versions: Mapping[str, str], **others: Any
) -> dict[str, Any]:
    """The request, as values that survive JSON: defaults are left out."""
    request = {
        "model": model_digest(model),
        "target": [str(each) for each in _listed(options.get("target", "cpu"))],
        "versions": versions,
        **others,
        **_decisive(options),
    }
    return json.loads(json.dumps(request, default=str, sort_keys=True))


def _decisive(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `graphc.compile` beside the target that decide the result, and are given."""
    fields = [each for each in dataclasses.fields(Options) if each.name != "target"]
    defaults = {
        each.name: each.default for each in fields if option_of(each).effect is Effect.RESULT
    }
    return {
        name: value
        for name, value in options.items()
        if name in defaults and value not in (None, defaults[name], "", [], {}, ())
    }


def _listed(target: Any) -> Sequence[Any]:
    return [target] if isinstance(target, str | Target) else target

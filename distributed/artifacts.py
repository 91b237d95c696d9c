"""The compiled model of a job: compiled once, and shared as a file named by its contents."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..compiler.compile import compile_to_file
from ..errors import InvalidModelError
from ..frontend.onnx.importing.dimension_names import is_name
from ..frontend.onnx.importing.loading import load_model
from ..runtime import ProgressEvent
from ..runtime.cache.digests import digest_of, digest_of_file
from ..runtime.files.output_file import write_atomically
from .manifest import ArtifactRecord, MapManifest
from .requests import is_compiled
from .worker import Artifact

_NAME_DIGITS = 12


@dataclass(frozen=True)
class ArtifactSource:
    """A model with the options to compile it with, which is done when its contents are needed."""

    model: Any
    options: Mapping[str, Any]
    progress: Callable[[ProgressEvent], None] | None

    @classmethod
    def of(
        cls,
        model: Any,
        batch_size: int | None,
        options: Mapping[str, Any],
        progress: Callable[[ProgressEvent], None] | None = None,
    ) -> "ArtifactSource":
        """The compilation of `model` with its named first dimensions fixed at `batch_size`."""
        if batch_size is None or is_compiled(model):
            return cls(model, dict(options), progress)
        dims = {name: batch_size for name in first_dims(model)} | dict(options.get("dims") or {})
        return cls(model, {**options, "dims": dims}, progress)

    @cached_property
    def contents(self) -> bytes:
        """The compiled model. Raises as `graphc.compile` does."""
        if is_compiled(self.model):
            try:
                return Path(self.model).read_bytes()
            except OSError as error:
                raise InvalidModelError(f"cannot read '{self.model}': {error.strerror}") from error
        options = {"target": "cpu", **self.options}
        return compile_to_file(self.model, progress=self.progress, **options)[0]


def first_dims(model: Any) -> list[str]:
    """The names of the first dimensions of a model's inputs."""
    graph = load_model(model)[0].graph
    defaults = {tensor.name for tensor in graph.initializer}
    shapes = [each.type.tensor_type.shape for each in graph.input if each.name not in defaults]
    firsts = [shape.dim[0] for shape in shapes if len(shape.dim)]
    return sorted({dim.dim_param for dim in firsts if is_name(dim)})


def publish(source: ArtifactSource, manifest: MapManifest) -> Artifact:
    """The compiled model, in a file beside `manifest`, as the manifest records it or compiled now.

    Raises as `graphc.compile` does, and `OutputError`.
    """
    folder, known = manifest.path.parent, manifest.artifact
    if known is not None:
        path = folder / known.file
        if path.is_file() and digest_of_file(path) == known.artifact:
            return Artifact(path, known.artifact)
    contents = source.contents
    digest = digest_of(contents)
    path = folder / f"_model-{digest[:_NAME_DIGITS]}"
    write_atomically(path, contents)
    manifest.add(ArtifactRecord(digest, path.name))
    return Artifact(path, digest)

"""A candidate: a model compiled with a pipeline of the search space."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..compiler.driver import Compilation, begin, describe
from ..compiler.options import Options
from ..debugging.difference import relative_difference, tolerance_of
from ..errors import VerificationError
from ..passes.infra.pipeline import distinct_text
from ..runtime import CompiledModel, TensorSpec, ValueSpec
from ..runtime.cache.digests import digest_of_texts
from .search_space import Shapes, shapes_of


@dataclass
class Candidate:
    """A model after its graph pipeline; equal digests mean equal programs."""

    compilation: Compilation
    digest: str

    @property
    def inputs(self) -> Sequence[TensorSpec | ValueSpec]:
        """The inputs of the model."""
        compilation = self.compilation
        return describe(compilation.module, compilation.name, compilation.options).inputs

    @property
    def shapes(self) -> Shapes:
        """The shapes that passes of its pipeline may skip, with their nodes."""
        compilation = self.compilation
        return shapes_of(compilation.options.pipeline, compilation.report)

    def compile(self) -> bytes:
        """Compile the program, once."""
        self.compilation.lower()
        return self.compilation.backend()


def make_candidate(model: Any, options: Options, pipeline: str) -> Candidate:
    """`model` after `pipeline`."""
    compilation = begin(model, replace(options, pipeline=pipeline))
    compilation.graph_passes()
    return Candidate(compilation, digest_of_texts([distinct_text(compilation.module)]))


def require_equal_results(
    candidate: CompiledModel, expected: Sequence[Any], feeds: Mapping[str, Any]
) -> None:
    """Raise `VerificationError` if results on `feeds` are not `expected` up to rounding."""
    for spec, have, want in zip(
        candidate.outputs, candidate.run(None, dict(feeds)), expected, strict=True
    ):
        apart = relative_difference(have, want)
        if not apart <= tolerance_of(want.dtype, None):
            raise VerificationError(
                f"output '{spec.name}' differs by {apart:.1e} of its largest value"
            )

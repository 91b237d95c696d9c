"""A candidate: a model compiled with a pipeline of the search space."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..compiler.driver import Compilation, begin
from ..compiler.options import Options
from ..debugging.difference import relative_difference, tolerance_of
from ..errors import VerificationError
from ..passes.infra.pipeline import fingerprint
from ..runtime import CompiledModel, load


@dataclass
class Candidate:
    """A model after its graph pipeline; equal fingerprints mean equal programs."""

    compilation: Compilation
    fingerprint: int

    def compile(self) -> CompiledModel:
        """Compile the program, once."""
        self.compilation.lower()
        contents = self.compilation.backend()
        threads = self.compilation.options.threads
        return load(contents, threads=threads, report=self.compilation.report)


def make_candidate(model: Any, options: Options, pipeline: str) -> Candidate:
    """`model` after `pipeline`."""
    compilation = begin(model, replace(options, pipeline=pipeline))
    compilation.graph_passes()
    return Candidate(compilation, fingerprint(compilation.module))


def require_equal_results(
    candidate: CompiledModel, expected: list[Any], feeds: Mapping[str, Any]
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

"""The programs that the graph passes make of a model, and models compiled from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import onnx
from lowering_digests import digest, normalised

from graphc.compiler.compile import compile
from graphc.compiler.driver import Compilation, begin
from graphc.compiler.options import Options
from graphc.passes.infra.optimistic import run_optimistically
from graphc.passes.infra.report import Report
from graphc.runtime import CompiledModel
from graphc.runtime.execution.variants import Calls
from harness.compiled_together import load


@dataclass(frozen=True)
class GraphProgram:
    """A program after the graph passes, and the settings of `compile` that it was made with."""

    model: onnx.ModelProto
    settings: Mapping[str, Any]
    compilation: Compilation

    @property
    def is_interpreted(self) -> bool:
        """True if nothing is compiled for the target."""
        return self.settings.get("target") == "interpret"

    def compiled(self) -> CompiledModel:
        """The model, compiled as by `compile`. It can be called once."""
        if self.is_interpreted:
            return compile(self.model, **self.settings)
        self.compilation.lower()
        compiled = load(self.compilation.backend(), threads=self.settings["threads"])
        compiled.compile_others(partial(_compile_for, self.model, self.settings), Calls())
        return compiled


def _compile_for(
    model: onnx.ModelProto, settings: Mapping[str, Any], calls: Calls
) -> CompiledModel:
    return compile(model, **{**settings, **calls.options})


class GraphPrograms:
    """The different programs that the graph passes make of `model`, which is imported once."""

    def __init__(self, model: onnx.ModelProto):
        self._model = model
        self._imported: Compilation | None = None
        self._pipelines: set[str] = set()
        self._digests: set[str] = set()

    def new(self, settings: Mapping[str, Any]) -> GraphProgram | None:
        """The program for the `settings` of `compile`, None if earlier ones have led to it.

        Raises the errors of the import and of the passes.
        """
        options = Options.of(**{"target": "cpu", **settings})
        if options.pipeline in self._pipelines:
            return None
        if self._imported is None:
            self._imported = begin(self._model, options)
        imported = self._imported
        copy: Any = imported.module.operation.clone(ip=False).opview
        compilation = Compilation(copy, imported.name, options, Report(title=imported.name))
        # as `Compilation.graph_passes`, but nobody asks which passes changed something
        run_optimistically(copy, options.pipeline, find_changes=False)
        self._pipelines.add(options.pipeline)
        program = digest(normalised(compilation.module), compilation.module)
        if program in self._digests:
            return None
        self._digests.add(program)
        return GraphProgram(self._model, settings, compilation)

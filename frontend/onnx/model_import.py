"""A model as a module, the questions that decide ranks settled."""

import contextlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import onnx

from ...dialects import graph
from ...errors import UnsupportedModelError, VerificationError
from ...mlir import ir
from .choices import Answers, Choices, settle
from .importer import Importer
from .loading import Source, load_model

logger = logging.getLogger("graphc")


def import_onnx(
    source: Source, *, dims: Mapping[str, int] | None = None,
    outputs: Sequence[str] | None = None, context: ir.Context | None = None,
) -> ir.Module:  # fmt: skip
    """Import a model: a path, its bytes, or a ModelProto.

    `dims` gives symbolic dimensions a size; `outputs` names the values that are the results, in
    place of the model's outputs. The module holds one public function, ``@main``, with
    the names of inputs and outputs as ``graph.name`` attributes. It maps large weights from their
    file, which must stay as it is while the module lives. Raises InvalidModelError, LimitError,
    UnsupportedModelError (with all nodes that are not supported), InvalidDimError, or UsageError
    for `outputs` that are not there.
    """
    model, folder = load_model(source)
    owned, sizes = not isinstance(source, onnx.ModelProto), dict(dims or {})
    with context or ir.Context(), ir.Location.unknown():
        graph.Graph.load()
        importer = Importer(model, folder, sizes, owned)
        try:
            return make_module(importer, outputs)
        except UnsupportedModelError:
            if not importer.choices.open:
                raise
            if owned:  # the import has taken weights from it
                model, folder = load_model(source)
            answers = settle_choices(model, folder, sizes, outputs)
            if not answers:
                raise
        return make_module(Importer(model, folder, sizes, owned, answers), outputs)


def make_module(importer: Importer, outputs: Sequence[str] | None = None) -> ir.Module:
    """The module that `importer` makes of its model."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        importer.import_model(outputs)
    verify(module)
    report_oddities(importer.warnings)
    return module


def report_oddities(warnings: Iterable[str]) -> None:
    """Say what is odd about a model that is taken nevertheless."""
    for warning in warnings:
        logger.warning("%s", warning)


def settle_choices(
    model: onnx.ModelProto,
    folder: Path | None,
    dims: Mapping[str, int],
    outputs: Sequence[str] | None = None,
) -> Answers:
    """The answers to questions about ranks without which `model` cannot run."""

    def trial(answers: Answers) -> Choices:
        with ir.Context(), ir.Location.unknown():
            graph.Graph.load()
            importer = Importer(model, folder, dict(dims), owned=False, answers=answers)
            module = ir.Module.create()
            with ir.InsertionPoint(module.body), contextlib.suppress(UnsupportedModelError):
                importer.import_model(outputs)  # other nodes may be, whatever the answers
            return importer.choices

    return settle(trial)


def verify(module: ir.Module) -> None:
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise VerificationError(f"the imported program does not verify: {error}") from error

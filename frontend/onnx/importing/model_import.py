"""A model as a module, the questions that decide ranks settled."""

import contextlib
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import onnx

from ....aliases import takes_old_arguments
from ....dialects import graph
from ....dialects.remembering import remembering
from ....errors import UnsupportedModelError, VerificationError
from ....mlir import create_context, ir
from .choices import Answers, Choices, Settled, settle
from .dimension_names import without_names
from .importer import Importer
from .loading import Source, load_model
from .model_nodes import overridable, override
from .sequences import without_sequences

logger = logging.getLogger("graphc")


ASSUMED = "graph.assumed"
"""The attribute of a program that names the equations between sizes that it takes for granted
although the model runs without them: a dictionary of booleans."""

OVERRIDABLE = "graph.overridable"
"""The attribute that names the model's inputs with defaults, which are constants here."""


@takes_old_arguments
@remembering()
def import_onnx(
    source: Source, *, dims: Mapping[str, int] | None = None,
    outputs: Sequence[str] | None = None, context: ir.Context | None = None,
    assume: Mapping[str, bool] | None = None, overridden: Collection[str] = (),
    independent_dims: Collection[str] = (), donate: Sequence[str] = (),
) -> ir.Module:  # fmt: skip
    """Import a model: a path, its bytes, or a ModelProto.

    `dims` gives symbolic dimensions a size; `outputs` names the values that are the results, in
    place of the model's outputs. `assume` says which equations between sizes hold
    (``{"n == 1": False}``) where ranks depend on that; those that it does not tell of are assumed
    not to, and with None such models are refused. Inputs with defaults are constants, but for those
    of `overridden`; dimensions of the names `independent_dims` have no names. Inputs that match one
    of the patterns `donate` are marked as donated.

    The module holds one public function, ``@main``, with the names of inputs and outputs as
    ``graph.name`` attributes. It maps large weights from their file, which must stay as it is while
    the module lives. Raises InvalidModelError, LimitError, UnsupportedModelError (with all nodes
    that are not supported), InvalidDimError, or UsageError for `outputs` that are not there.
    """
    owned, sizes = not isinstance(source, onnx.ModelProto), dict(dims or {})
    model, folder = _load(source, overridden, independent_dims)
    with context or create_context(), ir.Location.unknown():
        graph.Graph.load()
        importer = Importer(model, folder, sizes, owned, donate=donate)
        try:
            return make_module(importer, outputs)
        except UnsupportedModelError:
            if not importer.choices.open:
                raise
            if owned:  # the import has taken weights from it
                model, folder = _load(source, overridden, independent_dims)
            trial = partial(settle_choices, model, folder, sizes, outputs, tried=importer.choices)
            answers, assumed = _answers(trial, None if _is_cheap_on_host(importer) else assume)
            if not answers:
                raise
        module = make_module(Importer(model, folder, sizes, owned, answers, donate), outputs)
        values: dict[str, ir.Attribute] = {
            text: ir.BoolAttr.get(holds) for text, holds in assumed.items()
        }
        _mark(module, ASSUMED, ir.DictAttr.get(values))
        return module


def _load(
    source: Source, overridden: Collection[str], independent_dims: Collection[str]
) -> tuple[onnx.ModelProto, Path | None]:
    model, folder = load_model(source)
    model = without_names(override(model, overridden), independent_dims)
    return without_sequences(model, joins=True), folder


def _answers(
    settle_with: Callable[[Answers], Settled], assume: Mapping[str, bool] | None
) -> tuple[Answers, dict[str, bool]]:
    """The answers that a program is made with, and the equations that others might answer
    otherwise."""
    if assume is None:
        return settle_with({}).necessary, {}
    given = {("", text): holds for text, holds in assume.items()}
    settled = settle_with(given)
    if not settled.possible:  # there is no such program; that for other sizes will say so
        settled = settle_with({})
    answers = settled.first
    free = answers.keys() - (settled.necessary.keys() - given.keys())
    return answers, {text: answers["", text] for node, text in sorted(free) if not node}


def _is_cheap_on_host(importer: Importer) -> bool:
    """True if only Squeeze nodes would run on the host, which move no data."""
    refused = importer.unsupported
    return not importer.skipped and all(node.op_type == "Squeeze" for node in refused)


def _mark(module: ir.Module, name: str, values: ir.DictAttr | ir.ArrayAttr) -> None:
    if len(values):
        (function,) = module.body.operations
        function.attributes[name] = values


def make_module(importer: Importer, outputs: Sequence[str] | None = None) -> ir.Module:
    """The module that `importer` makes of its model."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        importer.import_model(outputs)
    names = [ir.StringAttr.get(name) for name in overridable(importer.model)]
    _mark(module, OVERRIDABLE, ir.ArrayAttr.get(names))
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
    given: Answers | None = None,
    tried: Choices | None = None,
) -> Settled:
    """Find the sets of answers about ranks that extend `given` and that `model` can run with.
    `tried` has what an import asked before."""

    def trial(answers: Answers) -> Choices:
        if tried is not None and answers == tried.answers:
            return tried
        with create_context(), ir.Location.unknown():
            graph.Graph.load()
            importer = Importer(model, folder, dict(dims), owned=False, answers=answers)
            module = ir.Module.create()
            with ir.InsertionPoint(module.body), contextlib.suppress(UnsupportedModelError):
                importer.import_model(outputs)  # other nodes may be, whatever the answers
            return importer.choices

    return settle(trial, given)


def verify(module: ir.Module) -> None:
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise VerificationError(f"the imported program does not verify: {error}") from error

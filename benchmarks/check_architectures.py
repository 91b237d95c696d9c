"""Export small models of many architectures, compile them and compare with ONNX Runtime.

::

    python -m graphc.benchmarks.check_architectures              # all, from both exporters
    python -m graphc.benchmarks.check_architectures llama swin --exporter torchscript

A model with symbolic sizes is compiled once and run with several sizes, and several values for
each, in three rounds; sizes that both runtimes reject, because the exporter fixed them, are not
compared. The table has a line per model and exporter: the number of nodes, the compile time in
seconds, and the largest difference over the largest value. The exit status is 1 if a difference is
missing or above the tolerance.
"""

import argparse
import contextlib
import io
import logging
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .measure import largest_difference
from .models import EXPORTERS
from .table import format_table, one_line

TOLERANCE = 1e-4
OPSETS = {"torchscript": 17, "dynamo": 20}
SIZES = ((2, 8), (1, 5), (3, 11))
"""Sizes of batch and length; models are exported with the first."""
ROUNDS = 3
"""Number of calls with each input."""


@dataclass(frozen=True)
class ArchitectureFinding:
    """The result for one model from one exporter."""

    model: str
    exporter: str
    nodes: int = 0
    seconds: float = 0.0
    difference: float = float("inf")
    note: str = ""

    @property
    def is_good(self) -> bool:
        return self.difference <= TOLERANCE


def export(name: str, exporter: str, path: Path) -> list[dict[str, np.ndarray]]:
    """Write model `name` to `path`; return feeds of different sizes."""
    import torch

    from .small_models import SMALL_MODELS

    model = SMALL_MODELS[name]()
    feeds = [{key: tensor.numpy() for key, tensor in model.inputs(*size).items()} for size in SIZES]
    feeds = [each for feed in feeds for each in (feed, _shuffled(feed))]
    arguments = tuple(model.inputs(*SIZES[0]).values())
    names = list(model.inputs(*SIZES[0]))
    options: dict[str, object] = {"dynamo": exporter == "dynamo"}
    if exporter == "dynamo":
        axes = [
            {axis: torch.export.Dim.DYNAMIC for axis in model.axes.get(name, {})} for name in names
        ]
        # The forward takes its tensors as *tensors, which counts as one argument.
        fixed = model.module.forward.__code__.co_argcount - 1
        rest = [tuple(axes[fixed:])] if fixed < len(axes) else []
        options |= {
            "dynamic_shapes": (*axes[:fixed], *rest), "external_data": False, "verbose": False,
        }  # fmt: skip
    else:
        options["dynamic_axes"] = {name: dict(axes) for name, axes in model.axes.items()}
    with torch.no_grad(), warnings.catch_warnings(), _silence():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model.module, arguments, str(path), input_names=names,
            output_names=list(model.outputs), opset_version=OPSETS[exporter], **options,
        )  # fmt: skip
    return feeds


def _shuffled(feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A feed with other values of the same sizes."""
    random = np.random.default_rng(0)
    return {
        name: random.permutation(array.reshape(-1)).reshape(array.shape)
        for name, array in feed.items()
    }


@contextlib.contextmanager
def _silence():
    """Suppress the output and the logs of exporters."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.disable(before)


def check(name: str, exporter: str, folder: Path, threads: int) -> ArchitectureFinding:
    """Export, compile and compare one model."""
    import onnx

    import graphc

    from .peers import Terms, load_onnxruntime

    path = folder / f"small-{name}-{exporter}.onnx"
    try:
        feeds = export(name, exporter, path)
    except Exception as error:
        return ArchitectureFinding(name, exporter, note=f"no export: {one_line(error)}")
    nodes = len(onnx.load(path, load_external_data=False).graph.node)
    start = time.perf_counter()
    try:
        with graphc.compile(path, threads=threads, cache=False) as model:
            seconds = time.perf_counter() - start
            feeds = [{i.name: feed[i.name] for i in model.inputs} for feed in feeds]
            results = [_outputs(lambda feed=feed: model.run(None, feed)) for feed in feeds * ROUNDS]
    except graphc.GraphcError as error:
        return ArchitectureFinding(name, exporter, nodes, note=one_line(error))
    reference = load_onnxruntime(path, Terms(threads))
    expected = [_outputs(lambda feed=feed: reference.run(feed)) for feed in feeds]
    differences = [_difference(*pair) for pair in zip(results, expected * ROUNDS, strict=True)]
    if isinstance(expected[0], Exception):
        return ArchitectureFinding(
            name, exporter, nodes, seconds, note=f"reference: {one_line(expected[0])}"
        )
    return ArchitectureFinding(name, exporter, nodes, seconds, max(differences))


def _outputs(run: Callable[[], Sequence[np.ndarray]]) -> Sequence[np.ndarray] | Exception:
    """The outputs of a run, or its exception: exporters may fix sizes that a feed does not have."""
    try:
        return run()
    except Exception as error:
        return error


def _difference(
    result: Sequence[np.ndarray] | Exception, expected: Sequence[np.ndarray] | Exception
) -> float:
    """The largest difference of the outputs; 0 if neither runs, infinity if only one does."""
    if isinstance(result, Exception) or isinstance(expected, Exception):
        both = isinstance(result, Exception) and isinstance(expected, Exception)
        return 0.0 if both else float("inf")
    return max(largest_difference(*pair) for pair in zip(result, expected, strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    from .models import DEFAULT_FOLDER
    from .small_models import SMALL_MODELS

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="models; all when none is given")
    parser.add_argument("--exporter", choices=EXPORTERS, help="one of the exporters alone")
    parser.add_argument("-o", "--output", type=Path, default=DEFAULT_FOLDER, metavar="FOLDER")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - set(SMALL_MODELS))
    if unknown:
        parser.error(f"no model {', '.join(unknown)}; there are: {', '.join(SMALL_MODELS)}")
    options.output.mkdir(parents=True, exist_ok=True)
    findings = []
    for name in options.names or SMALL_MODELS:
        for exporter in [options.exporter] if options.exporter else EXPORTERS:
            finding = check(name, exporter, options.output, options.threads)
            findings.append(finding)
            print(f"{name} {exporter}: {finding.note or f'{finding.difference:.1e}'}", flush=True)
    print(_table(findings))
    return 0 if all(finding.is_good for finding in findings) else 1


def _table(findings: Sequence[ArchitectureFinding]) -> str:
    rows = [
        (f.model, f.exporter, str(f.nodes), f"{f.seconds:.1f}", f"{f.difference:.1e}", f.note)
        for f in findings
    ]
    return format_table(("model", "exporter", "nodes", "compile, s", "difference", ""), rows)


if __name__ == "__main__":
    sys.exit(main())

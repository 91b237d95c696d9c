"""Export the benchmark models to ONNX: ``python -m graphc.benchmarks.models resnet50 bert``.

Both PyTorch exporters are supported, since their graphs differ. ``f16`` is an export of
``model.half()``: weights, arithmetic and floating-point inputs and outputs are in half precision,
as in most half-precision ONNX files of these models. The ``light_...`` models of the onnx package
are listed too; they exist only in opset 9 and single precision.
"""

import argparse
import logging
import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .feeds import example_inputs
from .light import light_names, write_light_model

if TYPE_CHECKING:
    from .architectures import Architecture

__all__ = [
    "EXPORTERS", "PRECISIONS", "example_inputs", "main", "make", "model_path", "names",
    "write_architecture",
]  # fmt: skip

EXPORTERS = ("torchscript", "dynamo")
PRECISIONS = ("f32", "f16")
DEFAULT_FOLDER = Path(__file__).resolve().parent.parent / "models"
TORCHSCRIPT_OPSET = 17


def names() -> tuple[str, ...]:
    """All models that can be exported."""
    from .architectures import ARCHITECTURES

    return (*ARCHITECTURES, *light_names())


def file_name(name: str, exporter: str, precision: str) -> str:
    """The file name of a model: ``bert.onnx`` for the defaults, or ``bert-dynamo-f16.onnx``."""
    parts = [name]
    parts += [exporter] if exporter != EXPORTERS[0] else []
    parts += [precision] if precision != PRECISIONS[0] else []
    return "-".join(parts) + ".onnx"


def model_path(
    name: str,
    exporter: str = "torchscript",
    precision: str = "f32",
    folder: str | Path = DEFAULT_FOLDER,
) -> Path:
    """The path of an exported model, which is exported first if the file is missing."""
    path = Path(folder) / file_name(name, exporter, precision)
    if not path.exists():
        make(name, exporter, precision, path)
    return path


def make(name: str, exporter: str, precision: str, path: Path) -> None:
    """Write model `name` to `path` atomically."""
    if exporter not in EXPORTERS or precision not in PRECISIONS:
        raise ValueError(f"unknown exporter '{exporter}' or precision '{precision}'")
    if name not in light_names():
        export(name, exporter, precision, path)
    elif (exporter, precision) == (EXPORTERS[0], PRECISIONS[0]):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_light_model(name, path)
    else:
        raise ValueError(f"'{name}' exists in {PRECISIONS[0]} and from no other exporter")


def export(name: str, exporter: str, precision: str, path: Path) -> None:
    """Export architecture `name` to `path` atomically, if the model is valid."""
    import onnx
    import torch

    from .architectures import ARCHITECTURES, Architecture

    if name not in ARCHITECTURES:
        raise ValueError(f"no model '{name}'; there are: {', '.join(ARCHITECTURES)}")
    model = ARCHITECTURES[name]()
    if precision == "f16":
        inputs = {n: t.half() if t.is_floating_point() else t for n, t in model.inputs.items()}
        model = Architecture(model.module.half(), inputs, model.outputs, model.dynamic_axes)
        if exporter == "torchscript":
            # This exporter converts the boolean mask of fused attention to single precision, and
            # writes a model with mixed types, which no runtime accepts.
            model.module.model.set_attn_implementation("eager")
    with torch.no_grad(), _replaced_when_done(path) as partial:
        write_architecture(model, exporter, partial)
        onnx.checker.check_model(partial, full_check=True)


def write_architecture(model: "Architecture", exporter: str, path: Path) -> None:
    """Write `model` to `path` by one of PyTorch's exporters."""
    (_export_torchscript if exporter == "torchscript" else _export_dynamo)(model, path)


def _export_torchscript(model, path: Path) -> None:
    import torch

    with warnings.catch_warnings():
        # Tracing warns of every shape that it fixes, and of its own deprecation.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model.module,
            tuple(model.inputs.values()),
            str(path),
            input_names=list(model.inputs),
            output_names=list(model.outputs),
            dynamic_axes={n: dict(axes) for n, axes in model.dynamic_axes.items()} or None,
            opset_version=TORCHSCRIPT_OPSET,
            dynamo=False,
        )


def _export_dynamo(model, path: Path) -> None:
    import torch

    # Otherwise it warns of every missing optional package.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    shapes = None
    if model.dynamic_axes:
        dims = {"batch": torch.export.Dim("batch"), "seq": torch.export.Dim("seq", max=512)}
        axes = [model.dynamic_axes[name] for name in model.inputs]
        # Of heights and widths, the exporter finds out which multiples they have to be.
        free = torch.export.Dim.AUTO
        shapes = (tuple({axis: dims.get(dim, free) for axis, dim in a.items()} for a in axes),)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model.module,
            tuple(model.inputs.values()),
            str(path),
            input_names=list(model.inputs),
            output_names=list(model.outputs),
            dynamic_shapes=shapes,
            external_data=False,
            dynamo=True,
            verbose=False,
        )


@contextmanager
def _replaced_when_done(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside `path` that replaces it once the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".partial-") as folder:
        partial = Path(folder) / path.name
        yield partial
        os.replace(partial, path)


def describe(path: Path) -> str:
    """Size, opset, and the spread of each output under ONNX Runtime, as a sanity check."""
    import onnx
    import onnxruntime

    model = onnx.load(path, load_external_data=False)
    opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    del model
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    results = session.run(None, example_inputs(path))
    spread = ", ".join(
        f"{output.name}{list(result.shape)} std {_std(result):.3g}"
        for output, result in zip(session.get_outputs(), results, strict=True)
    )
    return f"{path.name}: {path.stat().st_size / 2**20:.1f} MiB, opset {opset}; {spread}"


def _std(result: np.ndarray) -> float:
    return float(np.std(result.astype(np.float64)))


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Export the benchmark models to ONNX.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="models, as listed by --list")
    parser.add_argument("--list", action="store_true", help="print the names and leave")
    parser.add_argument("--exporter", choices=EXPORTERS, default="torchscript")
    parser.add_argument("--precision", choices=PRECISIONS, default="f32")
    parser.add_argument("-o", "--output", type=Path, default=DEFAULT_FOLDER, metavar="FOLDER")
    parser.add_argument("--force", action="store_true", help="export again where a file exists")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(names()))
        return
    if not options.names:
        parser.error("name at least one model, or use --list")
    unknown = sorted(set(options.names) - set(names()))
    if unknown:
        parser.error(f"no model {', '.join(unknown)}; there are: {', '.join(names())}")
    for name in options.names:
        path = options.output / file_name(name, options.exporter, options.precision)
        if options.force or not path.exists():
            make(name, options.exporter, options.precision, path)
        print(describe(path), flush=True)


if __name__ == "__main__":
    main()

"""gc-quantize: quantise an ONNX model to 8 bits, with its accuracy layer by layer."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import OutputError
from ..runtime.files.output_file import write_atomically
from .cli import OK, exit_with, run_tool
from .explain_error import add_explain_option
from .progress import ProgressBar
from .value_files import read_value

ERROR_SEVERITY = 3
"""Severity below which ONNX Runtime's messages are not shown."""
EPILOG = """\
examples:
  gc-quantize model.onnx --data calib/ -o model.int8.onnx
  gc-quantize model.onnx --data calib/ --max-drop 0.02 --html report.html
  gc-quantize classifier.onnx --data photos/ --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225 \\
    --metric argmax --labels labels.npy --max-drop 0.005
  gc-quantize model.onnx --dynamic
The data is a folder: .npz files with an array for each input, or for a model of one input .npy
files or pictures. docs/quantization.md says what the numbers mean.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    return run_tool(lambda: _run(_parser().parse_args(argv)))


def _run(flags: argparse.Namespace) -> int:
    output = flags.output or Path(f"{Path(flags.model).stem}.int8.onnx")
    for path in (output, flags.html):
        _require_writable(path, flags.model)
    with ProgressBar() as bar:
        result = _quantize(flags, bar)
        page = result.html() if flags.html is not None else ""
    result.save(output)
    if flags.html is not None:
        write_atomically(flags.html, memoryview(page.encode()))
    print(result.table(flags.rows or None))
    print(f"wrote {output}")
    return OK


def _require_writable(path: Path | None, model: str) -> None:
    """Raise OutputError before the work, not after it."""
    if path is None:
        return
    if path.is_dir():
        raise OutputError(f"cannot write {path}: it is a folder")
    if not path.resolve().parent.is_dir():
        raise OutputError(f"cannot write {path}: there is no folder {path.resolve().parent}")
    if path.resolve() == Path(model).resolve():
        raise OutputError(f"{path} is the model itself: name another file with -o")


def _quantize(flags: argparse.Namespace, bar: ProgressBar) -> Any:
    from ..quantization import quantize
    from ..quantization.post_training import require_library

    require_library()
    import onnxruntime

    onnxruntime.set_default_logger_severity(ERROR_SEVERITY)

    labels = None if flags.labels is None else read_value(flags.labels)
    settings = {
        name: getattr(flags, name)
        for name in ("method", "percentile", "activation_type", "weight_type", "symmetric",
                     "reduce_range", "per_channel", "exclude")
    }  # fmt: skip
    if flags.op_types is not None:
        settings["op_types"] = () if flags.op_types == "all" else flags.op_types.split(",")
    pictures = {"mean": flags.mean, "std": flags.std, "bgr": flags.bgr, "size": flags.picture_size}
    if flags.scale is not None:
        pictures["scale"] = flags.scale
    return quantize(
        flags.model, flags.data, max_drop=flags.max_drop, metric=flags.metric, labels=labels,
        sensitivity=flags.sensitivity, dynamic=flags.dynamic, limit=flags.limit,
        pictures=pictures, progress=bar.show, **settings,
    )  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-quantize",
        description="Quantise an f32 model to a portable QDQ model of 8 bits, and measure its "
        "accuracy layer by layer.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_explain_option(parser)
    parser.add_argument("model", help="an .onnx model in f32")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="the model to write (MODEL.int8.onnx)"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write all of it as a page")
    parser.add_argument(
        "--rows", type=int, default=20, metavar="N", help="worst nodes to show; 0: all (20)"
    )
    _add_data_options(parser.add_argument_group("data"))
    _add_accuracy_options(parser.add_argument_group("accuracy"))
    _add_settings(parser.add_argument_group("quantisation"))
    return parser


def _add_data_options(group: Any) -> None:
    group.add_argument("--data", type=Path, metavar="FOLDER", help="calibration data, see below")
    group.add_argument("--limit", type=_positive, metavar="N", help="use at most N feeds")
    group.add_argument(
        "--mean", type=_numbers, default=(0.0,), metavar="R,G,B",
        help="of pictures: (scale * pixel - mean) / std (0)",
    )  # fmt: skip
    group.add_argument("--std", type=_numbers, default=(1.0,), metavar="R,G,B", help="(1)")
    group.add_argument("--scale", type=float, help="of pixels from 0 to 255 (1/255)")
    group.add_argument("--bgr", action="store_true", help="pictures have blue first")
    group.add_argument(
        "--picture-size", type=_size, metavar="HxW", help="for inputs that leave it open"
    )


def _add_accuracy_options(group: Any) -> None:
    group.add_argument(
        "--max-drop", type=float, metavar="LOSS",
        help="keep the fewest nodes in f32 with which the loss is at most this",
    )  # fmt: skip
    group.add_argument(
        "--metric", choices=("error", "argmax"), default="error",
        help="the loss: relative RMS error of the outputs, or the share of answers that are lost",
    )  # fmt: skip
    group.add_argument(
        "--labels", type=Path, metavar="FILE.npy", help="the right answers, for --metric argmax"
    )
    group.add_argument(
        "--sensitivity", action="store_true", help="measure the error that each node causes alone"
    )


def _add_settings(group: Any) -> None:
    group.add_argument(
        "--dynamic", action="store_true", help="compute ranges in each call; needs no data"
    )
    group.add_argument(
        "--method", choices=("minmax", "percentile", "entropy"), default="minmax",
        help="how ranges follow from the data (minmax)",
    )  # fmt: skip
    group.add_argument(
        "--percentile", type=float, default=99.999, help="for --method percentile (99.999)"
    )
    group.add_argument(
        "--activation-type", choices=("uint8", "int8", "uint16", "int16"), default="uint8"
    )
    group.add_argument("--weight-type", choices=("int8", "uint8"), default="int8")
    group.add_argument(
        "--symmetric", action="store_true", help="ranges of activations with 0 in the middle"
    )
    group.add_argument(
        "--reduce-range", action="store_true", help="weights of 7 bits, for x86 without VNNI"
    )
    group.add_argument(
        "--per-channel", action=argparse.BooleanOptionalAction, default=True,
        help="a scale for each output channel of the weights",
    )  # fmt: skip
    group.add_argument(
        "--exclude", action="append", default=[], metavar="NODE",
        help="a node that stays in f32, or a pattern: '/head/*'",
    )  # fmt: skip
    group.add_argument(
        "--op-types", metavar="TYPE,...", help="types of nodes to quantise; all: what can be"
    )


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no positive number")
    return int(text)


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not R,G,B or one number") from None


def _size(text: str) -> tuple[int, int]:
    rows, _, columns = text.partition("x")
    if not (rows.isdigit() and columns.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is not HxW, as 224x224")
    return int(rows), int(columns)


if __name__ == "__main__":
    exit_with(main)

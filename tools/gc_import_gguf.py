"""gc-import-gguf: a language model from a GGUF file, as a folder with ONNX."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from .cli import OK, exit_with, run_tool
from .explain_error import add_explain_option

EPILOG = """\
examples:
  gc-import-gguf smollm2.gguf -o smollm2
  gc-generate smollm2 --prompt "Once upon a time"
Weights stay packed as they are in the file. docs/generation.md lists architectures and types.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    return run_tool(lambda: _run(_parser().parse_args(argv)))


def _run(flags: argparse.Namespace) -> int:
    from ..generation.gguf import import_gguf

    folder = import_gguf(flags.file, flags.output, accuracy_level=flags.accuracy_level)
    size = sum(each.stat().st_size for each in folder.iterdir())
    print(f"{folder}: {size / 1e6:.1f} MB; gc-generate {folder} generates text")
    return OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-import-gguf",
        description="Import a GGUF file of the Llama family, with its tokenizer.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_explain_option(parser)
    parser.add_argument("file", type=Path, help="a .gguf file")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FOLDER", help="made if it is not there"
    )
    parser.add_argument(
        "--accuracy-level", type=int, choices=(0, 1, 4), default=0, metavar="LEVEL",
        help="of matmuls: 4 lets runtimes quantize activations to 8 bits, 0 and 1 ask for f32 (0)",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    exit_with(main)

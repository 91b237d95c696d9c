"""gc-bench: time a model in graphc and in other runtimes, in turns."""

from collections.abc import Sequence

from ..benchmarks.compare import main as compare
from .cli import exit_with, run_tool


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    return run_tool(lambda: compare(arguments))


if __name__ == "__main__":
    exit_with(main)

"""gc-generate: text from a language model, as it comes."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from .cli import OK, exit_with, print_note, run_tool
from .cli_options import add_compile_options, compile_arguments
from .explain_error import add_explain_option
from .progress import ProgressLine

if TYPE_CHECKING:
    from ..generation import LanguageModel
    from ..generation.statistics import GenerationStatistics

EPILOG = """\
examples:
  gc-generate smollm2 --prompt "Once upon a time" --max-new-tokens 100
  gc-generate smollm2 --chat
  gc-generate smollm2 --chat --prompt "Why is the sky blue?" --temperature 0.7 --seed 1 --stats
The most probable tokens are taken, unless one of --temperature, --top-k, --top-p, --min-p and
--seed asks for a draw. Ctrl-C ends an answer; in a conversation, Ctrl-D ends that.
"""

_SAMPLING = {
    "temperature": (float, "divisor of the logits"),
    "top_k": (int, "draw among the K most probable tokens (0: all)"),
    "top_p": (float, "draw among the most probable tokens with this share"),
    "min_p": (float, "draw among tokens at least P times as probable as the first"),
    "random_seed": (int, "seed of the draws"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    return run_tool(lambda: _run(_parser().parse_args(argv)))


def _run(flags: argparse.Namespace) -> int:
    from ..generation import load

    if flags.max_new_tokens is not None and flags.max_new_tokens < 1:
        raise UsageError("--max-new-tokens takes a positive number")
    if flags.chat and (flags.regex or flags.json_schema):
        raise UsageError("--regex and --json-schema are for single texts, not for --chat")
    arguments = compile_arguments(flags)
    progress = ProgressLine()
    with load(flags.folder, progress=progress.show, **arguments) as model:
        if flags.predict_memory is not None:
            with progress:
                prediction = model.predict_memory(flags.predict_memory)
            print(f"{flags.predict_memory} tokens take {prediction}")
            return OK
        options = model.config.search.replace(_search_options(flags))
        run = _chat if flags.chat else _complete
        run(model, flags, options, progress)
    return OK


def _search_options(flags: argparse.Namespace) -> dict[str, Any]:
    given = {name: getattr(flags, name) for name in (*_SAMPLING, "repetition_penalty")}
    given = {name: value for name, value in given.items() if value is not None}
    return {**given, "do_sample": True} if given.keys() & _SAMPLING.keys() else given


def _complete(
    model: "LanguageModel", flags: argparse.Namespace, options: Any, progress: ProgressLine
) -> None:
    from ..generation import generate_text
    from ..generation.statistics import GenerationStatistics

    prompt = sys.stdin.read() if flags.prompt is None else flags.prompt
    statistics = GenerationStatistics()
    pieces = generate_text(
        model, prompt, options, stop=flags.stop, max_new_tokens=flags.max_new_tokens,
        constraint=_constraint(model, flags), statistics=statistics,
    )  # fmt: skip
    with progress:
        model.entry_points.prepare(1)
    _show(model, pieces, statistics, flags.stats)


def _constraint(model: "LanguageModel", flags: argparse.Namespace) -> Any:
    if flags.regex is None and flags.json_schema is None:
        return None
    from ..generation import GrammarConstraint

    schema = None if flags.json_schema is None else flags.json_schema.read_text(encoding="utf-8")
    return GrammarConstraint(model, regex=flags.regex, json_schema=schema)


def _chat(
    model: "LanguageModel", flags: argparse.Namespace, options: Any, progress: ProgressLine
) -> None:
    from ..generation import Conversation
    from ..generation.statistics import GenerationStatistics

    conversation = Conversation(model, options, system=flags.system)
    with progress:
        model.entry_points.prepare(1)
    for text in _questions(flags):
        statistics = GenerationStatistics()
        pieces = conversation.reply(
            text, stop=flags.stop, max_new_tokens=flags.max_new_tokens, statistics=statistics
        )
        try:
            _show(model, pieces, statistics, flags.stats)
        except KeyboardInterrupt:
            if flags.prompt is not None:
                raise
            print()


def _questions(flags: argparse.Namespace) -> Iterator[str]:
    """The given question, or those that are typed until the input ends."""
    if flags.prompt is not None:
        yield flags.prompt
        return
    shown = "> " if sys.stdin.isatty() else ""
    while True:
        try:
            text = input(shown)
        except EOFError:
            return
        if text.strip():
            yield text


def _show(
    model: "LanguageModel", pieces: Iterator[str], statistics: "GenerationStatistics", stats: bool
) -> None:
    """Print `pieces` as they come, and then the `statistics`, also of a text that is broken off."""
    try:
        for piece in pieces:
            print(piece, end="", flush=True)
        print(flush=True)
    except KeyboardInterrupt:
        print(flush=True)
        raise
    finally:
        if stats and statistics.arrivals:
            print_note(_summary(model, statistics))


def _summary(model: "LanguageModel", statistics: "GenerationStatistics") -> str:
    from ..generation.statistics import peak_resident_bytes, read_bandwidth
    from ..runtime.threads.usable_cpus import usable_cpus

    first, prefill = statistics.time_to_first_token, statistics.prefill_rate
    decode, peak = statistics.decode_rate, peak_resident_bytes()
    parts = [f"{len(statistics.arrivals)} tokens"]
    if first is not None and prefill is not None:
        count = statistics.prompt_tokens
        parts.append(f"first after {first:.2f} s (prompt of {count}: {prefill:.1f} tokens/s)")
    if decode is not None:
        threads = usable_cpus()
        share = decode * model.weight_bytes / read_bandwidth(threads)
        parts.append(f"then {decode:.1f} tokens/s")
        parts.append(f"{share:.0%} of the bandwidth at which {threads} threads read memory")
    if peak is not None:
        parts.append(f"peak memory {peak / 2**20:.0f} MiB")
    return ", ".join(parts)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-generate",
        description="Generate text with a language model.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_explain_option(parser)
    parser.add_argument("folder", type=Path, help="a folder with genai_config.json or config.json")
    parser.add_argument("--prompt", metavar="TEXT", help="the text to go on with (default: stdin)")
    parser.add_argument("--chat", action="store_true", help="a conversation; --prompt asks once")
    parser.add_argument("--system", metavar="TEXT", help="for --chat, how to behave")
    parser.add_argument("--max-new-tokens", type=int, metavar="N", help="end behind N tokens")
    parser.add_argument(
        "--stop", action="append", default=[], metavar="TEXT", help="end before TEXT"
    )
    parser.add_argument("--regex", metavar="PATTERN", help="only texts that match (llguidance)")
    parser.add_argument(
        "--json-schema", type=Path, metavar="FILE", help="only JSON that fits (llguidance)"
    )
    parser.add_argument(
        "--stats", action="store_true", help="times, tokens/s and memory at the end"
    )
    parser.add_argument(
        "--predict-memory", type=int, metavar="N", help="say what N tokens take, and end"
    )
    _add_sampling(parser)
    add_compile_options(parser)
    parser.set_defaults(precision="strict")
    return parser


def _add_sampling(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("choice of the next token")
    for name, (kind, doc) in _SAMPLING.items():
        flag = "--seed" if name == "random_seed" else f"--{name.replace('_', '-')}"
        group.add_argument(flag, dest=name, type=kind, metavar=flag[2:].upper()[-4:], help=doc)
    group.add_argument(
        "--repetition-penalty", type=float, metavar="F", help="weaken tokens that occurred"
    )


if __name__ == "__main__":
    exit_with(main)

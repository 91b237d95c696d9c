"""Command-line options shared by the tools that compile."""

import argparse
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from ..compiler.options import Effect, Group, Option, Options, option_of
from ..errors import InvalidDimError, UsageError


def add_graph_options(parser: argparse.ArgumentParser) -> Any:
    """Add the options of the graph passes; return their group."""
    group = parser.add_argument_group("compilation")
    _add_flags(group, Group.GRAPH)
    group.add_argument(
        "--load-plugin",
        metavar="PLUGIN",
        action="append",
        default=[],
        help="a Python file or module that registers passes",
    )
    return group


def add_compile_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `compile_arguments` reads."""
    _add_flags(add_graph_options(parser), Group.COMPILE)


def _add_flags(parser: Any, group: Group) -> None:
    """Add the flags of the options in `group`, as declared by their fields."""
    for name, option, default in _options(group):
        for flag in option.flags:
            settings = {"default": default, **flag.settings, "help": flag.doc or option.doc}
            parser.add_argument(flag.name, dest=name, **settings)


def _options(*groups: Group) -> Iterator[tuple[str, Option, Any]]:
    """The names, descriptions and defaults of the options in `groups`."""
    for field in dataclasses.fields(Options):
        option = option_of(field)
        if option.group in groups:
            many = any(flag.settings.get("action") == "append" for flag in option.flags)
            yield field.name, option, [] if many else field.default


def add_comparison_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the comparison of results, and for a predicate instead of it."""
    add_reference_options(parser)
    parser.add_argument(
        "--predicate",
        metavar="COMMAND",
        help="a shell command that exits with 0 where the file {} shows what is wrong",
    )
    parser.add_argument(
        "--predicate-timeout",
        type=float,
        metavar="SECONDS",
        help="what takes longer does not show it",
    )


def add_reference_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the reference and the tolerance of a comparison."""
    parser.add_argument(
        "--reference",
        choices=("onnxruntime", "onnx", "nodes"),
        help="ONNX Runtime without its optimisations, ONNX's evaluator, or node by node the first "
        "of these that can (default: the first that is installed)",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        help="allowed difference, relative to the largest magnitude (1e-4 for float32, ...)",
    )


def add_tuning_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `tuning_arguments` reads."""
    group = parser.add_argument_group("tuning")
    group.add_argument(
        "--tune",
        type=_budget,
        default=False,
        metavar="BUDGET",
        help="search for the fastest pipeline: quick, full, or a number of seconds",
    )
    group.add_argument(
        "--db",
        metavar="FILE",
        help="take the pipeline from a tuning database, and keep there what --tune finds",
    )


def _budget(text: str) -> str | float:
    """A number of seconds, or a name of one; `graphc.compile` checks both."""
    try:
        return float(text)
    except ValueError:
        return text


def tuning_arguments(flags: argparse.Namespace) -> dict[str, Any]:
    """Keyword arguments of `graphc.compile` from the options for tuning."""
    return {"tune": flags.tune, "tuning_database": flags.db}


def compile_arguments(flags: argparse.Namespace) -> dict[str, Any]:
    """Keyword arguments of `graphc.compile` from parsed options; plugins are loaded."""
    return _arguments(flags, Group.GRAPH, Group.COMPILE)


def graph_arguments(flags: argparse.Namespace) -> dict[str, Any]:
    """Keyword arguments of `graphc.explain` from parsed options; plugins are loaded."""
    return _arguments(flags, Group.GRAPH)


def _arguments(flags: argparse.Namespace, *groups: Group) -> dict[str, Any]:
    load_plugins(flags)
    given = {name: getattr(flags, name) for name, _, _ in _options(*groups)}
    targets = (flags.target or "cpu").split(",")
    return {**given, "target": targets, "dims": parse_dims(flags.dims)}


def take_target(arguments: dict[str, Any], done: str) -> str:
    """Remove the single target from `arguments` and return it.

    Raises UsageError if there are several; `done` is the participle for the message.
    """
    target, *others = arguments.pop("target")
    if others:
        raise UsageError(f"one target is {done} at a time")
    return target


def repeated_flags(flags: argparse.Namespace) -> list[str]:
    """The flags that determine the result, except for sizes, for use in another command."""
    texts: list[str] = []
    for name, option, default in _options(Group.GRAPH, Group.COMPILE):
        value = getattr(flags, name)
        (flag, *_) = option.flags
        default = flag.settings.get("default", default)
        if option.effect is not Effect.RESULT or name == "dims" or value == default:
            continue
        if isinstance(value, bool):
            texts.append(flag.name if value else f"--no-{flag.name.removeprefix('--')}")
            continue
        texts += [f"{flag.name}={each}" for each in (value if isinstance(value, list) else [value])]
    return texts


def load_plugins(flags: argparse.Namespace) -> None:
    """Load the plugins of ``--load-plugin``."""
    if flags.load_plugin:
        from ..passes.infra.registry import load_plugin

        for plugin in flags.load_plugin:
            load_plugin(plugin)


def parse_dims(texts: Sequence[str], flag: str = "--dim") -> dict[str, int]:
    """Parse ``["batch=4"]``, the values of `flag`, to ``{"batch": 4}``. Raises InvalidDimError."""
    dims: dict[str, int] = {}
    for text in texts:
        name, _, number = text.partition("=")
        try:
            size = int(number)
        except ValueError:
            size = -1
        if not name or size < 0:
            raise InvalidDimError(f"{flag} {text}: write NAME=SIZE with a whole number from 0 on")
        if dims.setdefault(name, size) != size:
            raise InvalidDimError(f"{flag} {text}: {name} is given as {dims[name]}, too")
    return dims

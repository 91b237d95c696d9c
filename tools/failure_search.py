"""Shared parts of gc-bisect and gc-reduce: arguments of the search, inputs, predicate, log."""

import argparse
from typing import Any

from .cli import print_note
from .cli_options import compile_arguments, take_target
from .feeds import feeds_for


def search_arguments(flags: argparse.Namespace) -> dict[str, Any]:
    """The arguments that `debugging.bisect` and `debugging.reduce` share; plugins are loaded."""
    arguments = compile_arguments(flags)
    target = take_target(arguments, "searched")
    return {
        "model": flags.model,
        "feeds": lambda model: feeds_for(model, flags),
        "target": target,
        "reference": flags.reference,
        "tolerance": flags.tolerance,
        "log": log_of(flags),
        **arguments,
    }


def command_of(flags: argparse.Namespace) -> Any:
    """The check for ``--predicate``, or None."""
    from ..debugging.checks import Command

    return None if flags.predicate is None else Command(flags.predicate, flags.predicate_timeout)


def log_of(flags: argparse.Namespace) -> Any:
    """The function that logs the steps of a search."""
    return (lambda line: None) if flags.quiet else print_note

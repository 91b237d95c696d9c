"""What gc-bisect and gc-reduce have in common: what is searched for, with which inputs."""

import argparse
from typing import Any

from ..errors import UsageError
from .cli import print_note
from .feeds import feeds_for
from .options import compile_arguments


def search_arguments(flags: argparse.Namespace) -> dict[str, Any]:
    """The arguments that `debugging.bisect` and `debugging.reduce` share; plugins are loaded."""
    arguments = compile_arguments(flags)
    del arguments["host"]
    target, *others = arguments.pop("target")
    if others:
        raise UsageError("one target is searched at a time")
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
    """The check that ``--predicate`` asks for, if it does."""
    from ..debugging.checks import Command

    return None if flags.predicate is None else Command(flags.predicate, flags.predicate_timeout)


def log_of(flags: argparse.Namespace) -> Any:
    """Where the steps of a search are told."""
    return (lambda line: None) if flags.quiet else print_note

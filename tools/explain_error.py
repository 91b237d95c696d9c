"""Explanations of errors: ``--explain CODE`` of every tool, and the page ``docs/errors.md``."""

import argparse
import inspect
from typing import Any

from .. import errors


def kinds() -> dict[str, type[errors.GraphcError]]:
    """The error classes by code, in the order of `errors`."""
    found = [each for each in vars(errors).values() if inspect.isclass(each)]
    return {each.code: each for each in found if issubclass(each, errors.GraphcError)}


def explanation(code: str) -> str:
    """The meaning and the remedy of an error with `code`. Raises UsageError for unknown codes."""
    from ..passes.infra.options import suggestion

    known = kinds()
    if code not in known:
        hint = suggestion(code, list(known))
        raise errors.UsageError(f"no error has the code '{code}'{hint}; {', '.join(known)}")
    kind = known[code]
    return f"{code} ({kind.__name__})\n\n{meaning(kind)}\n\n{kind.remedy}"


def meaning(kind: type[errors.GraphcError]) -> str:
    """The meaning of `kind`: the first paragraph of its docstring."""
    return (inspect.getdoc(kind) or "").split("\n\n")[0]


def add_explain_option(parser: argparse.ArgumentParser, result: str = "") -> None:
    """Add ``--explain CODE``, which explains an error and exits.

    A tool that explains its `result`, too, does so for ``--explain`` without a code.
    """
    text = "say what an error with this code means, and what helps, and stop"
    parser.add_argument(
        "--explain",
        action=_Explain,
        metavar="CODE",
        nargs="?" if result else None,
        default=False,
        help=f"explain {result}; with a code, {text}" if result else text,
    )


class _Explain(argparse.Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        if values is None:
            namespace.explain = True
            return
        try:
            print(explanation(values))
        except errors.UsageError as error:
            hint = "; --explain without a code goes to the end" if self.nargs == "?" else ""
            parser.error(f"{error}{hint}")
        parser.exit()


def errors_page() -> str:
    """The contents of ``docs/errors.md``."""
    lines = [
        "# Errors",
        "",
        "<!-- Written by `make docs` from errors.py; edits here are lost. -->",
        "",
        "Every error message of the tools ends with a code; `--explain CODE` of any tool prints "
        "the entry below. In Python the code is `error.code`.",
    ]
    for code, kind in kinds().items():
        base = kind.__mro__[1].__name__
        lines += ["", f"## {code}", "", f"`{kind.__name__}` (base: `{base}`). {meaning(kind)}"]
        lines += ["", kind.remedy]
    return "\n".join(lines) + "\n"

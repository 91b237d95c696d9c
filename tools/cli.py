"""Shared parts of the command-line tools: exit codes and the format of errors."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from ..aliases import OldNameWarning
from ..errors import GraphcError, UsageError

OK, FAILED, USAGE = 0, 1, 2
INTERRUPTED = 128 + 2
BROKEN_PIPE = 128 + 13


def run_tool(body: Callable[[], int]) -> int:
    """Run a tool's `body` and return its exit code, with errors printed as ``error: ...``
    and uses of deprecated names as ``warning: ...``.

    Exit codes: 0: success; 1: an error in the input; 2: an error in the command line; 130: Ctrl-C.
    An exception that graphc did not raise deliberately is a bug and keeps its traceback.
    """
    try:
        with _old_names_shown():
            code = body()
        sys.stdout.flush()
    except UsageError as error:
        print_error(str(error), error.code)
        return USAGE
    except (GraphcError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            return _quiet_broken_pipe()
        print_error(_text(error), error.code if isinstance(error, GraphcError) else "")
        return FAILED
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return code


def print_error(message: str, code: str = "") -> None:
    """Print ``error: message`` with `code` to standard error; further lines are indented."""
    first, *rest = message.splitlines() or [""]
    if code and rest:
        rest.append(f"(--explain {code})")
    elif code:
        first += f" (--explain {code})"
    print(f"error: {first}", *(f"  {line}" for line in rest), sep="\n", file=sys.stderr)


def print_note(message: str) -> None:
    """Print ``note: message`` to standard error."""
    print(f"note: {message}", file=sys.stderr)


def print_warning(message: str) -> None:
    """Print ``warning: message`` to standard error."""
    print(f"warning: {message}", file=sys.stderr)


@contextmanager
def _old_names_shown() -> Iterator[None]:
    """Print an `OldNameWarning` as one line, unless ``-W`` or PYTHONWARNINGS says otherwise."""

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if issubclass(category, OldNameWarning):
            print_warning(str(message))
        else:
            others(message, category, *where)

    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("always", OldNameWarning)
        others, warnings.showwarning = warnings.showwarning, show
        yield


def exit_with(main: Callable[[Sequence[str] | None], int]) -> NoReturn:
    """End the process with the exit code of `main`."""
    sys.exit(main(None))


def _text(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def _quiet_broken_pipe() -> int:
    """Handle a closed output pipe: prevent an error when the interpreter flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE

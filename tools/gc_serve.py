"""gc-serve: a language model behind OpenAI's API."""

import argparse
import importlib.util
import ipaddress
import math
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MissingPackageError, UsageError
from .cli import OK, exit_with, print_note, print_warning, run_tool
from .cli_options import add_compile_options, compile_arguments
from .explain_error import add_explain_option
from .progress import ProgressLine

if TYPE_CHECKING:
    from ..generation import LanguageModel

EPILOG = """\
examples:
  gc-serve smollm2
  gc-serve smollm2 --slots 8 --context-length 2048 --port 8080
  GRAPHC_API_KEY=secret gc-serve smollm2 --host 0.0.0.0
Clients of OpenAI's API take the address that is shown as their base URL. Ctrl-C ends the server,
and the answers that it gives.
"""
KEY_VARIABLE = "GRAPHC_API_KEY"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (the process's arguments by default); returns the exit code."""
    return run_tool(lambda: _run(_parser().parse_args(argv)))


def _run(flags: argparse.Namespace) -> int:
    _require_positive(flags, "slots", "context_length", "request_timeout", "max_body_bytes")
    if flags.queue < 0:
        raise UsageError("--queue takes a number from 0 on")
    if not 0 <= flags.port < 1 << 16:
        raise UsageError("--port takes a number from 0 to 65535")
    _require_packages()
    from ..generation import load
    from ..serving.http.server import open_socket

    arguments = compile_arguments(flags)
    progress = ProgressLine()
    with (
        open_socket(flags.address, flags.port) as listener,
        load(
            flags.folder, progress=progress.show, prefill_chunk=flags.prefill_chunk, **arguments
        ) as model,
    ):
        _ = model.tokenizer  # a folder without one is an error now
        with progress:
            model.entry_points.prepare(flags.slots)
        _serve(model, listener, flags)
    return OK


def _serve(model: "LanguageModel", listener: socket.socket, flags: argparse.Namespace) -> None:
    from ..serving.engine import Engine
    from ..serving.http.application import make_application
    from ..serving.http.server import ModelServer
    from ..serving.http.settings import ServerSettings
    from ..serving.scheduler import Scheduler

    host, port = listener.getsockname()[:2]
    is_local = ipaddress.ip_address(host).is_loopback
    scheduler = Scheduler(model, flags.slots, flags.queue, context_length=flags.context_length)
    engine = Engine(scheduler)
    settings = ServerSettings(
        model_name=flags.model_name or flags.folder.resolve().name,
        api_key=flags.api_key or os.environ.get(KEY_VARIABLE) or None,
        timeout=math.inf if flags.request_timeout is None else flags.request_timeout,
        body_limit=flags.max_body_bytes,
        is_local=is_local,
    )
    if settings.api_key is None and not is_local:
        print_warning(f"everyone who reaches {host} can use the server: set --api-key")
    shown = f"[{host}]" if ":" in host else host
    memory = model.predict_memory(scheduler.context_length, flags.slots)
    print_note(
        f"{settings.model_name} at http://{shown}:{port}/v1: {flags.slots} slots of "
        f"{scheduler.context_length} tokens, which take {memory} if all are full"
    )
    ModelServer(make_application(model, engine, settings), engine).serve_on(listener)


def _require_packages() -> None:
    for name in ("fastapi", "uvicorn"):
        if importlib.util.find_spec(name) is None:
            raise MissingPackageError("a server", name, "serve")


def _require_positive(flags: argparse.Namespace, *names: str) -> None:
    for name in names:
        value = getattr(flags, name)
        if value is not None and not value > 0:
            raise UsageError(f"--{name.replace('_', '-')} takes a positive number")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gc-serve",
        description="Serve a language model by OpenAI's API.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_explain_option(parser)
    parser.add_argument("folder", type=Path, help="a folder with genai_config.json or config.json")
    _add_address(parser.add_argument_group("address"))
    _add_limits(parser.add_argument_group("limits"))
    add_compile_options(parser)
    parser.set_defaults(precision="strict")
    return parser


def _add_address(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--host", dest="address", default="127.0.0.1", help="(default: %(default)s, this machine)"
    )
    group.add_argument("--port", type=int, default=8000, help="0: a free one (default: 8000)")
    group.add_argument(
        "--api-key", metavar="KEY", help=f"the key that clients send (or ${KEY_VARIABLE})"
    )
    group.add_argument("--model-name", metavar="NAME", help="(default: the name of the folder)")


def _add_limits(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--slots", type=int, default=4, metavar="N", help="texts generated together (default: 4)"
    )
    group.add_argument(
        "--queue", type=int, default=64, metavar="N", help="requests that wait (default: 64)"
    )
    group.add_argument(
        "--context-length", type=int, metavar="N", help="tokens of a prompt with its answer"
    )
    group.add_argument(
        "--prefill-chunk", type=int, default=64, metavar="N",
        help="tokens of a prompt that one step computes (default: 64)",
    )  # fmt: skip
    group.add_argument(
        "--request-timeout", type=float, metavar="SECONDS", help="end longer requests"
    )
    group.add_argument(
        "--max-body-bytes", type=int, default=4 << 20, metavar="N",
        help="longest body of a request (default: 4 MiB)",
    )  # fmt: skip


if __name__ == "__main__":
    exit_with(main)

"""Preflight check of a model. Separate from `driver`, which imports the whole compiler."""

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from ..frontend.onnx import Preflight, check_nodes
from ..runtime.host.engine_choice import read_engine


def check(
    model: "str | os.PathLike[str] | bytes | Any",
    *,
    dims: Mapping[str, int] | None = None,
    one_program: bool = False,
    host: str | bool = True,
) -> Preflight:
    """Determine for every node of an ONNX model, without compiling, whether it can be compiled,
    would run on the host, or cannot run, and why.

    `graphc.compile` makes further programs for calls with other ranks; with `one_program`, as in a
    file written by gc-compile, nodes whose ranks depend on sizes run on the host. `host` is the
    engine of nodes on the host, as in `graphc.compile`: ONNX Runtime has operators of its own.
    """
    why_not = partial(_why_not, engine=read_engine(host))
    return check_nodes(model, dims=dims, why_not=why_not, one_program=one_program)


def _why_not(contents: bytes, engine: str) -> str | None:
    from ..runtime.host.part import why_not  # loads `onnx`

    return why_not(contents, engine)

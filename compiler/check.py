"""What would become of a model. Apart from `driver`, which loads all that it takes to compile."""

import os
from collections.abc import Mapping
from typing import Any

from ..frontend.onnx import Preflight, check_nodes


def check(
    model: "str | os.PathLike[str] | bytes | Any",
    *,
    dims: Mapping[str, int] | None = None,
    one_program: bool = False,
) -> Preflight:
    """Say for every node of an ONNX model whether it would be compiled, run on the host, or
    cannot run, and why; without compiling anything.

    `graphc.compile` has further programs for calls in which ranks are others; with `one_program`,
    as in a file that gc-compile writes, nodes whose ranks depend on sizes run on the host.
    """
    return check_nodes(model, dims=dims, why_not=_why_not, one_program=one_program)


def _why_not(contents: bytes) -> str | None:
    from ..runtime.host.part import why_not  # loads `onnx.reference`: few models have such nodes

    return why_not(contents)

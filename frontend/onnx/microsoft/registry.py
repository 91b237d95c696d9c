"""Registration in the domain ``com.microsoft``, and the attributes its operators share."""

from collections.abc import Callable
from typing import Any

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import UnsupportedError, onnx_op

DOMAIN = "com.microsoft"


def microsoft_op(op_type: str) -> Callable[..., Any]:
    """Register the decorated function as the converter of ``com.microsoft.op_type``."""
    return onnx_op(op_type, domain=DOMAIN)


def activated(x: ir.Value, name: str | None, alpha: float | None, beta: float | None) -> ir.Value:
    """The activation `name` of `x`; parameters that are None have ONNX's defaults."""
    match (name or "").lower():
        case "":
            return x
        case "relu":
            return graph.relu(x)
        case "tanh":
            return graph.tanh(x)
        case "sigmoid":
            return graph.sigmoid(x)
        case "softplus":
            return graph.softplus(x)
        case "softsign":
            return graph.softsign(x)
        case "gelu":
            return graph.gelu(x, approximate="none")
        case "leakyrelu":
            return graph.leaky_relu(x, alpha=0.01 if alpha is None else alpha)
        case "elu":
            return graph.elu(x, alpha=1.0 if alpha is None else alpha)
        case "thresholdedrelu":
            return graph.thresholded_relu(x, alpha=1.0 if alpha is None else alpha)
        case "hardsigmoid":
            alpha = 0.2 if alpha is None else alpha
            return graph.hard_sigmoid(x, alpha=alpha, beta=0.5 if beta is None else beta)
        case "clip":
            low = x if alpha is None else graph.max_(x, graph.splat_like(alpha, x))
            return low if beta is None else graph.min_(low, graph.splat_like(beta, low))
    raise UnsupportedError(f"activation '{name}'")

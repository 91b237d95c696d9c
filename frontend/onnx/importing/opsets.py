"""The operator set versions that a model imports, by domain."""

from collections.abc import Iterable

import onnx

from ....errors import InvalidModelError

MAX_OPSET = 28
"""The newest ai.onnx opset whose meaning the converters were written against."""

ASSUMED = {"ai.onnx.ml": 5, "com.microsoft": 1}
"""Versions of domains that models may leave out of their imports, as ONNX Runtime takes them. Its
optimizer for transformers makes such models."""

_STANDARD = ("", "ai.onnx")
_MAX_VERSION = 1 << 30


def domain_of(domain: str) -> str:
    return "" if domain in _STANDARD else domain


def read_opsets(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """The versions of the domains in `imports`, and those that need not be there."""
    opsets = {domain_of(entry.domain): entry.version for entry in imports}
    for domain, version in opsets.items():
        if not 0 <= version < _MAX_VERSION:
            raise InvalidModelError(
                f"{version} is no version of the domain '{domain or 'ai.onnx'}'"
            )
    version = opsets.get("", 1)
    if version > MAX_OPSET:
        raise InvalidModelError(
            f"the model uses opset {version} of ai.onnx; this version knows up to {MAX_OPSET}"
        )
    return opsets | {domain: known for domain, known in ASSUMED.items() if domain not in opsets}

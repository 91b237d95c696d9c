"""The modules that files were exported from, for the runtimes that take no ONNX."""

from pathlib import Path
from typing import Any

from .peers import PeerError, Terms


def architecture_of(path: Path, runtime: str) -> Any:
    """The `Architecture` that the model at `path` was exported from, after whose name it is called.

    PeerError where there is none.
    """
    from .architectures import ARCHITECTURES

    if path.stem not in ARCHITECTURES:
        message = f"'{path.stem}' is none of the modules of benchmarks.architectures"
        raise PeerError(f"{runtime}: {message}")
    return ARCHITECTURES[path.stem]()


def torch_dtype(terms: Terms) -> Any:
    """What torch calls the floats that are computed in."""
    import torch

    return {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[terms.precision]

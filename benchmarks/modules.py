"""The modules that files were exported from, for runtimes without ONNX support."""

from pathlib import Path
from typing import Any

from .peers import PeerError, Terms


def architecture_of(path: Path, runtime: str) -> Any:
    """The `Architecture` that the model at `path` was exported from, found by the file name.

    Raises PeerError if there is none.
    """
    from .architectures import ARCHITECTURES

    if path.stem not in ARCHITECTURES:
        message = f"'{path.stem}' is none of the modules of benchmarks.architectures"
        raise PeerError(f"{runtime}: {message}")
    return ARCHITECTURES[path.stem]()


def torch_dtype(terms: Terms) -> Any:
    """torch's dtype of the precision."""
    import torch

    return {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[terms.precision]

"""Import of GGUF files, the format of llama.cpp."""

from .folder import import_gguf

__all__ = ["import_gguf"]

"""The lowering of the `graph` dialect to linalg: one file of rules for each family of ops."""

from .convert import ConvertGraphToLinalg

__all__ = ["ConvertGraphToLinalg"]

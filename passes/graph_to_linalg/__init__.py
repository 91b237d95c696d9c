"""The lowering of the `graph` dialect to linalg: one file of rules for each family of ops."""

from .convert import ConvertGraphToLinalg, lower_function

__all__ = ["ConvertGraphToLinalg", "lower_function"]

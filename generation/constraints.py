"""Grammars for generated text, by the package ``llguidance``."""

from typing import Any

import numpy as np

from ..errors import ExecutionError, UsageError
from .language_model import LanguageModel


class GrammarConstraint:
    """The tokens of texts that a grammar allows: a `TokenConstraint` for one sequence.

    Give one of `regex`, `json_schema` (a text or a dict) or `grammar` (llguidance's variant of
    Lark). Raises `UsageError` for one that is not valid, and `MissingPackageError` without
    ``llguidance``.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        regex: str | None = None,
        json_schema: Any = None,
        grammar: str | None = None,
    ):
        tokenizer = model.grammar_tokenizer
        import llguidance.numpy  # pyright: ignore[reportMissingImports]

        given = {"regex": regex, "json_schema": json_schema, "lark": grammar}
        chosen = {name: value for name, value in given.items() if value is not None}
        if len(chosen) != 1:
            raise UsageError("a constraint takes one of regex, json_schema and grammar")
        ((kind, source),) = chosen.items()
        make = getattr(llguidance.LLMatcher, f"grammar_from_{kind}")
        try:
            compiled = make(source)
        except ValueError as error:
            raise UsageError(f"{kind}: {error}") from error
        self._functions = llguidance.numpy
        self._vocab = model.config.vocab_size
        self._bits = llguidance.numpy.allocate_token_bitmask(1, self._vocab)
        self._matcher = llguidance.LLMatcher(tokenizer, compiled)
        if self._matcher.is_error():
            raise UsageError(f"{kind}: {self._matcher.get_error()}")

    def allowed(self) -> np.ndarray:
        """The tokens that may come next, bool ``[vocab]``."""
        self._functions.fill_next_token_bitmask(self._matcher, self._bits, 0)
        self._require_working()
        bits = np.unpackbits(self._bits[0].view(np.uint8), bitorder="little")
        return bits[: self._vocab].astype(bool)

    def accept(self, token: int) -> None:
        """Go on behind `token`."""
        self._matcher.consume_token(token)
        self._require_working()

    def rewind(self, count: int) -> None:
        """Take back the last `count` tokens."""
        self._matcher.rollback(count)
        self._require_working()

    @property
    def is_complete(self) -> bool:
        """True if nothing may come any more."""
        return self._matcher.is_stopped()

    def _require_working(self) -> None:
        if self._matcher.is_error():
            raise ExecutionError(f"the constraint failed: {self._matcher.get_error()}")

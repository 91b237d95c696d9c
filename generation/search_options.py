"""Options of the search for the next token, under the names of ``genai_config.json``."""

import dataclasses
import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError

_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "num_beams": (1,),
    "num_return_sequences": (1,),
    "diversity_penalty": (0.0,),
    "no_repeat_ngram_size": (0,),
    "length_penalty": (1.0,),
    "early_stopping": (True, False),
    "past_present_share_buffer": (True, False),
    "batch_size": (1,),
    "chunk_size": (None, 0),
}
"""Fields of onnxruntime-genai that graphc has nothing for, with the values that ask for nothing.
The penalty of length and early stopping are about beams."""


@dataclass(frozen=True)
class SearchOptions:
    """How the next token is chosen, and when a sequence ends.

    Without `do_sample` it is the most probable token. Otherwise the `top_k` most probable tokens
    remain (0: all), of these the most probable ones that together have the share `top_p`, of these
    the ones at least `min_p` times as probable as the first; one is drawn. Logits are divided by
    `temperature` before, and by `repetition_penalty` for tokens that occurred (multiplied, if
    negative), as in transformers.

    Sequences end at `max_length` tokens, prompt included (None: the context of the model), and
    not before `min_length`. Row ``b`` of a batch draws with ``random_seed + b``, each position with
    a number of its own: a sequence that is rewound and generated again is the same.

    Raises `UsageError` for values out of range.
    """

    do_sample: bool = False
    temperature: float = 1.0
    top_k: int = 50
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    max_length: int | None = None
    min_length: int = 0
    random_seed: int = 0

    def __post_init__(self) -> None:
        _require_number("temperature", self.temperature, 0, math.inf, above=True)
        _require_number("top_p", self.top_p, 0, 1, above=True)
        _require_number("min_p", self.min_p, 0, 1)
        _require_number("repetition_penalty", self.repetition_penalty, 0, math.inf, above=True)
        for name in ("top_k", "min_length", "random_seed"):
            _require_whole(name, getattr(self, name), 0)
        if self.max_length is not None:
            _require_whole("max_length", self.max_length, 1)
        if not isinstance(self.do_sample, bool):
            raise UsageError(f"do_sample must be true or false, not {self.do_sample!r}")

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> "SearchOptions":
        """The options in `fields`, names and values as in ``genai_config.json``.

        Raises `UsageError` for unknown fields, and for fields of onnxruntime-genai that ask for
        something that graphc does not do, such as beams.
        """
        return cls().replace(fields)

    def replace(self, fields: Mapping[str, Any]) -> "SearchOptions":
        """These options with `fields` in place of their own. Raises as `of` does."""
        known = {field.name for field in dataclasses.fields(self)}
        for name, value in fields.items():
            if name not in known:
                _require_neutral(name, value, known)
        mine = {name: value for name, value in fields.items() if name in known}
        if mine.get("random_seed") == -1:  # "draw a seed", which would not be reproducible
            del mine["random_seed"]
        return dataclasses.replace(self, **mine)


def _require_neutral(name: str, value: Any, known: set[str]) -> None:
    if name not in _NEUTRAL:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise UsageError(
            f"unknown search option '{name}'{hint} (options: {', '.join(sorted(known))})"
        )
    if value not in _NEUTRAL[name]:
        raise UsageError(f"search option {name}={value!r} is not supported")


def _require_number(name: str, value: Any, low: float, high: float, *, above: bool = False) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not low <= value <= high or (above and value == low) or value == math.inf:
        begin = "above" if above else "from"
        end = "" if high == math.inf else f" to {high:g}"
        raise UsageError(f"{name} must be a number {begin} {low:g}{end}, not {value!r}")


def _require_whole(name: str, value: Any, low: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < low:
        raise UsageError(f"{name} must be a whole number from {low} on, not {value!r}")

"""The fields of a request's JSON, with their types checked."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from ..api_error import ApiError


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object in `body`. Raises `ApiError` if there is none."""
    try:
        content = json.loads(body, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise ApiError(f"the body is not valid JSON: {error}", code="invalid_json") from error
    if not isinstance(content, dict):
        raise ApiError("the body is not a JSON object", code="invalid_json")
    return content


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


class RequestFields:
    """Fields of a JSON object, which are taken one by one; null is like none.

    All methods raise `ApiError` with the field's name as its `param`. `prefix` is that of an object
    within another.
    """

    def __init__(self, values: Any, prefix: str = ""):
        if not isinstance(values, dict):
            raise ApiError(
                f"{prefix.rstrip('.')} must be an object, not {brief(values)}",
                code="invalid_type", param=prefix.rstrip("."),
            )  # fmt: skip
        self._values = dict(values)
        self._prefix = prefix

    def take(self, name: str) -> Any:
        """The value of a field of any type."""
        return self._values.pop(name, None)

    def section(self, name: str) -> "RequestFields | None":
        """The object in a field."""
        value = self.take(name)
        return None if value is None else RequestFields(value, f"{self._prefix}{name}.")

    def text(self, name: str) -> str | None:
        """The text in a field."""
        value = self.take(name)
        self._require(name, value, isinstance(value, str), "a text")
        return value

    def flag(self, name: str) -> bool:
        """The truth value in a field; false if there is none."""
        value = self.take(name)
        self._require(name, value, isinstance(value, bool), "true or false")
        return bool(value)

    def whole(self, name: str, low: int, high: int) -> int | None:
        """The whole number in a field."""
        value = self.take(name)
        fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        self._require(name, value, fits, f"a whole number from {low} to {high}")
        return value

    def number(self, name: str, low: float, high: float) -> float | None:
        """The number in a field."""
        value = self.take(name)
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        fits = fits and low <= value <= high  # NaN is not
        self._require(name, value, fits, f"a number from {low:g} to {high:g}")
        return value

    def texts(self, name: str, most: int) -> list[str]:
        """The text, or the list of up to `most` texts, in a field; none of them is empty."""
        value = self.take(name)
        texts = [value] if isinstance(value, str) else value
        fits = isinstance(texts, list) and all(isinstance(each, str) and each for each in texts)
        self._require(name, value, fits and len(texts) <= most, f"a text or up to {most} texts")
        return texts or []

    def numbers(self, most: int, low: float, high: float) -> dict[int, float]:
        """All fields, up to `most`: numbers by whole numbers."""
        names = [*self._values]
        wrong = next((name for name in names if not name.isdecimal()), None)
        if wrong is not None or len(names) > most:
            place = self._prefix.rstrip(".")
            raise ApiError(
                f"{place} must have up to {most} numbers by tokens, not {brief(self._values)}",
                code="invalid_value", param=place,
            )  # fmt: skip
        found = {int(name): self.number(name, low, high) for name in names}
        return {token: value for token, value in found.items() if value is not None}

    def finish(self, neutral: Mapping[str, Collection[Any]], ignored: Collection[str]) -> None:
        """Reject the fields that were not taken.

        Those in `neutral` may have one of the values there, which ask for nothing; those in
        `ignored` may have any.
        """
        for name, value in self._values.items():
            if value is None or name in ignored:
                continue
            param = self._prefix + name
            if name not in neutral:
                raise ApiError(f"unknown field '{param}'", code="unknown_parameter", param=param)
            if value not in neutral[name]:
                raise ApiError(
                    f"{param}: {brief(value)} is not supported",
                    code="unsupported_parameter", param=param,
                )  # fmt: skip

    def _require(self, name: str, value: Any, fits: bool, expected: str) -> None:
        if value is not None and not fits:
            raise ApiError(
                f"{self._prefix}{name} must be {expected}, not {brief(value)}",
                code="invalid_value", param=self._prefix + name,
            )  # fmt: skip


def brief(value: Any) -> str:
    """The JSON of `value`, cut."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}..."

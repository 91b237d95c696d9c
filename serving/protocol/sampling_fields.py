"""The fields of a request that say how tokens are chosen."""

import secrets
from collections.abc import Mapping
from typing import Any

from ...errors import UsageError
from ...generation.logit_bias import LogitBias
from ...generation.search_options import SearchOptions
from ..api_error import ApiError
from .fields import RequestFields

LEAST_TEMPERATURE = 1e-5
"""Below, the most probable token is taken, as with 0."""
MOST_BIASES = 1024
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "top_p": (0, 1),
    "min_p": (0, 1),
    "repetition_penalty": (1e-3, 1e3),
}
_SEEDS = 1 << 64
_MOST = 1 << 63


def read_sampling(fields: RequestFields, defaults: SearchOptions) -> SearchOptions:
    """The options of a request, with `defaults` for what it leaves open.

    Tokens are drawn if `temperature`, `top_p`, `top_k`, `min_p` or `seed` is given, but not with
    the temperature 0. Without `seed` it is a random one.
    """
    changes: dict[str, Any] = {}
    temperature = fields.number("temperature", 0, 1e3)
    is_greedy = temperature is not None and temperature < LEAST_TEMPERATURE
    if temperature is not None and not is_greedy:
        changes["temperature"] = temperature
    for name, bounds in _BOUNDS.items():
        changes[name] = fields.number(name, *bounds)
    top_k = fields.whole("top_k", -1, _MOST)
    changes["top_k"] = 0 if top_k == -1 else top_k  # vLLM's way to say: all
    seed = fields.whole("seed", -_MOST, _SEEDS - 1)
    changes["random_seed"] = None if seed is None else seed % _SEEDS
    given = {name: value for name, value in changes.items() if value is not None}
    draws = defaults.do_sample or bool(given.keys() - {"repetition_penalty"})
    given["do_sample"] = draws and not is_greedy
    given.setdefault("random_seed", secrets.randbits(63))
    return _replaced(defaults, given)


def read_bias(fields: RequestFields) -> LogitBias | None:
    """Additions of a request to logits; None if there are none."""
    presence = fields.number("presence_penalty", -2, 2) or 0.0
    frequency = fields.number("frequency_penalty", -2, 2) or 0.0
    given = fields.section("logit_bias")
    by_token = {} if given is None else given.numbers(MOST_BIASES, -100, 100)
    if not (presence or frequency or any(by_token.values())):
        return None
    return LogitBias(by_token, presence, frequency)


def _replaced(options: SearchOptions, changes: Mapping[str, Any]) -> SearchOptions:
    """The `options` with `changes`, one by one, so that errors have the name of the field."""
    for name, value in changes.items():
        try:
            options = options.replace({name: value})
        except UsageError as error:
            raise ApiError(str(error), code="invalid_value", param=name) from error
    return options

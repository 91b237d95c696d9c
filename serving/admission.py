"""Checks before a request may wait for a slot."""

from ..generation import LanguageModel
from .api_error import ApiError
from .generation_request import GenerationRequest


def check_request(model: LanguageModel, request: GenerationRequest, context_length: int) -> None:
    """Raise `ApiError` for tokens out of range and for more of them than `context_length`."""
    if not request.prompt:
        raise ApiError("the prompt has no tokens", code="invalid_value", param=request.prompt_field)
    vocab = model.config.vocab_size
    wrong = next((each for each in request.prompt if not 0 <= each < vocab), None)
    if wrong is not None:
        raise ApiError(
            f"no token {wrong}: they are numbers below {vocab}", code="invalid_value",
            param=request.prompt_field,
        )  # fmt: skip
    biased = () if request.bias is None else request.bias.by_token
    wrong = next((each for each in biased if each >= vocab), None)
    if wrong is not None:
        raise ApiError(
            f"no token {wrong}: they are numbers below {vocab}", code="invalid_value",
            param="logit_bias",
        )  # fmt: skip
    count = len(request.prompt)
    if count + request.max_new_tokens > context_length:
        raise ApiError(
            f"This model's maximum context length is {context_length} tokens. However, you "
            f"requested {count + request.max_new_tokens} tokens ({count} in the prompt, "
            f"{request.max_new_tokens} in the completion).",
            code="context_length_exceeded", param=request.prompt_field,
        )  # fmt: skip

"""Tokenizers and chat templates of a folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import MissingPackageError, ModelFolderError, UsageError
from .config import read_json

FILE_NAME, CONFIG_NAME, TEMPLATE_NAME = (
    "tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
)  # fmt: skip
Message = Mapping[str, str]


@dataclass(frozen=True)
class Tokenizer:
    """The tokenizer of a folder: ``tokenizer.json``, by the package ``tokenizers``.

    `settings` are those of ``tokenizer_config.json``.
    """

    folder: Path
    backend: Any
    settings: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path, vocab_size: int) -> "Tokenizer":
        """Read the tokenizer in `folder`.

        Raises `ModelFolderError` if there is none, or one with more than `vocab_size` tokens, and
        `MissingPackageError` without ``tokenizers``.
        """
        try:
            import tokenizers  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise MissingPackageError("generation of text", "tokenizers", "llm") from error
        path = folder / FILE_NAME
        if not path.is_file():
            raise ModelFolderError(f"{folder}: there is no {FILE_NAME}")
        try:
            backend = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the package raises nothing more special
            raise ModelFolderError(f"{path}: not a valid tokenizer: {error}") from error
        size = max(backend.get_vocab().values(), default=-1) + 1
        if size > vocab_size:
            raise ModelFolderError(f"{path}: {size} tokens, the model has {vocab_size}")
        settings = folder / CONFIG_NAME
        return cls(folder, backend, read_json(settings) if settings.exists() else {})

    def encode(self, text: str, *, special_tokens: bool = True) -> list[int]:
        """The tokens of `text`, with those that begin a text if `special_tokens`."""
        return self.backend.encode(text, add_special_tokens=special_tokens).ids

    def decode(self, tokens: Sequence[int], *, special_tokens: bool = False) -> str:
        """The text of `tokens`; special tokens are left out unless `special_tokens`."""
        return self.backend.decode(list(tokens), skip_special_tokens=not special_tokens)

    def stream(self) -> "DecodeStream":
        """A decoder of one token after the other."""
        return DecodeStream(self.backend)

    @property
    def chat_template(self) -> str | None:
        """The template in ``chat_template.jinja`` or the settings; of several, the default one."""
        path = self.folder / TEMPLATE_NAME
        if path.is_file():
            return path.read_text(encoding="utf-8")
        given = self.settings.get("chat_template")
        if isinstance(given, list):
            by_name = {each.get("name"): each.get("template") for each in given}
            given = by_name.get("default")
        return given

    def apply_chat_template(self, messages: Sequence[Message], **variables: Any) -> str:
        """The prompt for `messages`, dicts with ``role`` and ``content``, by the folder's template.

        It ends where the assistant's answer begins. Raises `UsageError` if there is no template or
        it rejects the messages.
        """
        template = self.chat_template
        if template is None:
            raise UsageError(f"{self.folder}: the tokenizer has no chat template")
        try:
            import jinja2  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise MissingPackageError("chat templates", "jinja2", "llm") from error
        special = {
            name: _content(value)
            for name, value in self.settings.items()
            if name.endswith("_token")
        }
        names = {"messages": list(messages), "add_generation_prompt": True, **special, **variables}
        try:
            return _environment().from_string(template).render(names)
        except jinja2.TemplateError as error:
            raise UsageError(f"{self.folder}: chat template: {error}") from error

    def encode_chat(self, messages: Sequence[Message], **variables: Any) -> list[int]:
        """The tokens of `apply_chat_template`, which has the tokens that begin a text itself."""
        prompt = self.apply_chat_template(messages, **variables)
        return self.encode(prompt, special_tokens=False)


def _content(value: Any) -> Any:
    """The text of a special token, which the settings may describe by an object."""
    return value.get("content") if isinstance(value, dict) else value


def _environment() -> Any:
    """The filters and functions that templates expect, by transformers' manual; in a sandbox."""
    import json
    from datetime import datetime

    import jinja2  # pyright: ignore[reportMissingImports]
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # pyright: ignore[reportMissingImports]

    def raise_exception(message: str) -> None:
        raise jinja2.TemplateError(message)

    def to_json(value: Any, **options: Any) -> str:
        return json.dumps(value, **{"ensure_ascii": False, **options})

    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    made.filters["tojson"] = to_json
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return made


class DecodeStream:
    """Text of tokens that come one by one; it waits for the rest of a character."""

    def __init__(self, backend: Any):
        from tokenizers.decoders import DecodeStream as Backend  # pyright: ignore[reportMissingImports]

        self._backend = backend
        self._stream = Backend(skip_special_tokens=True)

    def step(self, token: int) -> str:
        """The text that `token` adds, which may be none yet."""
        return self._stream.step(self._backend, token) or ""

"""The tokenizer of a GGUF file as ``tokenizer.json`` and ``tokenizer_config.json``."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import InvalidModelError, MissingPackageError, UnsupportedFormatError
from ..tokenizer import CONFIG_NAME, FILE_NAME
from .reader import GGUFFile

_WORDS = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_CASELESS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_LLAMA3 = (
    _CASELESS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN2 = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
_TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PRE_TOKENIZERS: Mapping[str, tuple[str, ...]] = {
    "gpt-2": (_WORDS,),
    "smollm": (r"\p{N}", _WORDS),
    "llama-bpe": (_LLAMA3,),
    "qwen2": (_QWEN2,),
    "tekken": (_TEKKEN,),
}
"""Patterns that split a text one after the other, by ``tokenizer.ggml.pre``: those that the models
were trained with, as ``llama-vocab.cpp`` of llama.cpp lists them."""

_CONTROL, _USER_DEFINED = 3, 4
"""Types of tokens that are found in a text before it is split; the former are special."""
_SPACE = "▁"


def write_tokenizer(file: GGUFFile, folder: Path) -> None:
    """Write the tokenizer of `file` to `folder`.

    Raises `UnsupportedFormatError` for a kind or a pre-tokenizer that is not in the list,
    `InvalidModelError` for metadata that is absent or contradicts itself, `MissingPackageError`
    without ``tokenizers``.
    """
    try:
        import tokenizers  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise MissingPackageError("importing GGUF files", "tokenizers", "llm") from error
    del tokenizers
    tokens = _Tokens(file)
    kind = file.require("tokenizer.ggml.model")
    if kind == "gpt2":
        made = _byte_level(file, tokens)
    elif kind == "llama":
        made = _sentence_piece(file, tokens)
    else:
        raise UnsupportedFormatError(f"{file.path}: tokenizer '{kind}' is not gpt2 or llama")
    tokens.add_special(made)
    _add_beginning(file, tokens, made)
    made.save(str(folder / FILE_NAME), pretty=False)
    settings = json.dumps(_settings(file, tokens), ensure_ascii=False, indent=2)
    (folder / CONFIG_NAME).write_text(settings, encoding="utf-8")


class _Tokens:
    """Texts and types of the tokens, and the special ones by name."""

    def __init__(self, file: GGUFFile):
        self.texts: list[str] = file.require("tokenizer.ggml.tokens")
        self.types: list[int] = file.get("tokenizer.ggml.token_type") or [1] * len(self.texts)
        if len(self.types) != len(self.texts):
            raise InvalidModelError(f"{file.path}: {len(self.types)} types of tokens, not one each")
        self._file = file

    @property
    def vocabulary(self) -> dict[str, int]:
        return {text: index for index, text in enumerate(self.texts)}

    def named(self, name: str) -> str | None:
        """The text of the special token `name` (``bos``), None if there is none."""
        index = self._file.get(f"tokenizer.ggml.{name}_token_id")
        if index is None:
            return None
        if not 0 <= index < len(self.texts):
            raise InvalidModelError(f"{self._file.path}: no token {index} for {name}")
        return self.texts[index]

    def add_special(self, tokenizer: Any) -> None:
        """Tell `tokenizer` which tokens are found before a text is split."""
        from tokenizers import AddedToken  # pyright: ignore[reportMissingImports]

        kinds = {_CONTROL: tokenizer.add_special_tokens, _USER_DEFINED: tokenizer.add_tokens}
        for kind, add in kinds.items():
            found = [
                text for text, type_ in zip(self.texts, self.types, strict=True) if type_ == kind
            ]
            add([AddedToken(text, normalized=False, special=kind == _CONTROL) for text in found])


def _byte_level(file: GGUFFile, tokens: _Tokens) -> Any:
    """Merges of bytes, as GPT-2's."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers  # pyright: ignore[reportMissingImports]

    name = file.get("tokenizer.ggml.pre", "gpt-2")
    if name not in PRE_TOKENIZERS:
        known = ", ".join(PRE_TOKENIZERS)
        raise UnsupportedFormatError(f"{file.path}: pre-tokenizer '{name}' is not one of {known}")
    merges = [tuple(each.split(" ", 1)) for each in file.require("tokenizer.ggml.merges")]
    ignores = name in ("llama-bpe", "tekken")  # words that are tokens are not merged from parts
    made = Tokenizer(models.BPE(tokens.vocabulary, merges, ignore_merges=ignores))
    splits = [pre_tokenizers.Split(Regex(each), "isolated") for each in PRE_TOKENIZERS[name]]
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.pre_tokenizer = pre_tokenizers.Sequence([*splits, byte_level])
    made.decoder = decoders.ByteLevel()
    return made


def _sentence_piece(file: GGUFFile, tokens: _Tokens) -> Any:
    """Pieces with scores, as SentencePiece's: the merge with the best score comes first."""
    from tokenizers import Tokenizer, decoders, models, normalizers  # pyright: ignore[reportMissingImports]

    scores = file.require("tokenizer.ggml.scores")
    model = models.BPE(
        tokens.vocabulary, _merges(tokens, scores), unk_token=tokens.named("unknown"),
        fuse_unk=True, byte_fallback=True,
    )  # fmt: skip
    made = Tokenizer(model)
    has_prefix = file.get("tokenizer.ggml.add_space_prefix", True)
    prefix = [normalizers.Prepend(_SPACE)] if has_prefix else []
    made.normalizer = normalizers.Sequence([*prefix, normalizers.Replace(" ", _SPACE)])
    strip = [decoders.Strip(" ", 1, 0)] if has_prefix else []
    made.decoder = decoders.Sequence(
        [decoders.Replace(_SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), *strip]
    )
    return made


def _merges(tokens: _Tokens, scores: list[float]) -> list[tuple[str, str]]:
    """All pairs of tokens that make a token, by its score, and then by those of the parts."""
    vocabulary = tokens.vocabulary
    found = []
    for index, text in enumerate(tokens.texts):
        if tokens.types[index] in (_CONTROL, _USER_DEFINED):
            continue
        for cut in range(1, len(text)):
            left, right = vocabulary.get(text[:cut]), vocabulary.get(text[cut:])
            if left is not None and right is not None:
                found.append((-scores[index], left, right))
    return [(tokens.texts[left], tokens.texts[right]) for _, left, right in sorted(found)]


def _add_beginning(file: GGUFFile, tokens: _Tokens, made: Any) -> None:
    """Put the token that begins a text before each one, if the model wants it."""
    from tokenizers import processors  # pyright: ignore[reportMissingImports]

    begin = tokens.named("bos")
    is_default = file.get("tokenizer.ggml.model") == "llama"
    if begin is None or not file.get("tokenizer.ggml.add_bos_token", is_default):
        return
    index = file.require("tokenizer.ggml.bos_token_id")
    made.post_processor = processors.TemplateProcessing(
        single=f"{begin}:0 $A:0", pair=f"{begin}:0 $A:0 $B:1", special_tokens=[(begin, index)]
    )


def _settings(file: GGUFFile, tokens: _Tokens) -> dict[str, Any]:
    """The content of ``tokenizer_config.json``, as transformers reads it."""
    names = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    special = {f"{name}_token": tokens.named(ours) for name, ours in names.items()}
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        **{name: text for name, text in special.items() if text is not None},
        "chat_template": file.get("tokenizer.chat_template"),
    }
    return {name: value for name, value in settings.items() if value is not None}

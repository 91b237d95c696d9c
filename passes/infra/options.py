"""Pass options: dataclass fields as ``{key=value ...}`` and back."""

import dataclasses
import difflib
import enum
import functools
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

OptionValue: TypeAlias = "int | float | str | enum.Enum | tuple[OptionValue, ...] | None"


class OptionError(ValueError):
    """Options that a pass does not take. `problems` lists all of them."""

    def __init__(self, problems: list[str]):
        self.problems = problems
        super().__init__("; ".join(problems))


def option_name(field_name: str) -> str:
    """The spelling of a field in a pipeline: kebab-case, without the underscore of ``from_``."""
    return field_name.rstrip("_").replace("_", "-")


@dataclasses.dataclass(frozen=True)
class PassOption:
    """One option of a pass: the fields that lead to its value, its type and its default."""

    path: tuple[str, ...]
    type_: Any
    default: Any = dataclasses.MISSING

    @property
    def is_required(self) -> bool:
        return self.default is dataclasses.MISSING

    def value(self, instance: Any) -> Any:
        """The value that `instance` has."""
        return functools.reduce(getattr, self.path, instance)


@functools.cache
def options_of(cls: type) -> Mapping[str, PassOption]:
    """The options of the dataclass `cls` by name, in the order of its fields.

    A field that is a dataclass itself contributes its fields in its place: its options are spelled
    as if they were those of `cls`.
    """
    hints = _field_types(cls)
    found: dict[str, PassOption] = {}
    for field in dataclasses.fields(cls):
        option = PassOption((field.name,), hints[field.name], _default(field))
        if not dataclasses.is_dataclass(option.type_):
            found[option_name(field.name)] = option
            continue
        for name, inner in options_of(typing.cast(type, option.type_)).items():
            default = inner.default if option.is_required else inner.value(option.default)
            found[name] = PassOption((field.name, *inner.path), inner.type_, default)
    return types.MappingProxyType(found)


@functools.cache
def _field_types(cls: type) -> Mapping[str, Any]:
    """The types of the fields of `cls`, which are written as text."""
    return types.MappingProxyType(typing.get_type_hints(cls))


def build(cls: type, options: Mapping[str, str]) -> Any:
    """An instance of the dataclass `cls` from option texts. OptionError lists what is wrong."""
    known = options_of(cls)
    values: dict[tuple[str, ...], Any] = {}
    problems: list[str] = []
    for name, text in options.items():
        if name not in known:
            problems.append(f"no option '{name}'{suggestion(name, known)}")
            continue
        try:
            values[known[name].path] = parse_value(text, known[name].type_)
        except ValueError as error:
            problems.append(f"option '{name}': {error}")
    missing = [name for name, each in known.items() if each.is_required and name not in options]
    problems += [f"option '{name}' is required" for name in missing]
    if problems:
        raise OptionError(problems)
    return _construct(cls, {each.path: each.default for each in known.values()} | values)


def _construct(cls: type, values: Mapping[tuple[str, ...], Any]) -> Any:
    """An instance of the dataclass `cls` from the values at the ends of paths of fields."""
    arguments: dict[str, Any] = {path[0]: value for path, value in values.items() if not path[1:]}
    hints = _field_types(cls)
    for name in {path[0] for path in values if path[1:]}:
        inner = {path[1:]: value for path, value in values.items() if path[0] == name}
        arguments[name] = _construct(hints[name], inner)
    return cls(**arguments)


def render(instance: object) -> str:
    """The options of a dataclass that differ from their defaults: ``a=1 b=x``, or empty."""
    parts: list[str] = []
    for name, option in options_of(type(instance)).items():
        value = option.value(instance)
        if value != option.default:
            parts.append(f"{name}={quote(format_value(value))}")
    return " ".join(parts)


def describe(cls: type) -> list[tuple[str, str, str]]:
    """Name, type and default of each option of `cls`, as text."""
    return [
        (name, type_name(option.type_),
         "required" if option.is_required else format_value(option.default))
        for name, option in options_of(cls).items()
    ]  # fmt: skip


def parse_value(text: str, type_: Any) -> Any:
    """Read `text` as a value of `type_`. ValueError says what was expected."""
    origin = typing.get_origin(type_)
    if origin is tuple:
        element = typing.get_args(type_)[0]
        return tuple(parse_value(part, element) for part in split_list(text))
    if origin is typing.Literal:
        return _choose(text, {str(value): value for value in typing.get_args(type_)})
    if origin in (typing.Union, types.UnionType):
        (inner,) = (arg for arg in typing.get_args(type_) if arg is not type(None))
        return None if text == "none" else parse_value(text, inner)
    if isinstance(type_, type) and issubclass(type_, enum.Enum):
        return _choose(text, {str(member.value): member for member in type_})
    if type_ is bool:
        return _choose(text, {"true": True, "false": False, "1": True, "0": False, "": True})
    if type_ is str:
        return text
    try:
        return type_(text)
    except ValueError:
        raise ValueError(f"'{text}' is not {_article(type_name(type_))}") from None


def format_value(value: OptionValue) -> str:
    """Format a value as text that `parse_value` reads back."""
    if isinstance(value, tuple):
        return ",".join(map(format_value, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "none"
    return str(value.value) if isinstance(value, enum.Enum) else str(value)


def type_name(type_: Any) -> str:
    """The name of `type_` in help texts and errors."""
    origin = typing.get_origin(type_)
    if origin is tuple:
        return f"list of {type_name(typing.get_args(type_)[0])}"
    if origin is typing.Literal:
        return "|".join(map(str, typing.get_args(type_)))
    if origin in (typing.Union, types.UnionType):
        return type_name(next(a for a in typing.get_args(type_) if a is not type(None)))
    if isinstance(type_, type) and issubclass(type_, enum.Enum):
        return "|".join(str(member.value) for member in type_)
    return {int: "integer", float: "number", bool: "bool", str: "string"}[type_]


def split_list(text: str) -> list[str]:
    """The comma-separated parts of `text`; commas within brackets do not separate."""
    parts: list[str] = []
    depth, start = 0, 0
    for position, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def quote(text: str) -> str:
    """`text` as one word of an option list."""
    special = any(letter.isspace() or letter in "{}'\"" for letter in text)
    if not special:
        return text
    return f"'{text}'" if "'" not in text else f'"{text}"'


def suggestion(name: str, known: Iterable[str]) -> str:
    """A hint at the nearest of the `known` names, or an empty text."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" (did you mean '{near[0]}'?)" if near else ""


def _choose(text: str, choices: Mapping[str, Any]) -> Any:
    if text not in choices:
        names = [name for name in choices if name not in ("", "0", "1")] or list(choices)
        raise ValueError(f"'{text}' is not one of {', '.join(names)}{suggestion(text, names)}")
    return choices[text]


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _default(field: dataclasses.Field[Any]) -> Any:
    """The default of `field`, `MISSING` where it has none."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default

"""The search space of a pipeline: the options and passes in it that may be varied.

A point of the space is a pipeline, as text that `gc-opt` replays.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..passes.infra import syntax
from ..passes.infra.options import PassOption, format_value, options_of, parse_value, quote
from ..passes.infra.registry import find_pass
from ..passes.infra.report import Report
from ..passes.infra.tunable import Tunable, tunables_of

PRESENCE = "run"
"""The option of an optional pass: whether it runs."""
SKIP = "skip"
"""The option of a pass that names shapes of ops to leave alone."""

Shapes = Mapping[str, Mapping[str, Sequence[str]]]
"""The nodes that each pass rewrites, by their shapes."""

Point = tuple[str, ...]
"""A value for each knob of a space, in their order."""


@dataclass(frozen=True)
class Knob:
    """An option of the pass at `position` of a pipeline, its values as text, and the one it has."""

    position: int
    pass_name: str
    option: str
    values: tuple[str, ...]
    default: str

    @property
    def name(self) -> str:
        """Name of the knob within its pipeline, such as ``graph-winograd.tile``."""
        return f"{self.pass_name}.{self.option}"


class SearchSpace:
    """The variations of a pipeline.

    Ops of the `shapes` that a model has may be left alone by the pass that would rewrite them: each
    is a knob, such as ``graph-winograd.skip@1x8x8x16xf32+3x3x16x16xf32>1x8x8x16xf32``.
    """

    def __init__(self, pipeline: str, shapes: Shapes | None = None):
        self._elements = syntax.parse(pipeline)
        found = [
            knob
            for position, element in enumerate(self._elements)
            for knob in _knobs_of(position, element)
            if len(knob.values) > 1
        ]
        by_shape = [
            Knob(position, element.name, f"{SKIP}@{each}", ("false", "true"), "false")
            for position, element in enumerate(self._elements)
            for each in sorted((shapes or {}).get(element.name, ()))
            if element.nested is None and SKIP not in syntax.parse_options(element.options)
        ]
        self.knobs = (*found, *by_shape)
        """The options and passes that may be varied, and the shapes that passes may skip."""

    @classmethod
    def of_changes(cls, pipeline: str, changes: Mapping[str, str]) -> "SearchSpace":
        """The variations of `pipeline` with the shapes that `changes` name."""
        shapes: dict[str, dict[str, Sequence[str]]] = {}
        for name in changes:
            pass_name, found, each = name.partition(f".{SKIP}@")
            if found:
                shapes.setdefault(pass_name, {})[each] = ()
        return cls(pipeline, shapes)

    @property
    def default(self) -> Point:
        """The point of the pipeline as given."""
        return tuple(knob.default for knob in self.knobs)

    def pipeline(self, point: Point) -> str:
        """The text of the pipeline at `point`."""
        changed: dict[int, dict[str, str]] = {}
        for knob, value in zip(self.knobs, point, strict=True):
            if value != knob.default:
                changed.setdefault(knob.position, {})[knob.option] = value
        return syntax.render(
            [
                _with_options(element, changed.get(position, {}))
                for position, element in enumerate(self._elements)
                if changed.get(position, {}).get(PRESENCE) != "false"
            ]
        )

    def point(self, values: Mapping[str, str]) -> Point:
        """The point with `values` by the names of knobs; others have their defaults, and so have
        those whose value this space does not allow."""
        return tuple(
            value if (value := values.get(knob.name, knob.default)) in knob.values else knob.default
            for knob in self.knobs
        )

    def is_reduced(self, point: Point) -> bool:
        """False if `point` changes an option of a pass that it leaves out: others are the same."""
        changed = [
            knob for knob, value in zip(self.knobs, point, strict=True) if value != knob.default
        ]
        absent = {knob.position for knob in changed if knob.option == PRESENCE}
        return all(knob.option == PRESENCE or knob.position not in absent for knob in changed)

    def changes(self, point: Point) -> dict[str, str]:
        """The values at `point` that differ from the defaults, by the names of their knobs."""
        pairs = zip(self.knobs, point, strict=True)
        return {knob.name: value for knob, value in pairs if value != knob.default}

    def neighbours(self, point: Point) -> Iterator[Point]:
        """The points that differ from `point` in one knob."""
        for index, knob in enumerate(self.knobs):
            for value in knob.values:
                if value != point[index]:
                    yield (*point[:index], value, *point[index + 1 :])


def _with_options(element: syntax.Element, options: Mapping[str, str]) -> syntax.Element:
    if not options:
        return element
    skipped = [name.partition("@")[2] for name in options if name.startswith(f"{SKIP}@")]
    others = {name: value for name, value in options.items() if not name.startswith(f"{SKIP}@")}
    merged = syntax.parse_options(element.options) | others
    if skipped:
        merged[SKIP] = ",".join(skipped)
    return syntax.Element(element.name, " ".join(f"{k}={quote(v)}" for k, v in merged.items()))


def _knobs_of(position: int, element: syntax.Element) -> Iterator[Knob]:
    cls = find_pass(element.name) if element.nested is None else None
    if cls is None:
        return
    if cls.optional:
        yield Knob(position, element.name, PRESENCE, ("true", "false"), "true")
    given, known = syntax.parse_options(element.options), options_of(cls)
    for name, tunable in tunables_of(cls).items():
        default = _value(known[name], given.get(name))
        values = [format_value(value) for value in _allowed(tunable, default)]
        text = format_value(default)
        yield Knob(position, element.name, name, tuple(dict.fromkeys([*values, text])), text)


def _value(option: PassOption, text: str | None):
    return option.default if text is None else parse_value(text, option.type_)


def _allowed(tunable: Tunable, default):
    """The values that round no more than `default`."""
    if not tunable.rounds or default not in tunable.values:
        return () if tunable.rounds else tunable.values
    return tunable.values[: tunable.values.index(default) + 1]


def shapes_of(pipeline: str, report: Report) -> Shapes:
    """The shapes that passes of `pipeline` may skip, with the nodes that have them, from a report
    of it."""
    found: dict[str, dict[str, list[str]]] = {}
    for element in syntax.parse(pipeline):
        cls = find_pass(element.name) if element.nested is None else None
        for rewrite in () if cls is None else cls.skippable:
            for node, shapes in report.statistics(rewrite).shapes.items():
                found.setdefault(element.name, {}).setdefault(shapes, []).append(node)
    return found

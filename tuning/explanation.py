"""An account of a record: what was chosen for each node, by how much, and against what."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..compiler.options import Options
from .candidate import make_candidate
from .database import TuningRecord
from .search_space import SKIP, Knob, SearchSpace, Shapes

_SHOWN_NODES = 4


def explain_choices(model: Any, options: Options, record: TuningRecord) -> str:
    """The choices of `record` for `model`, one a line, with the ratios of their alternatives alone.

    Lines of shapes name the nodes that have them.
    """
    shapes = make_candidate(model, options, options.pipeline).shapes
    space = SearchSpace(options.pipeline, shapes)
    alone = {next(iter(c.items())): ratio for c, ratio in record.tried if len(c) == 1}
    lines = [f"{record.name}: {record.ratio:.3f} of the default's time, {record.trials} trials"]
    for knob in space.knobs:
        chosen = record.changes.get(knob.name, knob.default)
        lines.append(f"{_choice(knob, chosen)}{_nodes(knob, shapes)}")
        lines += [f"    {each}" for each in _alternatives(knob, alone)]
    return "\n".join(lines)


def _choice(knob: Knob, chosen: str) -> str:
    mark = "  " if chosen == knob.default else "* "
    if not knob.option.startswith(f"{SKIP}@"):
        return f"{mark}{knob.name} = {chosen}"
    shapes = knob.option.removeprefix(f"{SKIP}@")
    return f"{mark}{knob.pass_name} {'leaves' if chosen == 'true' else 'takes'} {shapes}"


def _nodes(knob: Knob, shapes: Shapes) -> str:
    names: Sequence[str] = shapes.get(knob.pass_name, {}).get(knob.option.partition("@")[2], ())
    rest = f" and {len(names) - _SHOWN_NODES} more" if len(names) > _SHOWN_NODES else ""
    return f": {', '.join(names[:_SHOWN_NODES])}{rest}" if names else ""


def _alternatives(knob: Knob, alone: Mapping[tuple[str, str], float]) -> Iterator[str]:
    """The measured time with each other value alone, over that of the default."""
    for value in knob.values:
        if value != knob.default:
            ratio = alone.get((knob.name, value))
            name = "left alone" if knob.option.startswith(f"{SKIP}@") else value
            yield f"{name}: {'not measured' if ratio is None else f'{ratio:.3f}'}"

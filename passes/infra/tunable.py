"""Options of passes that tuning may vary: the search space is declared where the option is.

tile: int = tunable(4, values=(0, 2, 4), rounds=True)
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from .options import OptionValue, option_name


@dataclasses.dataclass(frozen=True)
class Tunable:
    """The values that tuning may give an option.

    With `rounds`, they are in the order of their rounding errors, the most exact first; tuning then
    takes none that rounds more than the one in the pipeline, which the precision decides.
    """

    values: tuple[OptionValue, ...]
    rounds: bool = False


def tunable(default: Any, *, values: Sequence[OptionValue], rounds: bool = False) -> Any:
    """A field of a pass with a `default`, which tuning may give one of `values`."""
    return dataclasses.field(default=default, metadata={"tunable": Tunable(tuple(values), rounds)})


def tunables_of(cls: type) -> dict[str, Tunable]:
    """The options of the pass class `cls` that tuning may vary, by name."""
    return {
        option_name(field.name): field.metadata["tunable"]
        for field in dataclasses.fields(cls)
        if "tunable" in field.metadata
    }

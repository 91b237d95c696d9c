"""Texts that end a generation."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import UsageError


@dataclass
class StopSequences:
    """Lets text through up to the first of `stops`, as it comes in pieces.

    Text that may be the beginning of a stop is held back until that is known. Raises `UsageError`
    for an empty stop.
    """

    stops: Sequence[str]
    is_reached: bool = False
    held: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.stops, str) or any(not each for each in self.stops):
            raise UsageError("stop sequences are a list of texts that are not empty")

    def feed(self, piece: str) -> str:
        """The text that is certain to come before a stop, after `piece` has come."""
        if self.is_reached:
            return ""
        text = self.held + piece
        ends = [index for stop in self.stops if (index := text.find(stop)) >= 0]
        if ends:
            self.is_reached, self.held = True, ""
            return text[: min(ends)]
        keep = max((_overlap(text, stop) for stop in self.stops), default=0)
        self.held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> str:
        """The text that was held back, at the end of the generation."""
        rest, self.held = self.held, ""
        return rest


def _overlap(text: str, stop: str) -> int:
    """The length of the longest end of `text` that `stop` begins with."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)

"""Questions on which the rank of a value depends, and which the run of a model answers.

``Squeeze`` without axes drops the sizes that are 1, and TorchScript spells ``x.squeeze(-1)`` as an
``If`` that asks for a size. Mostly what follows takes one of the ranks alone: then the model runs
with that answer or not at all, and it can be taken for granted, the program making sure of it.
`settle` finds such answers, and otherwise all sets of them that the model can run with: where these
differ in equations between sizes of inputs, there can be a program for each.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....errors import ConversionError, InvalidModelError, LimitError

Question = tuple[str, str]
"""The name of a node, and what it asks; no name for an equation of sizes, ``n + 1 == 4``, that any
node may ask for."""
Answers = dict[Question, bool]

_MAX_TRIALS = 32


@dataclass
class Choices:
    """The answers taken for granted in an import, and the questions that came up."""

    answers: Answers = field(default_factory=dict)
    asked: dict[Question, None] = field(default_factory=dict)
    told: int = 0
    """The number of questions that were answered."""

    def answer(self, node: str, question: str) -> bool | None:
        """The answer to `question` of `node`, None where there is none so far."""
        self.asked[node, question] = None
        found = self.answers.get((node, question))
        self.told += found is not None
        return found

    @property
    def open(self) -> list[Question]:
        """The questions without an answer, in order."""
        return [question for question in self.asked if question not in self.answers]


@dataclass(frozen=True)
class Settled:
    """The sets of answers that a model can run with, those first that say "no".

    Where they are too many to be tried they are not `complete`.
    """

    possible: list[Answers]
    complete: bool = True

    @property
    def necessary(self) -> Answers:
        """The answers without which it cannot run."""
        first, *others = map(dict.items, self.possible or [{}])
        return dict(set(first).intersection(*others)) if self.complete else {}

    @property
    def first(self) -> Answers:
        """The first set. Only the necessary answers where sets differ in more than equations:
        nobody could tell which is meant before the model runs."""
        necessary = self.necessary
        asked = {question for answers in self.possible for question in answers}
        if not self.possible or any(node for node, _ in asked - necessary.keys()):
            return necessary
        return self.possible[0]


def settle(trial: Callable[[Answers], Choices], given: Answers | None = None) -> Settled:
    """Find the sets of answers that extend `given` and that a model can run with.

    `trial` imports the model with some answers, and raises InvalidModelError if they contradict it.
    """
    possible: list[Answers] = []
    pending: list[Answers] = [given or {}]
    for _ in range(_MAX_TRIALS):
        if not pending:
            break
        answers = pending.pop()
        try:
            choices = trial(answers)
        except InvalidModelError as error:
            if not is_contradiction(error):
                raise
            continue
        if choices.open:
            pending += [{**answers, choices.open[0]: answer} for answer in (True, False)]
        else:
            possible.append({question: answers[question] for question in choices.asked})
    return Settled(possible, complete=not pending)


def equation(difference: Dim) -> str:
    """Two sizes of this `difference` are equal; spelled in the same way however they are given."""
    sign = 1 if difference.terms[0][1] > 0 else -1
    constant = dict(difference.terms).get((), 0)
    return f"{(difference - constant) * sign} == {-constant * sign}"


def is_contradiction(error: BaseException | None) -> bool:
    """True if `error` comes from a node that operands of other types would suit."""
    if isinstance(error, LimitError):
        return False
    while error is not None:
        if isinstance(error, graph.TypeRuleError | ConversionError):
            return True
        error = error.__cause__
    return False

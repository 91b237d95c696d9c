"""Questions on which the rank of a value depends, and which the run of a model answers.

``Squeeze`` without axes drops the sizes that are 1, and TorchScript spells ``x.squeeze(-1)`` as an
``If`` that asks for a size. Mostly what follows takes one of the ranks alone: then the model runs
with that answer or not at all, and it can be taken for granted, the program making sure of it.
`settle` finds such answers, and otherwise all sets of them that the model can run with: where these
differ in equations between sizes of inputs, there can be a program for each.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ...dialects import graph
from ...dialects.symbolic import Dim
from ...errors import ConversionError, InvalidModelError, LimitError

Question = tuple[str, str]
"""The name of a node, and what it asks; no name for an equation of sizes, ``n + 1 == 4``, that any
node may ask for."""
Answers = dict[Question, bool]

_MAX_TRIALS = 32


@dataclass
class Choices:
    """What is taken for granted in an import, and which questions are left."""

    answers: Answers = field(default_factory=dict)
    open: dict[Question, None] = field(default_factory=dict)

    def answer(self, node: str, question: str) -> bool | None:
        """The answer to `question` of `node`, None where there is none so far."""
        key = node, question
        if key not in self.answers:
            self.open[key] = None
        return self.answers.get(key)


@dataclass(frozen=True)
class Settled:
    """The sets of answers that a model can run with, those first that say "no"."""

    possible: list[Answers]

    @property
    def necessary(self) -> Answers:
        """The answers without which it cannot run."""
        first, *others = map(dict.items, self.possible or [{}])
        return dict(set(first).intersection(*others))

    def assuming(self, equations: Mapping[str, bool]) -> Answers:
        """The first set, of those in which `equations` are as they say if there are such.

        Only the necessary answers where the sets differ in more than equations: nobody could tell
        which is meant before the model runs.
        """
        necessary = self.necessary
        asked = {question for answers in self.possible for question in answers}
        if any(node for node, _ in asked - necessary.keys()):
            return necessary
        told = [
            answers for answers in self.possible
            if all(answers.get(("", text), holds) == holds for text, holds in equations.items())
        ]  # fmt: skip
        return next(iter(told or self.possible), {})


def settle(trial: Callable[[Answers], Choices]) -> Settled:
    """What can be answered to the questions of a model.

    `trial` imports it with some answers, and raises InvalidModelError where they contradict it.
    """
    possible: list[Answers] = []
    pending: list[Answers] = [{}]
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
        question = next(iter(choices.open), None)
        if question is None:
            possible.append(answers)
        else:
            pending += [{**answers, question: answer} for answer in (True, False)]
    return Settled([] if pending else possible)


def equation(difference: Dim) -> str:
    """Two sizes of this `difference` are equal; spelled in the same way however they are given."""
    sign = 1 if difference.terms[0][1] > 0 else -1
    constant = dict(difference.terms).get((), 0)
    return f"{(difference - constant) * sign} == {-constant * sign}"


def is_contradiction(error: BaseException | None) -> bool:
    """Whether a node is at fault that operands of other types would suit."""
    if isinstance(error, LimitError):
        return False
    while error is not None:
        if isinstance(error, graph.TypeRuleError | ConversionError):
            return True
        error = error.__cause__
    return False

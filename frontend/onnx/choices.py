"""Questions on which the rank of a value depends, and which the run of a model answers.

``Squeeze`` without axes drops the sizes that are 1, and TorchScript spells ``x.squeeze(-1)`` as an
``If`` that asks for a size. Mostly what follows takes one of the ranks alone: then the model runs
with that answer or not at all, and it can be taken for granted, the program making sure of it.
`settle` finds such answers.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from ...dialects import graph
from ...errors import ConversionError, InvalidModelError, LimitError

Question = tuple[str, str]
"""The name of a node, and what it asks."""
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


def settle(trial: Callable[[Answers], Choices]) -> Answers:
    """The answers without which the model cannot run.

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
    if pending or not possible:
        return {}
    return dict(set.intersection(*(set(answers.items()) for answers in possible)))


def is_contradiction(error: BaseException | None) -> bool:
    """Whether a node is at fault that operands of other types would suit."""
    if isinstance(error, LimitError):
        return False
    while error is not None:
        if isinstance(error, graph.TypeRuleError | ConversionError):
            return True
        error = error.__cause__
    return False

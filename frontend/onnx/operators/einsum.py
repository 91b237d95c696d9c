"""Einsum: decomposed into matmuls, sums and transposes where these are equivalent."""

import itertools
import string
from collections.abc import Sequence
from dataclasses import dataclass

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..importing.registry import onnx_op


@onnx_op("Einsum", since=12)
def einsum(*xs, equation):
    operands, result = normalize_equation(equation, [graph.type_of(x).rank for x in xs])
    terms = [_diagonal(Term(x, letters)) for x, letters in zip(xs, operands, strict=True)]
    graph.letter_sizes([t.letters for t in terms], [t.shape for t in terms])  # they must agree
    while len(terms) > 1:
        first, second, *rest = terms
        later = result + "".join(term.letters for term in rest)
        wanted = result if not rest else _ordered_union(first.letters, second.letters, later)
        terms = [_pair(first, second, wanted), *rest]
    return _arrange(_sum_away(terms[0], result), result)


@dataclass(frozen=True)
class Term:
    """A tensor and the letters of its axes."""

    value: ir.Value
    letters: str

    @property
    def shape(self) -> tuple[int | Dim, ...]:
        return graph.type_of(self.value).shape

    def size(self, letter: str) -> int | Dim:
        """The size of the axis called `letter`, 1 when there is none."""
        return self.shape[self.letters.index(letter)] if letter in self.letters else 1


def normalize_equation(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The letters of operands and result, without ellipsis, all of them small.

    An equation without ``->`` keeps the letters that occur once, in alphabetical order, after
    the axes of the ellipsis.
    """
    left, arrow, result = equation.replace(" ", "").partition("->")
    operands = left.split(",")
    if len(operands) != len(ranks):
        raise graph.TypeRuleError(f"'{equation}' is not for {len(ranks)} operands")
    if not arrow:
        letters = left.replace(",", "").replace(".", "")
        once = sorted(letter for letter in set(letters) if letters.count(letter) == 1)
        result = ("..." if "..." in left else "") + "".join(once)
    used = sorted(set(left + result) & set(string.ascii_letters))
    hidden = [max(0, r - len(o) + 3) for o, r in zip(operands, ranks, strict=True) if "..." in o]
    count = len(used) + max(hidden, default=0)
    if count > len(string.ascii_lowercase):
        raise graph.TypeRuleError(f"'{equation}' has too many axes")
    renamed = dict(zip(used, string.ascii_lowercase, strict=False))
    spare = string.ascii_lowercase[len(used) : count]

    def expand(term: str, rank: int | None) -> str:
        before, dots, after = term.partition("...")
        width = len(spare) if rank is None else rank - len(before) - len(after)
        middle = spare[len(spare) - width :] if dots and width > 0 else ""
        try:
            return "".join(renamed[c] for c in before) + middle + "".join(renamed[c] for c in after)
        except KeyError:
            raise graph.TypeRuleError(f"'{equation}' is not an einsum equation") from None

    terms = [expand(o, rank) for o, rank in zip(operands, ranks, strict=True)]
    graph.parse_equation(f"{','.join(terms)}->{expand(result, None)}")
    return terms, expand(result, None)


def _diagonal(term: Term) -> Term:
    """Take the diagonal of letters that occur twice."""
    letters = "".join(dict.fromkeys(term.letters))
    if letters == term.letters:
        return term
    return Term(graph.einsum([term.value], equation=f"{term.letters}->{letters}"), letters)


def _ordered_union(first: str, second: str, later: str) -> str:
    """The letters of two operands that are still needed: shared ones, then those of each."""
    needed = [c for c in dict.fromkeys(first + second) if c in later]
    rank = {True: 0, False: 1}
    return "".join(sorted(needed, key=lambda c: rank[c in first and c in second]))


def _sum_away(term: Term, kept: str) -> Term:
    """Sum over the letters that `kept` leaves out."""
    axes = [i for i, letter in enumerate(term.letters) if letter not in kept]
    if not axes:
        return term
    value = graph.reduce_sum(term.value, axes=axes, keepdims=False)
    return Term(value, "".join(c for c in term.letters if c in kept))


def _arrange(term: Term, letters: str) -> ir.Value:
    """`term` with exactly the axes `letters`, in this order; new ones have size 1."""
    present = [c for c in letters if c in term.letters]
    perm = [term.letters.index(c) for c in present]
    value = term.value
    if perm != list(range(len(perm))):
        value = graph.transpose(value, perm=perm)
    if len(present) == len(letters):
        return value
    return graph.reshape(value, shape=[term.size(c) for c in letters])


def _pair(a: Term, b: Term, result: str) -> Term:
    """The product of two operands, summed over the letters that `result` leaves out."""
    a = _sum_away(a, b.letters + result)
    b = _sum_away(b, a.letters + result)
    summed = [c for c in a.letters if c not in result]
    if not summed:
        return Term(graph.mul(_arrange(a, result), _arrange(b, result)), result)
    a, b, merged, splits = _merge_runs(a, b, result)
    value = _as_matmul(a, b, merged)
    if value is None:
        equation = f"{a.letters},{b.letters}->{merged}"
        value = graph.einsum([a.value, b.value], equation=equation)
    if splits:
        sizes = dict(zip(merged, graph.type_of(value).shape, strict=True))
        value = graph.reshape(value, shape=[s for c in merged for s in splits.get(c, [sizes[c]])])
    return Term(value, result)


def _merge_runs(
    a: Term, b: Term, result: str
) -> tuple[Term, Term, str, dict[str, list[int | Dim]]]:
    """Make one axis of letters that stand together wherever they occur: ``bsd,dhk->bshk``.

    Gives the new operands and result, and the sizes that the merged axes of the result hide.
    """
    splits: dict[str, list[int | Dim]] = {}
    letters = a.letters + b.letters
    for first, second in itertools.pairwise(letters):
        run = first + second
        holders = [t for t in (a, b) if first in t.letters]
        if not holders or first == second:  # merged before, or where the operands meet
            continue
        if not _stand_together(run, [a.letters, b.letters, result]):
            continue
        if any(len({t.size(c) for t in holders}) > 1 for c in run):  # one of them broadcasts
            continue
        parts = [size for c in run for size in splits.pop(c, [holders[0].size(c)])]
        a, b = _merge(a, run), _merge(b, run)
        if run in result:
            splits[second] = parts
        result = result.replace(run, second)
    return a, b, result, splits


def _stand_together(run: str, terms: Sequence[str]) -> bool:
    """Return whether the two letters of `run` are neighbours wherever one of them occurs."""
    return all(run in t or (run[0] not in t and run[1] not in t) for t in terms)


def _merge(term: Term, run: str) -> Term:
    if run not in term.letters:
        return term
    at = term.letters.index(run)
    shape = term.shape
    merged = [*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :]]
    return Term(graph.reshape(term.value, shape=merged), term.letters.replace(run, run[1]))


def _as_matmul(a: Term, b: Term, result: str) -> ir.Value | None:
    """``batch, m, k x batch, k, n``, when there is at most one letter of each kind but batch."""
    batch = "".join(c for c in result if c in a.letters and c in b.letters)
    m = "".join(c for c in a.letters if c not in b.letters)
    n = "".join(c for c in b.letters if c not in a.letters)
    k = "".join(c for c in a.letters if c not in result)
    if len(m) > 1 or len(n) > 1 or len(k) != 1 or a.size(k) != b.size(k):
        return None
    spare = [c for c in string.ascii_lowercase if c not in a.letters + b.letters]
    if len(spare) < 2:
        return None
    row, column = m or spare[0], n or spare[1]
    y = graph.matmul(_arrange(a, batch + row + k), _arrange(b, batch + k + column))
    shape = graph.type_of(y).shape
    letters = batch + row + column
    kept = [i for i, c in enumerate(letters) if c in result]
    if len(kept) != len(letters):
        y = graph.reshape(y, shape=[shape[i] for i in kept])
    return _arrange(Term(y, "".join(letters[i] for i in kept)), result)

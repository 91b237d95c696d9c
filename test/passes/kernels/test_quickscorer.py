"""Ensembles of decision trees by QuickScorer, against the ops that it replaces, in numpy."""

import numpy as np
import pytest
from tree_models import ANY, LEQ, ORDERED, check, tree_model

import graphc
from graphc.dialects import graph
from graphc.passes.cpu import quickscorer_tables, select_tree_kernels
from graphc.passes.cpu.quickscorer_tables import TreeTables, plan_quickscorer
from graphc.passes.cpu.tree_costs import cycles_of_scans, cycles_of_walks
from graphc.passes.infra.rewrite import Decline
from graphc.passes.kernels import leaf_votes
from harness.marks import long

_LESS_OR_EQUAL = graph.LESS | graph.EQUAL


@pytest.fixture
def scans(monkeypatch):
    """Scans win whatever they cost."""
    monkeypatch.setattr(select_tree_kernels, "cycles_of_scans", lambda _: 0)


@pytest.mark.usefixtures("scans")
@pytest.mark.parametrize(
    "modes", [LEQ, ORDERED[1:2], ORDERED[2:3], ORDERED[3:]], ids=["<=", "<", ">=", ">"]
)
@pytest.mark.parametrize(("trees", "targets"), [(3, 1), long(8, 3), long(29, 1), (13, 21)])
def test_sums(modes, trees, targets):
    check(tree_model(trees, targets, modes, np.float32), np.float32, (0, 1, 8, 67), "quickscorer")


@pytest.mark.usefixtures("scans")
@pytest.mark.parametrize("aggregate", ["MIN", "MAX", "AVERAGE"])
def test_aggregates(aggregate):
    model = tree_model(8, 2, ("BRANCH_LEQ", "BRANCH_GT"), np.float64, aggregate_function=aggregate)
    check(model, np.float64, (3, 16), "quickscorer")


@pytest.mark.usefixtures("scans")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("trees", "targets"), [(59, 7), (21, 40)])
def test_blocks_of_trees(trees, targets, threads, monkeypatch):
    """Blocks that not all trees fill, also those that threads share."""
    monkeypatch.setattr(quickscorer_tables, "MOST_TREES", 9)
    monkeypatch.setattr(leaf_votes, "LEAST_SHARE", 8)
    model = tree_model(trees, targets, ("BRANCH_LT", "BRANCH_GTE"), np.float32)
    check(model, np.float32, (1, 3, 67, 130), "quickscorer", threads=threads)


def _tables(**changes):
    """A tree of two nodes, and a leaf alone."""
    tables = {
        "roots": np.array([0, -3]), "features": np.array([1, 2]),
        "thresholds": np.array([0.5, 1.5], np.float32),
        "outcomes": np.array([_LESS_OR_EQUAL] * 2, np.uint8),
        "children": np.array([[1, -1], [-2, -3]]),
    }  # fmt: skip
    return TreeTables(**(tables | changes))


def test_tables():
    plan = plan_quickscorer(_tables(), 1 << 20)
    assert plan.columns.tolist() == [1, 2]
    assert plan.offsets.tolist() == [0, 2, 4]
    assert ["end" if np.isnan(t) else t for t in plan.thresholds.tolist()] == [
        0.5,
        "end",
        1.5,
        "end",
    ]
    assert plan.masks.tolist() == [~0b11, -1, ~0b1, -1]
    assert plan.shapes.leaves.tolist() == [1, 2, 0, 2]
    assert plan.shapes.first_leaves.tolist() == [0, 3]
    assert plan.shapes.expected_steps == 1.5
    assert plan.shapes.depths.tolist() == [2, 0]


def test_blocks_fit_in_the_cache():
    nodes = np.arange(200)
    children = np.stack([-1 - 2 * nodes, -2 - 2 * nodes], axis=1)
    many = TreeTables(
        nodes, nodes % 5, nodes.astype(np.float32), np.full(200, _LESS_OR_EQUAL), children
    )
    assert plan_quickscorer(many, 1 << 20).block == 200
    assert plan_quickscorer(many, 1200).block == 67


@pytest.mark.parametrize(("changes", "reason"), [
    ({"outcomes": np.array([graph.EQUAL, 3])}, "another way than by order"),
    ({"thresholds": np.array([np.nan, 1])}, "compares with NaN"),
    ({"thresholds": np.array([-np.inf, 1]), "outcomes": np.array([graph.LESS, 3])}, "infinity"),
    ({"thresholds": np.array([0.0, 1]), "outcomes": np.array([graph.LESS, 3])}, "with zero"),
    ({"roots": np.array([-1, -2])}, "single leaves"),
    ({"children": np.array([[1, -1], [-2, 0]])}, "more leaves than a word"),
])  # fmt: skip
def test_trees_that_are_walked(changes, reason):
    with pytest.raises(Decline, match=reason):
        plan_quickscorer(_tables(**changes), 1 << 20)


@pytest.mark.parametrize(("leaves", "fits"), [(64, True), (65, False)])
def test_most_leaves(leaves, fits):
    """A tree that leans to one side."""
    inner = np.arange(leaves - 1)
    children = np.stack([np.append(inner[1:], -leaves), -1 - inner], axis=1)
    tree = TreeTables(
        np.array([0]), inner % 3, inner.astype(np.float32),
        np.full(leaves - 1, _LESS_OR_EQUAL), children,
    )  # fmt: skip
    if fits:
        assert len(plan_quickscorer(tree, 1 << 20).shapes.leaves) == leaves
    else:
        with pytest.raises(Decline, match="word"):
            plan_quickscorer(tree, 1 << 20)


def test_report_of_trees_that_are_walked():
    report = str(graphc.compile(tree_model(9, 1, ANY, np.float32), cache=False).report)
    assert "another way than by order" in report


@pytest.mark.parametrize(("trees", "rows", "wins"), [
    (1000, 1, True), (1000, 1000, True), (1000, "n", True), (1, 1000, False),
])  # fmt: skip
def test_what_is_faster(trees, rows, wins):
    """Trees of eight leaves that compare 30 features: all but a few trees are scanned."""
    features = np.random.default_rng(0).integers(30, size=(trees, 7))
    first = 7 * np.arange(trees)[:, None, None]
    inner = np.array([[1, 2], [3, 4], [5, 6]]) + first
    last = -1 - (np.arange(8).reshape(4, 2) + 8 * np.arange(trees)[:, None, None])
    nodes = 7 * trees
    tables = TreeTables(
        7 * np.arange(trees), features.ravel(), np.arange(nodes, dtype=np.float32),
        np.full(nodes, _LESS_OR_EQUAL), np.concatenate([inner, last], axis=1).reshape(-1, 2),
    )  # fmt: skip
    plan = plan_quickscorer(tables, 1 << 20)
    x = graph.TensorType((rows, 30), np.dtype(np.float32))
    assert (cycles_of_scans(plan) < cycles_of_walks(plan, x, 1 << 20)) == wins


@pytest.mark.usefixtures("scans")
def test_comparisons_of_both_kinds():
    """< where most are <=, and the reverse; equal features and infinities fail one of them."""
    for less, strict in ((1, False), (2, True)):
        outcomes = np.array([graph.LESS] * less + [_LESS_OR_EQUAL] * (3 - less), np.uint8)
        tables = _tables(
            roots=np.arange(3),
            features=np.zeros(3, int),
            thresholds=np.array([1, 1, 2], np.float32),
            outcomes=outcomes,
            children=-1 - np.arange(6).reshape(3, 2),
        )
        plan = plan_quickscorer(tables, 1 << 20)
        assert plan.strict == strict
        x = np.array([[0], [1], [2], [np.inf], [-np.inf]], np.float32)
        weights = np.arange(6, dtype=np.float32)[:, None]
        order = plan.shapes.leaves
        votes = graph.QuickscorerVotesOp.evaluate(
            x, plan.columns, plan.offsets, plan.thresholds, plan.trees, plan.masks,
            plan.unordered, plan.shapes.first_leaves, weights[order], block=plan.block,
            width=1, strict=plan.strict, reduction="sum",
        )  # fmt: skip
        leaves = graph.TreeLeavesOp.evaluate(
            x, tables.roots, tables.features, tables.thresholds, tables.outcomes,
            tables.children, depth=1, width=1,
        )  # fmt: skip
        np.testing.assert_array_equal(votes[:, 0], leaves.sum(axis=1))

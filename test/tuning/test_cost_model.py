"""Searches on recorded times: every pipeline of five small models, measured on a Zen 3 core.

The times have the noise of a machine with other work, as a search would meet it.
"""

import itertools
import json
import math
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from graphc.compiler.options import Options
from graphc.frontend.onnx.model_features import model_features
from graphc.tuning.cost_model import LEAST_MODELS, learn_cost_model
from graphc.tuning.database import TuningDatabase, TuningRecord
from graphc.tuning.search import Search
from graphc.tuning.search_space import SearchSpace
from graphc.tuning.surrogate import Surrogate, no_prior

pytestmark = pytest.mark.skipif(not find_spec("sklearn"), reason="needs scikit-learn")
RECORDED = json.loads((Path(__file__).parent / "recorded" / "zen3.json").read_text())
MODELS = RECORDED["models"]
MOST_TRIALS = 32
WITHIN = 1.05


def _records(held: str) -> list[TuningRecord]:
    """The records of all models but one."""
    return [
        TuningRecord(
            name, name, RECORDED["machine"], "f32", "", {}, 1.0, features=content["features"],
            tried=content["table"],
        )
        for name, content in MODELS.items()
        if name != held
    ]  # fmt: skip


def _space() -> SearchSpace:
    return SearchSpace(Options.of("cpu:znver3", threads=1).pipeline)


def _run(model: str, prior, most: int = MOST_TRIALS) -> list[float]:
    """The ratios of the trials of a search, in their order."""
    table = {frozenset(changes.items()): ratio for changes, ratio in MODELS[model]["table"]}
    active = {item for changes in table for item in changes}
    space = _space()
    search, ratios = Search(space, prior=prior), []
    for point in itertools.islice(search.points(), 200):
        changes = frozenset(space.changes(point).items()) & active
        if changes and len(ratios) < most:
            ratios.append(table[changes])
            search.tell(point, table[changes])
        elif changes:
            break
        else:  # the program of the default, which is not measured
            search.tell_same(point)
    return ratios


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("learned", [False, True])
def test_few_trials_come_near_exhaustive_search(model, learned):
    cost_model = learn_cost_model(_records(model))
    assert cost_model is not None
    predict = partial(cost_model.predict, MODELS[model]["features"])
    ratios = _run(model, predict if learned else no_prior)
    best = min(ratio for _, ratio in MODELS[model]["table"])
    assert len(ratios) <= MOST_TRIALS
    assert min([1.0, *ratios]) <= best * WITHIN


def test_what_was_learned_shortens_the_search():
    """Trials until within 2 % of the best, over all models."""

    def trials(model: str, prior) -> int:
        best = min(ratio for _, ratio in MODELS[model]["table"])
        ratios = [1.0, *_run(model, prior)]
        return next(n for n, ratio in enumerate(ratios) if ratio <= best * 1.02)

    models = {held: learn_cost_model(_records(held)) for held in MODELS}
    learned = sum(
        trials(name, partial(each.predict, MODELS[name]["features"]))
        for name, each in models.items()
        if each is not None
    )
    assert learned < sum(trials(name, no_prior) for name in MODELS)


def test_few_records_teach_nothing():
    records = _records("")
    assert learn_cost_model([]) is None
    assert learn_cost_model(records[: LEAST_MODELS - 1]) is None
    one = [record for record in records if record.name == "transformer"]
    assert learn_cost_model(one * 9) is None


def test_predictions_do_not_depend_on_the_order_of_records():
    records, features = _records("mixed"), MODELS["mixed"]["features"]
    changes = [{"graph-merge-matmuls.run": "false"}, {"graph-winograd.tile": "0"}]
    first = learn_cost_model(records)
    second = learn_cost_model(records[::-1])
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(
        first.predict(features, changes), second.predict(features, changes)
    )


def test_changes_that_nobody_tried_are_not_predicted():
    model = learn_cost_model(_records(""))
    assert model is not None
    means, spreads = model.predict({}, [{"graph-strange.run": "false"}])
    assert (means[0], spreads[0]) == (0, np.inf)


def test_changes_that_are_sure_to_lose_are_not_tried_alone():
    space = _space()
    loser = ("graph-direct-conv.run", "false")

    def prior(changes):
        losing = np.array([loser in each.items() for each in changes])
        return np.where(losing, math.log(1.5), 0.0), np.where(losing, 0.01, np.inf)

    tried = []
    search = Search(space, prior=prior)
    for point in itertools.islice(search.points(), 30):
        tried.append(space.changes(point))
        search.tell(point, 1.02)
    assert dict([loser]) not in tried
    assert {"graph-merge-matmuls.run": "false"} in tried


def test_the_surrogate_adds_effects_up_and_learns_where_they_do_not():
    space = _space()

    def point(*names):
        return space.point({f"{name}.run": "false" for name in names})

    merge, direct, depthwise = "graph-merge-matmuls", "graph-direct-conv", "cpu-fuse-depthwise"
    surrogate = Surrogate(space)
    for name, ratio in ((merge, 0.9), (direct, 0.8), (depthwise, 1.1)):
        surrogate.tell(point(name), ratio)
    means, spreads = surrogate.predict(
        [point(merge), point(merge, direct), point(merge, depthwise)]
    )
    np.testing.assert_allclose(np.exp(means), [0.9, 0.72, 0.99], rtol=0.01)
    assert spreads[0] < 0.02 < spreads[1]
    surrogate.tell(point(merge, direct), 0.9)
    (mean,), _ = surrogate.predict([point(merge, direct)])
    assert math.exp(mean) == pytest.approx(0.9, rel=0.02)


def test_features_describe_the_heavy_nodes():
    weights = {"k": (8, 4, 3, 3), "d": (8, 1, 3, 3), "p": (8, 8, 1, 1)}
    tensors = [
        onnx.numpy_helper.from_array(np.zeros(shape, np.float32), name)
        for name, shape in weights.items()
    ]
    nodes = [
        helper.make_node("Conv", ["x", "k"], ["a"], strides=[2, 2]),
        helper.make_node("Conv", ["a", "d"], ["b"], group=8),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("Conv", ["c", "p"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4, 16, 16])
    graph = helper.make_graph(nodes, "convolutions", [x], [], tensors)
    features = model_features(helper.make_model(graph))
    assert features["share of strided conv 3x3"] == features["share of conv 1x1"] == 0.3333
    assert features["share of depthwise conv"] == 0.3333
    assert features["input elements"] == pytest.approx(math.log2(1 + 4 * 16 * 16), abs=0.01)
    assert features["heavy nodes"] == 2


def test_a_database_teaches_by_cpu():
    database = TuningDatabase()
    for record in _records(""):
        database.add(record)
    assert learn_cost_model(database.records_on(RECORDED["machine"])) is not None
    assert database.records_on({**RECORDED["machine"], "processor": "Z 80"}) == []

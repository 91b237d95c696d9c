"""Decoders whose cache grows, in steps that write it in place."""

import json
import re

import numpy as np
import onnx
import pytest
from growing_decoders import CONFIG, CONTEXT, Reference, decoder
from serving_models import request_for, run_all

from graphc.generation import Generator, SearchOptions, load
from graphc.generation.compiled_steps import StepSize
from graphc.serving.scheduler import Scheduler
from harness.marks import long

PROMPTS = [list(range(5, 25)), [12], [13, 14, 15]]
CASES = {
    "operator": (decoder("operator", seen="window"), None),
    "multi-head": (decoder("multi-head"), None),
    "positions": (
        decoder(positions="past"),
        "a step is for one sequence, .*: 'gather' .* takes rows by how long the past is",
    ),
    "sigmoid": (
        decoder("sigmoid"),
        "attention does not read its caches where they are, .*: its rows are read by transpose",
    ),
}


def write(folder, model):
    onnx.save(model, folder / "model.onnx")
    (folder / "config.json").write_text(json.dumps(CONFIG))


@pytest.mark.parametrize(
    "case", [long(case) if case in ("positions", "multi-head") else case for case in CASES]
)
def test_sequences_of_different_lengths(case, tmp_path, caplog, monkeypatch):
    """A batch has the logits of each sequence alone, from steps whose outputs are the memory of
    their inputs and which allocate no other cache; what is declined is said once."""
    monkeypatch.setattr("graphc.generation.key_value_cache.FIRST_CAPACITY", CONTEXT)
    form, warning = CASES[case]
    write(tmp_path, form)
    reference, memory = Reference(form), set()
    with load(tmp_path, prefill_chunk=16, opt_level=0) as model:
        generator = Generator(model, batch_size=3, min_length=CONTEXT)
        generator.append_tokens(PROMPTS)
        for _ in range(4):
            rows = [generator.get_sequence(index) for index in range(3)]
            for found, row in zip(generator.get_logits(), rows, strict=True):
                np.testing.assert_allclose(found, reference.logits(row), rtol=1e-4, atol=1e-4)
            generator.generate_next_token()
            memory.add(tuple(map(_address, generator._cache._tensors)))
        together = model.entry_points._steps.computes_rows_together(StepSize(3, 1))
        step = model.entry_points._steps[StepSize(3, 1)]
        sizes = {"capacity": 1 << 12, "cache_rows": 64, "past": CONTEXT}
        allocated = step.predict_memory(sizes)
        cache = sum(each.nbytes for each in generator._cache._tensors) / (3 * CONTEXT)
    assert together is (warning is None)
    said = [each.getMessage() for each in caplog.records if each.name == "graphc"]
    assert len([text for text in said if warning and re.search(warning, text)]) == bool(warning)
    assert bool(said) is bool(warning)
    if case != "sigmoid":
        assert len(memory) == 1
        assert allocated < 1.1 * cache * 64 * (1 << 12)


def _address(tensor):
    return tensor.numpy().__array_interface__["data"][0]


def test_requests_of_a_server(tmp_path):
    """Requests that are computed together have the tokens that each has alone."""
    write(tmp_path, decoder("operator", seen="window"))
    with load(tmp_path, prefill_chunk=16, opt_level=0) as model:
        alone = []
        for prompt in PROMPTS:
            generator = Generator(model, min_length=CONTEXT)
            generator.append_tokens(prompt)
            for _ in range(8):
                generator.generate_next_token()
            alone.append(generator.get_sequence()[len(prompt) :])
        scheduler = Scheduler(model, slots=3)
        requests, found = zip(
            *(request_for(prompt, SearchOptions(min_length=CONTEXT), 8) for prompt in PROMPTS),
            strict=True,
        )
        scheduler.submit(requests)
        run_all(scheduler)
    assert [each.tokens for each in found] == alone

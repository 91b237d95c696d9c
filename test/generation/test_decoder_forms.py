"""Decoders in forms of other exporters: keys and values in one cache, no attention mask, biases by
distance."""

import json

import growing_decoders
import numpy as np
import onnx
import pytest
from bloom_decoders import bloom_decoder
from combined_decoders import CONFIG, CONTEXT, CombinedReference, combined_decoder

from graphc.errors import ModelFolderError, UnsupportedModelError
from graphc.generation import Generator, load
from graphc.generation.compiled_steps import StepSize
from harness.marks import long

PROMPTS = ([5, 6, 7], [12])
COMBINED = (CONFIG, CombinedReference)
CASES = {
    "combined": (combined_decoder(), *COMBINED, 2),
    "without a mask": (combined_decoder(with_mask=False), *COMBINED, 1),
    "bloom": (bloom_decoder(), growing_decoders.CONFIG, growing_decoders.Reference, 2),
}
"""Models, their configs and references, and the sequences that are computed together."""


def write(folder, model, config):
    onnx.save(model, folder / "model.onnx")
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("case", [long(case) if case == "combined" else case for case in CASES])
def test_sequences_have_the_logits_of_each_from_scratch(case, tmp_path, caplog, monkeypatch):
    """In steps that read and write the cache where it is, without a warning."""
    monkeypatch.setattr("graphc.generation.key_value_cache.FIRST_CAPACITY", CONTEXT)
    form, config, reference_of, batch = CASES[case]
    write(tmp_path, form, config)
    reference, memory = reference_of(form), set()
    with load(tmp_path, prefill_chunk=2, opt_level=0) as model:
        generator = Generator(model, batch_size=batch, min_length=CONTEXT)
        generator.append_tokens(PROMPTS[:batch])
        for _ in range(4):
            rows = [generator.get_sequence(index) for index in range(batch)]
            for found, row in zip(generator.get_logits(), rows, strict=True):
                np.testing.assert_allclose(found, reference.logits(row), rtol=1e-4, atol=1e-4)
            generator.generate_next_token()
            memory.add(tuple(map(_address, generator._cache._tensors)))
        if batch > 1:
            assert model.entry_points._steps.computes_rows_together(StepSize(batch, 1))
    assert len(memory) == 1
    assert [each.getMessage() for each in caplog.records if each.name == "graphc"] == []


def _address(tensor):
    return tensor.numpy().__array_interface__["data"][0]


def test_a_cache_that_is_no_pair(tmp_path):
    form = combined_decoder()
    (past,) = (each for each in form.graph.input if each.name == "past_0")
    past.type.tensor_type.shape.dim[0].dim_value = 3
    write(tmp_path, form, CONFIG)
    expected = r"cache 'past_0' is \[3, 'b', 2, 'p', 16\], not \[2, batch, heads"
    with pytest.raises(ModelFolderError, match=expected):
        load(tmp_path)


def test_caches_of_heads_and_batches_in_one_axis(tmp_path, caplog):
    """They are copied, and one sequence is computed at a time."""
    write(tmp_path, bloom_decoder(old=True), growing_decoders.CONFIG)
    reference = growing_decoders.Reference(bloom_decoder())
    with load(tmp_path, prefill_chunk=2, opt_level=0) as model:
        generator = Generator(model, min_length=CONTEXT)
        generator.append_tokens(PROMPTS[0])
        for _ in range(3):
            expected = reference.logits(generator.get_sequence())
            np.testing.assert_allclose(generator.get_logits()[0], expected, rtol=1e-4, atol=1e-4)
            generator.generate_next_token()
    assert "a step copies them" in caplog.text


def test_nodes_on_the_host(tmp_path, caplog):
    """Steps in parts, between which a sequence is on the host, with the cache there, too."""
    form = growing_decoders.decoder("operator")
    nodes = form.graph.node
    index = next(n for n, node in enumerate(nodes) if "y" in node.output) + 1
    for node in nodes[index:]:
        node.input[:] = ["y.taken" if name == "y" else name for name in node.input]
    split = {"inputs": ["y", "width"], "outputs": ["y.sequence"], "axis": -1}
    nodes.insert(index, onnx.helper.make_node("SplitToSequence", **split))
    width = np.int64(growing_decoders.WIDTH)
    form.graph.initializer.append(onnx.numpy_helper.from_array(width, "width"))
    nodes.insert(
        index + 1, onnx.helper.make_node("SequenceAt", ["y.sequence", "zero"], ["y.taken"])
    )
    write(tmp_path, form, growing_decoders.CONFIG)
    reference = growing_decoders.Reference(form)
    with load(tmp_path, prefill_chunk=2, opt_level=0) as model:
        generator = Generator(model, min_length=CONTEXT)
        generator.append_tokens(PROMPTS[0])
        for _ in range(3):
            expected = reference.logits(generator.get_sequence())
            np.testing.assert_allclose(generator.get_logits()[0], expected, rtol=1e-4, atol=1e-4)
            generator.generate_next_token()
        generator._cache.copy(0, 0, 2)  # as servers do for prompts that begin alike
    assert "copies the cache: nodes run on the host" in caplog.text
    with load(tmp_path, prefill_chunk=2, host=False) as model, pytest.raises(UnsupportedModelError):
        model.entry_points.prepare(1)

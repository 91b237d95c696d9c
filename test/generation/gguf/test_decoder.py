"""Decoders of all architectures, beside the implementations of transformers."""

import numpy as np
import onnx
import pytest
import tiny_language_models as tiny_models
from tiny_language_models import (
    ARCHITECTURES,
    dequantized,
    memory_file,
    write_gguf,
    write_model_folder,
)

import graphc
from graphc.errors import InvalidModelError, UnsupportedFormatError
from graphc.generation.gguf import import_gguf
from graphc.generation.gguf.folder import write_folder
from graphc.generation.gguf.quantized_blocks import quantized_matrix
from graphc.generation.gguf.reader import GGUFTensor

TOKENS = np.random.default_rng(1).integers(0, tiny_models.VOCAB, (1, 12))


def feeds(layers=tiny_models.LAYERS, cache=16):
    """All of `TOKENS` with an empty cache."""
    count = TOKENS.shape[1]
    mask = (np.arange(cache) < count).astype(np.int64)[None]
    shape = (1, tiny_models.KV_HEADS, cache, tiny_models.HEAD_SIZE)
    empty = {
        f"past_key_values.{layer}.{kind}": np.zeros(shape, np.float32)
        for layer in range(layers)
        for kind in ("key", "value")
    }
    return {"input_ids": TOKENS, "attention_mask": mask, **empty}


def interpreted_logits(folder, layers=tiny_models.LAYERS):
    with graphc.compile(folder / "model.onnx", target="interpret") as model:
        return model.run(["logits"], feeds(layers))[0]


NAMES = {
    "token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head",
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_qkv": "self_attn.qkv_proj", "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip
OTHER_NAMES = {
    "phi3": {"ffn_up": "mlp.gate_up_proj"},
    "gemma2": {
        "ffn_norm": "pre_feedforward_layernorm",
        "post_attention_norm": "post_attention_layernorm",
        "post_ffw_norm": "post_feedforward_layernorm",
    },
}  # fmt: skip
OTHER_NAMES["gemma3"] = OTHER_NAMES["gemma2"]


def transformers_name(architecture, name):
    """The name in transformers of a tensor of GGUF."""
    *layer, stem, kind = name.removeprefix("blk.").split(".")
    whole = {**NAMES, **OTHER_NAMES.get(architecture, {})}[stem]
    return ".".join([*(["model.layers", *layer] if layer else []), whole, kind])


def stored_values(architecture, tensor):
    """The values of a tensor as transformers has them."""
    if tensor.type_name != "F32":
        array = dequantized(quantized_matrix(tensor.type_name, tensor.data))
    else:
        array = tensor.data
    if architecture.startswith("gemma") and "norm" in tensor.name:
        array = array - 1  # which the model adds
    if architecture == "llama" and tensor.name.split(".")[-2] in ("attn_q", "attn_k"):
        pairs = array.reshape(-1, tiny_models.HEAD_SIZE // 2, 2, array.shape[1])
        array = pairs.swapaxes(1, 2).reshape(array.shape)
    return array


def transformers_model(architecture, layers):
    """The model of transformers with the sizes of tiny ones."""
    transformers = pytest.importorskip("transformers")
    names = {
        "llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3", "phi3": "Phi3", "gemma": "Gemma",
        "gemma2": "Gemma2", "gemma3": "Gemma3Text",
    }  # fmt: skip
    more = {
        "gemma2": {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0},
        "gemma3": {"rope_theta": 1e6, "rope_local_base_freq": 1e4},
        "phi3": {"pad_token_id": 0, "sliding_window": 7},
        "qwen2": {"tie_word_embeddings": False},
        "qwen3": {"tie_word_embeddings": True},
        "llama": {"tie_word_embeddings": True},
    }.get(architecture, {})
    if architecture in ("gemma2", "gemma3"):
        more |= {"sliding_window": 5, "query_pre_attn_scalar": tiny_models.HEAD_SIZE}
    config = getattr(transformers, f"{names[architecture]}Config")(
        vocab_size=tiny_models.VOCAB, hidden_size=tiny_models.HIDDEN,
        intermediate_size=tiny_models.FEED_FORWARD, num_hidden_layers=layers,
        num_attention_heads=tiny_models.HEADS, num_key_value_heads=tiny_models.KV_HEADS,
        head_dim=tiny_models.HEAD_SIZE, max_position_embeddings=tiny_models.CONTEXT,
        rms_norm_eps=1e-5, attn_implementation="eager", **more,
    )  # fmt: skip
    name = names[architecture].removesuffix("Text")
    return getattr(transformers, f"{name}ForCausalLM")(config).eval()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.filterwarnings("ignore")
def test_logits_are_those_of_transformers(architecture, tmp_path):
    torch = pytest.importorskip("torch")
    layers = 6 if architecture == "gemma3" else tiny_models.LAYERS  # the sixth sees all
    file = memory_file(architecture, layers=layers)
    model = transformers_model(architecture, layers)
    values = {
        transformers_name(architecture, name): torch.tensor(stored_values(architecture, each))
        for name, each in file._given.items()
    }
    missing, unexpected = model.load_state_dict(values, strict=False)
    assert set(missing) <= {"lm_head.weight"}
    assert not unexpected
    model.tie_weights()
    with torch.no_grad():
        expected = model(torch.tensor(TOKENS)).logits.numpy()
    write_folder(file, tmp_path, tokenizer=False)
    found = interpreted_logits(tmp_path, layers)
    np.testing.assert_allclose(found, expected, atol=2e-5 * abs(expected).max())


@pytest.mark.parametrize("architecture", ["llama", "qwen2"])
@pytest.mark.filterwarnings("ignore")
def test_a_file_is_read_as_by_transformers(architecture, tmp_path):
    """Whose reader of GGUF leaves out sizes that other architectures need."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    pytest.importorskip("gguf")
    pytest.importorskip("accelerate")
    file = write_gguf(tmp_path / "tiny.gguf", architecture)
    import_gguf(file, tmp_path / "folder")
    with torch.no_grad():
        model = transformers.AutoModelForCausalLM.from_pretrained(
            tmp_path, gguf_file=file.name, dtype=torch.float32, attn_implementation="eager"
        )
        expected = model.eval()(torch.tensor(TOKENS)).logits.numpy()
    found = interpreted_logits(tmp_path / "folder")
    np.testing.assert_allclose(found, expected, atol=2e-5 * abs(expected).max())


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_logits_are_those_of_onnxruntime(architecture, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    folder = write_model_folder(tmp_path, architecture)
    onnx.checker.check_model(str(folder / "model.onnx"))
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    (expected,) = session.run(["logits"], feeds())
    found = interpreted_logits(folder)
    np.testing.assert_allclose(found, expected, atol=1e-5 * abs(expected).max())


def test_a_window_and_softcaps_change_the_logits(tmp_path):
    """The tokens are more than the windows of tiny models hold."""
    found = {}
    for name in ("attention.sliding_window", "attn_logit_softcapping", "final_logit_softcapping"):
        file = memory_file("gemma2")
        file._values[f"gemma2.{name}"] = 0
        write_folder(file, tmp_path / name, tokenizer=False)
        found[name] = interpreted_logits(tmp_path / name)
    whole = interpreted_logits(write_model_folder(tmp_path / "whole", "gemma2"))
    for logits in found.values():
        assert abs(logits - whole).max() > 1e-3


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
def test_matrices_of_floats(dtype, tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    numpy_type = {"F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16}[dtype]
    quantized, floats = memory_file("llama"), memory_file("llama")
    rng = np.random.default_rng(2)
    for name, tensor in quantized._given.items():
        if len(tensor.shape) == 2:
            data = (rng.normal(size=tensor.shape) * 0.1).astype(numpy_type)
            stored = data.view(np.uint8) if dtype == "BF16" else data
            floats._given[name] = GGUFTensor(name, dtype, tensor.shape, stored)
            quantized._given[name] = GGUFTensor(name, "F32", tensor.shape, data.astype(np.float32))
    for name, file in (("own", floats), ("f32", quantized)):
        write_folder(file, tmp_path / name, tokenizer=False)
    found, expected = (interpreted_logits(tmp_path / name) for name in ("own", "f32"))
    np.testing.assert_array_equal(found, expected)


def test_a_config_for_onnxruntime_genai(tmp_path):
    import json

    folder = write_model_folder(tmp_path, "qwen3")
    config = json.loads((folder / "genai_config.json").read_text())
    assert config["model"]["type"] == "qwen3"
    assert config["model"]["eos_token_id"] == 1
    assert config["model"]["decoder"]["num_key_value_heads"] == tiny_models.KV_HEADS
    assert config["model"]["decoder"]["inputs"]["past_key_names"] == "past_key_values.%d.key"
    assert config["search"]["max_length"] == tiny_models.CONTEXT


def broken(change):
    file = memory_file("llama")
    change(file)
    return file


CASES = {
    "an unknown architecture": (
        lambda file: file._values.update({"general.architecture": "mamba"}),
        UnsupportedFormatError, "architecture 'mamba' is not one of llama, ",
    ),
    "a mixture of experts": (
        lambda file: file._values.update({"llama.expert_count": 8}),
        UnsupportedFormatError, "a mixture of experts",
    ),
    "scaled positions": (
        lambda file: file._values.update({"llama.rope.scaling.type": "yarn"}),
        UnsupportedFormatError, "positions scaled by 'yarn'",
    ),
    "a context beyond all tables": (
        lambda file: file._values.update({"llama.context_length": 1 << 31}),
        UnsupportedFormatError, "a context of 2147483648 positions",
    ),
    "sizes that are no numbers": (
        lambda file: file._values.update({"llama.block_count": [1, 2]}),
        InvalidModelError, r"llama.block_count is \[1, 2\], not one size",
    ),
    "metadata that contradicts the tensors": (
        lambda file: file._values.update({"llama.embedding_length": 128}),
        InvalidModelError, r"'token_embd.weight' has shape \[96, 64\], the metadata says \[96, 128",
    ),
    "tensors of other layers": (
        lambda file: file._values.update({"llama.block_count": 1}),
        UnsupportedFormatError, "no place for tensors blk.1.attn_k.weight, .* and 6 more",
    ),
    "blocks that are not carried over": (
        lambda file: file._given.update(
            {"output.weight": GGUFTensor("output.weight", "IQ4_XS", (96, 64), np.zeros((96, 40)))}
        ),
        UnsupportedFormatError, "'output.weight' is IQ4_XS, which has no counterpart",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_errors(case, tmp_path):
    change, kind, message = CASES[case]
    with pytest.raises(kind, match=message):
        write_folder(broken(change), tmp_path, tokenizer=False)
    assert not (tmp_path / "genai_config.json").exists()

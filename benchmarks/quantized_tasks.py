"""Tasks of real models: their inputs, and scores of what they answer.

Scores compare with the truth where it is known (drawn words), and else with the answers of the f32
model.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import onnx

from .zoo.catalogue import MODELS
from .zoo.entry import ZooModel
from .zoo.letters import words
from .zoo.pictures import text_line, text_page
from .zoo.reading import character_accuracy, characters, read_text
from .zoo.text_inputs import ends_of
from .zoo.waves import speech

Feed = dict[str, np.ndarray]
Run = Callable[[Feed], Mapping[str, np.ndarray]]
Score = Callable[[Run], float]
CALIBRATION, TEST = range(24), range(1000, 1048)
"""Numbers of the inputs: those that calibrate are no tests."""
SUFFIXES = (".py", ".txt", ".h", ".html", ".json", ".md", ".pyc", ".so", ".png", ".toml", ".js")


@dataclass(frozen=True)
class QuantizationTask:
    """A model of the zoo, the inputs by their numbers, and a score from 0 to 1."""

    zoo: ZooModel
    meaning: str
    """The score in words."""
    feed: Callable[[int], Feed]
    scorer: Callable[[onnx.ModelProto, Sequence[int], Run], Score]
    """Makes the score over the inputs with these numbers, given the f32 model and its runs."""
    max_drop: float = 0.01

    def feeds(self, numbers: Sequence[int]) -> Iterator[Feed]:
        """The inputs with these numbers."""
        return map(self.feed, numbers)


def _model(name: str) -> ZooModel:
    return next(each for each in MODELS if each.name == name)


def _picture(picture: np.ndarray) -> Feed:
    """Channels first, between -1 and 1, as PP-OCR takes pictures."""
    return {"x": np.ascontiguousarray(np.moveaxis(2 * picture - 1, -1, 0)[None], np.float32)}


def _line(number: int) -> Feed:
    return _picture(text_line(48, 720, np.random.default_rng(number)))


def _page(number: int) -> Feed:
    return _picture(text_page(320, 480, np.random.default_rng(number)))


def _reading(model: onnx.ModelProto, numbers: Sequence[int], original: Run) -> Score:
    """Characters read right; the words are the first thing that `text_line` draws."""
    del original
    known, output = characters(model), model.graph.output[0].name
    truth = [words(3, np.random.default_rng(number)) for number in numbers]

    def score(run: Run) -> float:
        read = [read_text(run(_line(number))[output][0], known) for number in numbers]
        return character_accuracy(zip(read, truth, strict=True))

    return score


def _agreement(
    decide: Callable[[np.ndarray], np.ndarray], feed: Callable[[int], Feed], union: bool = False
) -> Callable[[onnx.ModelProto, Sequence[int], Run], Score]:
    """The share of decisions that are those of the f32 model; with `union`, only where one of both
    decides for yes (intersection over union)."""

    def scorer(model: onnx.ModelProto, numbers: Sequence[int], original: Run) -> Score:
        output = model.graph.output[0].name

        def decisions(run: Run) -> np.ndarray:
            return np.concatenate([decide(run(feed(n))[output]).ravel() for n in numbers])

        truth = decisions(original)

        def score(run: Run) -> float:
            found = decisions(run)
            if union:
                return float((found & truth).sum() / max((found | truth).sum(), 1))
            return float(np.mean(found == truth))

        return score

    return scorer


def _frames(number: int) -> Feed:
    """A second of a voice in 32 frames, each with the end of the one before it."""
    wave = np.concatenate([np.zeros(64, np.float32), speech(32 * 512, seed=number)])
    frames = np.stack([wave[i * 512 : i * 512 + 576] for i in range(32)])
    state = np.zeros((1, 1, 128), np.float32)
    return {"input": frames, "h": state, "c": state}


@cache
def _files() -> Sequence[Path]:
    """Files of this Python installation, of many types, in a random order that stays."""
    found = sorted(
        path for path in Path(sys.prefix).rglob("*") if path.suffix in SUFFIXES and path.is_file()
    )
    by_type = [[path for path in found if path.suffix == suffix] for suffix in SUFFIXES]
    random = np.random.default_rng(0)
    chosen = [path for group in by_type for path in random.permutation(np.array(group))[:100]]
    return [Path(path) for path in random.permutation(np.array(chosen, dtype=object))]


def _file(number: int) -> Feed:
    files = _files()
    return {"bytes": ends_of(files[number % len(files)].read_bytes())[None]}


def _best(scores: np.ndarray) -> np.ndarray:
    return scores.argmax(-1)


def _above(threshold: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda scores: scores > threshold


TASKS = (
    QuantizationTask(
        _model("ppocr4-recognition"), "characters of drawn words read right", _line, _reading
    ),
    QuantizationTask(
        _model("ppocr4-detection"), "text pixels, intersection over union with f32", _page,
        _agreement(_above(0.3), _page, union=True), 0.02,
    ),
    QuantizationTask(
        _model("silero-sequence"), "frames of synthetic speech judged as in f32", _frames,
        _agreement(_above(0.5), _frames),
    ),
    QuantizationTask(
        _model("magika"), "types of files of this machine as in f32", _file,
        _agreement(_best, _file),
    ),
)  # fmt: skip

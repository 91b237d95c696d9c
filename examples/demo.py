"""Demo of graphc in one minute: ``python examples/demo.py`` (or ``make demo``).

The first part compiles a classifier of handwritten digits and runs it on held-out images. The
second part compares ResNet-50 with ONNX Runtime, in results and in time. The third part quantises
the classifier to 8 bits. Needs graphc and onnxruntime; nothing is downloaded.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import onnxruntime

import graphc
from graphc.benchmarks.light import write_light_model
from graphc.benchmarks.measure import MeasurementPlan, Timing, in_turns, largest_difference
from graphc.benchmarks.table import format_table

EXAMPLES = Path(__file__).resolve().parent
SHADES = " ░▒▓█"
BRIGHTEST = 16
SHOWN = 6
CALIBRATED = 150
"""Held-out images that calibrate the quantised classifier; the others judge it."""


def digits(threads: int) -> None:
    """Compile the digits classifier and run it on all held-out images."""
    path = EXAMPLES / "digits.onnx"
    print("1. Handwritten digits\n")
    model = compiled(path, threads)
    images, labels = heldout()
    batch = images.astype(np.float32)
    logits = model(batch)
    answers = logits.argmax(axis=1)
    print()
    print(drawing(images[:SHOWN, 0]))
    print("   ".join(f"{_word(a, t):<16}" for a, t in zip(answers, labels[:SHOWN], strict=False)))
    print()

    session = onnxruntime_session(path, threads)
    (expected,) = session.run(None, {model.inputs[0].name: batch})
    agreeing = int((answers == expected.argmax(axis=1)).sum())
    right = int((answers == labels).sum())
    print(f"right answers: {right} of {len(labels)} held out ({right / len(labels):.1%})")
    print(f"the same answer as ONNX Runtime: {agreeing} of {len(labels)}, ", end="")
    print(f"largest difference {largest_difference(logits, expected):.1e} of the largest logit\n")


def resnet(threads: int, plan: MeasurementPlan) -> None:
    """Compile ResNet-50 and compare it with ONNX Runtime, in results and in time."""
    print("2. ResNet-50\n")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "light_resnet50.onnx")
        with step("filling the onnx package's light_resnet50 with random weights"):
            write_light_model("light_resnet50", path)
        model = compiled(path, threads)
        with step("loading it in ONNX Runtime"):
            session = onnxruntime_session(path, threads)
    name = model.inputs[0].name
    image = np.random.default_rng(0).standard_normal((1, 3, 224, 224), np.float32)
    feed = {name: image}
    (ours,) = model.run(None, feed)
    (theirs,) = session.run(None, feed)
    with step("timing both in turns"):
        timings = in_turns(
            {
                "graphc": lambda: model.run(None, feed),
                "ONNX Runtime": lambda: session.run(None, feed),
            },
            plan,
        )
    print()
    print(comparison(timings, largest_difference(ours, theirs)))
    print("\nrewrites that fired:")
    for rewrite, statistics in sorted(model.report.rewrites.items()):
        if statistics.count:
            print(f"  {statistics.count:4} x {rewrite}")


def quantised(threads: int, plan: MeasurementPlan) -> None:
    """Quantise the digits classifier, and compare its accuracy, size and time with f32."""
    print("\n3. Handwritten digits in 8 bits\n")
    path = EXAMPLES / "digits.onnx"
    images, labels = heldout()
    batch, truth = images[CALIBRATED:].astype(np.float32), labels[CALIBRATED:]
    calibration = np.split(images[:CALIBRATED].astype(np.float32), 10)
    with step(f"quantising digits.onnx, calibrated on {CALIBRATED} other images"):
        result = graphc.quantize(path, calibration)
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder, "digits.int8.onnx")
        result.save(small)
        sizes = {"f32": result.bytes_before, "int8": result.bytes_after}
        runs = {}
        for form, file in (("f32", path), ("int8", small)):
            session = onnxruntime_session(file, threads)
            runs["graphc", form] = compiled(file, threads)
            runs["ONNX Runtime", form] = partial(_first_output, session)
        with step("timing all in turns, one image for each call"):
            timings = in_turns({key: partial(run, batch[:1]) for key, run in runs.items()}, plan)
        rows = [
            (
                *key,
                f"{np.mean(run(batch).argmax(axis=1) == truth):.2%}",
                f"{sizes[key[1]] / 1000:.0f}",
                f"{timings[key].median:.4f}",
            )
            for key, run in runs.items()
        ]
    print()
    print(format_table(("", "", f"right of {len(truth)}", "kB", "median ms"), rows))
    print(f"\nThe least accurate of {len(result.quantized)} nodes in 8 bits, against f32:")
    for layer in result.worst_first()[:3]:
        print(f"  {layer.sqnr:.1f} dB  {layer.node}")


def _first_output(session: onnxruntime.InferenceSession, image: np.ndarray) -> np.ndarray:
    return np.asarray(session.run(None, {"image": image})[0])


def heldout() -> tuple[np.ndarray, np.ndarray]:
    """Images of handwritten digits that the classifier was not trained on, and their labels."""
    with np.load(EXAMPLES / "digits_heldout.npz") as arrays:
        return arrays["images"], arrays["labels"]


def comparison(timings: Mapping[str, Timing], difference: float) -> str:
    """The table of the second part."""
    reference = timings["ONNX Runtime"]
    rows = [
        (name, f"{timing.median:.1f}", f"{timing.ratio(reference):.2f}", shown)
        for (name, timing), shown in zip(
            timings.items(), (f"{difference:.1e} of the largest", "-"), strict=True
        )
    ]
    return format_table(("", "median ms", "time ratio", "largest difference"), rows)


def compiled(path: Path, threads: int) -> graphc.CompiledModel:
    """Compile the model at `path`; on a terminal, show the current stage."""

    def show(event) -> None:
        if sys.stdout.isatty():
            print(f"\r\x1b[K  {what} ... {event.stage}, {event.elapsed:.0f} s", end="", flush=True)

    what = f"compiling {path.name} with graphc"
    with step(what):
        return graphc.compile(str(path), target="cpu", threads=threads, progress=show)


def onnxruntime_session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    """An ONNX Runtime session on the CPU, with all optimisations and as many threads as graphc."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def drawing(images: np.ndarray) -> str:
    """Images side by side, each pixel two characters wide."""
    levels = images.astype(np.int64) * (len(SHADES) - 1) // BRIGHTEST
    return "\n".join("   ".join(_line(image[row]) for image in levels) for row in range(8))


def _line(levels: np.ndarray) -> str:
    return "".join(SHADES[level] * 2 for level in levels)


def _word(answer: int, truth: int) -> str:
    return f"{answer} (right)" if answer == truth else f"{answer} (it is a {truth})"


@contextmanager
def step(what: str) -> Iterator[None]:
    """Print the current step, then its duration."""
    print(f"  {what} ...", end="", flush=True)
    start = time.perf_counter()
    yield
    line_start = f"\r\x1b[K  {what} ..." if sys.stdout.isatty() else ""
    print(f"{line_start} {time.perf_counter() - start:.1f} s", flush=True)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--rounds", type=int, default=8, metavar="N", help="rounds of timing")
    options = parser.parse_args()
    digits(options.threads)
    plan = MeasurementPlan(rounds=options.rounds)
    resnet(options.threads, plan)
    quantised(options.threads, plan)


if __name__ == "__main__":
    main()

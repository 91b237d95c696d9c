"""Language models: from a folder of ONNX to text.

model = graphc.generation.load("smollm2")
for piece in graphc.generation.generate_text(model, "Once upon a time"):
    print(piece, end="")
"""

from .constraints import GrammarConstraint
from .conversation import Conversation
from .generator import Generator
from .language_model import LanguageModel, load
from .search_options import SearchOptions
from .text import generate_text
from .tokenizer import Tokenizer

__all__ = [
    "Conversation",
    "Generator",
    "GrammarConstraint",
    "LanguageModel",
    "SearchOptions",
    "Tokenizer",
    "generate_text",
    "load",
]

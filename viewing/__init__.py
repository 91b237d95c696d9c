"""A compilation as a page for the browser: the graph at every stage, its memory, what was done."""

from .compilation_report import CompilationReport

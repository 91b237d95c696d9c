"""HTML reports of a compilation: the graph at every stage, its memory, and the rewrites."""

from .compilation_report import CompilationReport

"""Passes: transformations of programs. `docs/passes.md` says how to write and run one."""

"""Passes: how programs change. `docs/passes.md` says how to write and run one."""

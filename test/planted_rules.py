"""Faults planted in the scalar rules of ops."""

from dataclasses import replace

from graphc.passes.graph_to_linalg import scalar_rules
from graphc.passes.graph_to_linalg.convert import load_rules


def plant(monkeypatch, op_class, rule):
    """Replace the scalar rule of `op_class` by `rule`, until the test ends."""
    load_rules()
    name = op_class.OPERATION_NAME
    entry = replace(scalar_rules._rules[name], rule=rule)
    monkeypatch.setitem(scalar_rules._rules, name, entry)

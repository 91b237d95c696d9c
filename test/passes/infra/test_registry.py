"""Registration, discovery and plugins."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from graphc.errors import UsageError
from graphc.passes.infra.base import Pass
from graphc.passes.infra.pipeline import Pipeline
from graphc.passes.infra.registry import find_pass, known_passes, load_plugin, register

PLUGIN = '''
from dataclasses import dataclass
from graphc.passes.infra.base import Pass
from graphc.passes.infra.registry import register

@register
@dataclass(frozen=True)
class FromPlugin(Pass):
    """Come from a plugin."""

    name = "{name}"
    depth: int = 2

    def run(self, op, state):
        pass
'''


def test_every_pass_is_documented_and_named_after_what_it_does():
    for name, cls in known_passes().items():
        assert cls.name == name
        assert cls.summary(), f"{name} has no docstring"
        assert find_pass(name) is cls


def test_every_pass_has_a_lit_test():
    tests = "".join(path.read_text() for path in Path(__file__).parents[2].rglob("*.mlir"))
    ours = [n for n, c in known_passes().items() if c.__module__.startswith("graphc.passes.")]
    ours = [name for name in ours if "plugin" not in find_pass(name).__module__]
    assert [name for name in ours if f"--{name}" not in tests] == []


@pytest.mark.parametrize("name", ["CamelCase", "with_underscore", "", "trailing-", "9lives"])
def test_names_are_kebab_case(name):
    @dataclass(frozen=True)
    class Named(Pass):
        pass

    Named.name = name
    with pytest.raises(TypeError, match="not a name in kebab-case"):
        register(Named)


def test_passes_are_frozen_dataclasses():
    class NotADataclass(Pass):
        name = "test-not-a-dataclass"

    with pytest.raises(TypeError, match="not a frozen dataclass"):
        register(NotADataclass)


def test_options_have_defaults():
    @dataclass(frozen=True)
    class NeedsSize(Pass):
        name = "test-needs-size"
        size: int

    with pytest.raises(TypeError, match="needs a default"):
        register(NeedsSize)


def test_names_are_unique():
    @dataclass(frozen=True)
    class Other(Pass):
        name = "graph-simplify"

    find_pass("graph-simplify")
    with pytest.raises(TypeError, match="already the name of"):
        register(Other)


def test_plugin_file(tmp_path):
    path = tmp_path / "my_passes.py"
    path.write_text(PLUGIN.format(name="test-plugin-file"))
    load_plugin(str(path))
    load_plugin(str(path))
    text = "builtin.module(test-plugin-file{depth=3})"
    assert str(Pipeline.parse(text)) == text
    assert known_passes()["test-plugin-file"].summary() == "Come from a plugin."


def test_plugin_module(tmp_path, monkeypatch):
    (tmp_path / "my_plugin_package").mkdir()
    (tmp_path / "my_plugin_package" / "passes.py").write_text(PLUGIN.format(name="test-plugin-mod"))
    monkeypatch.syspath_prepend(tmp_path)
    load_plugin("my_plugin_package.passes")
    assert find_pass("test-plugin-mod") is not None


@pytest.mark.parametrize(
    ("text", "reason"), [("1 / 0", "division by zero"), ("import no_such_module", "no_such_module")]
)
def test_broken_plugins_are_the_users_fault(tmp_path, text, reason):
    path = tmp_path / "broken.py"
    path.write_text(text)
    with pytest.raises(UsageError, match=rf"cannot load plugin '.*broken.py': .*{reason}"):
        load_plugin(str(path))


def test_missing_plugins():
    with pytest.raises(UsageError, match="no such file"):
        load_plugin("nowhere.py")
    with pytest.raises(UsageError, match="No module named 'nowhere_at_all'"):
        load_plugin("nowhere_at_all.passes")

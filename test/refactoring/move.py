# ruff: noqa
"""Move graphc's files to the new tree, and all that names them with them.

    python move.py FOLDER        # a clean checkout of graphc; nothing is committed
    python move.py FOLDER --batch passes               # a part of it: mapping.BATCHES in their order

Can be run on any newer main: mapping.py says what goes where, edits.py what is changed by hand.
It stops where a line of either fits nothing, and lists files of moved folders that have no line.
"""

import argparse
import ast
import io
import json
import os
import re
import subprocess
import sys
import textwrap
import tokenize
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import edits
import mapping

HARNESSES = ("conformance", "fuzz", "gpu_check", "robustness", "harness", "converted")
PACKAGE = "graphc"
TEXTS = {".py", ".pyi", ".md", ".toml", ".yaml", ".yml", ".cfg", ".test", ".mlir", ".sh", ".js", ""}


def git(root, *arguments):
    return subprocess.run(
        ["git", *arguments], cwd=root, check=True, text=True, capture_output=True
    ).stdout


def module_name(path):
    """The name by which the file at `path` is imported; None where it is not."""
    if not path.endswith(".py"):
        return None
    parts = path[:-3].split("/")
    if parts[-1] == "__init__":
        parts = parts[:-1]
    if parts and parts[0] == "test":
        if len(parts) > 1 and parts[1] in HARNESSES:
            return ".".join(parts[1:])
        return None
    if parts and parts[0] in ("examples", "docs"):
        return None
    return ".".join((PACKAGE, *parts))


class Names:
    """Old names of modules and packages to new ones."""

    def __init__(self, files, moved):
        self.old = {name: path for path in files if (name := module_name(path))}
        self.new = {name: module_name(moved.get(path, path)) for name, path in self.old.items()}
        assert all(self.new.values())
        self.packages = {name for name, path in self.old.items() if path.endswith("__init__.py")}
        self.changed = {a: b for a, b in self.new.items() if a != b}
        by_length = sorted(self.changed, key=len, reverse=True)
        self.pattern = (
            re.compile(r"(?<![\w.])(" + "|".join(map(re.escape, by_length)) + r")(?![\w])")
            if by_length
            else None
        )


def package_of(path, name):
    return name.split(".") if path.endswith("__init__.py") else name.split(".")[:-1]


class Imports:
    """Rewrites the imports of one file."""

    def __init__(self, names, old_path, new_path, text, problems):
        self.names, self.old_path, self.new_path = names, old_path, new_path
        self.text, self.problems = text, problems
        self.lines = text.splitlines(keepends=True)
        name = module_name(old_path)
        self.old_package = package_of(old_path, name) if name else []
        new_name = module_name(new_path)
        self.new_package = package_of(new_path, new_name) if new_name else []
        self.renamed = {}

    def rewrite(self):
        tree = ast.parse(self.text)
        bound = {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        }
        bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        bound |= {
            node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self.bound, self.used = bound, used
        changes = []
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                changes += self._from(node)
            elif isinstance(node, ast.Import):
                changes += self._import(node)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in self.renamed:
                changes.append((self._span(node), self.renamed[node.id]))
        changes += self._attributes(tree)
        changes += self._exports(tree)
        return self._apply(changes)

    def _exports(self, tree):
        """The table of a package whose names are imported when they are first used."""
        changes = []
        for node in tree.body:
            if not (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Dict)
                and [getattr(each, "id", "") for each in node.targets] == ["_EXPORTS"]
            ):
                continue
            for value in node.value.values:
                dots = "." if value.value.startswith(".") else ""
                new = self.names.new[".".join([*self.old_package, value.value.lstrip(".")])]
                parts = new.split(".")
                assert parts[: len(self.new_package)] == self.new_package, new
                spelled = dots + ".".join(parts[len(self.new_package) :])
                changes.append((self._span(value), f'"{spelled}"'))
        return changes

    def _span(self, node):
        return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)

    def _offset(self, place):
        line, column = place
        before = sum(len(each) for each in self.lines[: line - 1])
        return before + len(self.lines[line - 1].encode()[:column].decode())

    def _apply(self, changes):
        text = self.text
        spans = sorted(
            {(self._offset(a), self._offset(b), new) for (a, b), new in changes}, reverse=True
        )
        for begin, end, new in spans:
            text = text[:begin] + new + text[end:]
        return text

    def _absolute(self, node):
        if not node.level:
            return node.module
        base = self.old_package[: len(self.old_package) - node.level + 1]
        return ".".join([*base, *([node.module] if node.module else [])])

    def _from(self, node):
        module = self._absolute(node)
        if module not in self.names.old:
            return []
        groups = {}
        for alias in node.names:
            full = f"{module}.{alias.name}"
            if (
                full in self.names.old
                and alias.name != "*"
                and not self._is_symbol(module, alias.name)
            ):
                target = self.names.new[full]
                parent, _, stem = target.rpartition(".")
                local = alias.asname or alias.name
                text = stem
                if stem != local:
                    if alias.asname is None and self._can_rename(alias.name, stem):
                        self.renamed[alias.name] = stem
                    else:
                        text = f"{stem} as {local}"
                groups.setdefault(parent, []).append(text)
            else:
                target = self.names.new[module]
                name = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
                groups.setdefault(target, []).append(name)
        indent = " " * node.col_offset
        statements = []
        for target, imported in groups.items():
            spelled = self._spell(target, bool(node.level))
            if any(word.partition(" ")[0] == "*" for word in imported) or len(imported) == 1:
                statements.append(f"from {spelled} import {', '.join(imported)}")
            else:
                statements.append(f"from {spelled} import ({', '.join(imported)})")
        if len(groups) == 1:
            (target,) = groups
            same = self.names.new.get(module) == target
            spelled = self._spell(target, bool(node.level))
            before = "." * node.level + (node.module or "")
            plain = all(
                (alias.asname or alias.name) == text.split(" as ")[-1]
                and " as " not in text.replace(f" as {alias.asname}", "")
                for alias, text in zip(node.names, groups[target])
            )
            if plain and same or plain and [a.name for a in node.names] == groups[target]:
                if spelled == before:
                    return []
                segment = ast.get_source_segment(self.text, node)
                begin = self._offset((node.lineno, node.col_offset))
                head = re.match(r"from\s+[.\w]+", segment)
                return [
                    (
                        (
                            (node.lineno, node.col_offset),
                            (node.lineno, node.col_offset + len(head[0].encode())),
                        ),
                        f"from {spelled}",
                    )
                ]
        comment = "#" in (ast.get_source_segment(self.text, node) or "")
        if comment:
            self.problems.append(f"{self.new_path}: a comment within an import is lost")
        return [(self._span(node), f"\n{indent}".join(statements))]

    def _is_symbol(self, module, name):
        """True where a package has a symbol of its own by the name of one of its modules."""
        return (module, name) in edits.SYMBOLS

    def _can_rename(self, old, new):
        return old not in self.bound and new not in self.used and new not in self.bound

    def _spell(self, target, relative):
        parts = target.split(".")
        if not relative or not self.new_package or self.new_package[0] != parts[0]:
            return target
        common = 0
        while (
            common < len(parts)
            and common < len(self.new_package)
            and parts[common] == self.new_package[common]
        ):
            common += 1
        return "." * (len(self.new_package) - common + 1) + ".".join(parts[common:])

    def _import(self, node):
        changes = []
        for alias in node.names:
            new = self.names.changed.get(alias.name)
            if new is None:
                continue
            changes.append(
                (
                    (
                        (alias.lineno, alias.col_offset),
                        (alias.lineno, alias.col_offset + len(alias.name)),
                    ),
                    new,
                )
            )
            if alias.asname is None:
                self._dotted = getattr(self, "_dotted", {}) | {alias.name: new}
        return changes

    def _attributes(self, tree):
        """``graphc.backend.prepare`` after ``import graphc.backend``, and ``graph.drawing.draw``."""
        changes = []
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute):
                continue
            chain, inner = [], node
            while isinstance(inner, ast.Attribute):
                chain.append(inner.attr)
                inner = inner.value
            if not isinstance(inner, ast.Name):
                continue
            dotted = ".".join([inner.id, *reversed(chain)])
            new = getattr(self, "_dotted", {}).get(dotted)
            if new:
                changes.append((self._span(node), new))
        return changes


def rewrite_texts(text, path, names, paths):
    """Dotted names and paths in strings and comments of a Python file, or in any other text."""
    if not path.endswith((".py", ".pyi")):
        return replace(text, names, paths, path)
    pieces, lines = [], text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    kinds = {tokenize.STRING, tokenize.COMMENT}
    kinds |= {getattr(tokenize, name) for name in ("FSTRING_MIDDLE",) if hasattr(tokenize, name)}
    at = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in kinds:
            continue
        begin = starts[token.start[0] - 1] + token.start[1]
        end = starts[token.end[0] - 1] + token.end[1]
        if token.type == getattr(tokenize, "FSTRING_MIDDLE", -1):
            end = begin + len(token.string)
            if text[begin:end] != token.string:  # doubled braces
                continue
        pieces += [text[at:begin], replace(text[begin:end], names, paths, path)]
        at = end
    return "".join([*pieces, text[at:]])


class Paths:
    """Old paths in prose and settings to new ones."""

    def __init__(self, files, moved):
        changes = dict(moved)
        folders = {}
        for (source, target), block in mapping.BLOCKS.items():
            for line in block.strip().splitlines():
                words = line.split()
                if (
                    words[0].endswith("/")
                    and source + words[0] != target + words[-1]
                    and any(path.startswith(source + words[0]) for path in moved)
                ):
                    folders[source + words[0]] = target + words[-1]
        changes |= folders
        for old, new in list(changes.items()):
            if old.startswith("test/") and new.startswith("test/"):
                changes.setdefault(old[5:], new[5:])
        folder_names = [a for a in changes if a.endswith("/")]
        for old in folder_names:  # without the slash at the end
            if old.count("/") > 1:
                changes.setdefault(old[:-1], changes[old].rstrip("/"))
        self.changes = {a: b for a, b in changes.items() if "/" in a or a in moved}
        ordered = sorted(self.changes, key=len, reverse=True)
        self.pattern = re.compile(
            r"(?<![\w/.*-])((?:graphc/|\.\./|\./)*)("
            + "|".join(map(re.escape, ordered))
            + r")(?![\w/-])(?!\.\w)"
        )
        self.folders = (
            re.compile("(?!)")
            if not folder_names
            else re.compile(
                r"(?<![\w/.*-])((?:graphc/|\.\./|\./)*)("
                + "|".join(re.escape(a) for a in sorted(folder_names, key=len, reverse=True))
                + r")"
            )
        )
        stems = {}
        for path in files:
            stems.setdefault(path.rpartition("/")[2], set()).add(path)
        self.bases = {
            name: moved[path].rpartition("/")[2]
            for name, found in stems.items()
            if len(found) == 1
            for path in found
            if path in moved and name.endswith((".py", ".mlir"))
        }
        self.bases = {a: b for a, b in self.bases.items() if a != b}
        self.bases |= {a: b for a, b in moved.items() if "/" not in a}
        self.root_tests = {  # as docs/reliability.md has them
            a[5:]: b[5:]
            for a, b in moved.items()
            if a.startswith("test/") and a.count("/") == 1 and b.startswith("test/")
        }
        tests = [a for a in self.bases if a.startswith("test_")]
        self.tests = (
            re.compile(r"(?<![\w/])(" + "|".join(map(re.escape, tests)) + r")\b") if tests else None
        )


def replace(text, names, paths, path):
    if names.pattern:

        def dotted(match):
            return names.changed[match[1]]

        text = names.pattern.sub(dotted, text)
        text = re.sub(
            r"\bfrom (graphc[\w.]*) import (\w+)\b(?!\s*,)",
            lambda m: _from_in_text(m, names),
            text,
        )

        # `passes.liveness`, `tools.journal`
        def quoted(match):
            if match[1].endswith((".py", ".mlir", ".md", ".toml")):
                return match[0]
            full = f"{PACKAGE}.{match[1]}"
            for end in range(len(full), 0, -1):
                if end < len(full) and full[end] != ".":
                    continue
                if full[:end] in names.old:
                    new = names.new[full[:end]] + full[end:]
                    return f"`{new.removeprefix(PACKAGE + '.')}`"
            return match[0]

        text = re.sub(r"(?<!`)`([a-z_]+\.[\w.]+)`(?!`)", quoted, text)
    if path.endswith(".md"):
        for old, new in names.changed.items():
            if old.startswith(f"{PACKAGE}.") and not new.startswith(PACKAGE):
                text = text.replace(f"python -m {new} ", f"PYTHONPATH=test python -m {new} ")
    text = paths.folders.sub(lambda m: m[1] + paths.changes[m[2]], text)
    text = paths.pattern.sub(lambda m: m[1] + paths.changes[m[2]], text)
    if paths.bases:
        if path.endswith(".md"):
            text = re.sub(
                r"(?<=`)test_\w+\.py(?=`)", lambda m: paths.root_tests.get(m[0], m[0]), text
            )
        text = re.sub(
            r"(?<=`)[\w-]+\.(?:py|mlir)(?=`)", lambda m: paths.bases.get(m[0], m[0]), text
        )
    if paths.tests:
        text = paths.tests.sub(lambda m: paths.bases[m[1]], text)
    return text


def _from_in_text(match, names):
    module, name = match[1], match[2]
    full = f"{module}.{name}"
    if full in names.changed:
        parent, _, stem = names.changed[full].rpartition(".")
        return f"from {parent} import {stem}" + (f" as {name}" if stem != name else "")
    return match[0]


def siblings(text, old_path, new_path, names):
    """`choices` in a docstring, for a module beside this one that has another name now."""
    name = module_name(old_path)
    if name is None:
        return text
    package = ".".join(package_of(old_path, name))
    renamed = {}
    for old, new in names.changed.items():
        parent, _, stem = old.rpartition(".")
        if parent == package and new.rpartition(".")[2] != stem:
            renamed[stem] = new.rpartition(".")[2]
    if not renamed:
        return text
    words = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    words |= {node.arg for node in ast.walk(ast.parse(text)) if isinstance(node, ast.arg)}
    words |= {
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    words |= {node.attr for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)}
    pattern = re.compile(r"(?<!`)`(" + "|".join(map(re.escape, renamed)) + r")`(?!`)")
    return pattern.sub(lambda m: f"`{renamed[m[1]]}`" if m[1] not in words else m[0], text)


def depths(text, old_path, new_path, moved, problems):
    """``Path(__file__).parents[2]``: as many folders up as it now takes."""
    if old_path == new_path:
        return text
    old_parts, new_parts = old_path.split("/"), new_path.split("/")

    def change(match):
        if match["index"]:
            ups = int(match["index"]) + 1
        else:
            ups = match["ups"].count(".parent")
        target = old_parts[: len(old_parts) - ups]
        if ups == 1 and not match["rest"]:
            return match[0]  # what lies beside it moves with it, or edits.py says what to do
        if target and target != new_parts[: len(target)]:
            problems.append(f"{new_path}: {match[0]} was {'/'.join(target)}/")
            return match[0]
        ups = len(new_parts) - len(target)
        tail = ".parent" if ups == 1 else f".parents[{ups - 1}]"
        return f"Path(__file__){match['resolve'] or ''}{tail}"

    return re.sub(
        r"Path\(__file__\)(?P<resolve>\.resolve\(\))?"
        r"(?:\.parents\[(?P<index>\d+)\]|(?P<ups>(?:\.parent\b)+))(?P<rest>)",
        change,
        text,
    )


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def wrap(root, ruff, problems):
    """Break the lines of prose that have become too long."""
    found = subprocess.run(
        [*ruff, "check", "--select", "E501", "--output-format", "json", "."],
        cwd=root,
        capture_output=True,
        text=True,
    )
    rows = sorted(json.loads(found.stdout), key=lambda each: -each["location"]["row"])
    for each in rows:
        file = Path(each["filename"])
        row = each["location"]["row"]
        lines = file.read_text(encoding="utf-8").split("\n")
        line = lines[row - 1]
        indent = line[: len(line) - len(line.lstrip())]
        if line.lstrip().startswith("#"):
            indent += "# "
        elif not in_docstring(file, row):
            problems.append(f"{file}:{row}: too long")
            continue
        cut = line.rindex(" ", 0, 100)
        rest = line[cut + 1 :]
        lines[row - 1 : row] = [line[:cut], indent + rest]
        follows = lines[row + 1] if row + 1 < len(lines) else ""
        if (
            follows.strip()
            and not rest.endswith(('"""', ".", ":"))
            and follows.startswith(indent)
            and not follows[len(indent)].isspace()
            and len(indent + rest) + 1 + len(follows[len(indent) :]) <= 100
        ):
            lines[row : row + 2] = [indent + rest + " " + follows[len(indent) :]]
        file.write_text("\n".join(lines), encoding="utf-8")


def reflow(text, before):
    """Fill the paragraphs of Markdown that have a line of more than 100 characters."""
    lines, found, fenced = text.split("\n"), [], False
    paragraph = []

    def end():
        if any(len(line) > 100 and line not in before for line in paragraph):
            first = re.match(r"(?:- |\d+\. )?", paragraph[0])[0]
            joined = " ".join(line.strip() for line in paragraph)
            joined = re.sub(r"`[^`]*`", lambda m: m[0].replace(" ", "\0"), joined)
            found.extend(
                line.replace("\0", " ")
                for line in textwrap.wrap(
                    joined,
                    100,
                    break_long_words=False,
                    break_on_hyphens=False,
                    subsequent_indent=" " * len(first),
                )
            )
        else:
            found.extend(paragraph)
        paragraph.clear()

    for line in lines:
        fenced ^= line.startswith("```")
        starts = re.match(r"(?:- |\d+\. )", line)
        plain = (
            line
            and not fenced
            and re.match(r"[\w`*(\[\"]|  \S|- |\d+\. ", line)
            and "|" not in line[:1]
        )
        if not plain or starts:
            end()
        if plain:
            paragraph.append(line)
        else:
            found.append(line)
    end()
    return "\n".join(found)


def in_docstring(file, row):
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if node.lineno <= row <= node.end_lineno:
                return True
    return False


def make_packages(root):
    for folder, docstring in mapping.NEW_PACKAGES.items():
        file = root / folder / "__init__.py"
        if file.parent.exists() and not file.exists():
            write(file, f'"""{docstring}"""\n')


def list_packages(root):
    """The packages in pyproject.toml."""
    found = sorted(
        ".".join((PACKAGE, *path.parent.relative_to(root).parts))
        for path in root.glob("**/__init__.py")
        if path.relative_to(root).parts[0] not in (".venv", "test", "build", "examples", "docs")
    )
    file = root / "pyproject.toml"
    text = file.read_text()
    block = "".join(f'    "{name}",\n' for name in found)
    text = re.sub(r"(?m)^packages = \[\n.*?^\]", f"packages = [\n{block}]", text, flags=re.S | re.M)
    file.write_text(text)


def aliases(root, names):
    """The table of old names in aliases.py: what users may have imported."""
    whole = {module_name(a): module_name(b) for a, b in mapping.table().items()}
    table = {a: whole[a] for a in sorted(edits.ALIASED)}
    assert all(a != b for a, b in table.items()), table
    lines = "".join(
        f'    "{a.removeprefix(PACKAGE + ".")}": "{b.removeprefix(PACKAGE + ".")}",\n'
        for a, b in table.items()
    )
    write(root / "aliases.py", edits.ALIASES.replace("{table}", lines))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("--batch", choices=mapping.BATCHES, help="a part of it; by default all")
    options = parser.parse_args()
    root = options.root.resolve()
    if git(root, "status", "--porcelain"):
        sys.exit("not a clean checkout")
    files = git(root, "ls-files").split("\n")[:-1]
    moved, problems = mapping.moves(files, options.batch)
    last = options.batch in (None, [*mapping.BATCHES][-1])
    problems = [f"mapping.py names what is not there: {each}" for each in problems]
    flat = tuple(edits.EMPTY)
    for path in files if options.batch is None else ():
        folder = path.rpartition("/")[0]
        if folder in flat and path not in moved and path.endswith((".py", ".mlir")):
            if path not in edits.STAY:
                problems.append(f"no line for {path}")
    names, paths = Names(files, moved), Paths(files, moved)
    texts = {}
    for path in files:
        file = root / path
        if file.is_symlink():
            continue
        if file.suffix in TEXTS or path == "Makefile":
            try:
                texts[path] = file.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
    new_texts = {}
    for path, text in texts.items():
        target, made = moved.get(path, path), text
        if path.endswith((".py", ".pyi")):
            made = Imports(names, path, target, made, problems).rewrite()
            made = siblings(made, path, target, names)
            made = depths(made, path, target, moved, problems)
        made = rewrite_texts(made, path, names, paths)
        if path.endswith(".md") and made != text:
            made = reflow(made, set(text.split("\n")))
        if made != text:
            new_texts[target] = made
    for old, new in moved.items():
        (root / new).parent.mkdir(parents=True, exist_ok=True)
    pairs = sorted(moved.items())
    # by way of names that nothing has: folders may change places
    for number, (old, _) in enumerate(pairs):
        git(root, "mv", old, f"{old}.moving{number}")
    for number, (old, new) in enumerate(pairs):
        (root / new).parent.mkdir(parents=True, exist_ok=True)
        git(root, "mv", f"{old}.moving{number}", new)
    for path, text in new_texts.items():
        write(root / path, text)
    make_packages(root)
    if True:
        for path, pairs in edits.EDITS.items():
            file = root / path
            batch = edits.BATCH.get(path, [*mapping.BATCHES][-1])
            moves = path in mapping.table().values()
            if options.batch and path not in moved.values() and (moves or batch != options.batch):
                continue
            text = file.read_text(encoding="utf-8")
            for old, new in pairs:
                count = (
                    len(re.findall(old.pattern, text, old.flags))
                    if isinstance(old, re.Pattern)
                    else text.count(old)
                )
                if count == 0:
                    problems.append(f"edits.py: {path} has no {old!r}")
                text = (
                    old.sub(lambda m: new, text)
                    if isinstance(old, re.Pattern)
                    else text.replace(old, new)
                )
            file.write_text(text, encoding="utf-8")
        if last:
            for path, text in edits.FILES.items():
                write(root / path, text)
            aliases(root, names)
    list_packages(root)
    for folder in sorted(root.glob("**/"), key=lambda each: -len(each.parts)):
        if folder.name != "__pycache__" and not folder.is_symlink() and ".git" not in folder.parts:
            inside = (
                [each for each in folder.iterdir() if each.name != "__pycache__"]
                if folder.exists()
                else [1]
            )
            if not inside and ".venv" not in folder.parts:
                subprocess.run(["rm", "-rf", str(folder)])
    git(root, "add", "-A")
    ruff = [str(root / ".venv/bin/ruff")]
    subprocess.run([*ruff, "check", "--select", "I", "--fix", "-q", "."], cwd=root)
    subprocess.run([*ruff, "format", "-q", "."], cwd=root)
    wrap(root, ruff, problems)
    if last:  # the generated pages
        environment = {**os.environ, "PYTHONPATH": f"{root.parent}:{root / 'test'}"}
        subprocess.run(
            [str(root / ".venv/bin/python"), "-m", "harness.docs"],
            cwd=root,
            env=environment,
            check=True,
        )
    git(root, "add", "-A")
    print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

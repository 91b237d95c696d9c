"""lit's configuration: ``lit test`` runs all .mlir and .test files below this folder.

Only pip packages are needed. The tools and FileCheck are those of the interpreter that runs lit, in
forks of one process that has imported them (`harness/fork_server.py`).
"""

import atexit
import importlib.util
import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

import lit.formats
from lit.TestingConfig import TestingConfig

config: TestingConfig = globals()["config"]  # lit defines it

config.name = "graphc"
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_format = lit.formats.ShTest(execute_external=False)
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.test_source_root, "..", "build", "lit")

sys.path.insert(0, config.test_source_root)
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [config.test_source_root, os.environ.get("PYTHONPATH")])
)
from harness import fork_server  # noqa: E402

FOLDER = tempfile.mkdtemp(prefix="graphc-lit-")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
SOCKET = Path(FOLDER) / "socket"
SERVER = fork_server.start(SOCKET)

# A tool is a word of a RUN line: not the end of a path, nor a part of a longer name.
for tool in fork_server.PROGRAMS:
    command = shlex.join(fork_server.command(tool, SOCKET))
    if tool == "gc-opt":  # every rewrite of every input is held to what it claims
        command += " --check-rewrites"
    config.substitutions.append((rf"(?<![\w/.-]){tool}(?![\w/.-])", command))
config.substitutions.append(("%python", sys.executable))

for variable in ("PYTHONPATH", "HOME"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]

config.environment["GRAPHC_CACHE"] = "off"  # what an earlier run has compiled tests nothing

for package in ("onnxruntime", "torch"):
    if importlib.util.find_spec(package) is not None:
        config.available_features.add(package)

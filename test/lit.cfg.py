"""lit's configuration: ``lit test`` runs all .mlir and .test files below this folder.

Only pip packages are needed. The tools and FileCheck are those of the interpreter that runs lit.
"""

import importlib.util
import os
import sys

import lit.formats
from lit.TestingConfig import TestingConfig

config: TestingConfig = globals()["config"]  # lit defines it

config.name = "graphc"
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_format = lit.formats.ShTest(execute_external=False)
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.test_source_root, "..", "build", "lit")

# A tool is a word of a RUN line: not the end of a path, nor a part of a longer name.
for tool in ("gc-opt", "gc-compile", "gc-run"):
    command = f"{sys.executable} -m graphc.tools.{tool.replace('-', '_')}"
    if tool == "gc-opt":  # every rewrite of every input is held to what it claims
        command += " --check-rewrites"
    config.substitutions.append((rf"(?<![\w/.-]){tool}(?![\w/.-])", command))
config.substitutions.append((r"(?<![\w/.-])filecheck(?![\w/.-])", f"{sys.executable} -m filecheck"))
config.substitutions.append(("%python", sys.executable))

for variable in ("PYTHONPATH", "HOME"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]

config.environment["GRAPHC_CACHE"] = "off"  # what an earlier run has compiled tests nothing

for package in ("onnxruntime", "torch"):
    if importlib.util.find_spec(package) is not None:
        config.available_features.add(package)

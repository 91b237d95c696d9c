#!/bin/sh
# Builds the wheel, installs it into an empty environment, and uses it from another folder.
# usage: check_wheel.sh PYTHON
set -eu
python=${1:-python3}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "== wheel"
"$python" -m venv "$work/build"
"$work/build/bin/pip" install --quiet --disable-pip-version-check build
git -C "$root" archive HEAD | (mkdir "$work/source" && tar -x -C "$work/source")
"$work/build/bin/python" -m build --quiet --wheel --outdir "$work/dist" "$work/source"
"$python" -m venv "$work/user"
"$work/user/bin/pip" install --quiet --disable-pip-version-check "$work"/dist/*.whl
cp "$root/examples/digits.onnx" "$work/"
cd "$work"
user/bin/gc-opt --list-passes > passes.txt
export GRAPHC_CACHE="$work/cache"
user/bin/gc-view digits.onnx -o digits.html
user/bin/gc-compile digits.onnx -o digits.vmfb --target=cpu
user/bin/gc-cache list
user/bin/python - <<'CODE'
import graphc
import numpy as np
from graphc.tuning.lookup import find_database

assert find_database("shipped").records
model = graphc.load("digits.vmfb")
shape = [size if isinstance(size, int) else 3 for size in model.inputs[0].shape]
result = model(np.zeros(shape, model.inputs[0].dtype))
assert result.shape[0] == 3, result.shape
print("the wheel compiles, loads and runs")
CODE

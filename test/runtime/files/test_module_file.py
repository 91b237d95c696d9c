"""Files that are not what they should be are refused with one line, and never crash."""

import os
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from graphc.errors import DeviceError, ModuleFileError
from graphc.runtime import ModelMetadata, TensorSpec, compile_module, load, resolve_target


@pytest.fixture
def broken(tmp_path):
    """Writes bytes to a file and answers with what `load` says about it."""

    def check(contents):
        path = tmp_path / "model.vmfb"
        path.write_bytes(contents)
        with pytest.raises(ModuleFileError) as caught:
            load(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)
        return str(caught.value).removeprefix(f"{path}: ")

    return check


def compile_text(text):
    return compile_module(text, target=resolve_target("cpu"), threads=1, opt_level=0)


def test_an_empty_file(broken):
    assert broken(b"") == "the file is empty"


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(ModuleFileError, match=r"nothing.vmfb: No such file"):
        load(tmp_path / "nothing.vmfb")
    with pytest.raises(ModuleFileError, match="Is a directory"):
        load(tmp_path)


@pytest.mark.parametrize("contents", [b"\x08\x07\x12\x07pytorch", b"P", b"\x7fELF" + bytes(99)])
def test_a_foreign_file(broken, contents):
    assert broken(contents) == "the file is no compiled module (.vmfb) of graphc"


def test_a_zip_file_of_another_kind(tmp_path):
    path = tmp_path / "other.vmfb"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(ModuleFileError, match="does not accept the module"):
        load(path)


def test_a_truncated_file_is_refused_wherever_it_ends(compiled):
    contents = compiled("add")
    for end in range(0, len(contents), 7):
        with pytest.raises(ModuleFileError):
            load(contents[:end])


def test_damage_is_found_or_does_no_harm(compiled, tmp_path):
    # In another process: what is looked for is a crash. IREE by itself crashes on about one
    # flipped byte in thirty, and computes wrong numbers on some.
    path = tmp_path / "add.vmfb"
    path.write_bytes(compiled("add"))
    script = f"""
import numpy as np
from graphc.errors import ModuleFileError
from graphc.runtime import load
contents = open({str(path)!r}, "rb").read()
ones = np.ones((2, 4), np.float32)
refused = 0
for position in range(0, len(contents), 5):
    damaged = bytearray(contents)
    damaged[position] ^= 0xFF
    try:
        model = load(bytes(damaged), threads=1)
    except ModuleFileError:
        refused += 1
        continue
    assert (model(ones, ones) == 2).all(), position
print(refused / len(range(0, len(contents), 5)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert float(done.stdout) > 0.9


def test_damage_names_the_part(compiled, broken):
    contents = bytearray(compiled("add"))
    contents[len(contents) // 4] ^= 1
    assert broken(contents) == "the file is damaged (in its part 'module.fb')"


def test_a_module_that_graphc_did_not_make(source, broken):
    text = re.sub(rb"attributes \{.*\} \{", b"{", source("add"))
    message = broken(compile_text(text))
    assert message == "the module was not made by graphc: it carries no metadata"
    renamed = compile_text(text.replace(b"@main", b"@forward"))
    assert "not made by graphc" in broken(renamed)


def test_metadata_of_another_format_version(source, broken):
    text = source("add").replace(b'format_version\\":1', b'format_version\\":99')
    assert "format version 99; this graphc reads version 1" in broken(compile_text(text))


def test_metadata_that_is_no_json(source, broken):
    text = source("add").replace(b'graphc = "{', b'graphc = "')
    assert "metadata is not JSON" in broken(compile_text(text))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ((b'\\"float32\\"', b'\\"int32\\"'), "the metadata has input x: int32"),
        ((b'\\"batch\\",4', b'\\"batch\\",8'), r"input x: float32\[batch, 8\], the code has"),
        ((b'\\"batch\\",4', b'\\"batch\\"'), r"the code has tensor<\?x4xf32>"),
        ((b'\\"batch\\",4', b"1,4"), r"input x: float32\[1, 4\]"),
        ((b'\\"inputs\\":[{', b'\\"inputs\\":[],\\"extra\\":[{'), "has unknown extra"),
    ],
)
def test_metadata_at_odds_with_the_code(source, broken, change, reason):
    # Compiled code trusts its arguments: metadata that lies would let it read beyond them.
    assert re.search(reason, broken(compile_text(source("add").replace(*change))))


def test_metadata_that_names_too_few_inputs(source, broken):
    spec = TensorSpec("x", ("batch", 4), "float32")
    text = re.sub(
        rb'graphc = ".*"\}',
        b"graphc = "
        + ModelMetadata("m", (spec,), (spec,)).to_json().replace('"', '\\"').join('""').encode()
        + b"}",
        source("add"),
    )
    assert broken(compile_text(text)) == "the metadata names 1 inputs, the code has 2"


def test_a_target_unknown_here(source, broken):
    text = source("add", target="tpu")
    assert "made for a target unknown here: no target is named 'tpu'" in broken(compile_text(text))


def test_a_module_for_another_architecture(source):
    target = resolve_target("cpu:arm64" if os.uname().machine == "x86_64" else "cpu:x86-64")
    module = compile_module(source("add", target="cpu"), target=target, threads=1)
    with pytest.raises(DeviceError, match="compiled for another device or architecture"):
        load(module)


def test_a_read_only_file_is_loaded(compiled, tmp_path):
    path = tmp_path / "add.vmfb"
    path.write_bytes(compiled("add"))
    path.chmod(0o444)
    ones = np.ones((2, 4), np.float32)
    with load(path) as model:
        np.testing.assert_array_equal(model(ones, ones), 2 * ones)


def test_irees_own_tools_run_the_file(compiled, tmp_path):
    path = tmp_path / "add.vmfb"
    path.write_bytes(compiled("add"))
    import iree._runtime_libs

    tools = iree._runtime_libs.__path__[0]
    command = [f"{tools}/iree-run-module", f"--module={path}", "--function=main"]
    command += ["--input=2x4xf32=1", "--input=2x4xf32=2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "2x4xf32=[3 3 3 3][3 3 3 3]" in done.stdout
    command = [f"{tools}/iree-dump-module", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert '"format_version":1' in done.stdout

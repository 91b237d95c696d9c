"""One digest of equal contents, however they come."""

import pytest

from graphc.runtime.cache import digests
from graphc.runtime.cache.digests import StreamDigest, digest_of, digest_of_file


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 16, 50])
@pytest.mark.parametrize("part", [1, 3, 8, 20])
def test_parts_have_the_digest_of_the_whole(monkeypatch, tmp_path, size, part):
    monkeypatch.setattr(digests, "_CHUNK", 8)
    contents = bytes(range(size))
    stream = StreamDigest()
    for at in range(0, size, part):
        stream.write(contents[at : at + part])
    (tmp_path / "file").write_bytes(contents)
    assert stream.hexdigest() == digest_of(contents) == digest_of_file(tmp_path / "file")
    assert stream.hexdigest() != digest_of(contents + b"\0")

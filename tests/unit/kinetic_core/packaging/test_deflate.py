import os
import random
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetic_core.packaging.deflate import END_OF_BLOCKS, LIBRARIES, Codec, Library, find_codec
from kinetic_core.packaging.smallfiles import entry

NOISE = random.Random(1).randbytes(200_000)
TEXT = b"".join(b"def f%d(x):\n    return x + %d\n" % (number, number * 7) for number in range(20_000))


def codec_of(library: Library) -> Codec:
    pytest.importorskip(library.module)
    return find_codec([library, LIBRARIES[-1]])


@pytest.fixture(params=LIBRARIES, ids=[library.module for library in LIBRARIES])
def codec(request: pytest.FixtureRequest) -> Codec:
    return codec_of(request.param)


def deflated(codec: Codec, data: bytes) -> bytes | None:
    """What an archive holds of a small file; nothing where it is the file as it is."""
    body, _ = entry(b"f", data, (33, 0), codec.compress, codec.crc32)
    return None if body == data else body


@given(data=st.binary(max_size=2000))
@pytest.mark.parametrize("library", LIBRARIES, ids=[library.module for library in LIBRARIES])
def test_what_is_deflated_comes_back_and_is_smaller(library: Library, data: bytes) -> None:
    body = deflated(codec_of(library), data)
    if body is not None:
        assert len(body) < len(data)
        assert zlib.decompress(body, wbits=-15) == data


@given(head=st.binary(min_size=3, max_size=300), tail=st.binary(max_size=300), before=st.sampled_from([0xFF, 0, 0xFE]))
@pytest.mark.parametrize("library", LIBRARIES, ids=[library.module for library in LIBRARIES])
def test_nothing_refers_to_what_a_stream_was_told_before_its_data(
    library: Library, head: bytes, tail: bytes, before: int
) -> None:
    """What looks as if it began one byte before the data, which is where a dictionary would be."""
    data = head + tail + bytes([before]) + head
    codec = codec_of(library)
    assert zlib.decompress(codec.compress(data), wbits=-15) == data
    blocks = codec.compress_block(head) + codec.compress_block(data) + END_OF_BLOCKS
    assert zlib.decompress(blocks, wbits=-15) == head + data


def test_text_is_deflated(codec: Codec) -> None:
    body = deflated(codec, b"x" * 100)
    assert body is not None
    assert zlib.decompress(body, wbits=-15) == b"x" * 100


def test_what_does_not_shrink_is_left_as_it_is(codec: Codec) -> None:
    assert deflated(codec, NOISE) is None
    assert deflated(codec, b"") is None
    assert deflated(codec, b"x" * 20) is None


def test_source_code_takes_at_most_a_fifth_more_than_with_level_6_of_zlib(codec: Codec) -> None:
    code = Path(random.__file__).read_bytes()
    assert len(codec.compress(code)) <= 1.2 * len(zlib.compress(code, 6))


def test_blocks_joined_and_closed_are_one_raw_deflate_stream(codec: Codec) -> None:
    body = codec.compress_block(b"a" * 1000) + codec.compress_block(b"b" * 1000) + END_OF_BLOCKS
    stream = zlib.decompressobj(-15)
    assert stream.decompress(body) == b"a" * 1000 + b"b" * 1000
    assert stream.eof
    assert stream.unused_data == b""


def test_no_block_at_all_is_a_stream_too() -> None:
    assert zlib.decompress(END_OF_BLOCKS, wbits=-15) == b""


def test_bytes_do_not_depend_on_what_was_compressed_before_or_on_the_thread(codec: Codec) -> None:
    pieces = [TEXT[start : start + 5000] for start in range(0, len(TEXT), 5000)]
    alone = [(codec.compress(piece), codec.compress_block(piece)) for piece in pieces]
    with ThreadPoolExecutor(2) as pool:
        backwards = list(pool.map(lambda piece: (codec.compress(piece), codec.compress_block(piece)), pieces[::-1]))
    assert backwards[::-1] == alone


_DIGEST: Final = """
import hashlib, sys
from kinetic_core.packaging.deflate import LIBRARIES, find_codec

(library,) = (library for library in LIBRARIES if library.module == sys.argv[1])
codec = find_codec([library, LIBRARIES[-1]])
text = b"".join(b"def f%d(x):\\n    return x + %d\\n" % (number, number * 7) for number in range(20_000))
digest = hashlib.sha256(codec.name.encode())
for size in (300, 700, 5_000, 40_000, 100_000):
    for start in range(0, len(text), size):
        piece = text[start : start + size]
        digest.update(codec.compress(piece) + codec.compress_block(piece))
# Each has one thing to refer to, at its very start: what a compressor takes for its memory of that is seen at once.
for number in range(12_000):
    head = b"%08d" % (number * 7_919)
    piece = head + b" and so on, until something comes again: " + head + b", for example"
    digest.update(codec.compress(piece) + codec.compress_block(piece))
print(digest.hexdigest())
"""


@pytest.mark.parametrize("library", LIBRARIES, ids=[library.module for library in LIBRARIES])
def test_bytes_do_not_depend_on_what_memory_held_before_or_where_it_lay(library: Library) -> None:
    pytest.importorskip(library.module)

    def digest(**allocator: str) -> str:
        command = [sys.executable, "-c", _DIGEST, library.module]
        return subprocess.run(command, env=os.environ | allocator, capture_output=True, text=True, check=True).stdout

    # What the C library's allocator fills new memory with; then the memory of processes, each laid out anew.
    filled = {digest(MALLOC_PERTURB_=with_what, PYTHONMALLOC="malloc") for with_what in ("1", "90", "165")}
    assert len(filled | {digest() for _ in range(6)}) == 1


@given(data=st.binary(max_size=2000), start=st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("library", LIBRARIES, ids=[library.module for library in LIBRARIES])
def test_every_librarys_checksum_is_the_same(library: Library, data: bytes, start: int) -> None:
    assert codec_of(library).crc32(data, start) == zlib.crc32(data, start)


def test_only_the_head_of_a_long_file_is_judged(codec: Codec) -> None:
    assert codec.is_compressible(b"x" * (64 << 10) + NOISE)
    assert not codec.is_compressible(NOISE + b"x" * (1 << 20))
    assert not codec.is_compressible(b"")


def test_the_first_library_that_is_installed_is_used_and_zlib_always_is() -> None:
    absent = Library("no_such_library", 1, "", "")
    assert find_codec([absent, *LIBRARIES]).name == find_codec().name
    assert find_codec([absent, LIBRARIES[-1]]).name == f"zlib {zlib.ZLIB_RUNTIME_VERSION} level 1"


def test_the_name_tells_library_version_and_level(codec: Codec) -> None:
    library, version, level = codec.name.split(" ", 2)
    assert library in {library.module for library in LIBRARIES}
    assert version[0].isdigit()
    assert level.startswith("level ")

import random
import zlib

from hypothesis import given
from hypothesis import strategies as st

from kinetic_core.packaging.deflate import deflated, deflater, is_compressible

NOISE = random.Random(1).randbytes(200_000)


@given(st.binary(max_size=2000))
def test_what_is_deflated_comes_back_and_is_smaller(data: bytes) -> None:
    body = deflated(data)
    if body is not None:
        assert len(body) < len(data)
        assert zlib.decompress(body, wbits=-15) == data


def test_text_is_deflated() -> None:
    body = deflated(b"x" * 100)
    assert body is not None
    assert zlib.decompress(body, wbits=-15) == b"x" * 100


def test_what_does_not_shrink_is_left_as_it_is() -> None:
    assert deflated(NOISE) is None
    assert deflated(b"") is None
    assert deflated(b"x" * 20) is None


def test_a_stream_in_pieces_is_one_raw_deflate_stream() -> None:
    stream = deflater()
    body = b"".join([stream.compress(b"a" * 1000), stream.compress(b"b" * 1000), stream.flush()])
    assert zlib.decompress(body, wbits=-15) == b"a" * 1000 + b"b" * 1000


def test_only_the_head_of_a_long_file_is_judged() -> None:
    assert is_compressible(b"x" * (64 << 10) + NOISE)
    assert not is_compressible(NOISE + b"x" * (1 << 20))
    assert not is_compressible(b"")

"""Numbers are read as Python reads them, bit for bit."""

import math
import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labelance.datasets.formats._tokenizer import BAD, KNOWN, UNDECIDED, parse_number


def parse(text):
    content = np.frombuffer(f"{text},".encode(), dtype=np.uint8)
    return parse_number(content, 0, len(content) - 1)


def same(a, b):
    return struct.pack("d", a) == struct.pack("d", b) or (math.isnan(a) and math.isnan(b))


digits = st.text("0123456789", max_size=22)
decimals = st.builds(
    lambda sign, a, b, e: f"{sign}{a}.{b}{e}",
    st.sampled_from(["", "+", "-"]),
    digits,
    digits,
    st.just("") | st.integers(-400, 400).map(lambda e: f"e{e:+d}"),
)
texts = (
    decimals
    | st.floats().map(repr)
    | st.integers().map(str)
    | st.floats(width=32).map(lambda value: f"{value:.20e}")
    # Half way between two doubles, where rounding is hardest.
    | st.integers(2**53, 2**62).map(lambda n: str(n | 1))
    | st.text("0123456789+-.eEinfatyINF_ x", max_size=6)
)


@pytest.mark.slow
@given(texts)
@example("9007199254740993")
@example("1.7976931348623157e308")
@example("2.2250738585072011e-308")
@example("8.5e-324")
@example("0.000000000000000000000000000000000001")
@settings(max_examples=400)
def test_numbers_agree_with_python(text):
    state, value = parse(text)
    try:
        # Python also takes blanks around a number and underscores in it, which are none in a file.
        expected = float("x" if text.strip() != text or "_" in text else text)
    except ValueError:
        assert state == BAD
        return
    assert state in (KNOWN, UNDECIDED)
    if state == KNOWN:
        assert same(value, expected)


@pytest.mark.slow
@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=200)
def test_shortest_forms_are_nearly_always_decided(number):
    normal = 1e-300 < abs(number) < 1e300
    if normal:
        assert parse(repr(number)) == (KNOWN, number)


@pytest.mark.parametrize("text", ["", "-", ".", "-.", "e5", "1e", "1e+", "1..2", "--1", "0x1"])
def test_what_is_no_number(text):
    assert parse(text)[0] == BAD

"""Text that a student controls is safe to print: nothing invisible, nothing that steers a terminal, bounded."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanolm.untrusted import printable

ANY_TEXT = st.text(st.characters(), max_size=60)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("modules.py", "modules.py"),
        ("Модуль × 2 – café", "Модуль × 2 – café"),
        (r"C:\temp\x.py", r"C:\temp\x.py"),
        ("a\x1b[31mred", r"a\x1b[31mred"),
        ("tab\there", r"tab\x09here"),
        ("a\r\nb", r"a\x0d\x0ab"),
        ("bell\x07 del\x7f nel\x85", r"bell\x07 del\x7f nel\x85"),
        ("\u202egnp.py\u202c", r"\u202egnp.py\u202c"),
        ("\u2066x\u2069", r"\u2066x\u2069"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("zero\u200bwidth", r"zero\u200bwidth"),
        ("\ufeffbom", r"\ufeffbom"),
        ("\udcff", r"\udcff"),
        ("\ufdd0", r"\ufdd0"),
        ("\uffff", r"\uffff"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_what_is_invisible_is_written_as_an_escape(raw: str, shown: str) -> None:
    assert printable(raw) == shown


def test_line_feeds_survive_only_when_asked_for() -> None:
    assert printable("a\nb\x1b", newlines=True) == "a\nb\\x1b"
    assert printable("a\nb") == r"a\x0ab"


@pytest.mark.parametrize(
    ("raw", "limit", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("abcd", 1, "…"),
        ("ab\x1b", 6, r"ab\x1b"),
        ("ab\x1b", 5, "ab…"),
        ("ab\x1bc", 6, "ab…"),
        ("", 1, ""),
    ],
)
def test_the_cut_keeps_the_limit_and_whole_escapes(raw: str, limit: int, shown: str) -> None:
    assert printable(raw, limit) == shown


def test_the_default_limit_is_200() -> None:
    assert printable("x" * 200) == "x" * 200
    assert printable("x" * 201) == "x" * 199 + "…"


def test_a_limit_below_one_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="limit"):
        printable("x", 0)


@given(ANY_TEXT, st.integers(1, 40))
def test_any_text_becomes_short_and_harmless(raw: str, limit: int) -> None:
    shown = printable(raw, limit)
    assert len(shown) <= limit
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    shown.encode("utf-8")


@given(ANY_TEXT)
def test_printing_what_is_printable_changes_nothing(raw: str) -> None:
    once = printable(raw, 1000)
    assert printable(once, 1000) == once

"""CSV with places: the same values as Python's `csv`, one cell changed and every other byte kept."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.reports.cells import BOM, Sheet, SheetError, cells_of, harmless, points, read_sheet, sheet_text, written

ALPHABET = st.sampled_from(list('ab ;,"\n\r\tЖ=é-'))
TABLES = st.lists(st.lists(st.text(ALPHABET, max_size=6), min_size=2, max_size=4), min_size=1, max_size=5)


@settings(max_examples=300, deadline=None)
@given(TABLES, st.sampled_from(",;\t"), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_values_are_those_of_the_csv_module(table: list[list[str]], delimiter: str, end: str, bom: bool) -> None:
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(table)
    theirs = stream.getvalue()
    assert [[cell.value for cell in row] for row in cells_of(BOM * bom + theirs, delimiter)] == table
    ours = sheet_text(table, end)
    assert list(csv.reader(io.StringIO(ours, newline=""))) == table
    assert [[cell.value for cell in row] for row in cells_of(ours, ",")] == table


@settings(max_examples=200, deadline=None)
@given(TABLES, st.text(ALPHABET, max_size=5), st.data())
def test_one_cell_changes_and_no_other_character(table: list[list[str]], new: str, data: st.DataObject) -> None:
    text = BOM + sheet_text(table, end="\r\n")
    rows = cells_of(text, ",")
    row = data.draw(st.integers(0, len(table) - 1))
    column = data.draw(st.integers(0, len(table[row]) - 1))
    after = Sheet(text, rows, ",").filled({(row, column): new})
    cell = rows[row][column]
    assert after.startswith(text[: cell.start])
    assert after.endswith(text[cell.end :])
    wanted = [list(line) for line in table]
    wanted[row][column] = new
    assert [[each.value for each in line] for line in cells_of(after, ",")] == wanted


def test_nothing_filled_is_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    raw = b'\xef\xbb\xbf"Student" ,ID,\r\n\r\n"M\xc3\xbcller, ""J""\n",4,\n x ,,'
    path.write_bytes(raw.replace(b'" ,', b'",'))
    sheet = read_sheet(path, ["id"])
    assert sheet.filled({}).encode() == path.read_bytes()
    assert sheet.header == ["Student", "ID", ""]
    assert sheet.column(0) == ['Müller, "J"', "x"]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf\n\n", "is empty"),
        (b'a,b\n"x,y\n', "line 2 opens a quote"),
        (b'a,b\n"x"y,z\n', "line 2 has text behind"),
        ("Имя,b\n".encode("cp1251"), "is not UTF-8"),
        ("a,b\n".encode("utf-16"), "is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, raw: bytes, says: str) -> None:
    path = tmp_path / "gradebook.csv"
    path.write_bytes(raw)
    with pytest.raises(SheetError, match=says):
        read_sheet(path)
    with pytest.raises(SheetError, match="cannot be read"):
        read_sheet(tmp_path / "none.csv")


def test_the_delimiter_is_the_one_that_fits(tmp_path: Path) -> None:
    path = tmp_path / "gradebook.csv"
    for delimiter in ",;\t":
        path.write_text(delimiter.join(["Student", "ID", "Task a; b, c" if delimiter == "\t" else "Task"]) + "\n")
        assert read_sheet(path, ["student", "id"]).delimiter == delimiter


def test_a_row_that_is_too_short_is_told(tmp_path: Path) -> None:
    path = tmp_path / "gradebook.csv"
    path.write_text("a,b,c\nx\n,\n")
    with pytest.raises(SheetError, match="row 2 has only 1 cells"):
        read_sheet(path).filled({(1, 2): "5"})


def test_what_a_spreadsheet_would_run_is_made_a_text() -> None:
    for text in ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1"):
        assert harmless(text).startswith("'"), text
    for text in ("Anna", "O'Neil", "a=b", "", "Ёлка", "7"):
        assert harmless(text) == text
    assert written("a") == "a"
    assert written('a "b"') == '"a ""b"""'
    assert written("a;b", ";") == '"a;b"'
    assert written("5", always=True) == '"5"'


def test_points_have_a_dot_and_no_needless_zeros() -> None:
    assert [points(x) for x in (0, 71.5, 100, 33.333, 0.5)] == ["0", "71.5", "100", "33.33", "0.5"]


@pytest.mark.parametrize("sign", ["=1+1", "+1", "-1", "@SUM(A1)", "\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20SUM(A1)"])
@pytest.mark.parametrize("before", ["", "  ", "anna;", "anna;  ", "anna\t"])
def test_no_cell_begins_a_formula_whatever_separates_cells_there(before: str, sign: str) -> None:
    """A spreadsheet of another language takes `;` for the separator, and a full-width sign for the sign."""
    shown = harmless(f"{before}{sign}")
    assert all(cell.strip(" ")[:1] not in set("=+-@\uff1d\uff0b\uff0d\uff20") for cell in re.split("[;\t]", shown))
    assert shown.replace("'", "") == f"{before}{sign}"

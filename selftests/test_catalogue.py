"""The catalogue of texts: complete, used, fillable, and never the formula."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader.bank import read_bank
from nanolm.texts import catalogue, mistake, question_of

ROOT = Path(__file__).resolve().parents[1]
SPECIMENS = read_bank(ROOT)
REJECTED = [specimen for specimen in SPECIMENS if specimen.kind == "rejected"]

# ── The catalogue ────────────────────────────────────────────────────────────────────────────────────────────────────

FORMULA = re.compile(r"sqrt\(|mean\(|rsqrt|\*\*|pow\(|square\(|sigmoid\(|silu\(|\.sum\(|w_gate\(|/ ?\(", re.IGNORECASE)


def templates(table: Mapping[str, object], path: str = "") -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, str):
            yield f"{path}{key}", value
        elif isinstance(value, Mapping):
            yield from templates(value, f"{path}{key}.")


def test_every_mistake_of_the_bank_has_a_title_a_question_and_a_section() -> None:
    ids = {name for specimen in SPECIMENS for name in specimen.mistakes}
    assert len(ids) > 35
    for name in ids:
        entry = mistake(name)
        assert entry["title"].strip()
        assert entry["title"][0].islower()  # it stands inside a sentence
        assert entry["question"].endswith("?")
        assert re.match(r"(M6|W6)", entry["section"])
        assert len(entry["question"]) < 200


def test_questions_and_titles_never_give_the_formula() -> None:
    told = dict(templates({"mistakes": catalogue()["mistakes"], "tests": catalogue()["tests"]}))
    assert len(told) > 100
    assert {path: words for path, words in told.items() if FORMULA.search(words)} == {}
    assert FORMULA.search("is it x / sqrt(mean(x**2) + eps)?")


def graded_tests() -> Iterator[str]:
    for file in sorted((ROOT / "tests").glob("test_*.py")):
        for found in re.finditer(r"@pytest\.mark\.graded\((?:.|\n)*?\ndef (test_\w+)", file.read_text("utf-8")):
            yield found[1]


def test_every_graded_test_asks_a_question_and_no_question_is_left_over() -> None:
    tests = set(graded_tests())
    assert len(tests) >= 28
    for name in tests:
        assert question_of(name).endswith("?"), name
    assert set(catalogue()["tests"]) <= tests
    assert question_of("test_of_nothing") == ""


def keys_in(table: str, key: ast.expr) -> set[str]:
    """The keys that an expression may give: its strings; of an f-string all that fit it, and there must be some."""
    if isinstance(key, ast.JoinedStr):
        parts = [re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"\w+" for part in key.values]
        fitting = {name for name in catalogue()[table] if re.fullmatch("".join(parts), name)}
        assert fitting, ast.unparse(key)
        return fitting
    if isinstance(key, ast.Constant):
        return {str(key.value)}
    return {name for part in ast.iter_child_nodes(key) if isinstance(part, ast.expr) for name in keys_in(table, part)}


def handed_over(tree: ast.Module, name: str, call: ast.Call) -> list[ast.expr]:
    """What a file's own calls hand over as `name`, a parameter of the function that `call` stands in; else nothing."""
    found: list[ast.expr] = []
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        names = [parameter.arg for parameter in function.args.args]
        if name not in names or call not in ast.walk(function):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == function.name:
                by_name = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
                found.append({**dict(zip(names, node.args, strict=False)), **by_name}[name])
    return found


def text_calls() -> Iterator[tuple[str, ast.expr, set[str]]]:
    """Every `text(table, key, …)` of the kit and the tests: the table, the key's expression, the placeholders given.

    Where the key is a parameter of a helper, it is what the helper's callers in that file hand over.
    """
    for file in [*(ROOT / "nanolm").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        tree = ast.parse(file.read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "text" and len(node.args) == 2:
                table, key = node.args
                assert isinstance(table, ast.Constant)
                keys = handed_over(tree, key.id, node) if isinstance(key, ast.Name) else [key]
                assert keys or str(table.value) == "scoreboard", f"{file.name}: {ast.unparse(node)}"
                for one in keys:
                    yield str(table.value), one, {keyword.arg or "" for keyword in node.keywords}


def test_the_code_uses_only_texts_that_are_there_and_fills_in_their_placeholders() -> None:
    used: set[tuple[str, str]] = {("scoreboard", status) for status in ("passed", "failed", "not_attempted")}
    for table, key, given in text_calls():
        for name in keys_in(table, key):
            used.add((table, name))
            fields = {field for _, field, _, _ in string.Formatter().parse(catalogue()[table][name]) if field}
            assert fields <= given, f"{table}.{name} wants {fields}, is given {given}"
    assert len(used) > 40
    told = {(table, key) for table in ("checks", "diagnosis", "messages", "scoreboard") for key in catalogue()[table]}
    assert told - used == set()


def test_every_template_can_be_filled_in() -> None:
    class Anything(dict[str, str]):
        def __missing__(self, key: str) -> str:
            assert key.isidentifier()
            return "7"

    for path, words in templates(catalogue()):
        filled = words.format_map(Anything()) if path.partition(".")[0] not in ("mistakes", "tests") else words
        assert "{" not in filled, path
        assert "}" not in filled, path
        assert filled.strip(), path

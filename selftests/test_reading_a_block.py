"""`docs/notation.md` and `docs/reading-a-block.md`: each line of the pinned package that they cite holds what they say.

A citation is `models/llama/modeling_llama.py:66` `variance + self.variance_epsilon`: that line of that file, seen from
the package's folder, holds that text. The package is read, never imported; where it is absent the tests fail and say
what to install.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from selftests.conformance.field import package_folder, version

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("docs/notation.md", "docs/reading-a-block.md")
MODELS = {
    "Llama 3": "llama",
    "Qwen3": "qwen3",
    "OLMo2": "olmo2",
    "Gemma 3": "gemma3",
    "gpt-oss": "gpt_oss",
    "DeepSeek-V4": "deepseek_v4",
}
"""Heading of a model's section → its folder in the package."""

CITATION = re.compile(r"`([\w/]+\.py):(\d+)`\s`([^`\n]+)`")
PLACE = re.compile(r"`[^`\n]*\.py:[^`\n]*`")
"""Whatever looks like the first half of a citation, well formed or not."""
COURSE = re.compile(r"\bM6 §(\d+)|\bW6\b")


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def lines_of(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def complaint(package: Path, name: str, line: int, text: str) -> str | None:
    """What is wrong with one citation."""
    file = package / name
    if not file.is_file():
        return f"{name}: the package has no such file"
    lines = lines_of(file)
    if not 1 <= line <= len(lines):
        return f"{name}:{line}: the file has {len(lines)} lines"
    if len(re.findall(r"\w", text)) < 4:
        return f"{name}:{line}: {text!r} says too little to be evidence"
    if text not in lines[line - 1]:
        return f"{name}:{line}: {text!r} is not in {lines[line - 1].strip()!r}"
    return None


def complaints(package: Path, text: str) -> list[str]:
    """What is wrong with the citations of a page, those that lack a half included."""
    cited = [(match[1], int(match[2]), match[3]) for match in CITATION.finditer(text)]
    found = [problem for one in cited if (problem := complaint(package, *one))]
    whole = [match.span() for match in CITATION.finditer(text)]
    for match in PLACE.finditer(text):
        if not any(start <= match.start() < end for start, end in whole):
            found.append(f"{match[0]} is not followed by the text of its line")
    return found


def sections() -> dict[str, str]:
    """The parts of docs/reading-a-block.md by their headings."""
    parts = re.split(r"^## (.+)$", page("docs/reading-a-block.md"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(name: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Header and cells of each row of a page's tables."""
    found, header = [], ()
    for line in page(name).splitlines():
        cells = tuple(cell.strip() for cell in line.strip("|").split(" | ")) if line.startswith("|") else ()
        if not cells or set(line) <= set("|-"):
            header = header if cells else ()
        elif not header:
            header = cells
        else:
            found.append((header, cells))
    return found


# ── The pages ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_pages_speak_of_the_package_that_is_pinned_and_installed() -> None:
    pinned = re.search(r"^transformers==(\S+)$", page("requirements-field.lock"), re.MULTILINE)
    assert pinned is not None
    assert version() == pinned[1], "lines move between versions: install requirements-field.lock"
    for name in PAGES:
        assert f"`transformers` {pinned[1]}" in page(name), name


@pytest.mark.parametrize("name", PAGES)
def test_every_citation_stands_where_the_page_says(name: str) -> None:
    assert len(CITATION.findall(page(name))) >= 50
    assert complaints(package_folder("transformers"), page(name)) == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("by", [-1, 1])
def test_a_citation_that_is_one_line_off_is_noticed(name: str, by: int) -> None:
    package = package_folder("transformers")
    unnoticed = [
        (file, line, text)
        for file, line, text in CITATION.findall(page(name))
        if complaint(package, file, int(line) + by, text) is None
    ]
    assert unnoticed == [], "the text is not specific enough: the next line holds it too"


@pytest.mark.parametrize("heading", MODELS)
def test_each_model_answers_the_four_questions_from_its_own_files(heading: str) -> None:
    section = sections()[heading]
    steps = re.findall(r"^\| (\d) \|[^|]+\| `models/", section, re.MULTILINE)
    assert steps == sorted(steps)
    assert set(steps) == {"1", "2", "3", "4"}
    own = (f"models/{MODELS[heading]}/modeling_", f"models/{MODELS[heading]}/configuration_")
    cited = {file for file, _, _ in CITATION.findall(section.partition("A kernel may stand in")[0])}
    assert all(file.startswith(own) for file in cited), cited
    assert len(cited) == 2


def test_each_foreign_name_has_a_source_that_holds_it() -> None:
    checked = 0
    for header, cells in rows("docs/notation.md"):
        if header[-1] != "where":
            continue
        assert len(cells) == len(header), cells
        quotes = " ".join(text for _, _, text in CITATION.findall(cells[-1]))
        sections_named = [int(match[1] or 1) for match in COURSE.finditer(cells[-1])]
        assert quotes or sections_named, cells
        assert all(1 <= number <= 21 for number in sections_named), cells
        names = cells[1:-1] if header[0] == "source" else cells[:1] if header[0] == "name" else ()
        for written in re.findall(r"`([^`]+)`", " ".join(names)) if quotes else ():
            assert written in quotes, f"{written} is not in {quotes}"
            checked += 1
    assert checked >= 50


@pytest.mark.parametrize(
    ("file", "absent"),
    [
        ("models/llama/configuration_llama.py", r"128256|14336"),
        ("models/llama/modeling_llama.py", r"q_norm|\bw[123]\b"),
        ("models/olmo2/modeling_olmo2.py", r"input_layernorm|pre_feedforward_layernorm"),
        ("models/olmo2/configuration_olmo2.py", r"head_dim"),
        ("models/gemma3/modeling_gemma3.py", r"softcap=|(?i:peri)-?ln|forward_from_hub\(\"RMSNorm"),
        ("models/gpt_oss/modeling_gpt_oss.py", r"hidden_act|q_norm|act_fn"),
        *((f"models/{family}/modeling_{family}.py", r"self\.g = |LayerNorm\(") for family in MODELS.values()),
    ],
)
def test_what_the_pages_call_absent_is_absent(file: str, absent: str) -> None:
    text = (package_folder("transformers") / file).read_text(encoding="utf-8")
    assert re.findall(absent, text) == []


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_what_students_get(name: str) -> None:
    prose = re.sub(r"`[^`\n]+`", "", page(name))
    for link, _, anchor in re.findall(r"\]\(([^)#]+)(#([^)]*))?\)", prose):
        target = ((ROOT / name).parent / link).resolve().relative_to(ROOT).as_posix()
        assert target in PAGES, f"{link} is not in the students' copy"
        slugs = [re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in headings(target)]
        assert not anchor or anchor in slugs, anchor


def headings(name: str) -> list[str]:
    return re.findall(r"^#+ (.+)$", page(name), re.MULTILINE)


# ── The check itself ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of one file with three lines."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "small.py").write_text("class Norm:\n    def forward(self, x):\n        return x\n", "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`models/small.py:2` `def forward(self, x)`", None),
        ("`models/small.py:2`\n`def forward(self, x)`", None),
        ("`models/small.py:1` `def forward(self, x)`", "is not in 'class Norm:'"),
        ("`models/small.py:3` `def forward(self, x)`", "is not in 'return x'"),
        ("`models/small.py:2` `def forward(self, y)`", "is not in 'def forward(self, x):'"),
        ("`models/small.py:4` `def forward(self, x)`", "the file has 3 lines"),
        ("`models/small.py:0` `def forward(self, x)`", "the file has 3 lines"),
        ("`models/large.py:2` `def forward(self, x)`", "no such file"),
        ("`models/small.py:3` `x`", "says too little"),
        ("`models/small.py:2`", "is not followed by the text"),
        ("`models/small.py:2`: `def forward(self, x)`", "is not followed by the text"),
        ("`models/small.py:2-3` `def forward(self, x)`", "is not followed by the text"),
        ("`../models/small.py:2` `def forward(self, x)`", "is not followed by the text"),
        ("`models/small.py:2` `def forward(self, x)` and `models/small.py:3`", "is not followed by the text"),
    ],
)
def test_a_citation_is_right_or_it_is_refused(package: Path, text: str, expected: str | None) -> None:
    found = complaints(package, text)
    assert len(found) == (expected is not None), found
    assert expected is None or expected in found[0]

"""The bank of attacks, graded as one class at every level that this machine offers: nothing unearned, hung, leaked or
left, and honest work beside it unharmed. `docs/attacks.md` says what each level does not stop.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from selftests import attack_report
from selftests.attack_bank import (
    BANK,
    CLASSES,
    HONEST,
    LEVELS,
    ROOT,
    Attack,
    HeadError,
    honest_submissions,
    read_attack,
    read_attacks,
    write_attack,
)
from selftests.attack_report import Finding, Run, clear, findings, summary, undeclared
from selftests.test_isolation import OFFERED

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="what is left is read from /proc")

ATTACKS = read_attacks()
FEWEST = 80
OFFERED_LEVELS = [level.value for level in OFFERED] + ["weak"]


@pytest.fixture(scope="module")
def grade(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """Grades the whole bank at a level, once."""
    runs: dict[str, Run] = {}

    def of(level: str) -> Run:
        if level not in runs:
            attacks = [attack for attack in ATTACKS if level in attack.levels]
            runs[level] = Run(level, tmp_path_factory.mktemp(level), attacks)
            try:
                runs[level].grade()
            finally:
                clear(runs[level])
        return runs[level]

    return of


@pytest.mark.parametrize("level", OFFERED_LEVELS)
def test_no_attack_succeeds_that_is_not_declared_open(level: str, grade: Callable[[str], Run]) -> None:
    run = grade(level)
    assert [f"{found.label} {found.sort}: {found.evidence[:800]}" for found in undeclared(run)] == []
    assert len(run.grades) == len(run.attacks) + 2 * len(honest_submissions())


@pytest.mark.parametrize("level", OFFERED_LEVELS)
def test_the_page_counts_what_is_measured(level: str, grade: Callable[[str], Run]) -> None:
    page = (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8")
    unsure = {attack.label for attack in ATTACKS if attack.unsure}
    for kind, counts in summary(grade(level)).items():
        row = re.search(rf"^\| {kind} \| {level} \| (.*) \|$", page, re.MULTILINE)
        assert row is not None, f"{kind} at {level}: {counts}"
        told = [int(cell) for cell in row[1].split(" | ")]
        slack = sum(label.startswith(f"{kind}-") for label in unsure)
        assert all(abs(a - b) <= slack for a, b in zip(told, counts, strict=True)), f"{kind} at {level}: {counts}"


# --- the bank itself -------------------------------------------------------------------------------------------------


def test_the_bank_is_whole() -> None:
    kinds = Counter(attack.kind for attack in ATTACKS)
    assert set(kinds) == set(CLASSES)
    assert min(kinds.values()) >= 8
    assert len(ATTACKS) >= FEWEST
    folders = {path.name for path in BANK.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == {*CLASSES, HONEST}
    page = (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8")
    assert [attack.label for attack in ATTACKS if attack.open and f"`{attack.label}`" not in page] == []


def test_nothing_is_open_where_workers_are_shut_in_but_what_one_process_cannot_stop() -> None:
    held = {attack.label for attack in ATTACKS if {"full", "medium"} & attack.open.keys()}
    assert held == {"shortcut-forged_parameters_found"}
    assert all(set(attack.levels) >= set(LEVELS) - {"weak"} for attack in ATTACKS)


@pytest.mark.parametrize(
    "head",
    [
        "",
        '# tries = "no end"\n',
        '# tries = "an unknown key"\n# colour = 3\n# ///\n',
        '# exercise = "no such"\n# tries = "x"\n# ///\n',
        '# tries = "left out without a reason"\n# levels = ["full"]\n# ///\n',
        '# tries = "x"\n# marks = "nobody"\n# ///\n',
        '# tries = "x"\n# open = { strict = "x" }\n# ///\n',
        "# exercise = 3 3\n# ///\n",
        'tries = "no comment"\n# ///\n',
    ],
)
def test_a_head_that_is_wrong_is_refused(head: str, tmp_path: Path) -> None:
    path = tmp_path / "attack.py"
    path.write_text(("# /// attack\n" if head else "") + head)
    with pytest.raises(HeadError):
        read_attack(path)


# --- the harness sees what it should ---------------------------------------------------------------------------------

RIGHT = (ROOT / "solutions" / "modules.py").read_text(encoding="utf-8")


def pretend(name: str, text: str, **head: Any) -> Attack:
    return Attack("pretend", name, text, "what the harness must see", **head)


PRETENDED: dict[str, tuple[Attack, str]] = {
    "it earns": (pretend("earns", RIGHT, outcomes=("passed",)), "earned"),
    "it earns more than an honest file": (pretend("more", RIGHT, marks="identity"), "earned"),
    "it ends otherwise": (pretend("otherwise", "raise ValueError", outcomes=("crashed",)), "outcome"),
    "it takes long": (
        pretend("long", "import time\ntime.sleep(0.5)\nraise ValueError", seconds=0.3, outcomes=("exception",)),
        "hung",
    ),
    "it leaks": (pretend("leaks", "raise ValueError(open('@COURSE@/tests/oracles.py').read()[-400:])"), "leaked"),
    "it leaks in disguise": (
        pretend("disguised", "raise ValueError(open('@COURSE@/solutions/block.py').read().strip()[::-1])"),
        "leaked",
    ),
    "it leaves a file": (
        pretend("leaves", "open('@CLASS@/canary-left-@NAME@', 'w').close()\nraise ValueError"),
        "left",
    ),
    "it is open and does nothing": (pretend("stale", "raise ValueError", open={"weak": "nothing"}), "stale"),
}


@pytest.fixture(scope="module")
def pretended(tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = Run("weak", tmp_path_factory.mktemp("pretended"), [attack for attack, _ in PRETENDED.values()])
    run.grade()
    return run


@pytest.mark.parametrize("what", PRETENDED)
def test_an_attack_that_succeeds_is_seen(what: str, pretended: Run) -> None:
    attack, sort = PRETENDED[what]
    assert {found.sort for found in undeclared(pretended) if found.label == attack.label} == {sort}


def test_a_declared_success_is_no_finding_and_says_nothing_of_others(pretended: Run) -> None:
    attacks = [replace(attack, open={"weak": "declared"}) for attack in pretended.attacks]
    declared = replace(pretended, attacks=attacks)
    told = {(found.label, found.sort) for found in undeclared(declared)}
    # An outcome that no head lists is told all the same, and is no success.
    assert told == {("pretend-stale", "stale"), ("pretend-otherwise", "stale"), ("pretend-otherwise", "outcome")}


def changed(run: Run, **changes: Any) -> list[str]:
    """What is found wrong with everything once a run has been tampered with."""
    return [found.sort for found in findings(replace(run, **changes)) if found.label == "everything"]


def test_what_is_wrong_with_a_run_as_a_whole_is_seen(pretended: Run) -> None:
    told = {"output": "", "status": 0, "strays": [], "changed": []}
    assert changed(pretended, **told) == []
    assert changed(pretended, **{**told, "status": 1}) == ["broke"]
    assert changed(pretended, **{**told, "strays": [1]}) == ["left"]
    assert changed(pretended, **{**told, "changed": ["/tmp/x"]}) == ["left"]
    assert changed(pretended, **{**told, "output": pretended.canaries["environment"]}) == ["leaked"]
    for output in ("\x1b[2J", "a\nFORGED", "  ::error::x", "##[group]"):
        assert changed(pretended, **{**told, "output": output}) == ["shown"]
    worse = {name: dict(entry) for name, entry in pretended.grades.items()}
    worse["z-after-identity"]["exercises"] = []
    worse["z-after-reference"]["score"] = 1.0
    assert changed(pretended, **told, grades=worse) == ["honest", "honest"]
    del worse["z-after-identity"]
    assert "honest" in changed(pretended, **told, grades=worse)


def test_a_missing_row_is_seen(pretended: Run) -> None:
    rows = {name: entry for name, entry in pretended.grades.items() if name != "pretend-earns"}
    assert Finding("pretend-earns", "broke", "it has no row") in findings(replace(pretended, grades=rows))


def test_places_are_filled_in(tmp_path: Path) -> None:
    write_attack(pretend("places", "x = '@COURSE@ @NAME@ @NOWHERE@'"), tmp_path, {"COURSE": "/c"})
    text = (tmp_path / "pretend-places" / "modules.py").read_text()
    assert text == "x = '/c pretend-places @NOWHERE@'"


def test_no_disguise_of_a_canary_is_found_where_none_is() -> None:
    canary = {"tests": "canary0123456789abcdef01234567tests"}
    assert attack_report.leaks("canary " * 20, canary) == []
    assert attack_report.leaks("x" + canary["tests"].encode().hex(), canary) == ["tests"]

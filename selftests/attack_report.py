"""One grading run over a class of attacks and what is found wrong with it afterwards."""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader import linux, scratch
from nanolm.course import EXERCISES
from selftests.attack_bank import CLASSES, ROOT, Attack, honest_submissions, read_attacks, write_attack

COPIED = ("tests", "solutions", "mistakes", "exercises")
MOST_TEXT = 5000
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\u200b-\u200f\ufeff]")
FORGED = re.compile(r"^FORGED|^\s*::[a-z]|##\[|##vso\[", re.MULTILINE)
"""A line of an attack's own, or a command in a workflow's log."""


@dataclass(frozen=True)
class Finding:
    """Something that should not be: which attack (or `everything`), of which sort, and the evidence."""

    label: str
    sort: str
    evidence: str


@dataclass
class Run:
    """The course, the class and the result of one grading run."""

    level: str
    folder: Path
    attacks: Sequence[Attack]
    canaries: dict[str, str] = field(default_factory=dict)
    output: str = ""
    status: int = -1
    seconds: float = 0.0
    grades: dict[str, Any] = field(default_factory=dict)
    strays: list[int] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    @property
    def course(self) -> Path:
        return self.folder / "course"

    @property
    def submissions(self) -> Path:
        return self.folder / "class"

    @property
    def scratch(self) -> Path:
        return self.folder / "tmp"

    def grade(self) -> None:
        """Plant the canaries, make the class, grade it once and look around."""
        self._plant()
        exercises = self._write_class()
        names = self.folder / "exercises.json"
        names.write_text(json.dumps(exercises))
        mark = f"nanolm-attacks-{os.getpid()}-{self.level}"
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "NANOLM"))}
        environment |= {
            "LANG": mark,  # the one variable of ours that workers inherit
            "TMPDIR": str(self.scratch),
            "PYTHONUTF8": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "NANOLM_SECRET": self.canaries["environment"],
            "CANARY": self.canaries["environment"],
        }
        arguments = ["--class", self.submissions, "--course", self.course, "--isolation", self.level]
        arguments += ["--processes", "2", "--messages", "--round", "attacks", "--json", self.folder / "grades.json"]
        before = self._files()
        children = set(linux.children())
        linux.adopt_orphans()
        start = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "selftests.attack_run", str(names), *map(str, arguments)],
            cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=300,
        )  # fmt: skip
        self.seconds = time.monotonic() - start
        self.status = done.returncode
        self.output = (done.stdout + done.stderr).decode("utf-8", "replace")
        deadline = time.monotonic() + 5
        while (left := self._left(mark, children)) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.strays = left
        self.changed = sorted(before.symmetric_difference(self._files()))
        with suppress(OSError):
            told = json.loads((self.folder / "grades.json").read_text(encoding="utf-8"))
            self.grades = {entry["submission"]: entry for entry in told["submissions"]}

    def _plant(self) -> None:
        for place in ("tests", "solutions", "mistakes", "environment", "neighbour"):
            self.canaries[place] = f"canary{secrets.token_hex(12)}{place}"
        self.scratch.mkdir()
        for name in COPIED:
            shutil.copytree(ROOT / name, self.course / name, ignore=shutil.ignore_patterns("__pycache__"))
            for path in (self.course / name).rglob("*.py") if name in self.canaries else ():
                with path.open("a", encoding="utf-8") as file:
                    file.write(f'\nCANARY = "{self.canaries[name]}"\n')

    def _write_class(self) -> dict[str, list[str]]:
        """Honest submissions first and last, the attacks between them."""
        self.submissions.mkdir()
        places = {"COURSE": str(self.course), "CLASS": str(self.submissions), "REPOSITORY": str(ROOT)}
        exercises = {}
        wanted = sorted({"rmsnorm", *(attack.exercise for attack in self.attacks)}, key=list(EXERCISES).index)
        for name, files in honest_submissions().items():
            for when in ("0-before", "z-after"):
                folder = self.submissions / f"{when}-{name}"
                folder.mkdir()
                for file, text in files.items():
                    secret = f'\nNEIGHBOUR = "{self.canaries["neighbour"]}"\n' if name == "reference" else ""
                    (folder / file).write_text(text + secret, encoding="utf-8")
                exercises[folder.name] = wanted if name == "reference" else ["rmsnorm"]
        for attack in self.attacks:
            write_attack(attack, self.submissions, places)
            exercises[attack.label] = [attack.exercise]
        return exercises

    def _files(self) -> set[str]:
        """Every file, with its size and time, that grading has no business with."""
        found = set()
        for folder in (self.course, self.submissions, self.scratch, Path("/tmp"), Path("/dev/shm"), Path.home()):
            deep = folder.is_relative_to(self.folder)
            for path in folder.rglob("*") if deep else folder.glob("*canary-left*"):
                state = path.lstat()
                if path.name != "__pycache__" and path.suffix != ".pyc":
                    found.add(f"{path} {state.st_mode} {state.st_size} {0 if path.is_dir() else state.st_mtime_ns}")
        return found

    @staticmethod
    def _left(mark: str, children: set[int]) -> list[int]:
        left = set(linux.children()) - children
        for pid in sorted(left):
            with suppress(OSError):
                if os.waitpid(pid, os.WNOHANG)[0]:
                    left.discard(pid)  # one that had ended: only its status was left
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    if mark.encode() in (entry / "environ").read_bytes():
                        left.add(int(entry.name))
                except OSError:
                    continue
        return sorted(left)


def clear(run: Run) -> None:
    """Remove what open attacks left outside the run's own folder, and folders that nobody else can remove."""
    for folder in (Path("/tmp"), Path("/dev/shm"), Path.home()):
        for path in folder.glob("canary-left-*"):
            path.unlink(missing_ok=True)
    scratch.remove(run.submissions)


# --- what is found ---------------------------------------------------------------------------------------------------


def findings(run: Run) -> list[Finding]:
    """Everything that is wrong with a run, attack by attack, then as a whole."""
    found = [finding for attack in run.attacks for finding in _of_attack(run, attack)]
    labels = [attack.label for attack in run.attacks]
    for change in run.changed:
        found.append(Finding(next((label for label in labels if label in change), "everything"), "left", change))
    if run.strays:
        found.append(Finding("everything", "left", f"processes {run.strays}"))
    if run.status not in (0, 3):
        found.append(Finding("everything", "broke", f"exit status {run.status}: {run.output[-1500:]}"))
    for steering in filter(None, (UNPRINTABLE.search(run.output), FORGED.search(run.output))):
        around = run.output[max(0, steering.start() - 60) : steering.end() + 60]
        found.append(
            Finding("everything", "shown", f"what steers a terminal or a workflow, or a forged line: {around!a}")
        )
    told = {finding.evidence for finding in found if finding.sort == "leaked"}
    found += [
        Finding("everything", "leaked", f"{place} in the command's output")
        for place in leaks(run.output, run.canaries)
        if place not in told
    ]
    return [*found, *_of_honest(run)]


def _of_attack(run: Run, attack: Attack) -> Iterator[Finding]:
    entry = next((entry for name, entry in run.grades.items() if name.startswith(attack.label)), None)
    if entry is None:
        yield Finding(attack.label, "broke", "it has no row")
        return
    tests = _tests(entry)
    outcomes = {test["outcome"] for test in tests} or {entry["status"]}
    if entry["status"] == "ungradable":
        outcomes = {"ungradable"}
    allowed = set(attack.outcomes)
    if isinstance(attack.marks, str):
        allowed |= {test["outcome"] for test in _tests(run.grades[f"0-before-{attack.marks}"])}
    if not outcomes <= (allowed or {"exception"}):
        yield Finding(attack.label, "outcome", f"{sorted(outcomes)}: {entry.get('reason', '')} {_first_message(tests)}")
    passed = {test["id"] for test in tests if test["score"] > 0}
    if isinstance(attack.marks, str):
        extra = passed - _passed(run, attack.marks)
        if extra:
            yield Finding(attack.label, "earned", f"{len(extra)} tests, {sorted(extra)[0]}")
    elif entry["score"] > attack.marks:
        yield Finding(attack.label, "earned", f"{entry['score']} points: {sorted(passed)[:3]}")
    if entry["seconds"] > attack.seconds:
        yield Finding(attack.label, "hung", f"{entry['seconds']:.1f} s")
    text = json.dumps(entry, ensure_ascii=False)
    for place in leaks(text, run.canaries):
        yield Finding(attack.label, "leaked", place)
    shown = [value for value in _texts(entry) if UNPRINTABLE.search(value) or len(value) > MOST_TEXT]
    if shown:
        yield Finding(attack.label, "shown", ascii(shown[0][:200]))


def _first_message(tests: Sequence[Mapping[str, Any]]) -> str:
    return next((f"{test['outcome']}: {test['message'][:600]}" for test in tests if test["message"]), "")


def _tests(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A submission's tests; those that need a GPU are not run here, and tell nothing of an attack."""
    tests = [test for exercise in entry["exercises"] for test in exercise["tests"]]
    return [test for test in tests if test["outcome"] != "not_run_here"]


def _passed(run: Run, name: str) -> set[str]:
    return {test["id"] for test in _tests(run.grades[f"0-before-{name}"]) if test["score"] > 0}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def leaks(text: str, canaries: Mapping[str, str]) -> list[str]:
    """Places whose canary stands in a text, plainly or in a simple disguise."""
    found = []
    for place, canary in canaries.items():
        secret = canary.encode()
        disguises = [canary, canary[::-1], secret.hex(), canary.swapcase(), " ".join(canary)]
        disguises += [base64.b64encode(secret[skip:])[:-4].decode() for skip in range(3)]
        if any(disguise in text for disguise in disguises):
            found.append(place)
    return found


def _of_honest(run: Run) -> Iterator[Finding]:
    """The reference has all its marks; every honest submission has the same verdicts before and after."""
    for name in honest_submissions():
        entries = [run.grades.get(f"{when}-{name}") for when in ("0-before", "z-after")]
        if None in entries:
            yield Finding("everything", "honest", f"{name} has no row")
            continue
        verdicts = [[{**e, "notes": []} for e in entry["exercises"]] for entry in entries if entry]
        if verdicts[0] != verdicts[1]:
            yield Finding("everything", "honest", f"{name} was graded otherwise after the attacks than before")
        if name == "reference" and any(entry["score"] != entry["max_score"] for entry in entries if entry):
            messages = [_first_message(e["tests"]) for entry in entries if entry for e in entry["exercises"]]
            yield Finding("everything", "honest", f"the reference lost marks: {[m for m in messages if m][:2]}")


def undeclared(run: Run) -> list[Finding]:
    """What no head declares as open at this level, and what a head declares that did not happen."""
    found = findings(run)
    is_open = {attack.label for attack in run.attacks if run.level in attack.open}
    unsure = {attack.label for attack in run.attacks if attack.unsure}
    hit = {finding.label for finding in found if finding.sort != "outcome"}
    stale = [Finding(label, "stale", "declared open, and stopped") for label in sorted(is_open - hit - unsure)]
    rest = [finding for finding in found if finding.label not in is_open or finding.sort == "outcome"]
    return [*rest, *stale]


def summary(run: Run) -> dict[str, list[int]]:
    """For each class: attacks run, and how many of them earned, hung, leaked, or left something behind."""
    found = findings(run)
    told = {}
    for kind in dict.fromkeys(attack.kind for attack in run.attacks):
        mine = {attack.label for attack in run.attacks if attack.kind == kind}
        told[kind] = [len(mine)]
        for sort in ("earned", "hung", "leaked", "left"):
            told[kind].append(len({finding.label for finding in found if finding.sort == sort} & mine))
    return told


def table(runs: Sequence[Run]) -> list[str]:
    """The page's table: a row a class and level."""
    lines = ["| class | level | attacks | earned | hung | leaked | left |", "|---|---|---:|---:|---:|---:|---:|"]
    summaries = {run.level: summary(run) for run in runs}
    for kind in CLASSES:
        for level, told in summaries.items():
            if kind in told:
                lines.append(f"| {kind} | {level} | {' | '.join(map(str, told[kind]))} |")
    return lines


def main() -> None:
    """Print the page's table, measured at every level that this machine offers."""
    from selftests.test_isolation import OFFERED

    runs = []
    for level in [*(level.value for level in OFFERED), "weak"]:
        folder = scratch.make()
        runs.append(Run(level, folder, [attack for attack in read_attacks() if level in attack.levels]))
        try:
            runs[-1].grade()
        finally:
            clear(runs[-1])
            scratch.remove(folder)
        for found in undeclared(runs[-1]):
            print(f"{level}: {found.label} {found.sort}: {found.evidence[:600]}")
        print(f"{level}: {len(runs[-1].attacks)} attacks in {runs[-1].seconds:.0f} s")
    print("\n".join(table(runs)))


if __name__ == "__main__":
    main()

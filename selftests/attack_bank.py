"""The bank of attacks as data: what each file's head says, and the class of submissions that they make.

An attack is `attacks/<class>/<name>.py`. It begins with a head, TOML in comments:

    # /// attack
    # exercise = "rmsnorm"
    # tries = "returns an object that equals everything"
    # outcomes = ["wrong_interface"]
    # ///

The keys are those of `Attack`; a default stands where a head says nothing. In `packaging/` a file is a builder instead:
its `build(folder, right)` makes one entry of the class's folder, `right` being the reference's modules.py.
"""

from __future__ import annotations

import runpy
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nanolm.course import EXERCISES

ROOT = Path(__file__).resolve().parent.parent
BANK = Path(__file__).resolve().parent / "attacks"
CLASSES = (
    "runner", "injection", "leak", "return_value", "input", "resources", "escape", "protocol", "shortcut", "packaging",
)  # fmt: skip
HONEST = "honest"
BEGIN, END = "# /// attack\n", "# ///\n"
LEVELS = ("full", "medium", "weak")


class HeadError(ValueError):
    """A file of the bank whose head is missing or wrong."""


@dataclass(frozen=True)
class Attack:
    """One hostile submission."""

    kind: str
    name: str
    text: str
    tries: str
    """One line: what it tries."""
    exercise: str = "rmsnorm"
    outcomes: tuple[str, ...] = ()
    """Each of its tests ends in one of these, or as the honest file's tests do that `marks` names; without either,
    `exception`. `ungradable` where nothing of it may be read.
    """
    marks: str | float = 0
    """At most this; or an honest file, `honest/<name>.py` or the `reference`: no test that fails that one is passed."""
    rides: bool = False
    """The text follows the reference's own file: an attack on top of a right answer."""
    seconds: float = 20.0
    levels: tuple[str, ...] = LEVELS
    """Where it runs; `why` says what it would do outside a process elsewhere."""
    why: str = ""
    open: Mapping[str, str] = field(default_factory=dict)
    """Level → what it would take to stop it there, for an attack that succeeds."""
    unsure: bool = False
    """Whether an open attack succeeds depends on the machine's speed."""

    @property
    def label(self) -> str:
        """Its name in the class's folder."""
        return f"{self.kind}-{self.name}"

    @property
    def file(self) -> str:
        """The file of the exercise that it stands for."""
        return EXERCISES[self.exercise].file


def read_attack(path: Path) -> Attack:
    """One file of the bank; raises HeadError."""
    text = path.read_text(encoding="utf-8")
    if not text.startswith(BEGIN) or END not in text[len(BEGIN) :]:
        raise HeadError(f"{path}: no head")
    lines = text[len(BEGIN) : text.index(END, len(BEGIN))].splitlines()
    if not all(line.startswith("# ") for line in lines):
        raise HeadError(f"{path}: a head's lines begin with '# '")
    try:
        head = tomllib.loads("\n".join(line[2:] for line in lines))
        for key in ("outcomes", "levels"):
            if key in head:
                head[key] = tuple(head[key])
        attack = Attack(path.parent.name, path.stem, text, **head)
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise HeadError(f"{path}: {error}") from error
    wrong = (
        attack.exercise not in EXERCISES
        or not {*attack.levels, *attack.open} <= set(LEVELS)
        or (set(attack.levels) != set(LEVELS) and not attack.why)
        or (isinstance(attack.marks, str) and attack.marks != "reference" and not honest_file(attack.marks).is_file())
    )
    if wrong:
        raise HeadError(f"{path}: an unknown exercise, level or honest file, or a level left out without a reason")
    return attack


def read_attacks(bank: Path = BANK) -> list[Attack]:
    """Every attack, class by class."""
    return [read_attack(path) for kind in CLASSES for path in sorted((bank / kind).glob("*.py"))]


def honest_file(name: str) -> Path:
    """An honest submission that comes along, right or wrong: what attacks are measured by."""
    return BANK / HONEST / f"{name}.py"


def honest_submissions() -> dict[str, dict[str, str]]:
    """Files of each honest submission by name: the reference, and each of `honest/` in place of its modules.py."""
    names = {exercise.file for exercise in EXERCISES.values()}
    reference = {name: (ROOT / "solutions" / name).read_text(encoding="utf-8") for name in sorted(names)}
    others = {
        path.stem: {"modules.py": path.read_text(encoding="utf-8")} for path in sorted((BANK / HONEST).glob("*.py"))
    }
    return {"reference": reference} | others


def write_attack(attack: Attack, folder: Path, places: Mapping[str, str]) -> None:
    """Make the attack's entry in a class's folder; `@COURSE@` and the like stand for this run's places."""
    right = (ROOT / "solutions" / attack.file).read_text(encoding="utf-8")
    if attack.kind == "packaging":
        path = BANK / attack.kind / f"{attack.name}.py"
        runpy.run_path(str(path))["build"](folder / attack.label, right)
        return
    text = f"{right}\n\n{attack.text}" if attack.rides else attack.text
    for name, value in {**places, "NAME": attack.label}.items():
        text = text.replace(f"@{name}@", value)
    (folder / attack.label).mkdir()
    (folder / attack.label / attack.file).write_text(text, encoding="utf-8")

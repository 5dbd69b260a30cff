"""The ledger: every verdict that was ever given, in one SQLite file that only grows.

A verdict is written by the trusted process as its test ends. Its key is everything that decided it: what was handed in,
the tests, the machine's software, the round, the device and the test. So what is known need not be graded again, and a
run that was killed goes on where it stopped. `infrastructure` is written down and never answers for anything.
"""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from grader.job import Job
from grader.sandbox import Level
from grader.session import OnVerdict
from nanolm.protocol import Outcome
from nanolm.verdict import Verdict

VERSION = 1
BUSY_SECONDS = 30.0

TABLES = """
CREATE TABLE IF NOT EXISTS verdicts (
    submission TEXT NOT NULL, bundle TEXT NOT NULL, environment TEXT NOT NULL, round TEXT NOT NULL,
    device TEXT NOT NULL, test TEXT NOT NULL, isolation TEXT NOT NULL,
    outcome TEXT NOT NULL, score REAL NOT NULL, max_score REAL NOT NULL, seconds REAL NOT NULL, seed INTEGER NOT NULL,
    recorded REAL NOT NULL, verdict TEXT NOT NULL,
    PRIMARY KEY (submission, bundle, environment, round, device, test, isolation)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS troubles (
    submission TEXT NOT NULL, test TEXT NOT NULL, message TEXT NOT NULL, recorded REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS submissions (
    submission TEXT PRIMARY KEY, texts BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS received (
    name TEXT NOT NULL, submission TEXT NOT NULL, round TEXT NOT NULL, recorded REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS tests (
    bundle TEXT NOT NULL, test TEXT NOT NULL, catches TEXT NOT NULL, PRIMARY KEY (bundle, test)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS environments (environment TEXT PRIMARY KEY, described TEXT NOT NULL) WITHOUT ROWID;
"""
GROWING = ("verdicts", "tests", "troubles", "submissions", "received", "environments")


class LedgerError(RuntimeError):
    """The ledger cannot be used; the text says why and what to do."""


@dataclass(frozen=True)
class Circumstances:
    """What decides a verdict beside the submission and the test."""

    bundle: str
    environment: str
    round: str
    device: str = "cpu"


@dataclass(frozen=True)
class Entry:
    """One row of the ledger: a verdict and what it was given under."""

    submission: str
    circumstances: Circumstances
    isolation: Level
    seed: int
    verdict: Verdict


@dataclass(frozen=True)
class Known:
    """Verdicts on one submission by test id, and the lowest level among theirs."""

    verdicts: Mapping[str, Verdict]
    isolation: Level


class Ledger:
    """An open ledger. Each process opens its own; SQLite keeps them apart."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._caught: dict[str, dict[str, tuple[str, ...]]] = {}
        try:
            self._db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
            self._prepare()
        except sqlite3.Error as error:
            raise LedgerError(
                f"{path} cannot be used as a ledger: {error}. Name another file, or restore it."
            ) from error

    def _prepare(self) -> None:
        version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        if version not in (0, VERSION):
            raise LedgerError(
                f"{self.path} was written by another version (format {version}, this one reads {VERSION})"
            )
        # A killed process loses nothing that it had committed; readers and writers do not wait for each other.
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        if version == 0:
            with self.transaction():
                for statement in [part for part in TABLES.split(";") if part.strip()]:
                    self._db.execute(statement)
                for table in GROWING:
                    for change in ("UPDATE", "DELETE"):
                        self._db.execute(
                            f"CREATE TRIGGER IF NOT EXISTS {table}_{change} BEFORE {change} ON {table} "
                            "BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END"
                        )
                self._db.execute(f"PRAGMA user_version = {VERSION}")

    def __enter__(self) -> Self:
        """Use it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close this process's connection."""
        with suppress(sqlite3.Error):
            self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside, or nothing of it."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def receive(
        self, name: str, submission: str, round_name: str, texts: Mapping[str, str], problems: Mapping[str, str]
    ) -> None:
        """Note that a submission of that name was handed in for a round, and keep what was read of it.

        What was handed in last time is not noted again; what was handed in before that is, since it is the newest now.
        """
        packed = zlib.compress(json.dumps([dict(texts), dict(problems)]).encode())
        self._db.execute("INSERT OR IGNORE INTO submissions VALUES (?, ?)", (submission, packed))
        if self.newest(name, round_name) != submission:
            row = (name, submission, round_name, time.time())
            self._db.execute("INSERT OR IGNORE INTO received VALUES (?, ?, ?, ?)", row)

    def describe(self, environment: str, described: str) -> None:
        """Keep in words what an environment's hash stands for."""
        self._db.execute("INSERT OR IGNORE INTO environments VALUES (?, ?)", (environment, described))

    def record(self, entry: Entry) -> None:
        """Write a verdict; one that is known already stays as it is."""
        verdict = entry.verdict
        if verdict.outcome is Outcome.INFRASTRUCTURE:
            row = (entry.submission, verdict.test, verdict.message, time.time())
            self._db.execute("INSERT INTO troubles VALUES (?, ?, ?, ?)", row)
            return
        at = entry.circumstances
        if verdict.test not in self._catches(at.bundle):
            self._db.execute(
                "INSERT OR IGNORE INTO tests VALUES (?, ?, ?)", (at.bundle, verdict.test, " ".join(verdict.catches))
            )
            self._caught[at.bundle][verdict.test] = verdict.catches
        # Which mistakes a test must catch is the same for everybody, and longer than all the rest.
        kept = {name: value for name, value in verdict.to_data().items() if name != "catches"}
        self._db.execute(
            "INSERT OR IGNORE INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                entry.submission, at.bundle, at.environment, at.round, at.device, verdict.test, entry.isolation.value,
                verdict.outcome.value, verdict.score, verdict.max_score, verdict.seconds, entry.seed, time.time(),
                json.dumps(kept, ensure_ascii=False),
            ),
        )  # fmt: skip

    def _catches(self, bundle: str) -> dict[str, tuple[str, ...]]:
        """Which mistakes each test of a bundle must catch, as far as the ledger knows."""
        if bundle not in self._caught:
            rows = self._db.execute("SELECT test, catches FROM tests WHERE bundle = ?", (bundle,))
            self._caught[bundle] = {test: tuple(catches.split()) for test, catches in rows}
        return self._caught[bundle]

    def _verdict(self, bundle: str, data: str) -> Verdict:
        kept = json.loads(data)
        if kept["test"] not in self._catches(bundle):  # another process may have written it since
            del self._caught[bundle]
        return Verdict.from_data({**kept, "catches": self._catches(bundle).get(kept["test"], ())})

    def known(self, submission: str, circumstances: Circumstances, least: Level) -> Known:
        """Verdicts that answer for a level: given at it or at a tighter one; of two the tighter."""
        rows = self._db.execute(
            "SELECT isolation, verdict FROM verdicts WHERE submission = ? AND bundle = ? AND environment = ? "
            "AND round = ? AND device = ?",
            (submission, circumstances.bundle, circumstances.environment, circumstances.round, circumstances.device),
        )
        found: dict[str, tuple[int, Verdict]] = {}
        for isolation, data in rows:
            rank, verdict = Level(isolation).rank, self._verdict(circumstances.bundle, data)
            if rank >= least.rank and rank > found.get(verdict.test, (-1, None))[0]:
                found[verdict.test] = (rank, verdict)
        lowest = min((rank for rank, _ in found.values()), default=0)
        level = next(level for level in Level if level.rank == lowest)
        return Known({test: verdict for test, (_, verdict) in found.items()}, level)

    def read(self, submission: str) -> tuple[dict[str, str], dict[str, str]] | None:
        """Texts and problems of a submission by file name, None where it is unknown."""
        row = self._db.execute("SELECT texts FROM submissions WHERE submission = ?", (submission,)).fetchone()
        if row is None:
            return None
        texts, problems = json.loads(zlib.decompress(row[0]))
        return texts, problems

    def named(self, name: str) -> list[str]:
        """Hashes of what was handed in under a name, the newest last."""
        rows = self._db.execute(
            "SELECT submission FROM received WHERE name = ? ORDER BY recorded DESC, rowid DESC", (name,)
        )
        return list(dict.fromkeys(row[0] for row in rows))[::-1]

    def names(self, round_name: str) -> list[str]:
        """Names under which something was handed in for a round, in the order in which they came."""
        rows = self._db.execute("SELECT name FROM received WHERE round = ? ORDER BY recorded, rowid", (round_name,))
        return list(dict.fromkeys(row[0] for row in rows))

    def rounds(self) -> list[str]:
        """Every round for which something was handed in, as it stands in keys: `name:` and a hash of its secret."""
        return [row[0] for row in self._db.execute("SELECT DISTINCT round FROM received ORDER BY round")]

    def newest(self, name: str, round_name: str) -> str:
        """Hash of what was handed in last under a name for a round; empty where nothing was."""
        row = self._db.execute(
            "SELECT submission FROM received WHERE name = ? AND round = ? ORDER BY recorded DESC, rowid DESC LIMIT 1",
            (name, round_name),
        ).fetchone()
        return str(row[0]) if row else ""

    def latest(self, round_name: str, device: str = "cpu") -> Circumstances | None:
        """The circumstances of the last verdict that was given for a round; None where there is none."""
        row = self._db.execute(
            "SELECT bundle, environment FROM verdicts WHERE round = ? AND device = ? ORDER BY recorded DESC LIMIT 1",
            (round_name, device),
        ).fetchone()
        return Circumstances(row[0], row[1], round_name, device) if row else None

    def entries(self, submission: str) -> Iterator[Entry]:
        """Every verdict on a submission, in the order in which they were given."""
        rows = self._db.execute(
            "SELECT bundle, environment, round, device, isolation, seed, verdict FROM verdicts WHERE submission = ? "
            "ORDER BY recorded, test",
            (submission,),
        )
        for bundle, environment, round_name, device, isolation, seed, data in rows:
            at = Circumstances(bundle, environment, round_name, device)
            yield Entry(submission, at, Level(isolation), seed, self._verdict(bundle, data))

    def before(self, submission: str, circumstances: Circumstances) -> dict[str, Verdict]:
        """The latest verdicts of the same round and device under other tests or software, by test id."""
        earlier = [
            entry
            for entry in self.entries(submission)
            if entry.circumstances != circumstances
            and (entry.circumstances.round, entry.circumstances.device) == (circumstances.round, circumstances.device)
        ]
        if not earlier:
            return {}
        last = earlier[-1].circumstances
        return {entry.verdict.test: entry.verdict for entry in earlier if entry.circumstances == last}

    def content(self) -> list[tuple[Any, ...]]:
        """Every verdict without what differs from run to run (when, how long); equal ledgers have equal content."""
        rows: Iterable[Sequence[Any]] = self._db.execute(
            "SELECT submission, bundle, environment, round, device, test, isolation, outcome, score, max_score, seed, "
            "verdict FROM verdicts ORDER BY submission, bundle, environment, round, device, test, isolation"
        )
        return [(*row[:-1], json.dumps({**json.loads(row[-1]), "seconds": 0}, sort_keys=True)) for row in rows]


@dataclass(frozen=True)
class Recording:
    """Where a run's verdicts go; it travels to the processes that grade, each of which opens the ledger for itself."""

    path: Path
    circumstances: Circumstances

    @contextmanager
    def open(self, level: Level) -> Iterator[OnVerdict]:
        """The function that writes the verdicts of workers of that level."""
        with Ledger(self.path) as ledger:

            def record(job: Job, verdict: Verdict, seed: int) -> None:
                ledger.record(Entry(job.digest, self.circumstances, level, seed, verdict))

            yield record

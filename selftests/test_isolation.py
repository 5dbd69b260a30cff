"""The levels of isolation: each is proven by canaries, each missing part is noticed, and nothing is graded below."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from grader import doctor, isolation, workers
from grader.bank import package_job
from grader.commands import CANNOT_START, grade
from grader.isolation import hidden, open_zygote
from grader.pool import grade_all
from grader.remote import Limits, WorkerBackend
from grader.sandbox import BEST, BEST_MEDIUM, CHOICES, Level, acceptable, bubblewrap, landlock, seccomp
from grader.sandbox import view as views
from grader.sandbox.canaries import EXEC, OPEN, OWN, SECRET, shortcomings
from grader.sandbox.view import CannotHide, view
from grader.session import Settings
from grader.workers import InfrastructureError, IsolationError, Zygote
from nanolm.protocol import Call, Outcome, StudentFault

ROOT = Path(__file__).resolve().parent.parent
ALLOW_ALL = (0x7FFF000000000006).to_bytes(8, "little")
"""A filter program of one instruction: whatever is called is allowed."""


def offered() -> list[Level]:
    """Levels above weak that this machine can give; a machine that gives none is told by a loud skip."""
    found = []
    for level in (Level.FULL, Level.MEDIUM):
        try:
            with Zygote(level):
                found.append(level)
        except InfrastructureError:
            continue
    return found


OFFERED = offered()
confined = pytest.mark.skipif(
    not OFFERED, reason="THIS MACHINE OFFERS NO ISOLATION: neither full nor medium was tested"
)


@pytest.fixture(scope="module", params=OFFERED or [pytest.param(None, marks=confined)])
def zygote(request: pytest.FixtureRequest) -> Iterator[Zygote]:
    with Zygote(request.param, hidden(ROOT)) as running:
        yield running


def said(zygote: Zygote, body: str, before: str = "") -> str:
    """What a submission's forward sees: `body` sets `answer`, which comes back as an exception's text."""
    text = f"import os, torch\n{before}\nclass RMSNorm(torch.nn.Module):\n    def __init__(self, d_model, eps=1e-6):\n"
    text += "        super().__init__()\n        self.gamma = torch.nn.Parameter(torch.ones(d_model))\n"
    text += "    def forward(self, x):\n" + "".join(f"        {line}\n" for line in body.splitlines())
    text += "        raise ValueError(str(answer))\n"
    backend = WorkerBackend(zygote, {"modules.py": text}, Limits(cpu_seconds=5))
    try:
        with pytest.raises(StudentFault) as caught:
            backend.run(Call("rms_norm", {"x": torch.ones(2, 3)}, {"d_model": 3}))
    finally:
        backend.end()
    return caught.value.message if caught.value.kind == "ValueError" else f"{caught.value.kind}: {caught.value.message}"


# --- what a worker cannot do -----------------------------------------------------------------------------------------


def test_every_canary_is_refused(zygote: Zygote) -> None:
    secrets = [str(path) for path in hidden(ROOT)]
    results = zygote.canaries(secrets)
    assert shortcomings(zygote.level, results) == []
    assert len([name for name in results if name.startswith(SECRET)]) == len(secrets) >= 4
    assert {name for name, result in results.items() if result == OPEN} == {OWN}


@pytest.mark.parametrize(
    "path", ["tests/oracles.py", "solutions/modules.py", "mistakes", "selftests/test_isolation.py", "README.md", ".git"]
)
def test_the_course_is_not_there(zygote: Zygote, path: str) -> None:
    kind = "FileNotFoundError" if zygote.level is Level.FULL else "PermissionError"
    assert said(zygote, f"answer = os.open({str(ROOT / path)!r}, os.O_RDONLY)").startswith(f"{kind}: ")


@pytest.mark.parametrize(
    "attempt",
    [
        "os.listdir('/')",
        "os.listdir('/home')",
        "open('/etc/shadow').read()",
        "open('/proc/1/environ').read()",
        "open('/proc/self/maps').read()",
        "os.listdir('..')",
        "open('/tmp/mark', 'w')",
        "os.fork()",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "os.system('true') and 1/0",
        "subprocess.run(['true'])",
        "multiprocessing.Process(target=print).start()",
        "os.kill(os.getppid(), 9)",
        "os.kill(1, 9)",
        "os.killpg(0, 9)",
        "socket.create_connection(('127.0.0.1', 22))",
        "socket.socketpair()",
        "resource.setrlimit(7, (4096, 4096))",
        "os.setsid()",
        "os.chmod('.', 0)",
        "os.symlink('/', 'root')",
        "os.link('/etc/passwd', 'passwd')",
        "os.mkfifo('fifo')",
        "os.mknod('node')",
        "os.memfd_create('x')",
        "os.setxattr('.', 'user.x', b'1')",
        "os.unshare(0x10000000)",
        "os.chroot('.')",
        "multiprocessing.shared_memory.SharedMemory(create=True, size=10)",
    ],
)
def test_an_attempt_is_refused(zygote: Zygote, attempt: str) -> None:
    imports = "import multiprocessing.shared_memory, resource, socket, subprocess"
    answer = said(zygote, f"answer = ('went through', {attempt})", imports)
    assert "went through" not in answer
    assert answer.partition(":")[0] in (
        "PermissionError", "FileNotFoundError", "ValueError", "AttributeError", "ZeroDivisionError", "OSError",
        "not allowed to raise maximum limit",
    ), answer  # fmt: skip


def test_an_honest_worker_has_what_it_needs(zygote: Zygote) -> None:
    body = """\
import threading, tempfile, pathlib, random, math, dataclasses, json
seen = []
thread = threading.Thread(target=seen.append, args=(1,))
thread.start(); thread.join()
pathlib.Path("own.txt").write_text("mine"); os.mkdir("folder")
with tempfile.NamedTemporaryFile() as file:
    file.write(b"x")
half = torch.ones(4, 4).half() @ torch.ones(4, 4).half()
answer = [*seen, pathlib.Path("own.txt").read_text(), len(os.urandom(4)), float(half.sum())]
answer.append(os.environ.get("NANOLM_SECRET"))
from torch import distributions
import numpy.fft, unittest.mock, sqlite3"""
    assert said(zygote, body) == "[1, 'mine', 4, 64.0, None]"


def test_scratch_is_bounded_and_gone_afterwards(zygote: Zygote) -> None:
    full = "written = 0\ntry:\n    while True:\n        open(str(written), 'wb').write(bytes(1 << 20)); written += 1\n"
    full += "        if written > 300: break\nexcept OSError as error:\n    pass\nanswer = written"
    if zygote.level is Level.FULL:
        assert int(said(zygote, full)) <= bubblewrap.SCRATCH_BYTES >> 20
        many = "made = 0\ntry:\n    while made < 10000:\n        open(str(made), 'w').close(); made += 1\n"
        many += "except OSError as error:\n    pass\nanswer = made"
        assert int(said(zygote, many)) <= bubblewrap.SCRATCH_FILES
    assert said(zygote, "answer = os.listdir('.')") == "[]"


def test_verdicts_do_not_depend_on_the_level() -> None:
    job = package_job(ROOT, "solutions", "reference")
    told = {}
    for level in [*OFFERED, Level.WEAK]:
        settings = Settings(ROOT, round="levels", isolation=level.value)
        (result,) = grade_all([job], settings)
        assert result.isolation == level.value
        told[level] = [(v.test, v.outcome, v.score) for v in result.verdicts]
    assert all(verdicts == told[Level.WEAK] for verdicts in told.values())
    assert {outcome for _, outcome, _ in told[Level.WEAK]} == {Outcome.PASSED, Outcome.NOT_RUN_HERE}


# --- a missing part is noticed ---------------------------------------------------------------------------------------


@confined
def test_a_filter_that_lets_everything_through_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp, "program", lambda: ALLOW_ALL)
    with pytest.raises(IsolationError, match=r"isolation is not \w+ here: a worker .*could fork"):
        Zygote(OFFERED[-1]).start()


@confined
def test_a_file_view_that_is_too_wide_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "SYSTEM", (*views.SYSTEM, Path("/etc")))
    with pytest.raises(IsolationError, match=r"could read /etc/passwd"):
        Zygote(OFFERED[-1]).start()


@confined
def test_a_course_inside_what_workers_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site-packages" / "course" / "tests").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    secret = tmp_path / "site-packages" / "course" / "tests"
    with pytest.raises(CannotHide, match="move the course elsewhere"):
        view([secret])
    with pytest.raises(IsolationError, match="move the course elsewhere"):
        Zygote(OFFERED[-1], [secret]).start()


def test_results_are_judged_level_by_level() -> None:
    good = {f"{SECRET} (0)": "ENOENT", "fork": "EPERM", OWN: OPEN, EXEC: "EPERM"}
    assert shortcomings(Level.FULL, good) == shortcomings(Level.MEDIUM, good) == []
    seen = {**good, f"{SECRET} (0)": "EACCES"}
    assert shortcomings(Level.MEDIUM, seen) == []
    assert shortcomings(Level.FULL, seen) == ["can tell that the course's files exist (EACCES)"]
    assert shortcomings(Level.MEDIUM, {**good, "fork": OPEN}) == ["could fork"]
    assert shortcomings(Level.MEDIUM, {**good, "fork": "EIO"}) == ["fork: EIO"]
    assert shortcomings(Level.WEAK, {OWN: "EACCES"}) == [f"cannot {OWN} (EACCES)"]
    del good[EXEC]
    assert shortcomings(Level.MEDIUM, good) == [f"could {EXEC}, or died trying"]
    assert shortcomings(Level.WEAK, {}) == [f"cannot {OWN} (not tried)"]


def test_landlock_and_seccomp_refuse_loudly_where_they_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(seccomp.SeccompUnavailable):
        seccomp.load(b"")
    with pytest.raises(seccomp.SeccompUnavailable):
        seccomp.load(b"seven by")
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    with pytest.raises(OSError, match="no Landlock"):
        landlock.restrict([], None, [])


# --- what was asked for is what is given -----------------------------------------------------------------------------


@pytest.fixture
def no_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise bubblewrap.NoBubblewrap("there is no bwrap: install bubblewrap")

    monkeypatch.setattr(bubblewrap, "find", nowhere)


@pytest.fixture
def no_seccomp(monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable() -> bytes:
        raise seccomp.SeccompUnavailable("seccomp filters cannot be made")

    monkeypatch.setattr(seccomp, "program", unavailable)


def test_grading_stops_where_the_level_cannot_be_had(
    no_bubblewrap: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "modules.py").write_text("")
    assert grade([str(tmp_path), "--course", str(ROOT), "--json", str(tmp_path / "g.json")]) == CANNOT_START
    told = capsys.readouterr().err
    assert "there is no bwrap" in told
    assert "nanolm doctor" in told
    assert not (tmp_path / "g.json").exists()


@confined
def test_best_takes_the_next_level_down(no_bubblewrap: None) -> None:
    for asked in (BEST, BEST_MEDIUM):
        with open_zygote(asked, ROOT) as zygote:
            assert zygote.level is Level.MEDIUM


def test_a_bubblewrap_that_may_not_make_namespaces_is_one_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Ubuntu 24.04 and in most containers: bwrap is installed, and the kernel refuses it."""
    refused = tmp_path / "bwrap"
    refused.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    refused.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "find", lambda: refused)
    with open_zygote(BEST, ROOT) as zygote:
        assert zygote.level is not Level.FULL
    with pytest.raises(IsolationError, match=r"No permissions to create new namespace.*nanolm doctor"):
        open_zygote(Level.FULL.value, ROOT)
    findings = {finding.subject: finding for finding in doctor.report()}
    assert "No permissions" in findings["isolation full"].state


def test_best_ends_at_weak_and_best_medium_does_not(no_bubblewrap: None, no_seccomp: None) -> None:
    with open_zygote(BEST, ROOT) as zygote:
        assert zygote.level is Level.WEAK
    with pytest.raises(IsolationError, match="seccomp filters cannot be made"):
        open_zygote(BEST_MEDIUM, ROOT)


def test_what_satisfies_a_choice() -> None:
    assert [acceptable(choice) for choice in CHOICES] == [
        [Level.FULL], [Level.MEDIUM], [Level.WEAK], [Level.FULL, Level.MEDIUM, Level.WEAK], [Level.FULL, Level.MEDIUM],
    ]  # fmt: skip
    with pytest.raises(ValueError, match="strict"):
        acceptable("strict")


def test_the_doctor_tells_each_level(no_bubblewrap: None) -> None:
    findings = {finding.subject: finding for finding in doctor.report()}
    assert "no bwrap" in findings["isolation full"].state
    assert findings["isolation full"].advice
    assert findings["isolation weak"].advice == ""
    if Level.MEDIUM in OFFERED:
        assert findings["isolation medium"].state.startswith("yes: ")


@confined
@pytest.mark.parametrize("level", OFFERED)
def test_nothing_is_left_behind(level: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = f"nanolm-{os.getpid()}-{level}"
    monkeypatch.setenv("LANG", mark)  # the one variable of ours that workers inherit
    monkeypatch.setattr(workers.tempfile, "tempdir", str(tmp_path))
    zygote = Zygote(level, hidden(ROOT))
    text = "import os, torch\nos.mkdir('d')\nwhile True: pass\n"
    backend = WorkerBackend(zygote, {"modules.py": text}, Limits(cpu_seconds=0.2))
    with pytest.raises(StudentFault):
        backend.run(Call("rms_norm", {"x": torch.ones(2, 3)}, {"d_model": 3}))
    assert marked(mark)
    zygote.close()
    deadline = time.monotonic() + 5
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert marked(mark) == []
    assert list(tmp_path.iterdir()) == []


def marked(mark: str) -> list[int]:
    """Processes that have the mark in their environment; this one has not: it set it later."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def test_hidden_folders_are_those_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    assert hidden(tmp_path) == (tmp_path / "tests",)
    assert isolation.SECRET_FOLDERS[:3] == ("tests", "solutions", "mistakes")


def test_no_worker_at_all_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "MODULE", "grader.no_such_module")
    with pytest.raises(InfrastructureError, match="no_such_module"):
        open_zygote(Level.WEAK.value, ROOT)

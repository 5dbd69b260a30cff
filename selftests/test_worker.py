"""Real workers: right code is graded as it would be here, and hostile code costs its own test and nothing else.

At the weakest level: what holds before any confinement. `test_isolation.py` shows what the levels add."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
import torch

from grader import linux, scratch, workers
from grader.arrays import CannotEncode
from grader.control import ControlChannel
from grader.remote import Limits, WorkerBackend, Zygote
from grader.sandbox import Level
from nanolm.execution import Executor
from nanolm.protocol import Call, Outcome, Reply, StudentFault
from nanolm.sources import TextSource

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="a worker's CPU time is read from /proc")

MIB = 1024 * 1024
LIMITS = Limits(cpu_seconds=0.4, wall_seconds=1.0, memory_bytes=1024 * MIB)

RIGHT = """
import torch
from torch import nn

class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
{body}
        wide = x.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return ((wide * scale).to(x.dtype) * self.gamma).to(x.dtype)
"""


def submission(body: str = "", before: str = "") -> dict[str, str]:
    """RMSNorm with something more at the start of its forward, or at the top of its file."""
    return {"modules.py": textwrap.dedent(before) + RIGHT.format(body=textwrap.indent(textwrap.dedent(body), " " * 8))}


def call(*, gradients: bool = False, dtype: torch.dtype = torch.float32) -> Call:
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(7, 5, generator=generator).to(dtype)
    gamma = torch.randn(5, generator=generator).to(dtype)
    upstream = {"y": torch.randn(7, 5, generator=generator).to(dtype)} if gradients else {}
    return Call("rms_norm", {"x": x, "gamma": gamma}, {"d_model": 5, "eps": 1e-5}, upstream, gradients)


class Connect(Protocol):
    """Makes a backend for texts, with small limits unless others are given."""

    def __call__(self, texts: dict[str, str], limits: Limits = LIMITS) -> WorkerBackend: ...


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NANOLM_SECRET", "seed")
        with Zygote(Level.WEAK) as running:
            yield running


@pytest.fixture
def backends(zygote: Zygote) -> Iterator[list[WorkerBackend]]:
    """Backends to be ended after the test, whatever it does."""
    made: list[WorkerBackend] = []
    yield made
    for backend in made:
        backend.end()


@pytest.fixture
def connect(zygote: Zygote, backends: list[WorkerBackend]) -> Connect:
    def make(texts: dict[str, str], limits: Limits = LIMITS) -> WorkerBackend:
        backends.append(WorkerBackend(zygote, texts, limits))
        return backends[-1]

    return make


def fault_of(backend: WorkerBackend, what: Call | None = None) -> StudentFault:
    with pytest.raises(StudentFault) as caught:
        backend.run(what or call())
    return caught.value


def local(texts: dict[str, str], what: Call) -> Reply:
    source = TextSource(texts)
    source.install()
    try:
        return Executor(source).execute(what)
    finally:
        source.uninstall()


def worker_pid(backend: WorkerBackend) -> int | None:
    return backend._worker.pid if backend._worker else None


# --- Honest code -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
def test_a_worker_answers_as_the_same_code_does_here(connect: Connect, dtype: torch.dtype, layout: str) -> None:
    asked = call(gradients=True, dtype=dtype)
    if layout == "transposed":
        x = asked.tensors["x"].t().contiguous().t()
        asked = Call(asked.entry, {**asked.tensors, "x": x}, asked.scalars, asked.upstream, True)
    remote, here = connect(submission()).run(asked), local(submission(), asked)
    for left, right in (
        (remote.tensors, here.tensors),
        (remote.gradients, here.gradients),
        (remote.arguments, here.arguments),
    ):
        assert left.keys() == right.keys()
        for name, tensor in right.items():
            torch.testing.assert_close(left[name], tensor, rtol=0, atol=0, equal_nan=True)
    assert (remote.facts, remote.notes) == (here.facts, here.notes)


def test_facts_of_a_fresh_module_and_changed_arguments_come_back(connect: Connect) -> None:
    fresh = connect(submission()).run(Call("rms_norm_fresh", scalars={"d_model": 3}))
    assert fresh.facts == {"trained": ["gamma"], "drawn": []}
    assert torch.equal(fresh.tensors["parameter:gamma"], torch.ones(3))
    asked = Call("rms_norm", {"x": torch.ones(2, 5)}, {"d_model": 5}, return_arguments=True)
    changed = connect(submission("x.mul_(2)")).run(asked)
    assert torch.equal(changed.arguments["x"], torch.full((2, 5), 2.0))
    assert torch.equal(asked.tensors["x"], torch.ones(2, 5))


def test_one_worker_takes_call_after_call(connect: Connect) -> None:
    backend = connect(submission())
    backend.run(call())
    pid = worker_pid(backend)
    backend.start_test()
    for _ in range(20):
        backend.run(call(gradients=True))
    assert worker_pid(backend) == pid


def test_random_numbers_depend_on_no_earlier_call(connect: Connect) -> None:
    text = submission("import random, numpy\nreturn torch.rand(3) + random.random() + numpy.random.rand()")
    first, second = connect(text), connect(text)
    values = [backend.run(call()).tensors["y"].tolist() for backend in (first, first, second)]
    assert values[0] == values[1] == values[2]


def test_an_exception_is_told_with_its_line(connect: Connect) -> None:
    fault = fault_of(connect(submission("raise ValueError('no such axis')")))
    assert (fault.outcome, fault.kind, fault.message) == (Outcome.EXCEPTION, "ValueError", "no such axis")
    assert "Exception" in fault.bases
    assert fault.place is not None
    assert (fault.place.file, fault.place.text) == ("exercises/modules.py", "raise ValueError('no such axis')")


def test_a_stub_and_an_absent_file_are_not_attempted(connect: Connect) -> None:
    stub = submission("raise NotImplementedError('rmsnorm: write the forward pass')")
    assert fault_of(connect(stub)).outcome is Outcome.NOT_ATTEMPTED
    assert fault_of(connect({"budget.py": ""})).outcome is Outcome.NOT_ATTEMPTED


def test_a_syntax_error_is_told_with_line_and_column(connect: Connect) -> None:
    fault = fault_of(connect({"modules.py": "import torch\ny = (1 +\n"}))
    assert (fault.outcome, fault.kind) == (Outcome.EXCEPTION, "SyntaxError")
    assert fault.place is not None
    assert (fault.place.line, fault.place.column) == (2, 5)


def test_an_import_error_is_told(connect: Connect) -> None:
    fault = fault_of(connect({"modules.py": "import no_such_library\n"}))
    assert (fault.outcome, fault.kind) == (Outcome.EXCEPTION, "ModuleNotFoundError")
    assert "no_such_library" in fault.message


def test_a_call_that_cannot_be_encoded_never_reaches_the_worker(connect: Connect) -> None:
    backend = connect(submission())
    with pytest.raises(CannotEncode):
        backend.run(Call("rms_norm", {"x": torch.ones(2, dtype=torch.complex64)}, {"d_model": 2}))
    assert worker_pid(backend) is None
    backend.run(call())


# --- Code that ends, hangs or lies -----------------------------------------------------------------------------------


def once(body: str) -> dict[str, str]:
    """A submission that does something only at the first call of a test, told by a feature of the input."""
    return submission(f"if x.shape[0] == 7:\n{textwrap.indent(textwrap.dedent(body), '    ')}")


HARMLESS = Call("rms_norm", {"x": torch.ones(2, 5)}, {"d_model": 5})


@pytest.mark.parametrize(
    ("body", "outcome", "message"),
    [
        ("while True: pass", Outcome.TIMEOUT, "s of computing"),
        ("import threading\nthreading.Event().wait()", Outcome.TIMEOUT, "without an answer"),
        ("import os\nos._exit(3)", Outcome.CRASHED, "exit status 3"),
        ("import os\nos._exit(0)", Outcome.CRASHED, "exit status 0"),
        ("import os\nos.kill(os.getpid(), 11)", Outcome.CRASHED, "signal 11 (SIGSEGV)"),
        ("import os\nos.abort()", Outcome.CRASHED, "signal 6 (SIGABRT)"),
        ("import os\nos.kill(os.getpid(), 9)", Outcome.CRASHED, "signal 9 (SIGKILL)"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGXCPU)", Outcome.TIMEOUT, "CPU time"),
        (
            "import os\nfor fd in range(3, 50):\n    try: os.write(fd, b'#' * 99)\n    except OSError: pass",
            Outcome.CRASHED,
            "could not be read",
        ),
        ("import os\nos.closerange(0, 99)\nwhile True: pass", Outcome.CRASHED, "closed its connection"),
        ("import os\nos.dup2(1, 3)", Outcome.CRASHED, "exit status"),
        ("import os\nos.read(3, 1 << 20)", Outcome.TIMEOUT, "without an answer"),
    ],
)
def test_a_death_is_its_tests_outcome_and_a_fresh_worker_takes_the_next(
    connect: Connect,
    body: str,
    outcome: Outcome,
    message: str,
) -> None:
    backend = connect(once(body))
    backend.run(HARMLESS)
    pid = worker_pid(backend)
    backend.start_test()
    fault = fault_of(backend)
    assert fault.outcome is outcome
    assert message in fault.message
    backend.start_test()
    backend.run(HARMLESS)
    assert worker_pid(backend) != pid


def test_a_test_may_be_given_less_than_its_full_time(connect: Connect) -> None:
    backend = connect(once("while True: pass"), Limits(cpu_seconds=30))
    began = time.monotonic()
    backend.start_test(0.2)
    fault = fault_of(backend)
    assert fault.outcome is Outcome.TIMEOUT
    assert "this exercise had used up its own" in fault.message
    assert time.monotonic() - began < 10
    backend.start_test()
    backend.run(HARMLESS)


@pytest.mark.parametrize(
    ("body", "outcome", "kind"),
    [
        ("import sys\nsys.exit(0)", Outcome.EXCEPTION, "SystemExit"),
        ("f = lambda: f()\nf()", Outcome.EXCEPTION, "RecursionError"),
        ("raise SyntaxError('odd', ('f' * 999, -5, 10**40, 'text'))", Outcome.EXCEPTION, "SyntaxError"),
        ("raise KeyboardInterrupt", Outcome.EXCEPTION, "KeyboardInterrupt"),
        ("[0] * 10**10", Outcome.OUT_OF_MEMORY, ""),
        ("torch.ones(1 << 34)", Outcome.OUT_OF_MEMORY, ""),
        ("return torch.ones(1).expand(1 << 30)", Outcome.OUT_OF_MEMORY, ""),
        ("return x.to(torch.complex64)", Outcome.WRONG_DTYPE, ""),
        ("return x.to('meta')", Outcome.WRONG_INTERFACE, ""),
        ("return x.tolist()", Outcome.WRONG_INTERFACE, ""),
        (
            "import os\nos.open('big', os.O_CREAT | os.O_WRONLY)\nos.pwrite(4, b'x', 1 << 21)",
            Outcome.EXCEPTION,
            "OSError",
        ),
    ],
)
def test_an_odd_end_or_result_is_a_fault_and_the_worker_lives(
    connect: Connect,
    body: str,
    outcome: Outcome,
    kind: str,
) -> None:
    backend = connect(once(body))
    backend.run(HARMLESS)
    pid = worker_pid(backend)
    fault = fault_of(backend)
    assert (fault.outcome, fault.kind) == (outcome, kind), fault.message
    backend.run(HARMLESS)
    assert worker_pid(backend) == pid


def test_a_test_that_has_used_its_time_gets_no_more(connect: Connect) -> None:
    backend = connect(once("while True: pass"))
    assert fault_of(backend).outcome is Outcome.TIMEOUT
    started = time.monotonic()
    assert fault_of(backend, HARMLESS).outcome is Outcome.TIMEOUT
    assert time.monotonic() - started < 0.1
    backend.start_test()
    backend.run(HARMLESS)


def test_time_is_counted_over_all_calls_of_a_test(connect: Connect) -> None:
    text = submission("import time\nend = time.process_time() + 0.12\nwhile time.process_time() < end: pass")
    backend = connect(text)
    outcomes = []
    for _ in range(6):
        try:
            backend.run(HARMLESS)
        except StudentFault as fault:
            outcomes.append(fault.outcome)
    assert 2 <= len(outcomes) <= 5
    assert set(outcomes) == {Outcome.TIMEOUT}


def test_a_worker_that_dies_between_tests_costs_no_test(connect: Connect) -> None:
    backend = connect(submission("import os, threading\nthreading.Timer(0.05, os._exit, [1]).start()"))
    for _ in range(2):
        backend.start_test()
        backend.run(call())
        time.sleep(0.15)


def test_output_is_drained_and_its_end_is_kept(connect: Connect) -> None:
    backend = connect(submission("print('x' * 10_000_000)\nprint('the end')"))
    backend.run(call())
    backend.end()
    assert backend.output.endswith("xxx\nthe end\n")
    assert len(backend.output) == 64 * 1024


def test_a_forged_answer_to_a_later_call_is_refused(connect: Connect) -> None:
    forged = (
        "import os, struct\nos.write(3, struct.pack('<4sBIIQ', b'NLM1', 4, 99, 23, 0) + b'{\"facts\":{},\"notes\":[]}')"
    )
    fault = fault_of(connect(submission(forged)))
    assert fault.outcome is Outcome.CRASHED
    assert "another call" in fault.message


def test_a_child_that_leaves_its_group_is_ended_with_its_worker(connect: Connect) -> None:
    backend = connect(
        submission(
            """
            import os, time
            read, write = os.pipe()
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os.write(write, str(os.getpid()).encode())
                    time.sleep(60)
                os._exit(0)
            return torch.tensor(float(os.read(read, 20)))
            """
        )
    )
    pid = int(backend.run(call()).tensors["y"])
    assert linux.usage(pid) is not None
    backend.end()
    assert linux.usage(pid) is None


def test_the_worker_sees_a_clean_process(connect: Connect) -> None:
    look = """
        import os, sys
        secret = {"tests", "solutions", "mistakes", "selftests"}
        seen = secret & {name.partition(".")[0] for name in sys.modules}
        folder = "/proc/self/fd"
        fds = [fd for fd in os.listdir(folder) if int(fd) > 3 and os.path.exists(f"{folder}/{fd}")]
        raise ValueError(repr([
            sorted(seen), fds, os.listdir("."), os.environ.get("NANOLM_SECRET"), sys.stdin.read(),
            torch.get_num_threads(), os.environ["PYTHONHASHSEED"], os.getcwd() == os.environ["HOME"],
        ]))
    """
    assert os.environ["NANOLM_SECRET"]
    assert fault_of(connect(submission(look))).message == "[[], [], [], None, '', 1, '0', True]"


# --- The machinery itself --------------------------------------------------------------------------------------------


def test_a_dead_zygote_is_infrastructure_and_the_next_call_starts_another(zygote: Zygote, connect: Connect) -> None:
    backend = connect(submission())
    backend.run(call())
    before, worker = zygote.pid, worker_pid(backend)
    assert before is not None
    assert worker is not None
    os.kill(before, signal.SIGKILL)
    assert zygote._process is not None
    zygote._process.wait()
    assert fault_of(backend).outcome is Outcome.INFRASTRUCTURE
    backend.start_test()
    backend.run(call())
    assert zygote.pid != before
    assert not (linux.usage(worker) or [False])[0]


def test_a_worker_that_does_not_get_ready_is_infrastructure(connect: Connect) -> None:
    backend = connect({"modules.py": "#" * 12 * MIB}, Limits(memory_bytes=16 * MIB))
    fault = fault_of(backend)
    assert fault.outcome is Outcome.INFRASTRUCTURE
    assert "MemoryError" in fault.message


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    litter = """
        import os
        for level in range(20):
            os.mkdir("d"); os.chdir("d"); open("f", "w").close()
        os.symlink("/", "root"); os.mkfifo("fifo"); os.chmod(".", 0)
    """
    zygote = Zygote(Level.WEAK)
    backend = WorkerBackend(zygote, submission(litter), LIMITS)
    other = WorkerBackend(zygote, submission(), LIMITS)
    backend.run(call())
    other.run(call())
    pids = [pid for pid in (zygote.pid, worker_pid(backend), worker_pid(other)) if pid]
    assert len(pids) == 3
    backend.end()
    assert [path.name for path in tmp_path.glob("*/worker-*")] == ["worker-2"]
    zygote.close()
    assert list(tmp_path.iterdir()) == []
    assert [linux.usage(pid) for pid in pids] == [None, None, None]
    other.end()


def test_a_killed_grader_leaves_nothing_behind(tmp_path: Path) -> None:
    program = f"""
import sys
from grader.remote import Limits, WorkerBackend, Zygote
from grader.sandbox import Level
from nanolm.protocol import Call
import torch
zygote = Zygote(Level.WEAK)
backend = WorkerBackend(zygote, {once("while True: pass")!r}, Limits(60, 60))
for rows in (2, 7):
    print(zygote.pid, backend._worker and backend._worker.pid, flush=True)
    backend.run(Call("rms_norm", {{"x": torch.ones(rows, 5)}}, {{"d_model": 5}}))
"""
    environment = os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) as grader:
        assert grader.stdout is not None
        assert grader.stdout.readline() == b"None None\n"
        pids = [int(pid) for pid in grader.stdout.readline().split()]
        assert len(list(tmp_path.iterdir())) == 1
        grader.kill()
    deadline = time.monotonic() + 5
    while any(map(linux.usage, pids)) or list(tmp_path.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_interrupted_question_is_not_answered_later(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: ControlChannel) -> None:
        raise KeyboardInterrupt

    backend = connect(submission("import time; time.sleep(0.06)"))  # long enough for its CPU time to be asked for
    backend.run(call())
    with monkeypatch.context() as patch:
        patch.setattr(ControlChannel, "receive", interrupt)
        with pytest.raises(KeyboardInterrupt):
            backend.start_test()
    backend.end()
    backend.run(call())


def test_scratch_is_removed_whatever_its_depth_and_no_link_is_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("here")
    folder = scratch.make()
    (folder / "link").symlink_to(kept)
    (folder / "deep").mkdir()
    (folder / "deep" / "link").symlink_to(kept / "file")
    for level in range(1100):  # deeper than Python recurses
        (folder / "new").mkdir()
        (folder / "deep").rename(folder / "new" / str(level % 2))
        (folder / "new").rename(folder / "deep")
    scratch.remove(folder)
    assert not folder.exists()
    assert (kept / "file").read_text() == "here"


def test_a_zygote_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "MODULE", "grader.no_such_module")
    with pytest.raises(workers.InfrastructureError, match="no_such_module"):
        Zygote(Level.WEAK).start()

"""A JupyterLab of the test's own: on loopback, with a token, settings and kernels of its own, ended by its process id.

Its `python3` kernel leaves a line in a file when it starts, so that a test can say how many were started.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

START_SECONDS = 240
STOP_SECONDS = 60
KERNEL = """\
import os, sys
with open({log!r}, "a") as stream:
    stream.write("started\\n")
os.execv({python!r}, [{python!r}, "-m", "ipykernel_launcher", *sys.argv[1:]])
"""
SETTINGS: dict[str, dict[str, object]] = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker": {"windowingMode": "none"},  # else a cell that is out of sight is not in the page
}


@dataclass(frozen=True)
class Lab:
    """A running server."""

    url: str
    token: str
    home: Path

    def at(self, path: str) -> str:
        """The address of a page."""
        return f"{self.url}{path}"

    def sign_in(self, context: BrowserContext) -> None:
        """What a person does by opening the address with the token: the cookie stays in the profile."""
        answer = context.request.get(f"{self.url}/lab?token={self.token}")
        assert answer.ok, f"{answer.status}\n{self.said}"

    @property
    def said(self) -> str:
        """The end of what the server has logged."""
        return (self.home / "server.log").read_text(encoding="utf-8", errors="replace")[-4000:]

    @property
    def kernels_started(self) -> int:
        """How many kernels were started under this server, by whomever."""
        log = self.home / "kernels.log"
        return len(log.read_text().splitlines()) if log.exists() else 0


def _settle(home: Path, python: Path) -> dict[str, str]:
    """Folders and settings of a server; returns the environment that leads there."""
    starter = home / "kernel.py"
    starter.parent.mkdir(parents=True)
    starter.write_text(KERNEL.format(log=str(home / "kernels.log"), python=str(python)))
    spec = home / "data" / "kernels" / "python3"
    spec.mkdir(parents=True)
    argv = [str(python), str(starter), "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Python 3", "language": "python"}))
    for name, setting in SETTINGS.items():
        path = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(setting))
    places = {"CONFIG_DIR": "config", "DATA_DIR": "data", "RUNTIME_DIR": "runtime"}
    return {f"JUPYTER_{name}": str(home / place) for name, place in places.items()} | {
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_PREFER_ENV_PATH": "0",  # else a virtual environment's own python3 kernel comes first
    }


def _address(home: Path, server: subprocess.Popen[bytes]) -> str:
    """Where the server listens, as it has written down once it does."""
    told = home / "runtime" / f"jpserver-{server.pid}.json"
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            return str(json.loads(told.read_text())["url"]).rstrip("/")
        except (OSError, ValueError):
            time.sleep(0.1)
    log = (home / "server.log").read_text(errors="replace")[-4000:]
    raise AssertionError(f"JupyterLab did not start (exit status {server.poll()}):\n{log}")


@contextmanager
def jupyterlab(
    folder: Path, home: Path, *opened: str, python: Path = Path(sys.executable), variables: Mapping[str, str]
) -> Iterator[Lab]:
    """`jupyter lab`, started in a folder as a person would; `python` is what its kernels run on."""
    token = secrets.token_hex(16)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("NANOLM", "PYTEST"))}
    path = os.pathsep.join([str(python.parent), str(Path(sys.executable).parent), inherited.get("PATH", "")])
    environment = inherited | _settle(home, python) | {"PATH": path, "JUPYTER_TOKEN": token} | dict(variables)
    command = [sys.executable, "-m", "jupyterlab", *opened, "--no-browser", "--allow-root"]
    command += ["--ServerApp.ip=127.0.0.1", "--ServerApp.port=0"]
    with (home / "server.log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        yield Lab(_address(home, server), token, home)
    finally:
        server.terminate()
        try:
            server.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()

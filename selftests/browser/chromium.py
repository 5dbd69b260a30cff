"""A Chromium for the self-tests: the system's, else Debian's package where rights allow, else one of playwright's own.

Nothing leaves the machine: every name but the loopback's address is unknown to it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome")
INSTALL_SECONDS = 300
PATIENCE_MS = 120_000
"""For one thing to appear; a busy machine can be many times slower than an idle one."""
FLAGS = ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"]


def _on_the_path() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def _debians() -> str | None:
    """Install Debian's package, where this process may."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"]
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        subprocess.run(command, env=quiet, capture_output=True, timeout=INSTALL_SECONDS, check=True)
    except (subprocess.SubprocessError, OSError):
        return None
    return _on_the_path()


def program(playwrights: str) -> str:
    """The browser to start, `playwrights` being where playwright keeps its own; skips, and says so, without any."""
    found = _on_the_path() or (playwrights if Path(playwrights).exists() else None) or _debians()
    if found is None:
        pytest.skip("LOUD: no Chromium could be found or installed: nothing was tried in a browser")
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless browser; the test is skipped, and says so, where there is none."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="LOUD: the playwright package is not installed: nothing was tried in a browser"
    )
    with sync_api.sync_playwright() as playwright:
        path = program(playwright.chromium.executable_path)
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()

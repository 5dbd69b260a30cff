"""A browser window that is watched: dialogs, calls of the payloads, and requests to where no page of ours leads.

A payload calls `alarm(where)`, a function that every page, and every frame in it, is given; what it would look up
elsewhere bears CANARY's name.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from selftests.browser.chromium import PATIENCE_MS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Dialog, FloatRect, FrameLocator, Locator, Page

CANARY = "canary.invalid"
WIDTH, HEIGHT = 1240, 900
TALL = 1600
"""The height of a window for a picture of something long."""
PICTURES = Path(os.environ["NANOLM_SCREENSHOTS"]) if os.environ.get("NANOLM_SCREENSHOTS") else None
"""Where pictures for the documentation go: `NANOLM_SCREENSHOTS=docs/screenshots pytest selftests/test_browser_*.py`."""


def payload(where: str) -> str:
    """HTML that calls in many ways; each says where it stood. Without one double quote, to fit into any string."""
    call = f"alarm(`{where}`)"
    return (
        f"<script>{call}</script><img src=http://{CANARY}/{where}.png onerror={call}><svg onload={call}></svg>"
        f"<iframe srcdoc='<script>{call}</script>'></iframe><details open ontoggle={call}>{where}</details>"
    )


@dataclass
class Window:
    """One browser profile with what has been noticed in any page of it."""

    context: BrowserContext
    alarms: list[str] = field(default_factory=list)

    def open(self, address: str) -> Page:
        """A page, loaded."""
        page = self.context.new_page()
        page.goto(address, wait_until="load")
        return page

    def quiet(self, page: Page) -> list[str]:
        """All that was noticed, once the page has had its turn: images looked up, frames loaded, timers run."""
        page.wait_for_load_state("load")
        page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 200)))")
        return self.alarms


@contextmanager
def window(browser: Browser) -> Iterator[Window]:
    """A fresh profile."""
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    context.set_default_timeout(PATIENCE_MS)
    watched = Window(context)

    def dialog(asked: Dialog) -> None:
        if asked.type != "beforeunload":
            watched.alarms.append(f"dialog: {asked.message}")
        asked.dismiss()

    context.expose_function("alarm", lambda where: watched.alarms.append(f"called: {where}"))
    context.on("dialog", dialog)
    context.on("request", lambda sent: watched.alarms.append(f"asked: {sent.url}") if CANARY in sent.url else None)
    try:
        yield watched
    finally:
        context.close()


def words(page: Page) -> str:
    """What a person could read in a page and its frames: for the message of a failed test."""
    return (
        f"\n--- {page.url.partition('?')[0]}\n"
        + "\n---\n".join(frame.locator("body").inner_text() for frame in page.frames)[-6000:]
    )


def see(page: Page, what: str, inside: FrameLocator | None = None) -> Locator:
    """The first element of that kind, once it can be seen; else the page's text is the failure."""
    from playwright.sync_api import TimeoutError as TooLate

    found = (inside or page).locator(what).first
    try:
        found.wait_for()
    except TooLate:
        raise AssertionError(f"{what!r} cannot be seen in{words(page)}") from None
    return found


def click(page: Page, what: str) -> None:
    """Click on the first element of that kind, once nothing lies over it; else the page's text is the failure."""
    from playwright.sync_api import TimeoutError as TooLate

    found = see(page, what)
    try:
        found.click()
    except TooLate as late:
        raise AssertionError(f"{what!r} cannot be clicked: {late.message[-600:]}{words(page)}") from None


def picture(page: Page, name: str, left: int = 0, top: int = 0, width: int = WIDTH, height: int = HEIGHT) -> None:
    """Keep a part of what is seen for the documentation, in few colours, where pictures were asked for."""
    if PICTURES is None:
        return
    from PIL import Image

    area: FloatRect = {"x": left, "y": top, "width": width, "height": height}
    shot = Image.open(io.BytesIO(page.screenshot(clip=area, animations="disabled")))
    shot.convert("RGB").quantize(64).save(PICTURES / f"{name}.png", optimize=True)

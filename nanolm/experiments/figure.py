"""Draws an experiment's panels with matplotlib, which is imported only when a figure is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nanolm.experiments.result import Bars, Panel, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".pdf", ".png", ".svg")
WIDTH, HEIGHT = 5.2, 3.8
"""Inches of one panel."""


def draw(result: Result, title: str) -> Figure:
    """The figure of an experiment: its panels side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH * len(result.panels), HEIGHT), layout="constrained")
    figure.suptitle(title)
    axes = figure.subplots(1, len(result.panels), squeeze=False)[0]
    for axis, panel in zip(axes, result.panels, strict=True):
        _bars(axis, panel) if isinstance(panel, Bars) else _curves(axis, panel)
    return figure


def save(result: Result, title: str, path: Path) -> None:
    """Write the figure; the file's suffix is its format. An unchanged experiment writes the same bytes."""
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower(), {})
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "nanolm"}):
        draw(result, title).savefig(path, dpi=150, metadata=metadata)


def _bars(axis: Axes, panel: Bars) -> None:
    axis.bar(list(panel.heights), list(panel.heights.values()))
    axis.set(title=panel.title, ylabel=panel.y_label)
    axis.grid(axis="y", alpha=0.3)


def _curves(axis: Axes, panel: Panel) -> None:
    from matplotlib.ticker import MaxNLocator

    for label, (x, y) in panel.curves.items():
        one_point = len(set(zip(x, y, strict=True))) == 1  # a line of no length is not seen
        axis.plot(x, y, label=label, marker="o" if panel.marked or one_point else None, markersize=4)
    axis.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    if panel.log_x:
        axis.set_xscale("log")
    if panel.log_y:
        axis.set_yscale("log")
    if panel.equal:
        axis.set_aspect("equal", adjustable="datalim")
    if not panel.log_x and all(isinstance(value, int) for x, _ in panel.curves.values() for value in x):
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))  # there is no half a layer
    axis.grid(alpha=0.3)
    if len(panel.curves) > 1:
        axis.legend()

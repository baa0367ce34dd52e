"""The plot of the section `growth` of `bench.py`: rates of each solver over sizes of its game."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bench_measure import BenchError

if TYPE_CHECKING:
    from pathlib import Path

OURS, IN_C = "endtable", "C"
COLOURS = ("#0072b2", "#56b4e9", "#d55e00", "#009e73", "#cc79a7", "#8c6d1f", "#e69f00", "#555555")
"""Those of Okabe and Ito, which most people can tell apart, a little darker where they are pale."""

PIXELS, DOTS_AN_INCH = (960, 520), 100


def plot_growth(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw rows of `growth` into a PNG file.

    Raises:
        BenchError: matplotlib is not installed.
    """
    try:
        mpl = import_module("matplotlib")  # by name: types are checked where it is not installed
    except ImportError:
        message = "matplotlib is not installed: expected the extra 'bench' of endtable for the plot"
        raise BenchError(message) from None
    mpl.use("agg")
    plt = import_module("matplotlib.pyplot")
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(figsize=[side / DOTS_AN_INCH for side in PIXELS], dpi=DOTS_AN_INCH)
    ends = []
    for solver, colour in zip(dict.fromkeys(row["solver"] for row in rows), COLOURS, strict=True):
        found = [row for row in rows if row["solver"] == solver]
        game = re.sub(r"-\d.*", "", found[0]["table"])
        ends.append((*_draw(axes, found, colour), f"{game}: {solver}", colour))
    _label(axes, ends)
    _dress(axes, plt.Line2D)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def _draw(axes: Any, rows: list[dict[str, Any]], colour: str) -> tuple[float, float]:
    """Draw the rows of one solver; returns where its line ends."""

    def points(method: str, *, several: bool = False) -> tuple[list[int], list[float]]:
        some = [row for row in rows if row["method"] == method and (row["cores"] > 1) == several]
        return [row["positions"] for row in some], [row["positions_a_second"] for row in some]

    axes.plot(*points(IN_C), "--_", color=colour, linewidth=1, markersize=8, alpha=0.75)
    axes.plot(*points(OURS, several=True), "o", color=colour, markerfacecolor="none", markersize=8)
    axes.plot(*points(OURS), "-o", color=colour, linewidth=2, markersize=4)
    for row in rows:
        if row["method"] not in (OURS, IN_C):
            marker = "+" if row["method"] == "numpy" else "x"
            axes.plot(row["positions"], row["positions_a_second"], marker, color=colour, markersize=7)
    sizes, rates = points(OURS)
    return sizes[-1], rates[-1]


def _label(axes: Any, ends: list[tuple[float, float, str, str]]) -> None:
    """Write a label beside the end of each line, in its colour and without overlaps."""
    right = max(size for size, *_ in ends) * 2.2
    height = 0.0
    for size, rate, label, colour in sorted(ends, key=lambda end: end[1]):
        height = max(rate, 1.75 * height)
        axes.annotate(
            label,
            (size, rate),
            (right, height),
            color=colour,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "alpha": 0.5},
        )


def _dress(axes: Any, line: Any) -> None:
    """Axes, grid, and what the marks mean."""
    axes.set(xscale="log", yscale="log", xlabel="positions", ylabel="positions solved a second")
    axes.grid(alpha=0.25)
    marks = {
        "one core": {"linestyle": "-", "marker": "o", "markersize": 4, "linewidth": 2},
        "all cores": {"linestyle": "", "marker": "o", "markersize": 8, "markerfacecolor": "none"},
        "the same loop in C, one core": {"linestyle": "--", "marker": "_", "linewidth": 1},
        "plain numpy": {"linestyle": "", "marker": "+", "markersize": 7},
        "plain Python": {"linestyle": "", "marker": "x", "markersize": 7},
    }
    handles = [line([], [], color="#333333", label=label, **style) for label, style in marks.items()]
    axes.legend(handles=handles, loc="lower right", frameon=False)

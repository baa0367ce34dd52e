"""How the cases of a campaign ended: counted by kind of case, with a way to repeat each failure."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

_MOST_FAILURES = 100  # are remembered; all are counted


@dataclass
class Tally:
    """The endings of one campaign.

    `seed` decides everything that is random. `scale` is the share of the whole campaign to run: 1 is
    what the committed results are of. Each case is told by `add`, or by `fail` if none may end so.
    """

    seed: int = 1
    scale: float = 1.0
    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    failures: list[str] = field(default_factory=list)
    failed: int = 0
    figures: dict[str, Any] = field(default_factory=dict)
    """Whatever else was measured on the way, such as memory."""

    def add(self, kind: str, ending: str, count: int = 1) -> None:
        """So many cases of a kind ended as they may."""
        self.counts[kind][ending] += count

    def fail(self, kind: str, ending: str, case: str) -> None:
        """A case of a kind ended as none may; `case` says how to repeat it."""
        self.counts[kind][ending] += 1
        self.failed += 1
        if len(self.failures) < _MOST_FAILURES:
            self.failures.append(f"{kind}: {ending}: {case}")

    def share(self, count: int) -> int:
        """So many cases of the whole campaign, at this scale; at least one."""
        return max(1, round(count * self.scale))

    @property
    def cases(self) -> int:
        """How many there were."""
        return sum(ends.total() for ends in self.counts.values())

    @property
    def fields(self) -> dict[str, Any]:
        """The tally as stored: in a fixed order, whatever came first."""
        counts = {kind: dict(sorted(ends.items())) for kind, ends in sorted(self.counts.items())}
        return {
            "cases": self.cases,
            "failed": self.failed,
            "failures": self.failures,
            "counts": counts,
            "figures": self.figures,
        }

    def __str__(self) -> str:
        lines = []
        for kind, ends in sorted(self.counts.items()):
            lines.append(f"{kind}: {ends.total():,}")
            lines += [f"    {count:>9,}  {ending}" for ending, count in sorted(ends.items())]
        lines += [f"{name}: {value}" for name, value in self.figures.items()]
        lines += [f"FAILED  {failure}" for failure in self.failures]
        lines.append(f"{self.cases:,} cases, {self.failed:,} failed")
        return "\n".join(lines)

"""Times and memory of a run, and the table of figures that come from them."""

from __future__ import annotations

from typing import NamedTuple


class Run(NamedTuple):
    """Seconds of each step, and the peak of the GPU's memory in MiB, without what was there."""

    seconds: list[float]
    mib: float | None


class FigureTable:
    """The figures of one model, printed as they come."""

    def __init__(self, name: str) -> None:
        self.name, self.rows = name, []
        print(f"\n{name}", flush=True)

    def add(
        self,
        figure: str,
        value: float,
        seconds: float,
        bar: float | None = None,
        least: bool = False,
        mib: float | None = None,
    ) -> None:
        """A ratio, what it took in seconds, its bar (a maximum, or the least allowed), and the peak
        of memory in MiB."""
        met = None if bar is None else bool(value >= bar if least else value <= bar)
        row = {"figure": figure, "ratio": value, "seconds": seconds, "bar": bar, "met": met}
        self.rows.append(row if mib is None else row | {"MiB": mib})
        memory = "" if mib is None else f"{mib:8,.0f} MiB"
        beside = "" if bar is None else f"{'at least' if least else 'at most'} {bar:.3f}"
        mark = {None: "", True: "", False: "  MISSED"}[met]
        print(f"  {figure:52} {value:7.3f} {seconds:10.4f} s {memory}  {beside}{mark}", flush=True)

    def figures(self) -> dict:
        return {"model": self.name, "figures": self.rows}

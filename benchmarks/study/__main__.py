"""``python dev.py study [--quick] [PART ...]``: measure, draw and report parts of the study."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lab import demo, lab, report, results
from benchmarks.lab.subjects import SUBJECTS
from benchmarks.study import PARTS, part_of
from benchmarks.study.work import CFG, Work

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "study"
REPORT = ROOT / "docs" / "study.md"


@dataclass(frozen=True)
class Places:
    """Places of the results, of the report and of kept measurements."""

    results: Path
    report: Path
    memory: Path


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="dev.py study", description=f"Repeat the GPH paper's analyses: {', '.join(PARTS)}."
    )
    parser.add_argument("part", nargs="*", help="all of them without any")
    parser.add_argument(
        "--quick", action="store_true", help="all on few prompts, into a temporary folder"
    )
    parser.add_argument("--out", type=Path, help="folder to use for --quick")
    options = parser.parse_args()
    if unknown := sorted(set(options.part) - set(PARTS)):
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if options.out and not options.quick:
        parser.error("--out is for --quick; the whole study is written into the repository")
    whole = Places(RESULTS, REPORT, lab.MEMORY)
    places = quick_places(options.out) if options.quick else whole
    for name in options.part or PARTS:
        began, used = time.perf_counter(), time.process_time()
        study(name, options.quick, places)
        spent = f"{time.perf_counter() - began:.0f} s, {time.process_time() - used:.0f} s of CPU"
        print(f"--- {name}: {spent}", flush=True)
    print(f"results in {places.results}, report in {places.report}")
    return 0


def quick_places(folder: Path | None) -> Places:
    """A folder for everything, with a copy of the report."""
    out = folder or Path(tempfile.mkdtemp(prefix="golden-path-study-"))
    report.write(out / REPORT.name, REPORT.read_text("utf-8"))
    return Places(out, out / REPORT.name, out / "memory")


def study(name: str, is_quick: bool, places: Places) -> None:
    """Measure a part and write what it leaves."""
    part, subject, sampler = part_of(name)
    work = Work(is_quick, places.memory, subject, sampler)
    conditions = {
        "model": SUBJECTS[subject].name,
        "sampling": f"{sampler}, {demo.SCHEDULER}, CFG {CFG[subject]:g}",
        "prompts": "few" if is_quick else "held out of training",
        **results.versions(SUBJECTS[subject].name),
    }  # fmt: skip
    text = report.to_json(report.plain({"conditions": conditions, **part.measure(work)}))
    data = json.loads(text)
    report.write(places.results / f"{name}.json", text)
    report.draw(part, data, places.results / f"{name}.png")
    print(f"\n{part.TITLE}\n\n{part.summary(data)}\n", flush=True)
    page = places.report.read_text("utf-8")
    report.write(places.report, report.replaced(page, name, report.summary(part, name, data)))


if __name__ == "__main__":
    sys.exit(main())

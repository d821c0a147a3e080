"""Is a third kind of step worth it, which evaluates the positive branch of guidance alone?

For 50 and 20 steps, CFG 3 and 5, paths with fitted weights are searched at equal numbers of branch
evaluations: with the two kinds of steps that the pack has (both branches, or cached), and with the
third (``_kinds``). Both searches go on from the best path of a common first part, with as many
schedules; the best few are validated on other prompts, and one of each is compared on prompts that
no search saw. Plain Euler steps with as many evaluations are a control.

It takes about an hour and a half of one core. ``-- --only "50 steps, CFG 3"`` does a part, several
at once if you like; with ``--save`` the other results stay as they are.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks import _demo, _results
from benchmarks._demo import Pictures
from benchmarks._kinds import POSITIVE, Branches, Kinds, Loop, text_of
from benchmarks._kinds_search import FINALISTS, FIRST, THEN, searched
from benchmarks._lab import UNSEEN_SEED
from benchmarks._results import interval

FILE = Path(__file__).parent / "results" / "guidance.json"
BUDGETS = {50: (42, 26, 18, 12), 20: (26, 18, 12)}  # branch evaluations; 20 full steps have 40
CFGS = (3.0, 5.0)
SCORING, VALIDATION, UNSEEN = 16, 32, 100  # prompts
SCORING_SEED, VALIDATION_SEED = 31, 32  # of captions, and of noise
GAIN, SAVED = 1.0, 0.15  # dB, or share of the evaluations, that would be worth a third kind


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py bench guidance", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 if no setting gains")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results")
    parser.add_argument("--only", nargs="*", default=(), help="names of settings")
    parser.add_argument("--seed", type=int, default=0, help="of the search; only 0 is saved")
    options = parser.parse_args()
    _demo.begin()
    settings = [(steps, cfg) for steps in BUDGETS for cfg in CFGS]
    wanted = [one for one in settings if not options.only or name_of(*one) in options.only]
    found = [row for one in wanted for row in rows(*one, options.seed)]
    if options.save and not options.seed:
        found = save(found)
    print(table(found))
    gains = [row for row in found if is_gain(row, found)]
    print(f"\n{len(gains)} of {len(found)} settings gain {GAIN:g} dB or {SAVED:.0%}")
    return int(options.check and not gains)


def name_of(steps: int, cfg: float) -> str:
    """Name of a setting."""
    return f"{steps} steps, CFG {cfg:g}"


def rows(steps: int, cfg: float, seed: int = 0) -> Iterator[dict]:
    """A row for each number of branch evaluations."""
    scoring = Branches([pictures(SCORING, SCORING_SEED)], steps, cfg)
    validation = Branches(
        [pictures(SCORING, SCORING_SEED), pictures(VALIDATION, VALIDATION_SEED)], steps, cfg
    )
    unseen = Branches(
        [pictures(SCORING, SCORING_SEED), pictures(UNSEEN, UNSEEN_SEED, held_out=True)], steps, cfg
    )
    for budget in BUDGETS[steps]:
        two, three = searched(scoring, budget, lambda kinds: psnr(validation, kinds).mean(), seed)
        on_two, on_three = (psnr(unseen, kinds) for kinds in (two, three))
        plain = unseen.psnr(unseen.plain(budget // 2))[SCORING:]
        row = {
            "setting": name_of(steps, cfg), "evaluations": budget,
            "two": text_of(two), "three": text_of(three), "positive": three.count(POSITIVE),
            "psnr": interval(on_two), "psnr_three": interval(on_three),
            "gain": interval(on_three - on_two), "over_plain": interval(on_three - plain),
        }  # fmt: skip
        print(row, flush=True)
        yield row


@cache
def pictures(count: int, seed: int, held_out: bool = False) -> Pictures:
    """Prompts with their noise, as the other benchmarks of fitted paths have them."""
    return Pictures(_demo.captions(count, seed, held_out), 1000 * seed)


def psnr(branches: Branches, kinds: Kinds) -> np.ndarray:
    """dB of the other prompts, under weights fitted to the scoring prompts."""
    return branches.psnr(Loop(branches, slice(0, SCORING)).end(kinds))[SCORING:]


def saved(row: dict, found: Sequence[dict]) -> float:
    """Share of the evaluations that three kinds save at the PSNR which two kinds would have.

    Two kinds between their measured numbers: linear in the logarithm of the evaluations; beyond
    them not known, 0.
    """
    same = sorted(
        (one["psnr"][0], one["evaluations"]) for one in found if one["setting"] == row["setting"]
    )
    quality, count = zip(*same, strict=True)
    as_good = np.exp(np.interp(row["psnr_three"][0], quality, np.log(count)))
    return float(1 - row["evaluations"] / as_good)


def is_gain(row: dict, found: Sequence[dict]) -> bool:
    """Whether the third kind brings enough to be worth having."""
    return row["gain"][0] >= GAIN or saved(row, found) >= SAVED


def table(found: Sequence[dict]) -> str:
    """Table of the rows as markdown."""
    head = ["setting", "evaluations", "two kinds, dB", "three kinds, dB", "gain, dB", "saved"]
    head += ["positive alone", "over plain steps, dB"]
    lines = [head, ["---"] * len(head)]
    for row in found:
        psnrs = [f"{row[name][0]:.1f}" for name in ("psnr", "psnr_three")]
        gains = [f"{row[name][0]:+.1f} ± {row[name][1]:.1f}" for name in ("gain", "over_plain")]
        lines.append([
            row["setting"], str(row["evaluations"]), *psnrs, gains[0],
            f"{round(saved(row, found), 2) + 0.0:.0%}", str(row["positive"]), gains[1],
        ])  # fmt: skip
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def save(found: Sequence[dict]) -> list[dict]:
    """Write rows in the places of kept ones; all of them."""
    kept = _results.kept(FILE).get("rows", [])
    together = {(row["setting"], row["evaluations"]): row for row in [*kept, *found]}
    names = [name_of(steps, cfg) for steps in BUDGETS for cfg in CFGS]
    every = sorted(
        together.values(), key=lambda row: (names.index(row["setting"]), -row["evaluations"])
    )
    conditions = {
        "model": "demo model", "sampling": f"{_demo.SAMPLER}, simple",
        "prompts": f"weights fitted on {SCORING}, the best {FINALISTS} of {FIRST + THEN} schedules "
        f"validated on {VALIDATION}, measured on {UNSEEN} held out of training",
        "evaluations": "of a branch: 2 for O, both branches; 1 for +, positive alone; 0 for .",
        "unit": "PSNR in dB of 8-bit images to the full run: mean and half of its 95 % interval by "
        "Student's t; gain: three kinds over two, paired by prompt; over_plain: over plain steps",
    }  # fmt: skip
    _results.write(FILE, conditions, rows=every)
    return every


if __name__ == "__main__":
    sys.exit(main())

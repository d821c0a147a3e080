"""Quality of paths that runs learn from their first images, and what learning costs.

As with the node, each first image is a run of its own in a library without paths: it is computed in
full and remembered, and after the last one weights are fitted. Later images take what was learned:
a path, or the default if that is as good. They are other noises of the learned prompt, or unseen
prompts, these under the paths of the first prompts alone. Beside them stand the default, as many
plain steps, and the search: the bundled fitted path of these settings, if there is one. Every
picture is compared with the full run of its setting. Learning is repeated with other prompts; its
bill is what the network computes for the fit, counted there, in full images.

``-- --model`` takes the video model, or a student of the image model with guidance baked in.

It takes about an hour and a half of one core for images, two to three hours for videos, and two
minutes for the student. ``-- --only "CFG 5, 8 of 20"`` measures the settings with these words alone
and keeps the saved rows of the others; ``-- --quick`` takes a few pictures, to try it out.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from golden_path_pack.gph_core.paths.speeds import SPEEDS, full_of

from benchmarks.lab import report
from benchmarks.lab.demo import SAMPLER, SCHEDULER
from benchmarks.lab.results import interval, seen
from benchmarks.lab.subjects import IMAGE, MODELS, STUDENT, VIDEO, add_option
from benchmarks.learning._learned import (
    LEARNED,
    OTHER,
    PATHS,
    SAME,
    SEARCHED,
    Counts,
    Gallery,
    Setting,
    Source,
    Trial,
    trials,
)
from benchmarks.quality._defaults import DEFAULT, FEWER, GOOD

FILE = "learned.json"
CFGS = (1.0, 3.0, 5.0)
STEPS = (20, 28, 50)
SAMPLERS = (SAMPLER, "dpmpp_2m", "res_multistep", "uni_pc")
MANY_SOURCES_AT = ((20, 8),)  # steps, and how many are full; Euler, CFG 5
COUNTS = {IMAGE: Counts(20, 5, 100), VIDEO: Counts(10, 5, 50), STUDENT: Counts(20, 5, 100)}
QUICK = Counts(2, 2, 4)  # several prompts are two then
BAD = 27.0  # dB
OTHERS = (DEFAULT, FEWER, SEARCHED)
# dB ahead of others after two images of one prompt, on other noises of it: the mean, and the lower
# end of its interval.
TWO_AT, TWO_BARS = (SAMPLER, 5.0, 20, 8), {FEWER: (7.0, 4.0), DEFAULT: (4.0, 2.0)}
MOST_BEHIND_SEARCH = 1.0  # dB, after four images of one prompt, on other prompts
MOST_BILL = 4.0  # full images


def add_options(parser) -> None:
    add_option(parser, MODELS)
    parser.add_argument("--only", default="", metavar="TEXT", help="settings that have these words")
    parser.add_argument("--quick", action="store_true", help="few pictures, which are not saved")


def measure(options) -> dict[str, Any]:
    if options.quick and options.save:
        raise SystemExit("--quick takes too few pictures to be saved")
    wanted = [setting for setting in settings(options.model) if options.only in str(setting)]
    if not wanted:
        raise SystemExit(f"no setting of this model has the words {options.only!r}")
    counts = QUICK if options.quick else COUNTS[options.model]
    return {"rows": list(measured(wanted, counts))}


def measured(wanted: Iterable[Setting], counts: Counts) -> Iterator[dict]:
    """Rows of settings of one model, printed one by one."""
    gallery = None
    for setting in wanted:
        gallery = gallery or Gallery(counts, setting.model)
        for trial in trials(setting, sources(setting), gallery):
            row = row_of(setting, trial)
            print(" | ".join(cells(row)), flush=True)
            yield row


def settings(subject: str) -> list[Setting]:
    """Each CFG and number of steps at each speed with Euler, then other samplers sparsely."""
    if subject == STUDENT:
        return [Setting(STUDENT, SAMPLER, 1.0, 20, full) for full in (8, 5)]
    euler = [
        Setting(subject, SAMPLER, cfg, steps, full_of(speed, steps))
        for cfg in CFGS
        for steps in STEPS
        for speed in SPEEDS
    ]
    return [*euler, *(Setting(subject, sampler, 5.0, 20, 8) for sampler in SAMPLERS[1:])]


def sources(setting: Setting) -> list[Source]:
    """What is learned from at a setting."""
    if setting.model == STUDENT:
        return [Source(2, 1)]
    if setting[1:3] == (SAMPLER, 5.0) and setting[-2:] in MANY_SOURCES_AT:
        return [*(Source(n, 1) for n in (1, 2, 4, 8)), *(Source(n, n) for n in (2, 4, 8))]
    return [Source(2, 1), Source(4, 1)]


def row_of(setting: Setting, trial: Trial) -> dict:
    """What was learned, the scores of every way, the lead of the learned one, and the bill."""
    source, tested, found, scores = trial
    axis = 1 if tested == SAME else 0  # within a prompt images are no sample of their own
    means = {name: values.mean(axis) for name, values in scores.items()}
    ways = {
        name: {
            "psnr": interval(means[name], 2), **seen(values),
            "bad": round(float((values < BAD).mean()), 3),
        }
        for name, values in scores.items()
    }  # fmt: skip
    stated = [one.figure for one in found if one.figure is not None]
    return {
        **setting._asdict(), **source._asdict(), "tested": tested,
        "learned": [str(one.path.schedule) if one.path else DEFAULT for one in found],
        "stated": round(statistics.fmean(stated), 2) if stated else None, "ways": ways,
        "ahead": {
            name: interval(means[LEARNED] - means[name], 2) for name in means if name != LEARNED
        },
        "bill": max(one.bill for one in found),
    }  # fmt: skip


def setting_of(row: dict) -> Setting:
    """The setting of a row."""
    return Setting(*(row[name] for name in Setting._fields))


def source_of(row: dict) -> Source:
    """What was learned from in a row."""
    return Source(row["images"], row["prompts"])


def merged(kept: dict[str, Any], figures: dict[str, Any]) -> dict[str, Any]:
    """The new rows in the places of the saved ones of the same kind."""
    rows = {_place(row): row for row in (*kept.get("rows", ()), *figures["rows"])}
    return {"rows": [rows[place] for place in sorted(rows)]}


def _place(row: dict) -> tuple:
    (model, sampler, cfg, steps, full), (images, prompts) = setting_of(row), source_of(row)
    setting = model, SAMPLERS.index(sampler), cfg, steps, -full
    return *setting, prompts > 1, images, (SAME, OTHER).index(row["tested"])


def summary(figures: dict[str, Any]) -> str:
    head = ["setting", "learned from", "tested on", "learned", "stated dB", LEARNED, *OTHERS]
    head += [*(f"ahead of {name}" for name in OTHERS), "bill"]
    ways = "PSNR in dB / mean of the worst tenth / share from 33 dB on / share below 27 dB"
    return f"{report.table(head, map(cells, figures['rows']))}\n\nEach way: {ways}."


def cells(row: dict) -> list[str]:
    """A line of the table."""
    ((schedule, most),) = Counter(row["learned"]).most_common(1)
    count = len(row["learned"])
    ways = [_way(row["ways"].get(name)) for name in (LEARNED, *OTHERS)]
    return [
        str(setting_of(row)), str(source_of(row)), row["tested"],
        schedule if most == count else f"{schedule} ({most} of {count})",
        "" if row["stated"] is None else f"{row['stated']:.1f}",
        *ways, *(report.within(row["ahead"].get(name)) for name in OTHERS), f"{row['bill']:.2f}",
    ]  # fmt: skip


def _way(way: dict | None) -> str:
    if way is None:
        return ""
    mean, half = way["psnr"]
    return (
        f"{mean:.1f} ± {half:.1f} / {way['worst tenth']:.1f} / {way['good']:.0%} / {way['bad']:.0%}"
    )


def misses(figures: dict[str, Any]) -> list[str]:
    """Bars that are missed."""
    rows = figures["rows"]
    found = [f"{_title(row)}: {fault}" for row in rows for fault in _faults(row)]
    leads = [row["ahead"][DEFAULT][0] for row in rows if _is_four(row)]
    if leads and statistics.fmean(leads) <= 0:
        mean = f"{statistics.fmean(leads):+.2f} dB ahead of the default on average"
        found.append(f"{Source(4, 1)}, {OTHER}: {mean}")
    return found


def _faults(row: dict) -> Iterator[str]:
    """Bars that a row misses alone."""
    setting, ahead = setting_of(row), row["ahead"]
    two = (source_of(row), row["tested"]) == (Source(2, 1), SAME)
    if two and setting[1:] == TWO_AT:
        for name, (mean, low) in TWO_BARS.items():
            if ahead[name][0] < mean or ahead[name][0] - ahead[name][1] <= low:
                yield (
                    f"{report.within(ahead[name])} dB ahead of {name}, at least {mean:g} wanted, "
                    f"and surely more than {low:g}"
                )
    if _is_four(row) and SEARCHED in ahead and ahead[SEARCHED][0] < -MOST_BEHIND_SEARCH:
        yield f"{report.within(ahead[SEARCHED])} dB ahead of {SEARCHED}"
    if (_is_four(row) or setting.model == STUDENT) and sum(ahead[DEFAULT]) < 0:
        yield f"{report.within(ahead[DEFAULT])} dB ahead of the default"
    if row["bill"] > MOST_BILL:
        yield f"a bill of {row['bill']:.2f} full images, at most {MOST_BILL:g} wanted"


def _is_four(row: dict) -> bool:
    """Whether four images of one prompt were tried on other prompts."""
    return (source_of(row), row["tested"]) == (Source(4, 1), OTHER)


def _title(row: dict) -> str:
    return f"{setting_of(row)}, {source_of(row)}, {row['tested']}"


def conditions(options) -> dict[str, Any]:
    """How the rows of a model were measured."""
    prompts, noises, unseen = COUNTS[options.model]
    return {
        "model": MODELS[options.model].name, "scheduler": SCHEDULER,
        "prompts": f"all held out of training: {prompts} to learn from, each tried on {noises} "
        f"other noises; {unseen} others under the first {PATHS} learned paths",
        "ways": f"PSNR, which a tenth do not exceed (worst tenth), share from {GOOD:g} dB on "
        f"(good) and below {BAD:g} dB (bad)",
        "unit": "PSNR in dB to the full run of the same setting, with half of a 95 % interval (t) "
        "over the learned prompts, or over the others; ahead: of the learned way, paired; stated: "
        "mean of what the paths state; bill: the largest of the fits, in full images",
    }  # fmt: skip

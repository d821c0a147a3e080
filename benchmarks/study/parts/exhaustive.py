"""A space of which every schedule is scored: how near one schedule comes to every prompt's best.

Source: GPH paper, appendix *Exhaustive high-ratio schedule search*, which has four prompts. Here
schedules are chosen on the first four of the scoring prompts, too, and on all of them.
"""

from __future__ import annotations

import numpy as np
from golden_path_pack.gph_core.quality.coverage import coverage

from benchmarks.lab import report
from benchmarks.study import landscape, space_table
from benchmarks.study.transfer import transfer
from benchmarks.study.work import Work

TITLE = "How near one schedule comes to every prompt's best, and what the space looks like"
PAPERS = 4  # prompts
NEAR = (0.01, 0.05, 0.1, 0.2, 0.5, 1.0)  # dB
MARGINS = (0.25, 0.5, 1.0)
UNIFORM, BEST = "uniform", "best on the new prompts"


def measure(work: Work) -> dict:
    table = space_table.load(work)
    scoring, new = table.scoring, table.new
    counts = sorted({min(PAPERS, scoring.shape[1]), scoring.shape[1]})
    return {
        "space": f"{table.space.size} schedules: {table.space.num_steps} steps, "
        f"{table.space.num_cached} cached, {table.space.required_full} fixed; residual reuse",
        "scoring prompts": scoring.shape[1], "new prompts": new.shape[1],
        "unit": "dB of PSNR; gaps and losses: below the best schedule of a prompt, or of all",
        "selected": [selection(table, count) for count in counts],
        "points": np.stack([scoring.mean(1), new.mean(1)], axis=1),
        "any schedule": [
            float((new.max(0) - new <= margin).mean()) for margin in MARGINS
        ],
        "rows": [
            *(row(table, f"chosen on {count} prompts", chosen(table, count)) for count in counts),
            row(table, BEST, landscape.shared(new).row),
            row(table, UNIFORM, table.uniform),
        ],
    }  # fmt: skip


def chosen(table: space_table.SpaceTable, count: int) -> int:
    """The row of the best schedule for the first scoring prompts."""
    return landscape.shared(table.scoring[:, :count]).row


def selection(table: space_table.SpaceTable, count: int) -> dict:
    """The space scored on the first prompts, and how its ranking transfers to new ones."""
    quality = table.scoring[:, :count]
    best = landscape.shared(quality)
    optima = landscape.optima(table.space, quality.mean(axis=1))
    return {
        "prompts": count, "mean": best.mean, "gaps": sorted(best.regrets),
        "different optima": len(set(quality.argmax(axis=0).tolist())),
        "near": dict(zip(NEAR, landscape.near_best_mean(quality, NEAR), strict=True)),
        "near every optimum": landscape.near_every_optimum(quality, MARGINS[-1]),
        "optima": [[str(o.schedule), o.regret, o.share] for o in optima],
        "transfer": transfer(quality.mean(axis=1), table.new.mean(axis=1))._asdict(),
    }  # fmt: skip


def row(table: space_table.SpaceTable, name: str, number: int) -> dict:
    """Quality of one schedule on the new prompts."""
    means = table.new.mean(axis=1)
    regrets = table.new.max(axis=0) - table.new[number]
    return {
        "name": name, "schedule": str(list(table.space)[number]), "psnr": means[number],
        "rank": int((means > means[number]).sum()) + 1, "loss": means.max() - means[number],
        "gap": regrets.mean(), "gaps": sorted(regrets),
        "coverage": [[c.margin, c.share, c.lower] for c in coverage(regrets, MARGINS)],
    }  # fmt: skip


def summary(data: dict) -> str:
    head = ["schedule", "full steps", "PSNR", "rank", "below the best shared one"]
    head += ["mean gap", *(f"within {margin:g} dB" for margin in MARGINS)]
    lines = [
        [
            r["name"], r["schedule"], f"{r['psnr']:.2f}", r["rank"], f"{r['loss']:.2f}",
            f"{r['gap']:.2f}", *(f"{s:.0%} (at least {low:.0%})" for _, s, low in r["coverage"]),
        ]
        for r in data["rows"]
    ]  # fmt: skip
    anyone = (f"{share:.0%}" for share in data["any schedule"])
    lines.append(["any schedule, mean", *[""] * 5, *anyone])
    title = f"{data['space']}. On {data['new prompts']} new prompts, dB:"
    table = report.table(head, lines)
    return "\n".join([title, "", table, "", *(_summary(s) for s in data["selected"])])


def _summary(selected: dict) -> str:
    near = ", ".join(f"{count} within {margin}" for margin, count in selected["near"].items())
    ends = [f"{share:.1%} {below:.3f} dB below the best" for _, below, share in selected["optima"]]
    also = f", {len(ends) - 3} more" if len(ends) > 3 else ""
    t, regrets = selected["transfer"], selected["gaps"]
    return (
        f"- Scored on {selected['prompts']} prompts, which have {selected['different optima']} "
        f"different best schedules: the shared one is {np.mean(regrets):.3f} dB below these in the "
        f"mean, {regrets[-1]:.3f} at most. Schedules near the best mean: {near}. Within 1 dB of "
        f"every single optimum: {selected['near every optimum']}. Local optima of one swap: "
        f"{len(ends)}; steepest ascent from every schedule ends {', '.join(ends[:3])}{also}. "
        f"Spearman's correlation with the means on new prompts {t['spearman']:.3f}, "
        f"{t['shared_top']} of the best {t['top']} in common."
    )


def draw(data: dict, figure) -> None:
    near, points, covered = figure.subplots(1, 3)
    x, y = np.array(data["points"]).T
    regrets = np.sort(x.max() - x)
    near.step(regrets, np.arange(1, len(regrets) + 1), where="post", color=report.COLORS[0])
    near.set(yscale="log", xlabel="dB below the best mean", ylabel="schedules")
    near.set_xlim(0, NEAR[-1])
    near.set_title("near-optimal schedules", fontsize=10)
    points.plot(x, y, ".", color=report.COLORS[0], markersize=3, alpha=0.4)
    points.set(xlabel="PSNR on the scoring prompts, dB", ylabel="PSNR on the new prompts, dB")
    points.set_title("every schedule", fontsize=10)
    for found, color, style in zip(
        data["rows"], report.COLORS, ("-", "--", ":", "-."), strict=False
    ):
        share = np.arange(1, len(found["gaps"]) + 1) / len(found["gaps"])
        covered.step(found["gaps"], share, style, where="post", color=color, label=found["name"])
    covered.set(xlabel="dB below the prompt's best", ylabel="share of the new prompts")
    covered.set_title("coverage", fontsize=10)
    covered.set_ylim(0, 1)
    covered.legend(fontsize=7, loc="lower right")

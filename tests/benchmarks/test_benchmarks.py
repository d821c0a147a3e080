"""What the benchmarks on the demo model rely on."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from golden_path_pack.gph_core.schedule import Schedule

from benchmarks.lab import demo, golden_paths
from benchmarks.lab.golden_paths import SearchedPaths
from benchmarks.lab.known_scores import KnownScores, cost_of_regret, median_regret
from benchmarks.lab.lab import Prompts
from benchmarks.lab.results import FOLDER, interval
from benchmarks.lab.shots import Shot
from benchmarks.lab.subjects import IMAGE, SUBJECTS, VIDEO
from benchmarks.quality import (
    carry,
    fitted_paths,
    fitted_search,
    golden_path,
)
from benchmarks.quality._pictures import Pictures, reused
from benchmarks.quality._rules import gained
from benchmarks.quality.golden_path import NO_POLICY, PLAIN, UNIFORM, ScoredWay
from demo import scenes

from ..support.selection import later

PLAN = reused(Schedule.parse("0,3,5/6"))


@pytest.mark.parametrize(("subject", "shape"), [(IMAGE, (64, 64, 3)), (VIDEO, (13, 64, 64, 3))])
@pytest.mark.parametrize("plan", [PLAN, *later(None)])
def test_many_prompts_at_once_give_what_each_gives_alone(plan, subject, shape):
    prompts = SUBJECTS[subject].captions(3, seed=0, held_out=True)
    together = Pictures(prompts, 7, subject).sample("simple", 6, plan)
    assert together.shape == (3, *shape)
    for number, prompt in enumerate(prompts):
        alone = Pictures([prompt], 7 + number, subject).sample("simple", 6, plan)
        assert (alone[0] - together[number]).abs().max() <= 1  # of 255


def test_a_schedule_changes_the_picture_and_none_does_not():
    pictures = Pictures(SUBJECTS[IMAGE].captions(1, seed=0, held_out=True), first_seed=7)
    full = pictures.sample("simple", 6)
    assert torch.equal(pictures.sample("simple", 6, reused(Schedule.all_full(6))), full)
    assert not torch.equal(pictures.sample("simple", 6, PLAN), full)


def test_more_prompts_than_a_batch_are_all_sampled():
    prompts = SUBJECTS[IMAGE].captions(demo.BATCH + 1, seed=0, held_out=True)
    images = Pictures(prompts, first_seed=0).sample("simple", 1)
    assert len(images) == demo.BATCH + 1


@pytest.mark.parametrize("held_out", [True, False])
def test_captions_differ_and_are_of_one_kind(held_out):
    found = SUBJECTS[IMAGE].captions(64, seed=2, held_out=held_out)
    assert len(set(found)) == 64
    assert {scenes.is_held_out(caption) for caption in found} == {held_out}


def test_psnr_is_that_of_eight_bit_images():
    reference = torch.zeros(2, 4, 4, 3)
    found = demo.psnr(reference + torch.tensor([0.0, 25.5]).view(2, 1, 1, 1), reference)
    assert found.tolist() == pytest.approx([100, 20])  # equal ones are capped; 20 log10(255/25.5)
    frames = torch.tensor([[25.5, 2.55], [25.5, 255.0]]).view(2, 2, 1, 1, 1)  # 20, 40 and 20, 0 dB
    clips = demo.psnr(torch.zeros(2, 2, 4, 4, 3) + frames, torch.zeros(2, 2, 4, 4, 3))
    assert clips.tolist() == pytest.approx([30, 10])


def test_results_of_each_model_have_a_file():
    file = Path("results", "golden-path.json")
    assert [SUBJECTS[name].file(file).name for name in (IMAGE, VIDEO)] == [
        "golden-path.json", "golden-path-video.json"
    ]  # fmt: skip


def test_the_interval_is_students():
    mean, half = interval([1.0, 2.0, 3.0, 4.0])
    assert mean == 2.5
    assert half == pytest.approx(2.0541, abs=1e-3)  # 3.1824 * 1.2910 / 2


def test_gains_are_paired_by_prompt():
    one, other = np.array([10.0, 20.0, 30.0]), np.array([11.0, 21.0, 31.0])
    assert gained({"uniform": one, "density": other}) == {
        "uniform": (0.0, 0.0),
        "density": (1.0, 0.0),
    }


COURSE = [(100, 20.0), (300, 24.0), (900, 25.0)]  # full steps so far, best mean


def test_the_cost_of_a_regret_is_that_of_the_first_schedule_within_it():
    assert cost_of_regret(COURSE, best=25.0, regret=1.0) == 300
    assert cost_of_regret(COURSE, best=25.0, regret=0.0) == 900
    assert cost_of_regret(COURSE, best=26.0, regret=0.5) == np.inf


def test_the_regret_at_a_cost_is_the_median_of_the_seeds():
    courses = [COURSE, [(100, 25.0)], [(500, 23.0)]]
    assert np.isnan(median_regret(courses, best=25.0, cost=400))  # one has no score yet
    assert median_regret(courses, best=25.0, cost=600) == 1.0  # 1, 0, 2
    assert median_regret(courses, best=25.0, cost=1000) == 0.0  # 0, 0, 2


def test_what_shares_its_first_full_steps_is_cheaper_with_states():
    first, second = Schedule.parse("0-1,3,7/9"), Schedule.parse("0-1,3,8/9")
    values = {first: np.array([20.0, 21.0]), second: np.array([22.0, 23.0])}
    costs = {}
    for keeps_states in (False, True):
        table = KnownScores(values, keeps_states)
        found = [table.measure(schedule, range(2)) for schedule in (first, second)]
        costs[keeps_states] = [measurement.full_steps for measurement in found]
        assert found[1].metrics == [{"psnr": 22.0}, {"psnr": 23.0}]
    # Two examples of four full steps; of the second schedule only the last is new.
    assert costs == {False: [8, 8], True: [8, 2]}


def test_an_interval_is_over_prompts_and_rounded():
    values = np.array([[1.0, 3.0], [4.0, 4.0], [0.0, 1.0]])
    assert golden_path.interval(values) == (2.167, 0.5, 4.0)


def test_the_kept_schedules_are_of_all_speeds():
    for subject in SUBJECTS:
        found = golden_paths.schedules(subject)
        assert {full: schedule.num_full for full, schedule in found.items()} == {
            9: 9, 13: 13, 21: 21
        }  # fmt: skip


def test_a_way_is_sampled_on_every_prompt_and_noise(monkeypatch, tmp_path):
    schedule = Schedule.parse("0-2,30,49/50")
    monkeypatch.setattr(golden_path, "NOISES", (10_000, 20_000))
    monkeypatch.setattr(golden_path, "CHUNK", 2)
    monkeypatch.setattr(golden_path, "MEMORY", tmp_path)
    monkeypatch.setattr(golden_path, "PROMPTS", Prompts(unseen=3))
    monkeypatch.setattr(golden_path, "moved", lambda subject, full: schedule)
    drawn = []
    monkeypatch.setattr(golden_path, "drawn", lambda full, seed: drawn.append(seed) or schedule)
    asked = []

    def of(self, way, numbers):
        asked.append((self.lab.noise, way.key, list(numbers)))
        return [Shot(float(self.lab.noise + n), 1.0, 0.0, "") for n in numbers]

    monkeypatch.setattr(golden_path.Shots, "of", of)
    reuse = "residual reuse"
    found = [SearchedPaths(5, 32, reuse, {reuse: schedule})]
    scores = golden_path.sample(found, IMAGE)
    assert set(scores) == {
        ScoredWay(5, PLAIN, NO_POLICY), ScoredWay(5, "random", reuse),
        ScoredWay(5, "published, moved", reuse), ScoredWay(5, UNIFORM, reuse),
        ScoredWay(5, "searched on 32", reuse),
    }  # fmt: skip
    for values in scores.values():
        assert values.tolist() == [[1e4, 2e4], [10_001, 20_001], [10_002, 20_002]]
    assert drawn == ["0 10000", "2 10000", "0 20000", "2 20000"]
    assert (10_000, "5 plain", [0, 1]) in asked
    assert (10_000, "5 plain", [2]) in asked


def test_a_noise_is_that_of_the_first_prompt():
    lab = golden_path.NoiseLab(6, 5.0, prompts=Prompts(unseen=2), noise=70)
    assert [example.seed for example in lab.unseen.examples] == [70, 71]
    assert str(lab) == "6 steps, CFG 5, noise 70"


def test_a_searched_pair_is_held_against_uniform_with_its_policy_and_against_plain_steps():
    schedule = Schedule.parse("0-2,4,8/10")
    found = [
        SearchedPaths(5, 8, "two-anchor", {"two-anchor": schedule, "residual reuse": schedule})
    ]
    best = ScoredWay(5, "searched on 8", "two-anchor")
    scores = {
        best: np.array([[30.0, 32.0], [34.0, 36.0]]),
        ScoredWay(5, UNIFORM, "two-anchor"): np.array([[29.0, 31.0], [33.8, 35.8]]),  # -0.6
        ScoredWay(5, UNIFORM, "residual reuse"): np.array([[31.5], [35.0]]),  # one noise
        ScoredWay(5, PLAIN, NO_POLICY): np.array([[30.0, 31.4], [33.6, 35.8]]),  # -0.3
    }
    rows = golden_path.rows_of(scores, found)
    ahead = {(row["name"], row["policy"]): row["ahead"] for row in rows}
    assert ahead["searched on 8", "two-anchor"] == {}
    assert ahead[UNIFORM, "two-anchor"]["searched on 8"][0] == pytest.approx(0.6)
    assert ahead[UNIFORM, "residual reuse"]["searched on 8"][0] == pytest.approx(-1.25)
    assert rows[0]["policy"] == "residual reuse"  # the best first
    assert [row["schedule"] for row in rows if row["is_pair"]] == [str(schedule)]
    assert golden_path.misses({"rows": rows}) == [
        "5 full, searched on 8: +0.30 dB ahead of plain steps"
    ]
    assert "| 5 | **searched on 8** | two-anchor | 33.00 |  |" in golden_path.summary(
        {"rows": rows}
    )


def fitted_row(kind=fitted_paths.SEARCHED, cfg=5.0, **ahead):
    """A row of ``fitted_paths``: dB ahead of its controls, and half of each interval."""
    names = {"uniform": fitted_paths.UNIFORM, "plain": fitted_paths.PLAIN}
    names |= {"solver": fitted_paths.SOLVER}
    return {
        "kind": kind, "steps": 50, "full": 8, "cfg": cfg, "schedule": "0/50", "psnr": (30.0, 1.0),
        "sampler": "", "ahead": {names[name]: gain for name, gain in ahead.items()},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("row", "missed"),
    [
        (fitted_row(uniform=(3.0, 0.9), plain=(3.1, 1.0)), []),
        (fitted_row(uniform=(2.9, 0.1), plain=(3.5, 0.1)), ["+2.90 ± 0.10 dB ahead of uniform"]),
        (fitted_row(uniform=(3.5, 0.1), plain=(3.5, 1.6)), ["+3.50 ± 1.60 dB ahead of plain"]),
        (fitted_row(cfg=1.0, uniform=(7.9, 0.1), plain=(4.0, 0.1)), ["+7.90 ± 0.10 dB ahead of"]),
        (fitted_row(fitted_paths.FAMILY, uniform=(1.5, 1), plain=(1.5, 1), solver=(0.1, 1)), []),
        (
            fitted_row(fitted_paths.FAMILY, uniform=(1.5, 1), plain=(1.4, 1), solver=(-0.1, 1)),
            ["-0.10 ± 1.00 dB ahead of best plain", "ahead in 0 of 1 alone"],
        ),
    ],
)
def test_fitted_paths_miss_a_bar_by_the_mean_or_the_interval(row, missed):
    found = fitted_paths.misses({"rows": [row]})
    assert len(found) == len(missed)
    assert all(text in line for text, line in zip(missed, found, strict=True))


def test_the_familys_bar_is_of_five_numbers_of_full_steps():
    behind = fitted_row(fitted_paths.FAMILY, uniform=(1.0, 0.1), plain=(1.0, 0.1), solver=(0.1, 1))
    assert fitted_paths.misses({"rows": [{**behind, "full": 21}]}) == []


def test_the_results_have_the_kept_scores():
    rows = json.loads((FOLDER / fitted_paths.FILE).read_text("utf-8"))["rows"]
    results = (FOLDER.parents[1] / "docs" / "results.md").read_text("utf-8")
    searched = {
        (f"{row['full']} of {row['steps']}", f"{row['cfg']:g}"): row
        for row in rows
        if row["kind"] == fitted_paths.SEARCHED
    }
    lines = results.partition("| Full steps | CFG |")[2].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len(cells) == 10
    for full, cfg, *shown in cells:
        row = searched[full, cfg]
        gains = (row["ahead"][name] for name in (fitted_paths.UNIFORM, fitted_paths.PLAIN))
        expected = [f"{mean:+.1f} ± {half:.1f}" for mean, half in gains]
        share = math.floor(100 * row["good"] + 0.5)
        seen = [f"{row['psnr'][0]:.1f}", f"{row['worst tenth']:.1f}", f"{share} %"]
        assert shown == [*seen, *expected]
    family = [row["ahead"] for row in rows if row["kind"] == fitted_paths.FAMILY]
    ahead, halves = zip(*(gains[fitted_paths.SOLVER] for gains in family), strict=True)
    assert f"by {min(ahead):.1f} to {max(ahead):.1f} dB in {len(family)} settings" in results
    sure = sum(mean > half for mean, half in zip(ahead, halves, strict=True))
    assert f"in {sure} of them surely" in results


def searched_row(**values):
    return {"steps": 20, "full": 5, "cfg": 5.0, **values}


@pytest.mark.parametrize(
    ("part", "row", "missed"),
    [
        ("schedules", {"lost": 0.3}, []),
        ("schedules", {"lost": 0.31}, ["5 of 20, CFG 5: 40 schedules lose 0.31 dB"]),
        ("examples", {"lost": (0.5, 0.1), "ahead": {"8": (1.0, 0.9), "16": (1.0, 0.9)}}, []),
        (
            "examples",
            {"lost": (0.6, 0.1), "ahead": {"8": (0.9, 0.9), "16": (1.0, 0.9)}},
            ["8 examples lose 0.60 ± 0.10 dB", "8 examples: +0.90 ± 0.90 dB ahead"],
        ),
    ],
)
def test_searches_of_fitted_paths_miss_a_bar(part, row, missed):
    found = fitted_search.misses({part: [searched_row(**row)]})
    assert len(found) == len(missed)
    assert all(text in line for text, line in zip(missed, found, strict=True))


def test_weights_are_carried_to_places_that_differ_in_one_thing():
    labs = [lab for lab in carry.labs() if lab.full == carry.FULL]
    at_home, *elsewhere = (lab.workload(6, seed=1, held_out=True) for lab in labs)
    several = [
        {
            name
            for name in ("cfg", "sigmas", "size", "patches", "prompts")
            if trait(work, name) != trait(at_home, name)
        }
        for work in elsewhere
    ]
    assert several == [
        *[{"cfg"}] * 5, {"sigmas"}, {"size"}, {"patches"}, {"prompts"}, {"prompts"}
    ]  # fmt: skip
    pairs, others = (trait(work, "prompts") for work in elsewhere[-2:])
    assert sorted(pairs + others) == sorted(trait(at_home, "prompts"))
    assert all(" above " in prompt or " left of " in prompt for prompt in pairs)


def trait(work, name):
    """What a place of ``carry`` may differ in."""
    return {
        "cfg": work.guider.cfg, "sigmas": work.sigmas.tolist(),
        "size": work.latent["samples"].shape, "patches": bool(work.guider.model_patcher.patches),
        "prompts": [example.prompt for example in work.examples],
    }[name]  # fmt: skip


def test_the_kept_scores_are_those_of_the_paths_that_come_with_the_pack():
    text = (FOLDER / fitted_paths.FILE).read_text("utf-8")
    rows = [row for row in json.loads(text)["rows"] if row["kind"] == fitted_paths.SEARCHED]
    kept = {(row["schedule"], row["cfg"]) for row in rows}
    paths = [path for kind, path in fitted_paths.paths(with_family=False)]
    assert kept == {(str(path.schedule), path.conditions["CFG"]) for path in paths}

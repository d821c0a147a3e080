"""The comparison of all methods on the demo model: its pictures, and what it makes of them."""

import json
import re
from dataclasses import replace

import pytest
import torch
from golden_path_pack.gph_core.policies.causal_linear import CausalLinear
from golden_path_pack.gph_core.policies.extrapolation import (
    FAR,
    Hermite,
    Reuse,
    Taylor,
    TokenTaylor,
)
from golden_path_pack.gph_core.schedule import Schedule

from benchmarks.lab import demo, replay
from benchmarks.lab.lab import Lab, Prompts
from benchmarks.lab.results import FOLDER
from benchmarks.lab.shots import Shot, Shots, Way
from benchmarks.lab.ways import fixed, ways
from benchmarks.quality import methods

CACHED = fixed("uniform", Schedule.parse("0,3,5/6"), Reuse())


@pytest.fixture
def lab(tmp_path):
    """Of three prompts, with a memory of its own."""
    return Lab(6, 3.0, prompts=Prompts(unseen=3), memory=tmp_path)


def test_the_counts_are_the_papers_at_fifty_steps_and_their_share_of_others():
    assert Lab(50, 1.0).counts == [21, 13, 9]
    assert Lab(28, 1.0).counts == [12, 7, 5]  # 11.76, 7.28, 5.04


def test_settings_are_chosen_by_their_names():
    assert [str(lab) for lab in methods.labs(["50 steps, CFG 3"])] == ["50 steps, CFG 3"]
    of_video = [
        f"video, {steps} steps, CFG 5{sampler}"
        for steps in (50, 20)
        for sampler in ("", ", uni_pc")
    ]
    assert [str(lab) for lab in methods.labs()][4:] == of_video
    assert str(Lab(20, 3.0, "heun")) == "20 steps, CFG 3, heun"


def test_a_schedule_without_cached_steps_gives_the_picture_of_the_full_run(lab):
    full = fixed("full", Schedule.all_full(6), Reuse())
    assert Shots(lab).of(full, [1]) == [Shot(demo.PSNR_OF_EQUAL, 1.0, 0.0, "0-5/6")]


def test_prompts_sampled_together_are_scored_as_each_alone(lab):
    together = Shots(lab).of(CACHED, range(3))
    (lab.memory / "shots.jsonl").unlink()
    alone = Shots(lab).of(replace(CACHED, alone=True), range(3))
    for one, other in zip(together, alone, strict=True):
        assert one.psnr == pytest.approx(other.psnr, abs=0.01)
        assert one.schedule == other.schedule == "0,3,5/6"
    assert len({shot.psnr for shot in together}) == 3


def test_plain_steps_have_fewer_noise_levels(lab):
    (shot,) = Shots(lab).of(Way("plain steps", "3 plain", None, 3), [0])
    assert shot.schedule == "3 plain"
    assert 5 < shot.psnr < 60


def test_what_is_known_is_not_sampled_again(lab, monkeypatch):
    first = Shots(lab).of(CACHED, [0, 2])
    monkeypatch.setattr(Shots, "_sampled", None)
    assert Shots(lab).of(CACHED, [2, 0]) == first[::-1]
    assert len((lab.memory / "shots.jsonl").read_text("utf-8").splitlines()) == 1


class Table:
    """Shots from a table of dB by schedule and prompt."""

    def __init__(self, values: dict[str, list[float]]) -> None:
        self.values = values

    def of(self, way: Way, numbers) -> list[Shot]:
        text = str(way.schedule)
        return [Shot(self.values[text][n], self.values[text][n] / 100, 0.0, text) for n in numbers]


def test_the_most_frequent_schedule_is_replayed_where_the_method_chose_another(monkeypatch):
    lab, often, seldom = Lab(8, 1.0), "0-2,5,7/8", "0-2,4,7/8"
    draws = ["0-2,3,7/8", "0-2,6-7/8", "0-1,3,6-7/8", "0-1,4,6-7/8", "0-1,5-7/8"]
    draws = [str(Schedule.parse(text)) for text in draws]
    names = iter(draws)
    monkeypatch.setattr(replay, "drawn", lambda like, seed: Schedule.parse(next(names)))
    chosen = [often, seldom, often, seldom, often, seldom, often, often, seldom]
    found = [Shot(30.0 + n, 0.9, 0.0, text) for n, text in enumerate(chosen)]
    random_ones = {text: [31.0 + n] * 9 for n, text in enumerate(draws)}
    table = Table({often: [0, 0, 0, 34.0, 0, 37.0, 0, 0, 38.0], **random_ones})
    way = replace(CACHED, key="a gate", num_full=5, alone=True)
    row = replay.replay(lab, table, way, found)
    assert (row["schedule"], row["runs"]) == (often, 3)  # prompts 3, 5 and 8 of the last six
    assert row["share"] == pytest.approx(2 / 3)
    assert row["replayed psnr"][0] == pytest.approx((1 + 2 + 0) / 3)
    # Five random schedules with the means 31 - 106 / 3 + (0, 1, 2, 3, 4).
    mean, half = row["random psnr"]
    assert mean == pytest.approx(31 - 106 / 3 + 2)
    assert half == pytest.approx(2.7764 * (10 / 4) ** 0.5 / 5**0.5, abs=1e-3)  # Student, 4 degrees
    assert row["replayed ssim"][0] == pytest.approx((0.34 + 0.37 + 0.38) / 3 - 0.9)


def test_a_method_that_cannot_reach_a_number_of_full_steps_is_left_out(lab):
    found = ways(lab, 3, ["SeaCache"], {(3, "SeaCache"), (2, "TeaCache")})
    assert [way.name for way in found] == ["uniform", "plain steps"]


def test_equal_schedules_with_other_weights_are_other_ways():
    schedule, ones = Schedule.all_full(6), torch.tril(torch.ones(6, 6), -1)
    one, other = (fixed("L2P", schedule, CausalLinear(weights)) for weights in (ones, ones / 2))
    assert one.key != other.key
    assert fixed("L2P", schedule, CausalLinear(ones)).key == one.key


def test_nothing_is_said_of_a_replay_that_differs_nowhere(monkeypatch):
    found = [Shot(30.0, 0.9, 0.0, "0-2,5,7/8")] * 6
    table = Table({})
    monkeypatch.setattr(table, "of", lambda way, numbers: [found[n] for n in numbers])
    row = replay.replay(Lab(8, 1.0), table, replace(CACHED, num_full=5), found)
    assert (row["runs"], row["replayed psnr"], row["random psnr"]) == (0, None, None)


def test_a_random_schedule_has_as_many_full_steps_and_is_the_same_again():
    like = Schedule.parse("0-2,9,15,27/28")
    found = replay.drawn(like, "TeaCache")
    assert found.num_full == 6
    assert {0, 1, 2, 27} <= set(found.full_steps)
    assert replay.drawn(like, "TeaCache") == found
    assert len({str(replay.drawn(like, str(seed))) for seed in range(20)}) > 10


def test_a_row_has_means_and_what_was_realized():
    found = [Shot(30.0, 0.8, 0.1, "0,2,3/4"), Shot(32.0, 0.9, 0.3, "0,3/4")]
    row = methods.means([*found, Shot(34.0, 1.0, 0.2, "0,3/4")])
    assert row["psnr"] == (32.0, pytest.approx(4.3027 * 2 / 3**0.5, abs=1e-3))  # Student, 2 degrees
    assert row["latent_mse"][0] == pytest.approx(0.2)
    assert (row["cached"], row["distinct"]) == (pytest.approx(5 / 3), 2)
    assert row["spread"] == pytest.approx((2 / 9) ** 0.5)
    assert (row["schedule"], row["share"]) == ("0,3/4", pytest.approx(2 / 3))


ROW = {
    "setting": "28 steps, CFG 1", "full": 5, "wanted": 23, "name": "TeaCache", "adaptive": True,
    "psnr": (30.0, 1.0), "ahead": (-0.5, 0.2), "ssim": (0.9, 0.1), "latent_mse": (0.1, 0.0),
    "cached": 22.49, "spread": 0.5, "distinct": 7, "schedule": "0-2,9,27/28", "share": 0.4,
    "replay": {
        "runs": 40, "cached": 23, "share": 0.4, "replayed psnr": (0.25, 0.3), "random psnr": None,
    },
}  # fmt: skip


def test_only_adaptive_methods_can_miss_their_number_of_cached_steps():
    on_target = {**ROW, "cached": 23.5}
    assert methods.misses({"rows": [ROW, on_target, {**ROW, "adaptive": False}]}) == [
        "28 steps, CFG 1, 5 full, TeaCache: 22.49 cached"
    ]


def test_the_best_of_a_setting_comes_first():
    others = {"name": "uniform", "psnr": (31.0, 1.0), "worst tenth": 22.5, "good": 0.37}
    others["replay"] = None
    lines = methods.summary({"rows": [ROW, {**ROW, **others}]})
    best, other = lines.splitlines()[2:]
    assert best.startswith(
        "| 28 steps, CFG 1 | 5 | uniform | 22.49 | 31.00 ± 1.00 | 22.5 | 37% | -0.50"
    )
    assert other.endswith("| 0.900 | 7 | 40% | +0.25 ± 0.30 |  | 40 |")


def test_a_most_frequent_schedule_of_another_count_is_marked():
    row = {**ROW, "replay": {**ROW["replay"], "cached": 22, "share": 1 / 33}}
    assert methods.most_frequent(row) == "3%, 22 cached"


FITTED = {
    **ROW, "name": "fitted path", "adaptive": False, "psnr": (31.0, 1.0), "over_plain": (-0.2, 0.3)
}  # fmt: skip


def test_the_fitted_path_has_to_be_first_and_never_surely_behind_plain_steps():
    on_target = {**ROW, "cached": 23.0}
    assert methods.misses({"rows": [on_target, FITTED]}) == []
    surely = {**FITTED, "over_plain": (-0.4, 0.3)}
    assert methods.misses({"rows": [on_target, surely]}) == [
        "28 steps, CFG 1, 5 full, fitted path: -0.40 dB over plain steps"
    ]
    assert methods.misses({"rows": [{**on_target, "psnr": (31.1, 1.0)}, FITTED]}) == [
        "the fitted path is first in 0 of 1 columns"
    ]


def test_a_part_of_the_results_takes_its_places_among_the_others():
    setting = {"setting": "20 steps, CFG 1"}
    kept = [{**ROW, "setting": "50 steps, CFG 1"}, ROW | setting]
    new = [ROW | setting | {"full": 7}, ROW | setting | {"cached": 23.0}, FITTED | setting]
    found = methods.merged({"rows": kept}, {"rows": new})["rows"]
    assert [(methods.title(row), row["cached"]) for row in found] == [
        ("50 steps, CFG 1, 5 full, TeaCache", 22.49),
        ("20 steps, CFG 1, 7 full, TeaCache", 22.49),
        ("20 steps, CFG 1, 5 full, TeaCache", 23.0),
        ("20 steps, CFG 1, 5 full, fitted path", 22.49),
    ]


def test_the_results_have_a_picture(tmp_path):
    methods.draw({"rows": [ROW]}, tmp_path / "methods.png")
    assert (tmp_path / "methods.png").stat().st_size > 1000


def _results():
    return json.loads((FOLDER / methods.FILE).read_text("utf-8"))["rows"]


def test_in_the_kept_results_every_adaptive_method_but_two_is_within_half_a_step():
    rows = _results()
    # Settings, ratios, methods. Some cannot reach a number of full steps: of 20, at either CFG,
    # DiCache 5; on video, with either sampler, EasyCache 9 of 50 and 4 of 20, TeaCache 5 and 4.
    reached = (4 * 3 * 7 - 2) + 2 * (2 * 3 * 7 - 4)
    assert sum(row["adaptive"] for row in rows) == reached
    # Their numbers of cached steps vary much from prompt to prompt, see docs/methods.md.
    assert methods.misses({"rows": rows}) == [
        "50 steps, CFG 1, 21 full, EasyCache: 28.41 cached",
        "video, 50 steps, CFG 5, uni_pc, 21 full, EasyCache: 29.60 cached",
        "video, 50 steps, CFG 5, uni_pc, 13 full, First Block Cache: 37.89 cached",
    ]


def test_in_the_kept_results_the_fitted_path_is_first_in_all_columns_but_three():
    best = {}
    for row in _results():
        best[methods.column(row)] = max(
            best.get(methods.column(row), row), row, key=lambda one: one["psnr"][0]
        )
    settings = {setting for setting, _ in best}
    assert settings == {str(lab) for lab in methods.labs()}
    assert len(best) == 3 * len(settings)
    others = {column: row["name"] for column, row in best.items() if row["name"] != "fitted path"}
    assert others == {
        # By 0.7, 0.3 and 0.0 dB, see docs/methods.md.
        ("video, 20 steps, CFG 5, uni_pc", 8): "EasyCache",
        ("video, 20 steps, CFG 5, uni_pc", 5): "uniform",
        ("video, 20 steps, CFG 5, uni_pc", 4): "uniform",
    }


EXTRAPOLATING = {
    "TaylorSeer": Taylor(1), "HiCache": Hermite(2), "DPCache": TokenTaylor(),
    "DPCache (greedy)": TokenTaylor(),
}  # fmt: skip


def _reaches(is_uni_pc):
    """Lead over uniform spacing of each extrapolating run, with its reach as a share of the run."""
    for row in _results():
        if row["name"] in EXTRAPOLATING and ("uni_pc" in row["setting"]) == is_uni_pc:
            schedule = Schedule.parse(row["schedule"])
            reach, _ = EXTRAPOLATING[row["name"]].reach(schedule)
            yield row["ahead"][0], reach / schedule.num_steps


def test_in_the_kept_results_extrapolation_is_ahead_of_reuse_up_to_the_reach_that_reports_allow():
    near, far = [], []
    for ahead, reach in _reaches(is_uni_pc=False):
        (near if reach <= FAR else far).append(ahead)
    assert (len(near), len(far)) == (18, 54)
    assert min(near) > 2.8  # dB over uniform spacing with residual reuse
    assert sum(value < 0 for value in far) == 43


def test_in_the_kept_results_extrapolation_under_uni_pc_is_behind_reuse_in_all_runs_but_two():
    found = list(_reaches(is_uni_pc=True))
    assert len(found) == 6 * len(EXTRAPOLATING)
    assert [reach for ahead, reach in found if ahead > 0] == [2 / 50, 2 / 50]
    assert min(reach for ahead, reach in found if ahead < 0) == 3 / 50
    rows = [row for row in _results() if "uni_pc" in row["setting"] and row["name"] == "MeanCache"]
    assert len(rows) == 5  # it cannot reach 4 of 20
    assert max(row["ahead"][0] for row in rows) < -9


def test_the_tables_of_the_documentation_have_the_kept_results():
    text = (FOLDER.parent.parent / "docs" / "methods.md").read_text("utf-8")
    shown = {}
    titles = ("", "20 steps, ", "video, ", "video, uni_pc, ")
    for title in (f"| {words}PSNR, dB |" for words in titles):
        prefix = "video, " if "video" in title else ""
        head, _, *lines = text.partition(title)[2].partition("\n\n")[0].splitlines()
        columns = [cell.strip() for cell in head.strip(" |").split("|")]
        shown |= {
            (prefix + column, name.strip()): value.strip()
            for name, *values in (line.strip("|").split("|") for line in lines)
            for column, value in zip(columns, values, strict=True)
            if value.strip() != "–"
        }
    assert shown == {
        (re.sub(r"(\d+) steps", rf"{row['full']} of \1", row["setting"]), row["name"]): (
            f"{row['psnr'][0]:.1f}"
        )
        for row in _results()
    }

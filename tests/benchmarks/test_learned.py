"""``bench learned``: what it covers, what it counts and measures, when a bar is missed."""

import json
from types import SimpleNamespace

import folder_paths
import numpy as np
import pytest
import torch
from golden_path_pack.gph_core.learning.lesson import budget_of
from golden_path_pack.gph_core.paths.evidence import LEARNED_FIGURE
from golden_path_pack.gph_core.paths.golden_path import LEARNED as LEARNED_HERE
from golden_path_pack.gph_core.paths.golden_path import GoldenPath
from golden_path_pack.gph_core.schedule import Schedule

from benchmarks.lab.results import FOLDER
from benchmarks.lab.subjects import IMAGE, MODELS, STUDENT, VIDEO
from benchmarks.learning import _learned, learned
from benchmarks.learning._learned import (
    LEARNED,
    OTHER,
    SAME,
    SEARCHED,
    Bill,
    Counts,
    Gallery,
    Outcome,
    Setting,
    Source,
    Trial,
)
from benchmarks.quality._defaults import DEFAULT, FEWER

BASE = Setting(IMAGE, "euler", 5.0, 20, 8)
OF_STUDENT = BASE._replace(model=STUDENT, cfg=1.0)
TWO, FOUR = Source(2, 1), Source(4, 1)
TINY = Counts(2, 2, 2)


@pytest.mark.parametrize("subject", [IMAGE, VIDEO])
def test_each_cfg_meets_each_number_of_steps_at_each_speed(subject):
    found = learned.settings(subject)
    assert len(set(found)) == len(found) == 30
    euler = {one[2:] for one in found if one.sampler == "euler"}
    counts = [(20, 8), (20, 5), (20, 4), (28, 12), (28, 7), (28, 5), (50, 21), (50, 13), (50, 9)]
    assert euler == {(cfg, *count) for cfg in (1.0, 3.0, 5.0) for count in counts}
    others = {one[1:] for one in found if one.sampler != "euler"}
    assert others == {(name, 5.0, 20, 8) for name in ("dpmpp_2m", "res_multistep", "uni_pc")}


def test_all_sources_are_tried_at_few_settings_and_two_and_four_images_at_all():
    every = [(1, 1), (2, 1), (4, 1), (8, 1), (2, 2), (4, 4), (8, 8)]
    sources = {one: learned.sources(one) for one in learned.settings(IMAGE)}
    many = [one for one, found in sources.items() if found == every]
    assert [one[2:] for one in many] == [(5.0, 20, 8)]
    assert all(found == [TWO, FOUR] for one, found in sources.items() if one not in many)
    student = {one: learned.sources(one) for one in learned.settings(STUDENT)}
    assert student == {Setting(STUDENT, "euler", 1.0, 20, full): [TWO] for full in (8, 5)}


def test_settings_are_chosen_by_their_words(monkeypatch):
    asked = []
    monkeypatch.setattr(
        learned, "measured", lambda wanted, counts: asked.append((wanted, counts)) or []
    )

    def options(**more):
        return SimpleNamespace(**{"model": IMAGE, "only": "", "quick": False, "save": True} | more)

    learned.measure(options(only="euler, CFG 5, 8 of 20"))
    learned.measure(options(quick=True, save=False))
    assert asked[0] == ([BASE], learned.COUNTS[IMAGE])
    assert asked[1] == (learned.settings(IMAGE), learned.QUICK)
    with pytest.raises(SystemExit, match="no setting of this model has the words 'CFG 4'"):
        learned.measure(options(only="CFG 4"))
    with pytest.raises(SystemExit, match="too few"):
        learned.measure(options(quick=True))


def test_images_to_learn_from_are_never_those_of_a_test():
    gallery = Gallery(TINY, IMAGE)

    def noises(pictures):
        return {tuple(noise.flatten()[:4].tolist()) for noise in pictures.noise}

    tests = [noises(test) for test in gallery.tests.values()]
    assert [len(test) for test in tests] == [4, 2]
    for source in (TWO, Source(8, 1), Source(2, 2), Source(8, 8)):
        learnings = [gallery.first_images(source, number) for number in range(2)]
        found = [noises(image) for images in learnings for image in images]
        assert len(set.union(*found)) == 2 * source.images
        assert not set.union(*found) & set.union(*tests)
        for number, images in enumerate(learnings):
            texts = {tuple(image.tokens.flatten().tolist()) for image in images}
            assert len(texts) == min(source.prompts, TINY.prompts)
            own = gallery.same.tokens[number * TINY.noises]
            assert source.prompts > 1 or all(torch.equal(image.tokens[0], own) for image in images)


class Network(torch.nn.Module):
    """Two blocks, which a cached step leaves out."""

    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(torch.nn.Identity() for _ in range(2))

    def forward(self, x, is_cached=False):
        for block in () if is_cached else self.blocks:
            x = block(x)
        return x


def test_the_bill_counts_what_the_blocks_compute_from_the_fit_on():
    bill, network, image = Bill(), Network(), torch.zeros(2, 3)  # two rows: with CFG
    network(image)  # not counted
    with bill.counting(network):
        for _ in range(2 * 5):  # two full images of five steps
            network(image)
        bill.fitting("")
        for step in range(5):  # two images at once, three of five steps cached
            network(torch.zeros(4, 3), is_cached=step > 1)
        network(image)
    network(image)
    assert bill.in_images(2) == 1.0  # (2 x 2 + 1) of 5 evaluations
    with pytest.raises(RuntimeError, match="learned before"):
        bill.learned("a path")


@pytest.mark.long
def test_a_learning_leaves_the_users_folder_as_it_was_and_its_bill_is_that_of_the_budget():
    before = folder_paths.get_user_directory()
    setting, gallery = BASE._replace(steps=6, full=3), Gallery(TINY, IMAGE)
    for _ in range(2):  # nothing is left of the first one
        found = _learned.learned(setting, gallery.first_images(TWO, 0))
        assert found.bill == round(budget_of(6, 3, 2).evaluations / 6, 2)
    assert folder_paths.get_user_directory() == before
    if found.path:
        assert found.path.origin == LEARNED_HERE
        assert found.path.policy.examples == 2


@pytest.mark.long
def test_rows_of_a_tiny_run():
    rows = list(learned.measured([BASE._replace(steps=6, full=4)], TINY))
    assert [(row["images"], row["prompts"], row["tested"]) for row in rows] == [
        (2, 1, SAME), (2, 1, OTHER), (4, 1, SAME), (4, 1, OTHER)
    ]  # fmt: skip
    for row in rows:
        means = {name: way["psnr"][0] for name, way in row["ways"].items()}
        assert list(means) == [LEARNED, DEFAULT, FEWER]
        for name, (lead, _) in row["ahead"].items():
            assert lead == pytest.approx(means[LEARNED] - means[name], abs=0.02)
        assert len(row["learned"]) == 2
        assert (row["stated"] is None) == (set(row["learned"]) == {DEFAULT})
    table = learned.summary({"rows": rows})
    assert table.count("| image, euler, CFG 5, 4 of 6 | 2 images of one prompt |") == 2


PATH = GoldenPath("p", Schedule.parse("0,2,5/6"), LEARNED_HERE, quality={LEARNED_FIGURE: 30.0})


def test_images_of_one_prompt_count_once_and_paths_of_one_image_too():
    found = [Outcome(PATH, 2.5), Outcome(None, 3.0)]
    own, others = (
        np.array([[20.0, 30.0], [40.0, 34.0]]),
        {DEFAULT: np.array([[20.0, 20.0], [30.0, 30.0]])},
    )
    row = learned.row_of(BASE, Trial(TWO, SAME, found, {LEARNED: own, **others}))
    assert row["ahead"][DEFAULT] == (6.0, pytest.approx(12.71, abs=0.01))  # of 5 and 7
    assert row["ways"][LEARNED] == {
        "psnr": (31.0, pytest.approx(76.24, abs=0.01)), "worst tenth": 20.0,
        "good": 0.5, "bad": 0.25,
    }  # fmt: skip
    assert (row["learned"], row["stated"], row["bill"]) == (["0,2,5/6", DEFAULT], 30.0, 3.0)
    others = {DEFAULT: np.array([[20.0, 30.0]])}
    row = learned.row_of(BASE, Trial(TWO, OTHER, found, {LEARNED: own, **others}))
    assert row["ahead"][DEFAULT] == (6.0, pytest.approx(50.82, abs=0.01))  # of 10 and 2


def row(setting=BASE, source=TWO, tested=SAME, bill=4.0, **ahead):
    """A row that keeps all bars, except for what is told."""
    ways = {"default": (4.0, 1.9), "plain": (7.0, 2.9), "search": (-1.0, 3.0)} | ahead
    names = {"default": DEFAULT, "plain": FEWER, "search": SEARCHED}
    way = {"psnr": (30.0, 1.0), "worst tenth": 20.0, "good": 0.25, "bad": 0.5}
    return {
        **setting._asdict(), **source._asdict(), "tested": tested,
        "learned": ["0/20", "0/20", "1/20"],
        "stated": None, "ways": {LEARNED: way, DEFAULT: way},
        "ahead": {names[name]: gain for name, gain in ways.items() if gain}, "bill": bill,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("one", "missed"),
    [
        (row(), []),
        (row(plain=(6.9, 0.1)), ["+6.90 ± 0.10 dB ahead of plain steps, at least 7 wanted"]),
        (row(plain=(7.5, 3.5)), ["surely more than 4"]),
        (row(default=(3.9, 0.1)), ["+3.90 ± 0.10 dB ahead of default"]),
        (row(default=(9.0, 7.0)), ["surely more than 2"]),
        (row(default=(1.0, 9.0), setting=BASE._replace(full=5)), []),
        (row(default=(1.0, 9.0), tested=OTHER), []),
        (row(search=(-9.0, 0.1)), []),
        (row(source=FOUR, tested=OTHER, search=(-1.1, 9.0)), ["-1.10 ± 9.00 dB ahead of search"]),
        (row(source=FOUR, tested=OTHER, search=None), []),
        (row(source=FOUR, tested=OTHER, default=(0.1, 0.2)), []),
        (
            row(source=FOUR, tested=OTHER, default=(-0.3, 0.2)),
            ["-0.30 ± 0.20 dB ahead of the default", "-0.30 dB ahead of the default on"],
        ),
        (row(setting=OF_STUDENT, default=(-0.3, 0.2)), ["of the default"]),
        (row(setting=OF_STUDENT, default=(-0.3, 0.4)), []),
        (row(source=Source(8, 8), default=(-9.0, 0.1), bill=4.01), ["a bill of 4.01 full"]),
    ],
)  # fmt: skip
def test_a_bar_is_missed(one, missed):
    found = learned.misses({"rows": [one]})
    assert len(found) == len(missed)
    assert all(text in line for text, line in zip(missed, found, strict=True))


def test_four_images_have_to_be_ahead_of_the_default_on_average():
    rows = [
        row(setting=BASE._replace(cfg=cfg), source=FOUR, tested=OTHER, default=(lead, 9.0))
        for cfg, lead in ((1.0, -3.0), (3.0, 1.0), (5.0, 2.5))
    ]
    assert learned.misses({"rows": rows}) == []
    (missed,) = learned.misses({"rows": rows[:2]})
    assert missed == (
        "4 images of one prompt, other prompts: -1.00 dB ahead of the default on average"
    )


def test_new_rows_replace_those_of_the_same_kind_in_the_order_of_settings():
    kept = [row(), row(tested=OTHER), row(setting=BASE._replace(sampler="uni_pc"))]
    new = [
        row(tested=OTHER, bill=1.0), row(setting=BASE._replace(full=5)), row(source=Source(2, 2)),
        row(setting=BASE._replace(cfg=1.0)), row(source=FOUR),
    ]  # fmt: skip
    found = learned.merged({"rows": kept}, {"rows": new})["rows"]
    assert found == [new[3], kept[0], new[0], new[4], new[2], new[1], kept[2]]
    assert learned.merged({}, {"rows": new[:1]}) == {"rows": new[:1]}


def test_the_table_has_a_line_for_each_row():
    lines = learned.summary({"rows": [row(search=None)]}).splitlines()
    way = "30.0 ± 1.0 / 20.0 / 25% / 50%"
    assert lines[2] == (
        f"| image, euler, CFG 5, 8 of 20 | 2 images of one prompt | same prompt | 0/20 (2 of 3) |  "
        f"| {way} | {way} |  |  | +4.00 ± 1.90 | +7.00 ± 2.90 |  | 4.00 |"
    )
    assert [line.count("|") for line in lines[:3]] == [14, 14, 14]


def documented(two, four):
    """A line of the table in docs/results.md, from the rows of two and of four images."""

    def way(row, name):
        found = row["ways"].get(name)
        return found and f"{found['psnr'][0]:.1f}, {found['worst tenth']:.0f}, {found['good']:.0%}"

    def ahead(row, name):
        mean, half = row["ahead"].get(name, (None, None))
        return "" if mean is None else f"{mean:+.1f} ± {half:.1f}".replace("-", "−")

    words = str(learned.setting_of(two)).split(", ")
    cells = [
        ", ".join(word for word in words if word not in (IMAGE, "euler")),
        *(way(two, name) or "" for name in (LEARNED, DEFAULT, FEWER, SEARCHED)),
        ahead(two, DEFAULT), way(four, LEARNED), ahead(four, DEFAULT), ahead(four, SEARCHED),
    ]  # fmt: skip
    if four["images"] == 2:
        cells[6] += " (2)"
    return f"| {' | '.join(cells)} |".replace("%", " %")


def test_the_table_of_the_documentation_has_the_saved_results():
    expected = []
    for subject, model in MODELS.items():
        text = model.file(FOLDER / learned.FILE).read_text("utf-8")
        rows = [row for row in json.loads(text)["rows"] if row["prompts"] == 1]
        most = 2 if subject == STUDENT else 4
        two = [row for row in rows if row["images"] == 2 and row["tested"] == SAME]
        many = [row for row in rows if row["images"] == most and row["tested"] == OTHER]
        expected += map(documented, two, many)
    results = (FOLDER.parents[1] / "docs" / "results.md").read_text("utf-8")
    table = results.partition("\n## Learned paths\n")[2].partition("|---|")[2].partition("\n\n")[0]
    assert sorted(table.splitlines()[1:]) == sorted(expected)

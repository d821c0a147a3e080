"""The benchmark of a third kind of step: its runs, its search, and what it makes of the figures."""

import random

import pytest
import torch
from golden_path_pack.gph_core.calibration.closed_loop import fit

from benchmarks import _demo, guidance
from benchmarks._kinds import BOTH, CACHED, POSITIVE, Branches, Loop, text_of
from benchmarks._kinds_search import Scorer, changed, climb, swapped
from gph_core.calibration.steps import euler
from gph_core.schedule import Schedule

STEPS, CFG = 8, 3.0


@pytest.fixture(scope="module")
def branches():
    pictures = _demo.Pictures(_demo.captions(4, seed=0, held_out=False), first_seed=7)
    return Branches([pictures], STEPS, CFG)


def kinds_of(text):
    return tuple(".+O".index(sign) for sign in text)


def test_full_runs_are_those_of_comfyui(branches):
    pictures = _demo.Pictures(_demo.captions(4, seed=0, held_out=False), first_seed=7)
    found = pictures.sample("simple", STEPS, how=_demo.How(cfg=CFG))
    assert (found - branches.references).abs().max() <= 1  # of 255; they round differently
    assert (pictures.images(branches.plain(STEPS)) == branches.references).all()


@pytest.mark.parametrize("text", ["O..O.O..", "OO..O..O"])
def test_with_two_kinds_weights_and_ends_are_those_of_the_closed_loop(branches, text):
    schedule = Schedule(tuple(n for n, sign in enumerate(text) if sign == "O"), STEPS)

    def velocities(step, states):
        now, level = torch.cat(states), branches.levels[step]
        both = (branches.velocity(now, level, positive) for positive in (True, False))
        return branches.guided(*both).split(1)

    expected = fit(
        schedule, euler(branches.levels), branches.start.split(1),
        lambda step: branches.states[step].split(1), velocities, range(2),
    ).ends  # fmt: skip
    found = Loop(branches, slice(0, 2)).end(kinds_of(text))
    assert (found - torch.cat(expected)).abs().max() < 1e-3


def test_a_step_evaluates_what_its_kind_says(branches, monkeypatch):
    asked = []
    velocity = branches.velocity

    def counted(x, level, positive):
        asked.append((branches.levels.index(level), positive))
        return velocity(x, level, positive)

    branches.states  # noqa: B018 - evaluates the full runs before calls are counted
    monkeypatch.setattr(branches, "velocity", counted)
    kinds = kinds_of("O.+O..+.")
    Loop(branches, slice(0, 4)).end(kinds)
    assert asked == [(0, True), (0, False), (2, True), (3, True), (3, False), (6, True)]
    assert len(asked) == sum(kinds)


def test_a_positive_step_finds_the_next_state_where_its_terms_span_it(branches):
    """At a CFG of 1 the positive branch is the whole velocity, so the step is a full one."""
    pictures = _demo.Pictures(_demo.captions(2, seed=0, held_out=False), first_seed=7)
    plain = Branches([pictures], STEPS, 1.0)
    found = Loop(plain, slice(0, 2)).end((BOTH, *[POSITIVE] * (STEPS - 1)))
    assert (found - plain.states[-1]).abs().max() < 1e-3


def test_runs_that_go_on_end_as_those_from_the_start(branches):
    loop = Loop(branches, slice(0, 2))
    loop.end(kinds_of("OO..+..O"), keep=True)
    neighbor = kinds_of("OO..+.O.")
    assert torch.equal(loop.end(neighbor), Loop(branches, slice(0, 2)).end(neighbor))


@pytest.mark.parametrize("move", [swapped, changed])
def test_moves_cost_the_same_and_leave_the_first_step(move):
    rng, kinds = random.Random(1), kinds_of("O.O..O..O...")
    seen = set()
    for _ in range(200):
        found = move(kinds, rng)
        assert found != kinds
        assert (sum(found), found[0]) == (sum(kinds), BOTH)
        kinds = found
        seen |= set(kinds)
    assert seen == ({CACHED, BOTH} if move is swapped else {CACHED, POSITIVE, BOTH})


@pytest.mark.long
def test_a_search_never_loses_its_best_and_forgets_what_it_is_told_to(branches):
    scorer, rng = Scorer(branches), random.Random(0)
    scorer.offer(kinds_of("O..O..O."))
    known = dict(scorer.known)
    climb(scorer, 6, lambda kinds: changed(kinds, rng))
    assert len(scorer.known) == 7
    assert sum(scorer.known[scorer.best]) == max(map(sum, scorer.known.values()))
    scorer.begin_again(known)
    assert scorer.best == kinds_of("O..O..O.")


@pytest.mark.long
def test_a_search_ends_where_all_neighbors_are_known(branches):
    scorer, rng = Scorer(branches), random.Random(0)
    scorer.offer(kinds_of("OOOOOOO."))
    climb(scorer, 100, lambda kinds: swapped(kinds, rng))
    assert len(scorer.known) <= 7  # one cached step, which is not the first


def row(evaluations, two, three):
    gain = (round(three - two, 3), 0.1)
    return {
        "setting": "a", "evaluations": evaluations, "psnr": (two, 0.5), "psnr_three": (three, 0.5),
        "gain": gain, "over_plain": gain, "positive": 2,
    }  # fmt: skip


def test_what_is_saved_is_interpolated_between_two_kinds():
    found = [row(10, 30.0, 33.0), row(40, 36.0, 36.9)]
    # Halfway in dB is halfway in the logarithm: 20 evaluations have 33 dB.
    assert guidance.saved(found[0], found) == pytest.approx(0.5)
    assert guidance.saved(found[1], found) == 0  # nothing was measured beyond
    assert [guidance.is_gain(one, found) for one in found] == [True, False]
    assert "| a | 10 | 30.0 | 33.0 | +3.0 ± 0.1 | 50% | 2 | +3.0 ± 0.1 |" in guidance.table(found)


def test_results_are_kept_beside_those_of_other_settings(tmp_path, monkeypatch):
    monkeypatch.setattr(guidance, "FILE", tmp_path / "guidance.json")
    names = [guidance.name_of(50, 3.0), guidance.name_of(20, 5.0)]
    later, first = ({**row(18, 30.0, 30.1), "setting": name} for name in reversed(names))
    guidance.save([later])
    found = guidance.save([first])
    assert [one["setting"] for one in found] == names


def test_kinds_are_written_as_signs():
    assert text_of((BOTH, CACHED, POSITIVE)) == "O.+"

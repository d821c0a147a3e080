"""Calibration asks for the runs that methods lack, keeps each, and fits to all examples."""

import math
from dataclasses import replace

import pytest
import torch

from gph_core.calibration.entry import Calibration
from gph_core.calibration.samples import RunFacts
from gph_core.calibration.table import RECIPES
from gph_core.calibration.threshold import FoundThreshold
from gph_core.experiments.calibrating import calibrate_all
from gph_core.policies.base import Site
from gph_core.policies.extrapolation import Reuse

from ...support.toy_runner import ToyExamples, ToySetup, examples_of, levels

N = 3
RATIOS = [(1.0, 0.8, 0.6), (1.0, 0.6, 0.4), (1.0, 0.4, 0.5)]  # of the examples 0, 1, 2
FACTS = RunFacts(levels(N), "Toy", "euler", False, True, True, lambda: None, lambda *_: True)
BOTH = ("MagCache", "L2P")


def work(*seeds, notes=(), **changes):
    return ToyExamples(examples_of(*seeds), ToySetup(levels(N), **changes), list(notes))


def sample(seed, method):
    if method == "MagCache":
        return {"0": torch.tensor(RATIOS[seed], dtype=torch.float64)}
    return {"gram": torch.eye(N, dtype=torch.float64)}


class Jobs:
    """Somebody who samples; keeps what was asked for.

    Args:
        failing: reasons by seed and method.
        ahead: how many jobs are taken before the first has an answer.
        most: how many jobs are done before the user cancels.
    """

    def __init__(self, examples, failing=None, ahead=1, most=9):
        self.examples, self.failing = examples, failing or {}
        self.ahead, self.most = ahead, most
        self.asked, self.steps = [], None

    def __call__(self, jobs, steps):
        self.steps, waiting = steps, []
        for number, methods in jobs:
            seed = self.examples.examples[number].seed
            self.asked.append((seed, *methods))
            waiting.append((seed, methods))
            if len(waiting) == self.ahead:
                yield from self.answers(waiting)
        yield from self.answers(waiting)

    def answers(self, waiting):
        while waiting:
            if not self.most:
                raise KeyboardInterrupt
            self.most -= 1
            seed, methods = waiting.pop(0)
            yield ({m: self.failing.get((seed, m)) or sample(seed, m) for m in methods},)


def calibrated(examples, methods=("MagCache",), entries=(), save=lambda *_: None, **options):
    jobs = Jobs(examples, **options)
    done = calibrate_all(examples, FACTS, methods, dict(entries), jobs, save)
    return done, jobs


def ratios(done):
    return done.entries["MagCache"].values["0"].tolist()


def with_threshold(done):
    found = FoundThreshold(1, 0.3, 0.2, 0.4, (1, 1), 2, "")
    return {"MagCache": done.entries["MagCache"].with_threshold({"full steps": 2}, found)}


def test_values_are_fitted_to_all_examples_from_one_run_each():
    done, jobs = calibrated(work(0, 1), BOTH)
    assert jobs.asked == [(0, *BOTH), (1, *BOTH)]
    assert jobs.steps == 2 * N
    assert ratios(done) == pytest.approx([1, 0.7, 0.5])
    assert (
        done.entries["L2P"].values["gram"].equal(torch.eye(N, dtype=torch.float64))
    )  # the last checks
    assert (done.left_out, done.notes) == ({}, [])


def test_only_what_a_method_lacks_is_sampled():
    former, _ = calibrated(work(1))
    done, jobs = calibrated(work(0, 1, 2), BOTH, former.entries)
    assert jobs.asked == [(0, *BOTH), (1, "L2P"), (2, *BOTH)]
    samples = done.entries["MagCache"].samples
    assert [tuple(samples[n]["0"].tolist()) for n in work(0, 1, 2).names()] == RATIOS
    assert ratios(done) == pytest.approx([1, 0.6, 0.5])


@pytest.mark.parametrize("ahead", [1, 2])  # a worker may have begun what is in vain by then
def test_a_method_that_fails_is_left_out_and_not_asked_for_again(ahead):
    failing = {(0, "MagCache"): "the residual is zero everywhere"}
    done, jobs = calibrated(work(0, 1, 2), BOTH, failing=failing, ahead=ahead)
    assert jobs.asked[-1] == (2, "L2P")
    assert done.left_out == {"MagCache": "MagCache: the residual is zero everywhere"}
    assert list(done.entries) == ["L2P"]
    assert list(done.entries["L2P"].samples) == work(0, 1, 2).names()


def test_when_every_method_has_failed_no_other_example_is_sampled():
    done, jobs = calibrated(work(0, 1, 2), failing={(0, "MagCache"): "no"})
    assert jobs.asked == [(0, "MagCache")]
    assert done.entries == {}


def test_each_example_is_kept_at_once_and_a_cancelled_calibration_goes_on():
    kept = {}
    with pytest.raises(KeyboardInterrupt):
        calibrated(work(0, 1, 2), save=lambda *some: kept.update({e.method: e for e in some}),
                   most=2)  # fmt: skip
    assert list(kept["MagCache"].samples) == work(0, 1).names()
    done, jobs = calibrated(work(0, 1, 2), entries=kept)
    assert jobs.asked == [(2, "MagCache")]
    assert ratios(done) == ratios(calibrated(work(0, 1, 2))[0])


def test_without_a_new_example_values_and_thresholds_stay_and_nothing_is_saved():
    former = with_threshold(calibrated(work(0, 1, 2))[0])
    saved = []
    done, jobs = calibrated(work(0), entries=former, save=lambda *some: saved.append(some))
    assert jobs.asked == saved == []
    assert done.entries["MagCache"] is former["MagCache"]
    assert done.notes == [
        "the values also include 2 examples of former calibrations in this file; choose another "
        "name to use only the new ones"
    ]


def test_a_new_example_makes_values_anew_and_deletes_thresholds_with_a_note():
    former = with_threshold(calibrated(work(0, 1))[0])
    saved = []
    done, _ = calibrated(work(0, 1, 2, notes=["1 repeated example left out"]), entries=former,
                         save=lambda *some: saved.extend(some))  # fmt: skip
    assert saved[-1] is done.entries["MagCache"]
    assert done.entries["MagCache"].thresholds == ()
    assert ratios(done) == pytest.approx([1, 0.6, 0.5])
    assert done.notes == [
        "1 repeated example left out",
        "the values of MagCache have changed, so its thresholds are deleted; run Calibrate Ratio "
        "again",
    ]


def test_other_conditions_are_refused_by_name_before_anything_is_sampled():
    former, _ = calibrated(work(0, 1))
    jobs = Jobs(work(0, 1))
    with pytest.raises(ValueError, match=r"calibrated with the family Toy, this run has Other"):
        calibrate_all(work(2, name="Other"), FACTS, BOTH, former.entries, jobs)
    assert jobs.asked == []


def test_who_is_impossible_here_is_left_out_with_the_reason_and_without_the_remedy():
    examples = work(
        0, 1, refusals={Reuse(Site.OUTPUT): "outputs are hidden; choose another policy"}
    )
    done, jobs = calibrated(examples, BOTH)
    assert jobs.asked == [(0, "MagCache"), (1, "MagCache")]
    assert done.left_out == {"L2P": "L2P: outputs are hidden"}


def test_if_none_is_possible_the_error_lists_those_that_are():
    examples = work(0, 1, refusals={Reuse(): "no blocks", Reuse(Site.OUTPUT): "no outputs"})
    with pytest.raises(ValueError, match=r"L2P: no outputs; .*no blocks\. Possible here: MeanC"):
        calibrated(examples, ("L2P", "MagCache"))


def made(method, num_steps, seed):
    """A sample in the form of a method, of random numbers."""
    form = RECIPES[method].form(num_steps)
    generator = torch.Generator().manual_seed(seed)
    sizes = [size or 2 for size in form.sizes]
    sample = {n: torch.rand(sizes, generator=generator, dtype=torch.float64) for n in form.names}
    return {"gram": sample["gram"] @ sample["gram"].mT} if "gram" in sample else sample


def made_entries(count, damage=lambda sample: sample):
    """Entries of all methods for runs of 8 steps."""
    entries = {}
    for method in RECIPES:
        entry = Calibration(method, ToySetup(levels(8)).conditions, file="mine")
        for seed, name in enumerate(work(*range(count)).names()):
            entry = entry.with_sample(name, damage(made(method, 8, seed)))
        entries[method] = entry
    return entries


def refitted(entries, count=3):
    examples = ToyExamples(examples_of(*range(count)), ToySetup(levels(8)))
    facts = FACTS._replace(levels=levels(8))
    return calibrate_all(examples, facts, list(RECIPES), entries, Jobs(examples))


def test_values_that_another_machine_fitted_stay_with_their_thresholds():
    first = refitted(made_entries(3)).entries
    assert set(first) == set(RECIPES)
    for method, entry in first.items():
        values = {n: v * (1 + 1e-7) if torch.is_tensor(v) else v for n, v in entry.values.items()}
        first[method] = replace(entry, values=values, thresholds=({"target": 4},))
    done = refitted(first)
    assert all(done.entries[method] is entry for method, entry in first.items())
    assert done.notes == []


def test_a_single_example_leaves_out_what_has_to_be_checked_on_another():
    assert set(refitted(made_entries(1), 1).left_out) == {"TeaCache", "L2P"}


@pytest.mark.parametrize(
    "damage",
    [
        lambda sample: {},
        lambda sample: {"other": torch.zeros(2)},
        lambda sample: {name: tensor[..., :-1] for name, tensor in sample.items()},
        lambda sample: {name: tensor[None] for name, tensor in sample.items()},
        lambda sample: {name: tensor * math.nan for name, tensor in sample.items()},
        lambda sample: {name: tensor.long() for name, tensor in sample.items()},
    ],
)
def test_samples_of_another_form_are_left_out_by_the_name_of_their_file(damage):
    done = refitted(made_entries(3, damage))
    assert done.entries == {}
    assert set(done.left_out) == set(RECIPES)
    for method, reason in done.left_out.items():
        words = f"{method}: mine is damaged: its samples of {method} cannot be read"
        assert reason.startswith(words)

"""A shootout's file: a run without enough memory is made again, other settings are refused."""

import itertools

import comfy.model_management
import pytest
from golden_path_pack.nodes.hook.branch_calls import OUT_OF_MEMORY, StackCalls
from golden_path_pack.nodes.sample.sampler_variants import ending_after
from golden_path_pack.nodes.sample.sampling import Sampling

from ...support.comfy.demo_examples import examples
from ...support.comfy.shootouts import report_of

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("in_a_run")]


@pytest.fixture
def runs(monkeypatch):
    """Counts the whole runs, by what starts them."""
    count = []
    for name in ("full", "under"):
        original = getattr(Sampling, name)

        def counted(self, *args, _original=original, _name=name):
            found = _original(self, *args)
            if self.sampler.sampler_function.__code__ not in ending_after.__code__.co_consts:
                count.append(_name)
            return found

        monkeypatch.setattr(Sampling, name, counted)
    return count


def test_a_run_that_did_not_fit_into_memory_is_reported_and_made_again(runs, monkeypatch):
    remember, count = StackCalls._remember, itertools.count()

    def short(self, *args):
        if next(count) == 4:  # a full run keeps nothing, the warm-up begins two kinds of runs
            raise comfy.model_management.OOM_EXCEPTION("once")
        return remember(self, *args)

    monkeypatch.setattr(StackCalls, "_remember", short)
    methods, one = ["uniform", "TaylorSeer"], examples()[:1]
    found, _ = report_of(methods, examples=one)
    assert found["uniform"]["notes"] == [OUT_OF_MEMORY]
    assert not found["uniform"]["comparable"]
    assert found["TaylorSeer"]["comparable"]
    assert found["TaylorSeer"]["ahead"] == {}  # of a run that was full from there on
    runs.clear()
    found, _ = report_of(methods, examples=one)
    assert runs == ["full", "under"]
    assert found["uniform"]["notes"] == []
    assert found["TaylorSeer"]["ahead"]
    runs.clear()
    report_of(methods, examples=one)
    assert runs == []


def test_other_settings_under_the_same_name_are_an_error_that_names_them():
    report_of(["uniform"])
    other = "was made with the guidance cfg 5.0, now it is cfg 3.0; choose another name"
    with pytest.raises(ValueError, match=other):
        report_of(["uniform"], cfg=3.0)
    with pytest.raises(ValueError, match="was made with the VAE of that time, now it is none"):
        report_of(["uniform"], vae=None)

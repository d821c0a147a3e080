"""A shootout goes on from its file: what is run again, added or refused."""

import itertools

import comfy.model_management
import pytest
from golden_path_pack.gph_core.quality import metrics
from golden_path_pack.nodes.hook.branch_calls import OUT_OF_MEMORY, StackCalls
from golden_path_pack.nodes.sample.sampler_variants import ending_after
from golden_path_pack.nodes.sample.sampling import Sampling
from golden_path_pack.nodes.shootout.method_shootout import FILES

from ...support.comfy.demo_examples import examples
from ...support.comfy.shootouts import calibrate, report_of

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


def test_a_cancelled_shootout_goes_on_without_repeating(runs, monkeypatch):
    methods = ["uniform", "TaylorSeer", "HiCache"]
    whole = report_of(methods, name="whole")[1]
    assert runs == 2 * ["full", "under", "under", "under"]
    runs.clear()

    def interrupt():
        if len(runs) == 6:  # within the second one under a schedule of the second example
            raise comfy.model_management.InterruptProcessingException

    with monkeypatch.context() as patch:
        patch.setattr(
            comfy.model_management, "throw_exception_if_processing_interrupted", interrupt
        )
        with pytest.raises(comfy.model_management.InterruptProcessingException):
            report_of(methods)
    runs.clear()
    again = report_of(methods)[1]
    # The full run, which the others are compared with, and what was missing.
    assert runs == ["full", "under", "under"]
    for one, other in zip(whole["rows"], again["rows"], strict=True):
        assert (one["name"], one["metrics"]) == (other["name"], other["metrics"])
    runs.clear()
    report_of(methods)
    assert runs == []
    report_of([*methods, "uniform"], schedule="0,1,2,9/10")
    assert runs == 2 * ["full", "under"]


def without_ssim(patch):
    def missing():
        raise ImportError("SSIM needs scikit-image")

    patch.setattr(metrics, "_structural_similarity", missing)


def test_a_metric_that_can_be_measured_by_now_is_measured_of_all_runs(runs, monkeypatch):
    with monkeypatch.context() as patch:
        without_ssim(patch)
        assert "ssim" not in report_of(["uniform"])[0]["uniform"]["metrics"]
    runs.clear()
    found, _ = report_of(["uniform", "TaylorSeer"])
    assert runs == 2 * ["full", "under", "under"]
    whole, _ = report_of(["uniform", "TaylorSeer"], name="whole")
    for name in ("uniform", "TaylorSeer"):
        assert found[name]["metrics"] == whole[name]["metrics"]
        assert set(found[name]["metrics"]) == {"psnr", "ssim", "latent_mse"}
    assert found["TaylorSeer"]["ahead"] == whole["TaylorSeer"]["ahead"]


def test_a_metric_that_cannot_be_measured_any_more_is_left_out(runs, monkeypatch):
    report_of(["uniform"], examples=examples()[:1])
    report_of(["TaylorSeer"])
    without_ssim(monkeypatch)
    runs.clear()
    found, report = report_of(["uniform", "TaylorSeer", "HiCache"])
    assert runs == ["full", "under", "full", "under", "under"]
    for name in ("uniform", "TaylorSeer", "HiCache"):
        assert set(found[name]["metrics"]) == {"psnr", "latent_mse"}
    assert set(found["TaylorSeer"]["ahead"]) == {"psnr", "latent_mse"}
    assert report["unavailable"]["ssim"] == "SSIM needs scikit-image"


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


def test_another_threshold_or_policy_is_run_again(runs):
    report_of(["SeaCache"], **calibrate({"SeaCache": 0.5}))
    runs.clear()
    report_of(["SeaCache"], **calibrate({"SeaCache": 0.1}))
    assert runs == 2 * ["full", "under"]


def test_an_example_more_is_added(runs):
    report_of(["uniform"])
    runs.clear()
    report = report_of(["uniform"], examples=examples())[1]
    assert runs == ["full", "under"]
    assert [row["runs"] for row in report["rows"]] == [3, 3]


def test_other_settings_under_the_same_name_are_an_error_that_names_them():
    report_of(["uniform"])
    other = "was made with the guidance cfg 5.0, now it is cfg 3.0; choose another name"
    with pytest.raises(ValueError, match=other):
        report_of(["uniform"], cfg=3.0)
    with pytest.raises(ValueError, match="was made with the VAE of that time, now it is none"):
        report_of(["uniform"], vae=None)


def test_what_a_crash_left_is_dropped(runs):
    report_of(["uniform"])
    path = FILES.folder / "demo.jsonl"
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    runs.clear()
    report_of(["uniform"])
    assert runs == ["full", "under"]
    assert path.read_bytes().count(b"\n") == content.count(b"\n")


def test_a_file_of_something_else_is_refused():
    FILES.folder.mkdir(parents=True)
    (FILES.folder / "demo.jsonl").write_text("notes\n", "utf-8")
    with pytest.raises(ValueError, match="is no shootout of this pack"):
        report_of(["uniform"])

"""*Schedule Search* on the demo model, as several tests run it."""

import functools

import comfy.samplers
import pytest
import torch
from golden_path_pack.demo import comfy_model
from golden_path_pack.nodes.library import user_paths
from golden_path_pack.nodes.sample.sampling import Sampling
from golden_path_pack.nodes.schema.types import COUNT
from golden_path_pack.nodes.search.schedule_search import REUSE, ScheduleSearch

from ..zoo import zoo
from .demo_examples import examples


def demo(num_steps=12, **changes):
    """What the node gives for the demo model: 5 of 12 steps full, two examples, one to validate."""
    model = comfy_model.load_model()
    inputs = {
        "model": model, "examples": examples()[:2], "validation": examples()[2:],
        "latent": {"samples": torch.zeros(1, 48, 8, 8)},
        "sampler": comfy.samplers.sampler_object("euler"), "sigmas": zoo.sigmas(model, num_steps),
        "cfg": 5.0, "speed": COUNT, "full_steps": 5, "minutes": 1000.0, "study": "demo",
        "vae": comfy_model.DemoVAE(), "evaluations": 8, "batch_size": 2, "policies": REUSE,
    } | changes  # fmt: skip
    return ScheduleSearch.execute(**inputs)


def small(**changes):
    """The same with 3 of 6 steps, and three of the four schedules that there are."""
    return demo(**{"num_steps": 6, "full_steps": 3, "evaluations": 3} | changes)


def least(**changes):
    """The same with what costs least: one schedule, which nothing validates."""
    return small(**{"evaluations": 1, "validation": ()} | changes)


@pytest.fixture
def runs(monkeypatch):
    """Counts the runs under a schedule."""
    count = []
    resumed = Sampling.resumed

    def counted(self, schedule, *args, **kwargs):
        count.append(str(schedule))
        return resumed(self, schedule, *args, **kwargs)

    monkeypatch.setattr(Sampling, "resumed", counted)
    return count


def once(search):
    """Function that searches the first time alone; the path is in each test's library."""

    @functools.cache
    def first():
        return search(), user_paths.read()

    def searched():
        result, paths = first()
        for path in paths:
            user_paths.library().save(path, overwrite=True)
        return result

    return searched

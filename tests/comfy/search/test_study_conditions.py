"""What a study is of: its examples, and minutes of work."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from golden_path_pack.gph_core.search import study

from ...support.comfy.demo_examples import examples
from .test_schedule_search import demo

pytestmark = pytest.mark.usefixtures("in_a_run")


def test_scores_of_other_examples_are_not_taken_up():
    demo(evaluations=1, validation=())
    others = (examples()[0], replace(examples()[1], seed=77))
    with pytest.raises(ValueError, match="was made with the examples"):
        demo(evaluations=1, validation=(), examples=others)


def test_minutes_are_minutes(monkeypatch):
    ticks = iter(range(0, 10**6, 10))
    clock = SimpleNamespace(perf_counter=lambda: next(ticks))
    monkeypatch.setattr(study, "time", clock)  # every measurement takes ten seconds
    table = demo(minutes=1.0, evaluations=0, validation=(), racing=False).result[3]
    assert 5 <= int(re.search(r"(\d+) schedules scored", table)[1]) <= 7

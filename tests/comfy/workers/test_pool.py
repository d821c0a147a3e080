"""Shards of a search's examples, and which workers may have them."""

import sys
from types import SimpleNamespace

import comfyui_version
import pytest
import torch
from golden_path_pack.nodes.workers import crew
from golden_path_pack.nodes.workers import pool as pools
from golden_path_pack.nodes.workers.crew import Again, command
from golden_path_pack.nodes.workers.pool import Pool
from golden_path_pack.nodes.workers.ray_actors import Lost, Workers
from golden_path_pack.nodes.workers.upstream import upstream


class Fakes:
    """In place of processes; each answers from a table."""

    def __init__(self, answers, dies=()):
        self.answers, self.dies = answers, set(dies)
        self.alive = list(range(len(answers)))
        self.asked = []

    def ask(self, requests, limit_s):
        for request in requests.values():
            self.asked.append(request)
            if request.worker in self.dies:
                self.lose(request.worker, "it died")
        return {
            key: self.answers[request.worker].get(request.name) for key, request in requests.items()
        }

    def lose(self, worker, reason):
        self.alive.remove(worker)
        raise Lost(worker, reason)

    def close(self):
        self.alive = []


class Work(list):
    """Examples of a workload."""

    sampler = None


def report(**changed):
    return {
        "ComfyUI": comfyui_version.__version__, "torch": torch.__version__,
        "study": {"sampler": "euler", "cfg": 5.0},
    } | changed  # fmt: skip


def answers(controls=(0.5, 0.25), **changed):
    return {"load": report(**changed), "controls": list(controls), "ask": []}


@pytest.fixture
def opened(monkeypatch):
    def open_pool(*found, examples=5, validation=3, batch=1, dies=()):
        fakes = Fakes(list(found), dies)
        monkeypatch.setattr(crew, "Actors", lambda *_: fakes)
        live = SimpleNamespace(
            on_run=lambda: None, on_reference=lambda *_: None, on_workers=lambda _: None
        )
        session = SimpleNamespace(
            scoring=Work(range(examples)), validation=Work(range(validation)), batch=batch,
            conditions=report()["study"],
        )  # fmt: skip
        monkeypatch.setattr(pools.samplers, "is_stochastic", lambda _: False)
        return Pool(Workers(), session, live, ({}, "1")), fakes

    return open_pool


def test_batches_go_to_the_workers_in_turn(opened):
    pool, _ = opened(answers(), answers(), examples=7, validation=3, batch=2)
    assert pool.shards[0] == ((0, 1, 4, 5), (0, 1))
    assert pool.shards[1] == ((2, 3, 6), (2,))


def test_a_batch_is_smaller_where_workers_would_have_nothing(opened):
    pool, _ = opened(answers(), answers(), answers(), examples=5, batch=8)
    assert pool.batch == 2
    assert [len(part.scoring) for part in pool.shards.values()] == [2, 2, 1]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (answers(torch="1.0"), f"its torch is 1.0, here it is {torch.__version__}"),
        (answers(study={"sampler": "heun", "cfg": 5.0}), "its sampler is heun, here it is euler"),
        (answers(controls=(0.5, 0.3)), "the latent MSE of its control runs"),
    ],
)
def test_a_worker_that_differs_is_left_out_with_what_differs(opened, other, words):
    pool, fakes = opened(answers(), other)
    assert fakes.alive == [0]
    assert words in pool.notes[0]
    assert pool.shards[0].scoring == (0, 1, 2, 3, 4)


def test_controls_may_differ_by_rounding(opened):
    pool, fakes = opened(answers(), answers(controls=(0.51, 0.24)))
    assert fakes.alive == [0, 1]
    assert pool.notes == []


def test_without_any_worker_that_fits_the_search_does_not_begin(opened):
    with pytest.raises(ValueError, match="no worker can be used; the last one: its torch is"):
        opened(answers(torch="1.0"))


def test_shards_of_a_lost_worker_go_to_the_one_that_has_the_fewest(opened):
    pool, fakes = opened(answers(), answers(), answers())
    fakes.dies.add(1)
    with pytest.raises(Again):
        pool.ask("notes", dict.fromkeys(pool.shards, ()))
    added = [request for request in fakes.asked if request.name == "add_shard"]
    assert (added[-1].worker, added[-1].arguments[0]) == (0, 1)
    assert pool.notes == ["worker 1 was lost (it died); others have taken its examples"]


def test_the_last_lost_worker_ends_the_search_which_says_how_to_go_on(opened):
    pool, fakes = opened(answers())
    fakes.dies.add(0)
    with pytest.raises(RuntimeError, match="All results are saved: queue again"):
        pool.ask("notes", {0: ()})


def test_workers_take_the_command_line_but_what_each_process_has_for_itself(monkeypatch):
    line = "main.py --cpu --temp-directory /a --cuda-device=1 --port 8188 --database-url x"
    monkeypatch.setattr(sys, "argv", line.split())
    assert command()[1] == ["--cpu", "--port", "8188"]


def test_only_what_the_search_needs_is_executed():
    def node(**inputs):
        return {"class_type": "x", "inputs": inputs}

    prompt = {
        "1": node(), "2": node(model=["1", 0]), "3": node(address="local"),
        "4": node(model=["2", 0], workers=["3", 0], sizes=[64, 64], cfg=5.0),
        "5": node(table=["4", 3]),
    }  # fmt: skip
    found = upstream(prompt, "4", without="workers")
    assert found.keys() == {"1", "2", "4"}
    assert found["4"]["inputs"] == {"model": ["2", 0], "sizes": [64, 64], "cfg": 5.0}
    assert "workers" in prompt["4"]["inputs"]
    with pytest.raises(ValueError, match="made by another node"):
        upstream(prompt, "4.0.7", without="workers")

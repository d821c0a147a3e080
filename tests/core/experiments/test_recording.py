"""Recordings ask for the runs that their file lacks, and keep each as soon as it ends."""

import json

import pytest

from gph_core.experiments.recording import Recording
from gph_core.run import record_file
from gph_core.run.record_file import RecordedRun

from ...support.made_records import record
from ...support.toy_runner import ToyExamples, examples_of


class Jobs:
    """Somebody who records; keeps what was asked for. ``most`` runs, then the user cancels."""

    def __init__(self, examples, most=99, states=None):
        self.examples, self.most, self.states = examples, most, states
        self.seeds, self.steps = [], None

    def __call__(self, jobs, steps):
        self.steps = steps
        for (number,) in jobs:
            if not self.most:
                raise KeyboardInterrupt
            self.most -= 1
            example, name = self.examples.examples[number], self.examples.names()[number]
            self.seeds.append(example.seed)
            run = RecordedRun(name, example.prompt, example.seed, record((0, 4)))
            yield ((json.dumps(record_file.to_data(run)), self.states),)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "runs.jsonl"


def complete(file, *seeds, conditions="euler", kept=None, **options):
    """Seeds of all runs, how many are new, and what was asked for."""
    examples = ToyExamples(examples_of(*seeds))
    jobs, kept = Jobs(examples, **options), {} if kept is None else kept
    recording = Recording(examples, file, {"sampler": conditions}, kept.__setitem__)
    runs, num_new = recording.complete(jobs)
    return [run.seed for run in runs], num_new, jobs


def test_only_what_is_missing_is_sampled_and_the_order_is_that_of_the_examples(file):
    seeds, num_new, jobs = complete(file, 2, 1)
    assert (seeds, num_new, jobs.seeds) == ([2, 1], 2, [2, 1])
    seeds, num_new, jobs = complete(file, 0, 1, 2, 3)
    assert (seeds, num_new, jobs.seeds) == ([0, 1, 2, 3], 2, [0, 3])
    assert jobs.steps == 2 * 8
    # Of a longer recording, fewer examples are a part.
    seeds, num_new, jobs = complete(file, 3, 0)
    assert (seeds, num_new, jobs.seeds) == ([3, 0], 0, [])


def test_the_runs_come_as_they_are_in_the_file(file):
    examples = ToyExamples(examples_of(5))
    runs, _ = Recording(examples, file, {}, lambda *_: None).complete(Jobs(examples))
    assert runs == (RecordedRun("prompt 5, 5", "prompt 5", 5, record((0, 4))),)
    assert tuple(record_file.read(file)) == runs


def test_a_cancelled_recording_loses_only_the_run_under_way(file):
    with pytest.raises(KeyboardInterrupt):
        complete(file, 0, 1, 2, most=2)
    assert [run.seed for run in record_file.read(file)] == [0, 1]
    seeds, num_new, jobs = complete(file, 0, 1, 2)
    assert (seeds, num_new, jobs.seeds) == ([0, 1, 2], 1, [2])


def test_states_are_kept_under_the_name_of_their_example_where_there_are_any(file):
    kept = {}
    complete(file, 0, kept=kept)
    complete(file, 0, 1, kept=kept, states=b"states")
    assert kept == {"prompt 1, 1": b"states"}


def test_a_run_is_in_the_file_only_once_its_states_are_kept(file):
    def full(name, states):
        raise OSError("the disk is full")

    examples = ToyExamples(examples_of(0))
    with pytest.raises(OSError, match="disk is full"):
        Recording(examples, file, {}, full).complete(Jobs(examples, states=b"states"))
    assert record_file.read(file) == []


def test_after_a_crash_only_the_half_line_is_lost(file):
    complete(file, 0, 1)
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    assert complete(file, 0, 1)[1] == 1
    assert file.read_bytes() == whole


def test_other_conditions_are_refused_by_name_before_anything_is_sampled(file):
    complete(file, 0)
    examples = ToyExamples(examples_of(0, 1))
    jobs = Jobs(examples)
    with pytest.raises(ValueError, match="with the sampler euler, now it is heun; choose another"):
        Recording(examples, file, {"sampler": "heun"}, lambda *_: None).complete(jobs)
    assert jobs.seeds == []

import random
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gph_core.quality.objective import PSNR
from gph_core.schedule import Schedule, ScheduleSpace
from gph_core.search.algorithms.sampling import exhaustive
from gph_core.search.budget import Budget
from gph_core.search.log import StudyLog
from gph_core.search.study import Study

from ...support.made_examples import MadeExamples

ROOT = Path(__file__).parents[3]
A, B = Schedule((0, 1), 5), Schedule((0, 3), 5)


def test_measurements_are_kept_by_schedule_and_example(tmp_path):
    log = StudyLog(tmp_path / "log", {})
    log.add(B, [0, 2], [{"psnr": 20.5, "lpips": 0.25}, {"psnr": float("inf")}], 8.0, 3.0)
    log.add(A, [0], [{"psnr": 1.0}], 2.0, 1.0)
    log.close()
    log = StudyLog(tmp_path / "log", {})
    assert log.metrics(B) == {0: {"psnr": 20.5, "lpips": 0.25}, 2: {"psnr": float("inf")}}
    assert log.metrics(A) == {0: {"psnr": 1.0}}
    assert log.metrics(Schedule((0, 4), 5)) == {}
    assert list(log) == [B, A]
    assert log.entries(A) == {0: ({"psnr": 1.0}, 2.0, 1.0)}
    assert [entry[1:] for entry in log.entries(B).values()] == [(4.0, 1.5), (4.0, 1.5)]
    assert log.spent() == (10.0, 4.0)


def test_a_measurement_without_a_needed_metric_is_refused_with_the_file(tmp_path):
    log = StudyLog(tmp_path / "log", {})
    log.add(A, [0, 1], [{"psnr": 20.5}, {"lpips": 0.5}], 8.0, 3.0)
    Study(MadeExamples(lambda schedule, example: 1.0, 2), PSNR, log=log)
    with pytest.raises(OSError, match=r"log cannot be used \(0-1/5 has no psnr of example 2"):
        log.entries(A)


def test_what_is_known_already_stays():
    log = StudyLog(None, {})
    log.add(A, [0], [{"psnr": 1.0}], 2.0, 1.0)
    log.add(A, [0, 1], [{"psnr": 9.0}, {"psnr": 3.0}], 4.0, 2.0)
    assert log.metrics(A) == {0: {"psnr": 1.0}, 1: {"psnr": 3.0}}


CONDITIONS = {"model": "flux", "sigmas": (1.0, 0.5, 0.0), "seed": 7}


@pytest.mark.parametrize(
    ("other", "field", "stored", "wanted"),
    [
        (CONDITIONS | {"model": "wan", "seed": 8}, "model", "flux", "wan"),
        ({"model": "flux", "seed": 7}, "noise levels", "of 2 steps", "none"),
    ],
)
def test_other_conditions_are_refused_by_the_name_of_the_field(
    tmp_path, other, field, stored, wanted
):
    StudyLog(tmp_path / "log", CONDITIONS).close()
    StudyLog(tmp_path / "log", dict(CONDITIONS)).close()
    message = f"was made with the {field} {stored}, this search has {wanted}; choose another study"
    with pytest.raises(ValueError, match=message):
        StudyLog(tmp_path / "log", other)
    StudyLog(tmp_path / "log", CONDITIONS).close()  # the refusal changed nothing


SPACE = ScheduleSpace(8, 4)  # 35 schedules


def steps_sum(schedule, example):
    return float(sum(schedule.full_steps) * (example + 1))


KILLED = """
import os, random, signal, sys
from pathlib import Path
from gph_core.schedule import ScheduleSpace
from gph_core.search.log import StudyLog
from gph_core.search.algorithms.sampling import exhaustive
from gph_core.search.study import Measurement, Study

class Examples:
    runs = 0
    def __len__(self):
        return 3
    def begin(self):
        pass
    def measure(self, schedule, examples):
        self.runs += 1
        if self.runs == 6:
            os.kill(os.getpid(), signal.SIGKILL)
        total = float(sum(schedule.full_steps))
        return Measurement([{"psnr": total * (e + 1)} for e in examples], 12.0)

search = exhaustive(ScheduleSpace(8, 4), random.Random(0))
Study(Examples(), log=StudyLog(Path(sys.argv[1]), {})).run(search)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_a_killed_study_loses_only_the_measurement_under_way(tmp_path):
    path = tmp_path / "log"
    done = subprocess.run([sys.executable, "-c", KILLED, path], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    examples = MadeExamples(steps_sum, count=3)
    study = Study(examples, budget=Budget(evaluations=10), log=StudyLog(path, {}))
    assert study.full_steps == 5 * 12
    study.run(exhaustive(SPACE, random.Random(0)))
    whole = Study(MadeExamples(steps_sum, count=3), budget=Budget(evaluations=10))
    whole.run(exhaustive(SPACE, random.Random(0)))
    assert study.scores == whole.scores
    assert [schedule for schedule, _ in examples.measured] == list(study.scores)[5:]


# SQLite locks a file between two connections as between two processes, which take two seconds more.


def test_two_make_and_fill_one_file_together(tmp_path):
    path, ready = tmp_path / "log", threading.Barrier(2)

    def write(first):
        ready.wait(10)
        log = StudyLog(path, {"seed": 1})
        for n in range(first, first + 40):
            log.add(Schedule((0, n), 200), [0, 1], [{"psnr": n}, {"psnr": n + 0.5}], 4.0, 0.0)
        log.close()

    # The second half of one's schedules is the first half of the other's.
    with ThreadPoolExecutor() as writers:
        list(writers.map(write, (1, 21)))
    log = StudyLog(path, {"seed": 1})
    assert set(log) == {Schedule((0, n), 200) for n in range(1, 61)}
    assert all(
        log.metrics(Schedule((0, n), 200)) == {0: {"psnr": n}, 1: {"psnr": n + 0.5}}
        for n in range(1, 61)
    )
    assert log.spent() == (60 * 4.0, 0.0)
    log.close()
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()


def test_two_that_make_a_file_under_different_conditions_do_not_mix(tmp_path, monkeypatch):
    # The first has begun, and has not stored its conditions yet, when the second comes.
    path, come = tmp_path / "log", threading.Event()
    StudyLog(path, {}).close()
    first = sqlite3.connect(path, isolation_level=None)
    first.execute("BEGIN IMMEDIATE")
    connect = sqlite3.connect

    def connected(*args, **options):
        found = connect(*args, **options)
        found.set_trace_callback(lambda text: come.set() if text.startswith("BEGIN") else None)
        return found

    monkeypatch.setattr(sqlite3, "connect", connected)
    with ThreadPoolExecutor() as others:
        second = others.submit(StudyLog, path, {"seed": 2})
        assert come.wait(10)
        first.execute("INSERT INTO condition VALUES ('seed', '1')")
        first.execute("COMMIT")
        first.close()
        with pytest.raises(ValueError, match="was made with the seed 1, this search has 2"):
            second.result()


def test_a_full_disk_is_named_with_what_to_do(tmp_path):
    log = StudyLog(tmp_path / "log", {})
    log._database.execute("PRAGMA max_page_count = 1")  # which becomes what there is
    many = list(range(1000))
    message = r"log cannot be used \(database or disk is full\); free some space"
    with pytest.raises(OSError, match=message):
        log.add(A, many, [{"psnr": 1.0}] * len(many), 1.0, 1.0)
    assert A not in log
    assert log.metrics(A) == {}
    log.close()


def test_a_folder_in_the_place_of_a_study_is_named(tmp_path):
    with pytest.raises(OSError, match=f"the study file .*{tmp_path.name} cannot be used"):
        StudyLog(tmp_path, {})


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("metrics", "[]"), ("metrics", '{"psnr": "1"}'), ("metrics", '{"psnr": true}'),
        ("metrics", b"\xff"), ("full_steps", "many"), ("seconds", -1.0), ("seconds", float("inf")),
    ],
)  # fmt: skip
def test_a_measurement_of_another_type_is_refused_by_its_number(tmp_path, column, value):
    log = StudyLog(tmp_path / "log", {})
    for number, schedule in enumerate((B, A)):
        log.add(schedule, [0], [{"psnr": float(number)}], 2.0, 1.0)
    log._database.execute(f"UPDATE measurement SET {column} = ? WHERE number = 2", (value,))
    with pytest.raises(OSError, match=r"log cannot be used \(.*measurement 2 "):
        log.metrics(A)
    assert log.metrics(B) == {0: {"psnr": 0.0}}
    log.close()

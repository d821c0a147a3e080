"""*Schedule Search* with real workers on Ray: two processes, the demo model, one machine.

That all workers are lost is tested on fakes (test_pool).
"""

import contextlib
import json
import os
import signal
import sqlite3
import threading
import time
import urllib.parse
import urllib.request

import psutil
import pytest

import dev
from demo import examples
from demo.examples.search import NAME
from demo.workflow import nodes_of_type, to_prompt

from ...support.comfy.listener import events_of

EVALUATIONS = 6
LONGEST_S = 240


@pytest.fixture(scope="module")
def hosts(running):
    """Function that gives the process ids of the workers of this server, not of other tests'."""

    def found():
        children = psutil.Process(running.process.pid).children(recursive=True)
        return [child.pid for child in children if "ray::Host" in command_of(child)]

    return found


def prompt_of(object_info, judges, study, workers=0):
    """A guarded search of a few schedules of 12 steps, on four examples, one at a time."""
    prompt = to_prompt(examples.read(examples.FOLDER / f"{NAME}.json"), object_info)
    (search,) = nodes_of_type(prompt, "GPH_ScheduleSearch")
    (scheduler,) = nodes_of_type(prompt, "BasicScheduler")
    prompt[scheduler]["inputs"]["steps"] = 12
    for number in nodes_of_type(prompt, "GPH_ScoringExamples"):
        given = prompt[number]["inputs"]
        given["prompts"] = "\n".join(given["prompts"].splitlines()[:4])
        given["seeds"] = ", ".join(given["seeds"].split(", ")[:4])
    inputs = prompt[search]["inputs"]
    inputs |= {
        "study": study, "evaluations": EVALUATIONS, "batch_size": 1, "policies": "fitted",
        "semantic": ["judges", 0],
    }  # fmt: skip
    prompt["judges"] = judges
    if workers:
        chosen = {"address": "local", "count": workers, "gpus_per_worker": 0.0}
        prompt["workers"] = {"class_type": "GPH_SearchWorkers", "inputs": chosen}
        inputs["workers"] = ["workers", 0]
    return prompt


def run(url, prompt):
    """Table of the search, or *interrupted*."""
    for event in events_of(url, prompt, {"id": "workers", "nodes": []}):
        if event["type"] == "execution_error":
            raise AssertionError(event["data"]["exception_message"])
        if event["type"] == "execution_interrupted":
            return "interrupted"
        output = event["data"].get("output") if event["type"] == "executed" else None
        if output and "gph_search" in output:
            return output["gph_search"][0]["table"]
    raise AssertionError("the search has told nothing")


def delivered(url, study):
    """The path that a search keeps, without its name."""
    name = urllib.parse.quote(f"{study}, 7 of 12")
    with dev.LOCAL.open(f"{url}/golden_path/user_paths/{name}") as response:
        return json.load(response) | {"name": ""}


def rows_of(file):
    """Measurements of a log but the seconds that they took."""
    with contextlib.closing(sqlite3.connect(file)) as log:
        if not log.execute("SELECT 1 FROM sqlite_master WHERE name = 'measurement'").fetchall():
            return []  # the search has just begun: there is a file, but no table yet
        return log.execute(
            "SELECT number, schedule, example, metrics, full_steps FROM measurement"
        ).fetchall()


def logged(users, study):
    """All measurements of a study, by the names of its logs."""
    files = sorted(users.glob(f"**/studies/{study}/*.sqlite"))
    return {file.name: rows_of(file) for file in files}


def command_of(process):
    """Command line of a process; empty if it has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def until(condition):
    end = time.monotonic() + LONGEST_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def during_the_search(url, users, prompt, study, act):
    """Act once the search has scored two schedules; what it ends with."""
    found = []
    searching = threading.Thread(target=lambda: found.append(run(url, prompt)))
    searching.start()

    def has_scored():
        scoring = [rows for name, rows in logged(users, study).items() if "scoring" in name]
        return sum(map(len, scoring)) >= 8

    try:
        until(lambda: has_scored() or not searching.is_alive())
        act()
    finally:  # no search runs on into the next test
        searching.join(LONGEST_S)
    return found[0]


@pytest.fixture(scope="module")
def alone(url, object_info, judges):
    """Table of the search without workers, whose study is *alone*."""
    return run(url, prompt_of(object_info, judges, "alone"))


@pytest.mark.long
def test_a_killed_worker_changes_nothing_but_a_note(url, users, object_info, judges, alone, hosts):
    assert "Guard: ImageReward falls by at most 100" in alone
    assert "Δ reward" in alone
    prompt = prompt_of(object_info, judges, "killed", workers=2)
    table = during_the_search(
        url, users, prompt, "killed", lambda: os.kill(hosts()[0], signal.SIGKILL)
    )
    assert [line for line in table.splitlines() if "was lost" not in line] == alone.splitlines()
    assert "was lost" in table
    assert delivered(url, "killed") == delivered(url, "alone")
    rows, expected = logged(users, "killed"), logged(users, "alone")
    assert rows.keys() == expected.keys()
    for name, found in rows.items():  # a fit that begins again costs full steps again
        assert [row[:4] for row in found] == [row[:4] for row in expected[name]]
    assert hosts() == []


@pytest.mark.long
def test_a_cancelled_search_ends_its_workers_and_goes_on_without(
    url, users, object_info, judges, alone, hosts
):
    prompt = prompt_of(object_info, judges, "cancelled", workers=2)

    def cancel():
        dev.LOCAL.open(urllib.request.Request(f"{url}/interrupt", method="POST", data=b"")).close()

    assert during_the_search(url, users, prompt, "cancelled", cancel) == "interrupted"
    until(lambda: not hosts())
    assert run(url, prompt_of(object_info, judges, "cancelled")) == alone


@pytest.mark.long
def test_killing_comfyui_leaves_no_worker_behind(url, users, object_info, judges, running, hosts):
    """The last test of the file: it ends the server."""
    prompt = prompt_of(object_info, judges, "left behind", workers=2)
    body = json.dumps({"prompt": prompt}).encode()
    dev.LOCAL.open(urllib.request.Request(f"{url}/prompt", body)).close()
    until(lambda: len(hosts()) == 2 and logged(users, "left behind"))
    children = psutil.Process(running.process.pid).children(recursive=True)
    running.process.kill()
    _, alive = psutil.wait_procs(children, timeout=30)
    # Two of Ray's own agents end a minute later; that is not waited for.
    assert not any("ray::Host" in command_of(process) for process in alive)

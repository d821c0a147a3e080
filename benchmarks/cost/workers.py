"""What workers bring, and what asking them costs: real Ray on this machine.

Two workers against one on *Search a golden path*, side by side; the time of a request that does
nothing; and 64 workers that sleep in place of sampling, against one. It takes about five minutes of
two idle CPU cores.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from golden_path_pack.nodes.workers import host, ray_actors
from golden_path_pack.nodes.workers.activity import Activity
from golden_path_pack.nodes.workers.ray_actors import Request

import dev
from benchmarks.lab import report
from demo import examples
from demo.examples.search import NAME
from demo.workflow import nodes_of_type, to_prompt

FILE = "workers.json"
EVALUATIONS = 24
REQUESTS = 200
SLEEPERS, SLEEP_S, ROUNDS = 64, 0.5, 10
BARS = {"two workers": 1.7, "overhead": 0.005, "sleepers": 0.9}


def measure(options) -> dict:
    one, two = (schedules_per_second(count) for count in (1, 2))
    found = {
        "schedules a second, one worker": round(one, 3),
        "schedules a second, two workers": round(two, 3), "two workers": round(two / one, 3),
        "overhead": round(seconds_of_a_request(), 5), "sleepers": round(share_of_linear(), 3),
    }  # fmt: skip
    return {"rows": report.printed([found])}


def misses(figures: dict) -> list[str]:
    (found,) = figures["rows"]
    return [name for name, bar in BARS.items() if not holds(name, found[name], bar)]


def conditions(options) -> dict:
    return {
        "machine": f"{os.cpu_count()} CPU cores, one thread for each worker",
        "two workers": f"times the rate of one worker; {EVALUATIONS} schedules of 20 steps, "
        "8 full, 16 examples in batches of 8, fitted weights",
        "overhead": f"seconds of a request that does nothing, median of {REQUESTS}",
        "sleepers": f"share of the linear rate, {SLEEPERS} workers that sleep {SLEEP_S} s",
    }  # fmt: skip


def holds(name: str, value: float, bar: float) -> bool:
    """Whether a figure is on the right side of its bar."""
    return value <= bar if name == "overhead" else value >= bar


def schedules_per_second(count: int) -> float:
    """Rate of the example's search with some workers, from the times in its log."""
    tools = dev.Tools(Path(os.environ["COMFYUI_PATH"]), Path(sys.executable))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as users:
        arguments = ["--cpu", "--user-directory", users]
        with dev.server(tools, arguments, threads=1) as running:
            search(running.url, count)
        (log,) = Path(users).glob("**/*fitted*scoring.sqlite")
        with contextlib.closing(sqlite3.connect(log)) as opened:
            (seconds,) = opened.execute("SELECT SUM(seconds) FROM measurement").fetchone()
    return EVALUATIONS / seconds


def search(url: str, count: int) -> None:
    """Run the example's search to its end."""
    prompt = to_prompt(examples.read(examples.FOLDER / f"{NAME}.json"), got(f"{url}/object_info"))
    (node,) = nodes_of_type(prompt, "GPH_ScheduleSearch")
    prompt[node]["inputs"] |= {
        "evaluations": EVALUATIONS, "minutes": 60.0, "workers": ["workers", 0],
    }  # fmt: skip
    chosen = {"address": "local", "count": count, "gpus_per_worker": 0.0}
    prompt["workers"] = {"class_type": "GPH_SearchWorkers", "inputs": chosen}
    body = json.dumps({"prompt": prompt}).encode()
    number = got(urllib.request.Request(f"{url}/prompt", body))["prompt_id"]
    while number not in (history := got(f"{url}/history/{number}")):
        time.sleep(1)
    status = history[number]["status"]
    if status["status_str"] != "success":
        raise RuntimeError(f"the search failed: {status['messages'][-1]}")


def got(request: str | urllib.request.Request) -> Any:
    """Answer of the server."""
    with dev.LOCAL.open(request) as response:
        return json.load(response)


class Sleeper:
    """Stands in for ComfyUI."""

    def __init__(self, *_: Any) -> None: ...

    def call(self, name: str, *arguments: Any) -> dict[str, Any]:
        time.sleep(arguments[0])
        return {"answer": 0}

    def close(self) -> None: ...


def asking(count: int):
    """Actors that only sleep."""
    ray_actors.required("local").cloudpickle.register_pickle_by_value(sys.modules[__name__])
    host.Host = Sleeper
    nobody = Activity(lambda: None, lambda rows: None)
    return ray_actors.Actors(ray_actors.Workers("local", count, 0.0), ("", []), nobody)


def seconds_of_a_request() -> float:
    """Median time of a request to a worker that answers at once."""
    actors = asking(1)
    taken = [timed(actors, actors.alive, 0.0) for _ in range(REQUESTS)]
    actors.close()
    return statistics.median(taken[REQUESTS // 10 :])


def share_of_linear() -> float:
    """Rate of ``SLEEPERS`` workers, as a share of that many times the rate of one."""
    actors = asking(SLEEPERS)
    timed(actors, actors.alive, 0.0)  # all are there
    taken = [timed(actors, actors.alive, SLEEP_S) for _ in range(ROUNDS)]
    actors.close()
    return SLEEP_S / statistics.mean(taken)


def timed(actors, workers: list[int], seconds: float) -> float:
    """Seconds until all of some workers have answered."""
    begin = time.perf_counter()
    actors.ask({worker: Request(worker, "sleep", (seconds,)) for worker in workers}, 600)
    return time.perf_counter() - begin

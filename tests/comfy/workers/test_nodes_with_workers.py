"""*Calibrate*, *Record Runs* and *Method Shootout* with real workers: as without them."""

import json

import pytest
import torch
from safetensors import safe_open

from ...support.comfy.listener import events_of

WORKERS = {"address": "local", "count": 2, "gpus_per_worker": 0.0}
PROMPTS = "two red circles\na large blue square\ngreen ring above pink cross"


def run(url, kind, workers, **inputs):
    """Run a node on three examples of 12 steps; what its text output shows."""
    workload = {
        "model": ["1", 0], "examples": ["2", 0], "latent": ["3", 0], "sampler": ["4", 0],
        "sigmas": ["5", 0], "cfg": 5.0,
    }  # fmt: skip
    nodes = {
        "1": ("GPH_DemoModel", {}),
        "2": ("GPH_ScoringExamples", {"prompts": PROMPTS, "seeds": "1, 2, 3", "clip": ["1", 2]}),
        "3": ("EmptyLatentImage", {"width": 64, "height": 64, "batch_size": 1}),
        "4": ("KSamplerSelect", {"sampler_name": "euler"}),
        "5": ("BasicScheduler", {"model": ["1", 0], "scheduler": "simple", "steps": 12} | {
            "denoise": 1.0
        }),
        "6": (kind, workload | inputs | ({"workers": ["7", 0]} if workers else {})),
        "8": ("PreviewAny", {"source": ["6", 1]}),
    }  # fmt: skip
    if workers:
        nodes["7"] = ("GPH_SearchWorkers", WORKERS)
    prompt = {number: {"class_type": c, "inputs": given} for number, (c, given) in nodes.items()}
    shown = ""
    for event in events_of(url, prompt, {"id": "workers", "nodes": []}):
        if event["type"] == "execution_error":
            raise AssertionError(event["data"]["exception_message"])
        if event["type"] == "executed" and event["data"]["node"] == "8":
            shown = event["data"]["output"]["text"][0]
    return shown


def tensors(path):
    with safe_open(path, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def file_of(users, pattern):
    (found,) = users.glob(f"**/golden_path/{pattern}")
    return found


@pytest.mark.long
def test_a_calibration_by_workers_is_that_without(url, users):
    texts = [
        run(url, "GPH_Calibrate", workers, method="all", calibration=name)
        for workers, name in ((False, "alone"), (True, "by workers"))
    ]
    assert texts[0].replace("alone", "by workers") == texts[1]
    alone, by_workers = (
        tensors(file_of(users, f"calibrations/{name}.safetensors"))
        for name in ("alone", "by workers")
    )
    assert alone.keys() == by_workers.keys()
    assert len(alone) > 6
    assert all(torch.equal(alone[name], by_workers[name]) for name in alone)


@pytest.mark.long
def test_recorded_runs_of_workers_are_those_without(url, users):
    texts = [
        run(url, "GPH_RecordRuns", workers, recording=name, keep_latents=True)
        for workers, name in ((False, "alone"), (True, "by workers"))
    ]
    assert texts[0] == texts[1]
    lines = [
        file_of(users, f"runs/{name}/runs.jsonl").read_text().splitlines()
        for name in ("alone", "by workers")
    ]
    assert len(lines[0]) == 4  # conditions and three runs
    for one, other in zip(*lines, strict=True):
        assert without_seconds(json.loads(one)) == without_seconds(json.loads(other))
    states = [sorted(users.glob(f"**/runs/{name}/latents/*")) for name in ("alone", "by workers")]
    assert [file.name for file in states[0]] == [file.name for file in states[1]]
    assert len(states[0]) == 3
    for one, other in zip(*states, strict=True):
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.long
def test_a_shootout_on_workers_finds_the_figures_of_one_without(url, users):
    for workers, name in ((False, "alone"), (True, "by workers")):
        run(
            url, "GPH_MethodShootout", workers, name=name, speed="Balanced", full_steps=4,
            calibration="none", methods="uniform, plain steps, EasyCache", vae=["1", 1],
        )  # fmt: skip
    found = [
        list(map(json.loads, file_of(users, f"shootouts/{name}.jsonl").read_text().splitlines()))
        for name in ("alone", "by workers")
    ]
    assert len(found[0]) > 9
    for one, other in zip(*found, strict=True):
        assert without_seconds(one) == without_seconds(other)


def without_seconds(data):
    """Plain data without what was timed."""
    if isinstance(data, list):
        return [without_seconds(value) for value in data]
    if isinstance(data, dict):
        kept = {n: v for n, v in data.items() if "second" not in n and n != "speedup"}
        return {n: without_seconds(v) for n, v in kept.items()}
    return data

"""The nodes of adaptive and planned methods, linked to each other in the real server."""

import uuid

import pytest

from demo.workflow import nodes_of_type

from ...support.comfy.listener import events_of
from ...support.served import refusal, run

pytestmark = pytest.mark.long  # a server of its own, in which each test samples


def test_a_schedule_comes_with_its_policy(object_info):
    planned, frequent = (object_info[f"GPH_{n}"] for n in ("PlanSchedule", "MostFrequentSchedule"))
    assert planned["output"] == ["GPH_SCHEDULE", "GPH_POLICY", "STRING"]
    assert frequent["output"] == ["GPH_SCHEDULE", "FLOAT", "STRING", "IMAGE", "GPH_POLICY"]
    assert frequent["output_name"] == ["schedule", "frequency", "table", "figure", "policy"]


WORKLOAD = {
    "model": ["1", 0], "examples": ["2", 0], "latent": ["3", 0], "sampler": ["4", 0],
    "sigmas": ["5", 0],
}  # fmt: skip


def prompt_of(prompts, nodes):
    """A prompt of the API: the demo model with examples and 12 steps as 1 to 5, and more nodes."""
    seeds = ", ".join(str(n + 1) for n in range(prompts.count("\n") + 1))
    size = {"width": 64, "height": 64, "batch_size": 1}
    first = {
        "1": ("GPH_DemoModel", {}),
        "2": ("GPH_ScoringExamples", {"prompts": prompts, "seeds": seeds, "clip": ["1", 2]}),
        "3": ("EmptyLatentImage", size),
        "4": ("KSamplerSelect", {"sampler_name": "euler"}),
        "5": ("BasicScheduler", {
            "model": ["1", 0], "scheduler": "simple", "steps": 12, "denoise": 1.0,
        }),
    }  # fmt: skip
    return {
        key: {"class_type": kind, "inputs": given} for key, (kind, given) in (first | nodes).items()
    }


def outputs_of(events):
    """What each node shows, if none fails."""
    assert [e["data"] for e in events if e["type"] == "execution_error"] == []
    return {e["data"]["node"]: e["data"]["output"] for e in events if e["type"] == "executed"}


def test_a_calibration_is_linked_from_node_to_node_up_to_the_cache(url):
    work = WORKLOAD | {"method": "SenCache", "cfg": 5.0}
    prompt = prompt_of("two red circles\na large blue square\ngreen ring above pink cross", {
        "6": ("GPH_Calibrate", work | {"calibration": "server test"}),
        "7": ("GPH_CalibrateRatio", work | {"speed": "Quality", "calibration": ["6", 0]}),
        "8": ("GPH_AdaptiveCache", {
            "model": ["1", 0], "method": "SenCache", "speed": "Quality", "threshold": 0.0,
            "calibration": ["7", 0],
        }),
        "9": ("CLIPTextEncode", {"clip": ["1", 2], "text": "two red circles"}),
        "10": ("CLIPTextEncode", {"clip": ["1", 2], "text": ""}),
        "11": ("KSampler", {
            "model": ["8", 0], "positive": ["9", 0], "negative": ["10", 0],
            "latent_image": ["3", 0], "seed": 5, "steps": 12, "cfg": 5.0, "sampler_name": "euler",
            "scheduler": "simple", "denoise": 1.0,
        }),
        "12": ("VAEDecode", {"samples": ["11", 0], "vae": ["1", 1]}),
        "13": ("PreviewImage", {"images": ["12", 0]}),
        "14": ("PreviewAny", {"source": ["7", 1]}),
    })  # fmt: skip
    events = events_of(url, prompt, {"id": "calibrated", "nodes": []})
    # Quality leaves seven of 12 steps full.
    assert "wanted 5, mean" in outputs_of(events)["14"]["text"][0]
    (done,) = (
        e["data"]["record"]
        for e in events
        if e["type"] == "golden_path.run" and e["data"]["state"] == "done"
    )
    assert "SenCache" in done["origin"]
    assert done["cached_steps"]


def test_runs_are_recorded_counted_and_replayed_with_their_policy(url, prompt):
    (cache,) = nodes_of_type(prompt, "GPH_Cache")
    (sampler,) = nodes_of_type(prompt, "KSampler")
    loader, clip = prompt[cache]["inputs"]["model"], [prompt[cache]["inputs"]["model"][0], 2]
    parts = {
        "30": ("GPH_ScoringExamples", {
            "prompts": "two red circles\nlarge blue square", "seeds": "1, 2", "clip": clip,
        }),
        "31": ("KSamplerSelect", {"sampler_name": "euler"}),
        "32": ("BasicScheduler", {
            "model": loader, "scheduler": "simple", "steps": 12, "denoise": 1.0,
        }),
        "33": ("GPH_PlanSchedule", {
            "method": "TaylorSeer", "steps": 12, "speed": "Balanced", "full_steps": 10,
            "calibration": "none", "sigmas": ["32", 0], "model": loader,
        }),
        "34": ("GPH_Cache", {
            "model": loader, "speed": "Custom", "schedule": ["33", 0], "policy": ["33", 1],
        }),
        "35": ("GPH_RecordRuns", {
            "model": ["34", 0], "examples": ["30", 0], "sampler": ["31", 0], "sigmas": ["32", 0],
            "latent": prompt[sampler]["inputs"]["latent_image"], "cfg": 5.0,
            "recording": "of the server test",
        }),
        "36": ("GPH_MostFrequentSchedule", {
            "recording": "none", "full_steps": 0, "runs": ["35", 0],
        }),
    }  # fmt: skip
    prompt |= {key: {"class_type": kind, "inputs": inputs} for key, (kind, inputs) in parts.items()}
    prompt[cache]["inputs"].update(speed="Custom", schedule=["36", 0], policy=["36", 4])
    _, _, record = run(url, prompt)
    # The published rule for images: 0 to 2 and 11, and of the others none is left of four.
    assert (record["schedule"], record["policy"]) == ("0-2,7,11/12", "Taylor order 1")
    assert record["policy_data"] == {"kind": "Taylor"}


SHOOTOUT = WORKLOAD | {
    "cfg": 1.0, "speed": "Balanced", "full_steps": 10, "calibration": "none",
}  # fmt: skip


def test_a_shootout_of_all_methods_tells_what_runs_and_who_is_absent(url):
    prompt = prompt_of("two red circles", {
        "6": ("GPH_MethodShootout", SHOOTOUT | {
            "methods": "uniform\nHiCache\nSeaCache", "name": f"server {uuid.uuid4().hex}",
            "vae": ["1", 1], "schedule": "0-2,9/12\nmine: 0-3/12",
        }),
        "7": ("PreviewImage", {"images": ["6", 0]}),
        "8": ("PreviewAny", {"source": ["6", 1]}),
    })  # fmt: skip
    events = events_of(url, prompt, {"id": "shootout", "nodes": []})
    outputs = outputs_of(events)
    (report,) = outputs["6"]["gph_shootout"]
    names = {row["name"] for row in report["rows"]}
    assert names == {"full", "uniform", "HiCache", "0-2,9/12", "mine"}
    (shown,) = (event["data"] for event in events if event["type"] == "golden_path.shootout")
    assert shown == report  # of the one example there is
    assert set(report["absent"]) == {"SeaCache"}
    assert report["workflow_id"] == "shootout"
    assert len(outputs["7"]["images"]) == 1
    assert "left out: SeaCache: no threshold is known" in outputs["8"]["text"][0]
    prompt["6"]["inputs"]["methods"] = "uniform\nWarpCache"
    assert any("'WarpCache' is not a method" in details for details in refusal(url, prompt))


def test_what_was_measured_is_analyzed_through_inputs_that_grow(url):
    shootout = SHOOTOUT | {
        "methods": "plain steps", "name": f"server {uuid.uuid4().hex}",
        "schedule": "0-2,9/12\n0-2,7/12", "speed": "Fast",
    }  # fmt: skip
    measured = {"shootouts.shootout0": ["6", 2], "shootouts.shootout1": ["8", 2]}
    measured["metric"] = "latent MSE"
    recording = {"cfg": 1.0, "recording": f"server {uuid.uuid4().hex}"}
    prompt = prompt_of("two red circles\nlarge blue square", {
        "6": ("GPH_MethodShootout", shootout),
        "7": ("GPH_PolicySelector", {"policy": "Hermite", "order": 2, "scale": 0.5}),
        "8": ("GPH_MethodShootout", shootout | {"policy": ["7", 0]}),
        "9": ("GPH_RecordRuns", WORKLOAD | recording),
        "10": ("GPH_Coverage", measured | {"margins": "values below", "values": "0.1"}),
        "11": ("GPH_ScheduleStatistics", measured | {"recordings.runs0": ["9", 0]}),
    })  # fmt: skip
    outputs = outputs_of(events_of(url, prompt, {"id": "analysis", "nodes": []}))
    coverage, found = (outputs[node]["gph_summary"][0]["text"] for node in ("10", "11"))
    assert "2 prompts: share of prompts within a margin of the best of 4 schedules" in coverage
    assert "shares of the variance of these means: schedule" in found
    (summary,) = outputs["11"]["gph_summary"]
    assert summary["workflow_id"] == "analysis"

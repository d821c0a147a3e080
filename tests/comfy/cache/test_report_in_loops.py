"""cache/report: reports of cache nodes that another node copies while it runs, as loops do."""

from types import SimpleNamespace

import execution
import pytest
from comfy_execution.graph_utils import GraphBuilder, is_link
from golden_path_pack.nodes import DemoModel, DemoPrompt, GoldenPathCache
from golden_path_pack.nodes.cache.report import EVENT
from golden_path_pack.nodes.schema import prompts

import nodes

BODY = {
    "3:1": {"class_type": "GPH_DemoModel", "inputs": {"kind": "image"}},
    "3:2": {"class_type": "GPH_DemoPrompt", "inputs": {"text": ""}},
    "3:4": {
        "class_type": "EmptyLatentImage",
        "inputs": {"width": 64, "height": 64, "batch_size": 1},
    },
    "3:5": {
        "class_type": "GPH_Cache",
        "inputs": {"model": ["3:1", 0], "speed": "Custom", "schedule": "0,2/4"},
    },
    "3:6": {
        "class_type": "KSampler",
        "inputs": {
            "model": ["3:5", 0], "seed": 1, "steps": 4, "cfg": 1.0, "sampler_name": "euler",
            "scheduler": "simple", "positive": ["3:2", 0], "negative": ["3:2", 0],
            "latent_image": ["3:4", 0], "denoise": 1.0,
        },
    },
}  # fmt: skip


class Loop:
    """Runs copies of the nodes, each shown as its original; or a loop that does so."""

    RETURN_TYPES, FUNCTION, CATEGORY, OUTPUT_NODE = ("LATENT",), "run", "test", True

    @classmethod
    def INPUT_TYPES(cls):
        return {"required": {"rounds": ("INT", {}), "depth": ("INT", {})}}

    def run(self, rounds, depth):
        graph = GraphBuilder()
        if depth:
            inner = graph.node("Loop", "loop", rounds=rounds, depth=depth - 1)
            return {"result": (inner.out(0),), "expand": graph.finalize()}
        latent = None
        for _ in range(rounds):
            copies = {name: graph.node(node["class_type"]) for name, node in BODY.items()}
            for name, copy in copies.items():
                copy.set_override_display_id(name)
                for key, value in BODY[name]["inputs"].items():
                    link = copies[value[0]].out(value[1]) if is_link(value) else value
                    copy.set_input(key, latent if latent and key == "latent_image" else link)
            latent = copies["3:6"].out(0)
        return {"result": (latent,), "expand": graph.finalize()}


class Server(SimpleNamespace):
    """Of one client; keeps its events."""

    client_id, last_node_id, last_prompt_id, sockets_metadata = "me", None, None, {}

    def send_sync(self, event, data, sid=None):
        self.sent.append((event, data))


@pytest.fixture
def server(monkeypatch, inference):
    found = Server(sent=[])
    monkeypatch.setattr("server.PromptServer.instance", found, raising=False)
    ours = {kind.define_schema().node_id: kind for kind in (DemoModel, DemoPrompt, GoldenPathCache)}
    for name, kind in {"Loop": Loop, **ours}.items():
        monkeypatch.setitem(nodes.NODE_CLASS_MAPPINGS, name, kind)
    return found


def run(server, rounds, depth, prompt_id):
    """Events of a prompt whose only node that runs is a loop; and the workflow it leaves."""
    prompt = {**BODY, "9": {"class_type": "Loop", "inputs": {"rounds": rounds, "depth": depth}}}
    pnginfo = {"workflow": {"id": "w"}}
    prompts.remember({"prompt_id": prompt_id, "extra_data": {"extra_pnginfo": pnginfo}})
    executor = execution.PromptExecutor(
        server, cache_args={"lru": 0, "ram": 0.0, "ram_inactive": 0.0}
    )
    executor.execute(prompt, prompt_id, {"client_id": "me", "extra_pnginfo": pnginfo}, ["9"])
    assert executor.success, executor.status_messages
    return [data for event, data in server.sent if event == EVENT], pnginfo["workflow"]


@pytest.mark.parametrize("depth", [0, 1], ids=["loop", "loop in a loop"])
def test_each_round_is_a_run_of_the_node_that_the_workflow_shows(server, depth):
    events, workflow = run(server, rounds=2, depth=depth, prompt_id=f"loops {depth}")
    assert {event["node_id"] for event in events} == {"3:5"}
    ended = [event["run"] for event in events if event["state"] == "done"]
    assert ended == [0, 1]
    saved = workflow["extra"][prompts.METADATA]
    assert [record["full_steps"] for record in saved["3:5"]] == [[0, 2], [0, 2]]
    assert set(saved) == {"3:5"}
    shown = {
        data["display_node"] for event, data in server.sent if event == "executing" and data["node"]
    }
    assert "3:5" in shown  # ComfyUI's own events name the same


def test_the_next_prompt_counts_from_the_first_run(server):
    for number in range(2):
        events, _ = run(server, rounds=1, depth=0, prompt_id=f"one after the other {number}")
        assert events[-1]["run"] == 0

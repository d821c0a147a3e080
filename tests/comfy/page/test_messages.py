"""schema/prompts: what nodes send to the page is JSON, whatever they computed."""

import json
import math
import re
from types import SimpleNamespace

import pytest
from comfy_api.latest import io
from golden_path_pack.nodes.schema import prompts
from golden_path_pack.nodes.schema.node import Node
from golden_path_pack.nodes.schema.summary import json_text

import dev


class Unfinished(Node):
    """A node that shows what is no finite number."""

    @classmethod
    def define_schema(cls):
        return io.Schema("Unfinished", inputs=[])

    @classmethod
    def execute(cls):
        return io.NodeOutput(ui={"figures": [{"mean": math.nan, "curve": (1, -math.inf)}]})


def test_a_number_that_is_not_finite_reaches_the_page_as_null(monkeypatch):
    sent = []
    server = SimpleNamespace(client_id="page", send_sync=lambda *message: sent.append(message))
    monkeypatch.setattr(prompts, "PromptServer", SimpleNamespace(instance=server))
    prompts.tell("golden_path.test", {"sigmas": (1.0, math.nan), "best": {"score": math.inf}})
    assert sent == [
        ("golden_path.test", {"sigmas": [1.0, None], "best": {"score": None}}, "page")
    ]  # fmt: skip


def test_the_report_in_a_saved_workflow_has_null_there_too():
    workflow = {}
    prompts.attach_report(workflow, "5", 0, {"gate_values": (math.nan, 0.5)})
    assert workflow["extra"] == {"golden_path": {"5": [{"gate_values": [None, 0.5]}]}}


def test_the_output_of_a_node_has_null_there_too():
    assert Unfinished.execute().ui == {"figures": [{"mean": None, "curve": [1, None]}]}


def test_the_json_text_of_a_report_has_null_there_too():
    assert json.loads(json_text({"psnr": math.nan}), parse_constant=pytest.fail) == {"psnr": None}


def test_messages_are_sent_in_one_place():
    files = (dev.ROOT / "nodes").rglob("*.py")
    found = [file.name for file in files if re.search(r"\bsend_sync\(", file.read_text("utf-8"))]
    assert found == ["prompts.py"]

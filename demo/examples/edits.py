"""Edit stored workflows: put nodes into links, connect, make room. Standard library only."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "example_workflows"
TRY = "1_Try_Golden_Path_Cache"  # its cache node is the pattern of all others
LINK = ("id", "origin_id", "origin_slot", "target_id", "target_slot", "type")
CACHE_SIZE, NOTE_SIZE, GAP = (360, 380), (520, 300), 50
YELLOW = {"color": "#432", "bgcolor": "#653"}  # what the page's colour menu calls so
GRAPH_INPUT = -10  # where a subgraph's own inputs come from


def graphs(workflow: dict) -> Iterator[dict]:
    """The workflow and its subgraphs, which have the same keys."""
    yield workflow
    yield from workflow.get("definitions", {}).get("subgraphs", [])


def nodes(graph: dict) -> dict[int, dict]:
    return {node["id"]: node for node in graph["nodes"]}


def slot(node: dict, name: str) -> dict:
    return next(entry for entry in node["inputs"] if entry["name"] == name)


def as_dicts(workflow: dict) -> dict:
    """Turn the links outside of subgraphs, which are stored as lists, into dicts."""
    workflow["links"] = [dict(zip(LINK, link, strict=True)) for link in workflow["links"]]
    return workflow


def finished(workflow: dict, ids: Ids) -> dict:
    """The stored form, without the last author's view."""
    for graph in graphs(workflow):
        for node in graph["nodes"]:
            for number, entry in enumerate(node["outputs"]):
                entry["links"] = [
                    link["id"]
                    for link in graph["links"]
                    if (link["origin_id"], link["origin_slot"]) == (node["id"], number)
                ]
        extra = graph.get("extra", {})
        graph["extra"] = {k: extra[k] for k in extra if k == "workflowRendererVersion"}
        if "state" in graph:
            graph["state"] |= {"lastNodeId": ids.node, "lastLinkId": ids.link}
    workflow["last_node_id"], workflow["last_link_id"] = ids.node, ids.link
    workflow["links"] = [[link[key] for key in LINK] for link in workflow["links"]]
    return workflow


def read(file: Path) -> dict:
    return json.loads(file.read_text("utf-8"))


class Ids:
    """Numbers that no node and no link of a workflow has."""

    def __init__(self, workflow: dict) -> None:
        self.node = max((n for g in graphs(workflow) for n in nodes(g)), default=0)
        self.link = max((link["id"] for g in graphs(workflow) for link in g["links"]), default=0)

    def next_node(self) -> int:
        self.node += 1
        return self.node

    def next_link(self) -> int:
        self.link += 1
        return self.link


def insert(graph: dict, sampler_id: int, ids: Ids) -> dict:
    """Put a cache node into the link to a sampler; what stands right of it makes room."""
    sampler = nodes(graph)[sampler_id]
    (link,) = (k for k in graph["links"] if k["id"] == slot(sampler, "model")["link"])
    cache = cache_node(ids.next_node(), list(sampler["pos"]), link["id"])
    make_room(graph, sampler, keep=link["origin_id"])
    onward = connect(graph, cache["id"], 0, sampler, "model", "MODEL", ids)
    link["target_id"], link["target_slot"] = cache["id"], 0
    cache["outputs"][0]["links"] = [onward]
    graph["nodes"].append(cache)
    return cache


def replace(graph: dict, node_id: int, ids: Ids) -> dict:
    """Put a cache node where a node with one MODEL input and output is."""
    old = nodes(graph)[node_id]
    x, y = old["pos"]
    cache = cache_node(ids.next_node(), [x, y + old["size"][1] - CACHE_SIZE[1]], None)
    cache["inputs"][0]["link"] = old["inputs"][0]["link"]
    cache["outputs"][0]["links"] = old["outputs"][0]["links"]
    for link in graph["links"]:
        for end in ("origin_id", "target_id"):
            link[end] = cache["id"] if link[end] == node_id else link[end]
    remove(graph, [node_id])
    graph["nodes"].append(cache)
    return cache


def remove(graph: dict, unlinked: Iterable[int]) -> None:
    """Take nodes without links out of a graph."""
    graph["nodes"] = [node for node in graph["nodes"] if node["id"] not in unlinked]


def make_room(graph: dict, sampler: dict, keep: int) -> None:
    """Shift the sampler, its group and everything to the right by a node's width."""
    left, top = sampler["pos"]
    step = CACHE_SIZE[0] + GAP
    for node in graph["nodes"]:
        if node["pos"][0] >= left and node["id"] != keep:
            node["pos"] = [node["pos"][0] + step, node["pos"][1]]
    boxes = [group["bounding"] for group in graph.get("groups", [])]
    boxes += [graph["outputNode"]["bounding"]] if "outputNode" in graph else []
    for box in boxes:
        x, y, width, height = box
        holds_sampler = x <= left < x + width and y <= top < y + height
        if x >= left or holds_sampler:
            box[0] += step


def connect(
    graph: dict, origin: int, origin_slot: int, target: dict, name: str, kind: str, ids: Ids
) -> int:
    number = ids.next_link()
    target_slot = target["inputs"].index(slot(target, name))
    target["inputs"][target_slot]["link"] = number
    values = (number, origin, origin_slot, target["id"], target_slot, kind)
    graph["links"].append(dict(zip(LINK, values, strict=True)))
    return number


def promote_speed(graph: dict, host: dict, cache: dict, label: str, ids: Ids) -> None:
    """Show the cache's speed on the subgraph's own node."""
    taken = {entry["name"] for entry in graph["inputs"]}
    name = next(n for n in ("speed", "speed_1") if n not in taken)
    link = connect(graph, GRAPH_INPUT, len(graph["inputs"]), cache, "speed", "COMBO", ids)
    x, y = graph["inputs"][-1]["pos"]
    graph["inputs"].append(
        {
            "id": str(uuid.uuid5(uuid.UUID(graph["id"]), name)), "name": name, "type": "COMBO",
            "linkIds": [link], "label": label, "pos": [x, y + 20],
        }
    )  # fmt: skip
    host["properties"]["proxyWidgets"].append([str(cache["id"]), "speed"])


def add_note(workflow: dict, below: dict, text: str, ids: Ids) -> None:
    """A note above everything, in the column of a node."""
    tops = [node["pos"][1] - 30 for node in workflow["nodes"]]
    tops += [group["bounding"][1] for group in workflow["groups"]]
    place = [below["pos"][0], min(tops) - NOTE_SIZE[1] - GAP]
    number, title = ids.next_node(), "Golden Path"
    note = node_of("MarkdownNote", number, place, NOTE_SIZE, values=[text], title=title)
    workflow["nodes"].append(note | {"properties": {}, **YELLOW})


def node_of(
    kind: str, number: int, position: Sequence, size: Sequence[int], inputs: Iterable = (),
    outputs: Iterable = (), values: Sequence = (), title: str = "",
) -> dict:  # fmt: skip
    """A stored node without links."""
    return {
        "id": number, "type": kind, **({"title": title} if title else {}),
        "pos": list(position), "size": list(size), "flags": {},
        "order": 0, "mode": 0,
        "inputs": [{"name": name, "type": of, "link": None} for name, of in inputs],
        "outputs": [{"name": name, "type": of, "links": []} for name, of in outputs],
        "properties": {"Node name for S&R": kind}, "widgets_values": list(values),
    }  # fmt: skip


def cache_node(number: int, position: list, link: int | None) -> dict:
    """The cache node of the bundled demo workflow, elsewhere."""
    (pattern,) = (n for n in read(FOLDER / f"{TRY}.json")["nodes"] if n["type"] == "GPH_Cache")
    node = deepcopy(pattern) | {"id": number, "pos": position, "size": list(CACHE_SIZE), **YELLOW}
    for entry in node["inputs"]:
        entry["link"] = None
    slot(node, "model")["link"] = link
    return node


def copy_of(workflow: dict, node: dict, title: str, ids: Ids) -> dict:
    copied = deepcopy(node) | {"id": ids.next_node(), "title": title}
    for entry in copied["inputs"]:
        entry["link"] = None
    for entry in copied["outputs"]:
        entry["links"] = []
    workflow["nodes"].append(copied)
    return copied


def preview(title: str, position: list, ids: Ids) -> dict:
    inputs = [("images", "IMAGE")]
    return node_of("PreviewImage", ids.next_node(), position, (360, 420), inputs, title=title)

"""Model files behind the samplers and guiders of a ComfyUI workflow, as the page saves it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

INPUTS, OUTPUTS = -10, -20  # stand for a subgraph's own in its links
MODEL = "MODEL"
SAMPLERS = frozenset({
    "KSampler", "KSamplerAdvanced", "SamplerCustom", "BasicGuider", "CFGGuider", "DualCFGGuider",
    "DualModelGuider", "LTXVDualCFGGuider",
})  # fmt: skip
# They take a MODEL, too, but do not sample it.
OTHERS = frozenset({
    "BasicScheduler", "BetaSamplingScheduler", "SDTurboScheduler", "GetICLoRAParameters",
    "SeedVR2Conditioning", "SAM3_Detect", "SAM3_VideoTrack", "SDPoseKeypointExtractor",
    "RTDETR_detect",
})  # fmt: skip

Node = Mapping[str, Any]


class Link(NamedTuple):
    """Ends of a link: numbers of nodes and of their outputs and inputs."""

    origin: int
    origin_slot: int
    target: int
    target_slot: int


class Use(NamedTuple):
    """A MODEL link into a sampler or guider."""

    node: str
    file: str  # what the loader at its beginning loads; empty where nothing is connected


@dataclass(frozen=True)
class Graph:
    """A workflow, or one of its subgraphs where it is used.

    Args:
        data: nodes and links, and for a subgraph its inputs.
        subgraphs: of the whole workflow, by their id.
        around: the graph that uses this one.
        user: the node there that does.
    """

    data: Mapping[str, Any]
    subgraphs: Mapping[str, Mapping[str, Any]]
    around: Graph | None = None
    user: Node | None = None

    @cached_property
    def nodes(self) -> dict[Any, Node]:
        return {node["id"]: node for node in self.data["nodes"]}

    @cached_property
    def links(self) -> dict[int, Link]:
        found = {}
        for link in self.data["links"]:
            if isinstance(link, Mapping):
                ends = ("origin_id", "origin_slot", "target_id", "target_slot")
                found[link["id"]] = Link(*(link[end] for end in ends))
            else:
                found[link[0]] = Link(*link[1:5])
        return found

    def inside(self, node: Node) -> Graph | None:
        """Subgraph behind a node; None for any other node."""
        data = self.subgraphs.get(node["type"])
        return None if data is None else Graph(data, self.subgraphs, self, node)

    def given(self, slot: int) -> Node | None:
        """Input of the subgraph's node that feeds one of the subgraph's inputs."""
        if self.user is None:
            return None
        name = self.data["inputs"][slot]["name"]
        return next((i for i in self.user.get("inputs", ()) if i["name"] == name), None)


def uses(workflow: Mapping[str, Any]) -> list[Use]:
    """All MODEL links of a workflow into samplers and guiders, those in subgraphs included.

    Raises ``ValueError`` for a node that takes a MODEL and is not known to sample it or not to.
    """
    subgraphs = {g["id"]: g for g in workflow.get("definitions", {}).get("subgraphs", ())}
    return list(_uses(Graph(workflow, subgraphs)))


def _uses(graph: Graph) -> Iterator[Use]:
    for node in graph.nodes.values():
        inner = graph.inside(node)
        if inner is not None:
            yield from _uses(inner)
            continue
        models = [i for i in node.get("inputs") or () if i["type"] == MODEL]
        hands_on = any(o["type"] == MODEL for o in node.get("outputs") or ())
        kind = node["type"]
        if kind in SAMPLERS:
            for model in models:
                files = _files(graph, model.get("link"))
                yield from (Use(kind, file) for file in sorted(files) or [""])
        elif models and not hands_on and kind not in OTHERS:
            raise ValueError(f"the node {kind} takes a MODEL; nobody said whether to sample it")


def _files(graph: Graph, number: int | None) -> set[str]:
    """Files of the loaders behind a link; a switch has several."""
    if number is None:
        return set()
    link = graph.links[number]
    if link.origin == INPUTS:
        given = graph.given(link.origin_slot)
        return _files(graph.around, given.get("link")) if graph.around and given else set()
    node = graph.nodes[link.origin]
    inner = graph.inside(node)
    if inner is not None:
        ends = [
            n for n, end in inner.links.items()
            if end.target == OUTPUTS and end.target_slot == link.origin_slot
        ]  # fmt: skip
        return {file for end in ends for file in _files(inner, end)}
    inputs = node.get("inputs") or ()
    models = [i for i in inputs if i["type"] == MODEL or node["type"] == "Reroute"]
    if models:
        return {file for model in models for file in _files(graph, model.get("link"))}
    return {_loaded(graph, node)}


def _loaded(graph: Graph, loader: Node) -> str:
    """A loader's file: its first widget, whose value the subgraph's node may hold."""
    shown = next((i for i in loader.get("inputs") or () if i.get("widget")), None)
    if shown and shown.get("link") is not None:
        given = graph.given(graph.links[shown["link"]].origin_slot)
        if given is not None and graph.user is not None:
            widgets = [i["name"] for i in graph.user["inputs"] if i.get("widget")]
            values = graph.user.get("widgets_values") or ()
            if len(values) == len(widgets):
                return str(values[widgets.index(given["name"])])
    values = loader.get("widgets_values") or ("",)
    return str(values[0] if isinstance(values, list | tuple) else next(iter(values.values())))

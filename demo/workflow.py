"""Turn a saved workflow (what the page stores) into a prompt (what the server runs)."""

from __future__ import annotations

from collections.abc import Iterator

# The page adds a widget beside an input of these names, unless the input says no; its value is
# saved, not sent.
_SEEDS = ("seed", "noise_seed")
SAVES = ("SaveImage", "SaveAnimatedWEBP")
_NOTES = ("MarkdownNote", "Note")  # the page's own, which no server runs
_WIDGET_TYPES = ("INT", "FLOAT", "STRING", "BOOLEAN", "COMBO")


def to_prompt(workflow: dict, object_info: dict) -> dict:
    """The prompt of a workflow without subgraphs, reroutes and muted nodes.

    Args:
        workflow: a saved workflow, format version 0.4.
        object_info: the server's ``/object_info``.

    Returns:
        ``{node id: {"class_type": …, "inputs": …}}``; a link is ``[node id, output index]``.
    """
    sources = {link[0]: [str(link[1]), link[2]] for link in workflow["links"]}
    prompt = {}
    for node in workflow["nodes"]:
        if node["type"] in _NOTES:
            continue
        inputs = widget_values(node, object_info[node["type"]])
        for slot in node["inputs"]:
            if slot["link"] is not None:
                inputs[slot["name"]] = sources[slot["link"]]
        prompt[str(node["id"])] = {"class_type": node["type"], "inputs": inputs}
    return prompt


def cached_run(prompt: dict) -> dict:
    """The part of a bundled workflow that samples with the cache, its images in their own size."""
    (save,) = (n for kind in SAVES for n in nodes_of_type(prompt, kind))
    for enlarge in nodes_of_type(prompt, "ImageScale"):
        prompt[save]["inputs"]["images"] = prompt[enlarge]["inputs"]["image"]
    needed, found = {}, [save]
    while found:
        name = found.pop()
        needed[name] = prompt[name]
        found += [value[0] for value in prompt[name]["inputs"].values() if isinstance(value, list)]
    return {name: node for name, node in prompt.items() if name in needed}


def nodes_of_type(prompt: dict, class_type: str) -> list[str]:
    """Ids of the nodes of one type, in the order of the workflow."""
    return [name for name, node in prompt.items() if node["class_type"] == class_type]


def widget_values(node: dict, info: dict) -> dict:
    """Saved values by name; they are positional: in schema order, one for each widget.

    Args:
        node: a node of a saved workflow.
        info: the server's entry for its type in ``/object_info``.

    Raises:
        ValueError: it has fewer or more values than its type has widgets.
    """
    names = list(_widget_names(info))
    if len(names) != len(node["widgets_values"]):
        raise ValueError(
            f"node {node['id']} ({node['type']}) saved {len(node['widgets_values'])} values for "
            f"{len(names)} widgets; build the workflow again"
        )
    values = zip(names, node["widgets_values"], strict=True)
    return {name: value for name, value in values if name}


def _widget_names(info: dict) -> Iterator[str]:
    """Names of the inputs with a widget; empty for what happens to a seed after a run."""
    for group in ("required", "optional"):
        for name, (kind, *options) in info["input"].get(group, {}).items():
            known = options[0] if options else {}
            widget = known.get("widgetType", kind)
            if isinstance(widget, list) or widget in _WIDGET_TYPES:
                yield name
                if known.get("control_after_generate", name in _SEEDS):
                    yield ""

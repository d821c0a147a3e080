"""Which models the templates of a package sample, on workflows made by hand."""

import json

import pytest

from devtools import templates
from devtools.workflow_models import Use, uses

WIDGET = {"name": "file"}
KNOWN = {"flux1-": "FLUX", "flux1-tools": "Chroma", "wan": "Wan"}


def node(number, kind, inputs=(), outputs=(), widgets=(), **more):
    """A node; an input is a name, a type and the number of its link."""
    return {
        "id": number, "type": kind, "widgets_values": list(widgets),
        "inputs": [{"name": n, "type": t, "link": link} for n, t, link in inputs],
        "outputs": [{"type": t} for t in outputs], **more,
    }  # fmt: skip


def loader(number, file):
    return node(number, "UNETLoader", outputs=["MODEL"], widgets=[file, "default"])


def sampler(number, link, kind="KSampler"):
    return node(number, kind, [("model", "MODEL", link)], ["LATENT"])


def workflow(nodes, links, subgraphs=()):
    """A workflow whose links are origin, its output, target, its input; numbered from 1."""
    return {
        "nodes": nodes,
        "links": [[n, *link, "MODEL"] for n, link in enumerate(links, 1)],
        "definitions": {"subgraphs": list(subgraphs)},
    }


def subgraph(name, nodes, links, inputs=()):
    ends = ("origin_id", "origin_slot", "target_id", "target_slot")
    return {
        "id": name, "nodes": nodes, "inputs": [{"name": i} for i in inputs],
        "links": [
            {"id": n, **dict(zip(ends, link, strict=True))} for n, link in enumerate(links, 1)
        ],
    }  # fmt: skip


def test_a_link_is_followed_through_nodes_that_change_the_model():
    lora = node(2, "LoraLoaderModelOnly", [("model", "MODEL", 1)], ["MODEL"])
    nodes = [loader(1, "flux1-dev.safetensors"), lora, sampler(3, 2), sampler(4, 2, "CFGGuider")]
    found = uses(workflow(nodes, [(1, 0, 2, 0), (2, 0, 3, 0)]))
    assert found == [
        Use("KSampler", "flux1-dev.safetensors"), Use("CFGGuider", "flux1-dev.safetensors"),
    ]  # fmt: skip


def test_a_switch_has_the_models_of_both_sides_and_a_reroute_that_of_its_one():
    switch = node(3, "ComfySwitchNode", [("a", "MODEL", 1), ("b", "MODEL", 2)], ["MODEL"])
    reroute = node(4, "Reroute", [("", "*", 3)], ["MODEL"])
    nodes = [loader(1, "a"), loader(2, "b"), switch, reroute, sampler(5, 4)]
    links = [(1, 0, 3, 0), (2, 0, 3, 1), (3, 0, 4, 0), (4, 0, 5, 0)]
    assert uses(workflow(nodes, links)) == [Use("KSampler", "a"), Use("KSampler", "b")]


def test_a_guider_of_two_models_has_both():
    guider = node(
        3, "DualModelGuider", [("model", "MODEL", 1), ("model_negative", "MODEL", 2)], ["GUIDER"]
    )
    links = [(1, 0, 3, 0), (2, 0, 3, 1)]
    found = uses(workflow([loader(1, "a"), loader(2, "b"), guider], links))
    assert [use.file for use in found] == ["a", "b"]


def test_models_go_into_subgraphs_and_out_of_them():
    loads = subgraph("loads", [loader(1, "inside")], [(1, 0, -20, 0)])
    samples = subgraph("samples", [sampler(1, 1)], [(-10, 1, 1, 0)], inputs=["other", "model"])
    nodes = [
        node(1, "loads", outputs=["MODEL"]),
        loader(2, "outside"),
        node(3, "samples", [("model", "MODEL", 1)]),
        node(4, "samples", [("model", "MODEL", 2)]),
        node(5, "samples", [("model", "MODEL", None)]),
    ]
    found = uses(workflow(nodes, [(1, 0, 3, 0), (2, 0, 4, 0)], [loads, samples]))
    assert [use.file for use in found] == ["inside", "outside", ""]


def test_a_file_that_is_chosen_at_the_subgraph_counts():
    inner = loader(1, "its own")
    inner["inputs"] = [
        {"name": "unet_name", "type": "COMBO", "link": 2, "widget": {"name": "unet_name"}}
    ]
    shown = subgraph("shown", [inner, sampler(2, 1)], [(1, 0, 2, 0), (-10, 1, 1, 0)], ["x", "file"])
    user = node(1, "shown", widgets=["4", "chosen"])
    user["inputs"] = [
        {"name": name, "type": "COMBO", "link": None, "widget": {"name": name}}
        for name in ("x", "file")
    ]
    assert uses(workflow([user], [], [shown])) == [Use("KSampler", "chosen")]
    user["widgets_values"] = []
    assert uses(workflow([user], [], [shown])) == [Use("KSampler", "its own")]


def test_what_does_not_sample_is_left_out_and_what_nobody_knows_is_named():
    scheduler = node(2, "BasicScheduler", [("model", "MODEL", 1)], ["SIGMAS"])
    assert uses(workflow([loader(1, "a"), scheduler], [(1, 0, 2, 0)])) == []
    new = node(2, "SamplerOfTomorrow", [("model", "MODEL", 1)], ["LATENT"])
    with pytest.raises(ValueError, match="SamplerOfTomorrow takes a MODEL"):
        uses(workflow([loader(1, "a"), new], [(1, 0, 2, 0)]))


def made(file):
    return workflow([loader(1, file), sampler(2, 1)], [(1, 0, 2, 0)])


def test_the_longest_beginning_names_the_family():
    rows, problems = templates.survey(
        [("one", made("FLUX1-dev")), ("two", made("flux1-tools-x"))], KNOWN
    )
    assert [row.family for row in rows] == ["FLUX", "Chroma"]
    assert problems == []


def test_a_template_without_a_family_is_a_problem_with_its_name():
    unknown = node(2, "SamplerOfTomorrow", [("model", "MODEL", 1)])
    cases = [
        ("new model", made("flux9-dev")),
        ("no model", workflow([sampler(1, None)], [])),
        ("new node", workflow([loader(1, "flux1-dev"), unknown], [(1, 0, 2, 0)])),
    ]
    _, problems = templates.survey(cases, KNOWN)
    assert [problem.partition(":")[0] for problem in problems] == [name for name, _ in cases]
    assert "no family for flux9-dev" in problems[0]


@pytest.mark.parametrize(("file", "status"), [("flux1-dev", 0), ("flux9-dev", 1)])
def test_the_check_fails_for_a_model_without_a_family(file, status, monkeypatch, capsys):
    monkeypatch.setattr(templates, "workflows", lambda: [(str(n), made(file)) for n in range(200)])
    monkeypatch.setattr(templates, "version", lambda package: "1.0")
    monkeypatch.setattr("sys.argv", ["templates", "--check"])
    assert templates.main() == status
    assert ("problem: 7: no family for flux9-dev" in capsys.readouterr().out) is bool(status)


def test_the_check_fails_where_hardly_any_template_samples(monkeypatch):
    monkeypatch.setattr(templates, "workflows", lambda: [("one", made("flux1-dev"))])
    monkeypatch.setattr(templates, "version", lambda package: "1.0")
    monkeypatch.setattr("sys.argv", ["templates", "--check"])
    assert templates.main() == 1


def test_every_family_of_the_list_is_cached_or_said_not_to_be(monkeypatch, tmp_path):
    assert templates.families()["flux1-"] == "FLUX"
    wrong = tmp_path / "list.tsv"
    wrong.write_text("flux\tFlux of tomorrow\n")
    monkeypatch.setattr(templates, "LIST", wrong)
    with pytest.raises(ValueError, match="Flux of tomorrow"):
        templates.families()


def test_the_page_counts_templates_and_names_files():
    rows = [
        templates.Row("one", "a", "FLUX"), templates.Row("two", "b", "FLUX"),
        templates.Row("two", "b", "FLUX"), templates.Row("three", "c", "U-Net"),
        templates.Row("four", "d", None),
    ]  # fmt: skip
    text = templates.page(rows, "1.0")
    assert "5 links from a model into a sampler or guider, in 4 templates" in text
    cached, not_cached = text.split("## Not cached at their blocks")
    assert "| FLUX | 2 | a, b |" in cached
    assert "| U-Net | 1 | c |" in not_cached
    assert "## Without a family" in not_cached


def test_the_saved_page_is_of_the_saved_rows():
    lines = templates.TABLE.read_text("utf-8").splitlines()
    names = {line.split("\t")[0] for line in lines}
    assert f"in {len(names)} templates" in templates.PAGE.read_text("utf-8")
    known = templates.families()
    for line in lines:
        _, family, file = line.split("\t")
        assert templates.family_of(file, known) == family


def test_indices_of_the_package_are_no_workflows(monkeypatch, tmp_path):
    folder = tmp_path / "templates"
    folder.mkdir()
    (folder / "index.json").write_text("[]")
    (folder / "logos.json").write_text("{}")
    (folder / "one.json").write_text(json.dumps(made("flux1-dev")))
    (folder / "picture.webp").write_bytes(b"")
    monkeypatch.setattr(templates.importlib.resources, "files", lambda package: tmp_path)
    assert [name for name, _ in templates.workflows()] == ["one"]

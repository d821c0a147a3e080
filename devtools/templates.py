"""Families of the models in ComfyUI's own templates.

Goes through the workflows of the template package that this ComfyUI brings, follows each MODEL link
into a sampler or guider back to the file that is loaded, and says which family that file belongs to
by ``template_models.tsv``: the beginning of a file's name and the family, one a line. The weights
themselves are not looked at. It takes seconds.
"""

from __future__ import annotations

import argparse
import importlib.resources
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from gph_core.model.families import FAMILIES

from .workflow_models import uses

PACKAGE = "comfyui_workflow_templates_json"
LIST = Path(__file__).with_name("template_models.tsv")
PAGE = Path(__file__).parents[1] / "docs" / "templates.md"
TABLE = Path(__file__).parents[1] / "benchmarks" / "results" / "templates.tsv"
CACHED = tuple(family.name for family in FAMILIES)
# docs/models.md says why their blocks are not cached.
NOT_CACHED = (
    "U-Net", "SeedVR2", "causal Wan", "Cosmos 1", "Wan Animate 2", "MiniMax Music 3",
    "Trellis 2, Pixal3D", "FLUX 3 Klein", "MOSS-Image", "Fibo 2", "YuE2",
)  # fmt: skip
FEWEST = 200  # templates with a sampler: fewer mean that the package is kept in another way now


class Row(NamedTuple):
    """A MODEL link into a sampler or guider of a template."""

    template: str
    file: str
    family: str | None  # None: nobody said


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py templates", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 if one has no family")
    parser.add_argument("--save", action="store_true", help="write the page and every row")
    options = parser.parse_args()
    found, problems = survey(workflows(), families())
    text = page(found, version(PACKAGE.removesuffix("_json").replace("_", "-")))
    print(text)
    sampled = len({row.template for row in found})
    if sampled < FEWEST:
        problems.append(f"only {sampled} templates have a sampler, at least {FEWEST} should")
    for problem in problems:
        print(f"problem: {problem}")
    if options.save:
        PAGE.write_text(text, "utf-8")
        lines = sorted({f"{r.template}\t{r.family or ''}\t{r.file}\n" for r in found})
        TABLE.write_text("".join(lines), "utf-8")
    return int(options.check and bool(problems))


def workflows() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Name and workflow of every template; the package's indices are no workflows."""
    folder = importlib.resources.files(PACKAGE) / "templates"
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".json"):
            data = json.loads(file.read_text("utf-8"))
            if isinstance(data, dict) and "nodes" in data:
                yield file.name.removesuffix(".json"), data


def families() -> dict[str, str]:
    """Family by the beginning of a file's name.

    Raises ``ValueError`` for a family that is neither cached nor named as not cached.
    """
    lines = LIST.read_text("utf-8").splitlines()
    found = dict(line.split("\t") for line in lines)
    unknown = sorted({*found.values()} - {*CACHED, *NOT_CACHED})
    if unknown:
        raise ValueError(f"{LIST.name} has unknown families: {', '.join(unknown)}")
    return found


def family_of(file: str, known: Mapping[str, str]) -> str | None:
    """Family of a model's file by the longest beginning that fits; None without one."""
    fitting = [begin for begin in known if file.lower().startswith(begin.lower())]
    return known[max(fitting, key=len)] if fitting else None


def survey(
    templates: Iterable[tuple[str, Mapping[str, Any]]], known: Mapping[str, str]
) -> tuple[list[Row], list[str]]:
    """Rows of all templates, and problems with the template's name."""
    rows, problems = [], []
    for name, workflow in templates:
        try:
            found = uses(workflow)
        except ValueError as error:
            problems.append(f"{name}: {error}")
            continue
        for use in found:
            row = Row(name, use.file, family_of(use.file, known) if use.file else None)
            rows.append(row)
            if row.family is None:
                what = f"no family for {use.file}" if use.file else "no model is connected"
                problems.append(f"{name}: {what} into {use.node}; see {LIST.name}")
    return rows, problems


def page(rows: list[Row], package_version: str) -> str:
    """The table of families as a page."""
    templates, files = defaultdict(set), defaultdict(set)
    for row in rows:
        templates[row.family].add(row.template)
        files[row.family].add(row.file)
    lines = [
        "# Families of ComfyUI's templates",
        "",
        "Written by `python dev.py templates --save` from version "
        f"{package_version} of comfyui-workflow-templates:",
        f"{len(rows)} links from a model into a sampler or guider, in "
        f"{len({row.template for row in rows})} templates. The others sample nothing on this",
        "computer. `benchmarks/results/templates.tsv` has a line for each template and model. "
        "Families are told by the names",
        "of the files; the weights were not looked at. `--check` fails with the name of a template "
        "whose model has no family. What is",
        "tested of each family: [models.md](models.md).",
    ]
    for title, names in (
        ("Cached at their blocks", CACHED),
        ("Not cached at their blocks", NOT_CACHED),
        ("Without a family", (None,)),
    ):
        present = [name for name in names if name in templates]
        if present:
            lines += [
                "",
                f"## {title}",
                "",
                "| Family | Templates | Model files |",
                "|---|---|---|",
            ]
            lines += [
                f"| {name or ''} | {len(templates[name])} | {', '.join(sorted(files[name]))} |"
                for name in sorted(present, key=lambda name: -len(templates[name]))
            ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())

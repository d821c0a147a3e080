"""Links between the documents, and the form of decisions."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
DECISIONS = ROOT / "docs" / "decisions"
TOPICS = sorted(DECISIONS.glob("*.md"))
TOPICS.remove(DECISIONS / "README.md")
MOST_WORDS = 250  # of a decision: half a page
DOCUMENTS = [
    path
    for path in sorted(ROOT.rglob("*.md"))
    if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
]
FOLDERS = "benchmarks|demo|devtools|docs|example_workflows|gph_core|nodes|tests|web"


def prose(path):
    """The text of a document without its blocks of code."""
    return re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def headings(path):
    return re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)


def anchors(path):
    """The anchors of a document's headings, as GitHub makes them."""
    found, earlier = [], Counter()
    for heading in headings(path):
        shown = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        found.append(f"{anchor}-{earlier[anchor]}" if earlier[anchor] else anchor)
        earlier[anchor] += 1
    return found


def broken_links(path):
    """Relative links of a document that lead to no file, or to no heading."""
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def test_links_lead_to_files_and_headings():
    assert {name_of(path): links for path in DOCUMENTS if (links := broken_links(path))} == {}


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "other.md").write_text(
        "# A `b_c`, d\n\n```\n# e\n```\n\n# [F](g.md)\n\n# F\n\n# F\n"
    )
    (tmp_path / "page.md").write_text(
        "[1](other.md) [2](other.md#a-b_c-d) [3](other.md#f) [4](other.md#f-2) ![5](.) [6](#top)\n"
        "[7](other.md#e) [8](gone.md) [9](https://gone.example)\n\n# Top\n\n```\n[10](gone)\n```\n"
    )
    assert broken_links(tmp_path / "page.md") == ["other.md#e", "gone.md"]


def test_files_that_a_document_names_exist():
    lost = {
        (name_of(path), name)
        for path in DOCUMENTS
        for name in re.findall(rf"`((?:{FOLDERS})/[\w./-]*)`", prose(path))
        if not (ROOT / name).exists()
    }
    assert lost == set()


def test_a_decision_takes_half_a_page_and_has_no_table():
    for path in TOPICS:
        _, *decisions = re.split(r"^## ", path.read_text("utf-8"), flags=re.MULTILINE)
        assert decisions, path
        assert [text.splitlines()[0] for text in decisions if len(text.split()) > MOST_WORDS] == []
        assert not re.search(r"^\|", "".join(decisions), re.MULTILINE), path

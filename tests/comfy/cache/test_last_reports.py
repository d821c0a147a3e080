"""cache/last_reports: whom the server tells of a run again."""

from types import SimpleNamespace

import pytest
from golden_path_pack.nodes.cache import last_reports
from golden_path_pack.nodes.schema import prompts


@pytest.fixture
def report_as(monkeypatch):
    """Report a step of the workflow "example" in a prompt of this client."""
    monkeypatch.setattr(last_reports, "_events", {})

    def report(client):
        server = SimpleNamespace(client_id=client)
        monkeypatch.setattr(prompts, "PromptServer", SimpleNamespace(instance=server))
        event = {"workflow_id": "example", "node_id": "2", "prompt_id": f"of {client}", "run": 0}
        last_reports.keep(event | {"state": "planned"})

    return report


def test_a_page_is_told_of_its_own_runs_only(report_as):
    for client in ("one", "other"):
        report_as(client)
    for client in ("one", "other"):
        (event,) = last_reports.of("example", client)
        assert event["prompt_id"] == f"of {client}"
    assert last_reports.of("example", "fresh") == []


def test_nothing_is_kept_of_a_prompt_without_a_client(report_as):
    report_as(None)
    assert last_reports._events == {}


def test_what_one_user_forgets_another_may_still_forget(monkeypatch):
    event = {"workflow_id": "w", "node_id": "2", "prompt_id": "p", "run": 0, "learned": "path"}
    monkeypatch.setattr(last_reports.prompts, "client", lambda: "tab")
    for user in ("a", "b"):
        monkeypatch.setattr(last_reports.users, "current", lambda user=user: user)
        last_reports.keep(event | {"state": "planned"})
    last_reports.forget("path")  # as b
    left = []
    for user in ("a", "b"):
        monkeypatch.setattr(last_reports.users, "current", lambda user=user: user)
        left += [event["learned"] for event in last_reports.of("w", "tab")]
    assert left == ["path", ""]

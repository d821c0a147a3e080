"""No machine comes from a workflow; the user's own settings name the cluster."""

import json

import folder_paths
import pytest
from golden_path_pack.nodes.library.settings import settings_file
from golden_path_pack.nodes.workers import cluster, search_workers
from golden_path_pack.nodes.workers.search_workers import SearchWorkers

LOCAL, CLUSTER = "local", "the cluster of my settings"


@pytest.fixture(autouse=True)
def settings(monkeypatch, tmp_path):
    """Function that sets the user's address: in the file, by the variable, by Ray's own."""
    monkeypatch.setattr(folder_paths, "get_user_directory", lambda: str(tmp_path))
    monkeypatch.setattr(search_workers, "required", lambda _: None)

    def given(file=None, variable="", rays=""):
        monkeypatch.setenv("GOLDEN_PATH_RAY_ADDRESS", variable)
        monkeypatch.setenv("RAY_ADDRESS", rays)
        if file is not None:
            settings_file().parent.mkdir()
            settings_file().write_text(json.dumps({"ray_address": file}), "utf-8")

    given()
    return given


def validated(address):
    return SearchWorkers.validate_inputs(address=address)


OLD = ["auto", "10.0.0.1:6379", "ray://10.0.0.1:10001", "http://10.0.0.1", "golden://x", "LOCAL"]


@pytest.mark.parametrize("address", OLD)
def test_an_address_in_a_workflow_is_refused_with_what_to_do(settings, address):
    settings(variable="10.0.0.1:6379")
    with pytest.raises(ValueError, match="a workflow names no machine") as error:
        SearchWorkers.execute(address, 0, 1.0)  # over a link
    assert validated(address) == str(error.value)
    for told in (address, LOCAL, CLUSTER, "GOLDEN_PATH_RAY_ADDRESS", str(settings_file())):
        assert told in str(error.value)


@pytest.mark.parametrize("value", [None, 1, ["local"], {"address": "local"}])
def test_what_a_link_brings_is_no_choice_unless_it_is_one_of_two_texts(value):
    with pytest.raises(ValueError, match="a workflow names no machine"):
        SearchWorkers.execute(value, 0, 1.0)


@pytest.mark.parametrize("address", [LOCAL, f" {LOCAL} ", ""])
def test_old_workflows_on_this_machine_still_run(address):
    assert validated(address) is True
    (workers,) = SearchWorkers.execute(address, 2, 0.5).args
    assert workers == (LOCAL, 2, 0.5)


def test_what_the_node_hands_on_names_no_machine(settings):
    settings(variable="10.0.0.1:6379")
    assert validated(CLUSTER) is True
    (workers,) = SearchWorkers.execute(CLUSTER, 0, 1.0).args
    assert workers.address == CLUSTER


def test_a_cluster_that_nobody_has_set_is_said_at_validation():
    assert "your settings name no cluster" in validated(CLUSTER)
    assert str(settings_file()) in validated(CLUSTER)


def test_the_variable_goes_before_the_file(settings):
    settings(file="10.0.0.1:6379", variable="10.0.0.2:6379")
    assert cluster.cluster_address() == "10.0.0.2:6379"
    settings()
    assert cluster.cluster_address() == "10.0.0.1:6379"


def test_auto_is_what_the_user_told_ray_itself(settings):
    settings(file="auto")
    assert cluster.cluster_address() == "auto"
    settings(rays="[fd00::2]:6379")
    assert cluster.cluster_address() == "[fd00::2]:6379"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"variable": "ray://10.0.0.1:10001"}, "GOLDEN_PATH_RAY_ADDRESS: .* is refused, because"),
        ({"file": "os://x"}, "ray_address in .*settings.json: 'os://x' is refused"),
        ({"file": "auto", "rays": "ray://10.0.0.1:10001"}, "RAY_ADDRESS, which Ray takes for"),
        ({"file": "auto", "rays": "local"}, "'local' is no address of a Ray cluster"),
        ({"file": "10.0.0.1"}, "is no address of a Ray cluster; write the host and port"),
        ({"file": "a b:1"}, "is no address"),
        ({"file": "host:0"}, "is no address"),
        ({"file": "host:65536"}, "is no address"),
    ],
)
def test_an_address_in_the_settings_that_is_none_is_refused_with_its_place(settings, given, words):
    settings(**given)
    with pytest.raises(ValueError, match=words):
        cluster.cluster_address()

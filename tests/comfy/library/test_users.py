"""schema/users: files of users under --multi-user, on a server of ComfyUI in this process."""

import asyncio
import warnings
from contextlib import closing
from types import SimpleNamespace

import comfyui_version
import execution
import folder_paths
import pytest
import server
import torch
from aiohttp.test_utils import TestClient, TestServer
from comfy.cli_args import args
from comfy_execution.utils import CurrentNodeContext
from comfy_extras import nodes_preview_any
from golden_path_pack.gph_core.paths.golden_path import DRAWN, GoldenPath
from golden_path_pack.gph_core.paths.library import UserPaths
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes import GoldenPathExtension, GoldenPathLibrary, SaveGoldenPath
from golden_path_pack.nodes.analyze import error_decomposition, propagation_gain
from golden_path_pack.nodes.cache import policy
from golden_path_pack.nodes.library import calibrations, user_paths
from golden_path_pack.nodes.record import recordings
from golden_path_pack.nodes.schema import prompts, users
from golden_path_pack.nodes.search.search_session import studies_folder
from golden_path_pack.nodes.shootout import method_shootout
from golden_path_pack.nodes.workers import crew, worker
from golden_path_pack.nodes.workers.ray_actors import Workers

import nodes

OWN = "/golden_path/user_paths"
SHARED = "/server%3A%20shared"  # in an address
CACHE = {"lru": 9, "ram": 0.0, "ram_inactive": 0.0}


class Served:
    """A server of ComfyUI with the pack, and what it queues."""

    def __init__(self, loop, server, client):
        self.loop, self.client = loop, client
        self.executor = execution.PromptExecutor(server, execution.CacheType.LRU, CACHE)
        self.queue = server.prompt_queue

    def ask(self, user, method, path, body=None):
        """Status and answer of a request; no user sends no header."""

        async def talk():
            headers = {} if user is None else {"Comfy-User": user}
            sent = self.client.request(method, path, json=body, headers=headers)
            async with sent as response:
                is_json = response.content_type == "application/json"
                return response.status, await (response.json() if is_json else response.text())

        return self.loop.run_until_complete(talk())

    def run(self, user, kind, **inputs):
        """Outputs of a node that a user queues; ComfyUI keeps those of earlier prompts."""
        shown = {"class_type": "PreviewAny", "inputs": {"source": ["1", 2]}}
        prompt = {"1": {"class_type": kind, "inputs": inputs}}
        prompt |= {"2": shown} if kind == "GPH_GoldenPathLibrary" else {}
        status, answer = self.ask(user, "POST", "/prompt", {"prompt": prompt})
        assert status == 200, answer
        item, _ = self.queue.get(timeout=0)
        self.executor.execute(*item[2:0:-1], *item[3:5])
        assert self.executor.success, self.executor.status_messages
        return self.executor.history_result["outputs"]

    def options(self, user):
        """Options of *Golden Path Library* that are no published paths."""
        _, found = self.ask(user, "GET", "/object_info/GPH_GoldenPathLibrary")
        kind, more = found["GPH_GoldenPathLibrary"]["input"]["required"]["path"]
        return [option for option in more.get("options", kind) if ": " in option]


@pytest.fixture
def root(monkeypatch, tmp_path):
    """ComfyUI's folder of users."""
    monkeypatch.setattr(folder_paths, "user_directory", str(tmp_path))
    monkeypatch.setattr(args, "multi_user", True)
    yield tmp_path
    users.assume(None)


@pytest.fixture
def served(root, monkeypatch, inference):
    monkeypatch.setattr(server.PromptServer, "instance", None, raising=False)
    for kind in (GoldenPathLibrary, SaveGoldenPath):
        monkeypatch.setitem(nodes.NODE_CLASS_MAPPINGS, kind.define_schema().node_id, kind)
    monkeypatch.setitem(nodes.NODE_CLASS_MAPPINGS, "PreviewAny", nodes_preview_any.PreviewAny)
    loop = asyncio.new_event_loop()

    async def start():
        found = server.PromptServer(loop)
        await GoldenPathExtension().on_load()
        with warnings.catch_warnings():  # of a route of ComfyUI's
            warnings.simplefilter("ignore", DeprecationWarning)
            found.add_routes()
        client = TestClient(TestServer(found.app))
        await client.start_server()
        return Served(loop, found, client)

    with closing(loop):
        running = loop.run_until_complete(start())
        yield running
        loop.run_until_complete(running.client.close())


@pytest.fixture
def two(served):
    """Ids of two users, who both have a path of the same name."""
    ids = [served.ask(None, "POST", "/users", {"username": name})[1] for name in ("Ann", "Bob")]
    for user, schedule in zip(ids, ("0-2/6", "0-3/6"), strict=True):
        answer = served.ask(user, "POST", OWN, {"name": "same", "schedule": schedule})
        assert answer == (200, {"name": "same"})
    return ids


def keep(user, name, schedule="0,2/4"):
    """Save a path for a user, or for the server."""
    path = GoldenPath(name, Schedule.parse(schedule), DRAWN)
    return UserPaths(users.folder(user) / "paths").save(path)


def test_users_neither_see_nor_change_the_paths_of_others(served, two, root):
    ann, bob = two
    keep(bob, "bobs own")
    assert served.options(ann) == ["yours: same"]
    assert served.options(bob) == ["yours: bobs own", "yours: same"]
    listed = [path["id"] for path in served.ask(ann, "GET", "/golden_path/paths")[1]["paths"]]
    assert [name for name in listed if name.startswith(("user/", "server"))] == ["user/same"]
    for method, path, body in (
        ("GET", f"{OWN}/bobs%20own", None),
        ("DELETE", f"{OWN}/bobs%20own", None),
        ("POST", f"{OWN}/bobs%20own/name", {"name": "anns"}),
        ("GET", "/golden_path/card?option=yours:%20bobs%20own", None),
        ("POST", "/prompt", {"prompt": {
            "1": {"class_type": "GPH_GoldenPathLibrary", "inputs": {"path": "yours: bobs own"}},
            "2": {"class_type": "PreviewAny", "inputs": {"source": ["1", 2]}},
        }}),
    ):  # fmt: skip
        status, answer = served.ask(ann, method, path, body)
        assert status == 400
        assert "no golden path named 'bobs own' of yours" in str(answer)
    served.ask(ann, "POST", OWN, {"name": "same", "schedule": "0/6", "replace": True})
    assert served.ask(bob, "GET", f"{OWN}/same")[1]["schedule"] == "0-3/6"
    served.ask(ann, "DELETE", f"{OWN}/same")
    assert sorted(file.name for file in root.glob(f"{bob}/golden_path/paths/*")) == [
        "bobs own.json", "same.json",
    ]  # fmt: skip


@pytest.mark.parametrize("user", [None, "Ann", "__system"])
def test_an_unknown_user_gets_the_answer_of_comfyui(served, two, root, user):
    status, text = served.ask(user, "GET", "/v2/userdata")  # ComfyUI's own
    for method, path in (("GET", "/golden_path/paths"), ("DELETE", f"/api{OWN}/same")):
        answer = served.ask(user, method, path)
        assert answer[0] == status == 403
        assert answer[1]["error"].startswith(text)
    assert served.ask(user, "POST", OWN, {"name": "mine", "schedule": "0/2"})[0] == 403
    assert not (root / "golden_path").exists()
    assert served.options(user) == []


def test_the_servers_paths_are_marked_and_can_be_used_but_not_changed(served, two):
    ann, _ = two
    served.run(None, "GPH_SaveGoldenPath", name="shared", schedule="0-1,5/6")
    assert served.options(ann) == ["yours: same", "server: shared"]
    assert served.options(None) == ["yours: shared"]  # without a user they are one's own
    _, answer = served.ask(ann, "GET", "/golden_path/paths")
    (listed,) = (path for path in answer["paths"] if path["id"].startswith("server: "))
    assert (listed["name"], listed["schedule"]) == ("server: shared", "0-1,5/6")
    shown = served.run(ann, "GPH_GoldenPathLibrary", path="server: shared")["2"]["text"]
    assert shown == [listed["card"]]
    for method, path, body in (
        ("DELETE", f"{OWN}{SHARED}", None),
        ("POST", f"{OWN}{SHARED}/name", {"name": "mine"}),
        ("POST", OWN, {"name": "server: shared", "schedule": "0/2", "replace": True}),
    ):
        status, answer = served.ask(ann, method, path, body)
        assert (status, "contains ':'" in answer["error"]) == (400, True)
    assert served.ask(ann, "GET", "/golden_path/paths")[1]["paths"][1] == listed


def test_equal_prompts_of_two_users_save_and_read_files_of_their_own(served, two, root):
    cards = [served.run(u, "GPH_GoldenPathLibrary", path="yours: same")["2"]["text"] for u in two]
    assert [card[0].splitlines()[1][:5] for card in cards] == ["0-2/6", "0-3/6"]
    for user in two:
        served.run(user, "GPH_SaveGoldenPath", name="new", schedule="0/6")
        assert (root / user / "golden_path" / "paths" / "new.json").is_file()
    assert not (root / "golden_path").exists()


def test_what_a_prompt_of_the_same_id_had_for_a_user_is_forgotten(root, monkeypatch):
    token = users._asking.set("ann")
    users.remember({"prompt_id": "twice"})
    users._asking.reset(token)
    with CurrentNodeContext("twice", "1"):
        assert users.current() == "ann"
        users.remember({"prompt_id": "twice"})
        assert users.current() is None


def test_a_server_with_one_user_asks_for_none(monkeypatch):
    monkeypatch.setattr(args, "multi_user", False)
    users.serve(SimpleNamespace())  # touches nothing


def test_every_file_that_is_written_lies_in_the_folder_of_the_user(root):
    users.assume("ann")
    files = (calibrations, recordings, method_shootout, error_decomposition, propagation_gain)
    found = [module.FILES.path_of("x") for module in files]
    found += [studies_folder(), user_paths.library().folder]
    kinds = [path.relative_to(root / "ann" / "golden_path").parts[0] for path in found]
    assert kinds == [
        "calibrations", "runs", "shootouts", "decompositions", "propagation", "studies", "paths",
    ]  # fmt: skip


def test_files_of_the_server_can_be_read_by_a_marked_name_alone(root):
    for folder, name in ((root, "old"), (root / "ann", "b"), (root / "bob", "c")):
        file = folder / "golden_path" / "calibrations" / f"{name}.safetensors"
        file.parent.mkdir(parents=True)
        file.touch()
    users.assume("ann")
    files = calibrations.FILES
    assert files.names() == ["b", "server: old"]
    assert [files.readable(name).is_file() for name in (*files.names(), "old", "c")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert list(files.changed_at("server: old")) == [
        str(root / "golden_path/calibrations/old.safetensors")
    ]
    for name in ("server: ../../bob/golden_path/calibrations/c", "server: server: old", "server: "):
        with pytest.raises(ValueError, match=r"contains|has 0"):
            files.readable(name)
    with pytest.raises(ValueError, match="contains ':'"):
        files.path_of("server: old")


def test_weights_of_the_server_are_found_by_a_marked_name(root):
    folder = root / "golden_path" / "causal_linear"
    folder.mkdir(parents=True)
    (folder / "w").touch()
    users.assume("ann")
    assert policy.weights_file("server: w") == folder / "w"
    for name in ("w", "server: ../causal_linear/w", "server: "):
        with pytest.raises(ValueError, match=r"there is no file|no file is named"):
            policy.weights_file(name)


def test_paths_of_the_server_follow_those_of_the_user_in_a_choice_by_speed(root):
    keep(None, "same")
    keep(None, "drawn")
    keep("ann", "same", "0,3/4")
    users.assume("ann")
    found = [(path.name, str(path.schedule)) for path in user_paths.read()]
    expected = [("same", "0,3/4"), ("server: drawn", "0,2/4"), ("server: same", "0,2/4")]
    assert found == expected
    user_paths.check_replaceable("drawn")  # the user has none of that name


@pytest.mark.parametrize(
    "node", asyncio.run(GoldenPathExtension().get_node_list()), ids=lambda node: node.__name__
)
def test_no_node_takes_outputs_of_one_user_for_those_of_another(root, in_a_run, node):
    schema = node.define_schema()
    unknown = [None] if schema.is_input_list else None
    inputs = dict.fromkeys((given.id for given in schema.inputs), unknown)
    found = []
    for user in ("ann", "bob"):
        users.assume(user)
        found.append(node.fingerprint_inputs(**inputs))
    assert found[0] != found[1]


def test_workers_are_told_the_user_and_read_the_files_of_that_user(root, monkeypatch):
    users.assume("ann")
    asked, seen = [], []
    report = {"ComfyUI": comfyui_version.__version__, "torch": torch.__version__, "study": {}}

    def ask(requests, _):
        asked.extend(requests.values())
        return dict.fromkeys(requests, report)

    monkeypatch.setattr(crew, "Actors", lambda *_: SimpleNamespace(alive=[0], ask=ask))
    crew.Crew(Workers(), SimpleNamespace(conditions={}), ({}, "1"), SimpleNamespace())
    users.assume(None)
    monkeypatch.setattr(
        worker.execution, "PromptExecutor",
        lambda *_, **__: SimpleNamespace(
            execute=lambda *_: seen.append(users.own_folder()), status_messages=[]
        ),
    )  # fmt: skip
    (request,) = asked
    with pytest.raises(RuntimeError, match="cannot be executed"):
        worker.Worker(None).load(*request.arguments)
    assert seen == [root / "ann" / "golden_path"]


def test_users_of_no_more_prompts_than_needed_are_kept(root, monkeypatch):
    waiting = []
    queue = SimpleNamespace(get_current_queue=lambda: ([], waiting))
    instance = SimpleNamespace(prompt_queue=queue)
    monkeypatch.setattr(prompts.PromptServer, "instance", instance, raising=False)
    monkeypatch.setattr(users, "_queued", {})
    token = users._asking.set("ann")
    for number in range(prompts.KEPT + 10):
        users.remember({"prompt_id": f"prompt {number}"})
        waiting[:] = [(0, "prompt 0")]
    users._asking.reset(token)
    assert "prompt 0" in users._queued  # still waits
    assert len(users._queued) <= prompts.KEPT + 1


def test_a_request_cannot_take_over_the_prompt_of_another_user(root, monkeypatch):
    queue = SimpleNamespace(get_current_queue=lambda: ([(0, "hers")], []))
    instance = SimpleNamespace(prompt_queue=queue)
    monkeypatch.setattr(users, "_queued", {"hers": "ann"})
    monkeypatch.setattr(prompts, "_pnginfo", {"hers": {"workflow": {"id": "w"}}})
    monkeypatch.setattr(prompts.PromptServer, "instance", instance, raising=False)
    for user in ("bob", None):
        token = users._asking.set(user)
        other = {"prompt_id": "hers", "extra_data": {"extra_pnginfo": {"workflow": {"id": "x"}}}}
        users.remember(prompts.remember(other))
        users._asking.reset(token)
    assert users._queued == {"hers": "ann"}
    assert prompts._pnginfo["hers"]["workflow"]["id"] == "w"


def test_an_empty_id_makes_nobody_the_user_of_what_runs_without_a_prompt(root, monkeypatch):
    monkeypatch.setattr(users, "_queued", {})
    token = users._asking.set("ann")
    users.remember({"prompt_id": ""})
    users._asking.reset(token)
    assert users.current() is None

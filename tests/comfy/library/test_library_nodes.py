"""library/library: Golden Path Library and Save Golden Path, with a user directory of their own."""

import asyncio
import io
import json
from types import SimpleNamespace
from urllib.parse import quote

import folder_paths
import pytest
import torch
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from golden_path_pack.gph_core.paths.library import bundled_paths
from golden_path_pack.gph_core.policies.extrapolation import Hermite, Reuse
from golden_path_pack.gph_core.run_plan import by_speed
from golden_path_pack.gph_core.schedule import Schedule
from golden_path_pack.nodes.cache.cache import GoldenPathCache
from golden_path_pack.nodes.cache.schedule_editor import ScheduleEditor
from golden_path_pack.nodes.hook import patching
from golden_path_pack.nodes.library import user_paths
from golden_path_pack.nodes.library.library import GoldenPathLibrary, SaveGoldenPath
from golden_path_pack.nodes.page import routes
from golden_path_pack.nodes.schema import prompts

import nodes

from ...support.comfy import tiny

FLUX = "FLUX.1-dev, 9 of 50, PSNR, hill climbing"


@pytest.fixture(autouse=True)
def user_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(folder_paths, "user_directory", str(tmp_path))
    return tmp_path


def options():
    (path, _) = GoldenPathLibrary.define_schema().inputs
    return path.options


def test_the_library_gives_schedule_policy_and_card():
    schedule, policy, card = GoldenPathLibrary.execute(FLUX).result
    assert schedule == "0-3,5,8,13,27,49/50"
    assert policy == Reuse()
    assert "validation PSNR dB, 50 prompts: 21.552" in card.splitlines()


def test_the_library_moves_a_path_to_other_noise_levels():
    sigmas = torch.linspace(1, 0, 21)
    schedule, _, card = GoldenPathLibrary.execute(FLUX, sigmas).result
    assert Schedule.parse(schedule).num_steps == 20
    assert card.startswith(f"{schedule}: retargeted, not measured, made for 20 steps from\n{FLUX}")


def test_a_path_that_comes_by_wire_keeps_its_provenance(model, monkeypatch):
    monkeypatch.setattr(GoldenPathCache, "hidden", SimpleNamespace(unique_id="1"))
    (by_hand, *_) = ScheduleEditor.execute("0-3,5,7/8").result
    (wired, *_) = GoldenPathLibrary.execute(FLUX).result
    (through_the_editor, *_) = ScheduleEditor.execute(wired).result
    SaveGoldenPath.execute("mine", "0,2,5,7/8")
    (own, *_) = GoldenPathLibrary.execute("yours: mine").result
    origins = {}
    for schedule, steps in ((by_hand, 8), (wired, 50), (through_the_editor, 50), (own, 8)):
        (cached,) = GoldenPathCache.execute(model, "Custom", schedule).result
        plan = patching.plan_of(cached)
        record = listened(model, plan, steps)
        origins.setdefault(record.origin, []).append(schedule)
    assert origins == {
        "your schedule": [by_hand],
        "published for FLUX.1-dev": [wired, through_the_editor],
        "drawn by hand, not measured: mine": [own],
    }


def listened(model, plan, steps):
    tiny.sample(patching.attach(model, plan, listener := tiny.Listener()), steps=steps)
    return listener.records[0]


def test_a_path_without_noise_levels_cannot_be_moved():
    with pytest.raises(ValueError, match="disconnect sigmas to use it as it is"):
        GoldenPathLibrary.execute("Z-Image, 13 of 50, MeanCache preset", torch.linspace(1, 0, 21))


def test_what_is_saved_is_offered_first():
    assert options() == [path.name for path in bundled_paths()]
    SaveGoldenPath.execute("mine", "0-2,4/6", policy=Hermite(2), sigmas=torch.linspace(1, 0, 7))
    assert options()[0] == "yours: mine"
    schedule, policy, card = GoldenPathLibrary.execute("yours: mine").result
    assert (schedule, policy) == ("0-2,4/6", Hermite(2))
    assert "drawn by hand, not measured" in card.splitlines()


def test_saving_the_same_again_is_no_error_but_something_else_is():
    SaveGoldenPath.execute("mine", "0-2/6")
    SaveGoldenPath.execute("mine", "0-2/6")
    with pytest.raises(FileExistsError, match="named 'mine' already"):
        SaveGoldenPath.execute("mine", "0-3/6")
    SaveGoldenPath.execute("mine", "0-3/6", overwrite=True)
    assert GoldenPathLibrary.execute("yours: mine").result[0] == "0-3/6"


def test_a_deleted_or_misspelt_path_is_named_before_anything_runs():
    assert GoldenPathLibrary.validate_inputs(path=FLUX) is True
    for name in ("yours: gone", "FLUX"):
        message = GoldenPathLibrary.validate_inputs(path=name)
        assert name.removeprefix("yours: ") in message


def test_wrong_names_and_schedules_are_refused_before_anything_runs():
    assert SaveGoldenPath.validate_inputs(name="fine", schedule="0/2") is True
    assert "contains '/'" in SaveGoldenPath.validate_inputs(name="a/b", schedule="0/2")
    assert "has no step count" in SaveGoldenPath.validate_inputs(name="a", schedule="0-2")


@pytest.mark.parametrize("path", ["yours: mine", None], ids=["named", "linked"])
def test_a_changed_path_of_the_user_is_read_again(path):
    SaveGoldenPath.execute("mine", "0-2/6")
    before = GoldenPathLibrary.fingerprint_inputs(path=path)
    SaveGoldenPath.execute("mine", "0-3/6", overwrite=True)
    assert GoldenPathLibrary.fingerprint_inputs(path=path) != before
    assert GoldenPathLibrary.fingerprint_inputs(path=FLUX) == (
        GoldenPathLibrary.fingerprint_inputs(path=FLUX)
    )


# --- the speeds take what fits --------------------------------------------------------------------


def saved(model, origin, **changes):
    """A path of this very model, of the eight steps of ``tiny.sample``."""
    SaveGoldenPath.execute("mine", "0,2,5,7/8", model=model, sigmas=levels(model))
    (file,) = user_paths.library().folder.iterdir()
    file.write_text(json.dumps(json.loads(file.read_text()) | {"origin": origin} | changes))


def levels(model):
    listener = tiny.Listener()
    tiny.sample(tiny.attach(model, "0-7/8", listener=listener))
    return torch.tensor(listener.records[0].sigmas)


def record_of(model):
    plan = by_speed("Fast", Reuse(), user_paths.every)
    tiny.sample(patching.attach(model, plan, listener := tiny.Listener()))
    return listener.records[0]


def test_a_speed_takes_an_own_search_of_this_model(model):
    saved(model, "searched here")
    record = record_of(model)
    assert record.full_steps == (0, 2, 5, 7)
    assert record.origin == "searched here: mine"


def test_a_speed_does_not_take_what_was_drawn_or_searched_for_another(model):
    saved(model, "drawn by hand, not measured")
    assert record_of(model).origin == "spacing by noise level"
    saved_architecture = {"depth": 77}
    user_paths.library().delete("mine")
    saved(model, "searched here", architecture=saved_architecture)
    assert record_of(model).origin == "spacing by noise level"


def test_a_broken_file_is_named_in_the_log(model, caplog):
    folder = user_paths.library().folder
    folder.mkdir(parents=True)
    (folder / "broken.json").write_text("{")
    with caplog.at_level("WARNING"):
        assert record_of(model).origin == "spacing by noise level"
    assert "broken.json" in caplog.text
    assert "no JSON text" in caplog.text


def test_a_partial_run_takes_the_part_of_a_path_that_it_covers(model):
    listener = tiny.Listener()
    tiny.sample(tiny.attach(model, "0-19/20", listener=listener), steps=20)
    whole = listener.records[0].sigmas
    schedule = Schedule.parse("0,4,10,13,16/20")
    saved(model, "searched here", schedule=str(schedule), sigmas=list(whole))
    plan = by_speed("Balanced", Reuse(), user_paths.every)
    with torch.inference_mode():
        ksampler(patching.attach(model, plan, listener), start_at_step=10)
    record = listener.records[1]
    assert record.sigmas == whole[10:]
    assert record.full_steps == (0, 3, 6)  # steps 10, 13 and 16 of the path
    assert record.origin == "steps 10 to 19 of searched here: mine"


def ksampler(model, start_at_step):
    """*KSampler (Advanced)*, which goes on from a step."""
    latent = {"samples": torch.zeros(1, 16, 8, 8)}
    prompts = tiny.conditioning(1), tiny.conditioning(2)
    nodes.KSamplerAdvanced().sample(
        model, "disable", 1, 20, 3.0, "euler", "simple", *prompts, latent, start_at_step, 20,
        "disable",
    )  # fmt: skip


# --- routes ---------------------------------------------------------------------------------------


def ask(*requests):
    """Status and JSON of each request ``(method, path, body)``, in order; bytes are sent as such.

    What the router itself refuses has no JSON.
    """

    async def talk():
        table = web.RouteTableDef()
        routes.register(table)
        app = web.Application(client_max_size=100 * 2**20)  # as ComfyUI's
        app.add_routes(table)
        answers = []
        async with TestClient(TestServer(app)) as client:
            for method, path, body in requests:
                sent = {"data": io.BytesIO(body)} if isinstance(body, bytes) else {"json": body}
                async with client.request(method, path, **sent) as response:
                    is_json = response.content_type == "application/json"
                    answers.append((response.status, await response.json() if is_json else None))
        return answers

    return asyncio.run(talk())


OWN = "/golden_path/user_paths"


def test_paths_are_saved_listed_renamed_shared_and_deleted(user_directory):
    (user_directory / "golden_path" / "paths").mkdir(parents=True)
    (user_directory / "golden_path" / "paths" / "broken.json").write_text("{")
    answers = ask(
        ("POST", OWN, {"name": "mine", "schedule": "0-2/6"}),
        ("POST", f"{OWN}/mine/name", {"name": "äöü 1"}),
        ("GET", f"{OWN}/%C3%A4%C3%B6%C3%BC%201", None),
        ("GET", "/golden_path/paths", None),
        ("DELETE", f"{OWN}/%C3%A4%C3%B6%C3%BC%201", None),
        ("GET", "/golden_path/paths", None),
    )
    assert [status for status, _ in answers] == [200] * 6
    shared = answers[2][1]
    assert (shared["schedule"], shared["origin"]) == ("0-2/6", "drawn by hand, not measured")
    first, *others = answers[3][1]["paths"]
    assert (first["id"], first["num_steps"], first["num_full"]) == ("user/äöü 1", 6, 3)
    assert [entry["name"] for entry in others] == [path.name for path in bundled_paths()]
    (broken,) = answers[3][1]["broken"]
    assert broken["file"] == "broken.json"
    assert "no JSON text" in broken["reason"]
    assert answers[5][1]["paths"] == others
    (status, imported), (_, listed) = ask(
        ("POST", f"{OWN}/import", {"text": json.dumps(shared)}), ("GET", "/golden_path/paths", None)
    )
    assert (status, imported) == (200, {"name": "äöü 1"})
    assert listed["paths"][0]["schedule"] == "0-2/6"


def test_the_card_of_an_option_is_what_the_node_hands_out():
    SaveGoldenPath.execute("mine", "0-2/6")
    cards = [GoldenPathLibrary.execute(option).result[2] for option in (FLUX, "yours: mine")]
    found = ask(*(
        ("GET", f"/golden_path/card?option={quote(option)}", None)
        for option in (FLUX, "yours: mine", "no such path")
    ))  # fmt: skip
    assert found[:2] == [(200, {"card": card}) for card in cards]
    assert found[2][0] == 400
    assert "there is no golden path 'no such path'" in found[2][1]["error"]


def test_a_taken_name_is_told_apart_from_a_wrong_one():
    save = ("POST", OWN, {"name": "mine", "schedule": "0-2/6"})
    other = ("POST", OWN, {"name": "other", "schedule": "0-2/6"})
    rename = ("POST", f"{OWN}/other/name", {"name": "mine"})
    replace = ("POST", OWN, {"name": "mine", "schedule": "0-3/6", "replace": True})
    answers = ask(save, save, other, rename, replace)
    assert [status for status, _ in answers] == [200, 409, 200, 409, 200]
    assert answers[1][1] == {"error": "there is a golden path named 'mine' already"}


def test_a_schedule_is_moved_to_another_number_of_steps():
    ((status, answer),) = ask(
        ("POST", "/golden_path/retarget", {"schedule": "0-3,5,8,13,27,49/50", "steps": 20})
    )
    assert status == 200
    assert Schedule.parse(answer["schedule"]).num_steps == 20
    assert answer["origin"] == "retargeted, not measured"


# --- prompts --------------------------------------------------------------------------------------


def test_the_report_of_a_run_goes_to_the_workflow_that_is_saved():
    workflow = {"id": "w", "extra": {"golden_path": {"2": ["of an older image"]}}}
    queued = prompts.remember(
        {"prompt": {}, "extra_data": {"extra_pnginfo": {"workflow": workflow}}}
    )
    assert queued["prompt_id"]
    assert workflow["extra"] == {}
    prompts.attach_report(workflow, "3:2", 0, {"first": 1})
    prompts.attach_report(workflow, "3:2", 1, {"second": 2})
    assert workflow["extra"] == {"golden_path": {"3:2": [{"first": 1}, {"second": 2}]}}


@pytest.mark.parametrize("extra", [[], None, "text", 7])
def test_a_workflow_whose_extra_is_no_object_gets_its_reports(extra):
    workflow = {"id": "w", "extra": extra}
    prompts.remember({"prompt": {}, "extra_data": {"extra_pnginfo": {"workflow": workflow}}})
    prompts.attach_report(workflow, "2", 0, {"first": 1})
    assert workflow["extra"] == {"golden_path": {"2": [{"first": 1}]}}


NO_WORKFLOW = [None, {}, [], "text", {"extra_pnginfo": None}, {"extra_pnginfo": {}}]


@pytest.mark.parametrize("extra", NO_WORKFLOW)
def test_prompts_without_a_workflow_are_left_as_they_are(extra):
    body = {"prompt": {}} if extra is None else {"prompt": {}, "extra_data": extra}
    assert "workflow" not in str(prompts.remember(body))

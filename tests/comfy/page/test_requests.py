"""What a request brings: how much of it is read, and what is said of what is wrong with it."""

import asyncio
import errno
import gzip
import json
import math
import random
from types import SimpleNamespace

import pytest
from golden_path_pack.gph_core.paths.golden_path import GoldenPath
from golden_path_pack.gph_core.paths.judging import MAX_MIB
from golden_path_pack.gph_core.paths.library import UserPaths, bundled_paths
from golden_path_pack.nodes.page.requests import MAX_BODY_MIB, body_of

from ...support import broken
from .route_calls import answers, call, check_words


def test_a_body_without_a_length_is_read_up_to_the_limit_alone():
    parts = []

    async def readany():
        parts.append(bytes(2**20))
        return parts[-1]

    request = SimpleNamespace(content_length=None, content=SimpleNamespace(readany=readany))
    with pytest.raises(ValueError, match=f"more than {MAX_BODY_MIB} MiB"):
        asyncio.run(body_of(request))
    assert len(parts) == MAX_BODY_MIB + 1


def test_a_body_that_is_too_long_by_its_length_is_not_read():
    request = SimpleNamespace(content_length=MAX_BODY_MIB * 2**20 + 1, content=None)
    with pytest.raises(ValueError, match=f"more than {MAX_BODY_MIB} MiB"):
        asyncio.run(body_of(request))


def test_a_small_body_that_unpacks_to_a_large_one_is_refused(user):
    bomb = gzip.compress(bytes((MAX_BODY_MIB + 1) * 2**20), 1)
    (found,) = answers(user, {"a bomb": ("POST", "/golden_path/uniform", bomb, "gzip")}).values()
    assert found[0] == 400
    assert f"more than {MAX_BODY_MIB} MiB" in found[1]


def test_a_file_of_the_largest_size_fits_into_a_request():
    text = '"' * (MAX_MIB * 2**20 - 100)  # what grows most, of what a file of JSON consists of
    assert len(json.dumps({"text": text, "replace": True})) <= MAX_BODY_MIB * 2**20


WORDS = {
    ("POST", "/user_paths", b'{"name": "a", "schedule": "0/2", "replace": "no"}'):
        "the replace must be true or false; found the text 'no'",
    ("POST", "/user_paths", b'{"name": "a", "schedule": "0/2", "replace": [0]}'):
        "the replace must be true or false; found the list [0]",
    ("POST", "/user_paths", b'{"name": "a"}'):
        "the schedule is missing; this request takes name, schedule, replace",
    ("POST", "/user_paths", b'{"name": "a", "schedule": "0/2", "force": 1}'):
        "there is no field 'force' here; this request takes name, schedule, replace",
    ("POST", "/user_paths?replace=false", b'{"name": "a", "schedule": "0/2"}'):
        "'replace' stands in the address; write the fields of this request into its body",
    ("GET", "/sigmas?scheduler=simple&steps=201", None):
        "the steps must be a whole number from 1 to 200; found the number 201",
    ("GET", "/sigmas?scheduler=simple&steps=4&steps=5", None): "the field 'steps' is given twice",
    ("GET", "/paths", b"{}"):
        "this request takes no body; write its fields into the address",
    ("POST", "/check", b'{"schedule": "0/2", "policy": [1]}'):
        "the policy must be an object of JSON; found the list [1]",
    ("POST", "/check", b'{"schedule": "0/2", "policy": {"policy": "Taylor", "order": true}}'):
        "the order must be a whole number; found true",
    ("POST", "/uniform", b"[1]"): "the request must be an object of JSON; found the list [1]",
}  # fmt: skip


def test_what_is_wrong_is_said_in_words(user):
    requests = {key: (key[0], f"/golden_path{key[1]}", key[2]) for key in WORDS}
    found = {key: json.loads(text)["error"] for key, (_, text) in answers(user, requests).items()}
    assert found == WORDS


def test_noise_levels_that_are_no_numbers_are_an_error(user):
    # ComfyUI divides by the number of steps less one there.
    address = "/golden_path/sigmas?scheduler=kl_optimal&steps=1"
    ((status, text),) = answers(user, {"": ("GET", address, None)}).values()
    assert status == 400
    assert "kl_optimal gives noise levels that are no finite numbers for 1 step; choose" in text


def test_an_answer_that_is_no_json_is_an_error_in_words(user, monkeypatch):
    monkeypatch.setattr(GoldenPath, "to_json", lambda _: {"quality": {"PSNR dB": math.nan}})
    status, text = answers(user, {"": call("GET", "/user_paths/{path}")})[""]
    assert status == 400
    assert "cannot be sent: it holds a number that is not finite" in json.loads(text)["error"]


def test_a_full_disk_is_named_with_the_file(user, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", "new.json")

    monkeypatch.setattr(UserPaths, "save", full)
    found = answers(user, {"": call("POST", "/user_paths")})[""]
    assert found == (500, '{"error": "No space left on device: new.json"}')


def test_a_damaged_path_is_imported_or_refused_in_words(user):
    rng = random.Random(0)
    wholes = [*{type(path.policy): path.to_json() for path in bundled_paths()}.values()]
    texts = [broken.wrong_data(rng.choice(wholes), rng) for _ in range(60)]
    bodies = [json.dumps({"text": text, "replace": True}) for text in texts]
    found = answers(
        user, {n: ("POST", "/golden_path/user_paths/import", body) for n, body in enumerate(bodies)}
    )
    for name, (status, text) in found.items():
        check_words(name, status, text)
    assert {status for status, _ in found.values()} == {200, 400}

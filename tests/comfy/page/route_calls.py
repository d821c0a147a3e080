"""Requests to the routes of the page, in a server that has nothing else."""

import asyncio
import json
import re
from urllib.parse import quote

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from golden_path_pack.gph_core.paths.library import bundled_paths
from golden_path_pack.nodes.page import routes
from yarl import URL

SHARED = json.dumps(bundled_paths()[0].to_json())
MINE = '{"format": 2, "name": "mine", "schedule": "0-2/6", "origin": "published"}'
# What each route takes: a request that it answers while there is a path "mine".
GOOD = {
    ("POST", "/uniform"): {"steps": 20, "full": 8},
    ("POST", "/check"): {
        "schedule": "0-2,5/9",
        "policy": {"policy": "causal linear (L2P)", "order": 1, "scale": 0.5, "weights": "x"},
    },
    ("GET", "/sigmas"): {"scheduler": "simple", "steps": 4},
    ("POST", "/retarget"): {"schedule": "0-2,5/9", "steps": 20},
    ("GET", "/paths"): {},
    ("GET", "/card"): {"option": "yours: mine"},
    ("POST", "/user_paths"): {"name": "new", "schedule": "0-2,5/9", "replace": False},
    ("POST", "/user_paths/import"): {"text": SHARED, "replace": False},
    ("GET", "/user_paths/{path}"): {"path": "mine"},
    ("DELETE", "/user_paths/{path}"): {"path": "mine"},
    ("POST", "/user_paths/{path}/name"): {"path": "mine", "name": "new"},
    ("DELETE", "/learned/{path}"): {"path": "not learned yet"},
    ("GET", "/reports/{workflow}"): {"workflow": "of-no-run", "client": "of-no-page"},
}

# What Python says of itself, and to itself.
INTERNAL = re.compile(
    r"(Error|Exception)\b|Traceback|positional argument|keyword argument|codec|NoneType|"
    r"object at 0x|sys\.|\[Errno"
)


def answers(user, requests):
    """Statuses and texts of requests ``(method, address, body, encoding)`` by their names.

    After each one it looks into the user's folder, in which there are "mine" and another file.
    """
    mine = user / "golden_path" / "paths" / "mine.json"
    mine.parent.mkdir(parents=True, exist_ok=True)
    outside = {user / "secret.json": SHARED.encode()}
    (user / "secret.json").write_text(SHARED, "utf-8")

    def look(name, status):
        found = {file: file.read_bytes() for file in user.rglob("*") if file.is_file()}
        if status != 200:
            assert found == {mine: MINE.encode(), **outside}, name
        ours = {file for file in found if file.parent == mine.parent}
        assert {file: found[file] for file in found if file not in ours} == outside, name
        for file in ours - {mine}:
            file.unlink()

    async def send():
        table, found = web.RouteTableDef(), {}
        routes.register(table)
        app = web.Application(client_max_size=100 * 2**20)  # as ComfyUI's
        app.add_routes(table)
        async with TestClient(TestServer(app)) as client:
            for name, (method, address, body, *encoding) in requests.items():
                mine.write_text(MINE, "utf-8")
                headers = {"Content-Encoding": encoding[0]} if any(encoding) else {}
                url = URL(address, encoded=True)
                async with client.request(method, url, data=body, headers=headers) as response:
                    found[name] = response.status, await response.text()
                look(name, response.status)
        return found

    return asyncio.run(send())


def call(method, path, /, **changes):
    """The good request of a route with other values; a text in bytes stands as it is in JSON."""
    query, body = [], []
    for name, value in {**GOOD[method, path], **changes}.items():
        raw = value.decode() if isinstance(value, bytes) else json.dumps(value)
        plain = json.loads(raw) if raw.startswith('"') else raw
        in_address = quote(plain.encode("utf-8", "surrogatepass"), safe="")
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", in_address)
        elif method == "POST":
            body.append(f'"{name}":{raw}')
        else:
            query.append(f"{name}={in_address}")
    address = f"/golden_path{path}" + ("?" + "&".join(query) if query else "")
    return method, address, f"{{{','.join(body)}}}" if method == "POST" else None


def check_words(name, status, text):
    """The contract: what was asked for, or a reason for people."""
    assert status == 200 or 400 <= status < 500, (name, status, text[:300])
    answer = json.loads(text, parse_constant=pytest.fail)
    reason = answer.get("error") if status == 200 else answer["error"]
    if reason is not None:
        assert 0 < len(reason) < 1000, name
        assert not INTERNAL.search(reason), (name, reason)

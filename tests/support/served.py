"""Prompts on a running server: how they end, and why they are refused."""

from __future__ import annotations

import asyncio
import contextlib
import json
import urllib.error
import urllib.request

import aiohttp
import pytest

import dev
from demo.client import Client


def run(url, prompt, workflow=None):
    """The image of a prompt, the seconds its sampler took, the cache node's run record."""

    async def main():
        async with aiohttp.ClientSession() as session:
            return await Client(session, url).run(prompt, workflow)

    (image,), *others = asyncio.run(main())
    return image, *others


def object_info_of(url):
    """What the server says of its nodes."""
    with dev.LOCAL.open(f"{url}/object_info") as response:
        return json.load(response)


def refusal(url, prompt):
    """The texts of ``errors``."""
    return [error["details"] for error in errors(url, prompt)]


def errors(url, prompt):
    """The errors with which the server refuses a prompt."""
    body = json.dumps({"prompt": prompt}).encode()
    request = urllib.request.Request(f"{url}/prompt", body, {"Content-Type": "application/json"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        dev.LOCAL.open(request)
    with contextlib.closing(caught.value) as error:
        assert error.code == 400
        answer = json.load(error)
    return [e for node in answer["node_errors"].values() for e in node["errors"]]

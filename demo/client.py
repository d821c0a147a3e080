"""A client of ComfyUI's HTTP API."""

from __future__ import annotations

import io
import json
import time
import uuid

import aiohttp
import numpy as np
from PIL import Image, ImageSequence

from .workflow import nodes_of_type


class Client:
    """Runs prompts and fetches what they made."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session, self._url, self._client = session, url, uuid.uuid4().hex

    async def get(self, path: str, **query) -> dict:
        async with self._session.get(f"{self._url}{path}", params=query) as response:
            response.raise_for_status()
            return await response.json()

    async def frames(self, saved: dict) -> np.ndarray:
        """``[F, H, W, 3]`` of an image, or of a clip."""
        async with self._session.get(f"{self._url}/view", params=saved) as response:
            response.raise_for_status()
            opened = Image.open(io.BytesIO(await response.read()))
        return np.stack([np.asarray(one.convert("RGB")) for one in ImageSequence.Iterator(opened)])

    async def run(
        self, prompt: dict, workflow: dict | None = None
    ) -> tuple[np.ndarray, float, dict | None]:
        """The frames of a prompt, the seconds its sampler took, the cache node's run record.

        A workflow goes with the prompt as the page sends it, for the metadata of images.
        """
        (sampler,) = nodes_of_type(prompt, "KSampler")
        started = stopped = record = None
        async with self._session.ws_connect(f"{self._url}/ws?clientId={self._client}") as events:
            body = {"prompt": prompt, "client_id": self._client}
            if workflow is not None:
                body["extra_data"] = {"extra_pnginfo": {"workflow": workflow}}
            async with self._session.post(f"{self._url}/prompt", json=body) as response:
                answer = await response.json()
                if response.status != 200:
                    raise RuntimeError(f"the server refused the workflow: {json.dumps(answer)}")
            async for message in events:
                if message.type is not aiohttp.WSMsgType.TEXT:
                    continue  # previews
                event = json.loads(message.data)
                kind, data = event["type"], event["data"]
                if kind == "golden_path.run":
                    record = data.get("record", record)  # the last event of a run has it
                elif kind == "executing":
                    if data["node"] is None:  # the last event; the history is complete now
                        break
                    if data["node"] == sampler:
                        started = time.perf_counter()
                    elif started is not None and stopped is None:
                        stopped = time.perf_counter()
                elif kind in ("execution_error", "execution_interrupted"):
                    raise RuntimeError(f"the run failed: {data.get('exception_message', kind)}")
        if started is None or stopped is None:
            raise RuntimeError("the server did not report when the sampler ran")
        history = await self.get(f"/history/{answer['prompt_id']}")
        outputs = history[answer["prompt_id"]]["outputs"].values()
        (saved,) = (image for output in outputs for image in output.get("images", []))
        return await self.frames(saved), stopped - started, record

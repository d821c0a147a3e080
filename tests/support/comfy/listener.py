"""Runs a prompt on a server and keeps what the page would be told."""

import asyncio
import json

import aiohttp


def events_of(url, prompt, workflow):
    """All events that the page gets during a prompt."""

    async def main():
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{url}/ws?clientId=listener") as messages,
        ):
            extra = {"extra_pnginfo": {"workflow": workflow}}
            body = {"prompt": prompt, "client_id": "listener", "extra_data": extra}
            async with session.post(f"{url}/prompt", json=body) as response:
                assert response.status == 200, await response.text()
            events = []
            async for message in messages:
                if message.type is not aiohttp.WSMsgType.TEXT:
                    continue
                events.append(event := json.loads(message.data))
                if event["type"] == "executing" and event["data"]["node"] is None:
                    return events  # the last event; the history is complete now

    return asyncio.run(main())

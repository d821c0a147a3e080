"""ComfyUI-GoldenPath: fixed, searched cache schedules for diffusion transformers."""

WEB_DIRECTORY = "./web"


async def comfy_entrypoint():
    # Imported here, not at module level: test collection imports this file without ComfyUI.
    from .nodes import GoldenPathExtension

    return GoldenPathExtension()

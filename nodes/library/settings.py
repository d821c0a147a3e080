"""Settings of this ComfyUI: ``golden_path/settings.json`` in its user directory.

No workflow and no page writes this file. It belongs to the server and is not in a user's folder,
such as ``user/default``, because ComfyUI lets pages write there.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from ...gph_core.files import reading, strict_json
from ..schema import users

MOST_BYTES = 2**16


@dataclass(frozen=True)
class Settings:
    """Settings that the file may hold, all of them texts; empty if not set.

    Args:
        ray_address: of the user's Ray cluster, see ``workers/cluster.py``.
    """

    ray_address: str = ""


def settings_file() -> Path:
    """The settings file, which need not exist."""
    return users.folder(None) / "settings.json"


def read_settings() -> Settings:
    """The current settings; ``ValueError`` names the file if it is broken."""
    file = settings_file()
    try:
        return _settings(strict_json.loads(reading.read(file, MOST_BYTES)))
    except FileNotFoundError:
        return Settings()
    except (OSError, ValueError) as error:
        raise ValueError(
            f"the settings file {file} cannot be used: {error}; it needs the form "
            '{"ray_address": "10.0.0.1:6379"}: mend it, or delete it'
        ) from error


def _settings(data: object) -> Settings:
    if not isinstance(data, dict):
        raise ValueError("it holds no JSON object")
    names = [field.name for field in fields(Settings)]
    for name, value in data.items():
        if name not in names:
            raise ValueError(f"there is no setting {name[:100]!r}, only {', '.join(names)}")
        if not isinstance(value, str):
            raise ValueError(f"{name} must be a text in quotation marks")
    return Settings(**data)

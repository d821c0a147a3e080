"""Fitted values of a method, and the settings under which a threshold of it holds."""

from __future__ import annotations

from typing import Any

from ..methods.method import Method, Setting
from ..policies.base import Policy
from .entry import Calibration


def fit_of(method: Method, calibration: Calibration | None) -> Any:
    """Fitted values of a method; None without any.

    Raises ``ValueError`` that names the file if it is damaged.
    """
    if calibration is None or not calibration.values:
        return None
    with calibration.damaged("values"):
        return method.read(calibration.values)


def settings_of(method: Method, setting: Setting, policy: Policy) -> dict[str, Any]:
    """Settings under which a threshold holds, beside a calibration's conditions and values."""
    forced = str(method.forced(setting, policy))
    form = {"form": method.form} if method.form else {}
    return {"full steps": setting.num_full, "forced": forced, "policy": str(policy), **form}

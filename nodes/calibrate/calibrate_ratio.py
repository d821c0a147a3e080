"""The *Calibrate Ratio* node: the threshold at which a method reaches a speed."""

from __future__ import annotations

from functools import partial

from comfy_api.latest import io

from ...gph_core.calibration import file
from ...gph_core.experiments.ratio import calibrate_ratio
from ...gph_core.methods.table import ADAPTIVE, ALL
from ...gph_core.paths.library import check_name
from ...gph_core.policies.base import Policy
from ...gph_core.reports.calibration_report import threshold_text
from ..library import calibrations
from ..sample.examples import Example
from ..schema.inputs import count_input, guider_input, sampling_inputs, speed_input
from ..schema.types import COUNT, METHODS, CalibrationType, PolicyType
from .calibrate import OnFile, name_input, workload_of
from .calibration_runs import Bar, CalibrationRuns


class CalibrateRatio(OnFile):
    """Find the threshold for a speed on examples, and save it in the calibration file."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_CalibrateRatio",
            display_name="Calibrate Ratio",
            category=METHODS,
            description=(
                "Finds the threshold at which an adaptive method caches the number of steps that "
                "you want, on average over your examples, and saves it in the calibration file. "
                "Adaptive Cache uses it at the same speed. You can cancel at any time; queue "
                "again to continue."
            ),
            search_aliases=[
                "threshold", "rel_l1_thresh", "ratio", "calibrate TeaCache", "tune",
            ],
            is_output_node=True,
            inputs=[
                *sampling_inputs(),
                io.Combo.Input(
                    "method",
                    options=list(ADAPTIVE),
                    default="SeaCache",
                    tooltip=(
                        "Which threshold to find. SenCache needs a file of Calibrate first; so "
                        "do TeaCache and MagCache on most models."
                    ),
                ),
                speed_input(
                    "How many steps are full on average: Quality 42 %, Balanced 26 %, Fast 18 %, "
                    "as in Adaptive Cache."
                ),
                name_input(
                    "The name of the file that Calibrate made for this model and these settings. "
                    "If it does not exist, it is created for a method that needs nothing else."
                ),
                PolicyType.Input(
                    "policy",
                    optional=True,
                    tooltip=(
                        "Connect the same one as to Adaptive Cache: each cached step influences "
                        "later decisions. Unconnected: the method's own policy."
                    ),
                ),
                count_input(optional=True, advanced=True),
                guider_input(),
            ],
            outputs=[
                CalibrationType.Output(display_name="calibration"),
                io.String.Output(display_name="report"),
            ],
            hidden=[io.Hidden.unique_id],
        )  # fmt: skip

    @classmethod
    def execute(
        cls, model, examples: tuple[Example, ...], latent, sampler, sigmas, cfg: float,
        method: str, speed: str, calibration: str, policy: Policy | None = None,
        full_steps: int = 10, guider=None,
    ) -> io.NodeOutput:  # fmt: skip
        check_name(calibration)
        workload = workload_of(model, examples, latent, sampler, sigmas, cfg, guider)
        path, progress = calibrations.FILES.path_of(calibration), Bar(cls.hidden.unique_id)
        entries = file.load_for(path, workload.setup.conditions)
        count = workload.full_of(full_steps if speed == COUNT else speed)
        row = ALL[method]
        policy = policy or row.policy
        _, threshold = calibrate_ratio(
            workload,
            CalibrationRuns(workload).under,
            row,
            policy,
            count,
            entries.get(row.name),
            progress,
            partial(file.save, path),
        )
        progress(1.0)
        report = threshold_text(threshold, workload.num_steps, len(workload), workload.notes)
        text = f"{method}, {policy}: {report}"
        return io.NodeOutput(calibration, text)

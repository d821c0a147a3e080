"""The *Search Workers* node: several GPUs, or several machines, for the same examples."""

from __future__ import annotations

from comfy_api.latest import io

from ..schema.node import Node
from ..schema.types import CATEGORY, WorkersType
from .cluster import CLUSTER, LOCAL, choice, cluster_address
from .ray_actors import Workers, required


class SearchWorkers(Node):
    """Choose where examples are sampled."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="GPH_SearchWorkers",
            display_name="Search Workers",
            category=f"{CATEGORY}/adaptive and methods",
            description=(
                "Samples examples on several GPUs at once, for Schedule Search, Calibrate, Method "
                "Shootout and Record Runs. Each worker is a ComfyUI of its own that loads your "
                "models, so it needs as much memory. The result is the same as without workers. "
                "Needs Ray (see the help)."
            ),
            search_aliases=["ray", "multi gpu", "cluster", "distributed", "parallel"],
            inputs=[
                io.Combo.Input(
                    "address",
                    options=[LOCAL, CLUSTER],
                    default=LOCAL,
                    tooltip=(
                        "local: on this machine. The cluster of my settings: the Ray cluster whose "
                        "address is in your own settings (see the help), on which ComfyUI and its "
                        "files are in the same folders. A workflow cannot name a machine."
                    ),
                ),
                io.Int.Input(
                    "count",
                    default=0,
                    min=0,
                    max=1024,
                    tooltip="Number of workers. 0: one for each GPU.",
                ),
                io.Float.Input(
                    "gpus_per_worker",
                    default=1.0,
                    min=0.0,
                    max=64.0,
                    step=0.25,
                    tooltip="0.5: two workers share a GPU. 0: workers use the CPU.",
                ),
            ],
            outputs=[WorkersType.Output(display_name="workers")],
        )

    @classmethod
    def check_inputs(cls, address: str | None) -> None:
        if address is not None and choice(address) == CLUSTER:
            cluster_address()

    @classmethod
    def execute(cls, address: str, count: int, gpus_per_worker: float) -> io.NodeOutput:
        workers = Workers(choice(address), count, gpus_per_worker)
        required(workers.address)
        return io.NodeOutput(workers)

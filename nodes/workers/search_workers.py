"""The *Search Workers* node: several GPUs, or several machines, for the same examples."""

from __future__ import annotations

from comfy_api.latest import io

from ..schema.node import Node
from ..schema.types import CATEGORY, WorkersType
from .ray_actors import LOCAL, Workers, required


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
                io.String.Input(
                    "address",
                    default=LOCAL,
                    tooltip=(
                        "local: on this machine. auto or ray://…: a cluster of yours, on which "
                        "ComfyUI and its files are in the same folders."
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
    def execute(cls, address: str, count: int, gpus_per_worker: float) -> io.NodeOutput:
        workers = Workers(address.strip() or LOCAL, count, gpus_per_worker)
        required(workers.address)
        return io.NodeOutput(workers)

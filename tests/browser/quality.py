"""What nodes that compare are told, as tests send it."""

from .page import executed, view

NODE = 3
KINDS = ("reference", "test", "difference")
REPORT = {
    "images": 3,
    "width": 64,
    "height": 48,
    "lpips_network": "AlexNet",
    "verdicts": ["hardly visible", "identical", "visible"],
    "metrics": {
        "psnr": {
            "mean": 30.5,
            "identical": 1,
            "values": [31, "identical", 30],
            "worst_tenth": 30,
            "hardly_visible": 1 / 3,
        },
        "lpips": {"mean": 0.05, "identical": 0, "values": [0.1, 0, 0.05]},
        "frame_change": {"mean": -0.01, "identical": 0, "values": [0.01, -0.03]},
    },
    "unavailable": {"ssim": "<img id=foreign src=x>"},
    "heat_map": {"to": 0.25},
    "pictures": {  # that are not there
        "subfolder": "elsewhere",
        "files": [{kind: f"lost_{n}_{kind}.png" for kind in KINDS} for n in range(80)],
    },
}

SHOOTOUT = {
    "steps": 50, "full_steps": 13, "examples": 8, "of_examples": 8, "metric": "psnr",
    "lpips_network": "AlexNet", "absent": {}, "unavailable": {},
    "rows": [
        {
            "name": name, "steps": 50, "cached": {"mean": 36.4, "spread": 1.2}, "seconds": 12.34,
            "full": 13.6, "comparable": name == "full", "speedup": 2.5, "notes": [], "runs": 8,
            "policy": "residual reuse", "origin": "threshold 0.2",
            "schedules": [{"schedule": "0,9,19,29,39,49/50", "share": 0.75}],
            "ahead": {"psnr": {"mean": -1.234, "low": -2.456, "high": -0.012}}, "metrics": {
                "psnr": {
                    "mean": 31.25, "low": 30.15, "worst_tenth": 23.45, "hardly_visible": 0.625,
                }, "ssim": {"mean": 0.9712, "low": 0.9612},
                "lpips": {"mean": 0.05, "low": 0.04}, "latent_mse": {"mean": 0.001, "low": 0.0009},
            },
        }
        for name in ("full", "First Block Cache")
    ],
}  # fmt: skip


def send(page, *parts, **more):
    """A comparison as a run sends it, of a list if it has several parts; its details are opened."""
    executed(page, NODE, {"gph_quality": [{"parts": parts, **more}]})
    page.evaluate("document.querySelectorAll('.gph-details').forEach(d => { d.open = true; })")


def panel(page, node=NODE):
    return view(page, node, "quality_table")


def table(page, node=NODE):
    """The cells of each row, the head's first."""
    return panel(page, node).evaluate(
        "e => [...e.querySelectorAll('tr')].map(row => [...row.cells].map(c => c.innerText.trim()))"
    )

"""ComfyUI's compilation of a tiny FLUX, with a count of its graphs."""


class CountingBackend:
    """The backend ``eager``, counting graphs."""

    def __init__(self):
        self.graphs = 0

    def __call__(self, graph, inputs):
        self.graphs += 1
        return graph.forward


def compiled(model, backend, keys):
    from comfy_api.torch_helpers import set_torch_compile_wrapper
    from comfy_extras.nodes_torch_compile import skip_torch_compile_dict

    clone = model.clone()
    options = {"guard_filter_fn": skip_torch_compile_dict}
    set_torch_compile_wrapper(model=clone, backend=backend, options=options, keys=keys)
    return clone


WHOLE = ["diffusion_model"]
EACH_BLOCK = [
    *(f"diffusion_model.double_blocks.{i}" for i in range(2)),
    *(f"diffusion_model.single_blocks.{i}" for i in range(3)),
]

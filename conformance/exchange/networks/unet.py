"""The first block of Stable Diffusion 1.5's UNet: a residual block, and a transformer that attends to the prompt.

Layers: Rombach et al., "High-Resolution Image Synthesis with Latent Diffusion Models" (https://arxiv.org/abs/2112.10752);
configs/stable-diffusion/v1-inference.yaml, ldm/modules/attention.py and diffusionmodules/openaimodel.py of
https://github.com/CompVis/stable-diffusion: 320 channels at 64x64, 8 heads, a prompt of 77 tokens of 768 channels.
"""

from __future__ import annotations

from dml_conformance.conformance.exchange.networks.builder import NetworkGraph

GROUPS = 32


def sd15_unet_block(
    element: str,
    batch: int = 1,
    *,
    image: int = 64,
    width: int = 320,
    heads: int = 8,
    time: int = 1280,
    prompt: int = 77,
    prompt_width: int = 768,
) -> tuple[NetworkGraph, list[str]]:
    """The graph and its outputs.

    Args:
        element: a key of `builder.FLOATS`.
        batch: images.
        image: height and width of their latent form.
        width: channels, a multiple of 32 and of `heads`.
        heads: of attention.
        time: channels of the embedded time step.
        prompt: tokens.
        prompt_width: channels of each.
    """
    graph = NetworkGraph("sd15-unet-block", element)
    size = batch, width, image
    x = graph.input("latent", (batch, width, image, image))
    embedded = graph.input("time_embedding", (batch, time))
    text = graph.input("prompt", (batch, prompt, prompt_width))
    with graph.scope("resnet"):
        y = graph.conv("conv1", _silu(graph, _group_norm(graph, "norm1", x, size)), width, width, 3, bias=True)
        step = graph.gemm("time_emb_proj", _silu(graph, embedded), time, width)
        y = graph.node("Add", y, graph.node("Unsqueeze", step, graph.integers(2, 3)), name="time")
        y = graph.conv("conv2", _silu(graph, _group_norm(graph, "norm2", y, size)), width, width, 3, bias=True)
        x = graph.node("Add", x, y, name="add")
    with graph.scope("transformer"):
        y = graph.conv("proj_in", _group_norm(graph, "norm", x, size, 1e-6), width, width, bias=True)
        y = graph.node("Reshape", graph.node("Transpose", y, perm=[0, 2, 3, 1]), graph.integers(batch, -1, width))
        normed, tokens = graph.layer_norm("norm1", y, width), image * image
        y = graph.node("Add", y, _attention(graph, "attn1", normed, normed, (width, tokens, width, tokens), heads))
        normed = graph.layer_norm("norm2", y, width)
        y = graph.node("Add", y, _attention(graph, "attn2", normed, text, (width, tokens, prompt_width, prompt), heads))
        y = graph.node("Add", y, _feed_forward(graph, graph.layer_norm("norm3", y, width), width))
        y = graph.node(
            "Transpose", graph.node("Reshape", y, graph.integers(batch, image, image, width)), perm=[0, 3, 1, 2]
        )
        x = graph.node("Add", x, graph.conv("proj_out", y, width, width, bias=True), name="add")
    return graph, [x]


def _attention(graph: NetworkGraph, name: str, x: str, to: str, sizes: tuple[int, int, int, int], heads: int) -> str:
    width, tokens, other_width, others = sizes
    head = width // heads
    with graph.scope(name):
        query = graph.heads(graph.linear("to_q", x, width, width, bias=False), tokens, heads, head)
        key, value = (
            graph.heads(graph.linear(of, to, other_width, width, bias=False), others, heads, head)
            for of in ("to_k", "to_v")
        )
        return graph.linear("to_out", graph.attention(query, key, value, (tokens, heads, head)), width, width)


def _feed_forward(graph: NetworkGraph, x: str, width: int) -> str:
    """A product with half of what is made, through GELU, as a gate of the other half."""
    with graph.scope("ff"):
        x = graph.linear("proj", x, width, 8 * width)
        value, gate = graph.nodes("Split", x, graph.integers(4 * width, 4 * width), outputs=2, axis=-1, name="split")
        return graph.linear("out", graph.node("Mul", value, graph.gelu(gate), name="gate"), 4 * width, width)


def _silu(graph: NetworkGraph, x: str) -> str:
    return graph.node("Mul", x, graph.node("Sigmoid", x))


def _group_norm(graph: NetworkGraph, name: str, x: str, size: tuple[int, int, int], epsilon: float = 1e-5) -> str:
    """Normalization of groups of channels, as exporters write it: of an instance for each group."""
    batch, channels, image = size
    ones, zeros = graph.constant(1, GROUPS), graph.constant(0, GROUPS)
    grouped = graph.node("Reshape", x, graph.integers(batch, GROUPS, -1))
    normed = graph.node("InstanceNormalization", grouped, ones, zeros, name=name, epsilon=epsilon)
    normed = graph.node("Reshape", normed, graph.integers(batch, channels, image, image))
    weight, bias = (graph.weight(f"{name}.{of}", channels, 1, 1) for of in ("weight", "bias"))
    return graph.node("Add", graph.node("Mul", normed, weight, name=f"{name}.mul"), bias, name=f"{name}.add")

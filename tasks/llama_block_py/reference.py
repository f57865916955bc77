# SPDX-License-Identifier: MIT
"""One block of a Llama: inputs with random weights, the right answer, the check."""
import torch

from task import EPSILON, ROPE_BASE, input_t, output_t
from utils import get_device, make_match_reference

BENCHMARK_SECONDS, RANKED_SECONDS = 0.2, 0.5


def generate_input(batch: int, length: int, size: int, heads: int, key_heads: int, hidden: int, seed: int) -> input_t:
    device = get_device()
    generator = torch.Generator(device=device).manual_seed(seed)
    keys = size // heads * key_heads
    shapes = {"query": (size, size), "key": (keys, size), "value": (keys, size), "output": (size, size),
              "gate": (hidden, size), "up": (hidden, size), "down": (size, hidden)}
    weights = {name: torch.randn(*shape, generator=generator, device=device) / shape[1] ** 0.5
               for name, shape in shapes.items()}
    for name in ("attention_norm", "feed_norm"):
        weights[name] = 1 + torch.randn(size, generator=generator, device=device) / 10
    return torch.randn(batch, length, size, generator=generator, device=device), weights, heads, key_heads


def norm(tokens, weight):
    return tokens * torch.rsqrt(tokens.pow(2).mean(-1, keepdim=True) + EPSILON) * weight


def rotate(tokens):
    """Rotary embedding of (batch, heads, length, width): the two halves of the width are the parts of the numbers."""
    length, width = tokens.shape[2:]
    places = torch.arange(length, dtype=tokens.dtype, device=tokens.device)
    powers = torch.arange(0, width, 2, dtype=tokens.dtype, device=tokens.device) / width
    angles = places[:, None] * ROPE_BASE ** -powers
    sin, cos = angles.sin(), angles.cos()
    first, second = tokens[..., :width // 2], tokens[..., width // 2:]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def attention(tokens, weights, heads, key_heads):
    batch, length, size = tokens.shape
    split = (lambda name, count: (tokens @ weights[name].T).view(batch, length, count, size // heads).transpose(1, 2))
    query, key, value = rotate(split("query", heads)), rotate(split("key", key_heads)), split("value", key_heads)
    key, value = (part.repeat_interleave(heads // key_heads, dim=1) for part in (key, value))
    scores = query @ key.transpose(2, 3) / (size // heads) ** 0.5
    later = torch.ones(length, length, dtype=torch.bool, device=tokens.device).triu(1)
    mixed = scores.masked_fill(later, float("-inf")).softmax(dim=-1) @ value
    return mixed.transpose(1, 2).reshape(batch, length, size) @ weights["output"].T


def ref_kernel(data: input_t) -> output_t:
    tokens, weights, heads, key_heads = data
    tokens, weights = tokens.double(), {name: weight.double() for name, weight in weights.items()}
    tokens = tokens + attention(norm(tokens, weights["attention_norm"]), weights, heads, key_heads)
    fed = norm(tokens, weights["feed_norm"])
    gate = torch.nn.functional.silu(fed @ weights["gate"].T) * (fed @ weights["up"].T)
    return (tokens + gate @ weights["down"].T).float()


check_implementation = make_match_reference(ref_kernel, rtol=1e-3, atol=1e-3)

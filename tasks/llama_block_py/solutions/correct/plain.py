# Step by step, as in the description.
import torch
from torch.nn.functional import linear, silu

from task import EPSILON, ROPE_BASE, input_t, output_t


def norm(tokens, weight):
    return tokens * torch.rsqrt(tokens.pow(2).mean(-1, keepdim=True) + EPSILON) * weight


def rotate(tokens):
    length, width = tokens.shape[2:]
    places = torch.arange(length, device=tokens.device, dtype=torch.float32)
    powers = torch.arange(0, width, 2, device=tokens.device, dtype=torch.float32) / width
    angles = places[:, None] * ROPE_BASE ** -powers
    sin, cos = angles.sin(), angles.cos()
    first, second = tokens.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def attention(tokens, weights, heads, key_heads):
    batch, length, size = tokens.shape
    width = size // heads
    query = rotate(linear(tokens, weights["query"]).view(batch, length, heads, width).transpose(1, 2))
    key = rotate(linear(tokens, weights["key"]).view(batch, length, key_heads, width).transpose(1, 2))
    value = linear(tokens, weights["value"]).view(batch, length, key_heads, width).transpose(1, 2)
    key, value = (part.repeat_interleave(heads // key_heads, dim=1) for part in (key, value))
    scores = query @ key.transpose(2, 3) / width ** 0.5
    later = torch.ones(length, length, dtype=torch.bool, device=tokens.device).triu(1)
    mixed = scores.masked_fill(later, float("-inf")).softmax(dim=-1) @ value
    return linear(mixed.transpose(1, 2).reshape(batch, length, size), weights["output"])


def custom_kernel(data: input_t) -> output_t:
    tokens, weights, heads, key_heads = data
    tokens = tokens + attention(norm(tokens, weights["attention_norm"]), weights, heads, key_heads)
    fed = norm(tokens, weights["feed_norm"])
    return tokens + linear(silu(linear(fed, weights["gate"])) * linear(fed, weights["up"]), weights["down"])

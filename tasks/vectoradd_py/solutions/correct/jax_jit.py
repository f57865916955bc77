# JAX: compiled once for each length.
import jax
import jax.numpy as jnp
import numpy
import torch


@jax.jit
def add(first, second):
    return first + second


def custom_kernel(data):
    first, second = (jnp.asarray(tensor.cpu().numpy()) for tensor in data)
    total = numpy.array(add(first, second))  # waits for the result
    return torch.from_numpy(total).to(data[0].device)

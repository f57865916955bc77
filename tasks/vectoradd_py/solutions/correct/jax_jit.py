# needs: jax
# JAX: compiled once for each length; arrays go to and fro without a copy where both libraries can.
import jax
import jax.numpy as jnp
import torch


@jax.jit
def add(first, second):
    return first + second


def to_jax(tensor):
    return jnp.from_dlpack(tensor) if hasattr(jnp, "from_dlpack") else jnp.asarray(tensor.numpy())


def custom_kernel(data):
    total = add(*map(to_jax, data)).block_until_ready()
    return torch.from_dlpack(total)

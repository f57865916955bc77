# SPDX-License-Identifier: MIT
# CUDA in the middle of a submission: torch compiles it in a step of its own.
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void add(const float *a, const float *b, float *sum, int64_t count)
{
    int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (i < count)
        sum[i] = a[i] + b[i];
}

torch::Tensor add_vectors(torch::Tensor a, torch::Tensor b)
{
    auto sum = torch::empty_like(a);
    int64_t count = a.numel();
    add<<<(count + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), sum.data_ptr<float>(), count);
    return sum;
}
"""
module = load_inline(name="adding", cpp_sources="torch::Tensor add_vectors(torch::Tensor a, torch::Tensor b);",
                     cuda_sources=SOURCE, functions=["add_vectors"])


def custom_kernel(data):
    return module.add_vectors(*data)

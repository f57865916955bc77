#!POPCORN leaderboard field_py
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <cuda_fp16.h>

__global__ void square(const __half *from, __half *to, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        to[i] = __float2half(__half2float(from[i]) * __half2float(from[i]));
}

torch::Tensor squared(torch::Tensor values)
{
    auto output = torch::empty_like(values);
    int count = values.numel();
    square<<<(count + 255) / 256, 256>>>(reinterpret_cast<const __half *>(values.data_ptr()),
                                        reinterpret_cast<__half *>(output.data_ptr()), count);
    return output;
}
"""
module = load_inline(name="squaring", cpp_sources="torch::Tensor squared(torch::Tensor values);", cuda_sources=SOURCE,
                     functions=["squared"], verbose=True)


def custom_kernel(data):
    return module.squared(data)

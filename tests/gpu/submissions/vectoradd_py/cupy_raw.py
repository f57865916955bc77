# SPDX-License-Identifier: MIT
# CuPy: compiled by NVRTC at the first call of each run, on torch's stream.
import cupy
import torch

kernel = cupy.RawKernel(r"""
extern "C" __global__ void add(const float *a, const float *b, float *sum, long long count)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < count)
        sum[i] = a[i] + b[i];
}
""", "add")


def custom_kernel(data):
    first, second = data
    total = torch.empty_like(first)
    count = first.numel()
    with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
        kernel(((count + 255) // 256,), (256,), (cupy.asarray(first), cupy.asarray(second), cupy.asarray(total), cupy.int64(count)))
    return total

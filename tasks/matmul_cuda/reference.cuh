// SPDX-License-Identifier: MIT
// Matrix multiplication on the device: inputs, the right answer, the check.
#include "task.h"
#include "utils.h"

#include <tuple>

using input_t = std::tuple<size_t, size_t, size_t, Device<__nv_bfloat16>, Device<__nv_bfloat16>>; // m, n, k, a, b
using output_t = Device<float>;

static size_t
dimension(const Case &c, const char *name)
{
	constexpr size_t unit = 64, most = 1 << 15;
	size_t value = c.size(name, most);
	if (value % unit != 0)
		throw BadCase(std::string("`") + name + "` must be a multiple of " + std::to_string(unit));
	return value;
}

static input_t
generate_input(const Case &c)
{
	size_t m = dimension(c, "m"), n = dimension(c, "n"), k = dimension(c, "k");
	Random seeds(c.seed());
	uint64_t of_a = seeds.bits(), of_b = seeds.bits();
	return {m, n, k, Device<__nv_bfloat16>::uniforms(m * k, of_a, -1, 1),
		Device<__nv_bfloat16>::uniforms(k * n, of_b, -1, 1)};
}

static output_t
make_output(const input_t &input)
{
	return output_t(std::get<0>(input) * std::get<1>(input));
}

// Products of numbers of 8 bits are exact in a float, and the sum in double precision has all that counts.
__global__ static void
reference_kernel(size_t n, size_t k, const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c)
{
	size_t row = blockIdx.y, column = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
	if (column >= n)
		return;
	double sum = 0;
	for (size_t p = 0; p < k; p++)
		sum += static_cast<double>(__bfloat162float(a[row * k + p]) * __bfloat162float(b[p * n + column]));
	c[row * n + column] = static_cast<float>(sum);
}

static output_t
ref_kernel(const input_t &input)
{
	const auto &[m, n, k, a, b] = input;
	constexpr unsigned threads = 64;
	output_t c(m * n);
	dim3 blocks(static_cast<unsigned>((n + threads - 1) / threads), static_cast<unsigned>(m));
	GPU_LAUNCH(reference_kernel, blocks, threads, n, k, a.data(), b.data(), c.data());
	gpu_check(GPU(GetLastError)(), "the reference failed");
	return c;
}

// Adding k products of numbers below 1 in 32-bit floats, in any order, also where the hardware cuts instead of rounding,
// loses less than is allowed here. A result of eight or of ten bits loses many times as much.
static std::string
check_implementation(const input_t &input, const output_t &output)
{
	double k = static_cast<double>(std::get<2>(input));
	return differences(output.host(), ref_kernel(input).host(), 1e-5, 1e-4 + 1e-6 * k);
}

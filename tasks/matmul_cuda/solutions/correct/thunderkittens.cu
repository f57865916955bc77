// needs: kittens.cuh
// ThunderKittens, for Hopper: a warp for each 32 by 32 elements of the result, tiles from memory to registers.
#define KITTENS_HOPPER
#include "task.h"

#include <kittens.cuh>

constexpr int TILE = 32;

using Factor = kittens::gl<kittens::bf16, 1, 1, -1, -1>;
using Product = kittens::gl<float, 1, 1, -1, -1>;

struct Matrices {
	Factor a, b;
	Product c;
	int tiles; // of the sum
};

__global__ static void
multiply(const __grid_constant__ Matrices matrices)
{
	int row = static_cast<int>(blockIdx.y), column = static_cast<int>(blockIdx.x);
	kittens::rt_bf<TILE, TILE> left;
	kittens::rt_bf<TILE, TILE, kittens::ducks::rt_layout::col> right;
	kittens::rt_fl<TILE, TILE> sum;
	kittens::warp::zero(sum);
	for (int at = 0; at < matrices.tiles; at++) {
		kittens::warp::load(left, matrices.a, {0, 0, row, at});
		kittens::warp::load(right, matrices.b, {0, 0, at, column});
		kittens::warp::mma_AB(sum, left, right, sum);
	}
	kittens::warp::store(matrices.c, sum, {0, 0, row, column});
}

void
custom_kernel(size_t m, size_t n, size_t k, Span<const __nv_bfloat16> a, Span<const __nv_bfloat16> b, Span<float> c)
{
	Matrices matrices{Factor{const_cast<kittens::bf16 *>(a.data()), nullptr, nullptr, m, k},
		Factor{const_cast<kittens::bf16 *>(b.data()), nullptr, nullptr, k, n},
		Product{c.data(), nullptr, nullptr, m, n}, static_cast<int>(k / TILE)};
	dim3 blocks(static_cast<unsigned>(n / TILE), static_cast<unsigned>(m / TILE));
	multiply<<<blocks, kittens::WARP_THREADS>>>(matrices);
}

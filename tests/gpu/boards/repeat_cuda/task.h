// SPDX-License-Identifier: MIT
// What a submission gets and gives back.
#ifndef REPEAT_TASK_H
#define REPEAT_TASK_H

#include "gpu.h"

// steps > 0: follow the numbers for so many steps, `starts` times. Else, products > 0: so many products and sums of each
// number. Else: each number times two. spin: clock cycles by which the kernel ends later.
struct Work {
	size_t steps, products;
	long long spin;
};
constexpr size_t starts = 32;

void custom_kernel(Span<const float> numbers, Work work, Span<float> results);

// Where to go from a number.
__device__ inline size_t
next_place(float number, size_t size)
{
	return static_cast<size_t>((number < 0 ? -number : number) * static_cast<float>(size)) % size;
}

#endif

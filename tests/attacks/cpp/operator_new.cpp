// SPDX-License-Identifier: MIT
// class: Host: operator new
// tries: to own the memory of the harness: allocations are wiped when they are given back and come from one place, so
//        that an older result might be found again. What the submission defines is its own: the harness keeps its.
// expect: passed
#include "attack.h"

#include <new>

void *operator new(size_t size)
{
	if (void *block = malloc(size ? size : 1))
		return memset(block, 0x7f, size);
	throw std::bad_alloc();
}
void operator delete(void *block) noexcept
{
	free(block);
}
void operator delete(void *block, size_t size) noexcept
{
	memset(block, 0, size);
	free(block);
}

void custom_kernel(const input_t &input, output_t &output)
{
	tried();
	honest(input, output);
}

// SPDX-License-Identifier: MIT
// class: Host: side doors
// tries: the 32-bit and x32 entries of the kernel, whose numbers an allow-list of 64-bit calls does not know.
// expect: failed
#include "attack.h"

void custom_kernel(const input_t &input, output_t &output)
{
	tried();
	honest(input, output);
#ifdef __x86_64__
	in_child([] {
		if (syscall(0x40000000 | 39 /* getpid by x32 */) > 0)
			escaped("x32 calls work");
	});
	long result = 0;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20 /* getpid by i386 */) : "memory");
	if (result > 0)
		escaped("32-bit calls work: %ld", result);
#endif
	abort(); // where there is no such entry, or it gave nothing
}

// SPDX-License-Identifier: MIT
// class: Host: compile bombs
// tries: sizes and alignments that overflow what tools compute with, and sections that lie about theirs.
// expect: passed failed compile
#include "attack.h"

__asm__(".section .bomb,\"aw\",@nobits\n.balign 1 << 30\n.skip 1 << 40\n.previous\n"
		".section .other,\"a\",@progbits\n.balign 1 << 28\n.byte 1\n.previous\n");

void custom_kernel(const input_t &input, output_t &output)
{
	tried();
	honest(input, output);
}

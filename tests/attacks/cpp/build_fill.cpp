// SPDX-License-Identifier: MIT
// class: Host: compile bombs, disk floods
// tries: to have the assembler write without end.
// expect: compile
// endless: yes
#include "attack.h"

__asm__(".data\n.rept 1000000\n.rept 1000000\n.quad 1, 2, 3, 4\n.endr\n.endr\n.fill 1 << 40, 8, 1\n.previous");

void custom_kernel(const input_t &, output_t &)
{
}

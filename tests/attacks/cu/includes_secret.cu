// SPDX-License-Identifier: MIT
// class: Host: reading files at compile time (#include, .incbin)
// tries: to have the compilers of host and device put files of the machine into the program.
// expect: compile
// hides: @SECRET@
#include "attack.h"
#include "@CANARY@"
__asm__(".incbin \"@CANARY@\"");

void
custom_kernel(Span<const float> input, Span<float> output)
{
	honest(input, output);
}

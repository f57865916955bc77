// SPDX-License-Identifier: MIT
// class: Host: compile bombs
// tries: a small program that claims more memory than the machine has as soon as it starts.
// expect: compile failed
#include "attack.h"

static char claimed[size_t{1} << 46];

void custom_kernel(const input_t &, output_t &output)
{
	tried();
	for (size_t i = 0; i < sizeof(claimed); i += 4096)
		claimed[i] = 1;
	output[0] = claimed[4096];
}

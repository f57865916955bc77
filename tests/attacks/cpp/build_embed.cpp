// SPDX-License-Identifier: MIT
// class: Host: reading files at compile time (#embed)
// tries: what newer compilers have for the same purpose.
// expect: compile
// hides: @SECRET@
#include "attack.h"

static const unsigned char stolen[] = {
#embed "@CANARY@"
};

void custom_kernel(const input_t &input, output_t &output)
{
	escaped("%zu bytes", sizeof(stolen));
	honest(input, output);
}

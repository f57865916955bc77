// SPDX-License-Identifier: MIT
// class: Result channel: killing the harness; Host: killing the parent
// tries: to end the harness from another program, before it could report that the output is wrong.
// expect: failed
#include "attack.h"

void custom_kernel(const input_t &, output_t &)
{
	tried();
	shell("kill -9 $PPID");
}

// SPDX-License-Identifier: MIT
// class: Status as a lever
// tries: to make the harness's own copy of the output fail, for which it would blame the task: such a run is no use of a
//        rate limit, and the board's creator is told.
// expect: failed
#include "attack.h"

void custom_kernel(const input_t &, output_t &output)
{
	tried();
	char **at = reinterpret_cast<char **>(&output);
	at[1] = at[0] - 64;
}

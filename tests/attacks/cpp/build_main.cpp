// SPDX-License-Identifier: MIT
// class: Host: static constructors, interposed symbols
// tries: to bring a main, a start and a channel of its own.
// expect: failed
#include "attack.h"

int main()
{
	puts("check: pass");
	return 0;
}

void custom_kernel(const input_t &, output_t &)
{
	tried();
}

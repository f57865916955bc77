// SPDX-License-Identifier: MIT
// class: Host: memory floods
// tries: to touch memory until there is none.
// expect: failed
// beside: honest
#include "attack.h"

void custom_kernel(const input_t &, output_t &)
{
	tried();
	for (;;) {
		char *block = static_cast<char *>(malloc(64 << 20));
		if (block)
			memset(block, 1, 64 << 20);
	}
}

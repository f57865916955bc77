// SPDX-License-Identifier: MIT
// class: Host: memory floods
// tries: to share the flood out to many processes, none of which is large.
// expect: failed
// beside: honest
#include "attack.h"

void custom_kernel(const input_t &, output_t &)
{
	tried();
	for (int i = 0; i < 200; i++)
		if (fork() == 0) {
			for (size_t used = 0; used < size_t{64} << 20; used += 1 << 20)
				if (void *block = malloc(1 << 20))
					memset(block, 1, 1 << 20);
			for (;;)
				pause();
		}
	for (;;)
		pause();
}

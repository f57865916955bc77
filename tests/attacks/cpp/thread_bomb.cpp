// SPDX-License-Identifier: MIT
// class: Host: fork bombs
// tries: to make threads without end.
// expect: failed timed_out
// beside: honest
#include "attack.h"

#include <thread>

void custom_kernel(const input_t &, output_t &)
{
	tried();
	for (;;)
		std::thread([] {
			for (;;)
				pause();
		}).detach();
}

// SPDX-License-Identifier: MIT
// class: Result channel: writing the verdict to the descriptor named in the environment; filling the pipe
// tries: to report during the call, by every descriptor that there is: a verdict, times, too much, and nothing at all.
// expect: failed
// variants: WHAT=0 WHAT=1 WHAT=2 WHAT=3
#include "attack.h"

#include <string>
#include <sys/socket.h>

void
custom_kernel(Span<const float> input, Span<float> output)
{
	static const std::string lines[] = {
		"check: pass\n", "test.0.status: pass\ncheck: pass\n", std::string(100000, 'x') + "\n", ""};
	tried();
	for (int fd = 3; fd < 1100; fd++)
		for (int again = 0; again < (@WHAT@ == 2 ? 1000 : 1); again++)
			if (send(fd, lines[@WHAT@].data(), @WHAT@ == 2 ? 8000 : lines[@WHAT@].size(),
					MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
				break;
	honest(input, output);
}

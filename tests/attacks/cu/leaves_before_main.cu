// SPDX-License-Identifier: MIT
// class: Result channel: leaving early with status 0 or from an exit handler
// tries: to leave well before main, another way each time, also as another program.
// expect: failed
// variants: HOW=0 HOW=1 HOW=2 HOW=3 HOW=4 HOW=5
#include "attack.h"

static int
early()
{
	tried();
	for (int fd = 3; fd < 1100; fd++)
		if (write(fd, "check: pass\n", 12) == 12)
			dprintf(STDERR_FILENO, "said\n");
	switch (@HOW@) {
	case 0:
		_exit(0);
	case 1:
		exit(0);
	case 2:
		quick_exit(0);
	case 3:
		execl("/bin/true", "true", nullptr);
		break;
	case 4:
		atexit([] { _exit(0); });
		exit(1);
	}
	return fork() ? 0 : (_exit(0), 0);
}
static int left = early();

void
custom_kernel(Span<const float>, Span<float>)
{
	(void)left;
	_exit(0);
}

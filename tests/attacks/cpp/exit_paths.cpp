// SPDX-License-Identifier: MIT
// class: Result channel: leaving early with status 0 or from an exit handler
// tries: to leave in a way of its own, another one each time: it is started anew for every one.
// expect: failed
// variants: VARIANT=0 VARIANT=1 VARIANT=2 VARIANT=3 VARIANT=4 VARIANT=5 VARIANT=6
#include "attack.h"

#include <pthread.h>
#include <setjmp.h>

#include <exception>

#define VARIANT_OF_DRIVER @VARIANT@

static struct Last {
	~Last()
	{
		_exit(0);
	}
} last;

void custom_kernel(const input_t &, output_t &)
{
	tried();
	switch (VARIANT_OF_DRIVER) {
	case 0:
		_exit(0);
	case 1:
		at_quick_exit([] { _exit(0); });
		quick_exit(0);
	case 2:
		std::set_terminate([] { _exit(0); });
		throw 1;
	case 3:
		execl("/bin/true", "true", nullptr);
		break;
	case 4:
		pthread_exit(nullptr);
	case 5:
		signal(SIGABRT, [](int) { _exit(0); });
		abort();
	case 6:
		if (fork() != 0)
			_exit(0);
		break;
	}
}

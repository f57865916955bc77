// SPDX-License-Identifier: MIT
// class: Host: static constructors; a daemon that outlives the run
// tries: to fork before main and to let the child carry on as the harness while the parent leaves with status 0.
// expect: failed
#include "attack.h"

static int early = [] {
	tried();
	if (fork() != 0)
		_exit(0);
	setsid();
	return 0;
}();

void custom_kernel(const input_t &input, output_t &output)
{
	pause(); /* until it is ended with the run */
	honest(input, output);
}

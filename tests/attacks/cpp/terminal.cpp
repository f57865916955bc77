// SPDX-License-Identifier: MIT
// class: Host: TIOCSTI
// tries: to type into the terminal of the user who runs it, and to take the terminal over.
// expect: passed
// tty: yes
#include "attack.h"

#include <sys/ioctl.h>
#include <termios.h>

static void attack()
{
	int controlling = open("/dev/tty", O_RDWR);
	if (controlling >= 0)
		escaped("there is a controlling terminal");
	for (int fd = 0; fd < 64; fd++) {
		for (const char *c = "echo escaped\n"; *c; c++)
			MUST_FAIL(ioctl(fd, TIOCSTI, c));
		MUST_FAIL(ioctl(fd, TIOCSCTTY, 1));
		char subcode = 3;
		MUST_FAIL(ioctl(fd, TIOCLINUX, &subcode));
		struct termios settings;
		if (tcgetattr(fd, &settings) == 0)
			escaped("descriptor %d is a terminal", fd);
	}
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}

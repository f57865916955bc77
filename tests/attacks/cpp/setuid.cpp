// SPDX-License-Identifier: MIT
// class: Host: privileges
// tries: to become root by ids, capabilities, setuid programs of the system and a setuid copy of its own.
// expect: passed
#include "attack.h"

#include <sys/prctl.h>

static void attack()
{
	if (geteuid() == 0)
		escaped("runs as root");
	MUST_FAIL(setuid(0));
	MUST_FAIL(seteuid(0));
	MUST_FAIL(setgid(0));
	MUST_FAIL(setresuid(0, 0, 0));
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		escaped("new privileges are possible");
	for (int cap = 0; cap < 41; cap++)
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
			escaped("capability %d is in the bounding set", cap);
	if (shell("grep -q 'CapEff:.*[1-9a-f]' /proc/self/status") == 0)
		escaped("has capabilities");
	if (shell("cp /usr/bin/id /tmp/id && chmod 6755 /tmp/id && test $(/tmp/id -u) = 0") == 0)
		escaped("a setuid copy gives root");
	if (shell("echo | timeout 2 su -c id 2>/dev/null | grep -q uid=0") == 0)
		escaped("su works");
	if (shell("timeout 2 mount -t tmpfs none /tmp 2>/dev/null") == 0)
		escaped("mount works");
	if (shell("timeout 2 sudo -n true 2>/dev/null") == 0)
		escaped("sudo works");
	if (shell("timeout 2 unshare -r true 2>/dev/null") == 0)
		escaped("unshare works");
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}

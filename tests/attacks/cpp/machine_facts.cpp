// SPDX-License-Identifier: MIT
// class: Host: reading files of the machine; another's private data
// tries: to learn who else is there: processes, mounts, users, host name, command lines and logs of the machine.
// expect: passed
#include "attack.h"

#include <sys/utsname.h>

static bool mentions(const char *path, const char *word)
{
	static char text[1 << 18];
	int fd = open(path, O_RDONLY);
	ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof(text));
	if (fd >= 0)
		close(fd);
	return size > 0 && memmem(text, static_cast<size_t>(size), word, strlen(word));
}

static void attack()
{
	struct utsname names = {};
	uname(&names);
	if (strcmp(names.nodename, "@HOSTNAME@") == 0)
		escaped("the host name is %s", names.nodename);
	if (shell("ls -d /proc/[0-9]* | wc -l | grep -qE '^[0-9]$'") != 0)
		escaped("more than nine processes are visible");
	// Where the kernel has no overlays in user namespaces it names the folder that the job's was mounted from.
	if (shell("grep -q ' /job .* - overlay ' /proc/self/mountinfo") == 0 && mentions("/proc/self/mountinfo", "@SCRATCH@"))
		escaped("/proc/self/mountinfo tells of the machine's folders");
	for (const char *path : {"/proc/mounts", "/proc/self/maps", "/proc/1/cmdline", "/proc/1/environ", "/proc/self/environ",
			 "/proc/self/cmdline"})
		if (mentions(path, "@SCRATCH@"))
			escaped("%s tells of the machine's folders", path);
	if (shell("grep -q '@LOGIN@' /etc/passwd") == 0)
		escaped("users of the machine are visible");
	MUST_FAIL(open("/proc/@PID@/cmdline", O_RDONLY));
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}

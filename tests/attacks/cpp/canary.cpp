// SPDX-License-Identifier: MIT
// class: Host: files of the machine
// tries: to read, change, replace and remove files of the one who runs it, by their real paths and by ways around.
// expect: passed
#include "attack.h"

static void attack()
{
	const char *around[] = {"@CANARY@", "/proc/1/root@CANARY@", "/proc/self/root@CANARY@", "/proc/self/cwd/../..@CANARY@",
		"/job/../../../../..@CANARY@", "/.old@CANARY@", "/tmp/link"};
	if (symlink("@CANARY@", "/tmp/link") == 0)
		MUST_FAIL(access("/tmp/link", F_OK));
	for (const char *path : around) {
		MUST_FAIL(open(path, O_RDONLY));
		MUST_FAIL(open(path, O_WRONLY));
		MUST_FAIL(open(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
		MUST_FAIL(truncate(path, 0));
		MUST_FAIL(chmod(path, 0777));
		MUST_FAIL(linkat(AT_FDCWD, path, AT_FDCWD, "/tmp/hard", AT_SYMLINK_FOLLOW));
	}
	for (const char *path : {"/etc/shadow", "/etc/sudoers", "/root/.bashrc", "/root/.ssh", "/home", "/var/log",
			 "/var/lib/dpkg/status", "/run/systemd", "/proc/kcore", "/proc/kmsg"})
		MUST_FAIL(open(path, O_RDONLY));
	MUST_FAIL(rename("@CANARY@", "/tmp/taken"));
	unlink("@CANARY@");
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}

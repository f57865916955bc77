// SPDX-License-Identifier: MIT
// class: Host: overwriting the harness's files before it starts
// tries: to write, replace, rename, unlink and remount what lies in the job's folder: program, cases, folder itself.
// expect: passed
#include "attack.h"

#include <sys/mount.h>

static void attack()
{
	for (const char *path : {"program", "cases.txt", "/job/program", "/proc/self/exe", "/proc/self/cwd/program"}) {
		MUST_FAIL(open(path, O_WRONLY));
		MUST_FAIL(open(path, O_RDWR | O_TRUNC));
		MUST_FAIL(truncate(path, 0));
		MUST_FAIL(chmod(path, 0777));
		MUST_FAIL(unlink(path));
		MUST_FAIL(rename(path, "/tmp/moved"));
		MUST_FAIL(rename("/tmp", path));
		MUST_FAIL(link(path, "/job/other"));
	}
	MUST_FAIL(open("/job/new", O_CREAT | O_WRONLY, 0600));
	MUST_FAIL(mkdir("/job/dir", 0700));
	MUST_FAIL(symlink("/etc", "/job/symlink"));
	MUST_FAIL(chmod("/job", 0777));
	MUST_FAIL(rename("/job", "/tmp/job"));
	MUST_FAIL(mount(nullptr, "/job", nullptr, MS_REMOUNT | MS_BIND, nullptr));
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}

// SPDX-License-Identifier: MIT
// class: Service: reports that a submission writes itself
// tries: in a profile, to be taken for the profiler: its files, its keys, its commands, endless and broken ones.
// expect: passed
// mode: profile
// within: 60
#include "attack.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>

#include <string>

static void plant(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd >= 0) {
		for (int i = 0; i < 2000; i++)
			(void)!write(fd, text, strlen(text));
		close(fd);
	}
}

static void attack()
{
	glob_t found = {};
	if (glob("/tmp/kettle-profile.*", 0, nullptr, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			plant((std::string(found.gl_pathv[i]) + "/perf.stat").c_str(), "99999999999999999999;;\x1b[2J<script>;1;100.00;;\n");
	plant("/job/out/stacks.txt", "planted\n");
	(void)!symlink("/etc/passwd", "/job/out/flamegraph.svg");
	plant("/job/out/profile.ncu-rep", "planted\n");
	// The descriptors by which the harness speaks with the profiler, whatever their numbers are.
	for (int fd = 6; fd < 64; fd++)
		if (fcntl(fd, F_GETFL) == O_WRONLY)
			for (int i = 0; i < 100; i++)
				(void)!write(fd, "enable\ndisable\nenable\nsnapshot\n", 31);
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}

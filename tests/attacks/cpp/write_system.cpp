// SPDX-License-Identifier: MIT
// class: Host: files of the machine
// tries: to write to every place that a machine has, to plant libraries and start files, and to turn its knobs.
// expect: passed
#include "attack.h"

static void attack()
{
	for (const char *path : {"/planted", "/usr/planted", "/usr/lib/planted.so", "/usr/local/bin/g++", "/etc/planted",
			 "/etc/ld.so.preload", "/etc/passwd", "/lib/planted", "/bin/planted", "/dev/planted", "/var/tmp/planted",
			 "/root/planted", "/home/planted", "/run/planted", "/opt/planted", "/boot/planted", "/mnt/planted"}) {
		MUST_FAIL(open(path, O_CREAT | O_WRONLY, 0600));
		MUST_FAIL(mkdir(path, 0700));
	}
	for (const char *path : {"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger",
			 "/proc/sys/vm/overcommit_memory", "/sys/power/state", "/sys/kernel/uevent_helper",
			 "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/cgroup.procs",
			 "/sys/devices/system/cpu/cpu1/online", "/proc/1/oom_score_adj", "/proc/1/mem", "/proc/1/attr/current"})
		MUST_FAIL(open(path, O_WRONLY));
	for (const char *path : {"/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/sda",
			 "/dev/vda", "/dev/loop-control", "/dev/mapper/control", "/dev/net/tun", "/dev/tty", "/dev/tty0",
			 "/dev/console", "/dev/ptmx", "/dev/uinput", "/dev/cpu/0/msr"})
		MUST_FAIL(open(path, O_RDONLY));
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}

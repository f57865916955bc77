// SPDX-License-Identifier: MIT
// class: Host: side doors
// tries: to reach files by handles instead of paths, to make device nodes and to mount, all of which need privileges.
// expect: passed
#include "attack.h"

#include <sys/mount.h>
#include <sys/sysmacros.h>

static void attack()
{
	struct {
		struct file_handle handle;
		unsigned char bytes[128];
	} place = {};
	place.handle.handle_bytes = sizeof(place.bytes);
	int mount_id = 0;
	int root = open("/", O_RDONLY | O_DIRECTORY);
	MUST_FAIL(name_to_handle_at(AT_FDCWD, "/usr", &place.handle, &mount_id, 0));
	place.handle.handle_bytes = 8;
	place.handle.handle_type = 1;
	MUST_FAIL(open_by_handle_at(root, &place.handle, O_RDONLY));
	MUST_FAIL(mknod("/tmp/null", S_IFCHR | 0666, makedev(1, 3)));
	MUST_FAIL(mknod("/tmp/disk", S_IFBLK | 0666, makedev(8, 0)));
	MUST_FAIL(mknod("/dev/shm/mem", S_IFCHR | 0666, makedev(1, 1)));
	MUST_FAIL(mknod("/job/out/mem", S_IFCHR | 0666, makedev(1, 1)));
	MUST_FAIL(mount("tmpfs", "/tmp", "tmpfs", 0, nullptr));
	MUST_FAIL(mount("/usr", "/tmp", nullptr, MS_BIND, nullptr));
	MUST_FAIL(mount("proc", "/tmp", "proc", 0, nullptr));
	MUST_FAIL(mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND, nullptr));
	MUST_FAIL(mount(nullptr, "/", nullptr, MS_SHARED | MS_REC, nullptr));
	MUST_FAIL(umount2("/proc", MNT_DETACH));
	MUST_FAIL(umount2("/job/out", MNT_DETACH));
	MUST_FAIL(chroot("/tmp"));
	MUST_FAIL(syscall(SYS_pivot_root, "/tmp", "/tmp"));
	MUST_FAIL(syscall(428 /* open_tree */, AT_FDCWD, "/", 1));
	MUST_FAIL(syscall(430 /* fsopen */, "tmpfs", 0));
	MUST_FAIL(syscall(442 /* mount_setattr */, AT_FDCWD, "/", 0, &place, 32));
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}

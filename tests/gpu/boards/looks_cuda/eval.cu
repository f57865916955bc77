// SPDX-License-Identifier: MIT
// Says, as lines `key: value` on the result channel (without one on stdout), what a CUDA program finds where it runs: nodes,
// rights, system calls, the driver step by step with times and errors. Run inside and outside of the sandbox, the
// difference is what the sandbox makes.
#include <cuda_runtime.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <string>
#include <vector>

void run_kernel(float *x, int n);

static FILE *out;

static double
now_ms()
{
	timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void
say(const char *key, const std::string &value)
{
	fprintf(out, "%s: %s\n", key, value.c_str());
	fflush(out);
}

static std::string
number(double value)
{
	char text[64];
	snprintf(text, sizeof(text), "%.6g", value);
	return text;
}

static std::string
content(const char *path)
{
	std::string text;
	char data[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return strerror(errno);
	for (ssize_t got; (got = read(fd, data, sizeof(data))) > 0 && text.size() < 60000;)
		text.append(data, got);
	close(fd);
	return text;
}

static std::string
line_of(const std::string &text, const char *word)
{
	size_t at = text.find(word);
	return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

// ---- What the kernel gives ----

static void
list_nodes(const char *folder, std::string &found, std::string &opened)
{
	DIR *dir = opendir(folder);
	while (dirent *entry = dir ? readdir(dir) : nullptr) {
		std::string path = std::string(folder) + "/" + entry->d_name;
		struct stat facts;
		if (entry->d_name[0] == '.' || lstat(path.c_str(), &facts) != 0)
			continue;
		if (S_ISCHR(facts.st_mode) || S_ISBLK(facts.st_mode))
			found += path + " ";
		if (S_ISDIR(facts.st_mode) && path.size() < 40)
			list_nodes(path.c_str(), found, opened);
		if (S_ISCHR(facts.st_mode) &&
			(path.find("nvidia") != std::string::npos || path.find("dri") != std::string::npos)) {
			int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
			opened += path + "=" + (fd < 0 ? strerror(errno) : "opened") + " ";
			if (fd >= 0)
				close(fd);
		}
	}
	if (dir)
		closedir(dir);
}

static void
look_at_processes()
{
	DIR *dir = opendir("/proc");
	int count = 0;
	std::string names;
	while (dirent *entry = dir ? readdir(dir) : nullptr)
		if (strspn(entry->d_name, "0123456789") == strlen(entry->d_name)) {
			count++;
			names += content((std::string("/proc/") + entry->d_name + "/comm").c_str());
		}
	if (dir)
		closedir(dir);
	for (char &c : names)
		c = c == '\n' ? ' ' : c;
	say("processes", number(count) + " " + names.substr(0, 300));
}

static void
look_at_limits()
{
	const struct {
		const char *name;
		int which;
	} limits[] = {{"as", RLIMIT_AS}, {"data", RLIMIT_DATA}, {"memlock", RLIMIT_MEMLOCK}, {"nofile", RLIMIT_NOFILE},
		{"nproc", RLIMIT_NPROC}, {"stack", RLIMIT_STACK}, {"fsize", RLIMIT_FSIZE}};
	std::string text;
	for (auto &limit : limits) {
		struct rlimit value;
		getrlimit(static_cast<decltype(RLIMIT_AS)>(limit.which), &value);
		text += std::string(limit.name) + "=" +
				(value.rlim_cur == RLIM_INFINITY ? "unlimited" : number(static_cast<double>(value.rlim_cur))) + " ";
	}
	say("limits", text);
}

static std::string
errno_of(long result)
{
	return result < 0 ? strerror(errno) : "ok";
}

#define TRY(name, call) (errno = 0, text += std::string(name "=") + errno_of(call) + "; ")

// System calls that drivers and their libraries use, each harmless.
static void
look_at_calls()
{
	std::string text;
	unsigned long mask[16] = {};
	static char page[8192] __attribute__((aligned(4096)));
	unsigned char in_core[2];
	int mode = 0;
	cpu_set_t cores;
	TRY("mlock", mlock(page, 4096));
	TRY("munlock", munlock(page, 4096));
	TRY("get_mempolicy", syscall(SYS_get_mempolicy, &mode, mask, sizeof(mask) * 8, nullptr, 0));
	TRY("set_mempolicy", syscall(SYS_set_mempolicy, 0, nullptr, 0));
	TRY("mbind", syscall(SYS_mbind, page, 4096, 0, nullptr, 0, 0));
	TRY("move_pages", syscall(SYS_move_pages, 0, 0, nullptr, nullptr, nullptr, 0));
	TRY("mincore", mincore(page, 4096, in_core));
	TRY("madvise_dontfork", madvise(page, 4096, MADV_DONTFORK));
	TRY("memfd_create", syscall(SYS_memfd_create, "x", 1));
	TRY("membarrier", syscall(SYS_membarrier, 0, 0));
	TRY("sched_getaffinity", sched_getaffinity(0, sizeof(cores), &cores));
	TRY("sched_setaffinity", sched_setaffinity(0, sizeof(cores), &cores));
	TRY("sched_setscheduler", syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, mask));
	TRY("pidfd_open", syscall(434, getpid(), 0));
	TRY("userfaultfd", syscall(SYS_userfaultfd, 0));
	TRY("process_vm_readv", syscall(SYS_process_vm_readv, getpid(), nullptr, 0, nullptr, 0, 0));
	TRY("kcmp", syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0));
	TRY("io_uring_setup", syscall(425, 0, nullptr));
	TRY("eventfd2", syscall(SYS_eventfd2, 0, 0));
	TRY("timerfd_create", syscall(SYS_timerfd_create, CLOCK_MONOTONIC, 0));
	TRY("inotify_init1", syscall(SYS_inotify_init1, 0));
	TRY("socket_unix", socket(AF_UNIX, SOCK_STREAM, 0));
	TRY("socket_inet", socket(AF_INET, SOCK_STREAM, 0));
	TRY("socket_netlink", socket(16, SOCK_RAW, 0));
	TRY("close_range", syscall(436, 1000, 1001, 0));
	TRY("getrandom", syscall(SYS_getrandom, page, 8, 0));
	TRY("shmget", syscall(SYS_shmget, 0, 4096, 01600));
	TRY("openat_proc_self_maps", open("/proc/self/maps", O_RDONLY));
	say("calls", text);
	text.clear();
	const int plain = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	auto map = [&](const char *name, size_t size, int protection, int flags) {
		errno = 0;
		void *made = mmap(nullptr, size, protection, flags, -1, 0);
		text += std::string(name) + "=" + (made == MAP_FAILED ? strerror(errno) : "ok") + "; ";
		if (made != MAP_FAILED)
			munmap(made, size);
	};
	map("reserve_128GiB", size_t{1} << 37, PROT_NONE, plain);
	map("reserve_8TiB", size_t{1} << 43, PROT_NONE, plain);
	map("rwx", 4096, PROT_READ | PROT_WRITE | PROT_EXEC, plain);
	map("huge", 2 << 20, PROT_READ | PROT_WRITE, plain | MAP_HUGETLB);
	map("shared", 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
	say("maps", text);
}

static void
look_at_rights()
{
	std::string status = content("/proc/self/status"), nodes, opened, names;
	list_nodes("/dev", nodes, opened);
	say("nodes", nodes);
	say("nodes-opened", opened);
	say("uid", number(getuid()) + " " + line_of(status, "CapEff") + " " + line_of(status, "NoNewPrivs") + " " +
				   line_of(status, "Seccomp:"));
	say("cores", line_of(status, "Cpus_allowed_list"));
	for (char **entry = environ; *entry; entry++)
		names += std::string(*entry).substr(0, strcspn(*entry, "=")) + " ";
	say("environment", names);
	say("mark", getenv("KETTLE_GPU_RUN_MARK") ? "seen" : "not seen");
	for (const char *name : {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "LD_LIBRARY_PATH", "CUDA_CACHE_PATH"})
		if (getenv(name))
			say((std::string("env.") + name).c_str(), getenv(name));
	say("cgroup", line_of(content("/proc/self/cgroup"), ""));
	say("driver-version", line_of(content("/proc/driver/nvidia/version"), ""));
	say("driver-params", line_of(content("/proc/driver/nvidia/params"), ""));
	say("pci", line_of(content("/sys/bus/pci/devices/0000:00:00.0/vendor"), ""));
	say("home-of-root", access("/root", R_OK) == 0 ? "readable" : strerror(errno));
	look_at_processes();
	look_at_limits();
	look_at_calls();
	say("map-count", line_of(content("/proc/sys/vm/max_map_count"), ""));
	printf("mountinfo:\n%s\n", content("/proc/self/mountinfo").c_str());
}

// ---- What the driver gives ----

static bool
cuda(const char *key, cudaError_t code, double began)
{
	say(key, code == cudaSuccess ? "ok in " + number(now_ms() - began) + " ms"
								 : std::string("error ") + number(code) + ": " + cudaGetErrorString(code));
	return code == cudaSuccess;
}

static bool
look_at_driver()
{
	double began = now_ms();
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	say("libcuda", library ? "loaded in " + number(now_ms() - began) + " ms" : dlerror());
	int (*init)(unsigned) = library ? reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit")) : nullptr;
	began = now_ms();
	int code = init ? init(0) : -1;
	say("cuInit", number(code) + " in " + number(now_ms() - began) + " ms");
	int count = 0;
	began = now_ms();
	if (!cuda("count-call", cudaGetDeviceCount(&count), began))
		return false;
	say("count", number(count));
	return count > 0;
}

static bool
look_at_memory()
{
	size_t unused = 0, all = 0;
	double began = now_ms();
	bool fine = cuda("context", cudaFree(nullptr), began);
	began = now_ms();
	fine = cuda("mem-get-info", cudaMemGetInfo(&unused, &all), began) && fine;
	say("memory",
		number(static_cast<double>(unused >> 20)) + " of " + number(static_cast<double>(all >> 20)) + " MiB are free");
	return fine;
}

static bool
run_once(int size)
{
	std::vector<float> host(size);
	float *device = nullptr;
	bool fine = true;
	for (int i = 0; i < size; i++)
		host[i] = static_cast<float>(i % 1000);
	double began = now_ms();
	fine = cuda("malloc", cudaMalloc(reinterpret_cast<void **>(&device), size * sizeof(float)), began) && fine;
	began = now_ms();
	fine =
		cuda("copy-in", cudaMemcpy(device, host.data(), size * sizeof(float), cudaMemcpyHostToDevice), began) && fine;
	began = now_ms();
	run_kernel(device, size);
	fine = cuda("launch", cudaGetLastError(), began) && cuda("first-kernel", cudaDeviceSynchronize(), began) && fine;
	began = now_ms();
	fine =
		cuda("copy-out", cudaMemcpy(host.data(), device, size * sizeof(float), cudaMemcpyDeviceToHost), began) && fine;
	int wrong = 0;
	for (int i = 0; i < size; i++)
		wrong += host[i] != 2 * static_cast<float>(i % 1000);
	say("wrong", number(wrong));
	fine = cuda("free", cudaFree(device), now_ms()) && fine;
	return fine && wrong == 0;
}

#ifndef STAND_IN // whose runtime has no more than the harness needs
static void
look_further()
{
	void *pinned = nullptr, *managed = nullptr;
	double began = now_ms();
	if (cuda("pinned-256-MiB", cudaMallocHost(&pinned, 256 << 20), began))
		cudaFreeHost(pinned);
	cudaGetLastError();
	began = now_ms();
	if (cuda("managed-64-MiB", cudaMallocManaged(&managed, 64 << 20), began)) {
		memset(managed, 1, 64 << 20);
		cudaFree(managed);
	}
	cudaGetLastError();
	cudaDeviceProp facts;
	if (cuda("properties", cudaGetDeviceProperties(&facts, 0), now_ms()))
		say("device", std::string(facts.name) + ", compute " + number(facts.major * 10 + facts.minor) + ", " +
						  number(facts.multiProcessorCount) + " SMs, L2 " + number(facts.l2CacheSize >> 20) + " MiB");
	std::string libraries;
	std::string maps = content("/proc/self/maps");
	for (size_t at = 0; (at = maps.find("/lib", at)) != std::string::npos;) {
		std::string path = maps.substr(at, maps.find('\n', at) - at);
		if ((path.find("cuda") != std::string::npos || path.find("nvidia") != std::string::npos) &&
			libraries.find(path) == std::string::npos)
			libraries += path + " ";
		at += path.size() + 1;
	}
	say("libraries", libraries);
}
#else
static void
look_further()
{
}
#endif

int
main(int argc, char **argv)
{
	const char *channel = getenv("POPCORN_FD");
	out = channel ? fdopen(atoi(channel), "w") : stdout;
	if (!out)
		return 111;
	unsetenv("POPCORN_FD");
	say("test-count", "1");
	look_at_rights();
	bool fine = look_at_driver() && look_at_memory() && run_once(1 << 20);
	if (fine)
		look_further();
	say("test.0.spec", argc > 2 ? argv[1] : "bare");
	say("test.0.status", fine ? "pass" : "fail");
	say("check", fine ? "pass" : "fail");
	return fine ? 0 : 112;
}

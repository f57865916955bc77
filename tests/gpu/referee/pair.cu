// SPDX-License-Identifier: MIT
// Says, as lines `key: value`, what two processes on one GPU can do with each other and to each other: pair PART KIND,
// where a KIND is one of KINDS. The parent stands for a referee, its child for a solver, which has another user, no new
// privileges and namespaces of its own.
#include <cuda_runtime.h>

#include "device.cuh"

static Shared *shared;

// ---- processes: what the child is; no device ----

static std::string
spaces_of_self()
{
	std::string text;
	char target[64];
	for (const char *name : {"pid", "mnt", "net", "ipc", "uts", "user"}) {
		ssize_t size = readlink((std::string("/proc/self/ns/") + name).c_str(), target, sizeof(target));
		text +=
			(size < 0 ? std::string(name) + ":" + strerror(errno) : std::string(target, static_cast<size_t>(size))) +
			" ";
	}
	return text;
}

static void
part_processes()
{
	for (const Kind &kind : KINDS) {
		Child child = start(kind, [&kind](int socket) {
			int fd = take_fd(socket);
			bool wrote = write(fd, "b", 1) == 1;
			say(std::string("processes.") + kind.name,
				"uid " + number(getuid()) + ", pid " + number(getpid()) + ", no_new_privs " +
					number(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)) + ", " + spaces_of_self());
			tell(socket, wrote ? 'd' : 'x');
		});
		if (child.pid < 0)
			continue;
		int fd = static_cast<int>(syscall(SYS_memfd_create, "passed", 1));
		char letter = 0;
		pass_fd(child.socket, fd);
		expect(child.socket, 'd');
		await_end(child, WAIT);
		say(std::string("processes.") + kind.name + ".descriptor",
			pread(fd, &letter, 1, 0) == 1 && letter == 'b' ? "passed" : "not written");
		close(fd);
	}
	say("processes.parent", "uid " + number(getuid()) + ", pid " + number(getpid()) + ", " + spaces_of_self());
	say("processes.cores", number(static_cast<double>(cores().size())));
}

// ---- handover: one call, from the parent's clock to its snapshot ----

struct Batch {
	const char *name;
	Wake wake;
	Work work;
	uint64_t kernel_ns;
	int calls;
	bool same_core;
	int pause_us; // before each call
};
static const Batch BATCHES[] = {
	{"spin, nothing", SPIN, NOTHING, 0, 2000, false, 0},
	{"spin, null kernel", SPIN, KERNEL, 0, 2000, false, 0},
	{"spin, null kernel, 1 ms apart", SPIN, KERNEL, 0, 500, false, 1000},
	{"futex, nothing", FUTEX, NOTHING, 0, 2000, false, 0},
	{"futex, null kernel", FUTEX, KERNEL, 0, 2000, false, 0},
	{"futex, null kernel, same core", FUTEX, KERNEL, 0, 2000, true, 0},
	{"socket, null kernel", SOCKET, KERNEL, 0, 2000, false, 0},
	{"spin, events", SPIN, TIMED, 0, 2000, false, 0},
	{"spin, 5 us", SPIN, TIMED, 5000, 2000, false, 0},
	{"spin, 20 us", SPIN, TIMED, 20000, 2000, false, 0},
	{"spin, 100 us", SPIN, TIMED, 100000, 1000, false, 0},
	{"spin, 500 us", SPIN, TIMED, 500000, 1000, false, 0},
	{"spin, 5 ms", SPIN, TIMED, 5000000, 150, false, 0},
	{"spin, events again", SPIN, TIMED, 0, 2000, false, 0},
};

static void
do_call()
{
	if (shared->work == KERNEL)
		run_kernel(shared->kernel_ns);
	else if (shared->work == TIMED)
		shared->device_us = run_timed(shared->kernel_ns);
}

static void
answer_calls(int socket)
{
	device_open();
	tell(socket, 'r');
	while (hear(socket, static_cast<int>(LIMIT)) == 'b') {
		pin(shared->core);
		for (int i = 0; i < 3; i++)
			do_call();
		Wake wake = shared->wake;
		tell(socket, 'b');
		for (uint32_t at = 0, call; (call = await_word(shared->go, at, wake, socket)) != STOP; at = call) {
			shared->seen = now_us();
			do_call();
			shared->finished = now_us();
			set_word(shared->done, call, wake, socket);
		}
		tell(socket, 'e');
	}
}

struct Times {
	std::vector<double> all, there, work, back, snapshot, again, device;
};

static Times
make_calls(const Batch &batch, int socket, double seconds)
{
	Times times;
	const std::vector<int> &set = cores();
	shared->wake = batch.wake;
	shared->work = batch.work;
	shared->kernel_ns = batch.kernel_ns;
	shared->core = batch.same_core ? set[set.size() / 4] : set[set.size() / 2];
	shared->go = shared->done = 0;
	ask(socket, 'b');
	double end = now_us() + seconds * 1e6;
	for (uint32_t call = 1; call <= static_cast<uint32_t>(batch.calls) && now_us() < end; call++) {
		if (batch.pause_us)
			usleep(static_cast<useconds_t>(batch.pause_us));
		double began = now_us();
		set_word(shared->go, call, batch.wake, socket);
		await_word(shared->done, call - 1, batch.wake, socket);
		double back = now_us();
		make_snapshot();
		double kept = now_us();
		make_snapshot();
		double last = now_us();
		times.all.push_back(kept - began);
		times.there.push_back(shared->seen - began);
		times.work.push_back(shared->finished - shared->seen);
		times.back.push_back(back - shared->finished);
		times.snapshot.push_back(kept - back);
		times.again.push_back(last - kept);
		times.device.push_back(shared->device_us);
	}
	set_word(shared->go, STOP, batch.wake, socket);
	expect(socket, 'e');
	return times;
}

static void
say_times(const Batch &batch, const Times &times, double null_us)
{
	std::string key = std::string("handover.") + batch.name + ".";
	say_quantiles(key + "call", times.all);
	say_quantiles(key + "flag there", times.there);
	say_quantiles(key + "launch and wait", times.work);
	say_quantiles(key + "flag back", times.back);
	say_quantiles(key + "snapshot", times.snapshot);
	say_quantiles(key + "second snapshot", times.again);
	if (batch.work != TIMED)
		return;
	say_quantiles(key + "by events", times.device);
	std::vector<double> rest;
	for (size_t i = 0; i < times.all.size(); i++)
		rest.push_back(times.all[i] - times.device[i] - null_us);
	say_quantiles(key + "delta", rest);
}

static void
part_handover()
{
	Child child = start_best(answer_calls);
	const std::vector<int> &set = cores();
	if (set.empty())
		quit("no core is known");
	device_open();
	make_snapshot();
	expect(child.socket, 'r');
	pin(set[set.size() / 4]);
	double null_us = 0;
	for (Batch batch : BATCHES) {
		if (batch.wake == SPIN && set.size() < 2) {
			say(std::string("skip.handover, ") + batch.name, "there is one core");
			continue;
		}
#ifdef STAND_IN
		batch.calls = batch.calls / 50 + 1;
#endif
		Times times = make_calls(batch, child.socket, 1.2);
		/* An empty call with events: what a call costs beside its events' time. */
		if (batch.work == TIMED && batch.kernel_ns == 0) {
			std::vector<double> rest;
			for (size_t i = 0; i < times.all.size(); i++)
				rest.push_back(times.all[i] - times.device[i]);
			null_us = null_us ? null_us : median_of(rest);
		}
		say_times(batch, times, null_us);
	}
	say("handover.null", number(null_us));
	tell(child.socket, 'q');
	await_end(child, WAIT);
}

#ifndef STAND_IN

// ---- memory: shared by a descriptor ----

static const size_t SIZE = 64 << 20;
static const uint64_t FIRST = 0x1111111111111111, SECOND = 0x2222222222222222, THIRD = 0x3333333333333333,
					  FOURTH = 0x4444444444444444, FIFTH = 0x5555555555555555;

static void
import_memory(int socket, const std::string &key)
{
	Mapped memory = {};
	memory.size = SIZE;
	expect(socket, 'g', static_cast<int>(LIMIT));
	device_open();
	tell(socket, 'r');
	if (!take_steps(key, memory, socket)) {
		tell(socket, 'x');
		return;
	}
	say(key + "sees the exporter's words", share_of(count(memory.pointer(), SIZE, FIRST).same, SIZE));
	say(key + "writes", name_of(fill(memory.pointer(), SIZE, SECOND)));
	tell(socket, 'w');
	expect(socket, 'o');
	say(key + "writes after the exporter set read only", name_of(fill(memory.pointer(), SIZE, THIRD)));
	tell(socket, 'w');
	expect(socket, 'u');
	say(key + "sees its words after the exporter dropped it",
		share_of(count(memory.pointer(), SIZE, THIRD).same, SIZE));
	say(key + "writes after the exporter dropped it", name_of(fill(memory.pointer(), SIZE, FOURTH)));
	tell(socket, 'w');
	expect(socket, 'p');
	step(key + "sets read only for itself", [&] { return allow(memory, CU_MEM_ACCESS_FLAGS_PROT_READ); });
	say(key + "writes after that", name_of(fill(memory.pointer(), SIZE, FIFTH)));
	tell(socket, 'w');
}

static void
export_memory(int socket)
{
	Mapped memory = {};
	memory.size = SIZE;
	expect(socket, 'g', static_cast<int>(LIMIT));
	device_open();
	if (!make_steps("memory.child exports.", memory))
		quit("nothing to export");
	MUST(fill(memory.pointer(), SIZE, FIRST));
	give_steps("memory.child exports.", memory, socket);
	hear(socket, static_cast<int>(LIMIT)); // until it is killed
}

static void
share_with(Child child, const std::string &name)
{
	std::string key = "memory.exporter, " + name + ".";
	Mapped memory = {};
	memory.size = SIZE;
	size_t before = free_bytes();
	tell(child.socket, 'g');
	if (hear(child.socket) != 'r') {
		say(key + "importer", "it has no context");
		await_end(child, WAIT);
		return;
	}
	if (!make_steps(key, memory))
		quit("nothing to export");
	MUST(fill(memory.pointer(), SIZE, FIRST));
	give_steps(key, memory, child.socket);
	if (hear(child.socket) != 'w') {
		say(key + "importer", "it could not take the memory");
		await_end(child, WAIT);
		drop_steps(key, memory);
		return;
	}
	say(key + "sees the importer's words", share_of(count(memory.pointer(), SIZE, SECOND).same, SIZE));
	step(key + "sets read only for itself", [&] { return allow(memory, CU_MEM_ACCESS_FLAGS_PROT_READ); });
	ask(child.socket, 'o', 'w');
	say(key + "sees what the importer wrote then", share_of(count(memory.pointer(), SIZE, THIRD).same, SIZE));
	size_t held = free_bytes();
	drop_steps(key, memory);
	say(key + "free after dropping it",
		std::to_string((static_cast<long>(free_bytes()) - static_cast<long>(held)) >> 20) + " MiB more");
	ask(child.socket, 'u', 'w');
	ask(child.socket, 'p', 'w');
	say(key + "importer ends in", number(await_end(child, WAIT) * 1e3) + " ms");
	say_returned(key + "after the importer's end", before);
	say(key + "context still works", name_of(cudaDeviceSynchronize()));
}

static void
take_from(Child child)
{
	const std::string key = "memory.parent imports.";
	Mapped memory = {};
	memory.size = SIZE;
	size_t before = free_bytes();
	tell(child.socket, 'g');
	bool fine = take_steps(key, memory, child.socket);
	if (fine)
		say(key + "sees the exporter's words", share_of(count(memory.pointer(), SIZE, FIRST).same, SIZE));
	kill(child.pid, SIGKILL);
	say(key + "killed exporter ends in", number(await_end(child, WAIT) * 1e3) + " ms");
	if (!fine)
		return;
	say(key + "sees them after its death", share_of(count(memory.pointer(), SIZE, FIRST).same, SIZE));
	say(key + "writes after its death", name_of(fill(memory.pointer(), SIZE, SECOND)));
	say(key + "sees its own", share_of(count(memory.pointer(), SIZE, SECOND).same, SIZE));
	drop_steps(key, memory);
	say_returned(key + "after dropping it", before);
}

static void
try_sizes()
{
	for (size_t mib : {2, 64, 1024})
		for (const char *time : {"first", "again"}) {
			std::string key = "memory.size " + std::to_string(mib) + " MiB, " + time + ".";
			Mapped memory = {};
			int fd = -1;
			memory.size = mib << 20;
			if (!make_steps(key, memory))
				continue;
			if (step(key + "export", [&] { return export_fd(memory, &fd); }))
				close(fd);
			step(key + "first fill", [&] { return fill(memory.pointer(), memory.size, FIRST); });
			drop_steps(key, memory);
		}
}

static void
part_memory()
{
	std::vector<std::pair<Child, std::string>> importers;
	for (const Kind &kind : KINDS) {
		std::string name = kind.name;
		Child child = start(kind, [name](int socket) { import_memory(socket, "memory.importer, " + name + "."); });
		if (child.pid >= 0)
			importers.push_back({child, name});
	}
	Child exporter = start_best(export_memory);
	device_open();
	CUmemAllocationProp wanted = properties();
	size_t least = 0, best = 0;
	must("granularity", driver.granularity(&least, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	must("granularity", driver.granularity(&best, &wanted, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
	say("memory.granularity", "at least " + std::to_string(least) + ", recommended " + std::to_string(best));
	MUST(fill(nullptr, 0, 0)); // kernels are loaded
	count(nullptr, 0, 0);
	for (auto &[child, name] : importers)
		share_with(child, name);
	take_from(exporter);
	try_sizes();
}

#include "alone.cuh"

// ---- faults: what the child's do to the parent ----

enum Fault { ILLEGAL, TRAP, ENDLESS };

static void
make_fault(int socket, Fault fault, const std::string &key)
{
	Mapped memory = {};
	memory.size = SIZE;
	expect(socket, 'g', static_cast<int>(LIMIT));
	device_open();
	bool mapped = take_steps(key + "child ", memory, socket);
	uint64_t *word = nullptr;
	MUST(cudaMalloc(reinterpret_cast<void **>(&word), 8));
	MUST(cudaMemset(word, 0, 8));
	run_kernel(0);
	tell(socket, mapped ? 'r' : 'x');
	expect(socket, 'f');
	double began = now_us();
	if (fault == ILLEGAL)
		write_kernel<<<1, 1>>>(reinterpret_cast<uint64_t *>(uint64_t{1} << 44), 1);
	else if (fault == TRAP)
		trap_kernel<<<1, 1>>>();
	else
		endless_kernel<<<2 * attribute(cudaDevAttrMultiProcessorCount), 1024>>>(word);
	if (fault == ENDLESS) {
		MUST(cudaGetLastError());
		tell(socket, 'd');
	}
	cudaError_t code = cudaDeviceSynchronize();
	say(key + "child's error", name_of(code) + " after " + number((now_us() - began) / 1e3) + " ms");
	tell(socket, 'd');
	hear(socket, static_cast<int>(LIMIT));
}

// Launches until it may end, and says how long each took; an error ends it.
template <class F>
static void
launch_until(const std::string &key, F over)
{
	std::vector<double> times;
	cudaError_t code = cudaSuccess;
	while (code == cudaSuccess && !over() && times.size() < 1000000) {
		double began = now_us();
		spin_kernel<<<1, 32>>>(0);
		code = cudaDeviceSynchronize();
		times.push_back(now_us() - began);
	}
	say(key + ", launches", name_of(code));
	say_quantiles(key + ", launch, us", times);
}

static void
launch_for(const std::string &key, double seconds)
{
	double end = now_us() + seconds * 1e6;
	launch_until(key, [&] { return now_us() > end; });
}

static void
kill_beside(const std::string &key, Child child)
{
	double began = now_us();
	kill(child.pid, SIGKILL);
	launch_until(key + "while it is killed", [&] {
		siginfo_t info = {};
		int code = waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOHANG | WNOWAIT);
		return code || info.si_pid || now_us() - began > 8e6;
	});
	await_end(child, WAIT);
	say(key + "killed process ends in", number((now_us() - began) / 1e3) + " ms");
}

static void
suffer(Child child, Fault fault, const std::string &key)
{
	Mapped memory = {};
	memory.size = SIZE;
	size_t before = free_bytes();
	tell(child.socket, 'g');
	if (!make_steps(key + "parent ", memory))
		quit("nothing to share");
	MUST(fill(memory.pointer(), SIZE, FIRST));
	give_steps(key + "parent ", memory, child.socket);
	say(key + "memory", hear(child.socket) == 'r' ? "shared" : "not shared");
	launch_for(key + "before", 0.1);
	tell(child.socket, 'f');
	if (fault == ENDLESS)
		expect(child.socket, 'd');
	launch_for(key + "beside", 0.6);
	if (fault != ENDLESS)
		expect(child.socket, 'd');
	kill_beside(key, child);
	launch_for(key + "after", 0.1);
	say(key + "memory afterwards", share_of(count(memory.pointer(), SIZE, FIRST).same, SIZE));
	drop_steps(key + "parent ", memory);
	say_returned(key + "afterwards", before);
}

static void
part_faults()
{
	static const struct {
		Fault fault;
		const char *name;
	} faults[] = {{ILLEGAL, "illegal address"}, {TRAP, "trap"}, {ENDLESS, "endless kernel"}};
	std::vector<Child> made;
	for (auto &one : faults) {
		std::string key = std::string("faults.") + one.name + ".";
		Fault fault = one.fault;
		made.push_back(start_best([fault, key](int socket) { make_fault(socket, fault, key); }));
	}
	device_open();
	MUST(fill(nullptr, 0, 0));
	count(nullptr, 0, 0);
	for (size_t i = 0; i < made.size(); i++)
		suffer(made[i], faults[i].fault, std::string("faults.") + faults[i].name + ".");
}

// ---- remains: what new memory holds ----

static const size_t CHUNK = size_t{2} << 30;

// Takes memory by chunks as long as more than a chunk stays free.
template <class F>
static size_t
take_most(bool by_handle, F each)
{
	std::vector<std::pair<void *, Mapped>> taken;
	while (free_bytes() > 2 * CHUNK) {
		Mapped memory = {};
		memory.size = CHUNK;
		void *at = nullptr;
		if (!by_handle && cudaMalloc(&at, CHUNK) != cudaSuccess)
			break;
		if (by_handle) {
			must("create", create(memory));
			must("reserve", driver.reserve(&memory.at, CHUNK, 0, 0, 0));
			must("map", driver.map(memory.at, CHUNK, 0, memory.handle, 0));
			must("access", allow(memory, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
			at = memory.pointer();
		}
		each(at);
		taken.push_back({at, memory});
	}
	for (auto &[at, memory] : taken) {
		if (!by_handle) {
			MUST(cudaFree(at));
			continue;
		}
		must("unmap", driver.unmap(memory.at, CHUNK));
		must("release", driver.release(memory.handle));
		must("unreserve", driver.unreserve(memory.at, CHUNK));
	}
	return taken.size();
}

static void
leave_words(int socket, bool by_handle, bool freed)
{
	expect(socket, 'g', static_cast<int>(LIMIT));
	device_open();
	size_t chunks = take_most(by_handle, [&](void *at) {
		MUST(fill(at, CHUNK, shared->pattern));
		if (!freed && free_bytes() <= 2 * CHUNK) { // it is to be killed with all of it
			tell(socket, 'd');
			hear(socket, static_cast<int>(LIMIT));
		}
	});
	say("remains.child wrote", std::to_string(2 * chunks) + " GiB");
	tell(socket, 'd');
}

static void
search_words(const std::string &key, bool by_handle)
{
	Count found = {};
	double began = now_us();
	size_t chunks = take_most(by_handle, [&](void *at) {
		Count one = count(at, CHUNK, shared->pattern);
		found.same += one.same;
		found.some += one.some;
	});
	say(key, std::to_string(found.same) + " words of the pattern, " + std::to_string(found.some) + " words not 0 of " +
				 std::to_string(chunks * (CHUNK / 8)) + " (" + std::to_string(2 * chunks) + " GiB, " +
				 number((now_us() - began) / 1e3) + " ms)");
}

static void
part_remains()
{
	static const struct {
		const char *name;
		bool by_handle, freed;
	} cases[] = {{"cudaMalloc, freed", false, true}, {"cudaMalloc, killed", false, false},
		{"handle, freed", true, true}, {"handle, killed", true, false}};
	std::vector<Child> made;
	for (auto &one : cases) {
		bool by_handle = one.by_handle, freed = one.freed;
		made.push_back(start_best([by_handle, freed](int socket) { leave_words(socket, by_handle, freed); }));
	}
	device_open();
	MUST(fill(nullptr, 0, 0));
	count(nullptr, 0, 0);
	size_t before = free_bytes();
	for (size_t i = 0; i < made.size(); i++) {
		std::string key = std::string("remains.") + cases[i].name;
		if (getrandom(&shared->pattern, 8, 0) != 8)
			quit("no random words");
		double began = now_us();
		ask(made[i].socket, 'g', 'd');
		say(key + ", written in", number((now_us() - began) / 1e3) + " ms");
		if (!cases[i].freed)
			kill(made[i].pid, SIGKILL);
		say(key + ", its end takes", number(await_end(made[i], WAIT) * 1e3) + " ms");
		say_returned(key + ", after its end", before);
		search_words(key + ", by cudaMalloc", false);
		search_words(key + ", by handle", true);
	}
	for (bool by_handle : {false, true}) {
		if (getrandom(&shared->pattern, 8, 0) != 8)
			quit("no random words");
		take_most(by_handle, [&](void *at) { MUST(fill(at, CHUNK, shared->pattern)); });
		search_words(
			std::string("remains.own memory taken again, ") + (by_handle ? "by handle" : "by cudaMalloc"), by_handle);
	}
}

#include "cache.cuh"

// ---- host: can a kernel read the host's memory ----

static void
read_host(int socket)
{
	expect(socket, 'g', static_cast<int>(LIMIT));
	device_open();
	uint64_t *host = static_cast<uint64_t *>(malloc(1 << 20)), *device = nullptr, found = 0;
	std::fill(host, host + (1 << 17), FIRST);
	MUST(cudaMalloc(reinterpret_cast<void **>(&device), 8));
	copy_kernel<<<1, 1>>>(device, host, 1);
	cudaError_t code = cudaDeviceSynchronize();
	if (code == cudaSuccess)
		code = cudaMemcpy(&found, device, 8, cudaMemcpyDeviceToHost);
	say("host.a kernel reads malloc's memory", name_of(code) + (found == FIRST ? ", it reads it" : ""));
	tell(socket, 'd');
}

static void
part_host()
{
	Child child = start_best(read_host);
	device_open();
	say("host.pageable memory access", std::to_string(attribute(cudaDevAttrPageableMemoryAccess)));
	say("host.by the host's page tables", std::to_string(attribute(cudaDevAttrPageableMemoryAccessUsesHostPageTables)));
	say("host.concurrent managed access", std::to_string(attribute(cudaDevAttrConcurrentManagedAccess)));
	char value[16] = {};
	int fd = open("/sys/module/nvidia_uvm/parameters/uvm_disable_hmm", O_RDONLY | O_CLOEXEC);
	say("host.uvm_disable_hmm",
		fd >= 0 && read(fd, value, sizeof(value) - 1) > 0 ? std::string(value, strcspn(value, "\n")) : strerror(errno));
	ask(child.socket, 'g', 'd');
	await_end(child, WAIT);
}

#endif

static const struct {
	const char *name;
	void (*run)();
} PARTS[] = {
	{"processes", part_processes},
	{"handover", part_handover},
#ifndef STAND_IN
	{"memory", part_memory},
	{"alone", part_alone},
	{"faults", part_faults},
	{"remains", part_remains},
	{"cache", part_cache},
	{"host", part_host},
#endif
};

int
main(int argc, char **argv)
{
	limit_process();
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	if (argc == 3)
		for (const Kind &kind : KINDS)
			if (strcmp(kind.name, argv[2]) == 0)
				usual = &kind;
	shared = make_shared();
	if (!shared)
		quit(std::string("no shared memory: ") + strerror(errno));
	for (auto &part : PARTS)
		if (argc == 3 && strcmp(part.name, argv[1]) == 0) {
			part.run();
			say("end", argv[1]);
			return 0;
		}
#ifdef STAND_IN
	say("skip." + std::string(argc > 1 ? argv[1] : ""),
		"the stand-in has one process's memory and no clock of a device");
	return 0;
#else
	quit("no such part");
#endif
}

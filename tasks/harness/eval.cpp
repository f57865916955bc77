// SPDX-License-Identifier: MIT
// The harness of C++ boards: started as `program <mode> <cases file>`, it checks and times the submission.
//
// For authors. A task brings three things besides this file and utils.h (tasks/vectoradd_cpp is an example):
//
//   task.h         what submission and reference share:
//                    using input_t = …; using output_t = …;         (values: a copy must be independent)
//                    void custom_kernel(const input_t &input, output_t &output);
//   reference.h    includes task.h and utils.h, and defines
//                    static input_t generate_input(const Case &c);  (everything from c: c.size("n"), c.seed() …)
//                    static output_t make_output(const input_t &);  (as the submission finds it; fill it with NaN)
//                    static std::string check_implementation(const input_t &, const output_t &);  ("" if right,
//                                                                    else a sentence for the participant)
//                  and, if it likes, #define BENCHMARK_SECONDS, RANKED_SECONDS (see below)
//   task.yml       config: {sources: [eval.cpp, submission.cpp]}
//
// The submission includes task.h and defines custom_kernel. Throw BadCase for a case that makes no sense.
//
// What it does. test: one call per case, checked. benchmark and leaderboard: a few calls to warm up, then timed calls
// until the mean is known to 0.1 % or the time is over, but never before enough calls. Every call, also those that warm
// up, has fresh inputs (where the case has a seed) and an output of its own, starts with a cold cache, and is checked,
// outside of the timed section, against a copy of the inputs that was taken before: a submission gains nothing
// from noticing the phase, from keeping results, or from changing its input. profile: two calls per case and a report.
//
// What one process can do, and does, against a hostile submission. Before any constructor of the submission runs
// (.preinit_array), seed and channel are taken out of the environment and their bytes overwritten, the channel moves to
// a random descriptor, the process becomes non-dumpable (closes /proc/self/{mem,environ,maps,fd}), and the clock is
// looked up in the vDSO itself. Clock, results and the end use no symbol that a submission could define. `check` is
// written last, and the process ends there and then: whoever leaves earlier has not passed.
//
// What stays open in one process: the submission shares the address space. It can search memory for the seed, the copy
// of the inputs and the channel's number, undo the above by the same system calls, replace what the C++ library
// resolves at link time (operator new, members of std::vector), run still earlier (an ifunc), leave work to a thread,
// and return before its output is complete as long as it wins the race with the copy of the output. Where that
// matters, use a harness with a referee and a solver.
#ifndef TASK_REFERENCE // eval_single.cpp includes this file and brings its own
#define TASK_REFERENCE "reference.h"
#endif
#include TASK_REFERENCE

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <sstream>

// Limits, in seconds for each benchmark line, everything but warming up included. A task may set its own.
#ifndef BENCHMARK_SECONDS
#define BENCHMARK_SECONDS 2.0
#endif
#ifndef RANKED_SECONDS
#define RANKED_SECONDS 6.0
#endif

// How many fresh inputs a test checks, how many calls warm up (threads started, pages touched, clock frequency up), and
// how many are timed (0: as many as it takes).
#ifndef TEST_CALLS
#define TEST_CALLS 1
#endif
#ifndef WARMUP_CALLS
#define WARMUP_CALLS 3
#endif
#ifndef TIMED_CALLS
#define TIMED_CALLS 0
#endif

extern "C" char **environ;

namespace
{
enum ExitStatus { PASSED = 0, USAGE = 2, NO_CHANNEL = 111, TEST_FAILED = 112, BAD_CASE = 113 };

// The estimate of the error is itself uncertain, by 1/sqrt(2(n-1)): 24 % for ten calls, 13 % for thirty. Fewer calls
// would let a lucky or a made-up streak of equal times end the measurement.
constexpr size_t BENCHMARK_MIN_CALLS = 10, RANKED_MIN_CALLS = 30, MAX_CALLS = 10000;
constexpr double RELATIVE_ERROR = 0.001;
constexpr size_t DEFAULT_CACHE = 32u << 20, MAX_CACHE = 512u << 20; // bytes, where the machine does not say, at most
constexpr size_t MAX_MESSAGE = 4000;                                // bytes of a message to the participant
constexpr size_t CACHE_LINE = 64;

// ---- Before everything else: plain code, no library that needs to be initialised ----

#define EARLY __attribute__((no_sanitize("address", "undefined", "thread"))) static

using clock_function = int (*)(clockid_t, struct timespec *);

struct Harness {
	bool ready = false;
	int channel = -1;
	bool has_secret = false;
	uint64_t secret = 0;
	clock_function clock = nullptr;
	size_t cores = 1;
};
Harness harness; // constant-initialised: nothing resets it after take_over

EARLY long
raw_syscall(long number, long a, long b, long c)
{
#if defined(__x86_64__)
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#else
	long result = syscall(number, a, b, c);
	return result < 0 ? -errno : result;
#endif
}

EARLY bool
same_text(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

// The value behind `name` in the environment, and the entry's place in *ret_entry; NULL if there is none.
EARLY char *
environment_value(char **env, const char *name, char ***ret_entry)
{
	for (; *env; env++) {
		char *at = *env;
		const char *wanted = name;
		while (*wanted && *at == *wanted)
			at++, wanted++;
		if (!*wanted && *at == '=') {
			*ret_entry = env;
			return at + 1;
		}
	}
	return nullptr;
}

// Takes a decimal number out of the environment and leaves no trace of it there.
EARLY bool
take_number(char **env, const char *name, uint64_t *ret_number)
{
	char **entry = nullptr;
	char *value = environment_value(env, name, &entry);
	if (!value)
		return false;
	uint64_t number = 0;
	bool valid = *value != 0;
	for (; *value; value++) {
		valid = valid && *value >= '0' && *value <= '9';
		number = number * 10 + static_cast<uint64_t>(*value - '0');
		*const_cast<volatile char *>(value) = 'x';
	}
	for (; *entry; entry++)
		entry[0] = entry[1];
	if (valid)
		*ret_number = number;
	return valid;
}

// Moves the channel to a descriptor that nobody can name in advance; the standard ones stay where they are.
EARLY int
hide_channel(int fd)
{
	uint32_t random = 0;
	raw_syscall(SYS_getrandom, reinterpret_cast<long>(&random), sizeof(random), 0);
	for (int floor : {512, 128, 32}) { // as the limit of open files allows
		long hidden = raw_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, floor + static_cast<long>(random % floor));
		if (hidden < 0)
			continue;
		if (fd > STDERR_FILENO)
			raw_syscall(SYS_close, fd, 0, 0);
		return static_cast<int>(hidden);
	}
	return raw_syscall(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC) < 0 ? -1 : fd;
}

// The vDSO's own clock_gettime: a kernel entry costs several times as much, and the C library's symbol can be defined
// by a submission. NULL if it is not to be found.
EARLY clock_function
vdso_clock(const unsigned char *base)
{
	const ElfW(Ehdr) *header = reinterpret_cast<const ElfW(Ehdr) *>(base);
	const ElfW(Phdr) *segments = reinterpret_cast<const ElfW(Phdr) *>(base + header->e_phoff);
	const ElfW(Dyn) *dynamic = nullptr;
	uintptr_t shift = 0;
	for (int i = header->e_phnum - 1; i >= 0; i--) {
		if (segments[i].p_type == PT_DYNAMIC)
			dynamic = reinterpret_cast<const ElfW(Dyn) *>(base + segments[i].p_offset);
		if (segments[i].p_type == PT_LOAD)
			shift = reinterpret_cast<uintptr_t>(base) + segments[i].p_offset - segments[i].p_vaddr;
	}
	uintptr_t names = 0, symbols = 0;
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_STRTAB)
			names = shift + dynamic->d_un.d_ptr;
		if (dynamic->d_tag == DT_SYMTAB)
			symbols = shift + dynamic->d_un.d_ptr;
	}
	// Every linker puts the names right behind the symbols; that gives their number without the hash tables, of which
	// kernels have one or the other.
	if (!symbols || names <= symbols)
		return nullptr;
	const ElfW(Sym) *symbol = reinterpret_cast<const ElfW(Sym) *>(symbols);
	for (size_t count = (names - symbols) / sizeof(*symbol); count > 0; count--, symbol++) {
		const char *name = reinterpret_cast<const char *>(names) + symbol->st_name;
		if (symbol->st_shndx != SHN_UNDEF &&
			(same_text(name, "__vdso_clock_gettime") || same_text(name, "__kernel_clock_gettime")))
			return reinterpret_cast<clock_function>(shift + symbol->st_value);
	}
	return nullptr;
}

// OpenMP and the like: as many threads as cores we may run on, unless somebody has said otherwise. Goes to the place
// in the environment that the channel's variable has left.
EARLY void
set_threads(char **env)
{
	static char setting[] = "OMP_NUM_THREADS=\0\0\0\0";
	unsigned long mask[128] = {}; // 8192 cores
	long bytes = raw_syscall(SYS_sched_getaffinity, 0, sizeof(mask), reinterpret_cast<long>(mask));
	size_t cores = 0;
	for (long i = 0; i < bytes / static_cast<long>(sizeof(mask[0])); i++)
		cores += static_cast<size_t>(__builtin_popcountl(mask[i]));
	harness.cores = cores ? cores : 1;
	char **entry = nullptr;
	if (environment_value(env, "OMP_NUM_THREADS", &entry))
		return;
	char *digit = setting + sizeof("OMP_NUM_THREADS=") - 1;
	for (size_t unit = 1000, rest = harness.cores; unit > 0; unit /= 10)
		if (rest >= unit || unit == 1)
			*digit++ = static_cast<char>('0' + rest / unit % 10);
	while (*env)
		env++;
	*env = setting; // take_number has left a place behind the last entry
	env[1] = nullptr;
}

EARLY void
take_over(int argc, char **argv, char **env)
{
	if (harness.ready)
		return;
	harness.ready = true;
	char **end = env;
	while (*end)
		end++;
	const ElfW(auxv_t) *aux = reinterpret_cast<const ElfW(auxv_t) *>(end + 1);
	for (; aux->a_type != AT_NULL; aux++)
		if (aux->a_type == AT_SYSINFO_EHDR)
			harness.clock = vdso_clock(reinterpret_cast<const unsigned char *>(aux->a_un.a_val));
	harness.has_secret = take_number(env, "POPCORN_SEED", &harness.secret);
	uint64_t fd = 0;
	if (take_number(env, "POPCORN_FD", &fd) && fd < 1u << 30) {
		harness.channel = hide_channel(static_cast<int>(fd));
		set_threads(env);
	}
	// A profiler must be able to look inside; there is no secret then.
	if (argc < 2 || !same_text(argv[1], "profile"))
		raw_syscall(SYS_prctl, PR_SET_DUMPABLE, 0, 0);
}

using start_function = void (*)(int, char **, char **);
__attribute__((section(".preinit_array"), used)) start_function run_first = take_over;

// ---- Clock, results, end ----

double
now_ns()
{
	struct timespec time = {};
	if (!harness.clock || harness.clock(CLOCK_MONOTONIC, &time) != 0)
		raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&time), 0);
	return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

[[noreturn]] void
leave(int status)
{
	for (;;)
		raw_syscall(SYS_exit_group, status, 0, 0);
}

[[noreturn]] void
stop(int status, const std::string &why)
{
	std::cerr << "eval: " << why << std::endl;
	leave(status);
}

// One line, printable: text of a submission must not look like a result.
std::string
on_one_line(const std::string &text)
{
	std::string line;
	for (char c : text.substr(0, MAX_MESSAGE)) {
		if (c == '\n')
			line += " | ";
		else
			line += static_cast<unsigned char>(c) < ' ' || c == 127 ? ' ' : c;
	}
	return line + (text.size() > MAX_MESSAGE ? " … (cut)" : "");
}

void
report(const std::string &key, const std::string &value)
{
	std::string line = key + ": " + on_one_line(value) + "\n";
	const char *at = line.data();
	for (size_t left = line.size(); left > 0;) {
		long written = raw_syscall(SYS_write, harness.channel, reinterpret_cast<long>(at), static_cast<long>(left));
		if (written == -EINTR || written == -EAGAIN)
			continue;
		if (written <= 0)
			stop(TEST_FAILED, "the result channel is gone"); // it was there: somebody has closed it since
		at += written;
		left -= static_cast<size_t>(written);
	}
}

void
report(const std::string &key, double value)
{
	char text[64];
	snprintf(text, sizeof(text), "%.9g", value);
	report(key, std::string(text));
}

// ---- One call ----

void
barrier()
{
	__asm__ volatile("" ::: "memory");
}

// What the caches that this core can fill hold at most. On AMD the C library's sysconf gives the sum over all chips.
size_t
cache_bytes()
{
	size_t most = 0;
#if defined(__x86_64__)
	unsigned a = 0, b = 0, c = 0, d = 0;
	for (unsigned leaf : {4u, 0x8000001du}) // Intel's, AMD's; one format
		for (unsigned level = 0; level < 8 && __get_cpuid_count(leaf, level, &a, &b, &c, &d) && (a & 31); level++)
			most = std::max(most, ((b >> 22) + 1) * ((b >> 12 & 1023) + 1) * ((b & 4095) + 1) * (size_t{c} + 1));
#endif
	if (most == 0)
		most =
			static_cast<size_t>(std::max(0L, std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE))));
	return std::min(most ? most : DEFAULT_CACHE, MAX_CACHE);
}

// Writes twice what the last level holds, a word in every line: plain stores that each claim their line. (memset may
// stream past the cache.)
void
flush_cache()
{
	static size_t bytes = 0;
	static volatile unsigned char *memory = nullptr;
	if (!memory) {
		bytes = 2 * cache_bytes();
		void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (mapped == MAP_FAILED)
			throw std::runtime_error("no memory to flush the cache with");
		madvise(mapped, bytes, MADV_HUGEPAGE);
		memory = static_cast<volatile unsigned char *>(mapped);
	}
	static unsigned char value = 0;
	value++;
	for (size_t i = 0; i < bytes; i += CACHE_LINE)
		memory[i] = value;
}

// A submission that forks and returns in both processes would let the child report too.
void
only_one_process()
{
	static const long self = raw_syscall(SYS_getpid, 0, 0, 0);
	if (raw_syscall(SYS_getpid, 0, 0, 0) != self)
		leave(TEST_FAILED);
}

struct Call {
	double ns = 0;
	std::string error; // "" if the output was right
};

void
run_timed(const input_t &input, output_t &output, Call &call)
{
	try {
		barrier();
		double start = now_ns();
		barrier();
		custom_kernel(input, output);
		barrier();
		call.ns = now_ns() - start;
	} catch (const std::exception &e) {
		call.error = std::string("custom_kernel threw an exception: ") + e.what();
	}
	only_one_process();
}

// The whole of one call: inputs, the call, the check.
Call
call_once(Case c, uint64_t seed)
{
	c.set_seed(seed);
	input_t input = generate_input(c);
	const input_t kept = input;
	output_t output = make_output(input);
	Call call;
	flush_cache();
	run_timed(input, output, call);
	if (!call.error.empty())
		return call;
	const output_t result = output; // at once: what is written later does not count
	call.error = check_implementation(kept, result);
	return call;
}

// The seed of the n-th call of a case: the case's own, then others that follow from it.
uint64_t
seed_of(const Case &c, size_t n)
{
	return n == 0 ? c.seed() : Random(c.seed() + n * 0x632be59bd9b4e019u).bits();
}

// ---- Measurement ----

struct Statistics {
	size_t runs = 0;
	double mean = 0, std = 0, err = 0, best = 0, worst = 0;
};

Statistics
statistics_of(const std::vector<double> &samples)
{
	Statistics s;
	s.runs = samples.size();
	if (samples.empty())
		return s;
	double n = static_cast<double>(s.runs), squares = 0;
	for (double sample : samples)
		s.mean += sample / n;
	for (double sample : samples)
		squares += (sample - s.mean) * (sample - s.mean);
	s.std = samples.size() > 1 ? std::sqrt(squares / (n - 1)) : 0;
	s.err = s.std / std::sqrt(n);
	s.best = *std::min_element(samples.begin(), samples.end());
	s.worst = *std::max_element(samples.begin(), samples.end());
	return s;
}

struct Rule {
	size_t min_calls;
	double seconds;
};

bool
enough(const Rule &rule, const std::vector<double> &samples, double elapsed_ns)
{
	if (TIMED_CALLS || samples.size() < rule.min_calls)
		return TIMED_CALLS && samples.size() >= TIMED_CALLS;
	Statistics s = statistics_of(samples);
	return s.err < RELATIVE_ERROR * s.mean || elapsed_ns >= rule.seconds * 1e9 || samples.size() >= MAX_CALLS;
}

// Returns "" and fills the statistics, or says what was wrong.
std::string
measure(const Case &c, const Rule &rule, Statistics &ret_statistics)
{
	std::vector<double> samples;
	samples.reserve(MAX_CALLS);
	double start = 0;
	for (size_t n = 0;; n++) {
		if (n == WARMUP_CALLS)
			start = now_ns();
		Call call = call_once(c, seed_of(c, n));
		if (!call.error.empty())
			return call.error + (n ? " (call " + std::to_string(n + 1) + ", with fresh inputs)" : "");
		if (n >= WARMUP_CALLS)
			samples.push_back(call.ns);
		if (n >= WARMUP_CALLS && enough(rule, samples, now_ns() - start))
			break;
	}
	ret_statistics = statistics_of(samples);
	return "";
}

// ---- Modes: each returns whether everything was right ----

bool
run_tests(const std::vector<Case> &cases)
{
	report("test-count", std::to_string(cases.size()));
	bool passed = true;
	for (size_t i = 0; i < cases.size(); i++) {
		std::string prefix = "test." + std::to_string(i) + ".";
		report(prefix + "spec", cases[i].text());
		Call call;
		for (size_t n = 0; n < TEST_CALLS && call.error.empty(); n++)
			call = call_once(cases[i], seed_of(cases[i], n));
		report(prefix + "status", call.error.empty() ? "pass" : "fail");
		if (!call.error.empty())
			report(prefix + "error", call.error);
		passed = passed && call.error.empty();
	}
	return passed;
}

bool
run_benchmarks(const std::vector<Case> &cases, const Rule &rule)
{
	report("benchmark-count", std::to_string(cases.size()));
	bool passed = true;
	for (size_t i = 0; i < cases.size(); i++) {
		std::string prefix = "benchmark." + std::to_string(i) + ".";
		report(prefix + "spec", cases[i].text());
		Statistics s;
		std::string error = measure(cases[i], rule, s);
		report(prefix + "status", error.empty() ? "pass" : "fail");
		if (!error.empty()) {
			report(prefix + "error", error);
			passed = false;
			continue;
		}
		report(prefix + "runs", std::to_string(s.runs));
		report(prefix + "mean", s.mean);
		report(prefix + "std", s.std);
		report(prefix + "err", s.err);
		report(prefix + "best", s.best);
		report(prefix + "worst", s.worst);
#ifdef PRINT_SCORE
		std::cout << "score:" << s.mean / 1e9 << std::endl;
#endif
	}
	return passed;
}

std::string
base64(const std::string &text) // with + and *, as the protocol has it
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+*";
	std::string out;
	for (size_t i = 0; i < text.size(); i += 3) {
		uint32_t group = 0;
		for (size_t j = 0; j < 3; j++)
			group = group << 8 | (i + j < text.size() ? static_cast<unsigned char>(text[i + j]) : 0);
		for (size_t j = 0; j < 4; j++)
			out += i + j > text.size() ? '=' : digits[group >> (18 - 6 * j) & 63];
	}
	return out;
}

double
seconds_of(const struct timeval &time)
{
	return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// What the kernel of the machine counted during a warm call.
std::string
profile_of(const Case &c, std::string &ret_error)
{
	ret_error = call_once(c, seed_of(c, 0)).error;
	if (!ret_error.empty())
		return "";
	input_t input = generate_input(c);
	output_t output = make_output(input);
	Call call;
	struct rusage before = {}, after = {};
	flush_cache();
	getrusage(RUSAGE_SELF, &before);
	run_timed(input, output, call);
	getrusage(RUSAGE_SELF, &after);
	ret_error = call.error;
	double cpu = seconds_of(after.ru_utime) - seconds_of(before.ru_utime);
	double kernel = seconds_of(after.ru_stime) - seconds_of(before.ru_stime);
	std::ostringstream text;
	text << "case               " << c.text() << "\n"
		 << "wall time          " << call.ns / 1e6 << " ms\n"
		 << "CPU time, user     " << cpu * 1e3 << " ms\n"
		 << "CPU time, kernel   " << kernel * 1e3 << " ms\n"
		 << "cores in use       " << (call.ns > 0 ? (cpu + kernel) * 1e9 / call.ns : 0) << " of " << harness.cores
		 << "\n"
		 << "page faults        " << after.ru_minflt - before.ru_minflt << "\n"
		 << "waited (switches)  " << after.ru_nvcsw - before.ru_nvcsw << "\n"
		 << "was interrupted    " << after.ru_nivcsw - before.ru_nivcsw << "\n"
		 << "peak memory        " << after.ru_maxrss / 1024 << " MiB (whole process)\n";
	return text.str();
}

bool
run_profile(const std::vector<Case> &cases)
{
	report("benchmark-count", std::to_string(cases.size()));
	bool passed = true;
	for (size_t i = 0; i < cases.size(); i++) {
		std::string prefix = "benchmark." + std::to_string(i) + ".", error;
		report(prefix + "spec", cases[i].text());
		std::string text = profile_of(cases[i], error);
		report(prefix + "status", error.empty() ? "pass" : "fail");
		report(prefix + (error.empty() ? "report" : "error"), error.empty() ? base64(text) : error);
		passed = passed && error.empty();
	}
	return passed;
}

// ---- Start ----

std::vector<Case>
read_cases(const char *path)
{
	std::ifstream file(path);
	if (!file)
		throw BadCase(std::string("cannot read the cases file ") + path);
	std::vector<Case> cases;
	for (std::string line; std::getline(file, line);) {
		if (line.find_first_not_of(" \t\r") == std::string::npos)
			continue;
		Case c(line);
		if (harness.has_secret && c.has("seed")) {
			uint64_t sum = c.seed() + harness.secret; // of two 31-bit numbers: no overflow below
			c.set_seed(c.seed() + sum * (sum + 1) / 2);
		}
		cases.push_back(c);
	}
	if (cases.empty())
		throw BadCase(std::string("there is no case in ") + path);
	return cases;
}

bool
run_mode(const std::string &mode, const char *cases_path)
{
	std::vector<Case> cases = read_cases(cases_path);
	if (mode == "test")
		return run_tests(cases);
	if (mode == "benchmark")
		return run_benchmarks(cases, Rule{BENCHMARK_MIN_CALLS, BENCHMARK_SECONDS});
	if (mode == "leaderboard")
		return run_benchmarks(cases, Rule{RANKED_MIN_CALLS, RANKED_SECONDS});
	return run_profile(cases);
}
} // namespace

int
main(int argc, char **argv)
{
	take_over(argc, argv, environ); // where the C library knows no .preinit_array
	static const char *const modes[] = {"test", "benchmark", "leaderboard", "profile"};
	if (argc != 3 ||
		std::none_of(std::begin(modes), std::end(modes), [&](const char *mode) { return same_text(argv[1], mode); }))
		stop(USAGE, "usage: POPCORN_FD=N program test|benchmark|leaderboard|profile CASES");
	if (harness.channel < 0)
		stop(NO_CHANNEL, "POPCORN_FD must name the open descriptor of the result channel");
	only_one_process();
#ifdef __GLIBC__
	// Memory once touched is used again: without that every call pays for fresh pages, which is most of the time here.
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
	bool passed = false;
	try {
		passed = run_mode(argv[1], argv[2]);
	} catch (const std::exception &e) {
		stop(BAD_CASE, e.what());
	}
	std::cout.flush();
	fflush(nullptr); // what the submission printed; what follows is the last that this process does
	report("check", passed ? "pass" : "fail");
	leave(passed ? PASSED : TEST_FAILED);
}

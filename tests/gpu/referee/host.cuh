// SPDX-License-Identifier: MIT
// Two processes beside each other, without a device: children in namespaces of their own, words and descriptors between them,
// clocks, and how results are written.
//
// Theory of operation. The parent makes all children before it opens the device: a process that has opened it cannot be
// copied. Each child waits for commands of one letter on a socket. Whatever fails ends the whole program with a line
// "trouble"; an alarm ends each process in any case, and a child ends with its parent.
#ifndef REFEREE_HOST_CUH
#define REFEREE_HOST_CUH

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

static const unsigned LIMIT = 25; // seconds of a process
static const int WAIT = 10;       // seconds for an answer
static const unsigned OTHER_UID = 30001;

// ---- Results ----

static void
say(const std::string &key, const std::string &value)
{
	std::string line = key + ": " + value + "\n"; // in one write: children write to the same file
	ssize_t written = write(STDOUT_FILENO, line.data(), line.size());
	(void)written;
}

static std::string
number(double value)
{
	char text[64];
	snprintf(text, sizeof(text), "%.6g", value);
	return text;
}

static double
now_us()
{
	timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

// key: how many values, and their quantiles 0, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9 and 100 %
static void
say_quantiles(const std::string &key, std::vector<double> values)
{
	std::string text = "n=" + number(static_cast<double>(values.size()));
	std::sort(values.begin(), values.end());
	for (double part : {0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0})
		if (!values.empty())
			text += " " + number(values[static_cast<size_t>(part * static_cast<double>(values.size() - 1) + 0.5)]);
	say(key, text);
}

static double
median_of(std::vector<double> values)
{
	if (values.empty())
		return 0;
	std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
	return values[values.size() / 2];
}

// ---- What both see ----

enum Wake { SPIN, FUTEX, SOCKET };
enum Work { NOTHING, KERNEL, TIMED }; // TIMED: a kernel of a given length between two events
enum Mode { IDLE, SHORT, QUEUED, LONG, WIDE, RARE, COPIES };

struct Shared {
	alignas(64) std::atomic<uint32_t> go;                // the call that the child is to begin
	alignas(64) std::atomic<uint32_t> done;              // the call that it has finished
	alignas(64) std::atomic<uint32_t> mode;              // what it does until this changes
	alignas(64) double seen, finished, device_us, value; // of the last call, by the child's clock
	Wake wake;
	Work work;
	uint64_t kernel_ns, pattern, bytes;
	int core;
};
static const uint32_t STOP = 0xffffffff;

static Shared *
make_shared()
{
	int fd = static_cast<int>(syscall(SYS_memfd_create, "pair", 1));
	if (fd < 0 || ftruncate(fd, sizeof(Shared)))
		return nullptr;
	void *made = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return made == MAP_FAILED ? nullptr : static_cast<Shared *>(made);
}

// ---- Children ----

struct Kind {
	const char *name;
	int spaces;   // CLONE_NEW…
	unsigned uid; // 0: ours
};
static const int SPACES = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
static const Kind KINDS[] = {
	{"same", 0, 0}, {"spaces", SPACES, OTHER_UID}, {"userns", SPACES | CLONE_NEWUSER, OTHER_UID}};

struct Child {
	pid_t pid;
	int socket;
};
static std::vector<Child> children;
static std::string me; // "b." in a child

[[noreturn]] static void
quit(const std::string &why)
{
	say(me + "trouble", why);
	for (const Child &child : children)
		kill(child.pid, SIGKILL);
	_exit(3);
}

static void
on_alarm(int)
{
	static const char text[] = "trouble: it reached its own limit\n";
	ssize_t written = write(STDOUT_FILENO, text, sizeof(text) - 1);
	(void)written;
	_exit(4);
}

// The first process of a PID namespace gets no signal that it does not handle.
static void
limit_process()
{
	signal(SIGALRM, on_alarm);
	signal(SIGPIPE, SIG_IGN);
	alarm(LIMIT);
}

static bool
write_map(pid_t pid, const char *name)
{
	std::string path = "/proc/" + std::to_string(pid) + "/" + name;
	static const char map[] = "0 0 65536\n";
	int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
	bool fine = fd >= 0 && write(fd, map, sizeof(map) - 1) == sizeof(map) - 1;
	if (fd >= 0)
		close(fd);
	return fine;
}

static void
become(const Kind &kind)
{
	if (kind.spaces & CLONE_NEWNS && (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) ||
										 mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr)))
		say(std::string("b.") + kind.name + ".proc", strerror(errno));
	if (kind.uid && (syscall(SYS_setgroups, 0, nullptr) || setresgid(kind.uid, kind.uid, kind.uid) ||
						setresuid(kind.uid, kind.uid, kind.uid)))
		quit(std::string("another uid: ") + strerror(errno));
	prctl(PR_SET_DUMPABLE, 1); // as an exec would: else /proc/self is root's
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (kind.uid && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		quit(std::string("no_new_privs: ") + strerror(errno));
}

// A child that runs body(its socket) and ends; pid -1 and a line where it cannot be made.
template <class F>
static Child
start(const Kind &kind, F body)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		quit(std::string("socketpair: ") + strerror(errno));
	pid_t pid = static_cast<pid_t>(syscall(SYS_clone, kind.spaces | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
	if (pid == 0) {
		close(pair[0]);
		for (const Child &other : children)
			close(other.socket);
		children.clear();
		me = "b.";
		limit_process();
		char go;
		if (recv(pair[1], &go, 1, 0) != 1 || go != 's')
			_exit(1);
		become(kind);
		body(pair[1]);
		_exit(0);
	}
	close(pair[1]);
	if (pid < 0 || (kind.spaces & CLONE_NEWUSER && !(write_map(pid, "uid_map") && write_map(pid, "gid_map")))) {
		say(std::string("skip.") + kind.name, std::string(pid < 0 ? "clone: " : "uid_map: ") + strerror(errno));
		close(pair[0]);
		if (pid > 0) {
			kill(pid, SIGKILL);
			waitpid(pid, nullptr, 0);
		}
		return {-1, -1};
	}
	children.push_back({pid, pair[0]});
	if (send(pair[0], "s", 1, MSG_NOSIGNAL) != 1)
		quit("a child ended at once");
	return {pid, pair[0]};
}

static const Kind *usual = &KINDS[0];

// A child of the usual kind, or as far as this machine lets us.
template <class F>
static Child
start_best(F body)
{
	Child child = start(*usual, body);
	return child.pid < 0 ? start(KINDS[0], body) : child;
}

// Seconds until a child has ended, by whatever it is.
static double
await_end(Child child, double seconds)
{
	double began = now_us();
	while (waitpid(child.pid, nullptr, WNOHANG) == 0) {
		if (now_us() - began > seconds * 1e6)
			quit("a child did not end in " + number(seconds) + " s");
		usleep(200);
	}
	children.erase(
		std::remove_if(children.begin(), children.end(), [&](const Child &one) { return one.pid == child.pid; }),
		children.end());
	close(child.socket);
	return (now_us() - began) / 1e6;
}

// ---- Between them ----

static void
tell(int socket, char letter)
{
	if (send(socket, &letter, 1, MSG_NOSIGNAL) != 1)
		quit(std::string("the other process is gone, at ") + letter);
}

// The next letter; 0: the other has ended.
static char
hear(int socket, int seconds = WAIT)
{
	pollfd one = {socket, POLLIN, 0};
	char letter = 0;
	if (poll(&one, 1, seconds * 1000) <= 0)
		quit("no answer in " + number(seconds) + " s");
	return recv(socket, &letter, 1, 0) == 1 ? letter : 0;
}

static void
expect(int socket, char letter, int seconds = WAIT)
{
	char heard = hear(socket, seconds);
	if (heard != letter)
		quit(std::string("expected ") + letter + ", heard " + (heard ? std::string(1, heard) : "its end"));
}

static void
ask(int socket, char letter, char answer = 0)
{
	tell(socket, letter);
	expect(socket, answer ? answer : letter);
}

// A letter, with room for a descriptor.
struct FdMessage {
	char letter = 'f';
	iovec data = {&letter, 1};
	alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
	msghdr message = {};

	FdMessage()
	{
		message.msg_iov = &data;
		message.msg_iovlen = 1;
		message.msg_control = room;
		message.msg_controllen = sizeof(room);
	}
	FdMessage(const FdMessage &) = delete; // the message points into this
};

static void
pass_fd(int socket, int fd)
{
	FdMessage sent;
	cmsghdr *head = CMSG_FIRSTHDR(&sent.message);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(int));
	if (sendmsg(socket, &sent.message, MSG_NOSIGNAL) != 1)
		quit(std::string("sendmsg: ") + strerror(errno));
}

static int
take_fd(int socket)
{
	pollfd one = {socket, POLLIN, 0};
	if (poll(&one, 1, WAIT * 1000) <= 0)
		quit("no descriptor came");
	FdMessage got;
	got.letter = 0;
	cmsghdr *head = recvmsg(socket, &got.message, MSG_CMSG_CLOEXEC) == 1 ? CMSG_FIRSTHDR(&got.message) : nullptr;
	if (!head || head->cmsg_type != SCM_RIGHTS)
		quit(std::string("no descriptor came, but ") + (got.letter ? std::string(1, got.letter) : "the end"));
	int fd;
	memcpy(&fd, CMSG_DATA(head), sizeof(int));
	return fd;
}

// Waits until the word is no longer before; returns what it is. By a socket: each time it is set a letter comes, too.
static uint32_t
await_word(std::atomic<uint32_t> &word, uint32_t before, Wake wake, int socket)
{
	if (wake == SOCKET) {
		expect(socket, '.', 5);
		return word.load(std::memory_order_acquire);
	}
	double end = now_us() + 5e6;
	for (unsigned round = 1; word.load(std::memory_order_acquire) == before; round++) {
		if (wake == FUTEX) {
			timespec slice = {0, 100000000};
			syscall(SYS_futex, &word, FUTEX_WAIT, before, &slice, nullptr, 0);
		} else {
			__builtin_ia32_pause();
		}
		if ((wake == FUTEX || round % 1024 == 0) && now_us() > end)
			quit("a flag was not set in 5 s");
	}
	return word.load(std::memory_order_acquire);
}

static void
set_word(std::atomic<uint32_t> &word, uint32_t value, Wake wake, int socket)
{
	word.store(value, std::memory_order_release);
	if (wake == FUTEX)
		syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
	else if (wake == SOCKET)
		tell(socket, '.');
}

// The cores that were ours at the first call, before anything was pinned.
static const std::vector<int> &
cores()
{
	static const std::vector<int> found = [] {
		cpu_set_t set;
		std::vector<int> all;
		if (sched_getaffinity(0, sizeof(set), &set) == 0)
			for (int core = 0; core < CPU_SETSIZE; core++)
				if (CPU_ISSET(core, &set))
					all.push_back(core);
		return all;
	}();
	return found;
}

static void
pin(int core)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(core, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

#endif

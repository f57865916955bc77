# SPDX-License-Identifier: MIT
"""A board in C++ whose submissions compile and run in a moment, or until they are let go."""
import os
import pathlib
import signal

HARNESS = """\
#include <cstdlib>
#include <cstring>
#include <unistd.h>
int answer();
int main() {
	int fd = std::atoi(std::getenv("POPCORN_FD"));
	const char text[] = "test-count: 1\\ntest.0.status: pass\\nbenchmark-count: 1\\nbenchmark.0.status: pass\\nbenchmark.0.runs: 3\\n"
						"benchmark.0.mean: 1000\\nbenchmark.0.std: 1\\nbenchmark.0.err: 1\\nbenchmark.0.best: 999\\n"
						"benchmark.0.worst: 1001\\ncheck: pass\\n";
	return answer() == 1 && write(fd, text, sizeof(text) - 1) > 0 ? 0 : 112;
}
"""
# A harness whose score is what the submission answers, in nanoseconds.
SCORED = r"""
#include <cstdio>
#include <cstdlib>
int answer();
int main() {
	int mean = answer();
	dprintf(std::atoi(std::getenv("POPCORN_FD")), "test-count: 1\ntest.0.status: pass\nbenchmark-count: 1\nbenchmark.0.status: pass\n"
			"benchmark.0.runs: 3\nbenchmark.0.mean: %d\nbenchmark.0.std: 1\nbenchmark.0.err: 1\nbenchmark.0.best: %d\nbenchmark.0.worst: %d\n"
			"check: pass\n", mean, mean - 1, mean + 1);
}
"""
TASK = """\
files: [{name: submission.cpp, source: '@SUBMISSION@'}, {name: eval.cpp, source: eval.cpp}]
lang: cpp
config: {sources: [submission.cpp, eval.cpp]}
tests: [{size: 1, seed: 1}]
benchmarks: [{size: 2, seed: 1}]
test_timeout: 600
"""
BRIEF = TASK.replace("test_timeout: 600", "test_timeout: 1")
GOOD = "int answer() { return 1; }\n"
HELD = """\
#include <csignal>
#include <ctime>
#include <sys/prctl.h>
int answer() {
	sigset_t release;
	sigemptyset(&release);
	sigaddset(&release, SIGUSR1);
	sigprocmask(SIG_BLOCK, &release, nullptr); // from here on it is kept until it is waited for
	prctl(PR_SET_NAME, "CALLED");
	const timespec most = {300, 0};
	return sigtimedwait(&release, nullptr, &most) == SIGUSR1;
}
"""


def held(name):
    """A right submission that runs as a process of this name (at most 15 characters) until release(name)."""
    assert len(name) <= 15, name
    return HELD.replace("CALLED", name)


def processes(name):
    """The numbers of those that are called so."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/comm"):
        try:
            if path.read_text().strip() == name:
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


def release(name):
    for pid in processes(name):
        try:
            os.kill(pid, signal.SIGUSR1)
        except OSError:
            pass


def make(folder, task=TASK):
    """Its task, in a new folder, which this returns."""
    folder.mkdir()
    (folder / "eval.cpp").write_text(HARNESS)
    (folder / "task.yml").write_text(task)
    return folder

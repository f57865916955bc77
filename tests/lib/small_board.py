# SPDX-License-Identifier: MIT
"""A board in C++ whose submissions compile and run in a moment."""
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
TASK = """\
files: [{name: submission.cpp, source: '@SUBMISSION@'}, {name: eval.cpp, source: eval.cpp}]
lang: cpp
config: {sources: [submission.cpp, eval.cpp]}
tests: [{size: 1, seed: 1}]
benchmarks: [{size: 2, seed: 1}]
test_timeout: 3
"""
GOOD = "int answer() { return 1; }\n"


def make(folder, task=TASK):
    """Its task, in a new folder, which this returns."""
    folder.mkdir()
    (folder / "eval.cpp").write_text(HARNESS)
    (folder / "task.yml").write_text(task)
    return folder

/* SPDX-License-Identifier: MIT */
/* kettle-profile: one run of a harness under a profiler, and text and files for people from the profiler's output. */
#pragma once

#include <kettle/error.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* ---- child.c: the program under its profiler, watched until its end, and tools that read the profiler's output ---- */

#define CHILD_CONTROLS 2
#define CHILD_MAX_WORDS 1100 /* of a command line, the program's own included */
#define CHILD_TAIL_SIZE 4096 /* bytes of stderr that are remembered */
#define CHILD_ACK_MS 5000    /* how long a profiler may take to answer a command */

/* The variable that names the descriptors by which a harness says when to measure: "WRITE,READ". See docs/tasks.md. */
#define CHILD_CONTROL_VARIABLE "KETTLE_PROFILE_CONTROL"

/* Both ends of the two pipes that resume and pause a profiler; the profiler's two ends go on its command line. */
struct child_control {
	int commands[2], answers[2]; /* it reads commands[0] and writes answers[1] */
};

/* One run of the program. Zero-initialise, fill in, run once, close. One thread. */
struct child {
	const char *words[CHILD_MAX_WORDS + 1]; /* argv, NULL-terminated; borrowed */
	size_t count;
	const char *variables[4][2]; /* further environment: name, value; until a NULL */
	struct child_control controls[CHILD_CONTROLS];
	size_t controls_count;
	int mark; /* the number to which a byte is written when the program itself is started; -1: none (profile_mark) */
	/* After the run: */
	int status;                 /* as waitpid gives it */
	bool started;               /* the mark was written, or there was none */
	char tail[CHILD_TAIL_SIZE]; /* the end of what it wrote to stderr, NUL-terminated */
	int marks[2];
};

/* Adds words to the command line; too many are KETTLE_ETOOBIG when it is run. NULL ends them. */
void child_add(struct child *child, ...) __attribute__((sentinel));
void child_add_list(struct child *child, char *const *words);
/* Makes the mark, and one more of at most CHILD_CONTROLS controls; the numbers are then known. KETTLE_EIO. */
int child_make_mark(struct child *child, struct kettle_error *err);
int child_make_control(struct child *child, struct kettle_error *err);
/*
 * Runs it to its end and passes its stderr on to this process's. With controls, its environment has
 * CHILD_CONTROL_VARIABLE: its commands ("enable\n", "disable\n") are passed to all controls, and answered with "ack\n"
 * when all have answered. [blocks]
 */
int child_run(struct child *child, struct kettle_error *err);
void child_close(struct child *child);

/* Bytes of a tool's stdout; a value other than 0 ends the tool. */
typedef int (*child_take)(void *arg, const char *data, size_t size);
/*
 * Runs a tool (NULL-terminated argv), drops its stderr, and passes its stdout on. KETTLE_EUNAVAIL with a sentence: it
 * failed or took longer than `seconds`; else the result of `take`. [blocks]
 */
int child_read(const char *const *argv, unsigned seconds, child_take take, void *arg, struct kettle_error *err);

/* ---- profile.c: the common part of all profilers ---- */

#define PROFILE_OUT "out" /* where artifacts are left */
#define PROFILE_FILES 3   /* artifacts of one profiler at most */

#define PROFILE_LAUNCHES "10" /* launches of a profile that sets no number */

/* The launches that are profiled, by words of the command line, which are borrowed; NULL: not given. */
struct profile_capture {
	const char *kernel; /* a name, or "regex:" and an expression; never with a `-` at its beginning */
	const char *kernel_base;
	const char *launches, *skip;
	const char *range; /* "no": the harness opens none */
};

/* Filled in by main; the rest is the profiler's. */
struct profile {
	const char *tool;     /* the profiler's path; NULL: the machine does not have it */
	const char *self;     /* the path of kettle-profile */
	const char *folder;   /* an empty one for intermediate files; removed afterwards */
	char *const *program; /* the harness's command line */
	int channel;          /* the number of the result channel; 0: none */
	struct profile_capture capture;
	int status;                      /* of the harness, as waitpid gives it */
	bool empty;                      /* it captured no kernel launch; the trouble names those that there were */
	const char *left[PROFILE_FILES]; /* the artifacts that are the profiler's; the rest is NULL */
	struct buf report;               /* text for people */
	struct buf trouble;              /* one sentence: what the machine could not do, and how to fix it */
};

/* Sets profile->trouble; the first sentence stays. */
void profile_set_problem(struct profile *profile, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Runs the harness without a profiler. */
int profile_plain(struct profile *profile, struct kettle_error *err);
/*
 * Runs the profiler, whose command line is child's words, with the harness's command line after them. If it fails
 * before it starts the harness, that is the trouble, and the harness is run without it.
 */
int profile_under(struct profile *profile, struct child *child, const char *name, struct kettle_error *err);
/* The line in which the tool names its version, "" where it has none; clean. [blocks] */
void profile_version(const struct profile *profile, struct buf *out);
/* Writes a file below PROFILE_OUT; a failure is trouble. name: static. */
void profile_leave(struct profile *profile, const char *name, const struct buf *contents);
/* A file below PROFILE_OUT is the profiler's. name: static. */
void profile_keep(struct profile *profile, const char *name);
/* Removes what a submission has left under the names of artifacts (NULL-terminated) that the profiler did not leave. */
void profile_drop_planted(const struct profile *profile, const char *const *names);

/*
 * perf.c, ncu.c, rocprof.c: run the harness in any case, under the profiler if possible. 0, or the reason why the
 * harness could not be run. [blocks]
 */

/* perf: the counters and the hottest functions; flamegraph.svg and stacks.txt. */
int perf_profile(struct profile *profile, struct kettle_error *err);
/* Nsight Compute: speed of light, pipes and states of warps; profile.ncu-rep, ncu-details.txt and ncu-details.csv. */
int ncu_profile(struct profile *profile, struct kettle_error *err);
/* rocprofv3: the times of kernels; trace.pftrace, the traces of all processes in one. */
int rocprof_profile(struct profile *profile, struct kettle_error *err);

/* ---- report.c: text for people: clean, on lines of bounded length, and no longer than a report may be ---- */

#define REPORT_MAX_BYTES 65536 /* of the text of one run */
#define REPORT_MAX_WORD 200    /* bytes of a name in it */

/* Appends a name or a value, cut at `most` bytes: control characters and non-UTF-8 replaced, newlines by blanks. [any] */
void report_word(struct buf *out, const char *text, size_t most);
/* Appends a name of at most REPORT_MAX_WORD bytes, and blanks up to `width` columns, one at least. [any] */
void report_column(struct buf *out, const char *text, size_t width);
/* Whether there is room for another line. */
bool report_has_room(const struct buf *out);
/* 1234567.5 as "1,234,567.50", with that many digits behind the point. */
#define REPORT_NUMBER_SIZE 48
void report_number(double value, int digits, char ret_text[REPORT_NUMBER_SIZE]);

/* ---- csv.c: rows of comma-separated values; any bytes give rows of bounded size ---- */

#define CSV_MAX_FIELDS 64 /* of a row; further ones are skipped */

/* The position in bytes with a NUL behind them, which csv_next writes into. */
struct csv {
	char *at, *end;
	char separator;
};

struct csv_row {
	const char *fields[CSV_MAX_FIELDS]; /* unquoted, NUL-terminated; they lie in the bytes that are read */
	size_t count;
};

/* The next row; false: there is none. A quoted field may hold separators and newlines, and `""` is a quote. */
bool csv_next(struct csv *csv, struct csv_row *ret_row);
/* The columns of these names in a header, -1 where it has none; whether it has all of them. */
bool csv_columns(const struct csv_row *header, const char *const *names, size_t count, int *ret_columns);
/* The field of a column (-1: none); "" where the row does not have it. */
const char *csv_field(const struct csv_row *row, int column);

/*
 * Readers of one file each; they write into its bytes, which a NUL follows. KETTLE_EINVAL with a sentence: it is not
 * such a file, or has nothing to show. [any]
 */

#define COUNTERS_MAX 40 /* lines */

/* perf.c: appends a line for each event that `perf stat -x ;` counted, and the names of those it could not count. */
int counters_text(char *data, size_t size, struct buf *out, struct kettle_error *err);

#define DETAILS_MAX_LAUNCHES 10 /* as many as a profile has */
#define DETAILS_MAX_METRICS 100 /* of one launch */

/*
 * ncu.c: appends, for each launch of Nsight Compute's details page (`ncu --import … --page details --csv`), the
 * sections on the speed of light, the pipes and the states of warps.
 */
int details_text(char *data, size_t size, struct buf *out, struct kettle_error *err);

/* Adds the names in the column `Kernel Name` of such a page, each once, at most KERNELS_NAMED. The errors are those above. */
struct kernel_names;

/* ---- match.c: the names of kernels, and which of them a profile covers ---- */

#define KERNELS_NAMED 20 /* in a sentence */

struct kernel_names {
	char *list[KERNELS_NAMED];
	size_t count, more; /* more: names without room, counted each time */
};

/* Adds a name, once. */
void kernel_names_add(struct kernel_names *names, const char *name);
/* "`a`, `b` and 3 more", or "none": clean, of bounded length. */
void kernel_names_text(const struct kernel_names *names, struct buf *out);
void kernel_names_free(struct kernel_names *names);

/* Zero-initialise; kernel_match_free at the end. One thread. */
struct kernel_match {
	const char *name; /* NULL: every kernel */
	bool function;    /* of a name without namespace, template and arguments */
	bool compiled;
	regex_t regex;
	unsigned long long skip, launches; /* launches that are skipped and taken; 0: all of them */
	unsigned long long seen;           /* that matched */
};

/* EINVAL: the expression is invalid. */
int kernel_match_init(struct kernel_match *match, const struct profile_capture *capture, struct kettle_error *err);
/* Whether the profile covers this launch; each call is one launch. */
bool kernel_match_takes(struct kernel_match *match, const char *name);
void kernel_match_free(struct kernel_match *match);
/* The name alone of "void ns::name<int>(float*)"; new string. */
char *kernel_function(const char *name);

/* ---- rocprof.c: the time of each kernel, from the traces of rocprofv3 (`*_kernel_trace.csv`) ---- */

#define KERNELS_MAX 200  /* that have a line each; the others share one */
#define KERNELS_SHOWN 40 /* lines of the text */

struct kernel {
	char *name;
	uint64_t calls, total_ns, least_ns, most_ns;
};

/* Zero-initialise; kernels_free at the end. One thread. */
struct kernels {
	struct kernel list[KERNELS_MAX + 1]; /* the last one is all the others */
	size_t count;
	uint64_t total_ns;
};

/*
 * Adds the launches of one file that the profile covers, and the names of all; as the readers above. Rows with
 * impossible times are skipped.
 */
int kernels_add(struct kernels *kernels, struct kernel_match *match, struct kernel_names *names, char *data,
	size_t size, struct kettle_error *err);
/* Appends the table, the longest first. */
void kernels_text(struct kernels *kernels, struct buf *out);
void kernels_free(struct kernels *kernels);

/* ---- stacks.c: folds the samples that `perf script` prints into a tree of functions with their numbers of samples ---- */

#define STACKS_MAX_LINE 65536      /* bytes; a longer line ends the reading */
#define STACKS_MAX_DEPTH 128       /* frames of a sample, the outermost ones; the rest is cut off */
#define STACKS_MAX_NAME 200        /* bytes of a function's name */
#define STACKS_MAX_MANGLED 1000    /* a longer one is not made readable */
#define STACKS_MAX_NODES 20000     /* of the tree; samples in further functions count for their callers */
#define STACKS_MAX_SAMPLES 4000000 /* further ones are not looked at */

/* A function below its caller. samples: in it and below it; own: in it alone. */
struct stack_node {
	char *name; /* clean UTF-8 without newlines */
	uint64_t samples, own;
	struct stack_node *children, *next;
};

/* Zero-initialise; stacks_free at the end. One thread. */
struct stacks {
	struct stack_node root; /* all samples; its name is NULL */
	size_t nodes;
	char *frames[STACKS_MAX_DEPTH]; /* of the sample that is being read, innermost first */
	size_t depth;
	bool inside, ignored; /* a sample is being read; one of perf itself */
	/* How the C++ library reads the names that its compiler made (__cxa_demangle); NULL: they stay as they are. */
	char *(*demangle)(const char *name, char *buffer, size_t *length, int *status);
};

/* One line of `perf script -F comm,ip,sym`, without its newline. A line_fn that returns 0. */
int stacks_line(void *stacks, char *line, size_t len);
/* At the end: takes the last sample. */
void stacks_end(struct stacks *stacks);
/* Appends "a;b;c 12" lines, at most max_bytes. */
void stacks_folded(const struct stacks *stacks, size_t max_bytes, struct buf *out);
/* Appends the functions with the most samples of their own, `most` lines. */
void stacks_hottest(const struct stacks *stacks, size_t most, struct buf *out);
void stacks_free(struct stacks *stacks);

#define FLAME_MAX_BYTES (4u << 20) /* of the picture; further boxes are left out */

/*
 * flame.c: appends the tree as an SVG that has neither scripts nor references to anything outside of it. title: any
 * text, it is cleaned and escaped. [any]
 */
void flame_svg(const struct stacks *stacks, const char *title, struct buf *out);

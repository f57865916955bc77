/* SPDX-License-Identifier: MIT */
/* The profiler rocprofv3: traces of an AMD GPU, those of all processes in one. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/file_name.h"
#include "base/io.h"
#include "profile/profile.h"

/* ---- the time of each kernel, from the traces of rocprofv3 ---- */

enum column { KERNEL, START, END, COLUMNS };
static const char *const column_names[COLUMNS] = {
	[KERNEL] = "Kernel_Name", [START] = "Start_Timestamp", [END] = "End_Timestamp"};

#define MAX_SPAN_NS (UINT64_C(1) << 62) /* a longer launch is invalid */

/* A number of nanoseconds, all digits. */
static bool
read_time(const char *text, uint64_t *ret_ns)
{
	char *end = NULL;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	*ret_ns = value;
	return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

/* The entry of a name: found, new, or the one for all others. */
static struct kernel *
kernels_find(struct kernels *kernels, const char *name)
{
	for (size_t i = 0; i < kernels->count && i < KERNELS_MAX; i++)
		if (strcmp(kernels->list[i].name, name) == 0)
			return &kernels->list[i];
	size_t at = kernels->count < KERNELS_MAX ? kernels->count : KERNELS_MAX;
	struct kernel *kernel = &kernels->list[at];
	if (!kernel->name) {
		kernel->name = xstrdup(at == KERNELS_MAX ? "(others)" : name);
		kernel->least_ns = UINT64_MAX;
		kernels->count++;
	}
	return kernel;
}

static void
kernels_add_one(struct kernels *kernels, const char *name, const char *start, const char *end)
{
	uint64_t from, to;
	if (!read_time(start, &from) || !read_time(end, &to) || to < from || to - from >= MAX_SPAN_NS ||
		kernels->total_ns >= MAX_SPAN_NS)
		return;
	struct kernel *kernel = kernels_find(kernels, *name ? name : "(no name)");
	uint64_t span = to - from;
	kernel->calls++;
	kernel->total_ns += span;
	kernel->least_ns = span < kernel->least_ns ? span : kernel->least_ns;
	kernel->most_ns = span > kernel->most_ns ? span : kernel->most_ns;
	kernels->total_ns += span;
}

int
kernels_add(struct kernels *kernels, struct kernel_match *match, struct kernel_names *names, char *data, size_t size,
	struct kettle_error *err)
{
	struct csv csv = {.at = data, .end = data + size, .separator = ','};
	struct csv_row row;
	int columns[COLUMNS];
	if (!csv_next(&csv, &row) || !csv_columns(&row, column_names, COLUMNS, columns))
		return kettle_fail(err, KETTLE_EINVAL,
			"The output of rocprofv3 is not a kernel trace: a kernel trace has the columns `Kernel_Name`, "
			"`Start_Timestamp` and "
			"`End_Timestamp`.");
	while (csv_next(&csv, &row)) {
		const char *kernel = csv_field(&row, columns[KERNEL]);
		kernel_names_add(names, kernel);
		if (kernel_match_takes(match, kernel))
			kernels_add_one(kernels, kernel, csv_field(&row, columns[START]), csv_field(&row, columns[END]));
	}
	return 0;
}

static int
kernels_compare(const void *a, const void *b)
{
	uint64_t left = ((const struct kernel *)a)->total_ns, right = ((const struct kernel *)b)->total_ns;
	return left < right ? 1 : left > right ? -1 : 0;
}

void
kernels_text(struct kernels *kernels, struct buf *out)
{
	double total = kernels->total_ns ? (double)kernels->total_ns : 1;
	qsort(kernels->list, kernels->count, sizeof(kernels->list[0]), kernels_compare);
	buf_printf(out, "%7s %12s %8s %12s %12s %12s  kernel\n", "share", "total", "calls", "mean", "best", "worst");
	for (size_t i = 0; i < kernels->count && i < KERNELS_SHOWN && report_has_room(out); i++) {
		const struct kernel *kernel = &kernels->list[i];
		buf_printf(out, "%5.1f %% %9.3f us %8llu %9.3f us %9.3f us %9.3f us  ", (double)kernel->total_ns * 100 / total,
			(double)kernel->total_ns / 1e3, (unsigned long long)kernel->calls,
			(double)kernel->total_ns / (double)kernel->calls / 1e3, (double)kernel->least_ns / 1e3,
			(double)kernel->most_ns / 1e3);
		report_word(out, kernel->name, REPORT_MAX_WORD);
		buf_adds(out, "\n");
	}
	if (kernels->count > KERNELS_SHOWN)
		buf_printf(out, "(%zu more kernels are in the trace)\n", kernels->count - KERNELS_SHOWN);
}

void
kernels_free(struct kernels *kernels)
{
	for (size_t i = 0; i <= KERNELS_MAX; i++)
		free(kernels->list[i].name);
	*kernels = (struct kernels){0};
}

#define TRACES "traces" /* in profile->folder */
#define TRACE "trace.pftrace"
#define MAX_FILES 1000 /* that are looked at */
#define MAX_DEPTH 3
#define MAX_CSV (64u << 20)
#define MAX_TRACE_BYTES (UINT64_C(256) << 20) /* of the merged trace */
#define PACKET_TAG 0x0a                       /* field 1, with a length: the only content of a trace */
#define MAX_LENGTH_BYTES 5                    /* of a packet's length, 7 bits in each */

/* ---- traces in the format of Perfetto (`.pftrace`) ---- */

/* The length that begins at *at, which moves past it; false: it is invalid. */
static bool
read_length(const unsigned char *data, size_t size, size_t *at, size_t *ret_length)
{
	size_t length = 0;
	for (int i = 0; i < MAX_LENGTH_BYTES && *at < size; i++) {
		unsigned char byte = data[(*at)++];
		length |= (size_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80)) {
			*ret_length = length;
			return true;
		}
	}
	return false;
}

/* Whether the file consists of packets from the first byte to the last. */
static bool
is_trace(const unsigned char *data, size_t size)
{
	size_t at = 0, length = 0;
	while (at < size) {
		if (data[at++] != PACKET_TAG || !read_length(data, size, &at, &length) || length > size - at)
			return false;
		at += length;
	}
	return size > 0;
}

/*
 * Adds the trace at `path` to the open file `to`, which holds `*used` bytes: a trace is a sequence of packets, so
 * several traces in a row are one again. The packets are checked first; an invalid trace adds nothing. KETTLE_EINVAL
 * with a sentence: it is invalid; KETTLE_ETOOBIG; KETTLE_EIO.
 */
static int
add_trace(const char *path, int to, uint64_t *used, struct kettle_error *err)
{
	struct stat st;
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return kettle_fail(
			err, KETTLE_EINVAL, "The output of rocprofv3 is not a trace: it is empty or not a regular file.");
	if ((uint64_t)st.st_size > MAX_TRACE_BYTES - *used)
		return kettle_fail(err, KETTLE_ETOOBIG, "The traces exceed the limit of %llu MiB.",
			(unsigned long long)(MAX_TRACE_BYTES >> 20));
	size_t size = (size_t)st.st_size;
	void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return kettle_fail(err, KETTLE_EIO, "A trace could not be read: %s.", strerror(errno));
	int rc = 0;
	if (!is_trace(data, size))
		rc = kettle_fail(err, KETTLE_EINVAL, "The output of rocprofv3 is not a trace: it does not consist of packets.");
	else if (write_all(to, data, size) != 0)
		rc = kettle_fail(err, KETTLE_EIO, "The trace could not be written: %s.", strerror(errno));
	(void)munmap(data, size);
	if (rc == 0)
		*used += size;
	return rc;
}

/* ---- the folders of rocprofv3 ---- */

/* The findings in these folders. */
struct rocprof_output {
	struct profile *profile;
	struct kernels kernels;
	struct kernel_match match;
	struct kernel_names names;
	int trace;     /* the merged one; -1: not made yet */
	uint64_t used; /* bytes in it */
	size_t files, tables;
};

static void
take_trace(struct rocprof_output *found, const char *path)
{
	struct kettle_error err = {0};
	if (found->trace < 0)
		found->trace = open(PROFILE_OUT "/" TRACE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (found->trace < 0)
		profile_set_problem(found->profile, "The trace could not be stored.");
	else if (add_trace(path, found->trace, &found->used, &err) < 0)
		profile_set_problem(found->profile, "Not all traces were stored: %s", err.message);
}

static void
take_table(struct rocprof_output *found, const char *path)
{
	struct kettle_error err = {0};
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	int rc = file_read(path, MAX_CSV, &text, &size, &err);
	if (rc == 0)
		rc = kernels_add(&found->kernels, &found->match, &found->names, text, size, &err);
	if (rc < 0)
		profile_set_problem(found->profile, "%s", err.message);
	else
		found->tables++;
}

/* rocprofv3 makes folders named after the machine, in some versions. */
static void
take_folder(struct rocprof_output *found, const char *path, int depth)
{
	AUTO_DIR DIR *folder = opendir(path);
	const struct dirent *entry;
	while (folder && found->files < MAX_FILES && (entry = readdir(folder))) {
		AUTO_FREE char *name = entry->d_name[0] == '.' ? NULL : path_join(path, entry->d_name);
		if (!name)
			continue;
		found->files++;
		if (file_name_ends_in(name, ".pftrace"))
			take_trace(found, name);
		else if (file_name_ends_in(name, "kernel_trace.csv"))
			take_table(found, name);
		else if (depth < MAX_DEPTH)
			take_folder(found, name, depth + 1);
	}
}

static int
rocprof_record(struct profile *profile, const char *folder, struct kettle_error *err)
{
	struct child child = {.mark = -1, .variables = {{"KETTLE_PROFILER", "rocprofv3"}}};
	bool mangled = profile->capture.kernel_base && strcmp(profile->capture.kernel_base, "mangled") == 0;
	child_add(&child, profile->tool, "--log-level", "fatal", "--hip-trace", "--kernel-trace", "--memory-copy-trace",
		"--marker-trace", "--scratch-memory-trace", "--output-format", "pftrace", "csv", "-d", folder, "-o", "%pid%",
		NULL);
	if (mangled)
		child_add(&child, "--mangled-kernels", NULL);
	child_add(&child, "--", NULL);
	int rc = profile_under(profile, &child, "rocprofv3", err);
	child_close(&child);
	return rc;
}

/* Names the launched kernels if the profile covers none of them. */
static void
explain_none(struct profile *profile, const struct rocprof_output *found)
{
	AUTO_BUF struct buf names = {0};
	kernel_names_text(&found->names, &names);
	profile->empty = true;
	if (found->names.count > 0)
		profile_set_problem(profile, "No launch of a requested kernel: rocprofv3 saw %s.", names.data);
	else
		profile_set_problem(profile, "%s",
			found->tables > 0 || found->used > 0
				? "rocprofv3 saw no kernel launch."
				: "rocprofv3 wrote no trace: it saw no kernel launch, or could not write the trace.");
}

static void
read_traces(struct profile *profile, const char *folder)
{
	struct kettle_error err = {0};
	struct rocprof_output found = {.profile = profile, .trace = -1};
	if (kernel_match_init(&found.match, &profile->capture, &err) < 0) {
		profile_set_problem(profile, "%s", err.message);
		profile->empty = true;
		return;
	}
	take_folder(&found, folder, 0);
	if (found.trace >= 0)
		close(found.trace);
	if (found.used > 0)
		profile_keep(profile, TRACE);
	if (found.kernels.count > 0)
		kernels_text(&found.kernels, &profile->report);
	else if (profile->status == 0 && profile->trouble.len == 0) /* else the program itself reports the reason */
		explain_none(profile, &found);
	if (found.kernels.count > 0 && (found.match.name || found.match.skip || found.match.launches))
		buf_adds(&profile->report, "(the requested launches; the trace has all)\n");
	kernels_free(&found.kernels);
	kernel_names_free(&found.names);
	kernel_match_free(&found.match);
}

int
rocprof_profile(struct profile *profile, struct kettle_error *err)
{
	AUTO_FREE char *folder = path_join(profile->folder, TRACES);
	int rc = rocprof_record(profile, folder, err);
	if (rc == 0 && profile->trouble.len == 0)
		read_traces(profile, folder);
	return rc;
}

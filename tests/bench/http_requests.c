/* SPDX-License-Identifier: MIT */
/*
 * http_requests URL CA-FILE|- REQUESTS AT-A-TIME ROUNDS: sends requests as a plugin does, and prints a JSON object for each round:
 * CPU of this process for a request, requests a second, the longest time that the loop was busy without a pause, and the most CPU of such a time. The first
 * object is of the first AT-A-TIME requests, which open the connections.
 */
#include <config.h>

#include "http/http.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/times.h"

struct bench {
	uv_loop_t loop;
	struct loop_services *io;
	struct http *http;
	uv_check_t check;
	const char *url;
	int to_send, to_come;
	uint64_t last_ns, last_idle_ns, longest_ns;
	uint64_t last_cpu_ns, longest_cpu_ns;
};

static uint64_t
thread_cpu_ns(void)
{
	struct timespec used;
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* Once for each turn of the loop: what of it was not waiting. */
static void
on_turn(uv_check_t *check)
{
	struct bench *bench = check->data;
	uint64_t now = uv_hrtime(), idle = uv_metrics_idle_time(&bench->loop);
	uint64_t busy = now - bench->last_ns - (idle - bench->last_idle_ns);
	uint64_t cpu = thread_cpu_ns(), busy_cpu = cpu - bench->last_cpu_ns;
	if (bench->last_ns && busy_cpu > bench->longest_cpu_ns)
		bench->longest_cpu_ns = busy_cpu;
	bench->last_cpu_ns = cpu;
	if (bench->last_ns && busy > bench->longest_ns)
		bench->longest_ns = busy;
	bench->last_ns = now;
	bench->last_idle_ns = idle;
}

static void send_one(struct bench *bench);

static void
on_answer(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	struct bench *bench = arg;
	if (!answer || answer->status != 200) {
		(void)fprintf(stderr, "http_requests: %s\n", answer ? "another status than 200" : err->message);
		exit(1);
	}
	bench->to_come--;
	if (bench->to_send)
		send_one(bench);
}

static void
send_one(struct bench *bench)
{
	struct kettle_error err = {0};
	const struct kettle_http_request request = {
		.size = sizeof(request), .url = bench->url, .done = on_answer, .arg = bench};
	bench->to_send--;
	if (http_send(bench->http, bench, &request, NULL, &err) < 0) {
		(void)fprintf(stderr, "http_requests: %s\n", err.message);
		exit(1);
	}
}

static double
cpu_us(void)
{
	struct rusage used;
	(void)getrusage(RUSAGE_SELF, &used);
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
		   (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void
round_of(struct bench *bench, int requests, int at_a_time)
{
	double cpu = cpu_us();
	uint64_t begin = time_monotonic_ns();
	bench->to_send = bench->to_come = requests;
	bench->last_ns = bench->longest_ns = bench->longest_cpu_ns = 0;
	for (int i = 0; i < at_a_time && bench->to_send; i++)
		send_one(bench);
	while (bench->to_come)
		(void)uv_run(&bench->loop, UV_RUN_ONCE);
	double seconds = (double)(time_monotonic_ns() - begin) / 1e9;
	(void)printf("{\"cpu_us\": %.2f, \"a_second\": %.0f, \"stall_ms\": %.3f, \"stall_cpu_ms\": %.3f}\n",
		(cpu_us() - cpu) / requests, requests / seconds, (double)bench->longest_ns / 1e6,
		(double)bench->longest_cpu_ns / 1e6);
}

static void
on_closed(void *arg)
{
	uv_close((uv_handle_t *)&((struct bench *)arg)->check, NULL);
}

int
main(int argc, char **argv)
{
	static struct bench bench;
	if (argc != 6) {
		(void)fprintf(stderr, "usage: http_requests URL CA-FILE|- REQUESTS AT-A-TIME ROUNDS\n");
		return 2;
	}
	const struct http_settings settings = {.ca_file = strcmp(argv[2], "-") == 0 ? NULL : argv[2]};
	int requests = atoi(argv[3]), at_a_time = atoi(argv[4]);
	(void)uv_loop_init(&bench.loop);
	(void)uv_loop_configure(&bench.loop, UV_METRICS_IDLE_TIME);
	(void)loop_new(&bench.loop, &bench.io, NULL);
	(void)uv_check_init(&bench.loop, &bench.check);
	bench.check.data = &bench;
	(void)uv_check_start(&bench.check, on_turn);
	bench.http = http_new(bench.io, &settings);
	bench.url = argv[1];
	round_of(&bench, at_a_time, at_a_time);
	for (int i = 0; i < atoi(argv[5]); i++)
		round_of(&bench, requests, at_a_time);
	http_close(bench.http);
	loop_close(bench.io, on_closed, &bench);
	(void)uv_run(&bench.loop, UV_RUN_DEFAULT);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Times the calls into plugins: one that holds the loop for too long is named in the log. */
#include <config.h>

#include "loop/watch.h"

#include <dlfcn.h>
#include <uv.h>

#include "base/base.h"
#include "base/log.h"

#define NAME_SIZE 33 /* of a plugin */
#define NS_PER_MS UINT64_C(1000000)

struct watch_settings watch_settings = {.level = KETTLE_LOG_INFO, .hold_ms = WATCH_HOLD_MS, .quiet_ms = WATCH_QUIET_MS};

/* Of this thread. */
static _Thread_local bool has_loop;
static _Thread_local uint64_t taken_ns; /* by all calls that have ended */
static _Thread_local struct said {
	char plugin[NAME_SIZE];
	const char *fault;
	uint64_t at_ns;
} said[64];
static _Thread_local size_t said_next; /* the entry that is used anew */

void
watch_thread(void)
{
	has_loop = true;
}

bool
watch_is_due(const char *plugin, const char *fault)
{
	uint64_t now = uv_hrtime();
	for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
		struct said *last = &said[i];
		if (last->fault != fault || strcmp(last->plugin, plugin) != 0)
			continue;
		if (now - last->at_ns < watch_settings.quiet_ms * NS_PER_MS)
			return false;
		last->at_ns = now;
		return true;
	}
	struct said *entry = &said[said_next++ % ARRAY_SIZE(said)];
	*entry = (struct said){.fault = fault, .at_ns = now};
	(void)snprintf(entry->plugin, sizeof(entry->plugin), "%s", plugin);
	return true;
}

struct watch
watch_begin(void)
{
	return has_loop ? (struct watch){.began = uv_hrtime(), .inner = taken_ns} : (struct watch){0};
}

/* The time that the call itself took if that is too long, else 0. */
static uint64_t
watch_overdue(const struct watch *watch)
{
	if (!watch->began)
		return 0;
	uint64_t all = uv_hrtime() - watch->began, own = all - (taken_ns - watch->inner);
	taken_ns = watch->inner + all;
	return own > watch_settings.hold_ms * NS_PER_MS ? own : 0;
}

static void
watch_say(uint64_t own_ns, const char *plugin, const char *what)
{
	static const char fault[] = "hold";
	if (watch_is_due(plugin, fault))
		log_write(watch_settings.level, plugin, "The plugin blocked the event loop for %.3g s in %s.",
			(double)own_ns / 1e9, what);
}

void
watch_end(const struct watch *watch, const char *plugin, const char *what)
{
	uint64_t own_ns = watch_overdue(watch);
	if (own_ns)
		watch_say(own_ns, plugin, what);
}

void
watch_end_callback(const struct watch *watch, void (*callback)(void), const char *what)
{
	Dl_info info;
	uint64_t own_ns = watch_overdue(watch);
	if (!own_ns || !dladdr((void *)callback, &info) || !info.dli_fname)
		return;
	const char *slash = strrchr(info.dli_fname, '/'), *file = slash ? slash + 1 : info.dli_fname;
	size_t len = strlen(file);
	char name[NAME_SIZE];
	if (len <= 3 || strcmp(file + len - 3, ".so") != 0 || len - 3 >= sizeof(name))
		return;
	(void)snprintf(name, sizeof(name), "%.*s", (int)len - 3, file);
	watch_say(own_ns, name, what);
}

void
watch_call(kettle_fn fn, void *arg, const char *what)
{
	if (!fn)
		return;
	const struct watch watch = watch_begin();
	fn(arg);
	watch_end_callback(&watch, (void (*)(void))fn, what);
}

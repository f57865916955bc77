/* SPDX-License-Identifier: MIT */
/* The life of a plugin after it is loaded: create → configure → start → stop → destroy. */
#include <config.h>

#include "plugin/instance.h"

#include "base/base.h"
#include "base/log.h"
#include "loop/watch.h"
#include "plugin/guard.h"
#include "plugin/loader.h"

#include <assert.h>

static void
enter(struct instance *instance, enum instance_state state)
{
	bool hangs = state == INSTANCE_HUNG && instance->state == INSTANCE_STOPPING;
	assert(hangs || (state == instance->state + 1 && state != INSTANCE_HUNG));
	instance->state = state;
}

static int
instance_fail(const struct instance *instance, const char *what, int code, const struct kettle_error *why,
	struct kettle_error *err)
{
	return kettle_blame(err, why->cause, why->member,
		kettle_fail(err, guard_is_code(code) ? code : KETTLE_EINTERNAL, "The %s `%s` cannot %s: %s",
			loader_kind_name(instance->plugin->kind), instance->plugin->name, what,
			why->message[0] ? why->message : "it does not say why."));
}

int
instance_create(struct instance *instance, const struct kettle_plugin *plugin, const struct kettle_host *host,
	struct kettle_error *err)
{
	struct kettle_error why = {0};
	*instance = (struct instance){.plugin = plugin, .host = host};
	const struct watch watch = watch_begin();
	int rc = plugin->create(host, &instance->self, &why);
	watch_end(&watch, plugin->name, "`create`");
	if (rc)
		return instance_fail(instance, "be created", rc, &why, err);
	enter(instance, INSTANCE_CREATED);
	return 0;
}

int
instance_configure(struct instance *instance, const json_t *options, struct kettle_error *err)
{
	struct kettle_error why = {0};
	const struct watch watch = watch_begin();
	int rc = instance->plugin->configure(instance->self, options, &why);
	watch_end(&watch, instance->plugin->name, "`configure`");
	return rc ? instance_fail(instance, "be configured", rc, &why, err) : 0;
}

int
instance_start(struct instance *instance, struct kettle_error *err)
{
	struct kettle_error why = {0};
	const struct watch watch = watch_begin();
	int rc = instance->plugin->start ? instance->plugin->start(instance->self, &why) : 0;
	watch_end(&watch, instance->plugin->name, "`start`");
	if (rc)
		return instance_fail(instance, "start", rc, &why, err);
	enter(instance, INSTANCE_STARTED);
	return 0;
}

void
instance_destroy(struct instance *instance)
{
	assert(instance->state != INSTANCE_STARTED && instance->state != INSTANCE_STOPPING);
	if (instance->state == INSTANCE_HUNG)
		return;
	if (instance->state != INSTANCE_NONE)
		instance->plugin->destroy(instance->self);
	*instance = (struct instance){0};
}

static int
rank(const struct instance *instance)
{
	switch ((enum kettle_plugin_kind)instance->plugin->kind) {
	case KETTLE_RUNNER:
		return 0;
	case KETTLE_LANGUAGE:
		return 1;
	case KETTLE_FRONTEND:
		return 2;
	}
	return 3;
}

int
instance_order(const struct instance *one, const struct instance *other)
{
	return rank(one) - rank(other);
}

/* ---- stopping ---- */

struct stop_sequence {
	kettle_fn done;
	void *arg;
	uint64_t limit_ms;
	const struct kettle_host *host; /* whose timer it is */
	struct kettle_timer *timer;     /* for the plugins that are stopping; NULL: none */
	size_t count, waiting;
	bool calling; /* inside the loop that calls stop: a plugin that stops at once is counted there */
	struct instance *instances[];
};

static void next_kind(void *arg);

/* The next step may free what a plugin still uses in the callback in which it reports its stop. */
static void
all_stopped(struct stop_sequence *all, const struct kettle_host *host)
{
	if (all->timer)
		all->host->timer_stop(all->host, STEAL(all->timer));
	if (host->post(host, next_kind, all) < 0)
		next_kind(all);
}

/* The argument is the instance, not the sequence: it is still valid if a plugin calls back twice. */
static void
on_stopped(void *arg)
{
	struct instance *instance = arg;
	struct stop_sequence *all = instance->stopping;
	if (instance->state != INSTANCE_STOPPING) {
		log_write(KETTLE_LOG_WARNING, instance->plugin->name,
			instance->state == INSTANCE_HUNG ? "The plugin has stopped, too late."
											 : "The plugin reports twice that it has stopped.");
		return;
	}
	enter(instance, INSTANCE_STOPPED);
	instance->stopping = NULL;
	all->waiting--;
	if (all->waiting == 0 && !all->calling)
		all_stopped(all, instance->host);
}

/* An instance of the kind that stops next: the last in the order of starting whose stop was not called. NULL: none. */
static const struct instance *
next_to_stop(const struct stop_sequence *all)
{
	const struct instance *next = NULL;
	for (size_t i = 0; i < all->count; i++) {
		const struct instance *instance = all->instances[i];
		if (instance->state == INSTANCE_STARTED && (!next || instance_order(instance, next) > 0))
			next = instance;
	}
	return next;
}

static void
instance_stop(struct instance *instance)
{
	enter(instance, INSTANCE_STOPPING);
	instance->stopping->waiting++;
	if (!instance->plugin->stop) {
		on_stopped(instance);
		return;
	}
	const struct watch watch = watch_begin();
	instance->plugin->stop(instance->self, on_stopped, instance);
	watch_end(&watch, instance->plugin->name, "`stop`");
}

static void
stop_overdue(void *arg)
{
	struct stop_sequence *all = arg;
	all->timer = NULL;
	for (size_t i = 0; i < all->count; i++) {
		struct instance *instance = all->instances[i];
		if (instance->state != INSTANCE_STOPPING)
			continue;
		log_write(KETTLE_LOG_ERROR, instance->plugin->name, "The %s has not stopped after %.3g s and is left behind.",
			loader_kind_name(instance->plugin->kind), (double)all->limit_ms / 1000);
		enter(instance, INSTANCE_HUNG);
		instance->stopping = NULL;
		all->waiting--;
	}
	next_kind(all);
}

static void
next_kind(void *arg)
{
	struct stop_sequence *all = arg;
	const struct instance *next;
	if (all->timer)
		all->host->timer_stop(all->host, all->timer);
	all->timer = NULL;
	while (all->waiting == 0 && (next = next_to_stop(all))) {
		all->calling = true;
		for (size_t i = all->count; i-- > 0;) {
			if (all->instances[i]->state == INSTANCE_STARTED && instance_order(all->instances[i], next) == 0)
				instance_stop(all->instances[i]);
		}
		all->calling = false;
		if (all->waiting) {
			all->host = next->host;
			/* Without a timer the wait has no limit. */
			if (all->limit_ms)
				(void)all->host->timer_start(all->host, all->limit_ms, 0, stop_overdue, all, &all->timer, NULL);
		}
	}
	if (all->waiting)
		return;
	kettle_fn done = all->done;
	void *done_arg = all->arg;
	free(all);
	done(done_arg);
}

void
instances_stop(struct instance *const *list, size_t count, uint64_t limit_ms, kettle_fn done, void *arg)
{
	struct stop_sequence *all = xcalloc(1, sizeof(*all) + count * sizeof(all->instances[0]));
	all->done = done;
	all->arg = arg;
	all->limit_ms = limit_ms;
	for (size_t i = 0; i < count; i++) {
		struct instance *instance = list[i];
		if (instance->state != INSTANCE_STARTED)
			continue;
		instance->stopping = all;
		all->instances[all->count++] = instance;
	}
	next_kind(all);
}

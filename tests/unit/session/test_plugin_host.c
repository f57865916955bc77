/* SPDX-License-Identifier: MIT */
/* The host that the engine gives to plugins: state, links, events of a frontend, the ends of subscriptions. */
#include <config.h>

#include "unit/core_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/times.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "model/download_urls.h"
#include "session/plugin_host.h"
#include "unit/log_lines.h"

static struct core_host host;
static const struct kettle_host *table = &host.table;

/* Answers of state_get, state_put and state_list. */
static struct answer heard;

static void
on_state(void *arg, const struct kettle_error *err, json_t *result)
{
	struct answer *answer = arg;
	answer->count++;
	answer->err = *err;
	json_decref(answer->result);
	answer->result = json_deep_copy(result);
}

static const json_t *
state_answer(int rc)
{
	assert_int_equal(rc, 0);
	int before = heard.count;
	until(heard.count > before);
	assert_int_equal(heard.err.code, 0);
	return heard.result;
}

static const json_t *
list(const char *prefix, const char *after, unsigned limit)
{
	return state_answer(table->state_list(table, prefix, after, limit, on_state, &heard));
}

/* The keys of a page, with a + where there are more. */
static const char *
keys_of(const json_t *page)
{
	static char text[200];
	size_t i;
	json_t *item;
	text[0] = '\0';
	json_array_foreach(json_object_get(page, "items"), i, item)
		strcat(strcat(text, json_string_value(json_object_get(item, "key"))), " ");
	if (json_is_true(json_object_get(page, "more")))
		strcat(text, "+");
	return text;
}

static void
keep_event(void *arg, const json_t *event)
{
	(void)json_array_append_new(arg, json_deep_copy(event));
}

static int
setup(void **state)
{
	memset(&heard, 0, sizeof(heard));
	int rc = cores_setup(state);
	host_init(&host, cores.io, cores.core[0], "discord");
	return rc;
}

static int
teardown(void **state)
{
	answer_clear(&heard);
	return cores_teardown(state);
}

static void
test_state(void **state)
{
	static const char *const keys[] = {"a", "message.1", "message.10", "message.2", "message\xc3\xa4", "messagf", "z"};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		AUTO_JSON json_t *value = json_pack("{s:i}", "n", (int)i);
		/* Without a done: the reads below come after it. */
		assert_int_equal(table->state_put(table, keys[i], value, NULL, NULL), 0);
	}
	AUTO_JSON json_t *third = json_pack("{s:i}", "n", 3);
	assert_true(json_equal(state_answer(table->state_get(table, "message.2", on_state, &heard)), third));
	assert_string_equal(keys_of(list("message", NULL, 0)), "message.1 message.10 message.2 message\xc3\xa4 ");
	assert_true(json_equal(json_object_get(json_array_get(json_object_get(heard.result, "items"), 2), "value"), third));
	assert_string_equal(keys_of(list("message", NULL, 2)), "message.1 message.10 +");
	assert_string_equal(keys_of(list("message", "message.10", 2)), "message.2 message\xc3\xa4 ");
	assert_string_equal(keys_of(list(NULL, "messagf", 1)), "z ");
	assert_string_equal(keys_of(list("none", NULL, 0)), "");
	(void)state_answer(table->state_put(table, "message.1", NULL, on_state, &heard));
	assert_string_equal(keys_of(list("message.1", "", 0)), "message.10 ");
	/* Another plugin neither sees a key of this one, nor changes nor removes it, nor lists it. */
	host_init(&host, cores.io, cores.core[0], "web");
	assert_string_equal(keys_of(list("", NULL, 0)), "");
	assert_true(json_is_null(state_answer(table->state_get(table, "message.2", on_state, &heard))));
	(void)state_answer(table->state_put(table, "message.2", third, on_state, &heard));
	(void)state_answer(table->state_put(table, "a", NULL, on_state, &heard));
	host_init(&host, cores.io, cores.core[0], "discord");
	assert_string_equal(keys_of(list("a", NULL, 1)), "a ");
	AUTO_JSON json_t *fourth = json_pack("{s:i}", "n", 4);
	(void)state_answer(table->state_put(table, "message.2", fourth, on_state, &heard));
	host_init(&host, cores.io, cores.core[0], "web");
	assert_true(json_equal(state_answer(table->state_get(table, "message.2", on_state, &heard)), third));
}

/* A page of large values ends before its limit. */
static void
test_state_pages(void **state)
{
	(void)state;
	AUTO_FREE char *text = calloc(1, 1000001);
	memset(text, 'x', 1000000);
	AUTO_JSON json_t *value = json_string(text);
	char key[8];
	for (int i = 0; i < 6; i++) {
		(void)snprintf(key, sizeof(key), "%d", i);
		assert_int_equal(table->state_put(table, key, value, NULL, NULL), 0);
	}
	assert_string_equal(keys_of(list(NULL, NULL, 0)), "0 1 2 3 +");
	assert_string_equal(keys_of(list(NULL, "3", 0)), "4 5 ");
}

static void
test_state_limits(void **state)
{
	(void)state;
	char key[202];
	memset(key, 'k', 201);
	key[201] = '\0';
	assert_int_equal(table->state_get(table, key, on_state, &heard), KETTLE_ETOOBIG);
	assert_int_equal(table->state_list(table, key, NULL, 0, on_state, &heard), KETTLE_ETOOBIG);
	assert_int_equal(table->state_list(table, NULL, key, 0, on_state, &heard), KETTLE_ETOOBIG);
	assert_int_equal(table->state_list(table, "\xff", NULL, 0, on_state, &heard), 0);
	until(heard.count == 1);
	assert_int_equal(heard.err.code, KETTLE_EINVAL);
	/* Nothing waits for its error. */
	assert_int_equal(table->state_get(table, "", NULL, NULL), 0);
	(void)state_answer(table->state_get(table, "k", on_state, &heard));
}

/* ---- links ---- */

/* Publishes what must be accepted and waits; the code of the answer. */
static int
publish(struct kettle_blob blob, uint32_t ttl_s)
{
	int before = heard.count;
	blob.size = sizeof(blob);
	assert_int_equal(table->publish(table, &blob, ttl_s, on_state, &heard, NULL), 0);
	assert_int_equal(heard.count, before);
	until(heard.count > before);
	return heard.err.code;
}

static void
serve(const char *base)
{
	assert_int_equal(table->link_base(table, base, NULL), 0);
}

/* The token of the link that was published last. */
static const char *
token(void)
{
	const char *url = json_string_value(json_object_get(heard.result, "url"));
	assert_int_equal(strncmp(url, "https://k.example/l/", 20), 0);
	assert_int_equal(strlen(url), 20 + 43);
	return url + 20;
}

static int
take(const char *text)
{
	return cores_run(0, "web", "link.take", json_pack("{s:s}", "token", text));
}

/* The contents of the file that was taken, and that it is private; it is removed, as a frontend does. */
static void
assert_taken(const char *contents)
{
	char *data = NULL;
	size_t size = 0;
	struct stat status;
	const char *path = commands_text(cores_answer.result, "path");
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(file_read(path, 100, &data, &size, NULL), 0);
	assert_string_equal(data, contents);
	assert_int_equal(unlink(path), 0);
	free(data);
}

static size_t
files_of_links(void)
{
	AUTO_FREE char *folder = download_url_folder(cores.path);
	AUTO_DIR DIR *dir = opendir(folder);
	size_t count = 0;
	for (const struct dirent *entry; dir && (entry = readdir(dir));)
		count += entry->d_name[0] != '.';
	return count;
}

static int
end_links_op(struct db *db, void *arg, struct kettle_error *err)
{
	(void)arg;
	return db_exec(db, err, "UPDATE links SET expires_at = ?", "i", db->now_ms);
}

static int
fill_links_op(struct db *db, void *arg, struct kettle_error *err)
{
	(void)arg;
	return db_exec(db, err,
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO links SELECT i, ? "
		"FROM n",
		"ii", (int64_t)DOWNLOAD_URLS_MAX, db->now_ms + 60000);
}

/* Once, while it is open; whatever else is asked for has the same answer. */
static void
test_link(void **state)
{
	(void)state;
	const struct kettle_blob blob = {.data = "a plan", .data_size = 6};
	assert_int_equal(publish(blob, 60), KETTLE_EUNAVAIL);
	assert_says(&heard.err, "frontend");
	serve("https://k.example/l/");
	assert_int_equal(publish(blob, 60), 0);
	assert_non_null(json_object_get(heard.result, "expires"));
	AUTO_FREE char *first = strdup(token()), *file = NULL;
	assert_int_equal(take("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), KETTLE_ENOENT);
	AUTO_FREE char *says = strdup(cores_answer.err.message);
	assert_int_equal(take(first), 0);
	assert_null(strstr(commands_text(cores_answer.result, "path"), first));
	assert_taken("a plan");
	assert_int_equal(take(first), KETTLE_ENOENT);
	assert_string_equal(cores_answer.err.message, says);
	/* Its end: of the row, and, later, of the file. */
	file = xasprintf("%s/file", cores.dir);
	assert_int_equal(file_write(file, "from a file", 11, 0600, NULL), 0);
	int64_t before = clock_utc_ms(cores_clock());
	assert_int_equal(publish((struct kettle_blob){.file = file}, 60), 0);
	AUTO_FREE char *second = strdup(token());
	store_write(cores.core[0]->store, end_links_op, NULL, NULL);
	assert_int_equal(take(second), KETTLE_ENOENT);
	assert_string_equal(cores_answer.err.message, says);
	AUTO_FREE char *folder = download_url_folder(cores.path);
	download_url_sweep(folder, before + 59000 + DOWNLOAD_URL_SENDING_MS);
	assert_int_equal(files_of_links(), 1);
	download_url_sweep(folder, clock_utc_ms(cores_clock()) + 62000 + DOWNLOAD_URL_SENDING_MS);
	assert_int_equal(files_of_links(), 0);
	assert_int_equal(publish((struct kettle_blob){.file = file}, 60), 0);
	assert_int_equal(take(token()), 0);
	assert_taken("from a file");
	/* No other process may. */
	cores_make(1, false);
	assert_int_equal(cores_run(1, "web", "link.take", json_pack("{s:s}", "token", first)), KETTLE_EACCES);
	assert_says(&cores_answer.err, "for the plugins");
}

/* A frontend that is gone serves nothing, and does not take along the links of another. */
static void
test_link_base(void **state)
{
	(void)state;
	struct core_host other;
	const struct kettle_blob blob = {.data = "", .data_size = 0};
	host_init(&other, cores.io, cores.core[0], "other");
	assert_int_equal(table->link_base(table, "ftp://k.example/", NULL), KETTLE_EINVAL);
	assert_int_equal(table->link_base(table, "https://k.example/a b", NULL), KETTLE_EINVAL);
	assert_int_equal(other.table.link_base(&other.table, "https://other.example/", NULL), 0);
	serve("https://k.example/l/");
	host_end(&other);
	assert_int_equal(publish(blob, 1), 0);
	assert_int_equal(take(token()), 0);
	assert_taken("");
	host_end(&host);
	assert_int_equal(publish(blob, 1), KETTLE_EUNAVAIL);
}

static void
test_link_refused(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	struct kettle_blob blob = {.size = sizeof(blob)};
	serve("https://k.example/l/");
	assert_int_equal(table->publish(table, &blob, 60, on_state, &heard, &err), KETTLE_EINVAL);
	blob.file = "relative";
	assert_int_equal(table->publish(table, &blob, 60, on_state, &heard, &err), KETTLE_EINVAL);
	assert_says(&err, "absolute");
	blob = (struct kettle_blob){.size = sizeof(blob), .data = "", .data_size = DOWNLOAD_URL_DATA_MAX + 1};
	assert_int_equal(table->publish(table, &blob, 60, on_state, &heard, &err), KETTLE_ETOOBIG);
	blob.data_size = 0;
	assert_int_equal(table->publish(table, &blob, 0, on_state, &heard, &err), KETTLE_EINVAL);
	assert_int_equal(table->publish(table, &blob, KETTLE_LINK_TTL_MAX + 1, on_state, &heard, &err), KETTLE_EINVAL);
	blob.size = 0;
	assert_int_equal(table->publish(table, &blob, 60, on_state, &heard, &err), KETTLE_EINVAL);
	assert_int_equal(heard.count, 0);
	AUTO_FREE char *large = xasprintf("%s/large", cores.dir), *fifo = xasprintf("%s/fifo", cores.dir);
	assert_int_equal(publish((struct kettle_blob){.file = large}, 60), KETTLE_ENOENT);
	assert_int_equal(publish((struct kettle_blob){.file = cores.dir}, 60), KETTLE_EINVAL);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(publish((struct kettle_blob){.file = fifo}, 60), KETTLE_EINVAL);
	assert_says(&heard.err, "regular");
	assert_int_equal(files_of_links(), 0);
	/* As many as may be open. */
	store_write(cores.core[0]->store, fill_links_op, NULL, NULL);
	blob = (struct kettle_blob){.data = "", .data_size = 0};
	assert_int_equal(publish(blob, 60), KETTLE_ETOOBIG);
	assert_says(&heard.err, "10000");
	store_write(cores.core[0]->store, end_links_op, NULL, NULL);
	assert_int_equal(publish(blob, 60), 0);
}

/* ---- events ---- */

struct frontend {
	size_t count;
	int64_t seq[1000];
	bool at_once; /* deals with each event while it is handed over */
};
static struct frontend chat;

static void
on_event(void *self, const json_t *event)
{
	struct frontend *frontend = self;
	int64_t seq = json_integer_value(json_object_get(event, "seq"));
	assert_true(frontend->count < ARRAY_SIZE(frontend->seq));
	frontend->seq[frontend->count++] = seq;
	if (frontend->at_once)
		assert_int_equal(table->event_done(table, seq), 0);
}

/* The process dies, or ends, and another one starts with the frontend. */
static void
restart(void)
{
	static const struct kettle_frontend ops = {.size = sizeof(ops), .event = on_event};
	static const struct kettle_plugin plugin = {.name = "chat", .frontend = &ops};
	static struct core_plugin loaded = {.plugin = &plugin, .self = &chat, .host = &host};
	cores_close(0);
	chat = (struct frontend){.at_once = chat.at_once};
	struct core *core = cores_make(0, true);
	core->plugins = &loaded;
	core->plugins_count = 1;
	host_init(&host, cores.io, core, "chat");
	/* Attached, and the first page is read. */
	(void)cores_must(0, "owner", "leaderboard.list", NULL);
}

static void
settle(void)
{
	for (int i = 0; i < 10; i++)
		cores_turn();
}

static int
events_op(struct db *db, void *arg, struct kettle_error *err)
{
	int rc = 0;
	for (int i = 0; i < *(int *)arg && rc == 0; i++)
		rc = db_event(db, "admin.accepting", 'a', 0, 0, 0, NULL, err);
	return rc;
}

static void
on_written(void *arg, const struct kettle_error *err)
{
	assert_null(err);
	*(int *)arg = 0;
}

static void
write_events(int count)
{
	store_write(cores.core[0]->store, events_op, on_written, &count);
	until(count == 0);
}

static int
cursor_op(struct db *db, void *arg, struct kettle_error *err)
{
	return db_int(db, arg, err, "SELECT seq FROM cursors WHERE consumer = 'plugin:chat'", NULL);
}

static int64_t
stored_cursor(void)
{
	int64_t cursor = -1;
	store_read(cores.core[0]->store, cursor_op, NULL, &cursor);
	settle();
	return cursor;
}

/* Only what is dealt with moves the cursor; the rest comes again, in order. */
static void
test_events(void **state)
{
	(void)state;
	chat.at_once = false;
	restart();
	settle();
	write_events(5);
	until(chat.count == 5);
	int64_t first = chat.seq[0];
	/* The oldest is open: what was done after it comes again. */
	assert_int_equal(table->event_done(table, first + 1), 0);
	settle();
	assert_int_equal(stored_cursor(), first - 1);
	restart();
	until(chat.count == 5);
	assert_int_equal(chat.seq[0], first);
	for (int64_t seq = first + 2; seq >= first; seq--)
		assert_int_equal(table->event_done(table, seq), 0);
	until(stored_cursor() == first + 2);
	/* Done again, or never handed over: nothing happens, and the log says so. */
	struct log_lines lines = log_lines_begin();
	assert_int_equal(table->event_done(table, first), 0);
	assert_int_equal(table->event_done(table, first + 1000), 0);
	AUTO_FREE char *said = log_lines_text(&lines);
	log_lines_end(&lines);
	const char *one = strstr(said, "is not open"), *other = one ? strstr(one + 1, "is not open") : NULL;
	assert_non_null(other);
	restart();
	until(chat.count == 2);
	assert_int_equal(chat.seq[0], first + 3);
	assert_int_equal(chat.seq[1], first + 4);
}

static int
watch_op(struct db *db, void *arg, struct kettle_error *err)
{
	(void)arg;
	int rc = db_exec(db, err, "CREATE TEMP TABLE written (what TEXT)", NULL);
	if (rc == 0)
		rc = db_exec(db, err,
			"CREATE TEMP TRIGGER watch_state AFTER DELETE ON main.plugin_state BEGIN INSERT INTO written VALUES "
			"('state'); END",
			NULL);
	if (rc == 0)
		rc = db_exec(db, err,
			"CREATE TEMP TRIGGER watch_cursor AFTER UPDATE ON main.cursors BEGIN INSERT INTO written VALUES "
			"('cursor'); END",
			NULL);
	return rc;
}

struct watched {
	int64_t in_order;
	int waiting;
};

static int
watched_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct watched *watched = arg;
	return db_int(db, &watched->in_order, err,
		"SELECT count(*) FROM written AS a JOIN written AS b ON a.rowid < b.rowid WHERE a.what = 'state' AND b.what = "
		"'cursor'",
		NULL);
}

static void
on_watched(void *arg, const struct kettle_error *err)
{
	assert_null(err);
	((struct watched *)arg)->waiting = 0;
}

/* A process that dies between the two has an event that comes again, never a state that no event ends. */
static void
test_state_before_event(void **state)
{
	(void)state;
	struct watched watched = {.waiting = 1};
	AUTO_JSON json_t *value = json_object();
	chat.at_once = false;
	restart();
	settle();
	store_write(cores.core[0]->store, watch_op, NULL, NULL);
	write_events(1);
	until(chat.count == 1);
	(void)state_answer(table->state_put(table, "told", value, on_state, &heard));
	assert_int_equal(table->state_put(table, "told", NULL, NULL, NULL), 0);
	assert_int_equal(table->event_done(table, chat.seq[0]), 0);
	until(stored_cursor() == chat.seq[0]);
	store_read(cores.core[0]->store, watched_op, on_watched, &watched);
	until(!watched.waiting);
	assert_int_equal(watched.in_order, 1);
}

/* No more than a window is open; an event that is done lets the next one in. */
static void
test_event_window(void **state)
{
	(void)state;
	chat.at_once = false;
	restart();
	settle();
	write_events(500);
	until(chat.count == KETTLE_EVENTS_OPEN);
	settle();
	assert_int_equal(chat.count, KETTLE_EVENTS_OPEN);
	assert_int_equal(table->event_done(table, chat.seq[1]), 0);
	settle();
	assert_int_equal(chat.count, KETTLE_EVENTS_OPEN);
	assert_int_equal(table->event_done(table, chat.seq[0]), 0);
	until(chat.count == KETTLE_EVENTS_OPEN + 2);
	/* Dealt with while they are handed over: all pages come. */
	chat.at_once = true;
	for (size_t i = 2, open = chat.count; i < open; i++)
		assert_int_equal(table->event_done(table, chat.seq[i]), 0);
	until(chat.count == 500);
	for (size_t i = 1; i < chat.count; i++)
		assert_int_equal(chat.seq[i], chat.seq[i - 1] + 1);
	until(stored_cursor() == chat.seq[499]);
	restart();
	settle();
	assert_int_equal(chat.count, 0);
}

/* ---- subscriptions ---- */

struct listener {
	uint64_t id;
	size_t heard;
	int ended;
};

static void
on_heard(void *arg, const json_t *event)
{
	struct listener *listener = arg;
	assert_int_equal(listener->ended, 0);
	listener->heard += json_object_get(event, "seq") != NULL; /* progress names no board */
}

static void
on_ended(void *arg)
{
	((struct listener *)arg)->ended++;
}

static void
subscribe(struct listener *listener, json_t *filter_take)
{
	AUTO_JSON json_t *actor = cores_actor("owner"), *filter = filter_take;
	*listener = (struct listener){0};
	assert_int_equal(table->subscribe(table, actor, filter, -1, on_heard, listener, &listener->id, NULL), 0);
}

static void
unsubscribe_elsewhere(void *arg)
{
	struct listener *listener = arg;
	assert_int_equal(table->unsubscribe(table, listener->id, on_ended, listener), 0);
}

/* Its end is said once, later, also of one that has ended and of one that never was. */
static void
test_unsubscribe_ends(void **state)
{
	(void)state;
	struct listener here, elsewhere, unknown = {.id = 4711};
	uv_thread_t thread;
	subscribe(&here, NULL);
	subscribe(&elsewhere, NULL);
	settle();
	assert_int_equal(table->unsubscribe(table, here.id, on_ended, &here), 0);
	assert_int_equal(here.ended, 0);
	assert_int_equal(uv_thread_create(&thread, unsubscribe_elsewhere, &elsewhere), 0);
	assert_int_equal(uv_thread_join(&thread), 0);
	assert_int_equal(table->unsubscribe(table, unknown.id, on_ended, &unknown), 0);
	write_events(1);
	until(here.ended && elsewhere.ended && unknown.ended);
	assert_int_equal(table->unsubscribe(table, here.id, NULL, NULL), 0);
	settle();
	assert_int_equal(here.ended + elsewhere.ended + unknown.ended, 3);
	assert_int_equal(here.heard, 0);
}

static bool
all_live(void)
{
	bool live = true;
	for (size_t i = 0; i < SUBSCRIPTION_BUCKETS; i++)
		for (const struct subscription *s = cores.core[0]->subscriptions.by_id[i]; s; s = s->next_by_id)
			live = live && s->live;
	return live;
}

/* Each of many hears of its own submission or board alone. */
static void
test_many_subscriptions(void **state)
{
	(void)state;
	enum { MANY = 3000 };
	AUTO_FREE struct listener *listeners = calloc(MANY, sizeof(*listeners));
	struct listener board, other, all;
	int64_t id = commands_number(cores_must(0, "ada", "submit", cores_file("arena")), "id");
	for (size_t i = 0; i < MANY; i++)
		subscribe(&listeners[i], json_pack("{s:I}", "submission", (json_int_t)(id + (int64_t)i)));
	subscribe(&board, json_pack("{s:s}", "leaderboard", "ArEnA"));
	subscribe(&other, json_pack("{s:s}", "leaderboard", "other"));
	subscribe(&all, NULL);
	until(all_live());
	(void)cores_must(0, "ada", "submit", cores_file("arena"));
	until(listeners[1].heard > 0);
	settle();
	assert_int_equal(listeners[0].heard + listeners[1].heard, board.heard);
	assert_int_equal(board.heard, all.heard);
	assert_int_equal(other.heard, 0);
	for (size_t i = 2; i < MANY; i++)
		assert_int_equal(listeners[i].heard, 0);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(table->unsubscribe(table, listeners[i].id, NULL, NULL), 0);
	assert_int_equal(cores.core[0]->subscriptions.count, 3);
	(void)table->unsubscribe(table, board.id, NULL, NULL);
	(void)table->unsubscribe(table, other.id, NULL, NULL);
	(void)table->unsubscribe(table, all.id, NULL, NULL);
}

static void
answer_at_once(struct inflight_job *job, const char *handle, kettle_answer answer, void *arg)
{
	const struct kettle_error none = {0};
	(void)job;
	assert_string_equal(handle, "h");
	answer(arg, &none, json_true());
}

/* The answer never comes before job_handle has returned, also where nothing is stored. */
static void
test_handle(void **state)
{
	(void)state;
	struct inflight_job job = {.ref = "run-1.1", .handle = answer_at_once};
	assert_int_equal(inflight_add(&cores.core[0]->inflight, &job), 0);
	assert_int_equal(table->job_handle(table, "run-1.1", "h", on_state, &heard), 0);
	assert_int_equal(heard.count, 0);
	until(heard.count == 1);
	assert_true(json_is_true(heard.result));
	inflight_remove(&cores.core[0]->inflight, &job);
	assert_int_equal(table->job_handle(table, "run-1.1", "h", on_state, &heard), KETTLE_ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* The first refusal is an event for admins, and then one of each time that it worked in between. */
static void
test_credential(void **state)
{
	(void)state;
	uint64_t id = 0, other = 0;
	struct kettle_error err = {0};
	AUTO_JSON json_t *admin = cores_actor("owner"), *user = cores_actor("ada"), *filter = json_object();
	AUTO_JSON json_t *seen = json_array(), *nothing = json_array();
	cores_must(0, "ada", "leaderboard.list", json_object());
	assert_int_equal(cores_subscribe(cores.core[0], admin, filter, -1, keep_event, seen, &id, &err), 0);
	assert_int_equal(cores_subscribe(cores.core[0], user, filter, -1, keep_event, nothing, &other, &err), 0);
	cores_must(0, "owner", "admin.pause", json_object());
	until(json_array_size(seen) == 1);
	table->credential(table, NULL);
	table->credential(table, "The token\nhas expired.");
	table->credential(table, "The token has expired.");
	until(json_array_size(seen) == 2);
	const json_t *event = json_array_get(seen, 1);
	assert_string_equal(commands_text(event, "kind"), "runner.credential_failed");
	assert_string_equal(commands_text(event, "data.runner"), "discord");
	assert_string_equal(commands_text(event, "data.error"), "The token has expired.");
	table->credential(table, NULL);
	table->credential(table, "It has expired again.");
	until(json_array_size(seen) == 3);
	cores_must(0, "owner", "admin.resume", json_object());
	until(json_array_size(seen) == 4);
	assert_int_equal(json_array_size(nothing), 0);
	assert_int_equal(core_unsubscribe(cores.core[0], id, NULL, NULL), 0);
	assert_int_equal(core_unsubscribe(cores.core[0], other, NULL, NULL), 0);
}

static const struct CMUnitTest tests[] = {
	TEST(test_state),
	TEST(test_credential),
	TEST(test_state_pages),
	TEST(test_state_limits),
	TEST(test_link),
	TEST(test_link_base),
	TEST(test_link_refused),
	TEST(test_events),
	TEST(test_state_before_event),
	TEST(test_event_window),
	TEST(test_unsubscribe_ends),
	TEST(test_many_subscriptions),
	TEST(test_handle),
};

UNIT_TESTS(test_plugin_host, .words = "waiting tsan");

/* SPDX-License-Identifier: MIT */
/* The database: one SQLite file, one thread that writes, one that only reads. Theory of operation in store.h. */
#include <config.h>

#include "store/store.h"

#include "base/base.h"
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/histogram.h"
#include "base/text.h"
#include "store/db.h"
#include "store/db_file.h"

#include <sys/queue.h>

struct op {
	STAILQ_ENTRY(op) link;
	store_op run;
	store_done done;
	void *arg;
	bool writes, waited_for; /* waited_for: counted in waiting of the store */
	struct kettle_error err;
};

STAILQ_HEAD(ops, op);

/* The results of one commit for the loop: first its events, then its answers. */
struct answer {
	STAILQ_ENTRY(answer) link;
	json_t *events;
	uint64_t commit_ns; /* that a commit took; 0: nothing was written */
	uint64_t wrote_ns;  /* when it had changed the file; 0: it did not */
	struct ops ops;
};
STAILQ_HEAD(answers, answer);

/* A thread with its connection and the operations that wait for it. */
struct db_thread {
	struct store *store;
	struct db db;
	uv_thread_t thread;
	uv_mutex_t mutex; /* guards queue and stop */
	uv_cond_t wake;
	struct ops queue, later;
	bool stop;
};

struct store {
	const struct clock *clock;
	struct db_thread writer, reader;
	uv_async_t async;
	store_events on_events;
	void *events_arg;
	void (*on_full)(void *arg, const struct kettle_error *why);
	void *full_arg;
	uv_mutex_t mutex; /* guards answers and finished */
	struct answers answers;
	bool finished; /* the writer has closed both connections */
	/* The loop thread's own. */
	bool closing;
	struct ops late; /* came after store_close */
	size_t waiting;  /* operations that were queued and not answered */
	struct histogram commits;
	uint64_t wrote_ns; /* as store_wrote_ns has it */
	void (*closed)(void *arg);
	void *closed_arg;
};

static struct op *
ops_pop(struct ops *ops)
{
	struct op *op = STAILQ_FIRST(ops);
	if (op)
		STAILQ_REMOVE_HEAD(ops, link);
	return op;
}

/* Answers and frees. On the loop thread. */
static void
ops_answer(struct store *store, struct ops *ops)
{
	struct op *op;
	while ((op = ops_pop(ops))) {
		store->waiting -= op->waited_for;
		if (op->writes && op->err.code == KETTLE_EIO)
			store->wrote_ns = 0;
		if (op->writes && store->on_full && op->err.code && op->err.cause == KETTLE_CAUSE_FULL)
			store->on_full(store->full_arg, &op->err);
		if (op->done)
			op->done(op->arg, op->err.code ? &op->err : NULL);
		free(op);
	}
}

static void
post(struct store *store, struct ops *done, struct answer *answer_take)
{
	struct answer *answer = answer_take;
	STAILQ_INIT(&answer->ops);
	STAILQ_CONCAT(&answer->ops, done);
	uv_mutex_lock(&store->mutex);
	STAILQ_INSERT_TAIL(&store->answers, answer, link);
	uv_mutex_unlock(&store->mutex);
	(void)uv_async_send(&store->async);
}

static bool
has_write(const struct ops *ops)
{
	const struct op *op = STAILQ_FIRST(ops);
	while (op && !op->writes)
		op = STAILQ_NEXT(op, link);
	return op;
}

/*
 * Waits for operations; false: there are none and none will come. Operations of store_later are taken together with
 * others, or after STORE_LATER_MS without any.
 */
static bool
lane_take(struct db_thread *thread_of, struct ops *ret_ops)
{
	bool idle = false;
	uv_mutex_lock(&thread_of->mutex);
	while (STAILQ_EMPTY(&thread_of->queue) && !thread_of->stop && !idle) {
		if (!STAILQ_EMPTY(&thread_of->later))
			idle = uv_cond_timedwait(&thread_of->wake, &thread_of->mutex, STORE_LATER_MS * UINT64_C(1000000)) ==
				   UV_ETIMEDOUT;
		else
			uv_cond_wait(&thread_of->wake, &thread_of->mutex);
	}
	STAILQ_INIT(ret_ops);
	STAILQ_CONCAT(ret_ops, &thread_of->queue);
	if (idle || thread_of->stop || has_write(ret_ops))
		STAILQ_CONCAT(ret_ops, &thread_of->later);
	uv_mutex_unlock(&thread_of->mutex);
	return !STAILQ_EMPTY(ret_ops);
}

/* Runs an operation below a savepoint, or alone in the transaction; if it fails, its writes and events are undone. */
static void
op_run(struct db *db, struct op *op, bool alone)
{
	size_t events = json_array_size(db->events);
	int rc = alone ? 0 : db_exec(db, &op->err, "SAVEPOINT op", NULL);
	if (rc == 0)
		rc = op->run(db, op->arg, &op->err);
	if (rc < 0) {
		if (op->err.code == 0)
			(void)kettle_fail(&op->err, rc, "The database operation failed.");
		while (json_array_size(db->events) > events)
			(void)json_array_remove(db->events, json_array_size(db->events) - 1);
		if (!sqlite3_get_autocommit(db->handle))
			(void)db_exec(db, NULL, alone ? "ROLLBACK" : "ROLLBACK TO op", NULL);
	} else {
		op->err.code = 0;
	}
	/* SQLite ends the whole transaction itself when the disk is full. */
	if (!alone && !sqlite3_get_autocommit(db->handle))
		(void)db_exec(db, NULL, "RELEASE op", NULL);
}

static int
commit(struct db *db, const struct ops *done, struct kettle_error *err)
{
	if (!sqlite3_get_autocommit(db->handle)) {
		int rc = db_exec(db, err, "COMMIT", NULL);
		if (rc < 0 && !sqlite3_get_autocommit(db->handle))
			(void)db_exec(db, NULL, "ROLLBACK", NULL);
		return rc;
	}
	/* The transaction is gone, and with it what the operations before the last one did. */
	const struct op *last = STAILQ_FIRST(done);
	while (last && STAILQ_NEXT(last, link))
		last = STAILQ_NEXT(last, link);
	if (!last || !last->err.code)
		return kettle_fail(err, KETTLE_EIO, "The database ended the transaction by itself.");
	*err = last->err;
	return err->code;
}

/* Runs operations off the queue in one transaction: all of them, or as many as one takes. */
static void
batch_run(struct db_thread *thread_of, struct ops *queue)
{
	struct db *db = &thread_of->db;
	struct ops done = STAILQ_HEAD_INITIALIZER(done);
	struct kettle_error err = {0};
	struct answer *answer = xcalloc(1, sizeof(*answer));
	bool writes = false, changes = false;
	size_t count = 0;
	for (struct op *op = STAILQ_FIRST(queue); op && count < STORE_BATCH_MAX; op = STAILQ_NEXT(op, link), count++)
		writes = writes || op->writes;
	bool alone = count == 1;
	db->now_ms = clock_utc_ms(thread_of->store->clock);
	db->events = json_array();
	int rc = writes ? db_file_check_place(db->handle, &err) : 0;
	if (rc == 0)
		rc = db_exec(db, &err, writes ? "BEGIN IMMEDIATE" : "BEGIN", NULL);
	for (; count > 0 && !STAILQ_EMPTY(queue) && (rc < 0 || !sqlite3_get_autocommit(db->handle)); count--) {
		struct op *op = ops_pop(queue);
		int before = sqlite3_total_changes(db->handle);
		STAILQ_INSERT_TAIL(&done, op, link);
		if (rc == 0)
			op_run(db, op, alone);
		changes = changes || (op->err.code == 0 && sqlite3_total_changes(db->handle) != before);
	}
	failpoint("store.commit.before");
	uint64_t begun_ns = clock_ns(thread_of->store->clock);
	if (rc == 0)
		rc = commit(db, &done, &err);
	failpoint("store.commit.after");
	uint64_t ended_ns = clock_ns(thread_of->store->clock);
	answer->commit_ns = rc == 0 && writes ? ended_ns - begun_ns + 1 : 0;
	answer->wrote_ns = rc == 0 && changes ? ended_ns : 0;
	for (struct op *op = STAILQ_FIRST(&done); op && rc < 0; op = STAILQ_NEXT(op, link))
		if (op->err.code == 0)
			op->err = err;
	answer->events = STEAL(db->events);
	if (rc < 0 || json_array_size(answer->events) == 0)
		json_decref(STEAL(answer->events));
	post(thread_of->store, &done, answer);
	failpoint("store.answered");
}

static void
writer_main(void *arg)
{
	struct db_thread *thread_of = arg;
	struct store *store = thread_of->store;
	struct ops ops;
	while (lane_take(thread_of, &ops))
		while (!STAILQ_EMPTY(&ops))
			batch_run(thread_of, &ops);
	/* The last connection to close empties the log; a reader in the middle of something would keep it. */
	(void)uv_thread_join(&store->reader.thread);
	db_close(&store->reader.db);
	(void)sqlite3_wal_checkpoint_v2(thread_of->db.handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	db_close(&thread_of->db);
	uv_mutex_lock(&store->mutex);
	store->finished = true;
	uv_mutex_unlock(&store->mutex);
	(void)uv_async_send(&store->async);
}

/* One operation, one snapshot, one answer: none of them waits for another longer than it must. */
static void
query_run(struct db_thread *thread_of, struct op *op)
{
	struct db *db = &thread_of->db;
	struct ops done = STAILQ_HEAD_INITIALIZER(done);
	STAILQ_INSERT_TAIL(&done, op, link);
	db->now_ms = clock_utc_ms(thread_of->store->clock);
	int rc = db_exec(db, &op->err, "BEGIN", NULL);
	if (rc == 0)
		rc = op->run(db, op->arg, &op->err);
	if (rc < 0 && op->err.code == 0)
		(void)kettle_fail(&op->err, rc, "The database operation failed.");
	if (rc >= 0)
		op->err.code = 0;
	if (!sqlite3_get_autocommit(db->handle))
		(void)db_exec(db, NULL, "ROLLBACK", NULL);
	post(thread_of->store, &done, xcalloc(1, sizeof(struct answer)));
}

static void
reader_main(void *arg)
{
	struct db_thread *thread_of = arg;
	struct ops ops;
	while (lane_take(thread_of, &ops))
		while (!STAILQ_EMPTY(&ops))
			query_run(thread_of, ops_pop(&ops));
}

static int
lane_open(struct store *store, struct db_thread *thread_of, sqlite3 *handle_take)
{
	thread_of->store = store;
	thread_of->db.handle = handle_take;
	STAILQ_INIT(&thread_of->queue);
	STAILQ_INIT(&thread_of->later);
	int rc = uv_mutex_init(&thread_of->mutex);
	if (rc < 0)
		return rc;
	rc = uv_cond_init(&thread_of->wake);
	if (rc < 0)
		uv_mutex_destroy(&thread_of->mutex);
	return rc;
}

static void
lane_free(struct db_thread *thread_of)
{
	uv_cond_destroy(&thread_of->wake);
	uv_mutex_destroy(&thread_of->mutex);
}

static void
lane_stop(struct db_thread *thread_of)
{
	uv_mutex_lock(&thread_of->mutex);
	thread_of->stop = true;
	uv_cond_signal(&thread_of->wake);
	uv_mutex_unlock(&thread_of->mutex);
}

static void
on_store_closed(uv_handle_t *handle)
{
	struct store *store = handle->data;
	void (*closed)(void *arg) = store->closed;
	void *arg = store->closed_arg;
	ops_answer(store, &store->late);
	lane_free(&store->reader);
	lane_free(&store->writer);
	uv_mutex_destroy(&store->mutex);
	free(store);
	if (closed)
		closed(arg);
}

static void
on_async(uv_async_t *async)
{
	struct store *store = async->data;
	struct answers answers = STAILQ_HEAD_INITIALIZER(answers);
	uv_mutex_lock(&store->mutex);
	STAILQ_CONCAT(&answers, &store->answers);
	bool finished = store->finished;
	uv_mutex_unlock(&store->mutex);
	for (struct answer *answer; (answer = STAILQ_FIRST(&answers));) {
		STAILQ_REMOVE_HEAD(&answers, link);
		if (answer->commit_ns)
			histogram_add(&store->commits, (double)answer->commit_ns / 1e9);
		if (answer->wrote_ns)
			store->wrote_ns = answer->wrote_ns;
		if (answer->events && store->on_events)
			store->on_events(store->events_arg, answer->events);
		ops_answer(store, &answer->ops);
		json_decref(answer->events);
		free(answer);
	}
	if (store->closing)
		ops_answer(store, &store->late);
	if (finished) {
		(void)uv_thread_join(&store->writer.thread);
		uv_close((uv_handle_t *)async, on_store_closed);
	}
}

/* Opens both connections and starts both threads, or neither. */
static int
store_start(struct store *store)
{
	int rc = uv_thread_create(&store->reader.thread, reader_main, &store->reader);
	if (rc < 0)
		return rc;
	rc = uv_thread_create(&store->writer.thread, writer_main, &store->writer);
	if (rc < 0) {
		lane_stop(&store->reader);
		(void)uv_thread_join(&store->reader.thread);
	}
	return rc;
}

static void
on_abandoned(uv_handle_t *handle)
{
	free(handle->data);
}

/* Everything but the connections, which store keeps from here on. The async frees store when it was made. */
static int
store_set_up(uv_loop_t *loop, struct store *store, sqlite3 *writer_take, sqlite3 *reader_take, struct kettle_error *err)
{
	int rc = uv_async_init(loop, &store->async, on_async);
	bool async = rc == 0, mutex = false, writer = false, reader = false;
	store->async.data = store;
	if (rc == 0)
		mutex = (rc = uv_mutex_init(&store->mutex)) == 0;
	if (rc == 0)
		writer = (rc = lane_open(store, &store->writer, writer_take)) == 0;
	if (rc == 0)
		reader = (rc = lane_open(store, &store->reader, reader_take)) == 0;
	if (rc == 0)
		rc = store_start(store);
	if (rc == 0)
		return 0;
	if (reader)
		lane_free(&store->reader);
	if (writer)
		lane_free(&store->writer);
	if (mutex)
		uv_mutex_destroy(&store->mutex);
	sqlite3_close(reader_take);
	sqlite3_close(writer_take);
	if (async)
		uv_close((uv_handle_t *)&store->async, on_abandoned);
	else
		free(store);
	return kettle_fail(err, KETTLE_EUNAVAIL, "The database's threads cannot be started: %s.", uv_strerror(rc));
}

int
store_open(uv_loop_t *loop, const struct clock *clock, const char *path, const char *owner, store_events on_events,
	void *events_arg, struct store **ret_store, struct kettle_error *err)
{
	sqlite3 *writer = NULL, *reader = NULL;
	int rc = db_file_open(path, owner, &writer, err);
	if (rc < 0)
		return rc;
	rc = db_file_open_reader(path, &reader, err);
	if (rc < 0) {
		sqlite3_close(writer);
		return rc;
	}
	struct store *store = xnew(struct store, .clock = clock, .on_events = on_events, .events_arg = events_arg);
	STAILQ_INIT(&store->answers);
	STAILQ_INIT(&store->late);
	rc = store_set_up(loop, store, writer, reader, err);
	if (rc == 0)
		*ret_store = store;
	return rc;
}

enum when { WHEN_NOW, WHEN_LATER };

static void
queue(struct db_thread *thread_of, bool writes, enum when when, store_op run, store_done done, void *arg)
{
	struct store *store = thread_of->store;
	struct op *op = xmalloc(sizeof(*op));
	op->run = run;
	op->done = done;
	op->arg = arg;
	op->writes = writes;
	op->waited_for = when == WHEN_NOW && !store->closing;
	op->err = (struct kettle_error){0};
	if (store->closing) {
		(void)kettle_fail(&op->err, KETTLE_ECANCELED, "The database is being closed.");
		STAILQ_INSERT_TAIL(&store->late, op, link);
		/* Once the async is closing, its close callback answers. */
		if (!uv_is_closing((uv_handle_t *)&store->async))
			(void)uv_async_send(&store->async);
		return;
	}
	store->waiting += op->waited_for;
	uv_mutex_lock(&thread_of->mutex);
	struct ops *ops = when == WHEN_LATER ? &thread_of->later : &thread_of->queue;
	STAILQ_INSERT_TAIL(ops, op, link);
	uv_cond_signal(&thread_of->wake);
	uv_mutex_unlock(&thread_of->mutex);
}

void
store_watch_full(struct store *store, void (*full)(void *arg, const struct kettle_error *why), void *arg)
{
	store->on_full = full;
	store->full_arg = arg;
}

json_t *
store_commits(const struct store *store)
{
	return histogram_json(&store->commits);
}

uint64_t
store_wrote_ns(const struct store *store)
{
	return store->wrote_ns;
}

bool
store_rests(const struct store *store)
{
	return store->waiting == 0;
}

void
store_write(struct store *store, store_op op, store_done done, void *arg)
{
	queue(&store->writer, true, WHEN_NOW, op, done, arg);
}

void
store_later(struct store *store, store_op op, store_done done, void *arg)
{
	queue(&store->writer, true, WHEN_LATER, op, done, arg);
}

void
store_read(struct store *store, store_op op, store_done done, void *arg)
{
	queue(&store->writer, false, WHEN_NOW, op, done, arg);
}

void
store_query(struct store *store, store_op op, store_done done, void *arg)
{
	queue(&store->reader, false, WHEN_NOW, op, done, arg);
}

void
store_close(struct store *store, void (*closed)(void *arg), void *arg)
{
	if (!store) {
		if (closed)
			closed(arg);
		return;
	}
	store->closing = true;
	store->closed = closed;
	store->closed_arg = arg;
	lane_stop(&store->reader);
	lane_stop(&store->writer);
}

/* SPDX-License-Identifier: MIT */
/*
 * One end of the database's socket.
 *
 * Theory of operation. A peer's data is read a chunk at a time, and a bounded number of its lines become messages in a
 * turn of the loop. If more is left (the chunk was full, or lines wait), reading stops and an idle handle goes on in
 * the next turn, after all other handles had theirs. A peer that is not ready for messages has neither: its data waits
 * in the socket until json_socket_resume, or until everything sent to it is written. A long line has a thread of the
 * pool to itself; until the line is a message, its peer has no next turn, reads nothing and is not freed.
 */
#include <config.h>

#include "loop/json_socket.h"

#include "base/base.h"
#include "base/line.h"

#include <fcntl.h>

struct json_socket {
	uv_pipe_t pipe;
	uv_idle_t next_turn; /* active: more is left */
	unsigned open;       /* of the two handles and the work */
	struct line_reader lines;
	struct json_socket_events events;
	void *arg;
	uv_shutdown_t shutdown;
	size_t counted;                      /* of the pool's bytes */
	struct json_socket *previous, *next; /* in the pool */
	uv_work_t work;                      /* on the long line */
	void *memory;                        /* of the long line; NULL: there is none */
	const char *line;                    /* the long one */
	size_t line_size;
	json_t *read;   /* its value; NULL: it is refused */
	unsigned share; /* messages that this turn has left */
	bool paused;    /* not ready: neither reads nor has a next turn */
	bool finishing;
	char chunk[65536];
};

struct socket_write {
	uv_write_t request;
	char text[];
};

static void
release(struct json_socket *peer)
{
	if (--peer->open > 0)
		return;
	line_free(&peer->lines);
	free(peer->memory);
	peer->events.closed(peer->arg);
	free(peer);
}

static void
on_close(uv_handle_t *handle)
{
	release(handle->data);
}

static void
enter_pool(struct json_socket *peer)
{
	struct json_socket_pool *pool = peer->events.pool;
	if (!pool)
		return;
	peer->next = pool->peers;
	if (peer->next)
		peer->next->previous = peer;
	pool->peers = peer;
}

/* The peer's memory is freed in this turn of the loop. */
static void
leave_pool(struct json_socket *peer)
{
	struct json_socket_pool *pool = peer->events.pool;
	if (!pool)
		return;
	*(peer->previous ? &peer->previous->next : &pool->peers) = peer->next;
	if (peer->next)
		peer->next->previous = peer->previous;
	pool->held -= peer->counted;
}

void
json_socket_close(struct json_socket *peer)
{
	if (!peer || uv_is_closing((uv_handle_t *)&peer->pipe))
		return;
	leave_pool(peer);
	uv_close((uv_handle_t *)&peer->next_turn, on_close);
	uv_close((uv_handle_t *)&peer->pipe, on_close);
}

static struct json_socket *
find_largest(const struct json_socket_pool *pool)
{
	struct json_socket *largest = pool->peers;
	for (struct json_socket *peer = largest; peer; peer = peer->next)
		if (peer->counted > largest->counted)
			largest = peer;
	return largest;
}

/* Updates the bytes that the peer holds. A peer that holds much and never goes on must not keep the others out. */
static void
count_held(struct json_socket *peer)
{
	struct json_socket_pool *pool = peer->events.pool;
	if (!pool || uv_is_closing((uv_handle_t *)&peer->pipe))
		return;
	size_t now = peer->lines.pending.len + (peer->memory ? peer->line_size : 0) +
				 uv_stream_get_write_queue_size((uv_stream_t *)&peer->pipe);
	bool grows = now > peer->counted;
	pool->held += now - peer->counted;
	peer->counted = now;
	if (grows && pool->held > JSON_SOCKET_MAX_HELD)
		json_socket_close(find_largest(pool));
}

static void
on_shutdown(uv_shutdown_t *request, int status)
{
	(void)status;
	json_socket_close(request->handle->data);
}

void
json_socket_finish(struct json_socket *peer)
{
	if (peer->finishing || uv_is_closing((uv_handle_t *)&peer->pipe))
		return;
	peer->finishing = true;
	if (uv_shutdown(&peer->shutdown, (uv_stream_t *)&peer->pipe, on_shutdown) < 0)
		json_socket_close(peer);
}

static void
on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	struct json_socket *peer = handle->data;
	(void)suggested;
	*buf = uv_buf_init(peer->chunk, sizeof(peer->chunk));
}

static bool
is_ready(const struct json_socket *peer)
{
	if (!peer->events.ready)
		return true;
	return uv_stream_get_write_queue_size((const uv_stream_t *)&peer->pipe) <= JSON_SOCKET_PAUSE_UNSENT &&
		   peer->events.ready(peer->arg);
}

/* Whether a line has at most this many values, counted by their separators. most: 0: any number. */
static bool
has_few_values(const char *line, size_t len, size_t most)
{
	bool quoted = false;
	size_t found = 0;
	for (size_t i = 0; most > 0 && i < len && found <= most; i++) {
		if (quoted && line[i] == '\\')
			i++;
		else if (line[i] == '"')
			quoted = !quoted;
		else
			found += !quoted && (line[i] == ',' || line[i] == '[' || line[i] == '{');
	}
	return most == 0 || found <= most;
}

/* The message of a line; NULL: it is invalid, or has too many values. New reference. [any] */
static json_t *
read_line(const struct json_socket *peer, const char *line, size_t len)
{
	if (!has_few_values(line, len, peer->events.most_values))
		return NULL;
	json_t *message = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(message))
		json_decref(STEAL(message));
	return message;
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf);
static void on_next_turn(uv_idle_t *next_turn);
static void on_long_read(uv_work_t *work, int status);

static void
read_long(uv_work_t *work)
{
	struct json_socket *peer = work->data;
	peer->read = read_line(peer, peer->line, peer->line_size);
}

/* Gives the long line of the peer to the pool, unless another peer has its turn. */
static void
begin_long(struct json_socket *peer)
{
	struct json_socket_pool *pool = peer->events.pool;
	if (pool && pool->reading)
		return;
	peer->work.data = peer;
	(void)uv_queue_work(peer->pipe.loop, &peer->work, read_long, on_long_read);
	peer->open++;
	if (pool)
		pool->reading = true;
}

/* Of the peers whose long line waits, the first that came. */
static void
begin_next_long(struct json_socket_pool *pool)
{
	struct json_socket *next = NULL;
	pool->reading = false;
	for (struct json_socket *peer = pool->peers; peer; peer = peer->next)
		if (peer->memory)
			next = peer;
	if (next)
		begin_long(next);
}

/* Continues after a message, in the next turn of the loop. */
static void
go_on(struct json_socket *peer)
{
	if (uv_is_closing((uv_handle_t *)&peer->pipe))
		return;
	peer->paused = !is_ready(peer);
	if (!peer->paused)
		(void)uv_idle_start(&peer->next_turn, on_next_turn);
}

static void
on_long_read(uv_work_t *work, int status)
{
	struct json_socket *peer = work->data;
	AUTO_JSON json_t *message = STEAL(peer->read);
	(void)status;
	free(STEAL(peer->memory));
	if (!message)
		json_socket_close(peer);
	else if (!uv_is_closing((uv_handle_t *)&peer->pipe))
		peer->events.message(peer->arg, message, peer->line_size);
	count_held(peer);
	if (peer->events.pool)
		begin_next_long(peer->events.pool);
	go_on(peer);
	release(peer);
}

/* 1: the lines after it wait. */
static int
on_socket_line(void *arg, char *line, size_t len)
{
	struct json_socket *peer = arg;
	if (len >= JSON_SOCKET_LONG) {
		peer->memory = line_take(&peer->lines);
		peer->line = line;
		peer->line_size = len;
		begin_long(peer);
		return 1;
	}
	AUTO_JSON json_t *message = read_line(peer, line, len);
	if (!message)
		return KETTLE_EINVAL;
	peer->share--;
	peer->events.message(peer->arg, message, len);
	return uv_is_closing((uv_handle_t *)&peer->pipe) || peer->share == 0 || !is_ready(peer);
}

/* Handles this turn's share of the lines that have arrived. more: there may be more in the socket to read at once. */
static void
take_lines(struct json_socket *peer, bool more)
{
	peer->share = JSON_SOCKET_TURN_MESSAGES;
	int rc = is_ready(peer) ? line_add(&peer->lines, NULL, 0, on_socket_line, peer) : 1;
	if (rc < 0)
		json_socket_close(peer);
	count_held(peer);
	if (uv_is_closing((uv_handle_t *)&peer->pipe))
		return;
	if (peer->memory) {
		(void)uv_read_stop((uv_stream_t *)&peer->pipe);
		return;
	}
	peer->paused = !is_ready(peer);
	if (rc == 0 && !more && !peer->paused) {
		(void)uv_read_start((uv_stream_t *)&peer->pipe, on_alloc, on_read);
		return;
	}
	(void)uv_read_stop((uv_stream_t *)&peer->pipe);
	if (!peer->paused)
		(void)uv_idle_start(&peer->next_turn, on_next_turn);
}

static void
on_next_turn(uv_idle_t *next_turn)
{
	(void)uv_idle_stop(next_turn);
	take_lines(next_turn->data, false);
}

void
json_socket_resume(struct json_socket *peer)
{
	if (!peer->paused || uv_is_closing((uv_handle_t *)&peer->pipe) || !is_ready(peer))
		return;
	peer->paused = false;
	(void)uv_idle_start(&peer->next_turn, on_next_turn);
}

static void
on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
	struct json_socket *peer = stream->data;
	if (count < 0) {
		json_socket_close(peer);
		return;
	}
	buf_add(&peer->lines.pending, buf->base, (size_t)count);
	take_lines(peer, (size_t)count == sizeof(peer->chunk));
}

static struct json_socket *
new_peer(uv_loop_t *loop, const struct json_socket_events *events, void *arg)
{
	struct json_socket *peer = xcalloc(1, sizeof(*peer)); /* too large for xnew */
	peer->events = *events;
	peer->arg = arg;
	peer->lines.max = JSON_SOCKET_MAX_LINE;
	(void)uv_pipe_init(loop, &peer->pipe, 0);
	(void)uv_idle_init(loop, &peer->next_turn);
	peer->pipe.data = peer->next_turn.data = peer;
	peer->open = 2;
	return peer;
}

static void
socket_drop(uv_handle_t *handle)
{
	struct json_socket *peer = handle->data;
	if (--peer->open == 0)
		free(peer);
}

/* Begins to read from a connected peer; frees it where connecting it (rc) or reading failed. Returns a uv code. */
static int
start_peer(struct json_socket *peer, int rc)
{
	if (rc == 0)
		rc = uv_read_start((uv_stream_t *)&peer->pipe, on_alloc, on_read);
	if (rc < 0) {
		uv_close((uv_handle_t *)&peer->next_turn, socket_drop);
		uv_close((uv_handle_t *)&peer->pipe, socket_drop);
		return rc;
	}
	enter_pool(peer);
	return 0;
}

int
json_socket_accept(uv_stream_t *listener, const struct json_socket_events *events, void *arg,
	struct json_socket **ret_peer, struct kettle_error *err)
{
	struct json_socket *peer = new_peer(listener->loop, events, arg);
	int rc = start_peer(peer, uv_accept(listener, (uv_stream_t *)&peer->pipe));
	if (rc < 0)
		return kettle_fail(err, KETTLE_EIO, "A connection could not be taken: %s.", uv_strerror(rc));
	*ret_peer = peer;
	return 0;
}

int
json_socket_open(uv_loop_t *loop, int fd_take, const struct json_socket_events *events, void *arg,
	struct json_socket **ret_peer, struct kettle_error *err)
{
	struct json_socket *peer = new_peer(loop, events, arg);
	int rc = uv_pipe_open(&peer->pipe, fd_take);
	if (rc < 0)
		close(fd_take);
	rc = start_peer(peer, rc);
	if (rc < 0)
		return kettle_fail(err, KETTLE_EIO, "The connection could not be used: %s.", uv_strerror(rc));
	*ret_peer = peer;
	return 0;
}

static void
on_sent(uv_write_t *request, int status)
{
	struct json_socket *peer = request->handle->data;
	free(CONTAINER_OF(request, struct socket_write, request));
	if (status < 0)
		json_socket_close(peer);
	count_held(peer);
	json_socket_resume(peer);
}

void
json_socket_send(struct json_socket *peer, const json_t *message)
{
	if (peer->finishing || uv_is_closing((uv_handle_t *)&peer->pipe))
		return;
	if (uv_stream_get_write_queue_size((uv_stream_t *)&peer->pipe) > JSON_SOCKET_MAX_UNSENT) {
		json_socket_close(peer);
		return;
	}
	size_t size = json_dumpb(message, NULL, 0, JSON_COMPACT);
	if (size == 0) {
		json_socket_close(peer);
		return;
	}
	struct socket_write *sending = xmalloc(sizeof(*sending) + size + 1);
	(void)json_dumpb(message, sending->text, size, JSON_COMPACT);
	sending->text[size] = '\n';
	uv_buf_t buf = uv_buf_init(sending->text, (unsigned)(size + 1));
	if (uv_write(&sending->request, (uv_stream_t *)&peer->pipe, &buf, 1, on_sent) < 0) {
		free(sending);
		json_socket_close(peer);
	}
	count_held(peer);
}

int
json_socket_address(const char *path, char ret_address[108], int *ret_dir, struct kettle_error *err)
{
	if (strlen(path) < 108) {
		(void)snprintf(ret_address, 108, "%s", path);
		*ret_dir = -1;
		return 0;
	}
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *folder = slash ? xstrndup(path, (size_t)(slash - path)) : NULL;
	AUTO_FD int dir = folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (dir < 0 || snprintf(ret_address, 108, "/proc/self/fd/%d/%s", dir, slash + 1) >= 108)
		return kettle_fail(err, KETTLE_EINVAL, "The database's name is too long for a socket beside it: %s.", path);
	*ret_dir = STEAL_FD(dir);
	return 0;
}

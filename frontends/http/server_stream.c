/* SPDX-License-Identifier: MIT */
/*
 * Streams: answers whose pieces come later, to any number of clients.
 *
 * Theory of operation. The library asks for bytes when it can send some (fill). Where there are none, the connection is
 * suspended, and what any thread sends puts the stream on a list of the server, whose thread resumes it. A stream has
 * references to the pieces that it has not sent; no piece is copied but into the library's buffer of the connection. The
 * library frees its response when the connection has ended (leave), however that happens.
 */
#include <config.h>

#include "http/server_internal.h"

#include <sys/queue.h>

#include "base/base.h"

#define EVENTS_TYPE "text/event-stream"
#define OLD_BLOCK 1024 /* bytes that the library takes at a time for HTTP/1.0, which has no chunks */
#define MS_PER_S 1000
#define RETRY_MIN_MS 1000 /* for clients whose stream the server ends: they come back within a range of time */
#define RETRY_RANGE_MS 4000
#define RETRY_STEP_MS 811

struct http_chunk {
	unsigned refs; /* atomic */
	size_t size;
	char text[];
};

/* A piece that a stream has yet to send. */
struct piece {
	struct http_chunk *chunk;
	STAILQ_ENTRY(piece) link;
};

struct http_stream {
	struct http_server *server;
	bool events; /* its type is that of events */
	/* Those of the connection, the thread's; not used any more when it is over. */
	struct http_connection *connection;
	struct http_request *request;
	/* Protected by the lock. */
	struct http_stream *next, **link; /* of the server's; link: what points to it */
	unsigned refs;                    /* the caller's, the response's and that of the list `busy` */
	STAILQ_HEAD(, piece) pieces;
	size_t offset, behind; /* bytes of the first piece that are sent; bytes that are not */
	uint64_t sent_ms;
	bool idle, listed;  /* it waits for a piece; it is in the list `busy` */
	bool ended, cut;    /* it ends: when everything is sent, at once */
	bool over, calling; /* the connection has ended; `closed` runs */
	void (*closed)(void *arg);
	void *arg;
	struct http_stream *next_busy;
};

/* ---- pieces ---- */

struct http_chunk *
http_chunk_new(const void *text, size_t size)
{
	struct http_chunk *chunk = xmalloc(sizeof(*chunk) + size);
	*chunk = (struct http_chunk){.refs = 1, .size = size};
	if (size > 0)
		(void)memcpy(chunk->text, text, size);
	return chunk;
}

void
http_chunk_unref(struct http_chunk *chunk)
{
	if (chunk && __atomic_sub_fetch(&chunk->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(chunk);
}

/* The lock is held. */
static void
add_piece(struct http_stream *stream, struct http_chunk *chunk)
{
	struct piece *piece = xmalloc(sizeof(*piece));
	(void)__atomic_add_fetch(&chunk->refs, 1, __ATOMIC_RELAXED);
	*piece = (struct piece){.chunk = chunk};
	STAILQ_INSERT_TAIL(&stream->pieces, piece, link);
	stream->behind += chunk->size;
}

/* The lock is held. */
static void
drop_piece(struct http_stream *stream)
{
	struct piece *piece = STAILQ_FIRST(&stream->pieces);
	STAILQ_REMOVE_HEAD(&stream->pieces, link);
	stream->offset = 0;
	http_chunk_unref(piece->chunk);
	free(piece);
}

/* Has the thread go on with it; the lock is held. */
static void
list(struct http_stream *stream)
{
	struct http_server *server = stream->server;
	if (stream->listed || stream->over || (!stream->idle && !stream->cut && !(stream->ended && stream->connection)))
		return;
	stream->listed = true;
	stream->refs++;
	stream->next_busy = server->busy;
	server->busy = stream;
	server_wake(server);
}

/* The lock is held, and is not after it. */
static void
unref_unlock(struct http_stream *stream)
{
	struct http_server *server = stream->server;
	bool last = --stream->refs == 0;
	(void)pthread_mutex_unlock(&server->lock);
	if (last) {
		free(stream);
		server_unref(server);
	}
}

/* Ends it because the server stops; the lock is held. */
static void
finish(struct http_stream *stream)
{
	struct http_server *server = stream->server;
	char text[32];
	if (stream->events && !stream->ended) {
		unsigned ms = RETRY_MIN_MS + server->retries++ * RETRY_STEP_MS % RETRY_RANGE_MS;
		struct http_chunk *chunk = http_chunk_new(text, (size_t)snprintf(text, sizeof(text), "retry: %u\n\n", ms));
		add_piece(stream, chunk);
		http_chunk_unref(chunk);
	}
	stream->ended = true;
	list(stream);
}

/* ---- the library's side ---- */

/* Gives the library what it can send. */
static ssize_t
fill(void *arg, uint64_t position, char *to, size_t room)
{
	struct http_stream *stream = arg;
	struct http_server *server = stream->server;
	size_t size = 0;
	ssize_t given;
	(void)position;
	(void)pthread_mutex_lock(&server->lock);
	while (!stream->cut && !STAILQ_EMPTY(&stream->pieces) && size < room) {
		const struct http_chunk *chunk = STAILQ_FIRST(&stream->pieces)->chunk;
		size_t left = chunk->size - stream->offset, part = left < room - size ? left : room - size;
		(void)memcpy(to + size, chunk->text + stream->offset, part);
		size += part;
		stream->offset += part;
		if (stream->offset == chunk->size)
			drop_piece(stream);
	}
	stream->behind -= size;
	stream->sent_ms = size > 0 ? server_now(server) : stream->sent_ms;
	stream->idle = size == 0 && !stream->cut && !stream->ended;
	if (stream->idle) {
		stream->connection->stream = stream;
		http_connection_suspend(stream->connection);
		server_due(server, stream->sent_ms + HTTP_STREAM_SILENT_MS);
	}
	given = stream->cut     ? MHD_CONTENT_READER_END_WITH_ERROR
			: size > 0      ? (ssize_t)size
			: stream->ended ? MHD_CONTENT_READER_END_OF_STREAM
							: 0;
	(void)pthread_mutex_unlock(&server->lock);
	stream->request->bytes += size;
	return given;
}

/* The connection has ended, or the answer never came to be sent. */
static void
leave(void *arg)
{
	struct http_stream *stream = arg;
	struct http_server *server = stream->server;
	(void)pthread_mutex_lock(&server->lock);
	*stream->link = stream->next;
	if (stream->next)
		stream->next->link = stream->link;
	stream->over = true;
	while (!STAILQ_EMPTY(&stream->pieces))
		drop_piece(stream);
	void (*closed)(void *arg) = stream->closed;
	stream->calling = closed;
	(void)pthread_mutex_unlock(&server->lock);
	if (closed)
		closed(stream->arg);
	(void)pthread_mutex_lock(&server->lock);
	stream->calling = false;
	(void)pthread_cond_broadcast(&server->called);
	unref_unlock(stream);
}

/* ---- the caller's side ---- */

struct http_stream *
http_stream_open(struct http_request *request, const char *type, const struct http_header *headers,
	void (*closed)(void *arg), void *arg)
{
	struct http_server *server = server_ref(request->server);
	struct http_stream *stream = xcalloc(1, sizeof(*stream));
	*stream = (struct http_stream){.server = server,
		.request = request,
		.events = strncasecmp(type, EVENTS_TYPE, strlen(EVENTS_TYPE)) == 0,
		.refs = 2,
		.pieces = STAILQ_HEAD_INITIALIZER(stream->pieces),
		.sent_ms = server_now(server),
		.arg = arg};
	struct MHD_Response *response =
		MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, request->old ? OLD_BLOCK : 1, fill, stream, leave);
	struct http_content *content = content_of(response, MHD_SIZE_UNKNOWN, type, headers);
	content->reads = true;
	(void)pthread_mutex_lock(&server->lock);
	stream->connection = request->connection;
	stream->closed = stream->connection ? closed : NULL;
	stream->next = server->streams;
	stream->link = &server->streams;
	if (stream->next)
		stream->next->link = &stream->next;
	server->streams = stream;
	if (server->stopping)
		finish(stream);
	(void)pthread_mutex_unlock(&server->lock);
	http_answer(request, MHD_HTTP_OK, content);
	return stream;
}

static bool
send_piece(struct http_stream *stream, struct http_chunk *chunk, bool is_last)
{
	struct http_server *server = stream->server;
	(void)pthread_mutex_lock(&server->lock);
	bool open = !stream->over && !stream->cut && !stream->ended;
	if (open && !is_last && chunk->size > HTTP_STREAM_BEHIND - stream->behind) {
		stream->cut = true;
		open = false;
		list(stream);
	} else if (open && chunk->size > 0) {
		add_piece(stream, chunk);
		stream->ended = is_last;
		list(stream);
	}
	(void)pthread_mutex_unlock(&server->lock);
	return open;
}

bool
http_stream_send(struct http_stream *stream, struct http_chunk *chunk)
{
	return send_piece(stream, chunk, false);
}

bool
http_stream_send_last(struct http_stream *stream, struct http_chunk *chunk)
{
	return send_piece(stream, chunk, true);
}

void
http_stream_end(struct http_stream *stream)
{
	struct http_server *server = stream->server;
	(void)pthread_mutex_lock(&server->lock);
	while (stream->calling && !pthread_equal(pthread_self(), server->thread))
		(void)pthread_cond_wait(&server->called, &server->lock);
	stream->closed = NULL;
	stream->ended = true;
	list(stream);
	unref_unlock(stream);
}

/* ---- the thread's side ---- */

void
streams_send(struct http_server *server)
{
	(void)pthread_mutex_lock(&server->lock);
	while (server->busy) {
		struct http_stream *stream = server->busy;
		server->busy = stream->next_busy;
		stream->listed = false;
		/* Its client does not have for ever to read what is left. */
		if (!stream->over && stream->ended && stream->connection)
			http_connection_limit(
				stream->connection, server->request_ms + stream->behind / HTTP_SERVER_RATE * MS_PER_S);
		if (!stream->over && stream->idle)
			http_connection_resume(stream->connection);
		else if (!stream->over && stream->cut)
			http_connection_end(stream->connection); /* its client does not read */
		stream->idle = false;
		unref_unlock(stream);
		(void)pthread_mutex_lock(&server->lock);
	}
	(void)pthread_mutex_unlock(&server->lock);
}

void
stream_left(struct http_stream *stream)
{
	(void)pthread_mutex_lock(&stream->server->lock);
	stream->cut = true;
	list(stream);
	(void)pthread_mutex_unlock(&stream->server->lock);
}

void
streams_end(struct http_server *server)
{
	(void)pthread_mutex_lock(&server->lock);
	for (struct http_stream *stream = server->streams; stream; stream = stream->next)
		finish(stream);
	(void)pthread_mutex_unlock(&server->lock);
}

void
streams_keep_alive(struct http_server *server)
{
	static const char comment[] = ":\n\n";
	struct http_chunk *chunk = NULL;
	uint64_t now_ms = server_now(server);
	(void)pthread_mutex_lock(&server->lock);
	for (struct http_stream *stream = server->streams; stream; stream = stream->next) {
		if (!stream->events || !stream->idle || stream->listed)
			continue;
		uint64_t due_ms = stream->sent_ms + HTTP_STREAM_SILENT_MS;
		if (due_ms <= now_ms) {
			chunk = chunk ? chunk : http_chunk_new(comment, sizeof(comment) - 1);
			add_piece(stream, chunk);
			list(stream);
		} else {
			server_due(server, due_ms);
		}
	}
	(void)pthread_mutex_unlock(&server->lock);
	http_chunk_unref(chunk);
}

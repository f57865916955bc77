/* SPDX-License-Identifier: MIT */
/*
 * The thread of outgoing HTTP.
 *
 * Theory of operation. The thread waits in epoll for the sockets of libcurl, for its next time-out and for an eventfd
 * by which the loop wakes it: names, TLS, certificates and files keep it from its other requests for a moment at most,
 * and never the loop. It shares three queues with the loop, requests that begin, requests with parts of a body and
 * requests that have ended, under one lock; everything else is its own. A body pauses while the loop has not taken
 * HTTP_PARTS_MAX bytes of its parts. When the thread is told to stop, it ends all requests under way without waiting
 * for a server.
 */
#include <config.h>

#include "http/http_internal.h"

#if KETTLE_HAVE_HTTP
#include "base/base.h"
#include "http/transfer.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/certificates.h"
#include "base/times.h"

/* ---- libcurl, loaded when it is first needed ---- */

#define CURL_FILE "libcurl.so.4"
#define CURL_OLDEST 0x074c00 /* 7.76 */

static struct {
	pthread_once_t once;
	struct curl_library library;
	int rc;
	struct kettle_error err;
} loaded = {.once = PTHREAD_ONCE_INIT};

static int
find_functions(void *handle)
{
	struct curl_library *library = &loaded.library;
#define X(name) \
	library->name = (__typeof__(library->name))dlsym(handle, "curl_" #name); \
	if (!library->name) \
		return kettle_fail(&loaded.err, KETTLE_EUNAVAIL, \
			"HTTP is not available: " CURL_FILE " has no function curl_" #name "; libcurl 7.76 or newer is needed.");
	CURL_FUNCTIONS(X)
#undef X
	return 0;
}

/* It is never unloaded: it may have threads that wait for a name server. */
static int
load_library(void)
{
	void *handle = dlopen(CURL_FILE, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return kettle_fail(&loaded.err, KETTLE_EUNAVAIL,
			"HTTP is not available: libcurl cannot be loaded (%.300s). Install the package libcurl4.", dlerror());
	int rc = find_functions(handle);
	if (rc < 0)
		return rc;
	if (loaded.library.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return kettle_fail(&loaded.err, KETTLE_EUNAVAIL, "HTTP is not available: libcurl cannot be initialised.");
	const curl_version_info_data *version = loaded.library.version_info(CURLVERSION_NOW);
	if (version->version_num < CURL_OLDEST)
		return kettle_fail(&loaded.err, KETTLE_EUNAVAIL,
			"HTTP is not available: this machine's libcurl is %s; 7.76 or newer is needed.", version->version);
	return 0;
}

static void
load_once(void)
{
	loaded.rc = load_library();
}

/* Loads and initialises libcurl, once in a process; never freed. [any] [blocks] EUNAVAIL: it is missing or too old. */
static int
curl_library_load(const struct curl_library **ret_curl, struct kettle_error *err)
{
	(void)pthread_once(&loaded.once, load_once);
	if (loaded.rc < 0) {
		*err = loaded.err;
		return loaded.rc;
	}
	*ret_curl = &loaded.library;
	return 0;
}

#define NS_PER_MS UINT64_C(1000000)
#define NEVER UINT64_MAX
#define EVENTS 64

struct queue {
	struct http_request *first, **last;
};

struct http_thread {
	uv_thread_t thread;
	uv_mutex_t lock; /* of the queues and flags below */
	struct queue begun, ended;
	struct http_request *parted;
	bool stop, look, woken; /* look: for cancelled and resumed ones; woken: the eventfd was written */
	/* Its own. */
	void (*finished)(void *arg);
	void *arg;
	int epoll, wake;
	struct http_settings settings;
	struct transfer_context context;
	struct kettle_error broken; /* code 0: the library is there */
	struct http_request *under_way;
	uint64_t due_ns; /* of the library's time-out */
};

static void
queue_init(struct queue *queue)
{
	queue->first = NULL;
	queue->last = &queue->first;
}

static void
queue_add(struct queue *queue, struct http_request *request)
{
	request->next = NULL;
	*queue->last = request;
	queue->last = &request->next;
}

/* Empties it; linked by `next`. */
static struct http_request *
queue_take(struct queue *queue)
{
	struct http_request *first = queue->first;
	queue_init(queue);
	return first;
}

/* ---- sockets and time-outs of libcurl ---- */

static int
on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
	struct http_thread *thread = arg;
	struct epoll_event event = {.data.fd = fd};
	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		(void)epoll_ctl(thread->epoll, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (what != CURL_POLL_OUT)
		event.events |= EPOLLIN;
	if (what != CURL_POLL_IN)
		event.events |= EPOLLOUT;
	if (epoll_ctl(thread->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) != 0)
		(void)epoll_ctl(thread->epoll, known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
	(void)thread->context.curl->multi_assign(thread->context.multi, fd, thread);
	return 0;
}

static int
on_timeout(CURLM *multi, long ms, void *arg)
{
	struct http_thread *thread = arg;
	(void)multi;
	thread->due_ns = ms < 0 ? NEVER : time_monotonic_ns() + (uint64_t)ms * NS_PER_MS;
	return 0;
}

/* The file of the configuration, or of the library, or, if the library is another distribution's, of this system. */
static const char *
find_certificates(const struct transfer_context *context)
{
	const char *own = context->curl->version_info(CURLVERSION_NOW)->cainfo;
	if (context->settings->ca_file)
		return context->settings->ca_file;
	const char *systems = own && access(own, R_OK) != 0 ? certificates_of_system() : NULL;
	return systems ? systems : own;
}

static void
load(struct http_thread *thread)
{
	struct transfer_context *context = &thread->context;
	if (curl_library_load(&context->curl, &thread->broken) < 0)
		return;
	context->certificates = find_certificates(context);
	context->multi = context->curl->multi_init();
	if (!context->multi)
		xalloc_fail();
	(void)context->curl->multi_setopt(context->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	(void)context->curl->multi_setopt(context->multi, CURLMOPT_SOCKETDATA, thread);
	(void)context->curl->multi_setopt(context->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
	(void)context->curl->multi_setopt(context->multi, CURLMOPT_TIMERDATA, thread);
	(void)context->curl->multi_setopt(context->multi, CURLMOPT_MAXCONNECTS, (long)HTTP_CONNECTIONS_KEPT);
}

/* ---- requests ---- */

/* Whether the loop has taken everything, so it must be told of what comes now. With the lock held. */
static bool
is_taken(const struct http_thread *thread)
{
	return !thread->ended.first && !thread->parted;
}

static bool
keep_part(struct transfer_context *context, struct http_request *request, const char *data, size_t size)
{
	struct http_thread *thread = CONTAINER_OF(context, struct http_thread, context);
	uv_mutex_lock(&thread->lock);
	bool first = is_taken(thread), held = request->parts.len > 0 && request->parts.len + size > HTTP_PARTS_MAX;
	request->held = held;
	if (!held && request->parts.len == 0) {
		request->next_parted = thread->parted;
		thread->parted = request;
	}
	if (!held)
		buf_add(&request->parts, data, size);
	uv_mutex_unlock(&thread->lock);
	if (first)
		thread->finished(thread->arg);
	return !held;
}

static void
end_request(struct http_thread *thread, struct http_request *request)
{
	if (request->transfer)
		transfer_free(request->transfer);
	if (request->before) {
		*request->before = request->later;
		if (request->later)
			request->later->before = request->before;
		request->before = NULL;
	}
	uv_mutex_lock(&thread->lock);
	bool first = is_taken(thread);
	queue_add(&thread->ended, request);
	uv_mutex_unlock(&thread->lock);
	if (first)
		thread->finished(thread->arg);
}

static void
begin_request(struct http_thread *thread, struct http_request *request)
{
	if (thread->broken.code) {
		request->err = thread->broken;
	} else if (transfer_start(&thread->context, request) == 0) {
		request->later = thread->under_way;
		request->before = &thread->under_way;
		if (request->later)
			request->later->before = &request->later;
		thread->under_way = request;
		return;
	}
	end_request(thread, request);
}

static bool
take_resumes(struct http_thread *thread, struct http_request *request)
{
	uv_mutex_lock(&thread->lock);
	bool resumes = request->resumes;
	request->resumes = false;
	uv_mutex_unlock(&thread->lock);
	return resumes;
}

/* Ends cancelled requests, and goes on with those whose parts the loop has taken. */
static void
follow_loop(struct http_thread *thread)
{
	for (struct http_request *request = thread->under_way, *later; request; request = later) {
		later = request->later;
		if (__atomic_load_n(&request->cancelled, __ATOMIC_ACQUIRE)) {
			end_request(thread, request);
		} else if (take_resumes(thread, request)) {
			thread->due_ns = 0; /* the library has to look at it */
			if (transfer_resume(request->transfer))
				end_request(thread, request);
		}
	}
}

/* Begins the attempts whose time has come, and ends streams that are silent. Returns when the next one is due. */
static uint64_t
follow_time(struct http_thread *thread)
{
	uint64_t next = NEVER, now = time_monotonic_ns();
	for (struct http_request *request = thread->under_way, *later; request; request = later) {
		uint64_t due = request->transfer->due_ns;
		later = request->later;
		if (due && due <= now) {
			if (transfer_again(request->transfer))
				end_request(thread, request);
			continue;
		}
		if (!due && transfer_is_late(request->transfer)) {
			end_request(thread, request);
			continue;
		}
		if (!due && request->idle_ms)
			due = request->transfer->deadline_ns;
		if (due && due < next)
			next = due;
	}
	return next;
}

static void
take_ended(struct http_thread *thread)
{
	const struct curl_library *curl = thread->context.curl;
	const CURLMsg *message;
	int left = 0;
	while ((message = curl->multi_info_read(thread->context.multi, &left))) {
		struct transfer *transfer = NULL;
		CURLcode code = message->data.result;
		(void)curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
		struct http_request *request = transfer->request;
		if (transfer_ended(transfer, code))
			end_request(thread, request);
	}
}

/* ---- the thread ---- */

/* Takes new requests and cancellations from the loop. False: the loop wants the thread to end. */
static bool
take_orders(struct http_thread *thread)
{
	uv_mutex_lock(&thread->lock);
	struct http_request *begun = queue_take(&thread->begun);
	bool look = thread->look, stop = thread->stop;
	thread->look = false;
	uv_mutex_unlock(&thread->lock);
	for (struct http_request *next; begun; begun = next) {
		next = begun->next;
		begin_request(thread, begun);
	}
	if (look)
		follow_loop(thread);
	return !stop;
}

/* Milliseconds to wait, rounded up. */
static int
wait_ms(uint64_t due_ns)
{
	uint64_t now = time_monotonic_ns();
	if (due_ns == NEVER)
		return -1;
	return due_ns <= now ? 0 : (int)((due_ns - now + NS_PER_MS - 1) / NS_PER_MS);
}

static void
be_woken(struct http_thread *thread)
{
	uint64_t count;
	uv_mutex_lock(&thread->lock);
	thread->woken = false;
	(void)!read(thread->wake, &count, sizeof(count));
	uv_mutex_unlock(&thread->lock);
}

static void
drive(struct http_thread *thread, const struct epoll_event *events, int count)
{
	const struct curl_library *curl = thread->context.curl;
	int running;
	for (int i = 0; i < count; i++) {
		int fd = events[i].data.fd, what = 0;
		if (fd == thread->wake) {
			be_woken(thread);
			continue;
		}
		if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
			what |= CURL_CSELECT_IN;
		if (events[i].events & EPOLLOUT)
			what |= CURL_CSELECT_OUT;
		if (events[i].events & EPOLLERR)
			what |= CURL_CSELECT_ERR;
		(void)curl->multi_socket_action(thread->context.multi, fd, what, &running);
	}
	if (thread->context.multi && thread->due_ns <= time_monotonic_ns()) {
		thread->due_ns = NEVER;
		(void)curl->multi_socket_action(thread->context.multi, CURL_SOCKET_TIMEOUT, 0, &running);
	}
	if (thread->context.multi)
		take_ended(thread);
}

static void
run_thread(void *arg)
{
	struct http_thread *thread = arg;
	struct epoll_event events[EVENTS];
	load(thread);
	while (take_orders(thread)) {
		uint64_t due = follow_time(thread);
		int count = epoll_wait(thread->epoll, events, EVENTS, wait_ms(due < thread->due_ns ? due : thread->due_ns));
		drive(thread, events, count);
	}
	for (struct http_request *request = thread->under_way; request; request = request->later) {
		__atomic_store_n(&request->cancelled, 1, __ATOMIC_RELEASE);
		transfer_free(request->transfer);
	}
	struct transfer_context *context = &thread->context;
	while (context->spares)
		context->curl->easy_cleanup(context->spare[--context->spares]);
	if (context->multi)
		(void)context->curl->multi_cleanup(context->multi);
}

/* ---- the loop's side ---- */

static void
free_thread(struct http_thread *thread)
{
	if (thread->epoll >= 0)
		(void)close(thread->epoll);
	if (thread->wake >= 0)
		(void)close(thread->wake);
	uv_mutex_destroy(&thread->lock);
	free(thread);
}

static int
start(struct http_thread *thread)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = thread->wake};
	sigset_t all, before;
	if (thread->epoll < 0 || thread->wake < 0 || epoll_ctl(thread->epoll, EPOLL_CTL_ADD, thread->wake, &event) != 0)
		return errno;
	/* Signals are for the loop's thread. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = uv_thread_create(&thread->thread, run_thread, thread);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -rc;
}

int
http_thread_start(const struct http_settings *settings, void (*finished)(void *arg), void *arg,
	struct http_thread **ret_thread, struct kettle_error *err)
{
	struct http_thread *thread = xcalloc(1, sizeof(*thread));
	if (uv_mutex_init(&thread->lock) != 0)
		xalloc_fail();
	queue_init(&thread->begun);
	queue_init(&thread->ended);
	thread->finished = finished;
	thread->arg = arg;
	thread->settings = *settings;
	thread->context.settings = &thread->settings;
	thread->context.keep_part = keep_part;
	thread->due_ns = NEVER;
	thread->epoll = epoll_create1(EPOLL_CLOEXEC);
	thread->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = start(thread);
	if (rc) {
		free_thread(thread);
		return kettle_fail(err, KETTLE_EUNAVAIL, "The thread of HTTP cannot be started: %s.", strerror(rc));
	}
	*ret_thread = thread;
	return 0;
}

/* With the lock held. */
static void
wake(struct http_thread *thread)
{
	const uint64_t one = 1;
	if (!thread->woken)
		(void)!write(thread->wake, &one, sizeof(one));
	thread->woken = true;
}

void
http_thread_give(struct http_thread *thread, struct http_request *request)
{
	uv_mutex_lock(&thread->lock);
	queue_add(&thread->begun, request);
	wake(thread);
	uv_mutex_unlock(&thread->lock);
}

void
http_thread_wake(struct http_thread *thread)
{
	uv_mutex_lock(&thread->lock);
	thread->look = true;
	wake(thread);
	uv_mutex_unlock(&thread->lock);
}

/* The lists are of the loop's own members, since the thread goes on with the requests that have not ended. */
struct http_request *
http_thread_take(struct http_thread *thread, struct http_request **ret_parted)
{
	uv_mutex_lock(&thread->lock);
	struct http_request *ended = queue_take(&thread->ended);
	for (struct http_request *request = *ret_parted = STEAL(thread->parted); request; request = request->next_taken) {
		request->next_taken = request->next_parted;
		request->taken = request->parts;
		request->parts = (struct buf){0};
		request->resumes = request->held;
		request->held = false;
		thread->look = thread->look || request->resumes;
	}
	if (thread->look)
		wake(thread);
	uv_mutex_unlock(&thread->lock);
	return ended;
}

void
http_thread_join(struct http_thread *thread)
{
	uv_mutex_lock(&thread->lock);
	thread->stop = true;
	wake(thread);
	uv_mutex_unlock(&thread->lock);
	(void)uv_thread_join(&thread->thread);
	free_thread(thread);
}
#else
int
http_thread_start(const struct http_settings *settings, void (*finished)(void *arg), void *arg,
	struct http_thread **ret_thread, struct kettle_error *err)
{
	(void)settings;
	(void)finished;
	(void)arg;
	(void)ret_thread;
	return kettle_fail(err, KETTLE_EUNAVAIL,
		"HTTP is not available: this Kettle was built without libcurl. Install libcurl4-openssl-dev and build it "
		"again.");
}

/* Never called: there is no thread. */
void
http_thread_give(struct http_thread *thread, struct http_request *request)
{
	(void)thread;
	(void)request;
}

void
http_thread_wake(struct http_thread *thread)
{
	(void)thread;
}

struct http_request *
http_thread_take(struct http_thread *thread, struct http_request **ret_parted)
{
	(void)thread;
	*ret_parted = NULL;
	return NULL;
}

void
http_thread_join(struct http_thread *thread)
{
	(void)thread;
}
#endif

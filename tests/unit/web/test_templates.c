/* SPDX-License-Identifier: MIT */
/*
 * Every page of the site, without a server: each of its reads gets an answer of the shape that its command publishes, then the
 * page computes its part, and its template is rendered. A name that a full answer does not have is a fault.
 */
#include <config.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "commands/handlers.h"
#include "http/server_internal.h"
#include "lib/unit_test.h"
#include "web/render/mustache.h"
#include "web/site/site.h"
#include "web/visit/caller.h"
#include "web/visit/respond.h"

#define NOW_MS INT64_C(1800000000123)
#define A_TIME "2027-01-15T07:00:00.000Z"
#define PLAIN "1"
#define MARKUP "<i id='x'>\"&"
#define HOSTILE MARKUP "\xe2\x80\xae" /* an override of direction, which only the text of a field keeps */
#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789"
#define DEPTH_MAX 64
#define NAME_MAX_LEN 32
#define FIELDS_MAX 60

/* ---- answers ---- */

/* Which answer is made: the smallest one, or a full one, which variants fill differently. */
struct filling {
	bool full;
	unsigned variant, made; /* made: values so far, so that neighbours differ */
};

#define VARIANTS 8

static json_t *value_of(const struct shape *shape, struct filling *filling);

static json_t *
object_of(const struct shape *shape, struct filling *filling)
{
	json_t *object = json_object();
	for (const struct shape *member = shape->members; member && member->name; member++)
		if (filling->full || !member->optional)
			json_object_set_new(object, member->name, value_of(member, filling));
	return object;
}

static json_t *
text_of(const struct shape *shape, struct filling *filling)
{
	size_t count = 0;
	while (shape->choices && shape->choices[count])
		count++;
	if (count)
		return json_string(shape->choices[(filling->variant + filling->made) % count]);
	return json_string(filling->full && filling->variant % 2 ? HOSTILE : PLAIN);
}

/* A task as task.yml has it, and a plan, with what pages may show of them. */
static json_t *
any_of(const struct shape *shape, const struct filling *filling)
{
	json_error_t why;
	bool is_task = shape->name && strcmp(shape->name, "task") == 0;
	if (filling->full && shape->name && strcmp(shape->name, "plan") == 0)
		return json_pack("{s:[{s:s, s:[s], s:{s:i}}]}", "steps", "title", PLAIN, "argv", HOSTILE, "limits", "wall", 1);
	if (!filling->full || !is_task)
		return filling->full ? json_string(PLAIN) : json_null();
	json_t *task = json_loads("{\"files\": [{\"name\": \"a.h\", \"source\": \"a.h\"}, {\"name\": \"1\", \"source\": "
							  "\"@SUBMISSION@\"}], \"lang\": \"cpp\", "
							  "\"description\": \"1\", \"config\": {\"sources\": [\"1\"]}, \"templates\": {\"CPP\": "
							  "\"a.cpp\"}, \"test_timeout\": 1, "
							  "\"benchmark_timeout\": 1, \"ranked_timeout\": 1, \"memory\": 1, \"tests\": [{\"size\": "
							  "1, \"seed\": 1}, {\"size\": 2}], "
							  "\"benchmarks\": [{\"size\": 1}], \"ranking_by\": \"last\", \"multi_gpu\": false, "
							  "\"gpus\": [\"CPU\"], \"libraries\": [\"1\"]}",
		0, &why);
	assert_non_null(task);
	return task;
}

/* An array of two, or a map of two, of which one has the name that texts have. */
static json_t *
several_of(const struct shape *shape, struct filling *filling)
{
	json_t *several = shape->type == SHAPE_ARRAY ? json_array() : json_object();
	if (filling->full && shape->name && strcmp(shape->name, "stats") == 0)
		json_object_update_new(several, json_pack("{s:i, s:i, s:i, s:i}", "num_submissions", 3, "sub_waiting", 0,
											"num_users", 2, "num_unique_codes", 1));
	for (int i = 0; i < 2 && filling->full; i++) {
		json_t *element = value_of(shape->element, filling);
		if (json_is_array(several))
			json_array_append_new(several, element);
		else
			json_object_set_new(several, i ? "2" : PLAIN, element);
	}
	return several;
}

static json_t *
value_of(const struct shape *shape, struct filling *filling)
{
	unsigned made = filling->made++;
	if (!filling->full && shape->null)
		return json_null();
	switch (shape->type) {
	case SHAPE_ANY:
		return any_of(shape, filling);
	case SHAPE_BOOL:
		return json_boolean(filling->full && (filling->variant >> (made % 3) & 1) == 0);
	case SHAPE_INT:
		return json_integer(filling->full ? 1 + (json_int_t)(made % 3) : 0);
	case SHAPE_NUMBER:
		return json_real(filling->full ? 0.5 + made % 3 : 0);
	case SHAPE_STRING:
		return text_of(shape, filling);
	case SHAPE_TIME:
		return json_string(A_TIME);
	case SHAPE_OBJECT:
		return object_of(shape, filling);
	case SHAPE_ARRAY:
	case SHAPE_MAP:
		return several_of(shape, filling);
	}
	return NULL;
}

/* ---- HTML ---- */

static bool
is_void(const char *name)
{
	static const char *const names[] = {"br", "col", "hr", "img", "input", "link", "meta", "wbr"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Past the attributes of a tag, whose values are quoted; no attribute comes twice. NULL: they are no such thing. */
static const char *
skip_attributes(const char *at)
{
	char names[DEPTH_MAX][NAME_MAX_LEN];
	for (size_t count = 0; *at != '>'; count++) {
		size_t blanks = strspn(at, " \n\t"), len = strspn(at + blanks, LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ-:");
		at += blanks;
		if (!len) {
			at += *at == '/' && at[1] == '>'; /* in SVG an element may close itself */
			return *at == '>' ? at : NULL;
		}
		if (!blanks || len >= NAME_MAX_LEN || count == DEPTH_MAX)
			return NULL;
		memcpy(names[count], at, len);
		names[count][len] = '\0';
		for (size_t i = 0; i < count; i++)
			if (strcmp(names[i], names[count]) == 0)
				return NULL;
		if (strcmp(names[count], "style") == 0 || strncmp(names[count], "on", 2) == 0)
			return NULL;
		at += len;
		if (*at != '=')
			continue;
		const char *end = at[1] == '"' ? strchr(at + 2, '"') : NULL;
		if (!end || memchr(at + 2, '<', (size_t)(end - at - 2)))
			return NULL;
		at = end + 1;
	}
	return at;
}

/* Fails the test unless every element is closed where it is open, and every attribute is quoted. */
static void
assert_well_formed(const char *html, const char *where)
{
	char open[DEPTH_MAX][NAME_MAX_LEN];
	size_t depth = 0;
	if (strncmp(html, "<!DOCTYPE html>", strlen("<!DOCTYPE html>")) != 0)
		fail_msg("%s: no HTML: %.100s", where, html);
	for (const char *at = html + strlen("<!DOCTYPE html>"); (at = strchr(at, '<')); at++) {
		bool closes = at[1] == '/';
		const char *tag = at, *name = at + 1 + closes;
		size_t len = strspn(name, LETTERS);
		if (!len || len >= NAME_MAX_LEN || !(at = skip_attributes(name + len)))
			fail_msg("%s: a malformed tag: %.100s", where, tag);
		char found[NAME_MAX_LEN];
		(void)snprintf(found, sizeof(found), "%.*s", (int)len, name);
		if (closes) {
			if (!depth || strcmp(open[depth - 1], found) != 0)
				fail_msg("%s: </%s> closes %s: %.100s", where, found, depth ? open[depth - 1] : "nothing", tag);
			depth--;
		} else if (!is_void(found) && at[-1] != '/') {
			assert_true(depth < DEPTH_MAX);
			strcpy(open[depth++], found);
		}
	}
	if (depth)
		fail_msg("%s: <%s> is not closed", where, open[depth - 1]);
	if (strstr(html, "\xe2\x80\xae") || strstr(html, "<i id="))
		fail_msg("%s: data come as they are", where);
}

/* ---- pages ---- */

static uint64_t
monotonic_ms(const struct kettle_host *host)
{
	(void)host;
	return 0;
}

static int64_t
utc_ms(const struct kettle_host *host)
{
	(void)host;
	return NOW_MS;
}

static const json_t *
list_answers(const struct kettle_host *given)
{
	static json_t *answers;
	(void)given;
	answers = answers ? answers : command_answers(commands);
	return answers;
}

static const struct kettle_host host = {
	.version = "1", .monotonic_ms = monotonic_ms, .utc_ms = utc_ms, .answers = list_answers};

struct fake {
	struct http_server server;
	struct http_request request;
	struct web web;
	struct visit visit;
	char *url;
};

/* Whether a form is shown again on this page. */
static bool
has_form(const struct site_page *page)
{
	bool is_of_other = false;
	for (const struct site_page *const *part = site_parts; *part; part++)
		for (const struct site_page *other = *part; other->path; other++)
			is_of_other = is_of_other || other->refused_on == page;
	return is_of_other || page->form.command || page->step;
}

/* Parameters of a query, all with one value. */
static json_t *
query_of(const struct site_page *page, const char *value)
{
	json_t *query = json_object();
	for (const char *at = page->query ? page->query : ""; *at;) {
		size_t len = strcspn(at, " ");
		AUTO_FREE char *name = xstrndup(at, len);
		json_object_set_new(query, name, json_string(value));
		at += len + (at[len] == ' ');
	}
	return query;
}

/* What stands for `*` in a path. */
static const char *
segment_of(const struct site_page *page)
{
	return strcmp(page->path, "operator/do/*") == 0 ? "leaderboard.create" : PLAIN;
}

/* The same for all pages. New reference. */
static json_t *
commands_by_name(void)
{
	static json_t *named;
	if (named)
		return json_incref(named);
	named = json_object();
	AUTO_JSON json_t *rows = command_data(commands);
	json_array_each(rows, row)
		json_object_set(named, json_text_or_empty(row, "name"), row);
	return json_incref(named);
}

/* A visit to a page. */
static void
fake_open(struct fake *fake, const struct site_page *page, bool user, bool full)
{
	AUTO_JSON json_t *path = json_array();
	AUTO_BUF struct buf url = {0};
	for (const char *at = page->path; *at;) {
		size_t len = strcspn(at, "/");
		AUTO_FREE char *segment = *at == '*' ? xstrdup(segment_of(page)) : xstrndup(at, len);
		json_array_append_new(path, json_string(segment));
		buf_printf(&url, "/%s", segment);
		at += len + (at[len] == '/');
	}
	memset(fake, 0, sizeof(*fake));
	(void)pthread_mutex_init(&fake->server.lock, NULL);
	fake->url = xstrdup(url.len ? url.data : "/");
	fake->request =
		(struct http_request){.server = &fake->server, .url = fake->url, .query = fake->url + strlen(fake->url)};
	fake->web = (struct web){.host = &host,
		.options = full ? json_pack("{s:s}", "url", "https://kettle.test") : json_object(),
		.commands = commands_by_name(),
		.docs_lock = PTHREAD_MUTEX_INITIALIZER,
		.anonymous = json_object()};
	fake->visit = (struct visit){.web = &fake->web,
		.request = &fake->request,
		.about = page,
		.actor =
			user ? json_pack("{s:s, s:s}", "name", PLAIN, STORED_ROLE, "admin") : json_incref(fake->web.anonymous)};
	AUTO_JSON json_t *query = full ? query_of(page, PLAIN) : json_object();
	fake->visit.data =
		json_pack("{s:O, s:O, s:{s:O, s:O}}", "path", path, "query", query, "model", "query", query, "path", path);
}

static void
fake_close(struct fake *fake)
{
	json_decref_all(fake->visit.actor, fake->visit.data, fake->web.options, fake->web.anonymous, fake->web.commands,
		fake->web.docs);
	(void)pthread_mutex_destroy(&fake->server.lock);
	free(fake->url);
}

/* The arguments of a read are such that its command takes; new reference of its answer, or NULL: it is left out. */
static json_t *
answer_of(
	const struct site_page *page, const struct site_read *read, const struct visit *visit, struct filling *filling)
{
	const struct command *command = command_find(commands, read->command);
	if (!command || command->internal || !command->answer)
		fail_msg("%s: `%s` is no command for others", page->template, read->command);
	AUTO_JSON json_t *args = site_read_args(visit, read), *checked = NULL;
	struct kettle_error err = {0};
	if (!args && !filling->full)
		return NULL;
	if (args && !filling->full && command_check(command, args, &checked, &err) < 0)
		fail_msg("%s: %s: %s", page->template, read->command, err.message);
	return !filling->full && read->optional ? NULL : value_of(command->answer, filling);
}

/* What the pool makes of Markdown and differences before the template is rendered. */
static void
make_sources(const struct visit *visit, const struct site_page *page)
{
	const char *const names[][2] = {{page->markdown, "markdown"}, {page->diff, "diff"}};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i][0] && json_is_string(site_model(visit, names[i][0])))
			json_object_set_new(site_model(visit, ""), names[i][1], json_string("<p>made</p>"));
}

/* Renders the page until all fields of its form are known: their names are those that its template has. */
static char *
render(const struct site_page *page, json_t *model, char **ret_unknown)
{
	static const char prefix[] = "form.fields.";
	json_t *fields = json_object_get(json_object_get(model, "form"), "fields");
	for (int tries = 0;; tries++) {
		struct buf html = {0};
		if (!mustache_render(&html, page->template, model, ret_unknown))
			fail_msg("%s cannot be rendered", page->template);
		if (!*ret_unknown || !fields || strncmp(*ret_unknown, prefix, strlen(prefix)) != 0 || tries == FIELDS_MAX)
			return buf_take(&html);
		json_object_set_new(fields, *ret_unknown + strlen(prefix), json_string(MARKUP));
		buf_free(&html);
		free(STEAL(*ret_unknown));
	}
}

static void
try_page(const struct site_page *page, struct filling filling, bool user)
{
	struct fake fake;
	fake_open(&fake, page, user, filling.full);
	json_t *model = json_object_get(fake.visit.data, "model");
	AUTO_FREE char *where = xasprintf(
		"/%s (%s, %s, %u)", page->path, filling.full ? "full" : "minimal", user ? "user" : "nobody", filling.variant);
	for (const struct site_read *read = page->reads; read->command; read++) {
		json_t *answer = answer_of(page, read, &fake.visit, &filling);
		if (answer)
			json_object_set_new(model, read->as, answer);
	}
	if (filling.full && has_form(page))
		json_object_set_new(model, "form",
			json_pack("{s:{}, s:s, s:s}", "fields", "error", filling.variant % 2 ? HOSTILE : PLAIN, "member", "name"));
	site_complete(&fake.visit, page);
	make_sources(&fake.visit, page);
	if (page->fill)
		page->fill(&fake.web, model);
	AUTO_FREE char *unknown = NULL;
	AUTO_FREE char *html = render(page, model, &unknown);
	if (unknown && filling.full && user)
		fail_msg("%s: template %s: no level has `%s`", where, page->template, unknown);
	assert_well_formed(html, where);
	fake_close(&fake);
}

/* ---- tests ---- */

static void
each_page(bool full, bool user)
{
	for (const struct site_page *const *part = site_parts; *part; part++)
		for (const struct site_page *page = *part; page->path; page++)
			for (unsigned variant = 0; variant < (full ? VARIANTS : 1); variant++)
				if (page->template && (user || !(page->needs_user || page->form.command)))
					try_page(page, (struct filling){full, variant, 0}, user);
}

static void
test_full(void **state)
{
	(void)state;
	each_page(true, true);
	each_page(true, false);
}

static void
test_minimal(void **state)
{
	(void)state;
	each_page(false, true);
	each_page(false, false);
}

/* A template, a form's page and a command that are not there would be seen by people alone. */
static void
test_rows(void **state)
{
	(void)state;
	size_t pages = 0;
	for (const struct site_page *const *part = site_parts; *part; part++)
		for (const struct site_page *page = *part; page->path; page++, pages++) {
			assert_true(!page->template || page->title);
			if (page->form.command && !command_find(commands, page->form.command))
				fail_msg("/%s: `%s` is no command", page->path, page->form.command);
			if (page->refused_on && strncmp(page->path, page->refused_on->path, strlen(page->refused_on->path)) != 0)
				fail_msg("/%s: its page is not there", page->path);
			assert_true(page->refused_on || page->template || page->respond);
		}
	assert_true(pages > 1);
}

/* ---- pages that wait for the pool, which the tests run ---- */

#define VIEWERS 4

static struct {
	kettle_fn work, after;
	void *arg;
	unsigned count;
	bool has_closed;
} pool;

static int
take_work(const struct kettle_host *given, kettle_fn work, kettle_fn after, void *arg, struct kettle_error *err)
{
	(void)given;
	(void)err;
	if (pool.has_closed)
		return -1;
	pool.work = work;
	pool.after = after;
	pool.arg = arg;
	pool.count++;
	return 0;
}

static int
call_now(const struct kettle_host *given, kettle_fn fn, void *arg)
{
	(void)given;
	fn(arg);
	return 0;
}

static const struct kettle_host host_of_pool = {.version = "1",
	.monotonic_ms = monotonic_ms,
	.utc_ms = utc_ms,
	.answers = list_answers,
	.post = call_now,
	.work = take_work};

/* Several viewers at one address, each of whom has sent a request for the same page. */
struct viewers {
	struct http_server server;
	struct http_connection connection;
	struct http_request requests[VIEWERS];
	struct web web;
	char url[sizeof("/docs")];
};

static void
open_viewers(struct viewers *viewers, bool has_closed)
{
	memset(viewers, 0, sizeof(*viewers));
	memset(&pool, 0, sizeof(pool));
	(void)pthread_mutex_init(&viewers->server.lock, NULL);
	strcpy(viewers->url, "/docs");
	viewers->web = (struct web){.host = &host_of_pool,
		.options = json_object(),
		.commands = commands_by_name(),
		.docs_lock = PTHREAD_MUTEX_INITIALIZER,
		.anonymous = json_object(),
		.parts = site_parts};
	STAILQ_INIT(&viewers->web.renderings);
	viewers->web.visits = visits_new(&viewers->web);
	viewers->web.pages = pages_new(&viewers->web);
	for (size_t i = 0; i < VIEWERS; i++) {
		struct http_request *request = &viewers->requests[i];
		*request = (struct http_request){.server = &viewers->server,
			.connection = &viewers->connection,
			.url = viewers->url,
			.query = viewers->url + strlen(viewers->url),
			.method = HTTP_GET,
			.address = "192.0.2.1"};
		assert_true(path_split(viewers->url, &request->path));
		pool.has_closed = has_closed && i == VIEWERS - 1;
		assert_true(site_request(&viewers->web, request));
	}
}

static void
close_viewers(struct viewers *viewers)
{
	struct web *web = &viewers->web;
	assert_true(STAILQ_EMPTY(&web->renderings));
	for (size_t i = 0; i < VIEWERS; i++) {
		http_content_unref(viewers->requests[i].content);
		path_free(&viewers->requests[i].path);
	}
	visits_free(web->visits);
	pages_free(web->pages);
	json_decref_all(web->options, web->commands, web->docs, web->anonymous);
	(void)pthread_mutex_destroy(&viewers->server.lock);
}

/* What one visit has made, those that wait get; one whose client has left makes nothing. */
static void
test_made_once(void **state)
{
	struct viewers viewers;
	(void)state;
	open_viewers(&viewers, false);
	visits_gone(viewers.web.visits, &viewers.requests[1]);
	assert_false(viewers.requests[0].is_answered);
	pool.work(pool.arg);
	pool.after(pool.arg);
	assert_int_equal(pool.count, 1);
	for (size_t i = 0; i < VIEWERS; i++)
		assert_int_equal(viewers.requests[i].status, i == 1 ? STATUS_UNAVAILABLE : STATUS_OK);
	close_viewers(&viewers);
}

/* A pool that has closed leaves no page waiting. */
static void
test_closed_pool(void **state)
{
	struct viewers viewers;
	(void)state;
	open_viewers(&viewers, true);
	for (size_t i = 0; i < VIEWERS; i++)
		assert_false(viewers.requests[i].is_answered);
	static const char event[] = "{\"kind\": \"reset\"}";
	AUTO_JSON json_t *reset = json_loads(event, 0, NULL);
	pool.work(pool.arg);
	pages_event(viewers.web.pages, reset);
	pool.after(pool.arg);
	assert_int_equal(pool.count, 1);
	for (size_t i = 0; i < VIEWERS; i++)
		assert_int_equal(viewers.requests[i].status, STATUS_OK);
	close_viewers(&viewers);
}

static bool
is_kept(struct viewers *viewers, const char *key)
{
	struct http_request request = {
		.server = &viewers->server, .connection = &viewers->connection, .method = HTTP_GET, .address = "192.0.2.1"};
	bool found = pages_answer(viewers->web.pages, key, &request);
	http_content_unref(request.content);
	return found;
}

/* What others see of a user is on no page of a board: those stay when a user changes it. */
static void
test_profile_changed(void **state)
{
	static const char *const keys[] = {"of several", "of a board"}, *const boards[] = {NULL, "vectors"},
							 *const kinds[] = {"user.updated", "user.role"};
	struct viewers viewers;
	(void)state;
	open_viewers(&viewers, false);
	pool.work(pool.arg);
	pool.after(pool.arg);
	struct pages *pages = viewers.web.pages;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct http_request request = {
			.server = &viewers.server, .connection = &viewers.connection, .method = HTTP_GET, .address = "192.0.2.1"};
		pages_keep(pages, keys[i], boards[i], pages_changes(pages, boards[i]),
			&(struct page_body){"text/plain", "x", 1, PAGES_KEEP_MS}, &request);
		http_content_unref(request.content);
		assert_true(is_kept(&viewers, keys[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		AUTO_JSON json_t *event = json_pack("{s:s}", "kind", kinds[i]);
		uint64_t of_several = pages_changes(pages, NULL), of_board = pages_changes(pages, "vectors");
		pages_event(pages, event);
		assert_int_equal(pages_changes(pages, NULL), of_several + 1);
		assert_int_equal(pages_changes(pages, "vectors"), of_board + i);
		assert_false(is_kept(&viewers, keys[0]));
		assert_int_equal(is_kept(&viewers, keys[1]), i == 0);
	}
	close_viewers(&viewers);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_full),
	cmocka_unit_test(test_minimal),
	cmocka_unit_test(test_rows),
	cmocka_unit_test(test_made_once),
	cmocka_unit_test(test_closed_pool),
	cmocka_unit_test(test_profile_changed),
};

UNIT_TESTS(test_templates);

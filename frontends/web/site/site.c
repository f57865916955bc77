/* SPDX-License-Identifier: MIT */
/*
 * Pages and forms as visits, whose data are {"path": [segments], "query", "fields", "model", "read": how many reads are
 * done, "status", "key", "board", "changes": see api/pages.h}.
 */
#include <config.h>

#include "base/base.h"
#include "common/template.h"
#include "http/percent.h"
#include "web/render/difference.h"
#include "web/render/markdown.h"
#include "web/render/mustache.h"
#include "web/render/page.h"
#include "web/site/site.h"
#include "web/visit/fields.h"
#include "web/visit/respond.h"

#define NEXT_QUERY_MAX 1000 /* bytes of a query to which a login leads back: a header must hold it, encoded */
#define NOTHING "There is nothing at this address."

/* ---- the answer ---- */

/* A page that is rendered on the pool, of each user one at a time, so that many pages of one do not hold those of others. */
struct rendering {
	STAILQ_ENTRY(rendering) next; /* of all, in their order */
	struct visit *visit;
	const struct site_page *page;
	struct buf html;
	bool runs, good;
};

/* Makes HTML of a text of the model (NULL: of none), which may take long: as the member `as`. */
static void
make_html(struct visit *visit, const char *source, const char *as, void (*add)(struct buf *html, const char *text))
{
	const char *text = source ? json_string_value(site_model(visit, source)) : NULL;
	AUTO_BUF struct buf html = {0};
	if (text)
		add(&html, text);
	json_object_set_new(site_model(visit, ""), as, json_stringn(html.data ? html.data : "", html.len));
}

static void
render(void *arg)
{
	struct rendering *rendering = arg;
	const struct site_page *page = rendering->page;
	json_t *model = site_model(rendering->visit, "");
	make_html(rendering->visit, page->markdown, "markdown", markdown_add);
	make_html(rendering->visit, page->diff, "diff", difference_add);
	if (page->fill)
		page->fill(rendering->visit->web, model);
	rendering->good = mustache_render(&rendering->html, page->template, model, NULL);
}

/* The key under which the visit's answer is kept; NULL: it is not. */
static const char *
key_of(const struct visit *visit)
{
	return visit->actor == visit->web->anonymous ? json_text_or_null(visit->data, "key") : NULL;
}

static void
keep(struct visit *visit, const struct page_body *body)
{
	pages_keep(visit->web->pages, key_of(visit), json_text_or_null(visit->data, "board"),
		(uint64_t)member_int(visit->data, "changes"), body, visit->request);
}

void
site_send(struct visit *visit, const struct page_body *body)
{
	char tag[TAG_SIZE];
	if (key_of(visit))
		keep(visit, body);
	else
		respond_known(visit->request, respond_kept(body->type, body->data, body->size, tag), tag);
	visit_end(visit);
}

static void
answer(struct rendering *rendering)
{
	struct visit *visit = rendering->visit;
	unsigned status = (unsigned)member_int(visit->data, "status");
	if (!rendering->good)
		respond_text(visit->request, STATUS_INTERNAL, HTML_TYPE,
			"<!DOCTYPE html><title>Kettle</title>The page cannot be shown.\n");
	else if (key_of(visit) && status == STATUS_OK)
		keep(visit, &(struct page_body){HTML_TYPE, rendering->html.data, rendering->html.len, PAGES_KEEP_MS});
	else
		respond_page(visit->request, status, &rendering->html, (unsigned)member_int(visit->data, "retry_s"));
}

/* Whether two pages are of one user, or, where the users are not known, of one address. */
static bool
have_one_owner(const struct visit *visit, const struct visit *other)
{
	const char *user = session_user(visit), *other_user = session_user(other);
	if (!user || !other_user)
		return !user && !other_user && strcmp(visit->address, other->address) == 0;
	return strcmp(user, other_user) == 0;
}

/* The first page of a visit's owner; NULL: there is none. */
static struct rendering *
first_of(const struct visit *visit)
{
	struct rendering *first;
	STAILQ_FOREACH(first, &visit->web->renderings, next)
	if (have_one_owner(first->visit, visit))
		break;
	return first;
}

/* Removes a page that is answered, and ends its visit. Returns the next of its owner; NULL: there is none. */
static struct rendering *
end_rendering(struct rendering *rendering)
{
	struct visit *visit = rendering->visit;
	STAILQ_REMOVE(&visit->web->renderings, rendering, rendering, next);
	struct rendering *next = first_of(visit);
	visit_end(visit);
	buf_free(&rendering->html);
	free(rendering);
	return next;
}

static void on_rendered(void *arg);

/*
 * Begins a page, which the pool renders; true: it is answered already, since nothing reads it, another visit has made the
 * same meanwhile, or the pool has closed.
 */
static bool
begin_rendering(struct rendering *rendering)
{
	struct visit *visit = rendering->visit;
	struct kettle_error err = {0};
	if (visit_is_over(visit)) {
		respond_text(visit->request, STATUS_UNAVAILABLE, HTML_TYPE, "");
		return true;
	}
	bool is_kept = key_of(visit) && member_int(visit->data, "status") == STATUS_OK;
	if (is_kept && pages_answer(visit->web->pages, key_of(visit), visit->request))
		return true;
	rendering->runs = visit->web->host->work(visit->web->host, render, on_rendered, rendering, &err) == 0;
	if (!rendering->runs) {
		render(rendering);
		answer(rendering);
	}
	return !rendering->runs;
}

/* Goes on with the pages of an owner until one is rendered on the pool. first: NULL is allowed. */
static void
render_pages(struct rendering *first)
{
	while (first && !first->runs && begin_rendering(first))
		first = end_rendering(first);
}

static void
on_rendered(void *arg)
{
	struct rendering *rendering = arg;
	answer(rendering);
	render_pages(end_rendering(rendering));
}

/* Shows a page over the visit's model, which nothing changes from now on; ends the visit. */
static void
show(struct visit *visit, const struct site_page *page, unsigned status)
{
	struct rendering *rendering = xnew(struct rendering, .visit = visit, .page = page);
	json_object_set_new(visit->data, "status", json_integer(status));
	STAILQ_INSERT_TAIL(&visit->web->renderings, rendering, next);
	render_pages(first_of(visit));
}

/* A text of a page's row, filled in; null: there is none. New reference. */
static json_t *
cell_of(const char *template, const json_t *model)
{
	AUTO_FREE char *text = template ? template_text(template, model, NULL) : NULL;
	return text && *text ? json_string(text) : json_null();
}

/* The address of a page's picture, absolute since links elsewhere show it; null: there is none. New reference. */
static json_t *
picture_of(const struct web *web, const struct site_page *page, const json_t *model)
{
	AUTO_JSON json_t *path = cell_of(page->picture, model);
	AUTO_FREE char *address = json_is_string(path) ? web_address(web, json_string_value(path)) : NULL;
	return address && *address != '/' ? json_string(address) : json_null();
}

void
site_complete(struct visit *visit, const struct site_page *page)
{
	struct web *web = visit->web;
	json_t *model = json_object_get(visit->data, "model");
	const char *user = session_user(visit);
	AUTO_FREE char *token = user ? session_form_token(web, session_cookie_value(web, visit->request, SESSION)) : NULL;
	json_t *site = page_site(web, http_path(visit->request), page->template, NULL, user, token);
	json_object_update_new(site,
		json_pack("{s:o, s:o, s:o, s:o, s:O?, s:b}", "title", cell_of(page->title, model), "data",
			cell_of(page->data, model), "about", cell_of(page->about, model), "picture", picture_of(web, page, model),
			"role", json_object_get(visit->actor, STORED_ROLE), "operates", site_operates(visit)));
	json_object_update_missing_new(model, json_pack("{s:n, s:n}", "form", "answer"));
	json_object_set_new(model, "site", site);
	json_int_t number = site_page_number(visit);
	if (page->rows)
		json_object_update_new(model,
			json_pack("{s:o, s:o}", "newer", number > 1 ? json_integer(number - 1) : json_null(), "older",
				json_array_size(site_model(visit, page->rows)) == SITE_ROWS ? json_integer(number + 1) : json_null()));
	if (page->finish)
		page->finish(visit, model);
	if (page->back)
		json_object_set_new(model, "confirm",
			json_pack("{s:O?, s:o}", "command", json_object_get(web->commands, page->form.command), "back",
				cell_of(page->back, model)));
}

static void
show_page(struct visit *visit, const struct site_page *page, unsigned status)
{
	visit->mend = NULL;
	if (page->respond) {
		page->respond(visit);
	} else {
		site_complete(visit, page);
		show(visit, page, status);
	}
}

/* ---- errors ---- */

/* A session that has ended: the browser forgets it, and comes again without. */
static bool
forget_session(struct visit *visit, const struct kettle_error *err)
{
	struct web *web = visit->web;
	bool has_ended = err->code == KETTLE_EACCES && visit->actor == web->anonymous &&
					 *session_cookie_value(web, visit->request, SESSION);
	if (!has_ended)
		return false;
	bool posts = http_method(visit->request) == HTTP_POST;
	AUTO_FREE char *cookie = session_cookie(web, SESSION, "", 0);
	session_redirect(visit->request, posts ? "/login" : session_local_path(http_path(visit->request)), cookie);
	return true;
}

/* The page of an error; a `fail` of visits, so it renders at once. */
static void
fail(struct visit *visit, const struct kettle_error *err)
{
	if (!forget_session(visit, err))
		session_respond_error(visit->web, visit->request, session_actor(visit), err);
}

bool
site_refuse(struct web *web, struct http_request *request, unsigned status, const char *sentence)
{
	const char *accept = http_header_value(request, "Accept");
	bool is_browser = accept && strstr(accept, "text/html");
	if (is_browser)
		session_respond(web, request, status, NULL, sentence);
	return is_browser;
}

/* ---- pages ---- */

static const struct site_page *
page_of(const struct visit *visit)
{
	return visit->about;
}

static bool
is_nowhere(const struct visit *visit, const struct site_page *page)
{
	return page->guard && !page->guard(visit);
}

static void read_next(struct visit *visit, json_t *result);
static void start_form(struct visit *visit, json_t *result);

static void
on_read(struct visit *visit, json_t *result)
{
	json_int_t done = member_int(visit->data, "read");
	json_object_set(json_object_get(visit->data, "model"), page_of(visit)->reads[done].as, result);
	json_object_set_new(visit->data, "read", json_integer(done + 1));
	read_next(visit, NULL);
}

/* If the board has another name now, a form goes on with that, and its page is there; else the first error had another reason. */
static void
on_renamed(struct visit *visit, json_t *result)
{
	const char *name = json_text_or_empty(result, "name"), *query = http_query(visit->request);
	if (strcmp(name, site_segment(visit, 1)) == 0) {
		struct kettle_error err = {0};
		(void)kettle_blame(&err, KETTLE_CAUSE_NONE, json_text_or_empty(visit->data, "sought"),
			kettle_fail(&err, KETTLE_ENOENT, "%s", json_text_or_empty(visit->data, "why")));
		visit_fail(visit, &err);
	} else if (http_method(visit->request) == HTTP_POST) {
		json_array_set(json_object_get(visit->data, "path"), 1, json_object_get(result, "name"));
		start_form(visit, NULL);
	} else {
		const char *rest = page_of(visit)->path + strlen("board/") + 1; /* of the page's pattern */
		AUTO_FREE char *address = xasprintf("/board/%s%s%s%s", name, rest, *query ? "?" : "", query);
		session_redirect(visit->request, address, NULL);
		visit_end(visit);
	}
}

/* Asks once for the present name of a board that was not found by the one in the path; false: there is none to ask for. */
static bool
finds_renamed(struct visit *visit, const struct kettle_error *err)
{
	bool is_board = strncmp(page_of(visit)->path, "board/", strlen("board/")) == 0;
	if (!visit->actor || err->code != KETTLE_ENOENT || !is_board || json_object_get(visit->data, "sought"))
		return false;
	json_object_update_new(visit->data, json_pack("{s:s, s:s}", "sought", err->member, "why", err->message));
	visit_call(visit, "leaderboard.renamed", json_pack("{s:s}", "name", site_segment(visit, 1)), on_renamed);
	return true;
}

/* A part that the page can do without is left out. */
static bool
mend_read(struct visit *visit, const struct kettle_error *err)
{
	json_int_t done = member_int(visit->data, "read");
	const struct site_read *read = &page_of(visit)->reads[done];
	if (done == 0 && finds_renamed(visit, err))
		return true;
	if (!visit->actor || !read->command || !read->optional ||
		(err->code != KETTLE_EACCES && err->code != KETTLE_ENOENT && err->code != KETTLE_EINVAL))
		return false;
	json_object_set_new(visit->data, "read", json_integer(done + 1));
	read_next(visit, NULL);
	return true;
}

/* Shows the page, with what a command has refused. */
static void
show_read(struct visit *visit)
{
	bool is_refused = site_model(visit, "form");
	show_page(visit, page_of(visit), is_refused ? (unsigned)member_int(visit->data, "refused") : STATUS_OK);
}

/* Adds what a command has refused to the model. */
static void
add_refusal(struct visit *visit, const struct kettle_error *err)
{
	struct kettle_error told;
	error_tell(visit->web->host, err, &told);
	json_object_set_new(json_object_get(visit->data, "model"), "form",
		json_pack("{s:O, s:s, s:s}", "fields", json_object_get(visit->data, "fields"), "error", told.message, "member",
			told.member));
	json_object_set_new(visit->data, "refused", json_integer(kettle_error_http(err->code)));
	json_object_set_new(visit->data, "retry_s", json_integer(err->retry_s));
}

static void
on_step(struct visit *visit, json_t *result)
{
	json_object_set(json_object_get(visit->data, "model"), "answer", result);
	read_next(visit, NULL);
}

static bool
mend_step(struct visit *visit, const struct kettle_error *err)
{
	add_refusal(visit, err);
	show_read(visit);
	return true;
}

/* Calls the next command of a page's `step`; false: there is none. */
static bool
take_step(struct visit *visit)
{
	json_t *args = NULL;
	const struct site_page *page = page_of(visit);
	const char *command = page->step ? page->step(visit, &args) : NULL;
	if (!command)
		return false;
	json_object_update_new(
		json_object_get(visit->data, "model"), json_pack("{s:s, s:O}", "command", command, "args", args));
	visit->mend = mend_step;
	visit_call(visit, command, args, on_step);
	return true;
}

/* The next command of the page; result: nothing, as of a visit that begins. */
static void
read_next(struct visit *visit, json_t *result)
{
	(void)result;
	const struct site_page *page = page_of(visit);
	const struct site_read *read = &page->reads[member_int(visit->data, "read")];
	json_t *args = NULL;
	if (is_nowhere(visit, page)) {
		visit->mend = NULL;
		visit_refuse(visit, KETTLE_ENOENT, NOTHING);
		return;
	}
	while (read->command && !(args = site_read_args(visit, read)))
		read++;
	json_object_set_new(visit->data, "read", json_integer(read - page->reads));
	if (args) {
		visit->mend = mend_read;
		visit_call(visit, read->command, args, on_read);
	} else if (!take_step(visit)) {
		show_read(visit);
	}
}

/* Whether a path has the segments of a pattern. */
static bool
matches(const struct http_request *request, const char *pattern)
{
	size_t i = 0;
	for (const char *at = pattern; *at; i++) {
		size_t len = strcspn(at, "/");
		const char *segment = http_segment(request, i);
		bool is_any = len == 1 && *at == '*';
		if (!segment || (!is_any && (strlen(segment) != len || strncmp(at, segment, len) != 0)))
			return false;
		at += len + (at[len] == '/');
	}
	return !http_segment(request, i);
}

static json_t *
segments_of(const struct http_request *request)
{
	json_t *segments = json_array();
	for (size_t i = 0; http_segment(request, i); i++)
		json_array_append_new(segments, json_string(http_segment(request, i)));
	return segments;
}

/* The parameters that a page knows. New reference. */
static json_t *
query_of(const struct http_request *request, const struct site_page *page)
{
	AUTO_JSON json_t *given = visit_query(request, NULL), *names = site_list(page->query, " ", NULL);
	json_t *query = json_object();
	json_array_each(names, name)
		json_object_set(query, json_string_value(name), json_object_get(given, json_string_value(name)));
	return query;
}

static void
serve_page(struct web *web, struct http_request *request, const struct site_page *page)
{
	const char *session = page->public ? "" : session_cookie_value(web, request, SESSION);
	if ((page->needs_user || page->form.command) && !*session) {
		AUTO_BUF struct buf login = {0};
		buf_adds(&login, "/login?next=");
		percent_add(&login, http_path(request));
		const char *query = http_query(request);
		if (*query && strlen(query) <= NEXT_QUERY_MAX) {
			percent_add(&login, "?");
			percent_add(&login, query);
		}
		session_redirect(request, login.data, NULL);
		return;
	}
	bool is_kept = page->kept && !*session;
	json_t *path = segments_of(request), *known = query_of(request, page);
	json_t *data =
		json_pack("{s:o, s:o, s:{s:O, s:O}}", "path", path, "query", known, "model", "path", path, "query", known);
	AUTO_FREE char *query = json_dumps(known, JSON_COMPACT | JSON_SORT_KEYS);
	AUTO_FREE char *key = xasprintf("page %s %s", http_path(request), query);
	const char *board = strncmp(page->path, "board/", strlen("board/")) == 0 ? http_segment(request, 1) : NULL;
	if (is_kept && pages_answer(web->pages, key, request)) {
		json_decref(data);
		return;
	}
	if (is_kept)
		json_object_update_new(data, json_pack("{s:s, s:I, s:s*}", "key", key, "changes",
										 (json_int_t)pages_changes(web->pages, board), "board", board));
	visit_begin(web, request, session, 0, read_next, fail, data, page);
}

/* ---- forms ---- */

static void
start_page_of_form(struct visit *visit)
{
	const struct site_page *page = page_of(visit);
	visit->mend = NULL;
	visit->about = page->refused_on ? page->refused_on : page;
	read_next(visit, NULL);
}

static void
on_done(struct visit *visit, json_t *result)
{
	const struct site_form *form = &page_of(visit)->form;
	json_t *data = visit->data;
	if (!form->next) {
		json_object_set(json_object_get(data, "model"), "answer", result);
		start_page_of_form(visit);
		return;
	}
	visit->mend = NULL;
	AUTO_BUF struct buf user = {0};
	percent_add(&user, session_user(visit) ? session_user(visit) : "");
	AUTO_JSON json_t *model = json_pack("{s:O?, s:s?, s:O, s:O}", "result", result, "user", user.data, "path",
		json_object_get(data, "path"), "fields", json_object_get(data, "fields"));
	AUTO_FREE char *next = template_text(form->next, model, NULL);
	AUTO_FREE char *cookie = form->ends_session ? session_cookie(visit->web, SESSION, "", 0) : NULL;
	session_redirect(visit->request, next, cookie);
	visit_end(visit);
}

/* A command's refusal is shown on the form's page. */
static bool
mend_form(struct visit *visit, const struct kettle_error *err)
{
	if (visit->actor == visit->web->anonymous)
		return false;
	if (finds_renamed(visit, err))
		return true;
	add_refusal(visit, err);
	start_page_of_form(visit);
	return true;
}

static void
start_form(struct visit *visit, json_t *result)
{
	const struct site_form *form = &page_of(visit)->form;
	(void)result;
	if (!form->command) {
		read_next(visit, NULL);
	} else if (is_nowhere(visit, page_of(visit))) {
		visit_refuse(visit, KETTLE_ENOENT, NOTHING);
	} else {
		visit->mend = mend_form;
		visit_call(visit, form->command,
			site_read_args(visit, &(struct site_read){NULL, form->command, form->args, false, form->make}), on_done);
	}
}

static void
serve_form(struct web *web, struct http_request *request, const struct site_page *page)
{
	struct kettle_error err = {0};
	const char *session = session_cookie_value(web, request, SESSION);
	json_t *fields = visit_fields(request, &err);
	if (!fields) {
		session_respond(web, request, (unsigned)kettle_error_http(err.code), NULL, err.message);
	} else if (!session_token_is(web, request, session, json_text_or_null(fields, "token"))) {
		session_respond(web, request, FORBIDDEN, NULL, "The form belongs to another session: open the page again.");
		json_decref(fields);
	} else {
		json_object_del(fields, "token");
		json_t *segments = segments_of(request);
		visit_begin(web, request, session, 0, start_form, fail,
			json_pack("{s:O, s:{}, s:o, s:{s:{}, s:o}}", "path", segments, "query", "fields", fields, "model", "query",
				"path", segments),
			page);
	}
}

/* ---- routes ---- */

static const struct site_page *
find_page(const struct web *web, const struct http_request *request)
{
	for (size_t i = 0; web->parts[i]; i++)
		for (const struct site_page *page = web->parts[i]; page->path; page++)
			if (matches(request, page->path))
				return page;
	return NULL;
}

static bool
posts_form(const struct http_request *request, const struct site_page *page)
{
	return http_method(request) == HTTP_POST && page && (page->form.command || page->step);
}

bool
site_request(struct web *web, struct http_request *request)
{
	const char *first = http_segment(request, 0), *second = first ? http_segment(request, 1) : NULL;
	const struct site_page *page = find_page(web, request);
	bool of_root = first && !second && (strcmp(first, "favicon.ico") == 0 || strcmp(first, "robots.txt") == 0);
	bool is_asset = of_root || (second && strcmp(first, "assets") == 0 && !http_segment(request, 2));
	if (posts_form(request, page))
		serve_form(web, request, page);
	else if ((!page || page->refused_on) && !is_asset)
		return false;
	else if (!http_reads(request))
		respond_not_allowed(request, "GET, HEAD");
	else if (page)
		serve_page(web, request, page);
	else
		assets_request(request, of_root ? first : second);
	return true;
}

size_t
site_body_max(const struct web *web, const struct http_request *request)
{
	return posts_form(request, find_page(web, request)) ? visit_fields_max(request) : 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * The pages that people see.
 *
 * Theory of operation. A page is a row: commands whose answers it reads, what is computed from them, and a template. A
 * request for one is a visit, which calls the commands one after the other as the user of the browser's session, and puts
 * each answer into the model; the template is rendered on the pool. A page of a public board is kept for browsers without
 * a session (api/pages.h). A form belongs to the page at its address: a command, its arguments from the fields, and the page
 * that follows; what the command refuses is shown on the page, with the fields as they were sent.
 *
 * The model of a template: `site` (see render/page.h), each answer under the name of its read, what `finish` adds,
 * `markdown` and `diff` made of the texts that the page's row names, and after a refused form `form` {"fields": {NAME: text},
 * "error", "member": the field at fault or ""}.
 */
#pragma once

#include "web/accounts/session.h"
#include "web/api/pages.h"
#include "web/visit/visit.h"

#define SITE_READS_MAX 8
#define SITE_ROWS 100                /* on a page of a list */
#define SITE_BOARD "name=/1 limit=1" /* leaderboard.show for the head of a board's pages */

/*
 * A command whose answer a page shows. Its arguments are text, "NAME=SOURCE" with blanks between. A source that is missing
 * or empty leaves its argument out: `/1` a segment of the path, `?name` a parameter of the query, `#name` one that is a
 * number above 0, `:name` a field of the form (`::name`: it may be empty), `@` the user, `*ROLE` the user's role if it is this
 * one, `.as.member` of the model, `+100` how many rows are before the page of 100 that `?page` names; else the text itself.
 * `!SOURCE` alone: without that source the command is not called.
 */
struct site_read {
	const char *as, *command;                   /* as: its name in the model; command NULL: the end of the list */
	const char *args;                           /* or NULL */
	bool optional;                              /* its error leaves it out of the model */
	json_t *(*make)(const struct visit *visit); /* or NULL: the arguments, in place of args */
};

/* The command that a POST to a page calls. */
struct site_form {
	const char *command; /* called as the user; NULL: there is no form, or the page's `step` has the commands */
	const char *args;    /* as of site_read; or NULL */
	/*
	 * Where the browser goes then; of `result`, the answer, `user`, the name as a segment of an address, `path`, `fields`.
	 * NULL: the page shows it, as `answer`.
	 */
	const char *next;
	json_t *(*make)(const struct visit *visit); /* or NULL: the arguments, in place of args; new reference */
	bool ends_session;                          /* the browser forgets it */
};

/* Texts with braces are templates of cells over the model: "{board.leaderboard.name}". */
struct site_page {
	const char *path;  /* segments, of which `*` is any: "board/ * /trend" without the blanks; "": the first page */
	const char *query; /* the names of its parameters, with a space after each; others are ignored; or NULL */
	const char *template, *title;
	const char *data; /* the path of the same as JSON; or NULL */
	/* Of the template `confirm`, which asks before it sends the page's form: where it leads else; or NULL. */
	const char *back;
	const char *about, *picture; /* what links to the page show, the latter by its path; or NULL */
	struct site_read reads[SITE_READS_MAX];
	const char *markdown, *diff; /* members of the model of which HTML is made; or NULL */
	/* The list of which `?page` shows SITE_ROWS rows; the model gets `newer` and `older`, the pages beside this one; or NULL. */
	const char *rows;
	void (*finish)(const struct visit *visit, json_t *model); /* or NULL */
	/* Or NULL: adds to the model what takes long to make, before the template is rendered. [any], on the pool. */
	void (*fill)(struct web *web, json_t *model);
	void (*respond)(struct visit *visit); /* answers in place of the template, and ends the visit; or NULL */
	struct site_form form;
	/* Or NULL: the page that shows what the form is refused, whose path begins like this one; this is then no page. */
	const struct site_page *refused_on;
	bool needs_user; /* others are sent to log in, as they are from a form's page */
	bool kept;       /* for browsers without a session */
	bool public;     /* all get what those without a session get */
	/*
	 * Or NULL. false: the page is answered with 404. Called before the first read, after each, and before the
	 * command of a form of this page.
	 */
	bool (*guard)(const struct visit *visit);
	/*
	 * Or NULL. After the reads, and again after each answer: a further command to call, NULL: none. In the model its
	 * answer is `answer`, its name `command`, its arguments `args`; what it refuses is there as of a form.
	 */
	const char *(*step)(const struct visit *visit, json_t **ret_args);
};

/* The rows: each file has some of them, with what they compute; a list ends with a NULL path. */
extern const struct site_page pages_boards[], pages_board[], pages_live[], pages_task[], pages_submit[],
	pages_submission[], pages_user[], pages_operator[];
/* All of them, NULL at the end; of web.c. */
extern const struct site_page *const site_parts[];

/* Answers a request for a page, a form or an asset; false: it is for something else. On the server's thread. */
bool site_request(struct web *web, struct http_request *request);
/* The most bytes of body that such a request may have; 0: it is for something else. */
size_t site_body_max(const struct web *web, const struct http_request *request);
/* Answers with a page of an error, in place of JSON, where the client is a browser; false: it is none. */
bool site_refuse(struct web *web, struct http_request *request, unsigned status, const char *sentence);
/* Adds to the model of a page whose answers are read what it computes, and `site`. */
void site_complete(struct visit *visit, const struct site_page *page);

/* ---- for pages: what the request says; borrowed from the visit ---- */

/* A segment of the path, "" where there is none. */
const char *site_segment(const struct visit *visit, size_t index);
/* A parameter of the query; NULL where it is missing or empty. */
const char *site_query(const struct visit *visit, const char *name);
/* A parameter that is a whole number of at least 0; other texts give 0. */
json_int_t site_number(const struct visit *visit, const char *name);
/* A field of the form as text, NULL where it is missing or empty. */
const char *site_field(const struct visit *visit, const char *name);
/* Whether the user of the session is an admin, and whether it is one of those that operate. */
bool site_administers(const struct visit *visit);
bool site_operates(const struct visit *visit);
/* A member of the model, "board.leaderboard.name": of what was read or `finish` has added; "": all of it; NULL: none. */
json_t *site_model(const struct visit *visit, const char *path);
/* Ends a page with a body in place of the template, which is kept as the page is. */
void site_send(struct visit *visit, const struct page_body *body);
/* The number of the page of a list that `?page` names, from 1. */
json_int_t site_page_number(const struct visit *visit);
/* The values of an argument (NULL: texts) in a text (or NULL), between any of the separators, without blanks around them. New reference. */
json_t *site_list(const char *text, const char *separators, const json_t *argument);
/* The arguments of a read. New reference; NULL: its command is not called. */
json_t *site_read_args(const struct visit *visit, const struct site_read *read);

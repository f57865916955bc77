/* SPDX-License-Identifier: MIT */
/* A command: its arguments, right, kind and handler. The program has the table; frontends render it. */
#pragma once

#include "base/view_column.h"
#include "judge/language.h"
#include "model/access.h"
#include "session/shape.h"
#include "store/db.h"

#include <kettle/host.h>

#define COMMAND_TEXT_MAX 20000 /* bytes of a text argument */
#define COMMAND_LIST_MAX 100   /* values of a repeated argument */
#define COMMAND_LATEST \
	"latest" /* value of an ID argument that has it as default: the caller's last submission; member_int of it is 0 */

/* The types of arguments. A frontend turns its own input into the JSON that the core checks. */
#define ARGUMENT_TYPES(X) \
	X(STRING, "string") \
	X(INT, "int") \
	X(BOOL, "bool") \
	X(CHOICE, "choice") /* one of choices */ \
	X(BOARD, "board")   /* a leaderboard's name */ \
	X(DEVICE, "device") \
	X(USER, "user")         /* see user_ref.h */ \
	X(ID, "id")             /* of a submission */ \
	X(WHEN, "when")         /* a deadline, see time_parse_deadline, or none */ \
	X(FILE, "file")         /* {"name": base name, "base64": bytes} */ \
	X(PROBLEMS, "problems") /* {"sets": competition.h's}; on a command line the path of a competition */ \
	X(TASK, "task")         /* a task bundle (task.h); on a command line the path of one */ \
	X(PATH, "path")         /* only in local commands: a path of this machine */

enum argument_type {
#define X(name, text) ARGUMENT_##name,
	ARGUMENT_TYPES(X)
#undef X
};

struct argument {
	const char *name; /* [a-z_]+; on a command line --name with - for _ */
	enum argument_type type;
	bool required, positional, repeated;
	const char *const *choices;
	const char *default_value; /* as text, or NULL */
	const char *last_means;    /* the value that the handler gets for the last choice, or NULL */
	int64_t min, max;          /* of an INT, or of the bytes of a STRING; both 0: no range */
	const char *meta;          /* the placeholder in help: "NAME" */
	const char *help;
	const char *alias; /* another accepted name, which is listed nowhere; or NULL */
	bool named;        /* STRING: a name, which admin.log shows; no secret */
};

enum command_kind {
	COMMAND_READ = 1, /* on the store's reader (store_query), beside the writes */
	COMMAND_WRITE,    /* on the store's thread, in a transaction; answers after the commit */
	COMMAND_ENGINE,   /* on the loop thread of the database's owner */
	COMMAND_LOCAL,    /* on the loop thread of the calling process; no database; not for the network */
};

struct core; /* core.h */

/* The request that the handler of a READ or WRITE gets. */
struct command_call {
	struct db *db;
	const struct command_env *env;
	const struct actor *actor;
	const json_t *args;   /* checked against the arguments, defaults filled in */
	bool plans;           /* of a command with a trial: writes nothing, and answers what to try */
	const json_t *trial;  /* what came of that, see command_trial_fn; NULL: nothing was tried */
	const json_t *before; /* of a command in parts: the answer of the part before; NULL: this is the first */
};

/* The handler of a READ or WRITE, not on the loop thread. */
typedef int command_run_fn(const struct command_call *call, json_t **ret_result, struct kettle_error *err);
/* Of a READ: adds to the answer what only the engine knows. Loop thread of the database's owner. */
typedef void command_add_fn(const struct core *core, json_t *result);
/*
 * Of a slow READ: makes the answer from the handler's result (borrowed), for example by a process of its own. Answers
 * exactly once, also on errors, possibly at once. Loop thread of the process that read; core_hold keeps the core until
 * then.
 */
typedef void command_finish_fn(struct core *core, json_t *result, kettle_answer answer, void *arg);
/*
 * Of a WRITE: tries what its handler has planned (plan; borrowed), for its waiter (borrowed). The handler gets the
 * result as `trial`. Answers exactly once, also on errors, possibly at once. Loop thread of the database's owner.
 */
typedef void command_trial_fn(
	struct core *core, const struct waiter *waiter, const json_t *plan, kettle_answer answer, void *arg);
/* The handler of an ENGINE or LOCAL command. Answers exactly once, also on errors, possibly at once. */
typedef void command_engine_fn(
	struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);

/* The lists of a command and of a view. Each ends with a row of zeros. */
#define ARGUMENTS(...) \
	.arguments = (const struct argument[]) \
	{ \
		__VA_ARGS__, \
		{ \
			0 \
		} \
	}
#define COLUMNS(...) \
	.columns = (const struct view_column[]) \
	{ \
		__VA_ARGS__, \
		{ \
			0 \
		} \
	}

/*
 * How a frontend shows an answer to people, as data that it fills in. A template is text with members of the answer in
 * braces:
 *
 * {NAME}            the member; in `a.b` a member of a member, in `args.a` an argument of the command, {} the value itself
 * {NAME:FORMAT}     seconds, ns, bytes, time, until ("in 3 days"), count (of an array), line (the first, unwrapped), word ("timed out"
 *                   for timed_out), and ("A, B and C"; else "A, B"), words (the same, each a word), score (seconds, with the interval of the members low and high), share (in percent)
 * {*NAME}, {!NAME}  emphasised, as an error
 * {NAME?A|B}        A where it is neither missing nor null, false, 0 or empty; B, which may be left out, elsewhere
 * {NAME=TEXT?A|B}   A where it is this text, or an array that has it
 * {NAME#A|B}        A where it is 1, or an array of one element
 * {NAME@A}          A for each element of an array, ", " between them (@@: nothing), or for an object, over its members
 */
struct view {
	const char *sentence; /* template over the answer, shown before the rows; or NULL */
	const char *list;     /* member with the rows (of an object: {"name", "value"} each); NULL: the answer */
	const struct view_column *columns; /* a table of the rows, until a NULL title; or NULL */
	const char *line;                  /* or a template over each row; or NULL */
	const char *empty;                 /* template over the answer if there are no rows */
	const char *mark;                  /* member of a row that names a user; the calling user's rows are marked */
};

/* A table of commands ends with a NULL name. */
struct command {
	const char *name;           /* "leaderboard.create" */
	const char *help;           /* one line */
	const char *details;        /* a paragraph for the help of the command and the manual, or NULL */
	const struct shape *answer; /* ANSWER(…) */
	const char *example;        /* a command line, or NULL */
	bool hidden;                /* frontends use it for other commands and do not list it */
	bool
		internal; /* for plugins in the engine's process: hidden, refused to clients of its socket, and a frontend lets no
					  network call it. Its actor, the frontend itself, does not become a user */
	const char *alias; /* another accepted name, which is listed nowhere; or NULL */
	struct view view;  /* empty: a frontend draws the answer itself */
	enum access_right right;
	enum command_kind kind;
	bool slow;           /* READ: beside the store (readers.h), so that no other command waits for it */
	bool served;         /* ENGINE: only a server answers; without one the database is not opened */
	bool check_ban_last; /* the handler itself refuses banned users, at its place in the order of the checks */
	/*
	 * WRITE: the handler does a bounded part. Its answer has `more`: while that is true and the call is not cancelled, the handler
	 * runs again, in a transaction of its own with other writes in between. The answer of the last part is the command's.
	 */
	bool in_parts;
	/*
	 * WRITE, ENGINE: what creators and admins do with it is in the log of admin.log. A WRITE that failed has changed nothing and is
	 * not there, an ENGINE command that failed is.
	 */
	bool audited;
	const char *const
		*changing; /* of an audited command that can merely show: the arguments that change something; or NULL */
	const struct argument *arguments; /* until a NULL name, or NULL */
	command_run_fn *run;
	command_trial_fn *trial;   /* of a WRITE that runs something before it writes, or NULL */
	command_add_fn *add;       /* or NULL */
	command_finish_fn *finish; /* of a slow command, or NULL */
	command_engine_fn *engine;
};

/* Finds a command by its name or alias; NULL: there is none. */
const struct command *command_find(const struct command *table, const char *name);
/* actor_resolve with the requirements of the command. */
int command_actor(const struct command *command, struct db *db, const json_t *actor, struct actor *ret_actor,
	struct kettle_error *err);
/*
 * Checks args and fills in defaults. KETTLE_EINVAL names the argument and the nearest known one. A repeated argument
 * also takes a single value; a choice gets the case of the list. New reference. [any]
 */
int command_check(const struct command *command, const json_t *args, json_t **ret_args, struct kettle_error *err);
/* Checks that a result has the form of the command's answer. EINVAL names the place. [any] */
int command_check_answer(const struct command *command, const json_t *result, struct kettle_error *err);
/* A whole table as data for frontends:
 * [{"name","also"?,"help","details","right","kind","example","hidden","internal","view":{"sentence","list","columns":[{"title","cell","right","cut","spare"}],"line","empty","mark"} or null,"args":[{"name","also"?,"type","required","positional","repeated","choices","default","meta","help","min"?,"max"?}]}].
 * New reference. */
json_t *command_data(const struct command *table);
/* The forms of the answers: name → JSON Schema. New reference. */
json_t *command_answers(const struct command *table);

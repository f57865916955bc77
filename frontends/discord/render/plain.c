/* SPDX-License-Identifier: MIT */
/* Answers of the core as lines of plain text. */
#include <config.h>

#include "discord/render/plain.h"

#include "base/base.h"
#include "common/report.h"
#include "common/source_path.h"
#include "common/table.h"
#include "common/template.h"
#include "common/view.h"

struct plain {
	char *text;
	size_t size;
	struct term term;
};

static void
begin(struct plain *plain, unsigned width)
{
	plain->term = (struct term){.out = term_memory(&plain->text, &plain->size), .width = width};
}

static char *
end(struct plain *plain)
{
	(void)fclose(plain->term.out);
	while (plain->size > 0 && plain->text[plain->size - 1] == '\n')
		plain->text[--plain->size] = '\0';
	return plain->text;
}

char *
plain_table(const struct view_column *columns, size_t count, const json_t *rows)
{
	struct plain plain;
	const struct table table = {.columns = columns, .count = count};
	begin(&plain, PLAIN_WIDTH);
	table_print(&plain.term, &table, rows, NULL);
	return end(&plain);
}

char *
plain_view(const json_t *view, const json_t *answer, const json_t *args)
{
	struct plain plain;
	begin(&plain, PLAIN_WIDTH);
	view_print(&plain.term, view, answer, args, NULL);
	return end(&plain);
}

json_t *
plain_jobs(const json_t *submission)
{
	const char *source = json_text_or_null(submission, "source"), *name = json_text_or_null(submission, "file_name");
	json_t *jobs = json_object_get(submission, "jobs");
	return source && name ? source_path_put_all(jobs, source, name) : json_incref(jobs);
}

char *
plain_report(const json_t *submission)
{
	struct plain plain;
	AUTO_JSON json_t *jobs = plain_jobs(submission);
	begin(&plain, 0);
	report_head(&plain.term, submission);
	json_array_each(jobs, job)
		report_job(&plain.term, job, json_text_or_empty(job, "device"), false);
	return end(&plain);
}

char *
plain_verdict(const json_t *submission)
{
	struct plain plain;
	begin(&plain, 0);
	AUTO_FREE char *title = template_text("Submission {id}{practice? (practice)}", submission, NULL);
	report_summary(&plain.term, title, json_object_get(submission, "jobs"));
	return end(&plain);
}

/* SPDX-License-Identifier: MIT */
/*
 * Pages of HTML from templates and JSON. A template is Mustache (templates/NAME.mustache), rendered over the answers of
 * commands; all that it shows is escaped, and freed of what is invisible, but for `{{{markdown}}}` and `{{{diff}}}`,
 * which Kettle makes itself. All [any].
 *
 * A name is looked up in the innermost section that has it; `a.b` is a member of a member, `a.0` an element, `.` the
 * element itself, `.a` a member that the innermost object may lack. `{{#NAME*}}` is entered for each member of a map, as
 * {"name", "value"}. `{{NAME:FORMAT}}`, `{{NAME#one|several}}` and the like are cells as views have them (docs/plugins.md,
 * "How answers are shown"); `{{NAME:raw}}` is a text that a form sends back, and only escaped; `{{NAME:path}}` is a text as
 * a segment of an address; `{{NAME:json}}` is what is no text as JSON; `{{NAME:said}}` is the beginning of a long one; `{{NAME:sentence}}` has what is between backticks
 * as code; `{{NAME:language}}` is what Prism calls the language of a file; `{{NAME:tone}}` is the class of a change of a time
 * in percent. A section is entered for what is neither false, null nor empty; for 0 too: `{{#NAME?1}}…{{/NAME?1}}` is not.
 * `{{#NAME==OTHER}}` is entered where both have the same value.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "base/buf.h"

/*
 * Adds a template rendered over model, which nothing may change meanwhile. ret_unknown (may be NULL): the first name that
 * no section has, which is shown as nothing; new string, or NULL. false: there is no such template, or it is malformed.
 */
bool mustache_render(struct buf *page, const char *name, const json_t *model, char **ret_unknown);
/* The same for a template that is given; its partials are those that have names. */
bool mustache_render_text(struct buf *page, const char *text, const json_t *model, char **ret_unknown);
/* Adds a text as templates show it: escaped, and freed of what is invisible. */
void mustache_escape(struct buf *html, const char *text, size_t size);
/* The names of all templates, NULL at the end, and the text of one, NULL where there is none. */
const char *const *mustache_names(void);
const char *mustache_text(const char *name);

#ifdef __cplusplus
}
#endif

/* SPDX-License-Identifier: MIT */
/* Conformance of a language: its names, and the plans it makes of its own skeletons. */
#include <config.h>

#include "conformance/conformance_internal.h"

#include "base/base.h"
#include "base/utf8.h"
#include "judge/language.h"
#include "plugin/instance.h"
#include "task/task.h"

#define SKELETON_MAX (64u << 10) /* bytes */

static int
skip_unless_language(const struct subject *subject, struct kettle_error *err)
{
	if (subject->loaded->plugin.kind == KETTLE_LANGUAGE)
		return 0;
	return kettle_fail(err, CONFORMANCE_SKIP, "It is a %s.", loader_kind_name(subject->loaded->plugin.kind));
}

/* Whether a word can stand in a list on one line: visible ASCII. */
static bool
is_word(const char *word)
{
	size_t len = strlen(word);
	for (size_t i = 0; i < len; i++) {
		if (word[i] <= ' ' || word[i] > '~' || word[i] == '/')
			return false;
	}
	return len > 0 && len <= 32;
}

static int
check_words(const char *const *words, const char *what, bool dot, struct kettle_error *err)
{
	for (; words && *words; words++) {
		bool good = is_word(*words) && (!dot || ((*words)[0] == '.' && (*words)[1]));
		if (!good)
			return kettle_fail(err, KETTLE_EINVAL, "`%.64s` among its %s is not %s.", *words, what,
				dot ? "a dot and an ending" : "a word of visible ASCII");
	}
	return 0;
}

int
conformance_texts(struct subject *subject, struct kettle_error *err)
{
	int rc = skip_unless_language(subject, err);
	if (rc)
		return rc;
	const struct kettle_language *language = subject->loaded->plugin.language;
	if (!language->extensions || !language->extensions[0])
		return kettle_fail(err, KETTLE_EINVAL, "It has no file extension, so nothing can be submitted in it.");
	const char *comment = language->comment;
	if (!comment || (strcmp(comment, "//") != 0 && !is_word(comment[0] == '/' ? comment + 1 : comment)))
		return kettle_fail(err, KETTLE_EINVAL, "Its comment prefix is missing or not a word.");
	rc = check_words(language->extensions, "extensions", true, err);
	if (rc == 0)
		rc = check_words(language->aliases, "aliases", false, err);
	return rc ? rc : check_words(language->template_names, "template names", false, err);
}

/* ---- skeletons ---- */

/* The smallest configuration that its schema accepts: a file for each string that it requires. */
static json_t *
least_config(const struct kettle_language *language, const char *file)
{
	AUTO_JSON json_t *schema = language->config_schema ? json_loads(language->config_schema, 0, NULL) : NULL;
	json_t *config = json_object();
	json_array_each(json_object_get(schema, "required"), key) {
		const char *name = json_string_value(key);
		const json_t *property = json_object_get(json_object_get(schema, "properties"), name);
		const char *type = json_text_or_null(property, "type");
		bool list = type && strcmp(type, "array") == 0;
		json_object_set_new(config, name, list ? json_pack("[s]", file) : json_string(file));
	}
	return config;
}

/* A task around one skeleton, as a folder with a task.yml would give it. */
static json_t *
bundle_of(const struct kettle_plugin *plugin, const struct kettle_skeleton *skeleton)
{
	const char *file = skeleton->file_name;
	AUTO_JSON json_t *yml = json_pack("{s:s, s:s, s:[{s:s, s:s}], s:o, s:[{s:i}], s:[{s:i}]}", "lang", plugin->name,
		"description", "A task for the conformance checks.", "files", "name", file, "source", "@SUBMISSION@", "config",
		least_config(plugin->language, file), "tests", "size", 1, "benchmarks", "size", 2);
	AUTO_FREE char *text = json_dumps(yml, 0);
	return json_pack("{s:s, s:s?, s:{s:{s:s}}, s:s, s:{}}", "name", "conformance", "yml", text, "files", file, "text",
		skeleton->text, "submission", file, "templates");
}

/* The key of secret runs, which the core draws anew for each plan. */
static void
forget_keys(struct plan *plan)
{
	json_array_each(json_object_get(plan->json, "steps"), step)
		json_object_del(json_object_get(step, "secret"), "KETTLE_SECRET");
}

static int
plan_mode(const struct languages *languages, const json_t *bundle, const struct kettle_skeleton *skeleton,
	const char *mode, struct kettle_error *err)
{
	AUTO_JSON json_t *device = json_pack("{s:s, s:s, s:s, s:[]}", "name", "CPU", "sm", "80", "gfx", "gfx90a", "units");
	AUTO_PLAN struct plan *one = NULL, *other = NULL;
	struct kettle_error why = {0};
	int rc = plan_make(languages, bundle, skeleton->text, mode, device, "12345", NULL, &one, &why);
	if (rc == 0)
		rc = plan_make(languages, bundle, skeleton->text, mode, device, "12345", NULL, &other, &why);
	if (rc)
		return kettle_fail(err, rc, "In mode %s, %s: %s", mode, skeleton->file_name, why.message);
	forget_keys(one);
	forget_keys(other);
	if (!json_equal(one->json, other->json))
		return kettle_fail(err, KETTLE_EINVAL, "In mode %s, %s: the same request gives two different plans.", mode,
			skeleton->file_name);
	return 0;
}

static int
check_skeleton(const struct languages *languages, const struct kettle_plugin *plugin,
	const struct kettle_skeleton *skeleton, struct kettle_error *err)
{
	static const char *const modes[] = {"test", "benchmark", "profile", "ranked"};
	if (!skeleton->template_name || !skeleton->file_name || !skeleton->text)
		return kettle_fail(err, KETTLE_EINVAL, "A skeleton lacks its template's name, its file's name or its text.");
	if (strlen(skeleton->text) > SKELETON_MAX || !utf8_valid(skeleton->text, strlen(skeleton->text)))
		return kettle_fail(err, KETTLE_EINVAL, "The skeleton %s is too large, or not UTF-8.", skeleton->file_name);
	int rc = language_takes_file(&languages->items[0], skeleton->file_name, err);
	if (rc)
		return rc;
	AUTO_JSON json_t *given = bundle_of(plugin, skeleton), *bundle = NULL;
	struct kettle_error why = {0};
	if (task_check_bundle(languages, given, &bundle, &why) != 0)
		return kettle_fail(err, KETTLE_EINVAL, "Could not create a task from %s: %s", skeleton->file_name, why.message);
	for (size_t i = 0; i < ARRAY_SIZE(modes) && rc == 0; i++)
		rc = plan_mode(languages, bundle, skeleton, modes[i], err);
	return rc;
}

int
conformance_skeletons(struct subject *subject, struct kettle_error *err)
{
	const struct kettle_plugin *plugin = &subject->loaded->plugin;
	struct kettle_fake *fake = NULL;
	struct instance instance = {0};
	int rc = skip_unless_language(subject, err);
	if (rc == 0 && plugin->language->skeletons_count == 0)
		rc = kettle_fail(err, CONFORMANCE_SKIP, "The language has no skeletons.");
	if (rc == 0)
		rc = conformance_skip_without_options(subject, err);
	if (rc == 0)
		rc = kettle_fake_new(plugin->name, &fake, err);
	if (rc)
		return rc;
	rc = instance_create(&instance, plugin, kettle_fake_host(fake), err);
	if (rc == 0)
		rc = instance_configure(&instance, subject->options, err);
	struct language item = {.name = plugin->name, .ops = plugin->language, .self = instance.self};
	const struct languages languages = {.items = &item, .count = 1};
	for (size_t i = 0; i < plugin->language->skeletons_count && rc == 0; i++)
		rc = check_skeleton(&languages, plugin, &plugin->language->skeletons[i], err);
	instance_destroy(&instance);
	return conformance_end(fake, rc, err);
}

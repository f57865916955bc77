// SPDX-License-Identifier: MIT
// Templates by kainjow's Mustache, over jansson's values.
#include <config.h>

#include "web/render/mustache.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <kainjow/mustache.hpp>
#include <map>
#include <unordered_map>
#include <memory>
#include <vector>

extern "C" {
#include "base/json_access.h"
#include "base/number.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "common/format.h"
#include "common/template.h"
#include "http/percent.h"
#include "frontends/web/render/templates_data.h"
}

using kainjow::mustache::data;
using kainjow::mustache::mustache;

extern "C" const char *const *
mustache_names(void)
{
	return template_names;
}

extern "C" const char *
mustache_text(const char *name)
{
	for (std::size_t i = 0; template_names[i]; i++)
		if (std::strcmp(name, template_names[i]) == 0)
			return template_texts[i];
	return nullptr;
}

namespace
{

// What a text begins with that is only escaped, and a sentence: no UTF-8 has these bytes.
constexpr char as_it_is = '\xff', sentence = '\xfe';
constexpr std::size_t said_max = 4 << 10; // bytes of what is said about a case
const char replacement[] = "\xef\xbf\xbd";

// Appends a text; whole: also what is invisible in it. It ends where it is not UTF-8.
void
add_escaped(std::string &html, const char *at, const char *end, bool whole)
{
	for (std::size_t size; at < end; at += size) {
		bool is_ascii = *at >= ' ' && *at <= '~';
		size = is_ascii ? 1 : utf8_length(at, static_cast<std::size_t>(end - at));
		if (size == 0)
			break;
		if (size == 1 && *at && std::strchr("&<>\"'", *at))
			html += "&#" + std::to_string(static_cast<int>(*at)) + ";";
		else if (is_ascii || whole || utf8_is_shown(at, size))
			html.append(at, size);
		else
			html += replacement;
	}
}

// Makes code of what is between backticks.
std::string
with_code(const std::string &html)
{
	std::string made;
	std::size_t from = 0, at, end;
	while ((at = html.find('`', from)) != html.npos && (end = html.find('`', at + 1)) != html.npos) {
		made.append(html, from, at - from).append("<code>").append(html, at + 1, end - at - 1).append("</code>");
		from = end + 1;
	}
	return made.append(html, from, html.npos);
}

std::string
escape(const std::string &text)
{
	std::string html;
	bool whole = !text.empty() && text[0] == as_it_is, is_sentence = !text.empty() && text[0] == sentence;
	add_escaped(html, text.data() + (whole || is_sentence), text.data() + text.size(), whole);
	return is_sentence ? with_code(html) : html;
}

// A text as a segment of an address.
std::string
segment_of(const char *text)
{
	struct buf encoded = {};
	percent_add(&encoded, text);
	const std::string segment(encoded.data ? encoded.data : "");
	buf_free(&encoded);
	return segment;
}

std::string
dumped(const json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY);
	const std::string made(text ? text : "");
	std::free(text);
	return made;
}

// What Prism calls the language of a file; "none": it does not know it.
const char *
language_of(const char *file_name)
{
	static const std::map<std::string, const char *> known = {{"c", "c"}, {"h", "cpp"}, {"cc", "cpp"}, {"cpp", "cpp"},
		{"cxx", "cpp"}, {"hpp", "cpp"}, {"cu", "cpp"}, {"cuh", "cpp"}, {"hip", "cpp"}, {"py", "python"},
		{"yml", "yaml"}, {"yaml", "yaml"}, {"diff", "diff"}, {"patch", "diff"}};
	const char *dot = std::strrchr(file_name, '.');
	auto found = known.find(dot ? dot + 1 : "");
	return found == known.end() ? "none" : found->second;
}

// How a change of a time is shown. What is known to be uncertain is neither good nor bad; where nothing is known, it counts.
const char *
tone_of(const json_t *change, double percent)
{
	const json_t *significant = json_object_get(change, "significant");
	if (json_is_false(significant) || json_is_null(significant) || std::fabs(percent) < FORMAT_SAME)
		return "quiet";
	return percent < 0 ? "good" : "bad";
}

// Makes the text of a format that pages alone have; false: it is one of views.
bool
format_own(const std::string &format, const json_t *owner, const json_t *value, std::string &made)
{
	const char *text = json_is_string(value) ? json_string_value(value) : "";
	std::size_t size = std::strlen(text), shown = utf8_cut(text, size, said_max);
	if (format == ":raw")
		made = as_it_is + std::string(text);
	else if (format == ":sentence")
		made = sentence + std::string(text);
	else if (format == ":said")
		made = std::string(text, shown) + (shown < size ? " …" : "");
	else if (format == ":json")
		made = json_is_string(value) ? text : dumped(value);
	else if (format == ":path")
		made = segment_of(text);
	else if (format == ":language")
		made = language_of(text);
	else if (format == ":tone")
		made = tone_of(owner, json_number_value(value));
	else
		return false;
	return true;
}

// A template with its partials, but for the ends of their last lines, in place, so that they are parsed with it.
std::string
with_partials(const std::string &text)
{
	std::string made;
	std::size_t from = 0, at, end;
	while ((at = text.find("{{>", from)) != text.npos && (end = text.find("}}", at)) != text.npos) {
		const char *found = mustache_text(text.substr(at + 3, end - at - 3).c_str());
		const std::string partial(found ? found : "");
		made.append(text, from, at - from).append(with_partials(partial.substr(0, partial.rfind('\n'))));
		from = end + 2;
	}
	return made.append(text, from, text.npos);
}

// The values that Mustache asks for by their names. What it hands out lives as long as this.
class json_context : public kainjow::mustache::basic_context<std::string>
{
  public:
	mutable std::string unknown; // the first name that was not found

	explicit json_context(const json_t *model)
	{
		stack.push_back(model);
		term.out = term_memory(&cell, &cell_size);
	}

	json_context(const json_context &) = delete;
	json_context &operator=(const json_context &) = delete;

	~json_context() override
	{
		json_decref(rows);
		std::fclose(term.out);
		std::free(cell);
	}

	void push(const data *item) override
	{
		auto found = values.find(item);
		stack.push_back(found == values.end() ? nullptr : found->second);
	}

	void pop() override
	{
		stack.pop_back();
	}

	const data *get(const std::string &name) const override
	{
		std::size_t len = std::strcspn(name.c_str(), ":?=#@*");
		const std::string path = name.substr(0, len), rest = name.substr(len);
		const json_t *owner = nullptr, *value = find(path, &owner);
		std::string made;
		if ((!owner || (!value && path[0] == '.')) && unknown.empty())
			unknown = path;
		if (rest == "*")
			return keep_rows(value);
		if (rest.compare(0, 2, "==") == 0)
			return keep(data(value && json_equal(value, find(rest.substr(2), &owner))), value);
		if (!rest.empty() && owner)
			return keep(format_own(rest, owner, value, made) ? data(made) : cell_of(owner, path, rest, value), value);
		return value ? keep(data_of(value), value) : nullptr;
	}

	const data *get_partial(const std::string &) const override
	{
		return nullptr;
	}

  private:
	std::vector<const json_t *> stack;
	mutable std::vector<std::unique_ptr<data>> kept;
	mutable std::unordered_map<const data *, const json_t *> values; // what a section is entered with
	json_t *rows = json_array();                                     // of maps
	char *cell = nullptr; // the text of the last cell: one stream for all, since a new one costs more than a cell
	std::size_t cell_size = 0;
	struct term term = {};

	const data *keep(data &&made, const json_t *value) const
	{
		kept.push_back(std::make_unique<data>(std::move(made)));
		const data *item = kept.back().get();
		values[item] = value;
		if (item->is_list())
			for (std::size_t i = 0; i < item->list_value().size(); i++)
				values[&item->list_value()[i]] = json_array_get(value, i);
		return item;
	}

	// The members of a map as a list of {"name", "value"}.
	const data *keep_rows(const json_t *map) const
	{
		const char *name;
		json_t *value, *list = json_array();
		json_array_append_new(rows, list);
		json_object_foreach(const_cast<json_t *>(map), name, value)
			json_array_append_new(list, json_pack("{s:s, s:O}", "name", name, "value", value));
		return keep(data_of(list), list);
	}

	// ret_owner: the object that would have the last member; unchanged where no section has the first.
	const json_t *find(const std::string &path, const json_t **ret_owner) const
	{
		bool is_inner = path[0] == '.';
		if (path == ".")
			return *ret_owner = stack.back();
		std::size_t at = is_inner, end = path.find('.', at);
		for (auto level = stack.rbegin(); level != stack.rend(); ++level) {
			const json_t *value = json_object_getn(*level, &path[at], std::min(end, path.size()) - at);
			if (!value && !(is_inner && json_is_object(*level)))
				continue;
			for (*ret_owner = *level; *ret_owner && end != path.npos;) {
				at = end + 1;
				end = path.find('.', at);
				*ret_owner = value;
				value = json_at(value, &path[at], std::min(end, path.size()) - at);
				if (!value && json_is_object(*ret_owner))
					*ret_owner = nullptr;
			}
			return value;
		}
		return nullptr;
	}

	// The text of a cell of views; formats may read the members beside it.
	data cell_of(const json_t *owner, const std::string &path, const std::string &rest, const json_t *value) const
	{
		const std::string last = path == "." ? "value" : path.substr(path.rfind('.') + 1);
		json_t *object = path == "." ? json_pack("{s:O?}", "value", value) : json_incref(const_cast<json_t *>(owner));
		std::rewind(term.out);
		template_put(&term, ("{" + last + rest + "}").c_str(), object, nullptr);
		std::fflush(term.out);
		json_decref(object);
		return cell_size == 0 ? data(false) : data(std::string(cell, cell_size));
	}

	static data data_of(const json_t *value)
	{
		char number[NUMBER_TEXT_SIZE];
		data list(data::type::list);
		switch (json_typeof(value)) {
		case JSON_STRING:
			return json_string_length(value) ? data(std::string(json_string_value(value))) : data(false);
		case JSON_INTEGER:
			return data(std::to_string(json_integer_value(value)));
		case JSON_REAL:
			number_text(json_real_value(value), number);
			return data(std::string(number));
		case JSON_ARRAY:
			for (std::size_t i = 0; i < json_array_size(value); i++) {
				const json_t *item = json_array_get(value, i);
				/* An element is looked into by the name of a section inside; `.` finds it by its place. */
				list.push_back(json_is_array(item) ? data(true) : data_of(item));
			}
			return list;
		case JSON_OBJECT:
			return json_object_size(value) ? data(true) : data(false);
		default:
			return data(json_is_true(value));
		}
	}
};

// A template; parsed once by each thread, since rendering is not const.
mustache *
parsed(const char *name)
{
	static thread_local std::map<std::string, std::unique_ptr<mustache>> templates;
	std::unique_ptr<mustache> &found = templates[name];
	const char *text = mustache_text(name);
	if (!found && text) {
		found = std::make_unique<mustache>(with_partials(text));
		found->set_custom_escape(escape);
	}
	return found.get();
}

} // namespace

static bool
render(struct buf *page, mustache *found, const json_t *model, char **ret_unknown)
{
	if (ret_unknown)
		*ret_unknown = nullptr;
	if (!found || !found->is_valid())
		return false;
	try {
		json_context context(model);
		const std::string html = found->render(static_cast<kainjow::mustache::basic_context<std::string> &>(context));
		buf_add(page, html.data(), html.size());
		if (ret_unknown && !context.unknown.empty())
			*ret_unknown = xstrdup(context.unknown.c_str());
		return found->is_valid();
	} catch (const std::exception &) {
		return false;
	}
}

extern "C" void
mustache_escape(struct buf *html, const char *text, size_t size)
{
	std::string escaped;
	add_escaped(escaped, text, text + size, false);
	buf_add(html, escaped.data(), escaped.size());
}

extern "C" bool
mustache_render(struct buf *page, const char *name, const json_t *model, char **ret_unknown)
{
	return render(page, parsed(name), model, ret_unknown);
}

extern "C" bool
mustache_render_text(struct buf *page, const char *text, const json_t *model, char **ret_unknown)
{
	mustache made{with_partials(text)};
	made.set_custom_escape(escape);
	return render(page, &made, model, ret_unknown);
}

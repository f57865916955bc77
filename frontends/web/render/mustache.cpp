// SPDX-License-Identifier: MIT
// Templates by kainjow's Mustache, over jansson's values.
#include <config.h>

#include "web/render/mustache.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <kainjow/mustache.hpp>
#include <map>
#include <memory>
#include <vector>

extern "C" {
#include "base/number.h"
#include "base/utf8.h"
#include "base/xalloc.h"
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
constexpr uint32_t first_printable = 0x20, first_c1 = 0x7f, last_c1 = 0x9f;
const char replacement[] = "\xef\xbf\xbd";

bool
is_shown(const char *at, std::size_t size)
{
	uint32_t character = utf8_code_point(at, size);
	if (character == '\n' || character == '\t')
		return true;
	return character >= first_printable && !(character >= first_c1 && character <= last_c1) &&
		   !utf8_is_invisible(character);
}

// Appends a text; whole: also what is invisible in it. It ends where it is not UTF-8.
void
add_escaped(std::string &html, const char *at, const char *end, bool whole)
{
	for (std::size_t size; at < end; at += size) {
		size = utf8_length(at, static_cast<std::size_t>(end - at));
		if (size == 0)
			break;
		if (size == 1 && *at && std::strchr("&<>\"'", *at))
			html += "&#" + std::to_string(static_cast<int>(*at)) + ";";
		else if (whole || is_shown(at, size))
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

// The values that Mustache asks for by their names. What it hands out lives as long as this.
class json_context : public kainjow::mustache::basic_context<std::string>
{
  public:
	mutable std::string unknown; // the first name that was not found

	explicit json_context(const json_t *model)
	{
		stack.push_back(model);
	}

	json_context(const json_context &) = delete;
	json_context &operator=(const json_context &) = delete;

	~json_context() override
	{
		json_decref(rows);
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
		bool is_missing = !value && path[0] == '.';
		if ((!owner || is_missing) && unknown.empty())
			unknown = path;
		if (rest == "*")
			return keep_rows(value);
		if (rest == ":raw" && json_is_string(value))
			return keep(data(as_it_is + std::string(json_string_value(value))), value);
		if (rest == ":path" && json_is_string(value))
			return keep(data(segment_of(json_string_value(value))), value);
		if (rest == ":language")
			return keep(data(std::string(language_of(json_is_string(value) ? json_string_value(value) : ""))), value);
		if (rest == ":sentence" && json_is_string(value))
			return keep(data(sentence + std::string(json_string_value(value))), value);
		if (!rest.empty() && owner)
			return keep(cell_of(owner, path, rest, value), value);
		return value ? keep(data_of(value), value) : nullptr;
	}

	const data *get_partial(const std::string &name) const override
	{
		const char *text = mustache_text(name.c_str());
		return text ? keep(data(std::string(text)), nullptr) : nullptr;
	}

  private:
	std::vector<const json_t *> stack;
	mutable std::vector<std::unique_ptr<data>> kept;
	mutable std::map<const data *, const json_t *> values; // what a section is entered with
	json_t *rows = json_array();                           // of maps

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
		std::size_t dot = path.find('.', is_inner);
		if (path == ".")
			return *ret_owner = stack.back();
		const std::string first = path.substr(is_inner, dot == std::string::npos ? dot : dot - is_inner);
		for (auto level = stack.rbegin(); level != stack.rend(); ++level) {
			const json_t *value = json_object_get(*level, first.c_str());
			if (!value && !(is_inner && json_is_object(*level)))
				continue;
			*ret_owner = *level;
			while (dot != std::string::npos && *ret_owner) {
				std::size_t next = path.find('.', dot + 1);
				const std::string member = path.substr(dot + 1, next == std::string::npos ? next : next - dot - 1);
				*ret_owner = value;
				value = json_object_get(value, member.c_str());
				dot = next;
				if (!value && json_is_object(*ret_owner))
					*ret_owner = nullptr;
			}
			return value;
		}
		return nullptr;
	}

	// The text of a cell of views; formats may read the members beside it.
	static data cell_of(const json_t *owner, const std::string &path, const std::string &rest, const json_t *value)
	{
		const std::string last = path == "." ? "value" : path.substr(path.rfind('.') + 1);
		json_t *object = path == "." ? json_object() : json_incref(const_cast<json_t *>(owner));
		if (path == ".")
			json_object_set(object, "value", const_cast<json_t *>(value));
		char *text = template_text(("{" + last + rest + "}").c_str(), object, nullptr);
		json_decref(object);
		const std::string made(text);
		std::free(text);
		return made.empty() ? data(false) : data(made);
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
		found = std::make_unique<mustache>(text);
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
	mustache made{std::string(text)};
	made.set_custom_escape(escape);
	return render(page, &made, model, ret_unknown);
}

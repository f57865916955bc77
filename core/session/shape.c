/* SPDX-License-Identifier: MIT */
/* Shapes as JSON Schema. */
#include <config.h>

#include "session/shape.h"

static const char *const types[] = {
	[SHAPE_BOOL] = "boolean",
	[SHAPE_INT] = "integer",
	[SHAPE_NUMBER] = "number",
	[SHAPE_STRING] = "string",
	[SHAPE_TIME] = "string",
	[SHAPE_OBJECT] = "object",
	[SHAPE_ARRAY] = "array",
	[SHAPE_MAP] = "object",
};

static void
add_choices(json_t *schema, const struct shape *shape)
{
	json_t *choices = json_array();
	for (const char *const *choice = shape->choices; *choice; choice++)
		json_array_append_new(choices, json_string(*choice));
	if (shape->null)
		json_array_append_new(choices, json_null());
	json_object_set_new(schema, "enum", choices);
}

static void
add_members(json_t *schema, const struct shape *members)
{
	json_t *properties = json_object(), *required = json_array();
	for (const struct shape *member = members; member->name; member++) {
		json_object_set_new(properties, member->name, shape_schema(member));
		if (!member->optional)
			json_array_append_new(required, json_string(member->name));
	}
	json_object_set_new(schema, "properties", properties);
	json_object_set_new(schema, "required", required);
	json_object_set_new(schema, "additionalProperties", json_false());
}

json_t *
shape_schema(const struct shape *shape)
{
	json_t *schema =
		json_pack("{s:s*, s:s*, s:s*}", "title", shape->title, "description", shape->help, "x-unit", shape->unit);
	const char *type = types[shape->type];
	if (type)
		json_object_set_new(schema, "type", shape->null ? json_pack("[s, s]", type, "null") : json_string(type));
	if (shape->type == SHAPE_TIME)
		json_object_set_new(schema, "format", json_string("date-time"));
	if (shape->choices)
		add_choices(schema, shape);
	if (shape->members)
		add_members(schema, shape->members);
	if (shape->element)
		json_object_set_new(
			schema, shape->type == SHAPE_MAP ? "additionalProperties" : "items", shape_schema(shape->element));
	return schema;
}

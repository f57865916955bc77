# SPDX-License-Identifier: MIT
# Makes of a public header that of the next minor version: each structure that may grow has one more member. The tests build a
# host and plugins with these headers.
/^#define KETTLE_ABI_MINOR / { minor = $3 + 1; print "#define KETTLE_ABI_MINOR", minor; next }
/^struct kettle_(plugin|language|runner|frontend|host|option|skeleton|harness_file|spawn|job|plan_request|http_request|http_answer|request|subscription) \{$/ { inside = 1 }
inside && /^};$/ {
	inside = 0
	print "#if KETTLE_PLUGIN_ABI_MINOR >= KETTLE_ABI_MINOR\n\tvoid (*later)(void);\n#endif"
}
{ print }

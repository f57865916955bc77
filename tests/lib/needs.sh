# SPDX-License-Identifier: MIT
# For shell tests, read by `.`: what the build must have.

# needs PLUGIN...: skips the whole test, and says why, where one of them was not built.
needs() {
	for plugin; do
		[ -f "$top_builddir/plugins/.libs/$plugin.so" ] || { echo "1..0 # SKIP the plugin $plugin was not built"; exit 0; }
	done
}

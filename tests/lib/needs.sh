# SPDX-License-Identifier: MIT
# For shell tests, read by `.`: what the build must have, and the machine.

# needs PLUGIN...: skips the whole test, and says why, where one of them was not built.
needs() {
	for plugin; do
		[ -f "${top_builddir:?}/plugins/$plugin.so" ] || { echo "1..0 # SKIP the plugin $plugin was not built"; exit 0; }
	done
}

# The Python that configure found for the tests; by hand, outside of make, the python3 of the PATH.
PYTHON=${PYTHON-$(command -v python3)}
PYTHONDONTWRITEBYTECODE=1
export PYTHON PYTHONDONTWRITEBYTECODE

# needs_python: skips the whole test where there is none.
needs_python() {
	[ -n "$PYTHON" ] || { echo "1..0 # SKIP configure found no Python 3.9 or newer"; exit 0; }
}

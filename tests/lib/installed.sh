#!/bin/sh
# SPDX-License-Identifier: MIT
# What `make installcheck` looks at: the installed programs find their parts, and the installed files name them.
# Variables: top_srcdir, bindir, plugindir, tasksdir, pkgconfigdir, unit, profile; plugins: those that were built.
set -eu
: "${top_srcdir:?} ${bindir:?} ${plugindir:?} ${tasksdir:?} ${pkgconfigdir:?} ${unit:?} ${profile:?} ${plugins?}"
fail() { echo "installcheck: $*" >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
HOME=$scratch
export HOME
unset KETTLE_CONFIG KETTLE_DB KETTLE_PLUGIN_PATH XDG_CONFIG_HOME XDG_DATA_HOME

"$bindir/kettle-exec" --version >/dev/null || fail "kettle-exec does not run"
"$bindir/kettle-gpu" --version >/dev/null || fail "kettle-gpu does not run"
"$bindir/kettle-host" --version >/dev/null || fail "kettle-host does not run"
"$bindir/kettle-profile" --version >/dev/null || fail "kettle-profile does not run"
for plugin in $plugins; do
	[ -f "$plugindir/$plugin.so" ] || fail "$plugindir/$plugin.so is not there"
done
for file in "$unit" "$profile"; do
	grep -q "$bindir/kettle" "$file" || fail "$file does not name the program"
done
if command -v pkg-config >/dev/null; then
	PKG_CONFIG_PATH=$pkgconfigdir${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH} pkg-config --cflags kettle kettle-testing >/dev/null || fail "pkg-config does not find kettle"
fi
case " $plugins " in
*" cli "*)
	[ "$("$bindir/kettle" plugin list --json | grep -c '"file"')" -gt 0 ] || fail "kettle finds no plugins"
	# The page on plugins, built from what is installed.
	case " $plugins " in
	*" local "*)
		sh "$top_srcdir/tests/plugins/docs.test" "${bindir%/bin}" >"$scratch/page"
		! grep -A 40 '^not ok' "$scratch/page" || fail "what docs/plugins.md prints does not work"
		;;
	esac
	case " $plugins " in
	*" cpp "*) "$bindir/kettle" task check "$tasksdir/vectoradd_cpp" "$tasksdir/matmul_cpp" || fail "the installed tasks are not right" ;;
	esac
	;;
esac

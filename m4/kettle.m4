# SPDX-License-Identifier: MIT
# Macros of Kettle's configure.ac.

# A folder named "core" stands where configure expects a core dump: its `rm -f core` would fail
# there and leave confdefs.h behind. This rm passes over the folder and does all the rest.
AC_DEFUN([KETTLE_GUARD_CORE_FOLDER], [
rm ()
{
  kettle_rm=
  for kettle_arg
  do
    if test "x$kettle_arg" = xcore && test -d core; then continue; fi
    kettle_rm="$kettle_rm '$kettle_arg'"
  done
  eval "command rm $kettle_rm"
}
])

AC_DEFUN([KETTLE_WARNINGS], [
AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [warnings are errors (what CI uses)])], [], [enable_werror=no])
WARN_CFLAGS="-std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla"
AS_IF([test "$enable_werror" = yes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
AC_SUBST([WARN_CFLAGS])
WARN_CXXFLAGS="-std=gnu++17 -Wall -Wextra -Wshadow"
AS_IF([test "$enable_werror" = yes], [WARN_CXXFLAGS="$WARN_CXXFLAGS -Werror"])
AC_SUBST([WARN_CXXFLAGS])
])

AC_DEFUN([KETTLE_SANITIZERS], [
AC_ARG_ENABLE([sanitizers], [AS_HELP_STRING([--enable-sanitizers=LIST], [build with sanitizers: "address,undefined" or "thread"])], [], [enable_sanitizers=no])
# What UndefinedBehaviorSanitizer keeps of each check to describe it is five sixths of a program's data, and all of it is relocated
# at each start. So a failed check is an illegal instruction, which AddressSanitizer reports with its place (base/xalloc.c), and
# programs have a fixed address.
AS_IF([test "$enable_sanitizers" != no], [
  SANITIZE_FLAGS="-fsanitize=$enable_sanitizers -fno-omit-frame-pointer -fsanitize-undefined-trap-on-error"
  SANITIZE_LDFLAGS="$SANITIZE_FLAGS -no-pie"
  # gold links these programs, of which a build has a hundred, in a third of the time of the usual linker.
  kettle_saved_flags=$LDFLAGS
  LDFLAGS="$LDFLAGS $SANITIZE_FLAGS -no-pie -fuse-ld=gold"
  AC_LINK_IFELSE([AC_LANG_PROGRAM], [SANITIZE_LDFLAGS="$SANITIZE_LDFLAGS -fuse-ld=gold"])
  LDFLAGS=$kettle_saved_flags])
AC_SUBST([SANITIZE_FLAGS])
AC_SUBST([SANITIZE_LDFLAGS])
AM_CONDITIONAL([SANITIZED], [test "$enable_sanitizers" != no])
])

# Points at which a test can kill a process; compiled in on demand only.
AC_DEFUN([KETTLE_ARG_FAILPOINTS], [
AC_ARG_ENABLE([failpoints], [AS_HELP_STRING([--enable-failpoints], [compile in the points at which the crash tests kill a process; never for production])], [], [enable_failpoints=no])
AS_IF([test "$enable_failpoints" = yes], [AC_DEFINE([KETTLE_FAILPOINTS], [1], [Named points where KETTLE_FAIL kills the process.])])
AM_CONDITIONAL([FAILPOINTS], [test "$enable_failpoints" = yes])
])

# The interpreter that runs the tests and the bench. Boards name their own. The system's is preferred to the one in the PATH,
# which may differ from folder to folder (version managers) and may not be readable for other users.
AC_DEFUN([KETTLE_PATH_PYTHON], [
AC_ARG_VAR([PYTHON], [Python 3.9 or newer that the tests run with (default /usr/bin/python3, else the python3 of the PATH)])
AC_MSG_CHECKING([for the Python that the tests run with])
kettle_given=$PYTHON
PYTHON=
for kettle_python in ${kettle_given:-/usr/bin/python3 python3}; do
  PYTHON=`"$kettle_python" -IS -c 'import sys; print(sys.executable if sys.version_info >= (3, 9) else "")' 2>/dev/null </dev/null`
  test -z "$PYTHON" || break
done
AC_MSG_RESULT([${PYTHON:-none}])
AS_IF([test -z "$PYTHON" && test -n "$kettle_given"], [AC_MSG_ERROR([PYTHON is "$kettle_given", which is not Python 3.9 or newer])])
])

# The extension that makes Python a warm process, on the stable ABI: the headers of one Python serve all.
AC_DEFUN([KETTLE_ARG_WARM], [
AC_ARG_ENABLE([warm], [AS_HELP_STRING([--enable-warm=auto|yes|no], [warm processes of Python, which runs begin from (default auto)])], [], [enable_warm=auto])
kettle_missing=
AS_CASE([$enable_warm],
  [no], [kettle_missing="disabled by --disable-warm"],
  [yes|auto], [AS_IF([test "$build_py" != yes], [kettle_missing="the plugin py is not built"],
    [PKG_CHECK_MODULES([PYTHON], [python3 >= 3.9], [], [kettle_missing="install python3-dev"])])],
  [AC_MSG_ERROR([--enable-warm must be auto, yes or no, not "$enable_warm"])])
AS_IF([test -n "$kettle_missing" && test "$enable_warm" = yes], [AC_MSG_ERROR([warm processes cannot be built: $kettle_missing])])
AS_IF([test -z "$kettle_missing"],
  [build_warm=yes
  kettle_headers=`$PKG_CONFIG --modversion python3`],
  [build_warm="no ($kettle_missing)"])
AM_CONDITIONAL([BUILD_WARM], [test -z "$kettle_missing"])
have_warm=0
AS_IF([test -z "$kettle_missing"], [have_warm=1])
AC_DEFINE_UNQUOTED([KETTLE_HAVE_WARM], [$have_warm], [1: the extension for warm processes of Python is built.])
KETTLE_STAND_IN
])

# The program that draws plots: cairo with its surfaces for SVG and PNG.
AC_DEFUN([KETTLE_ARG_PLOT], [
AC_ARG_ENABLE([plot], [AS_HELP_STRING([--enable-plot=auto|yes|no], [kettle-plot, which draws scores over time (default auto)])], [], [enable_plot=auto])
kettle_missing=
AS_CASE([$enable_plot],
  [no], [kettle_missing="disabled by --disable-plot"],
  [yes|auto], [PKG_CHECK_MODULES([CAIRO], [cairo >= 1.14 cairo-svg cairo-png], [], [kettle_missing="install libcairo2-dev"])],
  [AC_MSG_ERROR([--enable-plot must be auto, yes or no, not "$enable_plot"])])
AS_IF([test -n "$kettle_missing" && test "$enable_plot" = yes], [AC_MSG_ERROR([kettle-plot cannot be built: $kettle_missing])])
AS_IF([test -z "$kettle_missing"], [build_plot=yes], [build_plot="no ($kettle_missing)"])
AM_CONDITIONAL([BUILD_PLOT], [test -z "$kettle_missing"])
])

# Outgoing HTTP: the headers of libcurl, which is loaded when a plugin first sends a request.
AC_DEFUN([KETTLE_ARG_HTTP], [
AC_ARG_ENABLE([http], [AS_HELP_STRING([--enable-http=auto|yes|no], [outgoing HTTP for plugins, by libcurl (default auto)])], [], [enable_http=auto])
kettle_missing=
AS_CASE([$enable_http],
  [no], [kettle_missing="disabled by --disable-http"],
  [yes|auto], [PKG_CHECK_MODULES([LIBCURL], [libcurl >= 7.87], [], [kettle_missing="install libcurl4-openssl-dev"])],
  [AC_MSG_ERROR([--enable-http must be auto, yes or no, not "$enable_http"])])
AS_IF([test -n "$kettle_missing" && test "$enable_http" = yes], [AC_MSG_ERROR([outgoing HTTP cannot be built: $kettle_missing])])
have_http=0
AS_IF([test -z "$kettle_missing"], [build_http=yes have_http=1], [build_http="no ($kettle_missing)"])
AC_DEFINE_UNQUOTED([KETTLE_HAVE_HTTP], [$have_http], [1: plugins have outgoing HTTP.])
AM_CONDITIONAL([BUILD_HTTP], [test -z "$kettle_missing"])
])

# The stand-in for Python in the sandboxes of warm runs: a static program at an address of its own, which needs support by the
# compiler.
AC_DEFUN([KETTLE_STAND_IN], [
STAND_IN_FLAGS="-std=gnu11 -O2 -ffreestanding -fpie -fno-stack-protector -fno-tree-loop-distribute-patterns -fno-asynchronous-unwind-tables -U_FORTIFY_SOURCE -nostdlib -static -no-pie -Wl,-Ttext-segment=0x2f0000000000 -Wl,-z,noexecstack -Wl,--build-id=none"
kettle_stand_in=no
AS_IF([test "$build_warm" = yes], [
  AC_MSG_CHECKING([whether a program without a C library can stand in for Python])
  kettle_saved_flags=$CFLAGS
  CFLAGS=$STAND_IN_FLAGS
  AC_LINK_IFELSE([AC_LANG_SOURCE([[
#if !defined(__x86_64__) || !defined(__linux__)
#error "Its system calls are those of x86_64."
#endif
static char room[4096];
void __attribute__((used)) begin(char **stack) { room[0] = (char)(stack != 0); for (;;); }
__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tcall begin\n");
]])], [kettle_stand_in=yes])
  CFLAGS=$kettle_saved_flags
  AC_MSG_RESULT([$kettle_stand_in])])
have_stand_in=0
AS_IF([test "$kettle_stand_in" = yes], [have_stand_in=1])
AC_DEFINE_UNQUOTED([KETTLE_HAVE_STAND_IN], [$have_stand_in], [1: what stands in for Python in the sandboxes of warm runs is built.])
AC_SUBST([STAND_IN_FLAGS])
AM_CONDITIONAL([BUILD_STAND_IN], [test "$kettle_stand_in" = yes])
])

# KETTLE_PLUGIN(NAME, KIND, WHAT, [DEPENDENCY-CHECK that sets kettle_missing to what is missing])
AC_DEFUN([KETTLE_PLUGIN], [
AC_ARG_ENABLE([$1], [AS_HELP_STRING([--enable-$1=auto|yes|no], [$2 plugin: $3 (default auto)])], [], [enable_$1=auto])
kettle_missing=
AS_CASE([$enable_$1],
  [no], [kettle_missing="disabled by --disable-$1"],
  [yes|auto], [$4],
  [AC_MSG_ERROR([--enable-$1 must be auto, yes or no, not "$enable_$1"])])
AS_IF([test -n "$kettle_missing" && test "$enable_$1" = yes], [AC_MSG_ERROR([the $2 plugin $1 cannot be built: $kettle_missing])])
AS_IF([test -z "$kettle_missing"], [build_$1=yes], [build_$1=no])
AM_CONDITIONAL([BUILD_]m4_toupper([$1]), [test "$build_$1" = yes])
m4_if([$2], [language], [AS_IF([test "$build_$1" = yes], [kettle_languages="$kettle_languages $1"])])
AC_SUBST([kettle_languages])
kettle_summary="$kettle_summary
  $1|$2|$build_$1|$3|$kettle_missing"
])

AC_DEFUN([KETTLE_SUMMARY], [
echo
echo "$PACKAGE_NAME $PACKAGE_VERSION will be built for $prefix with $CC."
echo "$kettle_summary" | $AWK -F'|' 'NF > 1 {
  gsub(/^ +/, "", @S|@1)
  printf "  %-8s %-9s %-4s %s%s\n", @S|@1, @S|@2, @S|@3, @S|@4, (@S|@5 != "" ? " (" @S|@5 ")" : "") }'
echo "  warm Python        $build_warm${kettle_headers:+ (with the headers of Python $kettle_headers, for Python 3.9 and newer)}"
echo "  plots              $build_plot"
echo "  outgoing HTTP      $build_http"
echo "  unit tests         $have_cmocka $(test "$have_cmocka" = yes || echo "(install libcmocka-dev)")"
echo "  sanitizers         $enable_sanitizers"
echo "  tests run with     ${PYTHON:-no Python (install python3, or set PYTHON)}"
echo
])

# What the pages of the frontend web are made with, and the scripts that they use where this machine has them: Chart.js
# draws, Prism colours code.
AC_DEFUN([KETTLE_ARG_PAGES], [
AC_ARG_WITH([chart-js], [AS_HELP_STRING([--with-chart-js=FILE], [Chart.js 3.9, minified (default: of Debian's libjs-chart.js, or none)])], [],
  [with_chart_js=/usr/share/javascript/chart.js/chart.min.js])
AC_ARG_WITH([prismjs], [AS_HELP_STRING([--with-prismjs=DIR], [the folder of Prism's components, minified (default: of Debian's node-prismjs, or none)])], [],
  [with_prismjs=/usr/share/nodejs/prismjs/components])
CHART_JS= PRISM_JS=
AS_IF([test -r "$with_chart_js"], [CHART_JS=$with_chart_js])
for kettle_part in core clike c cpp python yaml diff; do
  AS_IF([test -r "$with_prismjs/prism-$kettle_part.min.js"], [PRISM_JS="$PRISM_JS $with_prismjs/prism-$kettle_part.min.js"], [PRISM_JS=; break])
done
AC_SUBST([CHART_JS])
AC_SUBST([PRISM_JS])
PKG_CHECK_MODULES([CMARK], [libcmark-gfm], [have_pages=yes], [have_pages=no])
AC_LANG_PUSH([C++])
AC_CHECK_HEADER([kainjow/mustache.hpp], [], [have_pages=no], [#include <string>])
AC_LANG_POP([C++])
AC_CHECK_HEADER([cmark-gfm-core-extensions.h], [], [have_pages=no])
])

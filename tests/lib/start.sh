#!/bin/sh
# SPDX-License-Identifier: MIT
# Starts a test program as its first line says; where that names Python, with the interpreter that configure found, whatever
# python3 the PATH has.
read -r first < "$1"
case $first in
*python3)
	if [ -z "$PYTHON" ]; then
		echo "1..0 # SKIP configure found no Python 3.9 or newer"
		exit 0
	fi
	exec "$PYTHON" -B "$@"
	;;
*) exec "$@" ;;
esac

#!/bin/sh
# SPDX-License-Identifier: MIT
# Starts the program of this name in ../libexec, or says why this machine cannot: the loader would end without a word that helps.
self=$0 glibc=
while [ -L "$self" ]; do
	to=$(readlink "$self")
	case $to in
	/*) self=$to ;;
	*) self=$(dirname "$self")/$to ;;
	esac
done
case $self in
*/*) ;;
*) self=./$self ;;
esac
name=${self##*/}
folder=${self%/*}/..
program=$folder/libexec/$name

fail() {
	printf '%s: %s\n' "$name" "$*" >&2
	exit 3
}

for part in "libexec/$name" @SHARED@; do
	[ -f "$folder/$part" ] || fail "The folder of Kettle lacks $part: unpack its archive again."
done
[ -e /proc/self/exe ] || fail "Kettle needs /proc, and it is not mounted."
if [ ! -x "$program" ]; then
	case $(ls -ld "$program") in
	-??x*) fail "Nothing may be executed where the folder of Kettle lies (its file system is mounted noexec): copy it elsewhere." ;;
	*) fail "The programs in the folder of Kettle have lost the right to be executed: unpack its archive again, with tar." ;;
	esac
fi
if [ ! -e @LOADER@ ]; then
	machine=$(uname -m)
	[ "$machine" = @MACHINE@ ] || fail "This folder of Kettle is for @MACHINE@, and this machine is $machine."
	fail "It needs the GNU C library @GLIBC@ or newer, and this system has none (@LOADER@ is missing)."
fi
# Until 2.33 the C library was a link to a file with its version in the name: only where it is one, or this cannot tell, something
# is started to find out.
suspect=@SUSPECT@ needed=@GLIBC_MINOR@
[ ! -L /lib/@MACHINE@-linux-gnu/libc.so.6 ] && [ ! -L /lib64/libc.so.6 ] || suspect=yes
[ -z "$suspect" ] || glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null)
glibc=${glibc#glibc }
case $glibc in
[0-9]*.[0-9]*)
	minor=${glibc#*.}
	[ "${glibc%%.*}" -gt 2 ] || [ "${minor%%.*}" -ge "$needed" ] || fail "It needs the GNU C library @GLIBC@ or newer, and this system has $glibc."
	;;
esac
exec "$program" "$@"

#!/bin/sh
# SPDX-License-Identifier: MIT
# What `make portable` and `make portable-exec` do: pack.sh KIND STAGE NAME ARCHIVE makes the folder NAME of what was installed in
# STAGE, of which bin/ is linked to find libraries in lib/kettle/shared, and packs it: the same bytes whenever it packs the same.
# KIND all: everything; NAME-http.tar.xz, to be unpacked over it, has libcurl and the plugins that need it. KIND exec: what runs
# jobs on a machine of others. In the environment: srcdir, and files, which are copied from there.
set -eu
kind=$1 stage=$2 name=$3 archive=$4
: "${srcdir:?} ${files?}"
most=5000000 # bytes that it may have
glibc_wanted=34 # it must run with the GNU C library 2.34
fail() { echo "make portable: $*" >&2; exit 1; }

# only_exec: of what was installed, kettle-exec and what it starts and loads.
only_exec() {
	mv "$name" "$name-all"
	mkdir -p "$name/bin" "$name/lib/kettle" "$name/share/doc/kettle"
	for part in bin/kettle-exec bin/kettle-gpu bin/kettle-host bin/kettle-profile lib/kettle/warm; do
		[ ! -e "$name-all/$part" ] || mv "$name-all/$part" "$name/$part"
	done
	cp "$srcdir/LICENSE" "$name/share/doc/kettle/"
	rm -rf "$name-all"
}

rm -rf "$name" "$name-all"
mv "$stage" "$name"
# The archive for other machines, which may have been installed with the rest, is as large as all this.
rm -f "$name/share/kettle/kettle-exec.tar.xz"
[ "$kind" = all ] || only_exec
# Services and profiles name the folders that things were configured for; nothing is linked to the host for tests of plugins.
rm -rf "$name/lib/systemd" "$name/share/kettle/apparmor.d"
rm -f "$name"/lib/libkettle-testing.* "$name/lib/pkgconfig/kettle-testing.pc" "$name/include/kettle/testing.h"
mv "$name/bin" "$name/libexec"
mkdir "$name/bin" "$name/lib/kettle/shared"
# What talks to other machines goes into the second archive, with its libraries.
rm -rf "$name-http"
mkdir -p "$name-http/$name/lib/kettle/plugins"
for plugin in discord github modal slurm ssh web; do
	[ ! -f "$name/lib/kettle/plugins/$plugin.so" ] || mv "$name/lib/kettle/plugins/$plugin.so" "$name-http/$name/lib/kettle/plugins/"
done
# objects, services: programs and libraries, one a line.
objects() { find "$name/libexec" "$name/lib" -type f \( -perm -100 -o -name '*.so*' \); }
services() { find "$name-http/$name/lib/kettle" -name '*.so*'; }

# libraries FOLDER: copies the libraries of the objects that are read to FOLDER, but for the C library's and those that are in
# $name, with the licences.
libraries() {
	folder=$1
	xargs ldd 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | while read -r library; do
		case ${library##*/} in
		libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libresolv.so.* | libutil.so.*) continue ;;
		esac
		[ ! -e "$name/lib/kettle/shared/${library##*/}" ] || continue
		cp -L "$library" "$folder/lib/kettle/shared/"
		file=$(readlink -f "$library")
		# A package may know it by its path from before /lib became a link.
		package=$({ dpkg-query -S "$file" || dpkg-query -S "${file#/usr}"; } 2>/dev/null | sed 's/:.*//; q' || true)
		if [ -n "$package" ] && [ -f "/usr/share/doc/$package/copyright" ]; then
			mkdir -p "$folder/share/doc/kettle/libraries"
			cp "/usr/share/doc/$package/copyright" "$folder/share/doc/kettle/libraries/$package"
		fi
	done
}

# RPATH has found those that were there already.
objects | libraries "$name"
chmod 644 "$name"/lib/kettle/shared/*
objects | xargs strip --strip-unneeded

# Plugins are written against jansson.
for_plugins() {
	strip --strip-debug "$name/lib/libkettle-language.a"
	# What pkg-config prints are options.
	# shellcheck disable=SC2046
	echo '#include <jansson.h>' | ${CC:-cc} $(pkg-config --cflags jansson) -M -x c - | tr ' ' '\n' | grep '/jansson' | while read -r header; do
		cp "$header" "$name/include/"
	done
	(cd "$name/lib" && ln -s kettle/shared/libjansson.so.* libjansson.so)
	sed "s/@VERSION@/$(pkg-config --modversion jansson)/" >"$name/lib/pkgconfig/jansson.pc" <<-'END'
		Name: jansson
		Description: JSON, as the portable Kettle brings it
		Version: @VERSION@
		Cflags: -I${pcfiledir}/../../include
		Libs: -L${pcfiledir}/.. -ljansson
	END
}
[ "$kind" != all ] || for_plugins

# glibc_of OBJECTS: sets minor to what those that OBJECTS lists need of the C library, as the linker wrote it down.
glibc_of() {
	minor=$("$@" | xargs objdump -T 2>/dev/null | sed -n 's/.*(GLIBC_2\.\([0-9]*\)[.0-9]*).*/\1/p; s/.* GLIBC_2\.\([0-9]*\)[.0-9]* .*/\1/p' | sort -n | tail -n 1)
	[ "$minor" -le $glibc_wanted ] || fail "what was built here needs the GNU C library 2.$minor; build it on a system with 2.$glibc_wanted, or one whose libraries need no more."
}
glibc_of objects
loader=$(readelf -l "$name/libexec/kettle-exec" | sed -n 's/.*program interpreter: \(.*\)]/\1/p')
shared=$(cd "$name" && echo lib/kettle/shared/*)
for program in "$name"/libexec/*; do
	sed -e "s|@SHARED@|$shared|; s|@LOADER@|$loader|g; s|@MACHINE@|$(uname -m)|g; s|@GLIBC@|2.$minor|g; s|@GLIBC_MINOR@|$minor|; s|@SUSPECT@|$([ "$minor" -eq 34 ] || echo yes)|" \
		"$srcdir/portable/launcher.sh" >"$name/bin/${program##*/}"
done
chmod 755 "$name"/bin/*

for file in $files; do
	mkdir -p "$name/$(dirname "$file")"
	cp "$srcdir/$file" "$name/$file"
done

# packed FOLDER ARCHIVE: packs what FOLDER has. Nothing of when, where and by which user it was built gets into it, nor of how
# many threads xz would use.
packed() {
	rm -f "$2"
	tar -C "$1" --format=gnu --sort=name --owner=0 --group=0 --numeric-owner --mtime='2000-01-01 00:00:00Z' --mode=u+rwX,go+rX,go-w -cf - "$name" | xz -9 -T1 >"$2"
	size=$(stat -c %s "$2")
	[ "$size" -le $most ] || fail "$2 has $size bytes, more than the $most that it may have."
	echo "$2: $size bytes, for the GNU C library from 2.$minor on"
}
packed . "$archive"
[ "$kind" = all ] || exit 0

# libcurl and its libraries take more than all the rest, and only plugins that talk to a service need them.
curl=$(${CC:-cc} -print-file-name=libcurl.so.4)
if [ -f "$curl" ]; then
	mkdir -p "$name-http/$name/lib/kettle/shared"
	cp -L "$curl" "$name-http/$name/lib/kettle/shared/"
	services | libraries "$name-http/$name"
	chmod 644 "$name-http/$name"/lib/kettle/shared/*
	services | xargs strip --strip-unneeded
	glibc_of services
	packed "$name-http" "${archive%.tar.xz}-http.tar.xz"
fi
rm -rf "$name-http"

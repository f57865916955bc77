#!/bin/sh
# SPDX-License-Identifier: MIT
# The portable folder, and beside its archive that of kettle-exec alone, on a machine that is not this one: foreign.sh ARCHIVE DIR makes a root of another release of
# Debian in DIR, once, with nothing in it but Python, numpy and a C++ compiler, and runs tests/portable/inside.sh there: in a
# root and mounts of its own as root and as an ordinary user, and in a bare chroot, which has neither cgroups nor user
# namespaces. Prints TAP; ends with 1 where something failed. Only root can make and enter another root.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
archive=$1 dir=$2
fail() { echo "foreign.sh: $*" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || fail "only root can enter another root"

own=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
release=trixie
[ "$own" != trixie ] || release=forky
mirror=$(apt-get indextargets --format "\$(REPO_URI)" 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1)
[ -n "$mirror" ] || fail "apt knows no mirror of Debian, where the root of another release would come from"
root=$dir/root.$release
if [ ! -d "$root" ]; then
	echo "# a root of Debian $release, made once ($root)" >&2
	mkdir -p "$dir"
	rm -rf "$root.new"
	# In mounts of its own: what it mounts is seen by nothing else, and gone with it.
	unshare --mount debootstrap --variant=minbase --include=python3,python3-numpy,g++ "$release" "$root.new" "$mirror" >"$dir/debootstrap.log" 2>&1 ||
		{ tail -n 20 "$dir/debootstrap.log" >&2; fail "debootstrap failed"; }
	chroot "$root.new" useradd --home-dir /home/guest guest
	rm -rf "$root.new"/var/cache/apt/archives/*.deb "$root.new"/var/lib/apt/lists/*
	mv "$root.new" "$root"
fi

files=$(mktemp -d)
trap 'rm -rf "$files"' EXIT
cp "$archive" "$here/inside.sh" "$files/"
cp "${archive%.tar.xz}-http.tar.xz" "$files/http.tar.xz"
cp "$(dirname "$archive")/kettle-exec.tar.xz" "$files/exec.tar.xz"
# The plugin that the manual prints.
awk '/^```c$/ { inside = 1; next } /^```/ { if (inside) exit } inside { print }' "$here/../../docs/plugins.md" >"$files/fortran.c"

# enter KIND USER: what is mounted is gone with the processes.
enter() {
	unshare --mount --pid --fork --kill-child sh -eu -s -- "$root" "$files" "$1" "$2" <<-'END'
		root=$1 files=$2 kind=$3 user=$4
		mount --bind "$root" "$root"
		mount -o remount,bind,ro "$root"
		for place in tmp run home root var/lib dev; do mount -t tmpfs -o mode=755 tmpfs "$root/$place"; done
		chmod 1777 "$root/tmp"
		for node in null zero full random urandom tty; do : >"$root/dev/$node" && mount --bind "/dev/$node" "$root/dev/$node"; done
		mkdir -m 1777 "$root/dev/shm"
		mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
		ln -s /proc/self/fd "$root/dev/fd"
		mount -t proc proc "$root/proc"
		mkdir "$root/tmp/files" "$root/home/guest"
		cp "$files"/* "$root/tmp/files/"
		chroot "$root" chown guest: /home/guest
		cd "$root"
		if [ "$kind" = root ]; then
			mount --rbind /sys sys
			mkdir tmp/old
			pivot_root . tmp/old
			cd /
			umount -l tmp/old
			set -- sh
		else
			set -- chroot . sh
		fi
		exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@" /tmp/files/inside.sh "$kind" "$user" </dev/null
	END
}

status=0
enter root root || status=1
enter root guest || status=1
enter chroot root || status=1
enter chroot guest || status=1
exit $status

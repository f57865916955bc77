#!/bin/sh
# SPDX-License-Identifier: MIT
# What tests/portable/foreign.sh runs in the other root: inside.sh KIND USER. KIND root: all that a sandbox can use is there;
# KIND chroot: no cgroups, no user namespaces. Everything is done by USER.
set -u
kind=$1 user=$2 files=/tmp/files
where="$kind, $user"
if [ "$(id -un)" != "$user" ]; then
	exec runuser -u "$user" -- sh "$0" "$kind" "$user"
fi
HOME=$(getent passwd "$user" | cut -d: -f6)
export HOME
cd "$HOME" || exit 1

number=0 failed=0
# check NAME COMMAND...: one test; what the command said is shown where it failed.
check() {
	number=$((number + 1)) name=$1
	shift
	if "$@" >"$HOME/said" 2>&1; then
		echo "ok $number - $name ($where)"
	else
		failed=1
		echo "not ok $number - $name ($where)"
		sed 's/^/# /' "$HOME/said"
	fi
}
python() { python3 -W ignore -c "$@"; }
now() { python 'import time; print(time.monotonic())'; }

unpacking=$(now)
mkdir "some where"
unpack() { tar -C "some where" -xf "$1" 2>/dev/null || python3 -W ignore -m tarfile -e "$1" "some where"; }
unpack "$files"/kettle-*.tar.xz || exit 1
folder=$(echo "$HOME/some where"/kettle-*)
chmod -R a-w "$folder"
unpacked=$(now)
PATH=$folder/bin:$PATH
tasks=$folder/share/kettle/tasks
KETTLE_CONFIG=$folder/share/doc/kettle/kettle.demo.yml
export PATH KETTLE_CONFIG

# all_inside: every part is found, in the folder.
all_inside() {
	kettle version
	kettle --json version | python 'import json, sys
found = json.load(sys.stdin)
assert found["ok"] and len(found["parts"]) > 10 and all(p["path"].startswith(sys.argv[1] + "/") for p in found["parts"])' "$folder"
}
submit() { # USER FILE BOARD [OPTION...]
	by=$1 file=$2 board=$3
	shift 3
	kettle --user "$by" --json submit "$file" --leaderboard "$board" "$@" >"$HOME/answer.json"
	ended=$?
	cat "$HOME/answer.json"
	return "$ended"
}
first() {
	kettle leaderboard create vectoradd --task "$tasks/vectoradd_cpp" && submit ada "$tasks/vectoradd_cpp/solutions/correct/naive.cpp" vectoradd
}
others() {
	submit grace "$tasks/vectoradd_cpp/solutions/correct/openmp.cpp" vectoradd &&
		! submit eve "$tasks/vectoradd_cpp/solutions/wrong/off_by_one.cpp" vectoradd &&
		kettle --json leaderboard show vectoradd >ranking.json && cat ranking.json &&
		python 'import json; rows = json.load(open("ranking.json")); assert sorted(r["user_name"] for r in rows) == ["ada", "grace"]'
}
# numpy_board WARM: its runs begin warm, or cold, as the sandbox allows.
numpy_board() {
	kettle leaderboard create matmul --task "$tasks/matmul_np" && submit ada "$tasks/matmul_np/template.py" matmul --mode test &&
		id=$(python 'import json; print(json.load(open("answer.json"))["id"])') && kettle --json submission show "$id" >shown.json && cat shown.json &&
		python 'import re, sys; assert set(re.findall(r"\"warm\": (\w+)", open("shown.json").read())) == {sys.argv[1]}' "$1"
}
plugin() {
	gcc -std=gnu11 -shared -fPIC -fvisibility=hidden -Wl,-z,defs -o fortran.so "$files/fortran.c" -I"$folder/include" -L"$folder/lib" -lkettle-language -ljansson &&
		kettle plugin test ./fortran.so
}
# outgoing WORDS: what a request says that gets no answer; libcurl is neither of this system nor in the first archive.
outgoing() {
	! kettle competition fetch https://127.0.0.1:1/x.zip >said.http 2>&1 && cat said.http && grep -q "$1" said.http
}
with_libcurl() {
	chmod -R u+w "$folder" && unpack "$files/http.tar.xz" && outgoing "cannot be reached: Connection refused" &&
		kettle plugin test "$folder/lib/kettle/plugins/discord.so" && kettle plugin info web
}
# alone LEVEL: kettle-exec from its own archive, which finds nothing of the other one. Its libraries are not on this system.
alone() {
	mkdir alone && tar -C alone -xf "$files/exec.tar.xz" 2>/dev/null || python3 -W ignore -m tarfile -e "$files/exec.tar.xz" alone || return 1
	exec=$(echo "$HOME"/alone/kettle-exec-*/bin/kettle-exec) plan='{"version": 1, "steps": [{"id": "s", "kind": "run", "argv": ["sh", "-c", "echo ran"]}]}'
	"$exec" --doctor --json >alone/doctor.json || [ "$1" = off ] || return 1
	python 'import json, sys; assert json.load(open("alone/doctor.json"))["level"] == sys.argv[1]' "$1" &&
		echo "$plan" | "$exec" --level "$1" - >alone/events && grep -q '"stdout":{"text":"ran\\n"' alone/events &&
		! KETTLE_KEY=x "$exec" --sealed /dev/null --result alone/result 2>alone/refusal && grep -q "32 bytes in base64" alone/refusal
}
# level LEVEL: what the machine offers.
level() { kettle-exec --doctor; kettle-exec --doctor --json | grep -q "^  \"level\": \"$1\""; }
# refused LEVEL: with the configuration as it is nothing is run without the sandbox.
refused() {
	! kettle task run "$tasks/vectoradd_cpp" "$tasks/vectoradd_cpp/template.cpp" --mode test 2>refusal && cat refusal &&
		grep -q "level $1, but full is required" refusal
}

warm=true
if [ "$kind" = root ]; then
	plan=9
else
	plan=10
fi
echo "1..$plan"
if [ "$kind" = chroot ]; then
	check "the sandbox is off" level off
	check "nothing runs without it unless the configuration says so" refused off
	sed 's/runner: local/runner: local, sandbox: off/' "$KETTLE_CONFIG" >kettle.yml
	KETTLE_CONFIG=$HOME/kettle.yml warm=false
	check "kettle-exec runs a plan from its own archive" alone off
else
	check "the sandbox is whole" level full
	check "kettle-exec runs a plan from its own archive" alone full
fi
begun=$(now)
check "a submission is ranked" first
echo "# unpacked and ranked in $(python "print('%.1f' % ($unpacked - $unpacking + $(now) - $begun))") s ($where)"
check "every part is found in the folder" all_inside
check "others are ranked, and a wrong one is not" others
check "a board in Python runs ($([ $warm = true ] && echo warm || echo cold))" numpy_board $warm
check "a plugin is compiled against its headers, and keeps the rules" plugin
check "without libcurl a request says what is missing" outgoing "libcurl cannot be loaded"
check "the second archive brings libcurl" with_libcurl
[ $failed -eq 0 ]

#!/bin/sh
# SPDX-License-Identifier: MIT
# One job of Kettle on a node of Slurm: slurm-job.sh FOLDER EXEC NAME run|doctor [CONFIG]
# FOLDER: the shared folder; EXEC: kettle-exec; NAME: the job's, or that of the array whose list names its tasks.
set -u
umask 077
folder=$1 exec=$2 name=$3 what=$4 config=${5-}

fail() {
	echo "slurm-job.sh: $*"
	exit 3
}

if [ -n "${SLURM_ARRAY_TASK_ID-}" ]; then
	name=$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" "$folder/jobs/$name/list") || fail "the array's list cannot be read"
fi
case $name in
'' | . | .. | */*) fail "there is no such job" ;;
esac
job=$folder/jobs/$name

# Only the run that makes this folder does the job. A second run, after a crash of the controller, does nothing. The engine
# gives a job up by making `claim` first.
mkdir "$job/claim" || fail "the job has begun already, or was given up"
# The engine cancels a task by this id if it cannot list the queue.
echo "${SLURM_ARRAY_JOB_ID-}" >"$job/claim/id"

work=$(mktemp -d "${TMPDIR:-/tmp}/kettle-XXXXXXXX") || fail "no folder can be made in ${TMPDIR:-/tmp}"
case $work in
*[!A-Za-z0-9/._-]*) # would need quotes below
	rmdir "$work"
	work=$(mktemp -d /tmp/kettle-XXXXXXXX) || fail "no folder can be made in /tmp"
	;;
esac
child=
trap 'rm -rf "$work"' EXIT
trap '[ -n "$child" ] || exit 143; kill -TERM "$child"' TERM INT

# Each job has its own locks: Slurm gives a device to one job at a time, and different jobs may see their devices under one number.
set -- --state "$work/state" --settings "{\"locks\": \"$work/locks\"}" ${config:+--config "$config"}
if [ "$what" = doctor ]; then
	"$exec" --doctor --json "$@" >"$job/doctor.new" &
else
	"$exec" --sealed "$job/plan.kettle" --result "$folder/results/$name" --key-file "$folder/key" \
		--progress "$job/progress" --run "$SLURM_JOB_ID" "$@" &
fi
child=$!
wait "$child"
status=$?
# A signal ends the first `wait` before kettle-exec has ended.
while kill -0 "$child" 2>/dev/null; do
	wait "$child"
	status=$?
done
[ "$what" != doctor ] || mv "$job/doctor.new" "$job/doctor.json"
exit "$status"

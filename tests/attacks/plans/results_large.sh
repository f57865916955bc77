# SPDX-License-Identifier: MIT
# class: Result channel: more than 64 KiB of honest results
# tries: nothing bad: 5,000 results of 100 bytes, more than a pipe holds, must arrive.
# kind: run
# expect: passed
# results: 5001
i=0
while [ $i -lt 5000 ]; do
	echo "test.$i.message: 0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
	i=$((i + 1))
done >&"$POPCORN_FD"
echo "check: pass" >&"$POPCORN_FD"

# SPDX-License-Identifier: MIT
# class: Host: descriptors of the parent
# tries: to read the parent's input: standard input must be empty, and nothing else open.
# kind: run
# expect: passed
cat | grep -q . && echo ESCAPED standard input has something >&2
for fd in "/proc/$$/fd"/*; do
	case ${fd##*/} in
	0 | 1 | 2 | "$POPCORN_FD" | 10 | 255) ;;
	*) test -e "$fd" && echo "ESCAPED descriptor ${fd##*/} is $(readlink "$fd")" >&2 ;;
	esac
done
echo "check: pass" >&"$POPCORN_FD"

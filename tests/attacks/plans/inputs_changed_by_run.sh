# SPDX-License-Identifier: MIT
# class: Host: other inputs; poisoning compile caches for the next one
# tries: the same from a step that runs, which may not write at all.
# kind: run
# built: result
# runs: 2
# expect: passed
grep -q '^built$' result || echo "ESCAPED the cache was poisoned: $(cat result)" >&2
chmod 777 result 2> /dev/null && echo ESCAPED chmod >&2
(echo poisoned > result) 2> /dev/null && echo ESCAPED wrote >&2
rm -f result 2> /dev/null && echo ESCAPED removed >&2
mv result out/result 2> /dev/null && echo ESCAPED moved >&2
echo "check: pass" >&"$POPCORN_FD"

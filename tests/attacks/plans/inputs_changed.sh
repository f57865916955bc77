# SPDX-License-Identifier: MIT
# class: Host: other inputs; poisoning compile caches for the next one
# tries: to change what an earlier step has built and the cache holds: the next job must get what was built. A step
#        that prepares may write in its folder, which is a copy that goes away.
# kind: prepare
# built: result
# runs: 2
# expect: passed
grep -q '^built$' result || { echo "ESCAPED the cache was poisoned: $(cat result)" >&2; exit 1; }
chmod 777 result
echo poisoned > result
echo poisoned > out/result
cat result

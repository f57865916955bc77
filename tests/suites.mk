# SPDX-License-Identifier: MIT
# The suites of ./quickstart test, which has configured their folders and reads what they leave in each: all at once under
# one make, since what one test waits for another one can use. build/ is built before.
suites: build build-asan build-tsan
build build-asan: target = check
build-tsan: target = check-core
build-tsan: export KETTLE_EXEC = $(CURDIR)/build/kettle-exec
build build-asan build-tsan:
	+@date +%s >$@/began; \
	status=0; $(MAKE) -C $@ $(target) >$@/check.out 2>&1 || status=$$?; \
	echo "$$status $$(date +%s)" >$@/ended
.PHONY: suites build build-asan build-tsan

# SPDX-License-Identifier: MIT
# What ./quickstart test builds in the folders that it has configured: all under one make, so that no processor waits for
# the end of one build.
builds: build build-asan build-tsan
build: target = check-plain
build-asan: target = check-programs
build-tsan: target = check-tsan
build build-asan build-tsan:
	+@$(MAKE) -C $@ $(target) >$@/make.out 2>&1 || { tail -n 40 $@/make.out >&2; exit 1; }
.PHONY: builds build build-asan build-tsan

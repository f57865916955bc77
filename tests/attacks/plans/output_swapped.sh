# SPDX-License-Identifier: MIT
# class: Host: symlinks among the collected outputs
# tries: to swap file and link while they are collected: a process stays behind and goes on.
# kind: build
# outputs: result
# expect: passed failed
# hides: @SECRET@
ln -s @CANARY@ out/link
echo honest > out/result
(setsid sh -c 'while :; do mv -T out/result out/kept; mv -T out/link out/result; mv -T out/result out/link; mv -T out/kept out/result; done' > /dev/null 2>&1 &)
sleep 0.2

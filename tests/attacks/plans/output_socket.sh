# SPDX-License-Identifier: MIT
# class: Host: FIFOs among the collected outputs
# tries: to leave a socket as an output.
# kind: build
# outputs: result
# expect: failed
perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("out/result")) or die $!'

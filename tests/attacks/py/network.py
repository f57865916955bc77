# SPDX-License-Identifier: MIT
# class: Host: network
# tries: to reach the machine's own services, the machine by its other addresses, the world, and names.
# expect: passed
import socket

from attack import escaped, honest as custom_kernel, refused, tried

tried()
for address in ("127.0.0.1", "@ADDRESS@", "8.8.8.8", "169.254.169.254", "10.0.0.1"):
    for port in (@PORT@, 22, 53, 80):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            with socket.socket(socket.AF_INET, kind) as one:
                one.settimeout(1)
                try:
                    one.connect((address, port))
                    if kind == socket.SOCK_DGRAM:
                        one.send(b"escaped")
                    if kind == socket.SOCK_STREAM or address != "127.0.0.1":
                        escaped(f"{address}:{port} is reached")
                except OSError:
                    pass
for path in ("\0@ABSTRACT@", "@SOCKET@", "/run/docker.sock", "/run/dbus/system_bus_socket", "/run/systemd/private", "/dev/log"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_UNIX, kind) as one:
            refused(one.connect, path)
refused(socket.getaddrinfo, "example.org", 80)
for family, kind, protocol in ((socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP), (socket.AF_PACKET, socket.SOCK_RAW, 0),
                               (socket.AF_VSOCK, socket.SOCK_STREAM, 0), (socket.AF_ALG, socket.SOCK_SEQPACKET, 0)):
    refused(socket.socket, family, kind, protocol)

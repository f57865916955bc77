# SPDX-License-Identifier: MIT
"""A machine behind the real sshd, for tests: its own host key, configuration, port and authorized keys in a folder of the test.
A listener of the test accepts each connection and gives it to an `sshd -i`, so the system chooses the port, and the test
counts, cuts and refuses connections. Works as root and as an ordinary user, who then logs in as themselves."""
import getpass
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import threading

SSHD = next((path for path in ("/usr/sbin/sshd", "/usr/local/sbin/sshd", shutil.which("sshd")) if path and os.path.exists(path)), None)


def missing():
    """What this machine lacks for it; None: nothing."""
    for tool, path in (("sshd (openssh-server)", SSHD), ("ssh", shutil.which("ssh")), ("ssh-keygen", shutil.which("ssh-keygen"))):
        if not path:
            return f"{tool} is not installed"
    try:
        shell = pwd.getpwuid(os.getuid()).pw_shell or "/bin/sh"
    except KeyError:
        return "this user has no account"
    if subprocess.run([shell, "-c", "exit 0"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False).returncode != 0:
        return "this user's shell runs no commands"
    if os.getuid() == 0:
        shadow = pathlib.Path("/etc/shadow").read_text().splitlines()
        if any(line.startswith("root:!") for line in shadow):
            return "root's account is locked"
    return None


def make_key(path):
    path.unlink(missing_ok=True)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True, stdin=subprocess.DEVNULL)


class Server:
    """One machine; `name` is what ssh calls it with the configuration `client`. host: of remote_hosts.py, in whose namespace it is."""

    def __init__(self, folder, name="far", host=None, before=()):
        """before: words of a command that runs sshd, where it runs elsewhere."""
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.name, self.before = name, [*(host.command() if host else ()), *before]
        self.client, self.known, self.log = self.folder / "client", self.folder / "known", self.folder / "sshd.log"
        self.connections = []  # of sshd, since the beginning
        self.accept = True     # else connections are taken and left silent
        self.listener = host.listener if host else socket.create_server(("127.0.0.1", 0))
        make_key(self.folder / "key")
        shutil.copy(self.folder / "key.pub", self.folder / "authorized")
        self.new_host_key()
        if os.getuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        (self.folder / "sshd_config").write_text(
            f"HostKey {self.folder}/host\nAuthorizedKeysFile {self.folder}/authorized\nUsePAM no\nStrictModes no\n"
            f"PasswordAuthentication no\nPermitRootLogin yes\nPidFile none\nPrintMotd no\nLogLevel VERBOSE\n"
            f"ClientAliveInterval 30\n")  # what a test that was killed left ends
        address, port = self.listener.getsockname()
        threading.Thread(target=self.serve, daemon=True).start()
        self.trust()
        self.client.write_text(
            f"Host {name}\n  HostName {address}\n  Port {port}\n  User {getpass.getuser()}\n  IdentityFile {self.folder}/key\n"
            f"  IdentitiesOnly yes\n  UserKnownHostsFile {self.known}\n  GlobalKnownHostsFile /dev/null\n"
            f"  HostKeyAlias {name}\n  ControlMaster auto\n  ControlPath {self.folder}/control-%C\n  ServerAliveInterval 0\n")

    def new_host_key(self):
        make_key(self.folder / "host")

    def trust(self):
        """The client knows the host key as it is now."""
        self.known.write_text(f"{self.name} {(self.folder / 'host.pub').read_text()}")

    def serve(self):
        sshd = [*self.before, SSHD, "-i", "-e", "-f", str(self.folder / "sshd_config")]
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            if not self.accept:
                self.connections.append(connection)
                continue
            with connection, open(self.log, "ab") as log:
                self.connections.append(subprocess.Popen(sshd, stdin=connection, stdout=connection, stderr=log, start_new_session=True))

    def cut(self):
        """Kills every sshd: connections are reset."""
        for connection in list(self.connections):  # not those that come meanwhile
            if isinstance(connection, socket.socket):
                connection.close()
            elif connection.poll() is None:
                for pid in [*children(connection.pid), connection.pid]:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                connection.wait()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)  # else its thread would wait for ever
        self.listener.close()
        self.cut()

    def text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""


def children(pid):
    """The sshd processes below one, the newest first: of a session, the monitor's child runs the commands."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        if name.startswith("sshd") and int(rest.split()[1]) == pid:
            found = [*children(int(entry)), int(entry), *found]
    return found

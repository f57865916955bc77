# SPDX-License-Identifier: MIT
"""The Python part of the warm process: imports, the start and the end of a copy.

Never imported: the extension runs it in a namespace of its own and calls its functions.
"""
import os
import sys

before = frozenset(sys.modules) - {"linecache"}  # newer interpreters import it for -c
import atexit  # noqa: E402
import gc  # noqa: E402

loaded = frozenset()  # names of the modules that every copy has
packages = frozenset()  # their top-level packages
requested = ()  # by the plan
fresh = False  # whether refresh() has run

# Typical code of a script's start; @ is replaced by imports of loaded modules.
REHEARSAL = """\
import sys@
class A:
    def __init__(self, x):
        self.x = x
    def f(self, *rest, **more):
        return [x * 2.5 for x in rest], {str(k): v for k, v in more.items()}, f"{self.x!r}"
try:
    A((1, "a")).f(*range(9), a=3, b=None)
    print(sorted("b c a".split()), "%s %d" % ("x", 3), end="", file=out)
    raise KeyError("x")
except Exception as error:
    str(error)
del A
"""


def libraries():
    """The files of shared libraries that are loaded."""
    try:
        with open("/proc/self/maps", errors="surrogateescape") as maps:
            return {line[line.index("/"):-1] for line in maps if "/" in line and ".so" in line}
    except OSError:
        return set()


def check_path():
    """Raises if others may write to a folder that modules come from: .pth files may name any."""
    def fault(path):
        real = os.path.realpath(path)
        while not os.path.exists(real):
            real = os.path.dirname(real)
        above = False
        while True:
            about = os.stat(real)
            # A group with its owner's number is the owner's own; a sticky folder keeps what others own.
            open_to = about.st_mode & 0o002 or about.st_mode & 0o020 and about.st_gid != about.st_uid
            if about.st_uid not in (0, os.geteuid()):
                return "`%s` belongs to user %d, who could put code into `%s`" % (real, about.st_uid, path)
            if open_to and not (above and about.st_mode & 0o1000):
                return "Others may write to `%s` and could put code into `%s`: `chmod go-w` it" % (real, path)
            if real == "/":
                return None
            real, above = os.path.dirname(real), True

    for path in sys.path:
        found = fault(path) if os.path.isabs(path) else "`%s` of sys.path is relative" % path
        if found:
            raise PermissionError(found)


def leave_folder(variable, private, folder):
    """Ends the import's own HOME or TMPDIR: what modules remember of it becomes what they would remember in a sandbox."""
    os.environ[variable] = folder
    for module in list(sys.modules.values()):
        scope = getattr(module, "__dict__", None)
        for name, value in list(scope.items()) if isinstance(scope, dict) else ():
            if type(value) is str and (value + "/").startswith(private + "/"):
                scope[name] = folder + value[len(private):]


def load(names, be_alone):
    """
    Imports the names, except those that are not installed; returns the paths that reveal a change, one a line.
    be_alone(NAME) after each import raises if copies would differ from a fresh interpreter.
    """
    global loaded, packages, requested
    requested = names
    private = [(name, os.environ[name], os.environ.pop("KETTLE_WARM_" + name)) for name in ("HOME", "TMPDIR")
               if "KETTLE_WARM_" + name in os.environ]
    for name in sys.modules.keys() - before:
        del sys.modules[name]
    be_alone("site")
    check_path()
    for name in names:
        try:
            __import__(name)
            be_alone(name)
        except ModuleNotFoundError as error:
            if error.name != name.partition(".")[0]:
                raise
    for folder in private:
        leave_folder(*folder)
    loaded = frozenset(sys.modules)
    packages = frozenset(name.partition(".")[0] for name in loaded)
    watched = {os.path.realpath(sys.executable), *sys.path, *libraries()}
    for name in packages:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file:
            watched.update((file, os.path.dirname(file)))
    gc.collect()
    gc.freeze()
    return os.fsencode("\n".join(sorted(path for path in watched if os.path.isabs(path))))


def is_shadowed(file, argv):
    """Whether a file beside the script, which a fresh interpreter would import, has the name of a loaded module."""
    folders = {os.getcwd(), os.path.dirname(os.path.realpath(file))}
    folders.update(os.path.dirname(os.path.realpath(word)) for word in argv[2:] if os.path.isfile(word))
    return any(entry.partition(".")[0] in packages for folder in folders for entry in os.listdir(folder))


def forget_customizations():
    """
    Drops the machine's sitecustomize and usercustomize if the sandbox does not show their files. False: they have
    changed what a script could notice.
    """
    for name in ("sitecustomize", "usercustomize"):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file and not os.path.exists(file):
            if sys.excepthook is not sys.__excepthook__:
                return False
            del sys.modules[name]
    return True


def set_environment(items):
    """Sets os.environ without putenv, which the extension has done."""
    own = os.environ._data
    own.clear()
    for item in items:
        name, _, value = item.partition(b"=")
        own.setdefault(name, value)


def refresh():
    """
    Renews what is random in every process and what modules keep of a process, apart from a run; `random` has a fork
    hook of its own. True.
    """
    global fresh
    mtrand = sys.modules.get("numpy.random.mtrand")
    if mtrand is not None:
        mtrand.seed()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.seed()
    process = sys.modules.get("multiprocessing.process")
    if process is not None:
        process.current_process()._config["authkey"] = process.AuthenticationString(os.urandom(32))
    tempfile = sys.modules.get("tempfile")
    if tempfile is not None:
        tempfile.tempdir = tempfile._name_sequence = None
    fresh = True
    return True


def refresh_modules():
    """Renews what modules keep of a run's start."""
    modules = sys.modules
    process = modules.get("multiprocessing.process")
    if process is not None:
        process.ORIGINAL_DIR = os.getcwd()
    logging, time = modules.get("logging"), modules.get("time")
    if logging is not None:
        logging._startTime = time.time_ns() if isinstance(logging._startTime, int) else time.time()
    if time is not None:
        time.tzset()


def rehearse_files():
    is_shadowed("/dev/null", ["", "/dev/null", "/dev/zero"])
    os.path.isfile(os.path.join(os.path.abspath("."), "x"))


def rehearse_environment():
    set_environment([b"%s=%s" % item for item in list(os.environ._data.items())])
    refresh_modules()
    sys.path.insert(0, "/dev")
    del sys.path[0]


def rehearse_script():
    scope = {"__name__": "__main__", "__builtins__": __builtins__, "out": nowhere}
    names = [name for name in ("os", "time", *requested) if name in sys.modules]
    exec(compile(REHEARSAL.replace("@", "".join(", " + name for name in names)), "/dev/null", "exec", 0, True), scope)
    scope.clear()
    gc.collect()


def rehearse(part):
    """Does a part of a run's start without effect; returns whether there is another part."""
    parts = (rehearse_files, rehearse_environment, rehearse_script)
    parts[part]()
    return part + 1 < len(parts)


def settle(argv, environment):
    """Sets this copy up for a script. False: only a fresh interpreter can start it."""
    file = argv[1]
    if not fresh or not os.path.isfile(file) or is_shadowed(file, argv) or not forget_customizations():
        return False
    set_environment(environment)
    refresh_modules()
    sys.argv[:] = argv[1:]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = argv
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, os.path.dirname(os.path.realpath(file)))
    return True


def prepare_main(scope, file):
    """Sets the namespace of __main__ up as the interpreter does for a script; returns what to compile and its name."""
    file = os.path.abspath(file)
    builtins = scope["__builtins__"]
    loader = sys.modules["_frozen_importlib_external"].SourceFileLoader
    scope.clear()
    scope.update(__name__="__main__", __doc__=None, __package__=None, __loader__=loader("__main__", file),
                 __spec__=None, __annotations__={}, __builtins__=builtins, __file__=file, __cached__=None)
    with open(file, "rb") as source:
        return source.read(), file


class nowhere:
    """Discards the output of rehearsals."""
    @staticmethod
    def write(text):
        return len(text)


def flush(stream):
    try:
        if stream is not None and not stream.closed:
            stream.flush()
    except BaseException:
        return False
    return True


def clear(module):
    """Empties a module as the interpreter does at its end: private names first."""
    scope = vars(module)
    for private in (True, False):
        for name in list(scope):
            if name != "__builtins__" and (name[:1] == "_" and name[1:2] != "_") == private:
                scope[name] = None


def finish():
    """
    Ends the interpreter as far as a script can notice: threads, atexit, output, objects. Returns whether all output
    was written; None if threads still run, so that only the interpreter can end.
    """
    threading = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()
    for module in (sys.modules.get("atexit"), atexit):  # before 3.10 each has functions of its own
        try:
            module._run_exitfuncs()
        except BaseException:
            pass
    written = flush(sys.stdout) and flush(sys.stderr)
    if len(sys._current_frames()) > 1:
        return None
    own = [name for name in sys.modules if name == "__main__" or name not in loaded]
    modules = [sys.modules.pop(name) for name in own]
    gc.collect()
    for module in reversed([module for module in modules if isinstance(module, type(sys))]):
        clear(module)
    gc.collect()
    return flush(sys.stdout) and flush(sys.stderr) and written

# SPDX-License-Identifier: MIT
"""The Python part of the warm process: imports, the start and the end of a copy.

Never imported: the extension runs it in a namespace of its own and calls its functions.
"""
import os
import sys

before = frozenset(sys.modules) - {"linecache"}  # newer interpreters import linecache for -c
import atexit  # noqa: E402
import gc  # noqa: E402

loaded = frozenset()  # names of the modules that every copy has
packages = frozenset()  # their top-level packages
requested = ()  # modules that the plan requests
recipes = ()  # recipes that it requests, with their arguments
CACHE = "out/cache"  # beginning of the variables of compilers' caches, as plans have them
SHOWN_CACHE = "/job/" + CACHE  # the same folder as run.py names it
# Said before each recipe and after the last one; ABSENT: the feature of the recipe before is not installed.
NEXT, ABSENT = b"next\n", b"absent\n"
pins = ()  # what rehearse_imports keeps
REHEARSED = 360000  # bytes of code
private_cache = ""  # the folder where recipes compile
run_code = compile(RUN, "<kettle>", "exec", 0, True)  # of run.py, which all runs of boards begin with
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
    """Raises if other users may write to a folder of modules: .pth files may name any folder."""
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


def scope_of(value):
    """The attributes of an object, read without running code of its class."""
    try:
        scope = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return scope if type(scope) is dict else {}


def leave_folders(folders):
    """Replaces paths that objects remember from the imports by those that a sandbox shows. folders: [(own, shown)].
    Changes no tuples or sets, and no paths within longer texts."""
    path = getattr(sys.modules.get("pathlib"), "PurePath", str)

    def shown(value):
        """The replacement of a value; None: it stays."""
        if type(value) is str or issubclass(type(value), path):
            text = str(value)
            for own, there in folders:
                if text.startswith(own) and text[len(own):len(own) + 1] in ("", "/"):
                    return type(value)(there + text[len(own):])
        return None

    def leave(scope, items):
        for name, value in items:
            other = shown(value)
            if other is not None:
                scope[name] = other

    for holder in gc.get_objects():
        if type(holder) is dict and holder is not globals():
            leave(holder, list(holder.items()))
        elif type(holder) is list:
            leave(holder, enumerate(holder))
        elif type(holder) not in (dict, tuple) and any(shown(value) is not None for value in gc.get_referents(holder)):
            scope = scope_of(holder)
            leave(scope, list(scope.items()))


def lead_caches(variables, folder):
    """Makes compilers find their caches in this folder; `variables` are theirs, as the plan has them."""
    for name, value in variables.items():
        os.environ[name] = folder + value[len(CACHE):]


def cache_variables():
    return {name: value for name, value in os.environ.items() if value == CACHE or value.startswith(CACHE + "/")}


class Stub(type(sys)):
    """Replaces a module that a recipe has compiled: its functions do nothing."""
    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        return lambda *arguments, **names: None


class compiling:
    """For the time in which a recipe compiles: loads nothing that the recipe made, and silences warnings."""
    def __enter__(self):
        import importlib.machinery
        import warnings
        self.loader = loader = importlib.machinery.ExtensionFileLoader
        self.create, self.execute = create, execute = loader.create_module, loader.exec_module
        loader.create_module = lambda self, spec: Stub(spec.name) if is_private(spec.origin) else create(self, spec)
        loader.exec_module = lambda self, module: None if isinstance(module, Stub) else execute(self, module)
        self.warnings = warnings.catch_warnings()
        self.warnings.__enter__()
        warnings.simplefilter("ignore")
        return self

    def __exit__(self, *exception):
        self.warnings.__exit__(*exception)
        self.loader.create_module, self.loader.exec_module = self.create, self.execute
        for name, module in list(sys.modules.items()):
            if isinstance(module, Stub) or is_private(getattr(module, "__file__", None)):
                del sys.modules[name]
        for name in os.listdir(private_cache):
            if name.endswith(".py"):
                os.unlink(os.path.join(private_cache, name))
        for file in [file for file in getattr(sys.modules.get("linecache"), "cache", ()) if is_private(file)]:
            del sys.modules["linecache"].cache[file]

    @staticmethod
    def function(name, text, **scope):
        """A function whose source can be read, as compilers of functions need it."""
        file = os.path.join(private_cache, name + ".py")
        with open(file, "w") as source:
            source.write(text)
        exec(compile(text, file, "exec", 0, True), scope)
        return scope[name]

    @staticmethod
    def translated(function):
        """The function, but with results in the private folder replaced by the paths at which runs find them."""
        private = private_cache

        def translate(*arguments, **names):
            path = function(*arguments, **names)
            return SHOWN_CACHE + path[len(private):] if path.startswith(private + "/") else path
        for name in ("__name__", "__qualname__", "__module__", "__doc__", "cache_clear", "cache_info"):
            if hasattr(function, name):
                setattr(translate, name, getattr(function, name))
        return translate


def is_private(path):
    return type(path) is str and bool(private_cache) and path.startswith(private_cache + "/")


def import_module(name):
    """Imports a module. False: it is not installed, or its package has no such part."""
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        if not (name + ".").startswith(str(error.name) + "."):
            raise
        return False
    return True


def opens_device():
    """Whether this process has opened a GPU, which copies cannot use."""
    links = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink("/proc/self/fd/" + fd))
        except OSError:
            pass
    return any(link.startswith(("/dev/nvidia", "/dev/kfd", "/dev/dri/")) for link in links)


def is_installed(name):
    """Whether the package of a module is there."""
    import importlib.util
    return not name or importlib.util.find_spec(name.partition(".")[0]) is not None


def follow_recipe(word, be_alone):
    """Follows a recipe. Raises if it leaves more than modules behind. False: its feature is not installed."""
    found = True
    if word in DEVICE_RECIPES:
        return is_installed(word.partition(".")[0])
    name, _, argument = word.partition("=")
    path, environment, limit = list(sys.path), dict(os.environ), sys.getrecursionlimit()
    try:
        RECIPES[name](*([argument] if argument else []))
    except ModuleNotFoundError as error:
        if is_installed(error.name):
            raise
        found = False
    sys.path[:] = path
    sys.setrecursionlimit(limit)
    for variable in os.environ.keys() - environment.keys():
        del os.environ[variable]
    os.environ.update(environment)
    be_alone(name)
    if opens_device():
        raise RuntimeError("the recipe of `%s` opens a device" % name)
    return found


def watched_files():
    """The paths whose change reveals that loaded files have changed."""
    watched = {os.path.realpath(sys.executable), *sys.path, *libraries()}
    for name in packages:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file:
            watched.update((file, os.path.dirname(file)))
    return sorted(path for path in watched if os.path.isabs(path))


def say(owner, message):
    """Sends a message and waits until kettle-exec has read it."""
    os.write(owner, message)
    if not os.read(owner, 1):
        raise EOFError("kettle-exec has ended")


def note_loaded():
    """Notes the modules that are there before a script begins."""
    global loaded, packages
    loaded = frozenset(sys.modules)
    packages = frozenset(name.partition(".")[0] for name in loaded)


def load(words, be_alone, owner):
    """
    Imports modules, except those that are not installed, and follows recipes, whose words begin with `+`. Calls
    be_alone(NAME) after each, which raises if copies would differ from a fresh interpreter. Returns the paths of
    watched_files, one a line. owner: the socket that tells kettle-exec how far it is.
    """
    global recipes, requested, private_cache
    recipes = [word[1:] for word in words if word[0] == "+"]
    requested = [word for word in words if word[0] != "+"]
    own = {name: (os.environ[name], os.environ.pop("KETTLE_WARM_" + name)) for name in ("HOME", "TMPDIR")}
    private_cache = os.environ.pop("KETTLE_WARM_CACHE")
    caches = cache_variables()
    for name in sys.modules.keys() - before:
        del sys.modules[name]
    be_alone("site")
    check_path()
    lead_caches(caches, SHOWN_CACHE)
    for name in requested:
        if import_module(name):
            be_alone(name)
    say(owner, NEXT)
    for word in words:
        if word[0] == "+":
            lead_caches(caches, SHOWN_CACHE if word[1:] in IMPORTS_SHOWN else private_cache)
            say(owner, NEXT if follow_recipe(word[1:], be_alone) else ABSENT)
    lead_caches(caches, CACHE)
    os.environ.update({name: shown for name, (_, shown) in own.items()})
    leave_folders([*own.values(), (private_cache, SHOWN_CACHE)])
    private_cache = ""
    note_loaded()
    lines = watched_files()
    gc.collect()
    gc.freeze()
    return os.fsencode("\n".join(lines))


def is_shadowed(file, argv):
    """Whether a file beside the script, which a fresh interpreter would import, has the name of a loaded module."""
    folders = {os.getcwd(), os.path.dirname(os.path.realpath(file))}
    folders.update(os.path.dirname(os.path.realpath(word)) for word in argv[2:] if os.path.isfile(word))
    return any(entry.partition(".")[0] in packages for folder in folders for entry in os.listdir(folder))


def forget_customizations():
    """
    Drops the machine's sitecustomize and usercustomize if the sandbox does not show their files. False: they have
    changed something that a script could notice.
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
    Renews what is random in every process and what modules keep of a process, except of a run. Leaves `random` alone,
    which has its own fork hook. Returns True.
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


def compile_on_device():
    """Follows the recipes that need an open device. What they compile in a folder of their own is removed again."""
    global private_cache
    words = [word for word in recipes if word in DEVICE_RECIPES]
    if not words:
        return
    import shutil
    import tempfile
    caches, private_cache = cache_variables(), tempfile.mkdtemp()
    path, environment, limit = list(sys.path), dict(os.environ), sys.getrecursionlimit()
    lead_caches(caches, private_cache)
    try:
        for word in words:
            DEVICE_RECIPES[word]()
    finally:
        shutil.rmtree(private_cache, ignore_errors=True)
        sys.path[:] = path
        sys.setrecursionlimit(limit)
        os.environ.clear()
        os.environ.update(environment)
        gc.unfreeze()  # what was loaded before may know the folder, too
        leave_folders([(private_cache, SHOWN_CACHE)])
        gc.freeze()
        tempfile.tempdir = None
        private_cache = ""


def open_device():
    """Prepares the only run of this process on a device whose driver is open: loads what torch loads at its first use."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.init()
        (torch.zeros(8, device="cuda") + 1).sum().item()
        compile_on_device()
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        torch.cuda.reset_accumulated_memory_stats()
        refresh()
        note_loaded()
    flush(sys.stdout)
    flush(sys.stderr)
    return True


def refresh_modules():
    """Renews what modules keep of the start of a run."""
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


def rehearse_imports():
    """Loads as much code as a harness has, and frees it: memory for that is there then, in parts that stay."""
    global pins
    import marshal
    code = marshal.dumps(run_code)
    pins = [pin for _, pin in [(marshal.loads(code), bytes(200)) for _ in range(REHEARSED // len(code))]]
    sys.modules["_frozen_importlib_external"].PathFinder.find_spec("kettle_nothing", ["/dev"])
    sys.path_importer_cache.pop("/dev", None)


def rehearse(part):
    """Does a part of a run's start without effect; returns whether there is another part."""
    parts = (rehearse_files, rehearse_environment, rehearse_script, rehearse_imports)
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
    """Sets the namespace of __main__ up as the interpreter does for a script; returns what to compile, or its code, and its name."""
    file = os.path.abspath(file)
    builtins = scope["__builtins__"]
    loader = sys.modules["_frozen_importlib_external"].SourceFileLoader
    scope.clear()
    scope.update(__name__="__main__", __doc__=None, __package__=None, __loader__=loader("__main__", file),
                 __spec__=None, __annotations__={}, __builtins__=builtins, __file__=file, __cached__=None)
    with open(file, "rb") as source:
        text = source.read()
    if text != RUN:
        return text, file
    import _imp
    _imp._fix_co_filename(run_code, file)
    return run_code, file


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
    Ends the interpreter as far as a script can notice: threads, atexit, output, objects. Returns whether all output was
    written; None if threads still run, so that only the interpreter can end them.
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

# SPDX-License-Identifier: MIT
"""Starts `python …` in a process that continues from the memory of the warm process.

Runs in the namespace of warm.py. The stand-in (python_shim.c) has compared options, environment, limits and signals already.
"""
import io  # noqa: E402
import stat  # noqa: E402

own_path = os.environ.get("PYTHONPATH", "")  # of the warm process, and in its sys.path
main = None  # what to run: ("-c", text), ("-m", name), ("", file)


def letters():
    """The letters of options that have no effect, since their flags are set."""
    flags = {"B": "dont_write_bytecode", "s": "no_user_site"}
    found = [letter for letter, name in flags.items() if getattr(sys.flags, name)]
    return "".join(found + ["u"] * (os.environ.get("PYTHONUNBUFFERED", "") != ""))


def describe():
    """argv[0], the interpreter's file and the options, as bytes, for the stand-in to compare."""
    return os.fsencode(sys.executable), os.fsencode(os.path.realpath(sys.executable)), letters().encode()


def path_with(value):
    """The initial sys.path with this PYTHONPATH; None: it would find loaded modules elsewhere."""
    path = []
    if own_path and value != own_path:
        return None
    for folder in [os.path.abspath(entry) for entry in value.split(":")] + sys.path if value else sys.path:
        if folder not in path:
            path.append(folder)
    if [folder for folder in path if folder in sys.path] != sys.path:
        return None
    return None if any(holds_loaded(folder) for folder in path if folder not in sys.path) else path


def holds_loaded(folder):
    """Whether a folder has a file with the name of a loaded module."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return any(name.partition(".")[0] in packages and name[:9] != "__main__." for name in names)


def open_stream(fd, mode, like):
    """A standard stream as the interpreter makes it; None where the descriptor is closed."""
    try:
        os.fstat(fd)
    except OSError:
        return None
    plain = not os.environ.get("PYTHONUNBUFFERED")
    binary = io.open(fd, mode + "b", -1 if plain or mode == "r" else 0, closefd=False)
    raw = binary.raw if plain or mode == "r" else binary
    raw.name = ("<stdin>", "<stdout>", "<stderr>")[fd]
    stream = io.TextIOWrapper(binary, like.encoding, like.errors, "\n", plain and (fd == 2 or raw.isatty()), not plain)
    stream.mode = mode
    return stream


def open_streams():
    """Opens the standard streams again. False: the interpreter itself must report a fault of a stream."""
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        like = getattr(sys, name)
        try:
            if like is None or stat.S_ISDIR(os.fstat(fd).st_mode):
                return False
        except OSError:
            pass
        stream = open_stream(fd, mode, like)
        setattr(sys, name, stream)
        setattr(sys, "__%s__" % name, stream)
    return True


def read_arguments(argv):
    """What to run (see `main`), and sys.argv."""
    at = 1
    while argv[at] not in ("-c", "-m") and argv[at][:1] == "-":
        at += 1
    if argv[at][:1] == "-":
        return (argv[at], argv[at + 1]), [argv[at], *argv[at + 2:]]
    return ("", argv[at]), argv[at:]


def is_archive(file):
    """Whether a file ends as a zip does, in which the interpreter looks for __main__."""
    with open(file, "rb") as source:
        source.seek(max(0, os.stat(file).st_size - (1 << 16) - 22))
        return b"PK\5\6" in source.read()


def is_plain(what):
    """Whether all interpreters treat the text or file in the same way."""
    kind, word = what
    if not kind:
        return os.path.isfile(word) and not is_archive(word)
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return kind == "-m" or sys.version_info < (3, 14) or "\n" not in word


def begin_again(argv, environment):
    """Sets this process up like a new one. False: only a fresh interpreter can do it."""
    global main
    main, arguments = read_arguments(argv)
    kind, word = main
    try:
        first = "" if kind == "-c" else os.getcwd() if kind else os.path.dirname(os.path.realpath(word))
        if not is_plain(main) or holds_loaded(first or os.getcwd()) or not forget_customizations():
            return False
    except OSError:
        return False
    set_environment(environment)
    path = path_with(os.environ.get("PYTHONPATH"))
    if path is None or not open_streams():
        return False
    refresh()
    refresh_modules()
    sys.path[:] = path if getattr(sys.flags, "safe_path", False) else [first, *path]
    sys.argv[:] = arguments
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = argv
    return True


def prepare_again(scope):
    """Sets the namespace of __main__ up; returns what prepare_main does, or a function and its arguments."""
    kind, word = main
    if not kind:
        return prepare_main(scope, word)
    builtins = scope["__builtins__"]
    scope.clear()
    scope.update(__name__="__main__", __doc__=None, __package__=None, __loader__=sys.modules["_frozen_importlib"].BuiltinImporter,
                 __spec__=None, __annotations__={}, __builtins__=builtins)
    if kind == "-c":
        return word + "\n", "<string>"
    import runpy
    return runpy._run_module_as_main, (word, True)


def note_code(code, text):
    """Makes tracebacks show the text of -c, as newer interpreters do."""
    if main[0] != "-c" or sys.version_info < (3, 13):
        return
    import linecache
    by_code = hasattr(linecache, "_interactive_cache")
    linecache._register_code(code if by_code else "<string>", text, "<string>")

# SPDX-License-Identifier: MIT
"""Starts a harness as `python3 MAIN ARGUMENTS` does, but keeps its secret and its result channel to itself.

run.py MAIN ARGUMENTS. It reads the secret from the descriptor in KETTLE_SECRET_FD into os.environ only: children do not
inherit it, and /proc never shows it. A harness that uses the variable reads the secret itself. No other process of the
same user can read this one (/proc/PID/environ, mem, fd, maps), and programs that it starts do not inherit its
descriptors.
"""
import os
import sys


def shut():
    """Closes this process to others of the same user (PR_SET_DUMPABLE)."""
    try:
        # Importing ctypes takes some ms, _ctypes less than one.
        import _ctypes
        prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")
        _ctypes.call_function(prctl, (4, 0, 0, 0, 0))  # PR_SET_DUMPABLE
        if _ctypes.call_function(prctl, (3, 0, 0, 0, 0)) == 0:  # PR_GET_DUMPABLE
            return
        why = "the kernel refuses it"
    except (ImportError, AttributeError, OSError) as error:
        why = error
    print("kettle: this interpreter cannot close itself to its children: %s" % why, file=sys.stderr)


def keep_descriptors():
    """Keeps the inherited descriptors from the programs that this process starts."""
    for fd in range(3, 16):
        try:
            os.set_inheritable(fd, False)
        except OSError:
            pass


def take_secret(main):
    """Reads the secret into os.environ without putenv, so that children do not get it. Forks would have it in memory, so a
    harness whose text names the variable, because it forks before it needs the secret, reads it itself."""
    with open(main, "rb") as source:
        if b"KETTLE_SECRET_FD" in source.read():
            return
    fd = os.environ.pop("KETTLE_SECRET_FD", None)
    if fd is None:
        return
    own = getattr(os.environ, "_data", None)
    with open(int(fd), "rb") as pipe:
        for line in pipe.read().splitlines():
            name, _, value = line.partition(b"=")
            if isinstance(own, dict):
                own[name] = value
            else:
                os.environb[name] = value


def place_caches():
    """Makes the caches' folders absolute, which a plan cannot do, and puts the programs of prepare.py first into PATH."""
    programs = os.path.join(os.getcwd(), "out", "cache", "bin")
    if os.path.isdir(programs):
        os.environ["PATH"] = programs + ":" + os.environ.get("PATH", "")
    for name in os.environ.get("KETTLE_CACHES", "").split():
        folder = os.path.join(os.getcwd(), os.environ.get(name, ""))
        os.environ[name] = folder
    for name in ("KETTLE_CACHES", "KETTLE_SUBMISSION", "KETTLE_DEVICE"):
        os.environ.pop(name, None)


def watch_compilers():
    """Loads built.py, which counts what compilers build from now on, as a module that harnesses find; None: there is none."""
    try:
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "built.py"), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return None
    module = type(sys)("kettle_built")
    exec(compile(text, file.name, "exec"), module.__dict__)
    sys.modules["kettle_built"] = module
    return module


def tell_built(channel, built, os=os):
    """Says on the result channel (its number) what compilers have built, in a run of one process."""
    try:
        text = built.text()
        if text:
            os.write(int(channel), ("built: %s\n" % text).encode())
    except (OSError, ValueError):
        pass


def compiled(file):
    """The code of MAIN that compile.py compiled; None: there is none."""
    bootstrap = sys.modules["_frozen_importlib_external"]
    try:
        with open(bootstrap.cache_from_source(file), "rb") as cached:
            data = cached.read()
    except (OSError, NotImplementedError):
        return None
    if data[:8] != bootstrap.MAGIC_NUMBER + b"\1\0\0\0":  # made by this interpreter, not checked against its source
        return None
    import _imp
    import marshal
    code = marshal.loads(memoryview(data)[16:])
    _imp._fix_co_filename(code, file)
    return code


def become(main, scope):
    """Gives this module the path, arguments and names of MAIN; returns its code or its text, and its name."""
    own = os.path.dirname(os.path.abspath(scope["__file__"]))
    whole = os.path.abspath(main)
    if sys.path and sys.path[0] == own:
        sys.path[0] = os.path.dirname(whole)
    del sys.argv[0]
    if main in getattr(sys, "orig_argv", ()):
        del sys.orig_argv[sys.orig_argv.index(main) - 1]
    file = whole if os.path.isabs(scope["__file__"]) else main
    kept = {name: scope[name] for name in ("__builtins__", "__cached__", "__package__", "__spec__") if name in scope}
    kept.update(__name__="__main__", __doc__=None, __annotations__={}, __file__=file,
                __loader__=type(scope["__loader__"])("__main__", file))
    code = compiled(file)
    if code is None:
        with open(whole, "rb") as source:
            code = source.read()
    scope.clear()
    scope.update(kept)
    return code, file


def own_import_failed(error, main, submission, sys=sys, folder=os.getcwd() + "/"):
    """Whether an import of one of the task's own modules failed before the submission was there. A referee has none ("")."""
    if submission and submission[:-len(".py")].replace("/", ".") in sys.modules:
        return False
    failed, seen = False, []
    while error is not None and error not in seen:
        seen.append(error)
        paths = [getattr(error, "filename" if isinstance(error, SyntaxError) else "path", None)]
        trace = error.__traceback__
        while trace is not None:
            code, trace = trace.tb_frame.f_code, trace.tb_next
            if code.co_name == "<module>" and code.co_filename not in (main, folder + main):
                paths.append(code.co_filename)
            elif code.co_filename == folder + submission:
                return False
        paths = [path for path in paths if isinstance(path, str) and path.startswith(folder)]
        if folder + submission in paths or type(error).__name__ == "RemoteTraceback":
            return False
        failed = failed or bool(paths)
        error = error.__cause__ or error.__context__
    return failed


def blame_task(channel, os=os):
    """Blames the task on the result channel (`channel`: its number), since the exit status alone does not count."""
    try:
        if os.readlink("/proc/self/fd/" + channel).startswith("socket:"):
            os.write(int(channel), b"fault: task\n")
    except (OSError, ValueError):
        pass


def start(become=become, own_import_failed=own_import_failed, blame_task=blame_task, tell_built=tell_built, os=os, sys=sys,
          scope=globals()):
    """Does everything. After `become` only what this function holds is left of this module."""
    keep_descriptors()
    main, submission, channel = sys.argv[1], os.environ.get("KETTLE_SUBMISSION", ""), os.environ.get("POPCORN_FD", "")
    if channel:  # a solver has nothing to hide
        shut()
        take_secret(main)
    place_caches()
    built = watch_compilers()
    code, file = become(main, scope)
    try:
        exec(compile(code, file, "exec", dont_inherit=True) if isinstance(code, bytes) else code, scope)
    except SystemExit:
        raise
    except BaseException as error:
        # As the interpreter shows it: from MAIN's own frame on.
        trace = error.__traceback__
        while trace is not None and trace.tb_frame is sys._getframe():
            trace = trace.tb_next
        error.__traceback__ = trace
        sys.excepthook(type(error), error, trace)
        if not (channel or submission) or not own_import_failed(error, main, submission):
            sys.exit(1)
        if channel:
            blame_task(channel)
        sys.exit(113)
    finally:
        if channel and built:
            tell_built(channel, built)


start()

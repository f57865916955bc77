/* SPDX-License-Identifier: MIT */
/*
 * The warm process of Python: an extension that the machine's interpreter loads and that serves copies of it.
 *
 * Theory of operation. kettle-exec starts the interpreter with a -c text that loads this extension and calls `serve`.
 * If kettle-exec is root, a first interpreter, which imports nothing, gives up its rights before that (`confine`).
 * `serve` runs warm.py, which imports the requested modules. Then a fork that ends at once makes libraries stop their
 * threads (such as those of OpenBLAS); if a thread is left, nothing is served. From there on the sandbox library
 * answers requests (core/sandbox/zygote.c) and calls back only in a payload: `park` before there is a run, `become`
 * after privileges are dropped.
 *
 * `park` rehearses. A copy shares its memory with the warm process until it writes to it, every use of an object
 * writes its reference count, and each first write to a page costs as much as a hundred lines of Python. So `park`
 * does once, without effect, what every start does.
 *
 * `open_device` runs in a payload that is prepared for one run on a GPU: it makes the driver's context, and torch's. That
 * payload is never copied, so it may do what recipes may not.
 *
 * `become` leaves the C frames of the service with longjmp, sets signals, environment, random numbers and arguments,
 * and raises an exception that ends the -c text. The interpreter calls excepthook when no Python frame is left. The
 * extension's hook runs the script in the real __main__, so the script has no frame below it. At the end the
 * interpreter does what a script can notice (threads, atexit, objects, output), then _exit: tearing down unused
 * modules would touch every shared page. If a copy cannot do something as a fresh interpreter does, it executes one.
 *
 * Interpreters that such a copy starts are warm as well: before it serves, the process writes its memory to a file
 * (dump.c). In those sandboxes a program replaces the interpreter (python_shim.c) and continues with that memory in
 * `resume`. From there both ways are the same.
 *
 * Uses the stable ABI, so that one build serves every Python from 3.9 on and any virtual environment.
 */
#include <config.h>

#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "confine.h"
#include "dump.h"
#include "exec/warm/image.h"
#include "host/open_gpu.h"
#include "sandbox/zygote.h"

#define WARM_READY "ready\n"
#define WARM_COLD 127 /* the interpreter cannot be executed */
#define WARM_HUGE (2ul << 20)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#define WARM_UNWRITTEN 120 /* the interpreter's own status for output that was lost */

extern const char py_warm_text[], py_resume_text[], py_recipes_text[], py_run_text[];

/* Global, since excepthook has no argument of its own. */
static struct {
	PyObject *scope; /* names that warm.py defines */
	struct sigaction signals[NSIG];
	jmp_buf payload;
	char *file, **argv, **envp;
	bool again; /* this process started in `resume` */
} warm;

/* ---- the payload ---- */

/* Calls a function of warm.py. New reference or NULL with an exception. Steals the arguments (NULL: an exception). */
static PyObject *
warm_call(const char *name, PyObject *arguments)
{
	PyObject *function = PyDict_GetItemString(warm.scope, name);
	PyObject *result = function && arguments ? PyObject_CallObject(function, arguments) : NULL;
	Py_XDECREF(arguments);
	return result;
}

static void __attribute__((noreturn)) go_cold(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	for (int number = 1; number < NSIG; number++)
		(void)sigaction(number, &action, NULL);
	execve(warm.file, warm.argv, warm.envp);
	_exit(WARM_COLD);
}

/* The exit status of the current exception, a SystemExit. */
static int
exit_status(void)
{
	PyObject *type = NULL, *value = NULL, *trace = NULL;
	int status = 1;
	PyErr_Fetch(&type, &value, &trace);
	PyErr_NormalizeException(&type, &value, &trace);
	PyObject *code = value ? PyObject_GetAttrString(value, "code") : NULL;
	PyErr_Clear();
	if (!code || code == Py_None) {
		status = 0;
	} else if (PyLong_Check(code)) {
		status = (int)PyLong_AsLong(code);
		PyErr_Clear();
	} else {
		PyObject *stream = PySys_GetObject("stderr");
		(void)fflush(stdout);
		if (stream && stream != Py_None)
			(void)PyFile_WriteObject(code, stream, Py_PRINT_RAW);
		PyErr_Clear();
		PySys_WriteStderr("\n");
	}
	Py_XDECREF(code);
	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(trace);
	return status;
}

static void __attribute__((noreturn)) leave(int status, bool interrupted)
{
	PyObject *written = warm_call("finish", PyTuple_New(0));
	bool lost = written == Py_False;
	if (!written || written == Py_None) {
		PyErr_Clear();
		if (!interrupted)
			Py_Exit(status);
		(void)Py_FinalizeEx();
	}
	(void)fflush(NULL);
	if (interrupted) {
		(void)signal(SIGINT, SIG_DFL);
		(void)kill(getpid(), SIGINT);
	}
	_exit(lost ? WARM_UNWRITTEN : status);
}

/* New reference, or NULL with its exception. */
static PyObject *
compile(PyObject *text, PyObject *name)
{
	PyObject *compiler = PyDict_GetItemString(PyEval_GetBuiltins(), "compile");
	PyObject *code = PyObject_CallFunction(compiler, "OOsii", text, name, "exec", 0, 1);
	if (code && warm.again)
		Py_XDECREF(warm_call("note_code", PyTuple_Pack(2, code, text)));
	return code;
}

/* Runs the script in __main__; new reference, or NULL with its exception. */
static PyObject *
run_script(void)
{
	PyObject *scope = PyModule_GetDict(PyImport_AddModule("__main__"));
	PyObject *source = warm.again ? warm_call("prepare_again", PyTuple_Pack(1, scope))
								  : warm_call("prepare_main", Py_BuildValue("(Os)", scope, warm.file));
	if (!source)
		go_cold();
	PyObject *first = PyTuple_GetItem(source, 0), *second = PyTuple_GetItem(source, 1);
	if (PyCallable_Check(first))
		return PyObject_CallObject(first, second);
	bool is_text = PyUnicode_Check(first) || PyBytes_Check(first);
	PyObject *code = is_text ? compile(first, second) : (Py_INCREF(first), first);
	Py_DECREF(source);
	PyObject *result = code ? PyEval_EvalCode(code, scope, scope) : NULL;
	Py_XDECREF(code);
	return result;
}

/* excepthook: called once, without a Python frame below it. */
static PyObject *
hook(PyObject *self, PyObject *arguments)
{
	static const char *const left[] = {"last_type", "last_value", "last_traceback", "last_exc"};
	(void)self;
	(void)arguments;
	for (size_t i = 0; i < ARRAY_SIZE(left); i++)
		(void)PySys_SetObject(left[i], NULL);
	PyErr_Clear();
	(void)PySys_SetObject("excepthook", PySys_GetObject("__excepthook__"));
	PyObject *result = run_script();
	int status = 0;
	bool interrupted = false;
	if (!result && PyErr_ExceptionMatches(PyExc_SystemExit)) {
		status = exit_status();
	} else if (!result) {
		interrupted = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
		PyErr_Print();
		status = 1;
	}
	Py_XDECREF(result);
	leave(status, interrupted);
}

/* New reference: the strings of a list, as text or as bytes. */
static PyObject *
list_of(char **strings, bool bytes)
{
	PyObject *list = PyList_New(0);
	for (; list && *strings; strings++) {
		PyObject *item = bytes ? PyBytes_FromString(*strings) : PyUnicode_DecodeFSDefault(*strings);
		if (!item || PyList_Append(list, item))
			Py_CLEAR(list);
		Py_XDECREF(item);
	}
	return list;
}

/* Sets this copy up as the script expects. Returns NULL with the exception that makes the interpreter call the hook. */
static PyObject *
warm_begin(void)
{
	static PyMethodDef method = {"excepthook", hook, METH_VARARGS, NULL};
	(void)clearenv();
	for (char **item = warm.envp; *item; item++)
		(void)putenv(*item);
	PyObject *argv = list_of(warm.argv, false), *environment = list_of(warm.envp, true);
	PyObject *arguments = argv && environment ? PyTuple_Pack(2, argv, environment) : NULL;
	PyObject *settled =
		warm.argv[0] && warm.argv[1] ? warm_call(warm.again ? "begin_again" : "settle", arguments) : NULL;
	PyObject *function = PyCFunction_New(&method, NULL);
	if (settled != Py_True || !function || PySys_SetObject("excepthook", function))
		go_cold();
	Py_XDECREF(argv);
	Py_XDECREF(environment);
	Py_DECREF(settled);
	Py_DECREF(function);
	/* A new process gets the script as its file; `resume` has set the interpreter. */
	if (!warm.again)
		warm.file = warm.argv[1];
	PyErr_SetNone(PyExc_RuntimeError);
	return NULL;
}

/* ---- the warm process ---- */

static void
before(void *arg)
{
	(void)arg;
	PyOS_BeforeFork();
}

static void
warm_after(void *arg)
{
	(void)arg;
	PyOS_AfterFork_Parent();
}

static void
take_signals(void)
{
	for (int number = 1; number < NSIG; number++)
		(void)sigaction(number, &warm.signals[number], NULL);
}

/* Prepares a payload that does not know its run yet. */
static void
park(void *arg, const atomic_bool *wanted)
{
	(void)arg;
	take_signals();
	PyOS_AfterFork_Child();
	PyObject *more = warm_call("refresh", PyTuple_New(0));
	for (int part = 0; more == Py_True && !atomic_load(wanted); part++) {
		Py_DECREF(more);
		more = warm_call("rehearse", Py_BuildValue("(i)", part));
	}
	Py_XDECREF(more);
	PyErr_Clear();
}

/* The current exception as text. */
static void
describe_exception(char *ret_why, size_t size)
{
	PyObject *type = NULL, *value = NULL, *trace = NULL;
	PyErr_Fetch(&type, &value, &trace);
	PyObject *text = value ? PyObject_Str(value) : NULL, *bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
	(void)snprintf(ret_why, size, "%s", bytes ? PyBytes_AsString(bytes) : "an exception");
	PyErr_Clear();
	Py_XDECREF(bytes);
	Py_XDECREF(text);
	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(trace);
}

/* Opens the device that the plan's variables name, in a payload that has no rights left. */
static int
open_device(void *arg, char *ret_why, size_t size)
{
	(void)arg;
	if (open_gpu(ret_why, size))
		return -1;
	PyObject *opened = warm_call("open_device", PyTuple_New(0));
	if (!opened) {
		describe_exception(ret_why, size);
		return -1;
	}
	Py_DECREF(opened);
	(void)fflush(NULL);
	return 0;
}

static void __attribute__((noreturn)) become(void *arg, const char *file, char **argv, char **envp)
{
	(void)arg;
	warm.file = (char *)file;
	warm.argv = argv;
	warm.envp = envp;
	longjmp(warm.payload, 1);
}

/* Continues in a process to which python_shim.c has given this memory. */
static void __attribute__((noreturn)) resume(const struct dump_start *start)
{
	dump_restore_kernel_state();
	take_signals();
	PyOS_AfterFork_Child();
	warm.again = true;
	become(NULL, start->real, start->argv, start->envp);
}

static int
count_threads(void)
{
	AUTO_DIR DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;
	int count = 0;
	while (tasks && (entry = readdir(tasks)))
		count += entry->d_name[0] != '.';
	return count;
}

/* Whether an import has made writable shared memory, which copies would share. */
static bool
shares_memory(void)
{
	AUTO_FILE FILE *maps = fopen("/proc/self/maps", "re");
	AUTO_FREE char *line = NULL;
	size_t size = 0;
	char rights[5];
	while (maps && getline(&line, &size, maps) > 0)
		if (sscanf(line, "%*s %4s", rights) == 1 && rights[1] == 'w' && rights[3] == 's')
			return true;
	return !maps;
}

/*
 * be_alone(name): prepares the modules imported until now for copies; `name` is the last one. Returns None, or NULL
 * with an exception that says why it cannot be copied.
 */
static PyObject *
be_alone(PyObject *self, PyObject *name)
{
	(void)self;
	/* Runs the handlers of pthread_atfork, which end threads; the raw clones later do not. */
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	int count = count_threads();
	if (shares_memory())
		return PyErr_Format(PyExc_RuntimeError, "importing `%S` makes memory that all copies would share", name);
	if (count > 1)
		return PyErr_Format(PyExc_RuntimeError, "importing `%S` leaves %d thread%s behind, and copies would lack %s",
			name, count - 1, count > 2 ? "s" : "", count > 2 ? "them" : "it");
	Py_RETURN_NONE;
}

/*
 * Moves written memory to huge pages, since the cost of a copy grows with the number of pages. Ignores failures: older
 * kernels lack it, and memory may be fragmented.
 */
static void
be_compact(void)
{
	AUTO_FILE FILE *maps = fopen("/proc/self/maps", "re");
	AUTO_FREE char *line = NULL;
	size_t size = 0;
	unsigned long from, to;
	char access[5];
	while (maps && getline(&line, &size, maps) > 0) {
		int at = -1; /* stays -1 for a file's mapping, whose inode is not 0 */
		if (sscanf(line, "%lx-%lx %4s %*x %*x:%*x 0 %n", &from, &to, access, &at) != 3 || strcmp(access, "rw-p") != 0 ||
			at < 0 || (line[at] && line[at] != '\n' && strncmp(line + at, "[heap]", strlen("[heap]")) != 0))
			continue;
		from = (from + WARM_HUGE - 1) / WARM_HUGE * WARM_HUGE;
		to = to / WARM_HUGE * WARM_HUGE;
		for (; from < to; from += WARM_HUGE)
			(void)madvise((void *)from, WARM_HUGE, MADV_COLLAPSE);
	}
}

/* The path at which sandboxes show this interpreter file; false: too long. */
static bool
find_shown(const char *real, char *shown, size_t size)
{
	const char *name = strrchr(real, '/'), *folder = name;
	while (folder && folder > real && folder[-1] != '/')
		folder--;
	return folder && folder > real && snprintf(shown, size, IMAGE_HOME "/%s", folder) < (int)size;
}

/* Writes the memory, in a copy, for interpreters that runs start; without it they start cold. Closes the file. */
static void
keep_memory(int fd)
{
	char shown[PATH_MAX];
	struct dump_process process = {.shown = shown, .resume = resume};
	int status = -1;
	PyObject *facts = warm_call("describe", PyTuple_New(0));
	bool can = facts && PyArg_ParseTuple(facts, "yyy", &process.executable, &process.real, &process.letters) &&
			   find_shown(process.real, shown, sizeof(shown));
	PyErr_Clear();
	PyOS_BeforeFork();
	pid_t pid = can ? fork() : -1;
	if (pid == 0)
		_exit(dump_write(fd, &process) ? 1 : 0);
	PyOS_AfterFork_Parent();
	if (pid > 0)
		(void)waitpid(pid, &status, 0);
	/* An incomplete file has no magic; this frees its space. */
	if (status != 0)
		(void)!ftruncate(fd, 0);
	close(fd);
	Py_XDECREF(facts);
}

/* Imports the modules. New reference to the lines for the owner, or NULL with an exception. */
static PyObject *
warm_load(PyObject *names, int socket)
{
	static const char *const texts[] = {py_warm_text, py_resume_text, py_recipes_text};
	static PyMethodDef alone = {"be_alone", be_alone, METH_O, NULL};
	PyObject *run = PyBytes_FromString(py_run_text);
	warm.scope = PyDict_New();
	if (!warm.scope || !run || PyDict_SetItemString(warm.scope, "__builtins__", PyEval_GetBuiltins()) ||
		PyDict_SetItemString(warm.scope, "RUN", run))
		return NULL;
	Py_DECREF(run);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		PyObject *code = Py_CompileString(texts[i], "<kettle>", Py_file_input);
		PyObject *result = code ? PyEval_EvalCode(code, warm.scope, warm.scope) : NULL;
		Py_XDECREF(code);
		if (!result)
			return NULL;
		Py_DECREF(result);
	}
	PyObject *function = PyCFunction_New(&alone, NULL);
	PyObject *lines = function ? warm_call("load", Py_BuildValue("(OOi)", names, function, socket)) : NULL;
	Py_XDECREF(function);
	return lines;
}

/* The folder in which recipes compile; -1: there is none. */
static int
open_cache(void)
{
	const char *path = getenv("KETTLE_WARM_CACHE");
	return path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -1;
}

/*
 * Tells the owner that the process is ready. cache: the folder in which recipes compiled, which the owner takes over;
 * -1: none.
 */
static int
say_ready(int socket, PyObject *lines, int cache)
{
	Py_ssize_t size;
	char *text;
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	if (PyBytes_AsStringAndSize(lines, &text, &size))
		return -1;
	struct iovec iov[] = {{WARM_READY, strlen(WARM_READY)}, {text, (size_t)size}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = ARRAY_SIZE(iov)};
	if (cache >= 0) {
		msg.msg_control = control.space;
		msg.msg_controllen = sizeof(control.space);
		control.header =
			(struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.header), &cache, sizeof(cache));
	}
	if (sendmsg(socket, &msg, MSG_NOSIGNAL) > 0)
		return 0;
	PyErr_SetFromErrno(PyExc_OSError);
	return -1;
}

/*
 * serve(socket, file, words): imports modules and follows recipes (warm.py), writes the memory to the file (-1: none)
 * and serves. Returns only in payloads and in `resume`, with the exception that starts the script.
 */
static PyObject *
serve(PyObject *self, PyObject *arguments)
{
	struct sandbox_zygote zygote = {
		.before = before, .after = warm_after, .park = park, .open = open_device, .become = become};
	PyObject *names;
	int socket, file;
	(void)self;
	if (!PyArg_ParseTuple(arguments, "iiO", &socket, &file, &names))
		return NULL;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	int cache = open_cache();
	PyObject *lines = warm_load(names, socket);
	if (!lines)
		return NULL;
	for (int number = 1; number < NSIG; number++)
		(void)sigaction(number, NULL, &warm.signals[number]);
	if (setjmp(warm.payload) == 0) {
		if (file >= 0)
			keep_memory(file);
		be_compact();
		if (say_ready(socket, lines, cache))
			return NULL;
		if (cache >= 0)
			close(cache);
		Py_DECREF(lines);
		(void)sandbox_zygote_serve(socket, &zygote);
		_exit(0);
	}
	return warm_begin();
}

/*
 * confine(report, arguments): gives up kettle-exec's rights and executes the arguments. On failure it writes a byte to
 * the pipe `report`, which the executed program does not inherit.
 */
static PyObject *
start_confined(PyObject *self, PyObject *arguments)
{
	PyObject *words;
	int report;
	(void)self;
	if (!PyArg_ParseTuple(arguments, "iO", &report, &words))
		return NULL;
	Py_ssize_t count = PyList_Size(words);
	char **argv = count > 0 ? xcalloc((size_t)count + 1, sizeof(*argv)) : NULL;
	for (Py_ssize_t i = 0; argv && i < count; i++) {
		PyObject *word = PyUnicode_EncodeFSDefault(PyList_GetItem(words, i));
		argv[i] = word ? PyBytes_AsString(word) : NULL; /* kept until this process ends */
		if (!argv[i])
			return NULL;
	}
	if (argv && fcntl(report, F_SETFD, FD_CLOEXEC) == 0)
		confine_execute(argv);
	_exit(write(report, "x", 1) != 1);
}

static PyMethodDef methods[] = {
	{"confine", start_confined, METH_VARARGS, NULL}, {"serve", serve, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT, .m_name = "kettle_warm", .m_size = -1, .m_methods = methods};

__attribute__((visibility("default"))) PyMODINIT_FUNC PyInit_kettle_warm(void);

PyMODINIT_FUNC
PyInit_kettle_warm(void)
{
	return PyModule_Create(&definition);
}

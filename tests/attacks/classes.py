# SPDX-License-Identifier: MIT
"""The classes of attacks on boards in Python, and what tries each: files of py/ by their names, others by their paths, with the
test in them where there is one. `classes.py` prints them with the number of their cases. unit/attack_classes checks that it is so:
that all are there, that each file of py/ is in a class, and that nothing else is claimed. The gate runs the first file of py/ of
each class, but for those of IN_CPP; what has none is in the gate by itself."""
import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
PAGE, MUTANTS, PAIR, UNIT = ("tests/attacks/control_page.test", "tests/attacks/mutants.test", "tests/integration/exec_pair.py",
                             "tests/unit/eval_py.test")

CLASSES = {
    # The result channel, and what referee and solver send each other.
    "channel: the verdict is written to the descriptor that the environment names": "result_by_environment",
    "channel: the harness's descriptor is opened again through /proc": "result_by_proc result_of_field",
    "channel: something is added after the harness has gone": "result_afterwards",
    "channel: two values for a key, two answers to a request": "returns_twice worker_says_more",
    "channel: descriptors of others are replaced or filtered": "worker_garbage streams_replaced worker_closes closes_streams descriptors",
    "channel: it leaves early, with status 0 or from an exit handler": "leaves_early leaves_at_import odd_kernels import_forks crashes",
    "channel: the harness is killed after it was answered for": "kills_harness field_kills_parent",
    "channel: results are printed": "result_on_stdout",
    "channel: objects that execute when they are read": "pickle_executes pool_pickle types_lie",
    "channel: it is filled, dripped into, never ended": "worker_flood worker_drips",
    "channel: descriptors are passed on, and others answer": "passes_descriptors answers_by_child",
    "page: a lie in each field that is the solver's, in each state": f"page_lies {PAGE}:test_fields {PAGE}:test_lot",
    "page: a lie in each field that is the referee's": f"page_overwritten {PAGE}:test_ours",
    "page: it changes while it is read": f"{PAGE}:test_racing",
    "page: answers that are none, of other calls, twice, too short": f"facts_lie {PAGE}:test_wire",
    "page: tables with places, shapes, strides and types that are not so": f"shapes_lie {PAGE}:test_tables",
    "page: one side is killed in each state": f"dies_in_state {PAGE}:test_solver_killed {PAGE}:test_referee_killed {PAIR}:ends",
    "page: one side never answers, in each state": "hangs_in_state",
    "page: the memory is resized, sealed, punched, covered": "memory_resized pages_punched",
    # The clock.
    "clock: functions of the language are replaced": "patched_time in_process_clock",
    "clock: the harness's memory is written, natively": "seed_in_parent",
    "clock: work begins before it, in a thread or a process": "early_work early_process",
    "clock: work goes on after the answer": "late_work output_late",
    "clock: helpers on other cores": "other_core",
    "clock: outputs that compute when they are read": "array_computes_late tensor_computes_late class_lies hooks_left",
    "clock: one computation serves several calls": "replays_output wrong_lean_driver",
    "clock: the phase is noticed": "notices_phase secret_differs",
    "clock: what calls are compared with, or what is taken off, is slowed": "echo_slowed calibrators_slowed",
    "clock: calls are chosen, so that some do not count": "chooses_calls",
    "clock: the driver is replaced by a leaner one": "lean_driver",
    "clock: times that do not vary end the measurement early": "pads_time",
    # Right outputs.
    "output: the check is replaced, in modules, frames, code": "patched_check in_process_answer",
    "output: the input is made easy, or is the output": f"returns_input {MUTANTS}:easy_input {MUTANTS}:returns_input",
    "output: memory has the right one from before": f"stale_memory {MUTANTS}:previous",
    "output: kept by identity, place, shape or value": f"{MUTANTS}:by_place {MUTANTS}:by_shape",
    "output: only public cases are right": f"knows_public_cases {MUTANTS}:only_public",
    "output: the secret seed is in environment, /proc, frames": "seed_in_environment seed_of_field in_process_seed",
    "output: the secret seed is in memory at import": "seed_in_memory seed_of_single",
    "output: the secret can be found by trying": f"{UNIT}:test_seeds",
    "output: NaN, infinities, what is equal to all": f"nan_wildcard named_tuple_lies {MUTANTS}:all_nan {MUTANTS}:one_infinity",
    "output: fewer bits": f"{MUTANTS}:fewer_bits",
    "output: another shape, type, kind, order": f"wrong_kind {MUTANTS}:other_dtype {MUTANTS}:wrong_strides {MUTANTS}:one_row",
    "output: parts are left or wrong": f"{MUTANTS}:last_element {MUTANTS}:half {MUTANTS}:off_by_one",
    "output: wrong in calls that do not count, or at times": f"wrong_beside_others {MUTANTS}:at_times {MUTANTS}:then_wrong",
    "output: written after the return": f"{MUTANTS}:later",
    # What else is there.
    "host: the harness's files are overwritten": "overwrite_harness prepare_poisons",
    "host: start files and modules are left": "start_files bytecode interpreter",
    "host: caches of compilers are poisoned": "poison_caches",
    "host: daemons outlive the run, stopped ones too": "stopped_children stops_itself stops_harness",
    "host: bombs of processes and threads": "fork_bomb thread_bomb",
    "host: floods of memory, the referee's too": "memory_flood table_large memory_full",
    "host: floods of files, descriptors, output": "disk_flood inode_flood descriptor_flood output_flood prepare_flood",
    "host: the network, packages": "network installs_packages",
    "host: LD_PRELOAD, interposed symbols": "preload",
    "host: io_uring and other side doors": "side_doors",
    "host: bombs for the compiler": "import_bombs",
    "host: links and FIFOs among outputs": "prepare_links",
    "host: files of the machine, who else is there": "files_of_machine knows_where",
    "host: privileges and limits are raised": "privileges limits_raised",
    "host: memory is left for the next one": "shared_memory",
    "host: signals to the harness and all": "signals_to_harness",
    "host: two solvers of one user meet": "two_at_once",
    "host: what never ends": "native_endless kernel_endless import_endless finalizers finalizer_of_exception field_worker_stays "
                             "prepare_endless stdin",
    "service: control characters, markup, invalid text": "message_hostile message_at_import profile_names stdout_hostile",
    "service: lines of megabytes, errors that grow": "message_of_100_mb traceback_bomb",
    "service: errors about errors": "message_without_text message_never_ends",
    "service: the task or the machine is blamed": "blames_by_words accuses_and_stays breaks_task fills_scratch limits_of_harness",
}

# What tries the sandbox alone, which is the same for all languages: the gate tries it in C++, by these files of cpp/. That a warm
# interpreter's copy sees what a fresh process sees, and has its rights and limits, finds integration/exec_warm.
IN_CPP = {"fork_bomb": "fork_bomb", "memory_flood": "memory_flood", "network": "network",
          "preload": "preload", "privileges": "setuid", "shared_memory": "shared_memory_left", "side_doors": "system_calls",
          "stopped_children": "daemon_holds_pipes"}


def files():
    """Names of the files of py/."""
    return sorted(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(HERE, "py", "*.py")))


def variants(name):
    """How many cases a file of py/ is."""
    with open(os.path.join(HERE, "py", name + ".py"), encoding="utf-8") as file:
        found = re.search(r"^# variants: +(.*)", file.read(), re.M)
    return len(found[1].split()) if found else 1


def cases(what):
    """How many cases are in what a class names."""
    return sum(1 if "/" in one else variants(one) for one in what.split())


def first_files():
    """Of each class the first file of py/, if it has one, and the gate has it not in C++."""
    firsts = (next((one for one in what.split() if "/" not in one), None) for what in CLASSES.values())
    return {one for one in firsts if one and one not in IN_CPP}


def head_of(words):
    """Of what a file of cpp/ has as its class: the gate has the first one of each."""
    return re.split("[;,(]", words)[0].strip()


def first_in_cpp():
    """The names of these."""
    firsts = {}
    for path in sorted(glob.glob(os.path.join(HERE, "cpp", "*.cpp"))):
        with open(path, encoding="utf-8") as file:
            words = re.search(r"^// class: +(.*)", file.read(), re.M)[1]
        firsts.setdefault(head_of(words), os.path.basename(path)[:-4])
    return set(firsts.values())


def faults():
    """What is claimed here and is not so."""
    listed = [one for what in CLASSES.values() for one in what.split()]
    own = [one for one in listed if "/" not in one]
    found = [f"{name} is in no class" for name in files() if name not in own]
    found += [f"there is no file {name}" for name in own if name not in files()]
    firsts = first_in_cpp()
    found += [f"the gate has no cpp/{name}" for name in IN_CPP.values() if name not in firsts]
    found += [f"{name} of IN_CPP is the first of no class" for name in IN_CPP if name not in {what.split()[0] for what in CLASSES.values()}]
    found += [f"{one} is listed twice" for one in sorted(set(listed)) if listed.count(one) > 1]
    for one in listed:
        path, _, function = one.partition(":")
        if "/" in one and not (os.path.exists(os.path.join(TOP, path)) and (not function or has(path, function))):
            found.append(f"there is no test {one}")
    total = sum(map(cases, CLASSES.values()))
    if len(CLASSES) < 45 or total < 150:
        found.append(f"{total} cases of {len(CLASSES)} classes are fewer than 150 of 45")
    return found


def has(path, function):
    """Whether a test's file has that function, or a mutant is one."""
    path = "tests/attacks/wrapped.py" if path == MUTANTS else path
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return re.search(rf"^def {function}\(|\"{function}\":", file.read(), re.M) is not None


if __name__ == "__main__":
    for title, text in CLASSES.items():
        print(f"{cases(text):4}  {title}: {text}")
    print(f"{sum(map(cases, CLASSES.values()))} cases of {len(CLASSES)} classes")
    sys.exit("\n".join(faults()) or 0)

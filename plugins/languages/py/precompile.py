# SPDX-License-Identifier: MIT
"""Compiles for a GPU on a machine without one what a submission compiles at its first call:
precompile.py FILE BACKEND:ARCH:WIDTH NAME

Calls custom_kernel once for each public case with tensors that have shapes and types, but no memory (torch's fake tensors), while launches
of Triton's kernels and graphs of torch.compile only compile. What that leaves in the caches of compilers below out/cache, the runs find
by the same keys; what it does not come to, they compile. NAME: the GPU's, as torch says it, or "-". The step is optional: the sandbox's
limits end it, and what it has left then is taken, too. What was left out, and why, is in out/cache/kettle/left, a word or "KIND WORD" a
line, for built.py: the first is "begun", and the last "done".
"""
import os
import sys

LEFT = os.path.abspath("out/cache/kettle/left")  # the submission may change the folder
CASES = os.path.abspath(".kettle/cases")
MAX_CASES, MAX_CONFIGS = 40, 40  # cases; configurations of one autotuned kernel

# By compute capability: threads and bytes of shared memory of a multiprocessor, and bytes that a block may use of these.
CAPABILITIES = {(7, 0): (2048, 98304, 98304), (7, 5): (1024, 65536, 65536), (8, 0): (2048, 167936, 166912),
                (8, 6): (1536, 102400, 101376), (8, 9): (1536, 102400, 101376), (9, 0): (2048, 233472, 232448),
                (10, 0): (2048, 233472, 232448), (12, 0): (1536, 102400, 101376)}
# Multiprocessors, MiB of cache, GiB of memory. Torch's compiler chooses by the first: code for another number would be slower.
GPUS = {"NVIDIA H100 80GB HBM3": (132, 50, 80), "NVIDIA H100 PCIe": (114, 50, 80), "NVIDIA H100 NVL": (132, 60, 94),
        "NVIDIA H200": (132, 60, 141), "NVIDIA B200": (148, 126, 180), "NVIDIA A100-SXM4-40GB": (108, 40, 40),
        "NVIDIA A100-SXM4-80GB": (108, 40, 80), "NVIDIA A100-PCIE-40GB": (108, 40, 40), "NVIDIA A100 80GB PCIe": (108, 40, 80),
        "NVIDIA A10": (72, 6, 22), "NVIDIA A10G": (80, 6, 22), "NVIDIA L4": (58, 48, 22), "NVIDIA L40S": (142, 96, 44),
        "Tesla T4": (40, 4, 15), "Tesla V100-SXM2-16GB": (80, 6, 16)}


def place_caches():
    """As run.py does, so that compilers find the same folders."""
    programs = os.path.join(os.getcwd(), "out", "cache", "bin")
    if os.path.isdir(programs):
        os.environ["PATH"] = programs + ":" + os.environ.get("PATH", "")
    for name in os.environ.pop("KETTLE_CACHES", "").split():
        os.environ[name] = os.path.join(os.getcwd(), os.environ.get(name, ""))
    os.makedirs(os.path.dirname(LEFT), exist_ok=True)
    open(LEFT, "w").close()
    left("begun")


def left(*words):
    """Adds a line to the list of what was left out."""
    with open(LEFT, "a", encoding="ascii") as file:
        file.write(" ".join(words) + "\n")


def word_of(error):
    """The word for an exception: a value of a tensor was needed, or anything else."""
    names = {one.__name__ for one in type(error).__mro__}
    values = {"DataDependentOutputException", "DynamicOutputShapeException", "GuardOnDataDependentSymNode"}
    text = str(error)
    return "value" if names & values or "data_ptr" in text or "numpy() is not supported" in text else "failed"


def show(error):
    import traceback
    traceback.print_exception(type(error), error, error.__traceback__, limit=-8)


def pretend_triton(target):
    """Makes launches of Triton's kernels compile for the target instead."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import autotuner, driver, jit
    backend, arch, width = target.split(":")

    class Driver:
        """A driver that knows its target, and nothing else."""

        def __init__(self, target):
            self.target = target

        @staticmethod
        def is_active():
            return True

        def get_current_target(self):
            return self.target

        def get_device_capability(self, *_):
            return divmod(self.target.arch, 10) if isinstance(self.target.arch, int) else self.target.arch

        def get_current_device(self):
            return 0

        def get_current_stream(self, *_):
            return 0

        def set_current_device(self, *_):
            pass

        def get_active_torch_device(self):
            import torch
            return torch.device("cuda", 0)

        def get_device_interface(self):
            import torch
            return torch.cuda

    def compiled(self, *args, grid, warmup=True, run=jit.JITFunction.run, **kwargs):
        try:
            return run(self, *args, grid=grid, warmup=True, **kwargs)
        except Exception as error:
            show(error)
            left("triton", "compiler")
            return None

    def tuned(self, *args, warmup=True, **kwargs):
        self.warmup(*args, **kwargs)

    def pruned(self, kwargs, prune=autotuner.Autotuner.prune_configs):
        configs = list(prune(self, kwargs))
        if len(configs) > MAX_CONFIGS:
            left("triton", "configs")
        return configs[:MAX_CONFIGS]

    driver.set_active(Driver(GPUTarget(backend, int(arch) if arch.isdigit() else arch, int(width))))
    jit.JITFunction.run, autotuner.Autotuner.run, autotuner.Autotuner.prune_configs = compiled, tuned, pruned


def properties_of(name, target):
    """What torch's compiler looks at of a GPU, or None where that is not known."""
    import types
    backend, arch, width = target.split(":")
    capability = divmod(int(arch), 10) if backend == "cuda" else None
    if name not in GPUS or capability not in CAPABILITIES:
        return None
    (count, cache, memory), (threads, shared, block) = GPUS[name], CAPABILITIES[capability]
    return types.SimpleNamespace(
        name=name, major=capability[0], minor=capability[1], multi_processor_count=count, max_threads_per_multi_processor=threads,
        regs_per_multiprocessor=65536, max_threads_per_block=1024, warp_size=int(width), total_memory=memory << 30,
        L2_cache_size=cache << 20, shared_memory_per_block=49152, shared_memory_per_block_optin=block,
        shared_memory_per_multiprocessor=shared, is_integrated=0, is_multi_gpu_board=0, gcnArchName="")


def pretend_cuda(torch, target, properties):
    """Makes torch take this machine for one with a GPU, whose tensors must be fake ones."""
    cuda, state = torch.cuda, torch.get_rng_state()

    # One of its own for each name: torch.compile has a rule for each, by the function.
    def returning(value):
        return lambda *_args, **_kwargs: value

    class Generator(torch.Generator):
        def __new__(cls, device="cpu"):
            return super().__new__(cls, "cpu")

    stream = type("Stream", (), {"cuda_stream": 0, "device": torch.device("cuda", 0), "synchronize": returning(None)})()
    backend, arch, _ = target.split(":")
    memory = properties.total_memory if properties else 1 << 34
    for value, names in ((None, "_lazy_init set_device set_rng_state manual_seed manual_seed_all synchronize empty_cache"),
                         (0, "current_device _exchange_device _maybe_exchange_device memory_allocated max_memory_allocated"),
                         (1, "device_count"), (True, "is_available is_initialized is_bf16_supported")):
        for one in names.split():
            setattr(cuda, one, returning(value))
    cuda.get_rng_state, cuda.mem_get_info = returning(state), returning((memory, memory))
    cuda.current_stream, cuda.default_stream = returning(stream), returning(stream)
    cuda.get_device_capability = returning(divmod(int(arch), 10) if backend == "cuda" else (9, 4))
    if properties:
        cuda.get_device_properties = cuda._get_device_properties = returning(properties)
        cuda.get_device_name = returning(properties.name)
    torch.Generator = Generator
    torch._C._cuda_getCurrentRawStream = returning(0)


def fake_mode():
    """A mode in which all tensors are fake ones, of a machine without a device."""
    from torch._subclasses import fake_tensor
    fake_tensor.FakeTensorMode.avoid_device_init = property(lambda self: True)
    # Memory begins at a multiple of what compilers care for, and a view lies behind that.
    fake_tensor.FakeTensor.data_ptr = lambda self: self.storage_offset() * self.element_size()
    return fake_tensor.FakeTensorMode(allow_non_fake_inputs=True)


def pretend_inductor(torch, properties):
    """Makes graphs of torch.compile compile, and be computed as fake tensors then."""
    if not properties:
        def plain(model=None, **_):
            left("graph", "device")
            return model if model is not None else lambda function: function
        torch.compile = plain
        return
    hooks = {"torch._inductor.compile_fx": hook_graphs, "torch._inductor.runtime.triton_heuristics": hook_kernels,
             "torch._inductor.runtime.triton_helpers": hook_driver}
    import importlib.abc
    import importlib.util

    class Finder(importlib.abc.MetaPathFinder):
        """Hooks modules when they are imported: that takes seconds, and most submissions need none of them."""

        def find_spec(self, name, path=None, target=None):
            hook = hooks.pop(name, None)
            spec = importlib.util.find_spec(name) if hook else None
            if spec:
                execute = spec.loader.exec_module
                spec.loader.exec_module = lambda module: (execute(module), hook(module))
            return spec
    sys.meta_path.insert(0, Finder())


def hook_graphs(module):
    """Of torch._inductor.compile_fx."""
    import copy
    import torch
    torch._dynamo.config.suppress_errors = True  # a graph that does not compile here is computed without

    def compiled(*args, compile_graph=module.compile_fx, **kwargs):
        try:
            return compile_graph(*args, **kwargs)
        except Exception as error:
            left("graph", "value" if word_of(error) == "value" else "compiler")
            raise

    def compiled_inner(gm, *args, compile_graph=module._compile_fx_inner, **kwargs):
        plain = torch.fx.GraphModule(gm, copy.deepcopy(gm.graph))
        made = compile_graph(gm, *args, **kwargs)
        if hasattr(made, "current_callable"):
            made.current_callable = lambda inputs: plain(*inputs)
        return made
    module.compile_fx, module._compile_fx_inner = compiled, compiled_inner


def hook_kernels(module):
    """Of torch._inductor.runtime.triton_heuristics."""
    def precompile(self, *_args, precompile=module.CachingAutotuner.precompile, **_kwargs):
        precompile(self, warm_cache_only=True)
    module.CachingAutotuner.precompile = precompile


def hook_driver(module):
    """Of torch._inductor.runtime.triton_helpers: the driver stays the one that knows its target."""
    module.set_driver_to_gpu = lambda: None


def cases():
    """The public cases, each as a map."""
    import ast
    with open(CASES, encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip()]
    if len(lines) > MAX_CASES:
        left("cases")
    for line in lines[:MAX_CASES]:
        values = {}
        for item in line.split(";"):
            key, _, value = item.partition(":")
            try:
                values[key.strip()] = ast.literal_eval(value.strip())
            except (SyntaxError, ValueError):
                values[key.strip()] = {"true": True, "false": False}.get(value.strip(), value.strip())
        yield values


def load(submission):
    """generate_input and custom_kernel; a word in their place where there is none."""
    import importlib
    if os.path.exists("task_utils.py"):  # as eval_kernelbot.py
        sys.modules["utils"] = importlib.import_module("task_utils")
    try:
        generate = importlib.import_module("reference").generate_input
    except BaseException as error:
        show(error)
        return "task"
    try:
        return generate, importlib.import_module(submission[:-len(".py")].replace("/", ".")).custom_kernel
    except BaseException as error:
        show(error)
        return "import"


def call_all(submission):
    found = load(submission)
    if isinstance(found, str):
        left(found)
        return
    generate, kernel = found
    for case in cases():
        try:
            data = generate(**case)
        except Exception as error:
            show(error)
            left("task")
            continue
        try:
            kernel(data)
        except Exception as error:
            show(error)
            left(word_of(error))


def compile_all(submission, target, name):
    import contextlib
    import importlib.util
    mode = contextlib.nullcontext()
    try:
        if importlib.util.find_spec("triton"):
            pretend_triton(target)
        else:
            left("missing")
        if importlib.util.find_spec("torch"):
            import torch
            properties = properties_of(name, target)
            pretend_cuda(torch, target, properties)
            mode = fake_mode()
            pretend_inductor(torch, properties)
    except Exception as error:
        show(error)
        left("version")
        return
    with mode:
        call_all(submission)


def main():
    place_caches()
    _, submission, target, name = sys.argv
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    sys.path[0] = os.getcwd()
    sys.argv[:] = [submission]
    try:
        compile_all(submission, target, name)
    except BaseException as error:
        show(error)
        left("failed")
    left("done")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # threads that the submission has left are not waited for


if __name__ == "__main__":
    main()

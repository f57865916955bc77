# SPDX-License-Identifier: MIT
"""Recipes: what a warm interpreter does once after its imports to save time in every run; one function for each feature.

Runs in the namespace of warm.py. A recipe leaves the interpreter like one that has imported the same modules and
compiled nothing. An argument, after `=` in a recipe's name, comes as text. A recipe ends silently if a module is not
installed; any other exception is a fault.
"""


TORCH_COMPILER = """_dynamo _dynamo.backends.inductor _dynamo.repro.after_dynamo _functorch.aot_autograd _higher_order_ops
_inductor.async_compile _inductor.codecache _inductor.codegen.common _inductor.codegen.cuda_combined_scheduling
_inductor.codegen.triton _inductor.codegen.wrapper _inductor.compile_fx _inductor.compiler_bisector _inductor.cudagraph_trees
_inductor.fx_passes.fuse_attention _inductor.fx_passes.joint_graph _inductor.fx_passes.pad_mm _inductor.fx_passes.post_grad
_inductor.fx_passes.pre_grad _inductor.fx_passes.split_cat _inductor.graph _inductor.kernel.bmm _inductor.kernel.conv
_inductor.kernel.mm _inductor.lowering _inductor.runtime.triton_heuristics _inductor.runtime.triton_helpers _inductor.scheduler
_inductor.select_algorithm _inductor.utils fx.experimental.symbolic_shapes fx.passes.fake_tensor_prop""".split()


def torch_compiler():
    """torch's deterministic mode sets an option of this module."""
    import torch._inductor.config


class quiet_progress:
    """While active, progress bars start no thread and share no lock: all copies would have them."""
    bar = None

    def __enter__(self):
        if is_installed("tqdm"):
            import threading
            import tqdm
            self.bar, self.interval = tqdm.tqdm, tqdm.tqdm.monitor_interval
            self.bar.monitor_interval = 0
            self.bar.set_lock(threading.RLock())

    def __exit__(self, *exception):
        if self.bar:
            self.bar.monitor_interval = self.interval
            del self.bar._lock


def compile_with_torch():
    """For CPUs only: the compiler opens a GPU if there is one, and a process that has opened a GPU cannot be copied. (There
    compile_on_gpu does it in each process that is prepared.)"""
    import torch
    import torch._inductor.config as config

    def rehearsed(first, second):
        return torch.relu(first + second).sum()
    with config.patch(compile_threads=1), compiling() as caches:
        for name in TORCH_COMPILER:
            import_module("torch." + name)
        codecache = sys.modules["torch._inductor.codecache"]
        # Without the variable, torch's own folder is a temporary one.
        headers = os.path.join(os.environ.get("TORCHINDUCTOR_CACHE_DIR", private_cache), "precompiled_headers")
        for name, folder in (("_HEADER_DIR", headers), ("_HEADER_LOCK_DIR", os.path.join(headers, "locks"))):
            if hasattr(codecache, name):
                setattr(codecache, name, folder)
        with quiet_progress():
            torch.compile(rehearsed)(torch.zeros(8), torch.zeros(8))
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        torch._inductor.utils.clear_caches()
        # The function knows the header by its path; runs find it at another one.
        known = getattr(codecache, "_precompile_header", None)
        if known is not None:
            codecache._precompile_header = caches.translated(known)


def compile_on_gpu():
    """torch.compile on a GPU, in a process that has opened it and is never copied: compiles a function, and forgets it."""
    import torch
    import torch._inductor.config as config

    def rehearsed(first, second):
        return torch.relu(first + second).sum()
    with config.patch(compile_threads=1), compiling(), quiet_progress():
        for name in TORCH_COMPILER:
            import_module("torch." + name)
        torch.compile(rehearsed)(torch.zeros(8, device="cuda"), torch.zeros(8, device="cuda"))
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch._inductor.utils.clear_caches()


def triton(target="cuda:80:32"):
    import triton
    import triton.compiler
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    if os.environ.get("TRITON_INTERPRET"):
        import triton.runtime.interpreter
        return
    backend, arch, width = target.split(":")
    with compiling() as caches:
        # By this name built.py knows that it is none of the submission's.
        kernel = triton.jit(caches.function("kettle_recipe", """
def kettle_recipe(source, target, size, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < size
    tl.store(target + places, 2 * tl.load(source + places, mask=inside), mask=inside)
""", tl=tl))
        source = triton.compiler.ASTSource(kernel, {"source": "*fp32", "target": "*fp32", "size": "i32", "BLOCK": "constexpr"},
                                           {(3,): 64})
        triton.compile(source, target=GPUTarget(backend, int(arch) if arch.isdigit() else arch, int(width)))


def jax():
    import jax
    import jax.numpy
    # The modules that JAX's first compilation loads. Compiling would do more: it starts threads.
    import jaxlib.mlir.dialects.builtin
    import jaxlib.mlir.dialects.mhlo


def numba():
    import numba
    numba.njit(lambda x: x + 1)(1)


def cupy():
    import cupy


def helion():
    import helion


def cute():
    import cutlass
    import cutlass.cute


# Recipes whose modules keep the paths of their caches where leave_folders does not find them, and make no folders.
IMPORTS_SHOWN = {"jax"}
# Recipes that are followed in processes that are prepared for one run, once the device is open; without one there is nothing
# to do.
DEVICE_RECIPES = {"torch.compile.gpu": compile_on_gpu}
RECIPES = {"torch.compile": compile_with_torch, "torch.compiler": torch_compiler, "triton": triton, "jax": jax, "numba": numba,
           "cupy": cupy, "helion": helion, "cute": cute}

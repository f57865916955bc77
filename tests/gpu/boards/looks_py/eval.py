# SPDX-License-Identifier: MIT
"""Says on the result channel (without one on stdout) what torch, Triton, JAX and CuPy find where it runs, step by step with
times; a step that fails says how, and the others go on. Run inside and outside of the sandbox, the difference is what the
sandbox makes."""
import glob
import os
import sys
import time
import traceback

BEGAN = time.monotonic()
channel = os.environ.pop("POPCORN_FD", None)
out = os.fdopen(int(channel), "w") if channel else sys.stdout
failed = []


def say(key, value):
    print("%s: %s" % (key, " ".join(str(value).split())[:3000]), file=out, flush=True)


def step(key, function):
    began = time.monotonic()
    try:
        value = function()
        say(key, "%s in %.3f s" % ("ok" if value is None else value, time.monotonic() - began))
        return value
    except Exception as error:
        traceback.print_exc()
        say(key, "FAILED after %.3f s: %s: %s" % (time.monotonic() - began, type(error).__name__, error))
        failed.append(key)


def look_at_torch():
    import torch
    say("torch", torch.__version__)
    if not step("torch.is_available", torch.cuda.is_available):
        failed.append("torch.is_available")
        step("torch.init", torch.cuda.init)
        return
    step("torch.count", torch.cuda.device_count)
    step("torch.first-tensor", lambda: torch.ones(8, device="cuda").sum().item())
    step("torch.name", torch.cuda.get_device_name)
    step("torch.memory", lambda: "%d of %d MiB are free" % tuple(part >> 20 for part in torch.cuda.mem_get_info()))
    matrix = torch.randn(1024, 1024, device="cuda")
    step("torch.matmul", lambda: (matrix @ matrix).sum().item())
    step("torch.pinned", lambda: torch.ones(1 << 20).pin_memory().is_pinned())
    step("torch.events", events)


def events():
    import torch
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    torch.ones(1 << 20, device="cuda").mul_(2)
    last.record()
    torch.cuda.synchronize()
    return "%.4f ms" % first.elapsed_time(last)


def look_at_triton():
    import triton
    say("triton", triton.__version__)
    # Triton reads a kernel's source from a file.
    import kernel
    step("triton.first-kernel", kernel.run)
    step("triton.second-kernel", kernel.run)


def look_at_cupy():
    import cupy
    say("cupy", cupy.__version__)
    step("cupy.first", lambda: float(cupy.ones(8).sum()))
    step("cupy.raw-kernel", lambda: cupy.RawKernel(
        'extern "C" __global__ void f(float *x) { x[threadIdx.x] = 2; }', "f")((1,), (8,), (cupy.zeros(8, dtype="f"),)))


def look_at_jax():
    import jax
    say("jax", jax.__version__)
    step("jax.devices", jax.devices)
    step("jax.first", lambda: float(jax.numpy.ones(8).sum()))
    step("jax.jit", lambda: float(jax.jit(lambda x: (x @ x).sum())(jax.numpy.ones((512, 512)))))


def main():
    say("test-count", 1)
    say("python", "%s, started in %.3f s" % (sys.version.split()[0], time.monotonic() - BEGAN))
    say("nodes", " ".join(sorted(glob.glob("/dev/*"))))
    say("environment", " ".join(sorted(os.environ)))
    say("mark", "seen" if "KETTLE_GPU_RUN_MARK" in os.environ else "not seen")
    for key in ("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "CUDA_CACHE_PATH", "HOME",
                "TMPDIR", "PATH", "CUDA_HOME"):
        if key in os.environ:
            say("env." + key, os.environ[key])
    from submission import MODULES
    for name, look in (("torch", look_at_torch), ("triton", look_at_triton), ("cupy", look_at_cupy), ("jax", look_at_jax)):
        if name not in MODULES:
            continue
        try:
            __import__(name)
        except ImportError as error:
            say(name, "cannot be imported: %s" % error)
            continue
        step(name + ".all", look)
    fine = not failed
    say("test.0.spec", "looks")
    say("test.0.status", "pass" if fine else "fail")
    if failed:
        say("test.0.error", "failed: " + ", ".join(failed))
    say("check", "pass" if fine else "fail")
    return 0 if fine else 112


if __name__ == "__main__":
    sys.exit(main())

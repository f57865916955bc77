/* SPDX-License-Identifier: MIT */
/* The names of a device's GPU for compilers in Python, in steps that do not have the GPU. */
#include <config.h>

#include "architecture.h"

#include "base/base.h"

/* The GPU as the machine has reported it; NULL: it has not. */
static const json_t *
gpu_of(const json_t *device)
{
	return json_object_get(json_object_get(device, "facts"), "gpu");
}

/* Torch writes "90a" as 9.0a and "100" as 10.0: the last digit is the minor version. */
static json_t *
torch_architecture(const char *sm)
{
	size_t digits = strspn(sm, "0123456789");
	if (digits < 2)
		return NULL;
	return json_sprintf("%.*s.%s", (int)digits - 1, sm, sm + digits - 1);
}

/* Torch's own choice where it sees the GPU: "9.0+PTX" for a GPU that reports "9.0". */
static json_t *
torch_capability(const char *compute)
{
	size_t plain = compute ? strspn(compute, "0123456789.") : 0;
	return plain > 0 && !compute[plain] ? json_sprintf("%.16s+PTX", compute) : NULL;
}

/*
 * Names the GPU's architecture to torch, which compiles extensions in a sandbox without a device: the one of the
 * configuration, else of the unit's GPU, if the machine has reported it.
 */
void
architecture_add(json_t *env, const json_t *device)
{
	const json_t *gpu = gpu_of(device);
	const char *sm = json_text_or_null(device, "sm"), *gfx = json_text_or_null(device, "gfx");
	json_t *architecture = sm ? torch_architecture(sm) : NULL;
	if (!gfx)
		gfx = json_text_or_null(gpu, "gfx");
	if (!architecture)
		architecture = torch_capability(json_text_or_null(gpu, "compute"));
	if (architecture)
		json_object_set_new(env, "TORCH_CUDA_ARCH_LIST", architecture);
	if (gfx) {
		json_object_set_new(env, "PYTORCH_ROCM_ARCH", json_string(gfx));
		/* Without it hipcc compiles for NVIDIA's GPUs where it finds an nvcc. */
		json_object_set_new(env, "HIP_PLATFORM", json_string("amd"));
	}
}

bool
architecture_is_gpu(const json_t *device)
{
	return gpu_of(device) || json_text_or_null(device, "sm") || json_text_or_null(device, "gfx");
}

json_t *
architecture_of_triton(const json_t *device)
{
	const json_t *gpu = gpu_of(device);
	const char *sm = json_text_or_null(device, "sm"), *gfx = json_text_or_null(device, "gfx");
	const char *compute = json_text_or_null(gpu, "compute");
	if (!gfx)
		gfx = json_text_or_null(gpu, "gfx");
	if (gfx) /* wavefronts have 64 threads up to gfx9 */
		return json_sprintf("hip:%.40s:%d", gfx, strncmp(gfx, "gfx9", 4) == 0 ? 64 : 32);
	if (sm)
		return json_sprintf("cuda:%.*s:32", (int)strspn(sm, "0123456789"), sm);
	if (compute && strchr(compute, '.'))
		return json_sprintf("cuda:%.*s%.1s:32", (int)strcspn(compute, "."), compute, strchr(compute, '.') + 1);
	return NULL;
}

const char *
architecture_name(const json_t *device)
{
	const char *name = json_text_or_empty(gpu_of(device), "name");
	return name[0] ? name : "-";
}

const char *
architecture_profiler(const json_t *device)
{
	if (json_text_or_null(device, "sm") || member_is(gpu_of(device), "vendor", "nvidia"))
		return "ncu";
	return json_text_or_null(device, "gfx") || member_is(gpu_of(device), "vendor", "amd") ? "rocprofv3" : NULL;
}

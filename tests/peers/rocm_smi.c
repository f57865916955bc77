/* SPDX-License-Identifier: MIT */
/* A stand-in for librocm_smi64.so: the GPUs that Kettle's tests describe in the file that FAKE_ROCM names. */
/*
 * Keys: count, init (what rsmi_init gives), used (MiB), throttle, causes (of throttling, 64 bits), level (of performance),
 * limit (W), uncorrected (errors). Written from the documented interface.
 */
#include <config.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "state.h"

#define API __attribute__((visibility("default")))
#define MIB (UINT64_C(1) << 20)
enum { SUCCESS = 0, NOT_SUPPORTED = 2 };

API int rsmi_init(uint64_t flags);
API int rsmi_shut_down(void);
API int rsmi_num_monitor_devices(uint32_t *count);
API int rsmi_dev_name_get(uint32_t index, char *name, size_t size);
API int rsmi_dev_unique_id_get(uint32_t index, uint64_t *id);
API int rsmi_dev_pci_id_get(uint32_t index, uint64_t *id);
API int rsmi_dev_drm_render_minor_get(uint32_t index, uint32_t *minor);
API int rsmi_dev_memory_total_get(uint32_t index, int type, uint64_t *bytes);
API int rsmi_dev_memory_usage_get(uint32_t index, int type, uint64_t *bytes);
API int rsmi_dev_gpu_metrics_info_get(uint32_t index, unsigned char *metrics);
API int rsmi_version_str_get(int component, char *text, uint32_t size);
API int rsmi_dev_perf_level_get(uint32_t index, int *level);
API int rsmi_dev_power_cap_get(uint32_t index, uint32_t sensor, uint64_t *microwatts);
API int rsmi_dev_power_cap_default_get(uint32_t index, uint64_t *microwatts);
API int rsmi_dev_ecc_count_get(uint32_t index, int block, uint64_t counts[3]);

int
rsmi_init(uint64_t flags)
{
	(void)flags;
	state_begin("FAKE_ROCM");
	return (int)state_number("init", -1, SUCCESS);
}

int
rsmi_shut_down(void)
{
	return SUCCESS;
}

int
rsmi_num_monitor_devices(uint32_t *count)
{
	*count = (uint32_t)state_number("count", -1, 1);
	return SUCCESS;
}

int
rsmi_dev_name_get(uint32_t index, char *name, size_t size)
{
	(void)index;
	(void)snprintf(name, size, "AMD Stand-in");
	return SUCCESS;
}

int
rsmi_dev_unique_id_get(uint32_t index, uint64_t *id)
{
	*id = UINT64_C(0xabc0) + index;
	return SUCCESS;
}

int
rsmi_dev_pci_id_get(uint32_t index, uint64_t *id)
{
	*id = UINT64_C(0x4100) + (index << 8);
	return SUCCESS;
}

int
rsmi_dev_drm_render_minor_get(uint32_t index, uint32_t *minor)
{
	*minor = 128 + index;
	return SUCCESS;
}

int
rsmi_dev_memory_total_get(uint32_t index, int type, uint64_t *bytes)
{
	(void)index;
	*bytes = 196608 * MIB;
	return type == 0 ? SUCCESS : NOT_SUPPORTED;
}

int
rsmi_dev_memory_usage_get(uint32_t index, int type, uint64_t *bytes)
{
	*bytes = state_number("used", (int)index, 300) * MIB;
	return type == 0 ? SUCCESS : NOT_SUPPORTED;
}

/* Format 1.3: the places of the values in the table, as the kernel documents them. */
int
rsmi_dev_gpu_metrics_info_get(uint32_t index, unsigned char *metrics)
{
	uint16_t hotspot = 55, gfx_clock = 2100, memory_clock = 1300;
	uint32_t throttle = (uint32_t)state_number("throttle", (int)index, 0);
	uint64_t causes = state_number("causes", (int)index, UINT64_MAX);
	memset(metrics, 0xff, 120);
	metrics[2] = 1;
	metrics[3] = 3;
	memcpy(metrics + 6, &hotspot, sizeof(hotspot));
	memcpy(metrics + 54, &gfx_clock, sizeof(gfx_clock));
	memcpy(metrics + 58, &memory_clock, sizeof(memory_clock));
	memcpy(metrics + 68, &throttle, sizeof(throttle));
	memcpy(metrics + 112, &causes, sizeof(causes));
	return SUCCESS;
}

int
rsmi_version_str_get(int component, char *text, uint32_t size)
{
	(void)component;
	(void)snprintf(text, size, "6.8.5");
	return SUCCESS;
}

int
rsmi_dev_perf_level_get(uint32_t index, int *level)
{
	*level = (int)state_number("level", (int)index, 0);
	return SUCCESS;
}

int
rsmi_dev_power_cap_get(uint32_t index, uint32_t sensor, uint64_t *microwatts)
{
	*microwatts = state_number("limit", (int)index, 750) * 1000000;
	return sensor == 0 ? SUCCESS : NOT_SUPPORTED;
}

int
rsmi_dev_power_cap_default_get(uint32_t index, uint64_t *microwatts)
{
	(void)index;
	*microwatts = 750000000;
	return SUCCESS;
}

/* Only the memory controllers (1) and the graphics core (4) count. */
int
rsmi_dev_ecc_count_get(uint32_t index, int block, uint64_t counts[3])
{
	counts[0] = counts[2] = 0;
	counts[1] = block == 1 ? state_number("uncorrected", (int)index, 0) : 0;
	return block == 1 || block == 4 ? SUCCESS : NOT_SUPPORTED;
}

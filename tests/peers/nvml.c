/* SPDX-License-Identifier: MIT */
/* A stand-in for libnvidia-ml.so.1: the GPUs that Kettle's tests describe in the file that FAKE_NVML names. */
/*
 * Keys: count, init (what nvmlInit gives), lost (a GPU that does not answer), used (MiB), reasons, thermal_ns, hot_ns and
 * brake_ns (heat and power brake, by the hardware), power_ns, pid (of another process), set (MHz of applications), limit
 * (mW), ecc (0: off), corrected and uncorrected (errors), mig, persistence, hang (nvmlInit never comes back), drivers (MiB of each process that
 * has a library of the folder FAKE_NVML_DRIVER loaded). Written from
 * the documented interface, not from kettle-gpu.
 */
#include <config.h>

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state.h"

#define API __attribute__((visibility("default")))
#define MIB (1ull << 20)
enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, GPU_IS_LOST = 15 };

typedef struct fake_device *nvmlDevice_t;
struct fake_device {
	int index;
};
static struct fake_device devices[64];

static int
text(char *to, unsigned size, const char *from)
{
	return snprintf(to, size, "%s", from) < (int)size ? SUCCESS : INSUFFICIENT_SIZE;
}

API int nvmlInit_v2(void);
API int nvmlShutdown(void);
API const char *nvmlErrorString(int code);
API int nvmlSystemGetDriverVersion(char *to, unsigned size);
API int nvmlSystemGetCudaDriverVersion_v2(int *version);
API int nvmlDeviceGetCount_v2(unsigned *count);
API int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device);
API int nvmlDeviceGetName(nvmlDevice_t device, char *to, unsigned size);
API int nvmlDeviceGetUUID(nvmlDevice_t device, char *to, unsigned size);
API int nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned *minor);
API int nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor);
API int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, unsigned long long total_free_used[3]);
API int nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned *mhz);
API int nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, int type, unsigned *mhz);
API int nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned *celsius);
API int nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *milliwatts);
API int nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons);
API int nvmlDeviceGetViolationStatus(nvmlDevice_t device, int policy, unsigned long long reference_violation[2]);
struct process_info {
	unsigned pid;
	unsigned long long used;
	unsigned gpu_instance, compute_instance;
};
API int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count, struct process_info *infos);
struct field_value {
	unsigned field, scope;
	long long timestamp, latency;
	unsigned value_type;
	int code;
	unsigned long long value;
};
API int nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, struct field_value *values);
API int nvmlDeviceGetApplicationsClock(nvmlDevice_t device, int type, unsigned *mhz);
API int nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t device, int type, unsigned *mhz);
API int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned *milliwatts);
API int nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device, unsigned *milliwatts);
API int nvmlDeviceGetPersistenceMode(nvmlDevice_t device, unsigned *mode);
API int nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *current, unsigned *pending);
API int nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned *current, unsigned *pending);
API int nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int type, int counter, unsigned long long *count);

int
nvmlInit_v2(void)
{
	state_begin("FAKE_NVML");
	for (int i = 0; i < 64; i++)
		devices[i].index = i;
	while (state_number("hang", -1, 0))
		(void)pause();
	return (int)state_number("init", -1, SUCCESS);
}

int
nvmlShutdown(void)
{
	return SUCCESS;
}

const char *
nvmlErrorString(int code)
{
	return code == 9 ? "Driver Not Loaded" : code == GPU_IS_LOST ? "GPU is lost" : "Unknown Error";
}

int
nvmlSystemGetDriverVersion(char *to, unsigned size)
{
	return text(to, size, "550.54.15");
}

int
nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	*version = 12040;
	return SUCCESS;
}

int
nvmlDeviceGetCount_v2(unsigned *count)
{
	*count = (unsigned)state_number("count", -1, 1);
	return SUCCESS;
}

int
nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device)
{
	if (index >= state_number("count", -1, 1))
		return INVALID_ARGUMENT;
	*device = &devices[index];
	return state_number("lost", (int)index, 0) ? GPU_IS_LOST : SUCCESS;
}

int
nvmlDeviceGetName(nvmlDevice_t device, char *to, unsigned size)
{
	char name[64];
	unsigned long long model = state_number("model", device->index, 0);
	(void)snprintf(name, sizeof(name), model ? "NVIDIA Stand-in %llu" : "NVIDIA Stand-in", model);
	return text(to, size, name);
}

int
nvmlDeviceGetUUID(nvmlDevice_t device, char *to, unsigned size)
{
	char uuid[64];
	(void)snprintf(uuid, sizeof(uuid), "GPU-00000000-0000-0000-0000-%012d", device->index);
	return text(to, size, uuid);
}

int
nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned *minor)
{
	*minor = (unsigned)(7 - device->index);
	return SUCCESS;
}

int
nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
	(void)device;
	*major = 9;
	*minor = 0;
	return SUCCESS;
}

int
nvmlDeviceGetMemoryInfo(nvmlDevice_t device, unsigned long long total_free_used[3])
{
	total_free_used[0] = 81920 * MIB;
	total_free_used[2] = state_number("used", device->index, 500) * MIB;
	total_free_used[1] = total_free_used[0] - total_free_used[2];
	return SUCCESS;
}

int
nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned *mhz)
{
	*mhz = (unsigned)state_number(type == 1 ? "sm" : "mem", device->index, type == 1 ? 1980 : 2619);
	return SUCCESS;
}

int
nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, int type, unsigned *mhz)
{
	(void)device;
	*mhz = type == 1 ? 1980 : 2619;
	return SUCCESS;
}

int
nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned *celsius)
{
	(void)sensor;
	*celsius = (unsigned)state_number("temperature", device->index, 41);
	return SUCCESS;
}

int
nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *milliwatts)
{
	(void)device;
	(void)milliwatts;
	return NOT_SUPPORTED;
}

int
nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons)
{
	*reasons = state_number("reasons", device->index, 1);
	return SUCCESS;
}

int
nvmlDeviceGetViolationStatus(nvmlDevice_t device, int policy, unsigned long long reference_violation[2])
{
	reference_violation[0] = 0;
	reference_violation[1] = policy == 1   ? state_number("thermal_ns", device->index, 0)
							 : policy == 0 ? state_number("power_ns", device->index, 0)
										   : 0;
	return SUCCESS;
}

/* Whether a process has a file below FAKE_NVML_DRIVER loaded. */
static bool
has_driver(const char *pid)
{
	char path[64], line[4096];
	const char *folder = getenv("FAKE_NVML_DRIVER");
	bool found = false;
	(void)snprintf(path, sizeof(path), "/proc/%.20s/maps", pid);
	FILE *maps = folder ? fopen(path, "re") : NULL;
	while (maps && !found && fgets(line, sizeof(line), maps))
		found = strstr(line, folder) != NULL;
	if (maps)
		(void)fclose(maps);
	return found;
}

/* Lists the processes that have the driver loaded, each with so much memory. */
static int
list_drivers(uint64_t bytes, unsigned *count, struct process_info *infos)
{
	unsigned most = *count;
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	*count = 0;
	while (processes && (entry = readdir(processes)) && *count < most)
		if (strspn(entry->d_name, "0123456789") == strlen(entry->d_name) && has_driver(entry->d_name))
			infos[(*count)++] = (struct process_info){.pid = (unsigned)atoi(entry->d_name), .used = bytes};
	if (processes)
		(void)closedir(processes);
	return SUCCESS;
}

int
nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count, struct process_info *infos)
{
	unsigned long long pid = state_number("pid", device->index, 0);
	uint64_t drivers = state_number("drivers", device->index, 0);
	if (drivers && *count > 0)
		return list_drivers(drivers * MIB, count, infos);
	if (pid && *count < 1)
		return INSUFFICIENT_SIZE;
	*count = pid ? 1 : 0;
	if (pid)
		infos[0] = (struct process_info){.pid = (unsigned)pid, .used = ~0ull};
	return SUCCESS;
}

/* 252: hardware slowdown by heat, 253: by a power brake, ns. */
int
nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, struct field_value *values)
{
	for (int i = 0; i < count; i++) {
		bool known = values[i].field == 252 || values[i].field == 253;
		values[i].value_type = 3;
		values[i].code = known ? SUCCESS : NOT_SUPPORTED;
		values[i].value = state_number(values[i].field == 252 ? "hot_ns" : "brake_ns", device->index, 0);
	}
	return SUCCESS;
}

int
nvmlDeviceGetApplicationsClock(nvmlDevice_t device, int type, unsigned *mhz)
{
	*mhz = (unsigned)state_number(type == 1 ? "set" : "set_memory", device->index, type == 1 ? 1980 : 2619);
	return SUCCESS;
}

int
nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t device, int type, unsigned *mhz)
{
	return nvmlDeviceGetMaxClockInfo(device, type, mhz);
}

int
nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned *milliwatts)
{
	*milliwatts = (unsigned)state_number("limit", device->index, 700000);
	return SUCCESS;
}

int
nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device, unsigned *milliwatts)
{
	(void)device;
	*milliwatts = 700000;
	return SUCCESS;
}

int
nvmlDeviceGetPersistenceMode(nvmlDevice_t device, unsigned *mode)
{
	*mode = (unsigned)state_number("persistence", device->index, 1);
	return SUCCESS;
}

int
nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *current, unsigned *pending)
{
	*current = *pending = (unsigned)state_number("mig", device->index, 0);
	return SUCCESS;
}

int
nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned *current, unsigned *pending)
{
	*current = *pending = (unsigned)state_number("ecc", device->index, 1);
	return SUCCESS;
}

int
nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int type, int counter, unsigned long long *count)
{
	*count = state_number(type == 1 ? "uncorrected" : "corrected", device->index, 0);
	return counter == 0 ? SUCCESS : NOT_SUPPORTED;
}

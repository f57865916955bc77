/* SPDX-License-Identifier: MIT */
/* The GPUs of NVIDIA, as NVML reports them. */
/*
 * The declarations are our own: the functions, numbers and layouts below are NVML's documented binary interface, which
 * its library keeps from version to version. Every fact may be missing on some models, and is then left out.
 */
#include <config.h>

#include "gpu/gpu.h"

#include "base/base.h"

typedef void *gpu_handle;

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2 };
enum { POLICY_POWER = 0, POLICY_THERMAL = 1 };
enum { ECC_CORRECTED = 0, ECC_UNCORRECTED = 1 };
enum { ECC_SINCE_RESET = 0 };
enum { FIELD_THERMAL_HARDWARE = 252, FIELD_POWER_BRAKE = 253 };
#define NVML_NOT_SUPPORTED 3
#define REASON_CLOCKS_SET 0x2
#define NVML_MEMORY_V2 (2u << 24)

struct memory_v1 {
	unsigned long long total, free, used;
};
struct memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};
struct violation {
	unsigned long long reference_ns, violation_ns;
};
struct process {
	unsigned pid;
	unsigned long long memory;
	unsigned instance, compute_instance;
};
struct field {
	unsigned id, scope;
	long long timestamp_us, latency_us;
	unsigned type;
	int code;
	unsigned long long value;
};
struct pci {
	char legacy[16];
	unsigned domain, bus, device, id, subsystem;
	char text[32];
};

/* Looked up once, by a program that does nothing else. */
static struct {
	int (*init)(void);
	int (*shutdown)(void);
	const char *(*error)(int code);
	int (*driver)(char *text, unsigned size);
	int (*cuda)(int *version);
	int (*count)(unsigned *count);
	int (*handle)(unsigned index, gpu_handle *device);
	int (*name)(gpu_handle device, char *text, unsigned size);
	int (*uuid)(gpu_handle device, char *text, unsigned size);
	int (*minor)(gpu_handle device, unsigned *minor);
	int (*pci)(gpu_handle device, struct pci *pci);
	int (*memory)(gpu_handle device, struct memory_v1 *memory);
	int (*memory_v2)(gpu_handle device, struct memory_v2 *memory);
	int (*compute)(gpu_handle device, int *major, int *minor);
	int (*clock)(gpu_handle device, int type, unsigned *mhz);
	int (*max_clock)(gpu_handle device, int type, unsigned *mhz);
	int (*temperature)(gpu_handle device, int sensor, unsigned *celsius);
	int (*power)(gpu_handle device, unsigned *milliwatts);
	int (*reasons)(gpu_handle device, unsigned long long *reasons);
	int (*violation)(gpu_handle device, int policy, struct violation *violation);
	int (*processes)(gpu_handle device, unsigned *count, struct process *processes);
	int (*fields)(gpu_handle device, int count, struct field *fields);
	int (*set_clock)(gpu_handle device, int type, unsigned *mhz);
	int (*default_clock)(gpu_handle device, int type, unsigned *mhz);
	int (*power_limit)(gpu_handle device, unsigned *milliwatts);
	int (*default_limit)(gpu_handle device, unsigned *milliwatts);
	int (*persistence)(gpu_handle device, unsigned *on);
	int (*mig)(gpu_handle device, unsigned *now, unsigned *pending);
	int (*ecc)(gpu_handle device, unsigned *now, unsigned *pending);
	int (*ecc_errors)(gpu_handle device, int type, int since, unsigned long long *count);
} nvml;

static const struct facts_symbol symbols[] = {
	{"nvmlInit_v2", &nvml.init, false},
	{"nvmlShutdown", &nvml.shutdown, false},
	{"nvmlErrorString", &nvml.error, true},
	{"nvmlSystemGetDriverVersion", &nvml.driver, true},
	{"nvmlSystemGetCudaDriverVersion_v2", &nvml.cuda, true},
	{"nvmlDeviceGetCount_v2", &nvml.count, false},
	{"nvmlDeviceGetHandleByIndex_v2", &nvml.handle, false},
	{"nvmlDeviceGetName", &nvml.name, true},
	{"nvmlDeviceGetUUID", &nvml.uuid, false},
	{"nvmlDeviceGetMinorNumber", &nvml.minor, true},
	{"nvmlDeviceGetPciInfo_v3", &nvml.pci, true},
	{"nvmlDeviceGetMemoryInfo", &nvml.memory, true},
	{"nvmlDeviceGetMemoryInfo_v2", &nvml.memory_v2, true},
	{"nvmlDeviceGetCudaComputeCapability", &nvml.compute, true},
	{"nvmlDeviceGetClockInfo", &nvml.clock, true},
	{"nvmlDeviceGetMaxClockInfo", &nvml.max_clock, true},
	{"nvmlDeviceGetTemperature", &nvml.temperature, true},
	{"nvmlDeviceGetPowerUsage", &nvml.power, true},
	{"nvmlDeviceGetCurrentClocksThrottleReasons", &nvml.reasons, true},
	{"nvmlDeviceGetViolationStatus", &nvml.violation, true},
	{"nvmlDeviceGetComputeRunningProcesses_v3", &nvml.processes, true},
	{"nvmlDeviceGetFieldValues", &nvml.fields, true},
	{"nvmlDeviceGetApplicationsClock", &nvml.set_clock, true},
	{"nvmlDeviceGetDefaultApplicationsClock", &nvml.default_clock, true},
	{"nvmlDeviceGetEnforcedPowerLimit", &nvml.power_limit, true},
	{"nvmlDeviceGetPowerManagementDefaultLimit", &nvml.default_limit, true},
	{"nvmlDeviceGetPersistenceMode", &nvml.persistence, true},
	{"nvmlDeviceGetMigMode", &nvml.mig, true},
	{"nvmlDeviceGetEccMode", &nvml.ecc, true},
	{"nvmlDeviceGetTotalEccErrors", &nvml.ecc_errors, true},
};

/* Bits of the reasons, and their names in reports. */
static const struct {
	unsigned long long bit;
	const char *name;
} reasons[] = {
	{0x4, "power-cap"},
	{0x8, "hardware-slowdown"},
	{0x10, "sync-boost"},
	{0x20, "thermal"},
	{0x40, "thermal-hardware"},
	{0x80, "power-brake"},
};

/* The causes that slowed the GPU since the driver was loaded, ns each. */
static const struct {
	int policy;
	const char *name;
} policies[] = {
	{POLICY_POWER, "power-cap"},
	{POLICY_THERMAL, "thermal"},
};

/* The same of the hardware, which newer drivers count. */
static const struct {
	unsigned id;
	const char *name;
} counters[] = {
	{FIELD_THERMAL_HARDWARE, "thermal-hardware"},
	{FIELD_POWER_BRAKE, "power-brake"},
};

static int
nvml_fail(int code, const char *what, struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_EUNAVAIL, "The NVIDIA driver does not respond (%s): %s.", what,
		nvml.error ? nvml.error(code) : "unknown reason");
}

static void
read_memory(gpu_handle device, json_t *gpu)
{
	struct memory_v2 memory = {.version = sizeof(memory) | NVML_MEMORY_V2};
	struct memory_v1 old = {0};
	int rc = nvml.memory_v2 ? nvml.memory_v2(device, &memory) : NVML_NOT_SUPPORTED;
	/* The older function counts the driver's own memory as used. */
	if (rc != 0 && nvml.memory && (rc = nvml.memory(device, &old)) == 0)
		memory = (struct memory_v2){.total = old.total, .used = old.used};
	if (rc != 0)
		return;
	facts_number(gpu, "memory", memory.total);
	facts_number(gpu, "used", memory.used);
}

static void
read_clocks(gpu_handle device, json_t *gpu)
{
	static const struct {
		int type;
		const char *now, *most;
	} clocks[] = {{CLOCK_SM, "sm", "sm_max"}, {CLOCK_MEMORY, "memory", "memory_max"}};
	json_t *all = json_object();
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		unsigned mhz = 0, most = 0;
		if (nvml.clock && nvml.clock(device, clocks[i].type, &mhz) == 0)
			facts_number(all, clocks[i].now, mhz);
		if (nvml.max_clock && nvml.max_clock(device, clocks[i].type, &most) == 0)
			facts_number(all, clocks[i].most, most);
	}
	json_object_set_new(gpu, "clocks", all);
}

/*
 * Whether the clocks are set to a value. NVML tells that only of a busy GPU, by the reasons of its clocks, and of
 * clocks that are set the older way, as clocks of applications.
 */
static void
read_locked(gpu_handle device, json_t *gpu)
{
	unsigned long long bits = 0;
	unsigned set = 0, usual = 0;
	bool known = nvml.reasons && nvml.reasons(device, &bits) == 0;
	bool differs = nvml.set_clock && nvml.set_clock(device, CLOCK_SM, &set) == 0 && nvml.default_clock &&
				   nvml.default_clock(device, CLOCK_SM, &usual) == 0 && set != usual;
	if (known || differs)
		json_object_set_new(gpu, "clocks_locked", json_boolean(differs || (bits & REASON_CLOCKS_SET) != 0));
}

static void
read_counters(gpu_handle device, json_t *slowed)
{
	struct field fields[ARRAY_SIZE(counters)] = {0};
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		fields[i].id = counters[i].id;
	if (!nvml.fields || nvml.fields(device, ARRAY_SIZE(fields), fields) != 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		if (fields[i].code == 0)
			facts_number(slowed, counters[i].name, fields[i].value);
}

static void
read_throttle(gpu_handle device, json_t *gpu)
{
	unsigned long long bits = 0;
	json_t *list = json_array(), *slowed = json_object();
	if (nvml.reasons && nvml.reasons(device, &bits) == 0)
		for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
			if (bits & reasons[i].bit)
				json_array_append_new(list, json_string(reasons[i].name));
	for (size_t i = 0; nvml.violation && i < ARRAY_SIZE(policies); i++) {
		struct violation violation = {0};
		if (nvml.violation(device, policies[i].policy, &violation) == 0)
			facts_number(slowed, policies[i].name, violation.violation_ns);
	}
	read_counters(device, slowed);
	json_object_set_new(gpu, "throttle", list);
	json_object_set_new(gpu, "slowed_ns", slowed);
}

static void
read_power(gpu_handle device, json_t *gpu)
{
	const struct {
		const char *key;
		int (*read)(gpu_handle device, unsigned *milliwatts);
	} powers[] = {
		{"power_mw", nvml.power}, {"power_limit_mw", nvml.power_limit}, {"power_default_mw", nvml.default_limit}};
	for (size_t i = 0; i < ARRAY_SIZE(powers); i++) {
		unsigned milliwatts = 0;
		if (powers[i].read && powers[i].read(device, &milliwatts) == 0)
			facts_number(gpu, powers[i].key, milliwatts);
	}
}

/* Error correction of its memory, with the errors since the last reset. */
static void
read_ecc(gpu_handle device, json_t *gpu)
{
	static const struct {
		int type;
		const char *key;
	} errors[] = {{ECC_CORRECTED, "ecc_corrected"}, {ECC_UNCORRECTED, "ecc_uncorrected"}};
	unsigned now = 0, pending = 0;
	if (nvml.ecc && nvml.ecc(device, &now, &pending) == 0)
		json_object_set_new(gpu, "ecc", json_boolean(now));
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		unsigned long long count = 0;
		if (nvml.ecc_errors && nvml.ecc_errors(device, errors[i].type, ECC_SINCE_RESET, &count) == 0)
			facts_number(gpu, errors[i].key, count);
	}
}

static void
read_modes(gpu_handle device, json_t *gpu)
{
	unsigned now = 0, pending = 0;
	if (nvml.persistence && nvml.persistence(device, &now) == 0)
		json_object_set_new(gpu, "persistence", json_boolean(now));
	if (nvml.mig && nvml.mig(device, &now, &pending) == 0)
		json_object_set_new(gpu, "mig", json_boolean(now));
}

static void
read_processes(gpu_handle device, json_t *gpu)
{
	struct process processes[FACTS_PROCESSES_MAX];
	unsigned count = FACTS_PROCESSES_MAX;
	if (!nvml.processes || nvml.processes(device, &count, processes) != 0 || count > FACTS_PROCESSES_MAX)
		return;
	json_t *list = json_array();
	for (unsigned i = 0; i < count && i < FACTS_PROCESSES_SHOWN; i++) {
		json_t *process = json_pack("{s:I}", "pid", (json_int_t)processes[i].pid);
		/* All ones mean unknown. */
		if (processes[i].memory != ~0ull)
			facts_number(process, "memory", processes[i].memory);
		json_array_append_new(list, process);
	}
	json_object_set_new(gpu, "processes", list);
}

static void
read_identity(gpu_handle device, json_t *gpu)
{
	char text[FACTS_TEXT_SIZE] = "";
	unsigned minor = 0;
	int major_version = 0, minor_version = 0;
	struct pci pci = {0};
	if (nvml.name)
		facts_text(gpu, "name", nvml.name(device, text, sizeof(text)), text);
	if (nvml.minor && nvml.minor(device, &minor) == 0)
		facts_number(gpu, "minor", minor);
	if (nvml.compute && nvml.compute(device, &major_version, &minor_version) == 0) {
		(void)snprintf(text, sizeof(text), "%d.%d", major_version, minor_version);
		facts_text(gpu, "compute", 0, text);
	}
	if (nvml.pci && nvml.pci(device, &pci) == 0) {
		pci.text[sizeof(pci.text) - 1] = '\0';
		facts_text(gpu, "bus", 0, pci.text);
	}
}

static int
read_gpu(unsigned index, json_t *gpus, struct kettle_error *err)
{
	gpu_handle device = NULL;
	char uuid[FACTS_TEXT_SIZE] = "";
	int rc = nvml.handle(index, &device);
	if (rc == 0)
		rc = nvml.uuid(device, uuid, sizeof(uuid));
	if (rc != 0) {
		char what[FACTS_TEXT_SIZE];
		(void)snprintf(what, sizeof(what), "GPU %u", index);
		return nvml_fail(rc, what, err);
	}
	json_t *gpu = json_pack("{s:s, s:i}", "vendor", "nvidia", "index", (int)index);
	unsigned celsius = 0;
	facts_text(gpu, "uuid", 0, uuid);
	read_identity(device, gpu);
	read_memory(device, gpu);
	read_clocks(device, gpu);
	read_locked(device, gpu);
	if (nvml.temperature && nvml.temperature(device, 0, &celsius) == 0)
		facts_number(gpu, "temperature", celsius);
	read_power(device, gpu);
	read_throttle(device, gpu);
	read_ecc(device, gpu);
	read_modes(device, gpu);
	read_processes(device, gpu);
	json_array_append_new(gpus, gpu);
	return 0;
}

static void
add_driver(json_t *gpus, size_t first)
{
	char driver[FACTS_TEXT_SIZE] = "", cuda[FACTS_TEXT_SIZE] = "";
	int version = 0, rc = nvml.driver ? nvml.driver(driver, sizeof(driver)) : NVML_NOT_SUPPORTED;
	int cuda_rc = nvml.cuda ? nvml.cuda(&version) : NVML_NOT_SUPPORTED;
	(void)snprintf(cuda, sizeof(cuda), "%d.%d", version / 1000, version % 1000 / 10);
	for (; first < json_array_size(gpus); first++) {
		facts_text(json_array_get(gpus, first), "driver", rc, driver);
		facts_text(json_array_get(gpus, first), "cuda", cuda_rc, cuda);
	}
}

int
nvml_read(const char *library, json_t *gpus, struct kettle_error *err)
{
	unsigned count = 0;
	size_t first = json_array_size(gpus);
	int rc = facts_open(library, symbols, ARRAY_SIZE(symbols), err);
	if (rc != 0)
		return rc;
	int code = nvml.init();
	if (code != 0)
		return nvml_fail(code, "nvmlInit", err);
	code = nvml.count(&count);
	if (code != 0)
		rc = nvml_fail(code, "the number of GPUs", err);
	for (unsigned i = 0; rc == 0 && i < count && i < FACTS_GPUS_MAX; i++)
		rc = read_gpu(i, gpus, err);
	add_driver(gpus, first);
	(void)nvml.shutdown();
	return rc;
}

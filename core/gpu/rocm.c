/* SPDX-License-Identifier: MIT */
/* The GPUs of AMD, as ROCm SMI and the kernel's list of compute nodes report them. */
/*
 * The declarations are our own: only functions whose binary interface is the same in all of ROCm 5 and 6 are called.
 * Clocks, temperature and throttling come from the head of the metrics table, which never moved; the table as a whole
 * grows from version to version, so there is room for more than any of them has. The architecture comes from the
 * kernel: the library's reading of that number depends on its version. So do the processes of a GPU.
 */
#include <config.h>

#include "gpu/gpu.h"

#include <dirent.h>

#include "base/base.h"

#define MEMORY_VRAM 0
#define COMPONENT_DRIVER 0
#define METRICS_ROOM 16384
#define METRIC_NONE 0xffffu
#define THROTTLE_NONE 0xffffffffu
#define METRICS_CAUSES 3 /* the content that has the causes of throttling by the same bits for all models */
/* Bits of these causes by which hardware stops a GPU that is too hot. The others are set in normal operation, too. */
#define CAUSES_HOT (UINT64_C(1) << 44 | UINT64_C(1) << 45 | UINT64_C(1) << 47)
#define ECC_BLOCKS 14 /* parts of a GPU that count errors of memory */
enum { LEVEL_AUTO = 0 };

/* The head of the metrics table, format 1. */
struct metrics {
	uint16_t size;
	uint8_t format, content;
	uint16_t edge, hotspot, memory, regulators[3]; /* degrees Celsius */
	uint16_t activity[3], power;                   /* W */
	uint64_t energy, clock_counter;
	uint16_t average_clocks[7];
	uint16_t gfx_clock, soc_clock, memory_clock, other_clocks[4]; /* MHz */
	uint32_t throttle;
	uint16_t fan, link[2], padding;
	uint32_t activities[2];
	uint16_t memory_parts[4];
	uint64_t firmware_clock;
	uint16_t voltages[3], more_padding;
	uint64_t causes; /* content 3 and later */
};
_Static_assert(
	offsetof(struct metrics, throttle) == 68 && offsetof(struct metrics, causes) == 112, "the library's table");

/* Versions of the library append members. */
struct error_count {
	uint64_t corrected, uncorrected, more[6];
};
union metrics_room {
	struct metrics head;
	unsigned char room[METRICS_ROOM];
};

/* Looked up once, by a program that does nothing else. */
static struct {
	int (*init)(uint64_t flags);
	int (*shutdown)(void);
	int (*count)(uint32_t *count);
	int (*name)(uint32_t index, char *text, size_t size);
	int (*unique)(uint32_t index, uint64_t *id);
	int (*pci)(uint32_t index, uint64_t *id);
	int (*render)(uint32_t index, uint32_t *minor);
	int (*total)(uint32_t index, int type, uint64_t *bytes);
	int (*used)(uint32_t index, int type, uint64_t *bytes);
	int (*metrics)(uint32_t index, union metrics_room *metrics);
	int (*version)(int component, char *text, uint32_t size);
	int (*level)(uint32_t index, int *level);
	int (*power_limit)(uint32_t index, uint32_t sensor, uint64_t *microwatts);
	int (*default_limit)(uint32_t index, uint64_t *microwatts);
	int (*ecc)(uint32_t index, int block, struct error_count *errors);
} smi;

static const struct facts_symbol symbols[] = {
	{"rsmi_init", &smi.init, false},
	{"rsmi_shut_down", &smi.shutdown, false},
	{"rsmi_num_monitor_devices", &smi.count, false},
	{"rsmi_dev_name_get", &smi.name, true},
	{"rsmi_dev_unique_id_get", &smi.unique, true},
	{"rsmi_dev_pci_id_get", &smi.pci, true},
	{"rsmi_dev_drm_render_minor_get", &smi.render, true},
	{"rsmi_dev_memory_total_get", &smi.total, true},
	{"rsmi_dev_memory_usage_get", &smi.used, true},
	{"rsmi_dev_gpu_metrics_info_get", &smi.metrics, true},
	{"rsmi_version_str_get", &smi.version, true},
	{"rsmi_dev_perf_level_get", &smi.level, true},
	{"rsmi_dev_power_cap_get", &smi.power_limit, true},
	{"rsmi_dev_power_cap_default_get", &smi.default_limit, true},
	{"rsmi_dev_ecc_count_get", &smi.ecc, true},
};

/* ---- the kernel's compute nodes ---- */

/* The number in a file of the kernel's; 0: there is none. */
static unsigned long long
number_in(const char *folder, const char *name)
{
	char path[4096], line[256];
	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	AUTO_FILE FILE *file = fopen(path, "re");
	return file && fgets(line, sizeof(line), file) ? strtoull(line, NULL, 10) : 0;
}

/* A number of a node's properties ("gfx_target_version 90402"); 0: it has none. */
static unsigned long long
property(const char *node, const char *key)
{
	char path[4096], line[256], name[128];
	unsigned long long value = 0, found = 0;
	(void)snprintf(path, sizeof(path), "%s/properties", node);
	AUTO_FILE FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%127s %llu", name, &value) == 2 && strcmp(name, key) == 0)
			found = value;
	return found;
}

/* The folder of the node of the GPU with this render number. False: there is none. */
static bool
find_node(const char *topology, uint32_t render, char *node, size_t size)
{
	AUTO_DIR DIR *nodes = opendir(topology);
	const struct dirent *entry;
	while (nodes && (entry = readdir(nodes))) {
		(void)snprintf(node, size, "%s/%s", topology, entry->d_name);
		if (entry->d_name[0] != '.' && property(node, "drm_render_minor") == render)
			return true;
	}
	return false;
}

/* "gfx90a" of 90010: the last two parts are hexadecimal in the name. */
static void
add_architecture(json_t *gpu, const char *node)
{
	unsigned long long version = property(node, "gfx_target_version");
	char text[FACTS_TEXT_SIZE];
	(void)snprintf(text, sizeof(text), "gfx%llu%llx%llx", version / 10000, version / 100 % 100, version % 100);
	facts_text(gpu, "gfx", version ? 0 : -1, text);
}

/* The processes that have memory of the GPU. Nothing is added where the kernel does not list them. */
static void
add_processes(json_t *gpu, const char *topology, const char *node)
{
	char path[4096], file[FACTS_TEXT_SIZE];
	unsigned long long id = number_in(node, "gpu_id");
	(void)snprintf(path, sizeof(path), "%s/../../proc", topology);
	AUTO_DIR DIR *folder = id ? opendir(path) : NULL;
	json_t *list = folder ? json_array() : NULL;
	const struct dirent *entry;
	while (folder && (entry = readdir(folder)) && json_array_size(list) < FACTS_PROCESSES_SHOWN) {
		(void)snprintf(file, sizeof(file), "%.60s/vram_%llu", entry->d_name, id);
		unsigned long long bytes = entry->d_name[0] > '0' && entry->d_name[0] <= '9' ? number_in(path, file) : 0;
		if (bytes == 0)
			continue;
		json_t *process = json_pack("{s:I}", "pid", (json_int_t)strtoll(entry->d_name, NULL, 10));
		facts_number(process, "memory", bytes);
		json_array_append_new(list, process);
	}
	/* NULL sets nothing. */
	json_object_set_new(gpu, "processes", list);
}

/* ---- the library ---- */

static void
read_metrics(uint32_t index, json_t *gpu)
{
	AUTO_FREE union metrics_room *metrics = xcalloc(1, sizeof(*metrics));
	json_t *clocks = json_object(), *throttle = json_array();
	if (smi.metrics && smi.metrics(index, metrics) == 0 && metrics->head.format == 1) {
		const struct metrics *head = &metrics->head;
		uint16_t celsius = head->hotspot != METRIC_NONE ? head->hotspot : head->edge;
		if (head->gfx_clock != METRIC_NONE)
			facts_number(clocks, "sm", head->gfx_clock);
		if (head->memory_clock != METRIC_NONE)
			facts_number(clocks, "memory", head->memory_clock);
		if (celsius != METRIC_NONE)
			facts_number(gpu, "temperature", celsius);
		if (head->power != METRIC_NONE)
			facts_number(gpu, "power_mw", head->power * UINT64_C(1000));
		/* The meaning of the bits differs from model to model. */
		if (head->throttle != 0 && head->throttle != THROTTLE_NONE)
			json_array_append_new(throttle, json_sprintf("status-%#x", head->throttle));
		if (head->content >= METRICS_CAUSES && head->causes != UINT64_MAX && head->causes & CAUSES_HOT)
			json_array_append_new(throttle, json_string("thermal-hardware"));
	}
	json_object_set_new(gpu, "clocks", clocks);
	json_object_set_new(gpu, "throttle", throttle);
}

/* Set clocks, limits of its power, and the errors that its parts have counted since the driver was loaded. */
static void
read_state(uint32_t index, json_t *gpu)
{
	int level = LEVEL_AUTO;
	uint64_t microwatts = 0, corrected = 0, uncorrected = 0;
	bool counts = false;
	if (smi.level && smi.level(index, &level) == 0)
		json_object_set_new(gpu, "clocks_locked", json_boolean(level != LEVEL_AUTO));
	if (smi.power_limit && smi.power_limit(index, 0, &microwatts) == 0)
		facts_number(gpu, "power_limit_mw", microwatts / 1000);
	if (smi.default_limit && smi.default_limit(index, &microwatts) == 0)
		facts_number(gpu, "power_default_mw", microwatts / 1000);
	for (unsigned i = 0; smi.ecc && i < ECC_BLOCKS; i++) {
		struct error_count errors = {0};
		if (smi.ecc(index, 1 << i, &errors) != 0)
			continue;
		counts = true;
		corrected += errors.corrected;
		uncorrected += errors.uncorrected;
	}
	if (counts) {
		facts_number(gpu, "ecc_corrected", corrected);
		facts_number(gpu, "ecc_uncorrected", uncorrected);
	}
}

static void
read_identity(uint32_t index, const char *topology, json_t *gpu)
{
	char text[FACTS_TEXT_SIZE] = "", node[4096];
	uint64_t id = 0;
	uint32_t render = 0;
	if (smi.name)
		facts_text(gpu, "name", smi.name(index, text, sizeof(text)), text);
	if (smi.unique && smi.unique(index, &id) == 0) {
		(void)snprintf(text, sizeof(text), "GPU-%016llx", (unsigned long long)id);
		facts_text(gpu, "uuid", 0, text);
	}
	if (smi.pci && smi.pci(index, &id) == 0) {
		(void)snprintf(text, sizeof(text), "%04x:%02x:%02x.%x", (unsigned)(id >> 32), (unsigned)(id >> 8 & 0xff),
			(unsigned)(id >> 3 & 0x1f), (unsigned)(id & 7));
		facts_text(gpu, "bus", 0, text);
	}
	if (smi.render && smi.render(index, &render) == 0) {
		facts_number(gpu, "render", render);
		if (!find_node(topology, render, node, sizeof(node)))
			return;
		add_architecture(gpu, node);
		add_processes(gpu, topology, node);
	}
}

static void
read_gpu(uint32_t index, const char *topology, json_t *gpus)
{
	json_t *gpu = json_pack("{s:s, s:i}", "vendor", "amd", "index", (int)index);
	uint64_t bytes = 0;
	char text[FACTS_TEXT_SIZE] = "";
	read_identity(index, topology, gpu);
	if (smi.total && smi.total(index, MEMORY_VRAM, &bytes) == 0)
		facts_number(gpu, "memory", bytes);
	if (smi.used && smi.used(index, MEMORY_VRAM, &bytes) == 0)
		facts_number(gpu, "used", bytes);
	if (smi.version)
		facts_text(gpu, "driver", smi.version(COMPONENT_DRIVER, text, sizeof(text)), text);
	read_metrics(index, gpu);
	read_state(index, gpu);
	json_array_append_new(gpus, gpu);
}

int
rocm_read(const char *library, const char *topology, json_t *gpus, struct kettle_error *err)
{
	uint32_t count = 0;
	int rc = facts_open(library, symbols, ARRAY_SIZE(symbols), err);
	if (rc != 0)
		return rc;
	int code = smi.init(0);
	if (code != 0)
		return kettle_fail(err, KETTLE_EUNAVAIL, "The AMD driver does not respond: rsmi_init returned %d.", code);
	code = smi.count(&count);
	if (code != 0)
		rc = kettle_fail(
			err, KETTLE_EUNAVAIL, "The AMD driver does not respond: rsmi_num_monitor_devices returned %d.", code);
	for (uint32_t i = 0; rc == 0 && i < count && i < FACTS_GPUS_MAX; i++)
		read_gpu(i, topology, gpus);
	(void)smi.shutdown();
	return rc;
}

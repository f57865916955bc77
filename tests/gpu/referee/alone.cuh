// SPDX-License-Identifier: MIT
// The part `alone`: does a kernel notice that another context runs. For pair.cu.
#pragma once

static const int SLICES = 64;

struct Gap {
	unsigned long long largest, least, count, lost;
};
struct Slice {
	unsigned long long at, length;
};

// Reads the clock for ns; gaps above 20 us are counted, and the first block's are written down.
__global__ void
probe_kernel(uint64_t ns, Gap *gaps, Slice *slices)
{
	uint64_t began = device_ns(), last = began;
	Gap mine = {0, ~0ull, 0, 0};
	while (last - began < ns) {
		uint64_t now = device_ns(), gap = now - last;
		if (gap > mine.largest)
			mine.largest = gap;
		if (gap && gap < mine.least)
			mine.least = gap;
		if (gap > 20000) {
			if (blockIdx.x == 0 && mine.count < SLICES) {
				slices[mine.count].at = last - began;
				slices[mine.count].length = gap;
			}
			mine.count++;
			mine.lost += gap;
		}
		last = now;
	}
	gaps[blockIdx.x] = mine;
}

struct Probes {
	std::vector<double> largest, host, length, between, count;
	double least = 1e9;
	int seen = 0;
};

static void
probe_once(int blocks, uint64_t ns, Gap *gaps, Slice *slices, Probes &probes)
{
	std::vector<Gap> found(static_cast<size_t>(blocks));
	Slice kept[SLICES];
	double began = now_us();
	probe_kernel<<<blocks, 1>>>(ns, gaps, slices);
	MUST(cudaGetLastError());
	MUST(cudaDeviceSynchronize());
	probes.host.push_back(now_us() - began);
	MUST(cudaMemcpy(found.data(), gaps, found.size() * sizeof(Gap), cudaMemcpyDeviceToHost));
	MUST(cudaMemcpy(kept, slices, sizeof(kept), cudaMemcpyDeviceToHost));
	double largest = 0;
	for (const Gap &gap : found) {
		largest = std::max(largest, static_cast<double>(gap.largest) / 1e3);
		probes.least = std::min(probes.least, static_cast<double>(gap.least) / 1e3);
	}
	probes.largest.push_back(largest);
	probes.count.push_back(static_cast<double>(found[0].count));
	probes.seen += largest > 20;
	double last = 0;
	for (size_t i = 0; i < std::min<size_t>(found[0].count, SLICES); i++) {
		probes.length.push_back(static_cast<double>(kept[i].length) / 1e3);
		probes.between.push_back(static_cast<double>(kept[i].at) / 1e3 - last);
		last = static_cast<double>(kept[i].at + kept[i].length) / 1e3;
	}
}

static void
say_probes(const std::string &state, double seconds)
{
	static Gap *gaps;
	static Slice *slices;
	static const int sms = attribute(cudaDevAttrMultiProcessorCount);
	if (!gaps) {
		MUST(cudaMalloc(reinterpret_cast<void **>(&gaps), static_cast<size_t>(sms) * sizeof(Gap)));
		MUST(cudaMalloc(reinterpret_cast<void **>(&slices), SLICES * sizeof(Slice)));
	}
	for (int blocks : {1, sms}) {
		Probes probes, ignored;
		std::string key = "alone." + state + (blocks == 1 ? ", one SM." : ", every SM.");
		probe_once(blocks, 3000000, gaps, slices, ignored);
		for (double end = now_us() + seconds * 1e6; now_us() < end && probes.host.size() < 100;)
			probe_once(blocks, 3000000, gaps, slices, probes);
		say(key + "seen", std::to_string(probes.seen) + " of " + std::to_string(probes.host.size()));
		say(key + "least step", number(probes.least));
		say_quantiles(key + "largest gap", probes.largest);
		say_quantiles(key + "gaps a probe", probes.count);
		say_quantiles(key + "gap", probes.length);
		say_quantiles(key + "between gaps", probes.between);
		say_quantiles(key + "probe by the host", probes.host);
	}
}

static void
run_many(int blocks, int threads, uint64_t ns, int times)
{
	for (int i = 0; i < times; i++)
		spin_kernel<<<blocks, threads>>>(ns);
	MUST(cudaGetLastError());
	MUST(cudaDeviceSynchronize());
}

static void
do_mode(uint32_t mode, int sms, void *host, void *device)
{
	if (mode == SHORT)
		run_many(1, 32, 10000, 1);
	else if (mode == QUEUED)
		run_many(1, 32, 10000, 64);
	else if (mode == LONG)
		run_many(1, 32, 20000000, 1);
	else if (mode == WIDE)
		run_many(2 * sms, 1024, 20000000, 1);
	else if (mode == COPIES)
		MUST(cudaMemcpy(device, host, 16 << 20, cudaMemcpyHostToDevice));
	else if (mode == RARE)
		run_many(1, 32, 10000, 1);
	if (mode == RARE || mode == IDLE)
		usleep(1000);
}

static void
keep_busy(int socket)
{
	expect(socket, 'g', static_cast<int>(LIMIT));
	device_open();
	int sms = attribute(cudaDevAttrMultiProcessorCount);
	void *host = nullptr, *device = nullptr;
	MUST(cudaMallocHost(&host, 16 << 20));
	MUST(cudaMalloc(&device, 16 << 20));
	run_many(1, 32, 0, 1);
	tell(socket, 'g');
	for (uint32_t mode; (mode = shared->mode.load()) != STOP;) {
		do_mode(mode, sms, host, device);
		shared->done = mode;
	}
}

static void
part_alone()
{
	Child child = start_best(keep_busy);
	device_open();
	say_probes("no other context", 0.5);
	ask(child.socket, 'g');
	static const struct {
		Mode mode;
		const char *name;
	} states[] = {{IDLE, "idle context"}, {SHORT, "kernels of 10 us"}, {QUEUED, "64 kernels of 10 us queued"},
		{RARE, "a kernel of 10 us each ms"}, {LONG, "kernels of 20 ms"}, {WIDE, "kernels of 20 ms on every SM"},
		{COPIES, "copies to the device"}};
	for (auto &state : states) {
		shared->done = STOP;
		shared->mode = state.mode;
		for (double end = now_us() + 3e6; shared->done != static_cast<uint32_t>(state.mode);)
			if (now_us() > end)
				quit(std::string("the other process does not begin: ") + state.name);
		usleep(5000);
		say_probes(state.name, 0.35);
	}
	shared->mode = QUEUED;
	usleep(30000);
	kill(child.pid, SIGSTOP);
	usleep(20000);
	say_probes("stopped process", 0.35);
	kill(child.pid, SIGCONT);
	shared->mode = STOP;
	await_end(child, WAIT);
	say_probes("after its end", 0.2);
}

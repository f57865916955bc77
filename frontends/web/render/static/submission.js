/* SPDX-License-Identifier: MIT */
/* The page of a submission that is not done: its state, and each test and benchmark as it ends. */
{
	const lines_max = 500, queue_ms = 10000;

	const time = (ns) => {
		const units = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];
		const [unit, size] = units.find(([, size]) => ns >= size) || units[3];
		return `${Number((ns / size).toPrecision(4))} ${unit}`;
	};

	const label = (report) => report.secret ? "secret run" : /^leaderboard/.test(report.step) ? "ranked run" : report.title || report.step;

	/* The line of a case that has ended, from what its run has said until now; null: none has. */
	const line_of = (step, key, results) => {
		const [, kind, index, field] = /^(test|benchmark)\.(\d+)\.(status|worst|error)$/.exec(key) || [];
		const value = (name) => results[`${kind}.${index}.${name}`] || "";
		if (kind !== "test" && kind !== "benchmark" || (kind === "test") !== (field === "status"))
			return null;
		const good = value("status") !== "fail" && !value("error");
		const shown = kind === "benchmark" ? value("error") || time(Number(value("mean"))) : good ? "passed" : "failed";
		const count = results[`${kind}-count`] ? `/${results[`${kind}-count`]}` : "";
		const what = /^leaderboard/.test(step) ? "ranked benchmark" : kind;
		return {good, text: `${what} ${Number(index) + 1}${count}  ${value("spec")}  ${shown}`};
	};

	/* What is said of a job that has ended. */
	const verdict_of = (job) => {
		const rank = job.rank ? `, rank ${job.rank} of ${job.of}` : "";
		return `${job.device}: ${job.state.replace("_", " ")}${rank}.`;
	};

	const follow = (section) => {
		const steps = document.getElementById("steps"), results = {}, shown = new Set();
		const places = () => Array.from(section.querySelectorAll("[data-device]"));
		let ended = false;
		const say = (device, text) => {
			for (const place of places())
				if (place.dataset.device === device)
					place.textContent = text;
		};
		const add = (device, good, text) => {
			const line = document.createElement("li"), sign = document.createElement("span");
			const whole = places().length > 1 ? `${device}: ${text}` : text;
			if (shown.has(whole) || shown.size === lines_max)
				return;
			shown.add(whole);
			const at_end = steps.scrollTop + steps.clientHeight >= steps.scrollHeight - 4;
			sign.className = good ? "good" : "bad";
			sign.textContent = good ? "✓ " : "✗ ";
			line.append(sign, whole);
			steps.append(line);
			if (at_end)
				steps.scrollTop = steps.scrollHeight;
		};
		const handlers = {
			step(device, report) {
				if (report.state === "running" || !report.cached)
					say(device, `${report.state === "running" ? "running " : ""}${label(report)}`);
			},
			result(device, report) {
				const said = results[`${device} ${report.step}`] ||= {};
				said[report.key] = report.value;
				const line = line_of(report.step, report.key, said);
				if (!line)
					return;
				say(device, `running ${label(report)}`);
				add(device, line.good, line.text);
			},
			outcome(device, report) {
				const outcome = report.outcome || report;
				if (!["passed", "skipped", "cancelled"].includes(outcome.state))
					add(device, false, `${label(outcome)}: ${outcome.state}`);
			},
		};
		/* Earlier jobs, before a rerun, are told of again. */
		const is_here = ({job}) => places().some((place) => Number(place.dataset.job) === job);
		const event = ({kind, data}) => {
			if (kind.startsWith("job.") && is_here(data))
				say(data.device, kind === "job.started" ? "started" : kind === "job.done" ? data.state.replace("_", " ") : "back in the queue: it is tried again");
			if (ended || !kind.startsWith("submission.") || !(data.jobs || []).some(is_here) || kind === "submission.rerun")
				return;
			ended = true;
			document.getElementById("verdict").textContent = data.jobs.filter((job) => job.state).map(verdict_of).join(" ");
			setTimeout(() => location.reload(), 1000); /* after a screen reader has begun to say it */
		};
		steps.hidden = false;
		setInterval(() => { /* no event says how a queue moves */
			if (!ended && !document.hidden && places().some((place) => place.textContent.startsWith("queued")))
				kettle.renew();
		}, queue_ms);
		kettle.events(`submission=${section.dataset.submission}&after=0`, {
			event,
			progress: ({device, event: report}) => handlers[report.event]?.(device, report),
			async reset() {
				const page = await fetch(location.href);
				if (!(await page.text()).includes('data-submission="'))
					location.reload();
			},
		});
	};

	document.addEventListener("DOMContentLoaded", () => {
		const section = document.querySelector("[data-submission]");
		if (section)
			follow(section);
	});
}

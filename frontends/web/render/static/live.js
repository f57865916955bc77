/* SPDX-License-Identifier: MIT */
/* Charts of scores over time, from the rows of their tables, and countdowns. */
const charts = {
	/* Seconds in a readable unit. */
	seconds(value) {
		const [unit, scale] = [["ns", 1e9], ["µs", 1e6], ["ms", 1e3]].find(([, scale]) => value * scale < 1000) || ["s", 1];
		return `${Number((value * scale).toPrecision(3))} ${unit}`;
	},

	/* A time in UTC, as short as its distance to others (ms) allows. */
	time(ms, distance) {
		const text = new Date(ms).toISOString();
		return distance >= 86400000 ? text.slice(0, 10) : text.slice(distance < 60000 ? 14 : 11, distance < 60000 ? 19 : 16);
	},

	/* The points of a table's rows, the oldest first, and one at the end of time. */
	points(table, end) {
		const points = Array.from(table.tBodies[0].rows, (row) => ({x: Date.parse(row.dataset.time), y: Number(row.dataset.score),
			text: `${row.dataset.who}: ${row.querySelector("td.number").textContent}`})).reverse();
		return points.concat({x: Math.max(end, points[points.length - 1].x), y: points[points.length - 1].y});
	},

	/* Marks of an axis of time at round times. */
	ticks(axis) {
		const minute = 60000, day = 1440 * minute;
		const step = [1000, 10000, minute, 5 * minute, 15 * minute, 60 * minute, 180 * minute, 720 * minute, day, 2 * day, 7 * day, 28 * day, 91 * day]
			.find((step) => (axis.max - axis.min) / step <= Math.max(2, axis.width / 110)) || 364 * day;
		axis.ticks = [];
		for (let at = Math.ceil(axis.min / step) * step; at <= axis.max; at += step)
			axis.ticks.push({value: at, label: charts.time(at, step)});
	},

	/* Of a logarithmic axis, marks at 1, 2 and 5. */
	decades(axis) {
		axis.ticks = axis.ticks.filter(({value}) => /^[125]\.00e/.test(value.toExponential(2)));
	},

	options(style, points, several) {
		const [line, text] = ["--line", "--quiet"].map((name) => style.getPropertyValue(name));
		const scores = points.map((point) => point.y), lowest = Math.min(...scores);
		const axis = {grid: {color: line, borderColor: line}, title: {display: true, color: text}};
		const wide = lowest > 0 && Math.max(...scores) / lowest > 10;
		return {
			animation: false, maintainAspectRatio: false, interaction: {mode: "nearest", intersect: false},
			scales: {
				x: {...axis, type: "linear", bounds: "data", afterBuildTicks: charts.ticks, title: {...axis.title, text: "UTC"},
					ticks: {color: text, maxRotation: 0, callback: (value, index, ticks) => ticks[index].label}},
				y: {...axis, type: wide ? "logarithmic" : "linear", min: wide ? lowest / 1.2 : undefined, afterBuildTicks: wide && charts.decades, title: {...axis.title, text: wide ? "score (logarithmic)" : "score"},
					ticks: {color: text, callback: charts.seconds}},
			},
			plugins: {
				legend: {display: several, labels: {color: text, usePointStyle: true, boxHeight: 7}},
				tooltip: {filter: (item) => item.raw.text, callbacks: {
					title: ([item]) => item && new Date(item.raw.x).toISOString().slice(0, 16).replace("T", " ") + " UTC",
					label: (item) => item.raw.text}},
			},
		};
	},

	draw(canvas, end) {
		const style = getComputedStyle(document.documentElement);
		const marks = ["circle", "rect", "triangle", "rectRot", "star", "crossRot"];
		const tables = canvas.closest("section").querySelectorAll("table[data-line]");
		const sets = Array.from(tables, (table, i) => {
			const data = charts.points(table, end), color = style.getPropertyValue(`--line-${i % marks.length + 1}`);
			return {label: table.dataset.line, data, stepped: true, borderColor: color, backgroundColor: color, borderWidth: i ? 1.5 : 2.5,
				borderDash: i ? [6, 3] : [], pointStyle: marks[i % marks.length], pointRadius: data.map((point) => point.text ? 4 : 0)};
		});
		new Chart(canvas, {type: "line", data: {datasets: sets}, options: charts.options(style, sets.flatMap((set) => set.data), sets.length > 1)});
	},

	all() {
		const until = Date.parse(document.getElementById("trend")?.dataset.deadline);
		Object.values(Chart.instances).forEach((chart) => chart.destroy()); /* of other colours, or of rows that have changed */
		for (const canvas of document.querySelectorAll(".chart canvas"))
			charts.draw(canvas, Math.min(Date.now(), until || Infinity));
	},

	start() {
		if (typeof Chart === "undefined")
			return;
		charts.all();
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", charts.all);
		document.addEventListener("kettle:renewed", charts.all);
	},
};
document.addEventListener("DOMContentLoaded", charts.start);

/* Counts down to the time of elements with data-until. */
function count_down() {
	for (const time of document.querySelectorAll("time[data-until]")) {
		const left = Math.max(0, Math.floor((Date.parse(time.dateTime) - Date.now()) / 1000)), days = Math.floor(left / 86400);
		const clock = [left / 3600 % 24, left / 60 % 60, left % 60].map((part) => String(Math.floor(part)).padStart(2, "0")).join(":");
		time.textContent = days ? `in ${days} d ${clock}` : `in ${clock}`;
	}
}
document.addEventListener("DOMContentLoaded", () => {
	if (!document.querySelector("time[data-until]"))
		return;
	count_down();
	setInterval(count_down, 1000);
	document.addEventListener("kettle:renewed", count_down);
});

// SPDX-License-Identifier: GPL-2.0-only
"use strict";
const causes = JSON.parse(document.getElementById("data").textContent);
const canvas = document.getElementById("chart");
const details = document.getElementById("details");
const MARGIN = { left: 64, right: 12, top: 10, bottom: 26 };
const hidden = new Set();
let places = [];

const count = (nr, what) => `${nr} ${what}${nr === 1 ? "" : "s"}`;

/* Neighbours differ most. */
const colour = (i) => `hsl(${(i * 137.5) % 360} 60% 50%)`;

function formatTime(ns) {
	for (const [scale, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]]) {
		if (ns >= scale)
			return Number((ns / scale).toPrecision(3)) + unit;
	}
	return `${Math.round(ns)}ns`;
}

function formatDate(ms) {
	return ms ? new Date(ms).toLocaleString() : "unknown";
}

/* As the kernel writes lists of CPUs. */
function formatCpus(cpus) {
	const ranges = [];
	for (const cpu of cpus) {
		const last = ranges.at(-1);
		if (last && last[1] === cpu - 1)
			last[1] = cpu;
		else
			ranges.push([cpu, cpu]);
	}
	return ranges.map(([first, last]) => (first === last ? first : `${first}-${last}`)).join(",");
}

/* The range of all points, a bit wider. */
function bounds() {
	const points = causes.flatMap((cause) => cause.points.filter((point) => point[0]));
	const range = (at) => points.reduce(([low, high], point) => [Math.min(low, point[at]), Math.max(high, point[at])], [Infinity, 0]);
	const [first, last] = range(0), [least, most] = range(1);
	return { first, last: Math.max(last, first + 1000), least: Math.log(Math.max(least, 1) * 0.8), most: Math.log(Math.max(most, 1) * 1.25) };
}

function drawAxes(context, box, width, height, text, line) {
	context.fillStyle = text;
	context.strokeStyle = line;
	context.font = "12px system-ui, sans-serif";
	context.textAlign = "right";
	for (let step = 0; step <= 4; step++) {
		const y = MARGIN.top + (height - MARGIN.top - MARGIN.bottom) * step / 4;
		context.beginPath();
		context.moveTo(MARGIN.left, y);
		context.lineTo(width - MARGIN.right, y);
		context.stroke();
		context.fillText(formatTime(Math.round(Math.exp(box.most - (box.most - box.least) * step / 4))), MARGIN.left - 6, y + 4);
	}
	context.textAlign = "left";
	context.fillText(formatDate(box.first), MARGIN.left, height - 8);
	context.textAlign = "right";
	context.fillText(formatDate(box.last), width - MARGIN.right, height - 8);
}

function draw() {
	const context = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
	const width = canvas.clientWidth, height = canvas.clientHeight, scale = window.devicePixelRatio || 1;
	const box = bounds();
	canvas.width = width * scale;
	canvas.height = height * scale;
	context.scale(scale, scale);
	places = [];
	if (!Number.isFinite(box.first))
		return;
	drawAxes(context, box, width, height, style.getPropertyValue("--dim"), style.getPropertyValue("--line"));
	causes.forEach((cause, i) => {
		context.fillStyle = colour(i);
		for (const point of hidden.has(i) ? [] : cause.points) {
			if (!point[0])
				continue;
			const x = MARGIN.left + (width - MARGIN.left - MARGIN.right) * (point[0] - box.first) / (box.last - box.first);
			const y = MARGIN.top + (height - MARGIN.top - MARGIN.bottom) * (box.most - Math.log(Math.max(point[1], 1))) / (box.most - box.least);
			context.beginPath();
			context.arc(x, y, 3, 0, 2 * Math.PI);
			context.fill();
			places.push({ x, y, cause, point });
		}
	});
}

function tell(event) {
	let nearest = null, best = 12 * 12;
	for (const place of places) {
		const distance = (place.x - event.offsetX) ** 2 + (place.y - event.offsetY) ** 2;
		if (distance < best)
			[nearest, best] = [place, distance];
	}
	if (!nearest)
		return;
	const [time, latency, cpu, host, path] = nearest.point;
	details.textContent = `${nearest.cause.fingerprint}: ${formatTime(latency)} at ${formatDate(time)}, ${host || "unknown host"}, CPU ${cpu}: ${path}`;
}

function cell(row, text, name) {
	const element = row.appendChild(document.createElement("td"));
	element.textContent = text;
	element.className = name || "";
	return element;
}

function toggle(row, i) {
	if (!hidden.delete(i))
		hidden.add(i);
	for (const element of [row, row.nextSibling])
		element.classList.toggle("off", hidden.has(i));
	row.setAttribute("aria-pressed", String(!hidden.has(i)));
	draw();
}

function addRow(table, cause, i) {
	const row = table.appendChild(document.createElement("tr"));
	const dot = document.createElement("span");
	const name = cell(row, cause.fingerprint, "name dot");
	dot.style.background = colour(i);
	name.prepend(dot);
	if (cause.state)
		cell(row, cause.state, cause.state);
	for (const text of [cause.count, `${cause.share.toFixed(1)}%`, formatTime(cause.worst_ns), formatTime(cause.p50_ns),
		formatDate(cause.first_ns / 1e6), formatDate(cause.last_ns / 1e6), cause.hosts.length, formatCpus(cause.cpus)])
		cell(row, text);
	row.className = "link";
	row.tabIndex = 0;
	row.setAttribute("role", "button");
	row.addEventListener("click", () => toggle(row, i));
	row.addEventListener("keydown", (event) => {
		if (event.key === "Enter" || event.key === " ") {
			event.preventDefault();
			toggle(row, i);
		}
	});
	const why = addElement(table, "tr", "", "why");
	cell(why, `worst: ${cause.sentence} (${cause.example})`).colSpan = row.cells.length;
}

function addTable() {
	const table = document.getElementById("causes"), head = table.appendChild(document.createElement("tr"));
	const titles = ["cause", "count", "share", "worst", "p50", "first seen", "last seen", "hosts", "CPUs"];
	if (causes.some((cause) => cause.state))
		titles.splice(1, 0, "state");
	for (const title of titles) {
		const element = head.appendChild(document.createElement("th"));
		element.textContent = title;
		if (title === "cause")
			element.className = "name";
	}
	causes.forEach((cause, i) => addRow(table, cause, i));
}

function addElement(parent, tag, text, name) {
	const element = parent.appendChild(document.createElement(tag));
	element.textContent = text || "";
	element.className = name || "";
	return element;
}

function addTitle() {
	const total = causes.reduce((sum, cause) => sum + cause.count, 0);
	const parts = [`${count(causes.length, "cause")} of ${count(total, "capture")}`];
	for (const state of ["new", "worse"]) {
		const nr = causes.filter((cause) => cause.state === state).length;
		if (nr)
			parts.push(`${nr} ${state}`);
	}
	document.getElementById("title").textContent = parts.join(", ");
}

addTitle();
addTable();
draw();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
canvas.addEventListener("pointermove", tell);
window.addEventListener("resize", draw);

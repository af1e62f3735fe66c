// SPDX-License-Identifier: GPL-2.0-only
"use strict";
const causes = JSON.parse(document.getElementById("data").textContent);
const canvas = document.getElementById("chart");
const details = document.getElementById("details");
const CAPTURES = 200; // of a cause
const DATE_WIDTH = 170; // pixels
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

/* Local time, as causes and list print it. */
function formatDate(ms) {
	if (!ms)
		return "unknown";
	const date = new Date(ms), two = (number) => String(number).padStart(2, "0");
	return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
		`${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
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

/* 1, 2 and 5 of each power of ten, or powers of ten if these are many. */
function roundTimes(box) {
	const times = [], steps = box.most - box.least > Math.log(2000) ? [1] : [1, 2, 5];
	for (let power = 1; Math.log(power) < box.most; power *= 10)
		times.push(...steps.map((step) => step * power));
	return times.filter((ns) => Math.log(ns) >= box.least && Math.log(ns) <= box.most);
}

function drawAxes(context, box, width, height, text, line) {
	context.fillStyle = text;
	context.strokeStyle = line;
	context.font = "12px system-ui, sans-serif";
	context.textAlign = "right";
	for (const ns of roundTimes(box)) {
		const y = MARGIN.top + (height - MARGIN.top - MARGIN.bottom) * (box.most - Math.log(ns)) / (box.most - box.least);
		context.beginPath();
		context.moveTo(MARGIN.left, y);
		context.lineTo(width - MARGIN.right, y);
		context.stroke();
		context.fillText(formatTime(ns), MARGIN.left - 6, y + 4);
	}
	const wide = width - MARGIN.left - MARGIN.right, dates = Math.max(Math.floor(wide / DATE_WIDTH), 2);
	for (let n = 0; n < dates; n++) {
		const part = n / (dates - 1), text = formatDate(box.first + part * (box.last - box.first));
		context.textAlign = n === 0 ? "left" : n === dates - 1 ? "right" : "center";
		context.fillText(2 * DATE_WIDTH > wide ? text.slice(5, 16) : text, MARGIN.left + part * wide, height - 8);
	}
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
	const [time, latency, cpu, host, path, link] = nearest.point;
	details.textContent = `${nearest.cause.fingerprint}: ${formatTime(latency)} at ${formatDate(time)}, ${host || "unknown host"}, CPU ${cpu}: `;
	addLink(details, path, link);
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
	const why = addElement(table, "tr", "", "why"), about = document.createElement("div");
	about.textContent = `worst: ${cause.sentence} `;
	cell(why, "").append(about);
	why.cells[0].colSpan = row.cells.length;
	addLink(about, cause.example, cause.points.find((point) => point[4] === cause.example)[5]);
	addCaptures(about, cause);
}

/* To a file or folder: its path from this page, or from the root. */
function addLink(parent, text, path) {
	const element = addElement(parent, "a", text);
	element.href = (path.startsWith("/") ? "file://" : "") + path.split("/").map(encodeURIComponent).join("/");
}

/* The newest first. */
function addCaptures(parent, cause) {
	const list = addElement(parent, "details", "");
	addElement(list, "summary", count(cause.count, "capture"));
	for (const [time, latency, cpu, , path, link] of [...cause.points].sort((a, b) => b[0] - a[0]).slice(0, CAPTURES)) {
		const line = addElement(list, "div", `${formatDate(time)}, ${formatTime(latency)} on CPU ${cpu}: `);
		addLink(line, path, link);
	}
	if (cause.count > CAPTURES)
		addElement(list, "div", `and ${cause.count - CAPTURES} more`);
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

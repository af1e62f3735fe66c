// SPDX-License-Identifier: GPL-2.0-only
// The page of `export --html`. All text from the capture goes into the page as text, never as markup.
"use strict";
const byId = (id) => document.getElementById(id);

const format = (ns) => {
	for (const [scale, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]]) {
		if (Math.abs(ns) >= scale) return Number((ns / scale).toPrecision(4)) + unit;
	}
	return Math.round(ns) + "ns";
};

// A row calls `find` with its cells.
const fillTable = (id, heads, rows, find) => {
	const table = byId(id);
	const add = (parent, tag, text, first) => {
		const cell = document.createElement(tag);
		cell.textContent = text;
		if (first) cell.className = "name";
		parent.append(cell);
	};
	const head = table.createTHead().insertRow();
	heads.forEach((text, n) => add(head, "th", text, !n));
	const body = table.createTBody();
	for (const cells of rows) {
		const row = body.insertRow();
		cells.forEach((text, n) => add(row, "td", text, !n || id === "facts"));
		if (!find) continue;
		row.className = "link";
		row.tabIndex = 0;
		row.addEventListener("click", () => find(cells));
		row.addEventListener("keydown", (event) => event.key === "Enter" && find(cells));
	}
};

(() => {
	const report = JSON.parse(byId("report").textContent);
	const chart = JSON.parse(byId("chart-data").textContent);
	const ROW = 17, AXIS = 22, TITLE = 14, GAP = 2, KINDS = chart.kinds, LANES = chart.lanes;
	const IDLE = KINDS.indexOf("idle");

	// A span is six numbers, of which the first is its begin after the one before.
	const decode = (lane) => {
		const text = lane.data, nr = lane.spans;
		const begin = new Float64Array(nr), end = new Float64Array(nr), insns = new Float64Array(nr), cycles = new Float64Array(nr);
		const name = new Uint32Array(nr), depth = new Uint32Array(nr), flags = new Uint8Array(nr);
		let at = 0, time = 0, deepest = 0;
		const next = () => {
			let value = 0, digit;
			while ((digit = text.charCodeAt(at++) - 48) >= 0) value = 10 * value + digit;
			return value;
		};
		for (let i = 0; i < nr; i++) {
			time += next();
			begin[i] = time;
			end[i] = time + next();
			name[i] = next();
			const packed = next();
			flags[i] = packed & 63;
			depth[i] = packed >>> 6;
			insns[i] = next();
			cycles[i] = next();
			if (depth[i] > deepest) deepest = depth[i];
		}
		// Of each depth, in order of time: they do not overlap.
		const counts = new Uint32Array(deepest + 2);
		for (let i = 0; i < nr; i++) counts[depth[i] + 1]++;
		for (let i = 0; i <= deepest; i++) counts[i + 1] += counts[i];
		const order = new Uint32Array(nr), fill = counts.slice();
		for (let i = 0; i < nr; i++) order[fill[depth[i]]++] = i;
		const rows = [];
		for (let i = 0; nr && i <= deepest; i++) rows.push(order.subarray(counts[i], counts[i + 1]));
		return { title: lane.title, begin, end, insns, cycles, name, depth, flags, rows, nr };
	};

	const lanes = LANES.map(decode).filter((lane) => lane.nr);
	const kindOf = (lane, i) => lane.flags[i] & 15;
	const isCut = (lane, i) => Boolean(lane.flags[i] & 16);
	const total = chart.end;
	const spike = chart.spike, expected = chart.expected, isLate = spike > expected;
	const canvas = byId("chart"), context = canvas.getContext("2d", { alpha: false });
	const view = { from: 0, to: total || 1, top: 0 };
	let colors = {}, height = 0, width = 0, selected = null, matches = null, matchAt = -1, queued = false;

	const readColors = () => {
		const style = getComputedStyle(document.documentElement);
		for (const name of ["page", "text", "dim", "line", "late", "label", "faint", "bar"]) colors[name] = style.getPropertyValue("--" + name).trim();
		colors.dark = matchMedia("(prefers-color-scheme: dark)").matches;
		colors.kind = KINDS.map((kind) => ({ "interrupt": "#f4a259", "softirq": "#f2cf63", "NMI": "#e4572e", "exception": "#d98cb3",
			"idle": "#b9c0c8", "thread": "#9fb8ad", "not traced": "#a7a7a7", "lost": "#8d8d8d", "interrupts off": "#ef8a80",
			"system call": "#9cc5a1" })[kind]);
		colors.name = null;
	};
	// Functions by their name, so that one has the same color everywhere.
	const nameColors = () => {
		colors.name = chart.names.map((name) => {
			let hash = 2166136261;
			for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
			const hue = 190 + ((hash >>> 8) & 63);
			return `hsl(${hue} ${35 + ((hash >>> 16) & 15)}% ${colors.dark ? 62 : 72}%)`;
		});
	};
	const colorOf = (lane, i) => colors.kind[kindOf(lane, i)] || colors.name[lane.name[i]];

	const toX = (at) => (at - view.from) / (view.to - view.from) * width;
	const toTime = (x) => view.from + x / width * (view.to - view.from);
	const heightOf = (lane) => TITLE + lane.rows.length * ROW + GAP;
	const contentHeight = () => AXIS + lanes.reduce((sum, lane) => sum + heightOf(lane), 0);

	// The first of a row that ends after a time.
	const firstAfter = (lane, row, at) => {
		let low = 0, high = row.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (lane.end[row[middle]] < at) low = middle + 1;
			else high = middle;
		}
		return low;
	};

	const drawLabel = (text, x, y, room) => {
		if (room < 24) return;
		const fits = Math.floor((room - 6) / 6.6);
		context.fillText(text.length > fits ? text.slice(0, Math.max(fits - 1, 1)) + "\u2026" : text, x + 3, y + 12);
	};

	const drawRow = (lane, row, y) => {
		let drawn = -1;
		for (let n = firstAfter(lane, row, view.from); n < row.length; n++) {
			const i = row[n];
			if (lane.begin[i] > view.to) break;
			const x = Math.max(toX(lane.begin[i]), 0), right = Math.min(toX(lane.end[i]), width);
			// What is narrower than what is there already is not seen.
			if (right <= drawn) continue;
			const wide = Math.max(right - x, 1);
			const hit = matches && matches.has(lane.name[i]);
			context.fillStyle = matches && !hit ? colors.faint : colorOf(lane, i);
			context.fillRect(x, y, wide > 3 ? wide - 0.5 : wide, ROW - 1);
			if (wide > 24) {
				context.fillStyle = matches && !hit ? colors.dim : colors.label;
				drawLabel(chart.names[lane.name[i]], x, y, wide);
			}
			drawn = Math.max(drawn, Math.floor(x) + 1, right - 0.5);
		}
	};

	const drawAxis = () => {
		const span = view.to - view.from;
		const rough = span / Math.max(width / 110, 1);
		const power = Math.pow(10, Math.floor(Math.log10(rough)));
		const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) || power * 10;
		context.fillStyle = colors.page;
		context.fillRect(0, 0, width, AXIS);
		context.fillStyle = colors.dim;
		context.strokeStyle = colors.line;
		context.beginPath();
		let lastLabel = 0;
		for (let at = Math.ceil((view.from - spike) / step) * step; at + spike <= view.to; at += step) {
			const x = Math.round(toX(at + spike)) + 0.5;
			context.moveTo(x, AXIS - 5);
			context.lineTo(x, AXIS);
			const text = Math.abs(at) < step / 2 ? "spike" : format(at), room = context.measureText(text).width;
			// At the right edge, to the left of its tick.
			const cut = x + 3 + room > width;
			if (cut && x - 3 - room < lastLabel) continue;
			context.fillText(text, cut ? x - 3 - room : x + 3, 13);
			lastLabel = cut ? width : x + 3 + room;
		}
		context.stroke();
	};

	const shadeLate = () => {
		context.fillStyle = colors.late;
		context.globalAlpha = 0.12;
		context.fillRect(toX(expected), 0, toX(spike) - toX(expected), height);
		context.globalAlpha = 1;
	};
	const markLate = () => {
		const x = toX(expected), right = toX(spike);
		context.fillStyle = colors.late;
		context.fillRect(Math.round(x), 0, 1, height);
		context.fillRect(Math.round(right), 0, 1, height);
		if (right - x > 80) context.fillText(chart.late, Math.max(x, 0) + 4, height - 6);
	};

	const draw = () => {
		queued = false;
		if (!colors.name) nameColors();
		context.fillStyle = colors.page;
		context.fillRect(0, 0, width, height);
		if (isLate) shadeLate();
		context.font = "11px ui-monospace, monospace";
		let y = AXIS - view.top;
		for (const lane of lanes) {
			context.fillStyle = colors.dim;
			context.fillText(lane.title, 3, y + TITLE - 4);
			y += TITLE;
			for (const row of lane.rows) {
				if (y > AXIS - ROW && y < height) drawRow(lane, row, y);
				y += ROW;
			}
			y += GAP;
		}
		if (selected) drawSelected();
		if (isLate) markLate();
		drawAxis();
		if (!document.body.dataset.painted) {
			document.body.dataset.painted = Math.round(performance.now());
			document.body.dataset.spans = lanes.reduce((sum, lane) => sum + lane.nr, 0);
		}
	};
	const redraw = () => {
		if (!queued) requestAnimationFrame(draw);
		queued = true;
	};

	const drawSelected = () => {
		let y = AXIS - view.top;
		for (const lane of lanes) {
			if (lane === selected.lane) {
				const i = selected.i, x = toX(lane.begin[i]);
				context.strokeStyle = colors.text;
				context.lineWidth = 2;
				context.strokeRect(x, y + TITLE + lane.depth[i] * ROW, Math.max(toX(lane.end[i]) - x, 2), ROW - 1);
				context.lineWidth = 1;
			}
			y += heightOf(lane);
		}
	};

	const pick = (x, y) => {
		let top = AXIS - view.top;
		for (const lane of lanes) {
			const row = lane.rows[Math.floor((y - top - TITLE) / ROW)];
			if (y >= top + TITLE && row && y >= AXIS) {
				// A pixel is wide enough to be hit.
				const slack = (view.to - view.from) / width, at = toTime(x);
				const n = firstAfter(lane, row, at - slack);
				return n < row.length && lane.begin[row[n]] <= at + slack ? { lane, i: row[n] } : null;
			}
			top += heightOf(lane);
		}
		return null;
	};

	const pathOf = (lane, i) => {
		const path = [];
		for (let depth = lane.depth[i], n = i; n >= 0 && depth > 0; n--) {
			if (lane.depth[n] === depth - 1) {
				path.push(chart.names[lane.name[n]]);
				depth--;
			}
		}
		return path;
	};

	const tell = () => {
		const details = byId("details");
		details.textContent = "";
		if (!selected) return;
		const { lane, i } = selected, parts = [];
		const line = (text, bold) => {
			const element = document.createElement(bold ? "strong" : "div");
			element.textContent = text;
			details.append(element);
		};
		const source = chart.sources[lane.name[i]];
		line(chart.names[lane.name[i]] + (source ? `, ${source}` : ""), true);
		parts.push(`${lane.title}, ${KINDS[kindOf(lane, i)]}`);
		parts.push(`${isCut(lane, i) ? "at least " : ""}${format(lane.end[i] - lane.begin[i])}, from ${format(lane.begin[i] - spike)}`);
		if (lane.insns[i]) parts.push(`${lane.insns[i]} instructions`);
		if (lane.cycles[i]) parts.push(`${lane.cycles[i]} cycles, ${(lane.insns[i] / lane.cycles[i]).toFixed(2)} instructions a cycle`);
		line(parts.join("; "));
		const path = pathOf(lane, i);
		if (path.length) line("in " + path.join(" < "));
	};

	const select = (what) => {
		selected = what;
		tell();
		redraw();
	};

	const setView = (from, to) => {
		const span = Math.min(Math.max(to - from, 2), total * 1.1 || 2);
		const middle = Math.min(Math.max((from + to) / 2, -total * 0.05), total * 1.05);
		view.from = middle - span / 2;
		view.to = middle + span / 2;
		redraw();
	};
	const zoom = (factor, x) => {
		const at = toTime(x === undefined ? width / 2 : x);
		setView(at - (at - view.from) * factor, at + (view.to - at) * factor);
	};
	const scroll = (rows) => {
		view.top = Math.min(Math.max(view.top + rows, 0), Math.max(contentHeight() - height, 0));
		redraw();
	};
	const fit = ({ lane, i }) => {
		const wide = Math.max(lane.end[i] - lane.begin[i], 10);
		setView(lane.begin[i] - wide * 0.1, lane.end[i] + wide * 0.1);
	};
	const showRow = ({ lane, i }) => {
		let y = AXIS;
		for (const other of lanes) {
			if (other === lane) break;
			y += heightOf(other);
		}
		y += TITLE + lane.depth[i] * ROW;
		if (y - view.top < AXIS || y - view.top > height - ROW) scroll(y - height / 2 - view.top);
	};
	const whileLate = () => {
		const wide = Math.max(spike - expected, 10);
		setView(expected - wide * 0.25, spike + wide * 0.1);
	};

	const search = (text) => {
		const wanted = text.trim().toLowerCase();
		matches = null;
		matchAt = -1;
		byId("found").textContent = "";
		if (wanted) {
			matches = new Set();
			chart.names.forEach((name, n) => name.toLowerCase().includes(wanted) && matches.add(n));
			let nr = 0, time = 0;
			for (const lane of lanes) {
				// What is in one that is found already is not counted again.
				let until = -1;
				for (let i = 0; i < lane.nr; i++) {
					if (!matches.has(lane.name[i])) continue;
					nr++;
					time += Math.max(lane.end[i] - Math.max(lane.begin[i], until), 0);
					until = Math.max(until, lane.end[i]);
				}
			}
			byId("found").textContent = nr ? `${nr} found, ${format(time)}` : "nothing found";
		}
		redraw();
	};
	const nextMatch = () => {
		if (!matches || !matches.size) return;
		const all = lanes.reduce((sum, lane) => sum + lane.nr, 0);
		for (let step = 1; step <= all; step++) {
			let at = (matchAt + step) % all;
			const wrapped = at;
			for (const lane of lanes) {
				if (at < lane.nr) {
					if (matches.has(lane.name[at])) {
						matchAt = wrapped;
						select({ lane, i: at });
						fit(selected);
						showRow(selected);
						return;
					}
					break;
				}
				at -= lane.nr;
			}
		}
	};

	// Both axes are logarithmic: a single spike among millions shows.
	const histogram = chart.histogram, picture = byId("histogram"), paper = picture.getContext("2d", { alpha: false });
	const LEFT = 52, BOTTOM = 20, TOP = 18;
	const scaleOf = () => {
		const rows = histogram.rows, last = rows[rows.length - 1];
		const from = Math.max(rows[0][0], rows[0][1] === null ? 1 : rows[0][1] / 2, 1);
		const to = Math.max(last[1] === null ? histogram.max : last[1], histogram.latency || 0, 2 * from);
		const most = rows.reduce((found, row) => Math.max(found, row[2]), 1);
		const wide = picture.clientWidth - LEFT - 8, high = picture.clientHeight - TOP - BOTTOM;
		return {
			from, to, most, high,
			x: (ns) => LEFT + Math.log(Math.max(ns, from) / from) / Math.log(to / from) * wide,
			// One is a step above none.
			y: (count) => TOP + high * (1 - (count ? Math.log10(count) + 0.3 : 0) / (Math.log10(most) + 0.3)),
			value: (x) => from * Math.pow(to / from, (x - LEFT) / wide),
		};
	};
	const inRow = (row, ns) => ns !== null && ns >= row[0] && (row[1] === null || ns < row[1]);
	const drawLatencies = () => {
		const scale = devicePixelRatio || 1, wide = picture.clientWidth, high = picture.clientHeight, to = scaleOf();
		picture.width = Math.round(wide * scale);
		picture.height = Math.round(high * scale);
		paper.setTransform(scale, 0, 0, scale, 0, 0);
		paper.fillStyle = colors.page;
		paper.fillRect(0, 0, wide, high);
		paper.font = "11px ui-monospace, monospace";
		const base = to.y(0);
		for (let count = 1; count <= to.most; count *= 10) {
			paper.fillStyle = colors.faint;
			paper.fillRect(LEFT, Math.round(to.y(count)), wide - LEFT - 8, 1);
			paper.fillStyle = colors.dim;
			paper.textAlign = "right";
			paper.fillText(count < 1e4 ? count : count.toExponential().replace("+", ""), LEFT - 5, to.y(count) + 4);
		}
		paper.textAlign = "center";
		for (let ns = 1; ns <= to.to; ns *= 10) {
			if (ns < to.from) continue;
			paper.fillRect(Math.round(to.x(ns)), base, 1, 4);
			paper.fillText(format(ns), Math.min(to.x(ns), wide - 24), high - 5);
		}
		for (const row of histogram.rows) {
			if (!row[2]) continue;
			const x = to.x(row[0]), right = to.x(row[1] === null ? to.to : row[1]), y = to.y(row[2]);
			paper.fillStyle = inRow(row, histogram.latency) ? colors.late : colors.bar;
			paper.fillRect(x, y, Math.max(right - x - 1, 2), base - y);
		}
		paper.fillStyle = colors.line;
		paper.fillRect(LEFT, base, wide - LEFT - 8, 1);
		const mark = (ns, text, color, dashed) => {
			const x = Math.round(to.x(ns)), room = paper.measureText(text).width + 6;
			paper.strokeStyle = paper.fillStyle = color;
			paper.setLineDash(dashed ? [3, 3] : []);
			paper.beginPath();
			paper.moveTo(x + 0.5, dashed ? TOP : 2);
			paper.lineTo(x + 0.5, base);
			paper.stroke();
			paper.setLineDash([]);
			paper.textAlign = x - room > LEFT ? "right" : "left";
			paper.fillText(text, x - room > LEFT ? x - 4 : x + 5, dashed ? TOP + 11 : 12);
		};
		if (histogram.threshold >= to.from && histogram.threshold <= to.to) mark(histogram.threshold, "threshold", colors.dim, true);
		if (histogram.latency !== null) mark(histogram.latency, `this spike, ${format(histogram.latency)}`, colors.late, false);
	};
	const tellLatencies = () => {
		byId("latencies").hidden = !histogram;
		if (!histogram) return;
		const of = histogram.cpu === null ? "all CPUs" : `CPU ${histogram.cpu}`;
		byId("latencies_title").textContent = `Latencies up to this spike, of ${of}`;
		picture.setAttribute("aria-label", `Histogram of ${histogram.count} latencies, from ${format(histogram.min)} to ${format(histogram.max)}`);
		const kinds = ["min", "avg", "p50", "p99", "p99.9", "max"];
		fillTable("statistics", ["expiries", ...kinds, "spikes"], [[histogram.count, ...kinds.map((kind) => format(histogram[kind])), histogram.spikes]]);
		picture.addEventListener("pointermove", (event) => {
			const row = histogram.rows.find((one) => inRow(one, scaleOf().value(event.offsetX)));
			picture.title = row ? `${format(row[0])} - ${row[1] === null ? "" : format(row[1])}: ${row[2]}` : "";
		});
		new ResizeObserver(drawLatencies).observe(picture);
		drawLatencies();
	};

	const resize = () => {
		const scale = devicePixelRatio || 1;
		canvas.style.height = Math.min(Math.max(contentHeight() + 24, 180), innerHeight * 0.6) + "px";
		width = canvas.clientWidth;
		height = canvas.clientHeight;
		canvas.width = Math.round(width * scale);
		canvas.height = Math.round(height * scale);
		context.setTransform(scale, 0, 0, scale, 0, 0);
		draw();
	};

	let drag = null;
	canvas.addEventListener("pointerdown", (event) => {
		canvas.setPointerCapture(event.pointerId);
		drag = { x: event.offsetX, y: event.offsetY, from: view.from, to: view.to, top: view.top, moved: false };
	});
	canvas.addEventListener("pointermove", (event) => {
		if (!drag) return;
		const x = event.offsetX - drag.x, y = event.offsetY - drag.y;
		drag.moved = drag.moved || Math.abs(x) + Math.abs(y) > 3;
		if (!drag.moved) return;
		const shift = x / width * (drag.to - drag.from);
		setView(drag.from - shift, drag.to - shift);
		view.top = drag.top;
		scroll(-y);
	});
	canvas.addEventListener("pointerup", (event) => {
		if (drag && !drag.moved) select(pick(event.offsetX, event.offsetY));
		drag = null;
	});
	canvas.addEventListener("pointercancel", () => { drag = null; });
	canvas.addEventListener("dblclick", (event) => {
		const what = pick(event.offsetX, event.offsetY);
		if (what) fit(what);
	});
	canvas.addEventListener("wheel", (event) => {
		event.preventDefault();
		if (event.shiftKey) scroll(event.deltaY || event.deltaX);
		else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) setView(view.from + event.deltaX / width * (view.to - view.from),
			view.to + event.deltaX / width * (view.to - view.from));
		else zoom(Math.pow(1.0015, event.deltaY), event.offsetX);
	}, { passive: false });
	canvas.addEventListener("keydown", (event) => {
		const step = (view.to - view.from) * 0.15;
		const keys = {
			"+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1 / 0.7), "0": () => setView(0, total),
			"ArrowLeft": () => setView(view.from - step, view.to - step), "ArrowRight": () => setView(view.from + step, view.to + step),
			"ArrowUp": () => scroll(-3 * ROW), "ArrowDown": () => scroll(3 * ROW),
		};
		if (!keys[event.key]) return;
		event.preventDefault();
		keys[event.key]();
	});
	byId("search").addEventListener("input", (event) => search(event.target.value));
	byId("search").addEventListener("keydown", (event) => event.key === "Enter" && nextMatch());
	byId("next").addEventListener("click", nextMatch);
	byId("all").addEventListener("click", () => setView(0, total));
	byId("spike").addEventListener("click", whileLate);
	byId("spike").hidden = !isLate;
	addEventListener("resize", resize);
	// A scroll bar takes some of it.
	new ResizeObserver(resize).observe(canvas);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
		readColors();
		redraw();
		if (histogram) drawLatencies();
	});

	const find = (cells) => {
		byId("search").value = cells[0];
		search(cells[0]);
		nextMatch();
	};
	const percent = (part, whole) => (whole ? 100 * part / whole : 0).toFixed(1) + "%";
	const fillTables = () => {
		const window_ns = report.window.end_ns - report.window.begin_ns, late_ns = report.window.late_end_ns - report.window.late_begin_ns;
		const usage = (row) => [row.name || "[not known]", row.kind, format(row.time_ns), percent(row.time_ns, window_ns), format(row.late_ns),
			percent(row.late_ns, late_ns), row.count];
		const heads = ["", "", "time", "share", "while late", "share", "times"];
		fillTable("analysis", ["", "", "time", "share"], report.analysis.map((row) =>
			[row.term, row.name || "", format(row.time_ns), row.percent.toFixed(1) + "%"]));
		byId("terms").hidden = !report.analysis.length;
		fillTable("budget", heads, report.budget.map(usage));
		if (report.irqs_off) fillTable("irqs_off", heads, report.irqs_off.map(usage), find);
		byId("off").hidden = !report.irqs_off;
		if (report.functions) {
			fillTable("functions", ["", "self", "share", "total", "share", "self while late", "calls", "line"], report.functions.map((row) =>
				[row.name, format(row.self_ns), percent(row.self_ns, window_ns), format(row.total_ns), percent(row.total_ns, window_ns),
					format(row.late_ns), row.calls, row.source || ""]), find);
		}
		byId("top").hidden = !report.functions;
		fillTable("facts", ["", ""], chart.facts);
	};

	// As in the text of report: inlined frames before the one that they are in.
	const showStack = (title, stack) => {
		if (!stack || !stack.length) return;
		const head = document.createElement("h2"), list = document.createElement("ol");
		const add = (name, frame, inlined, source) => {
			const item = document.createElement("li");
			item.textContent = (list.children.length ? "< " : "") + name + (frame.module ? ` [${frame.module}]` : "") +
				(frame.user ? ", user" : "") + (inlined ? ", inlined" : "") + (source ? `, ${source}` : "");
			list.append(item);
		};
		head.textContent = title[0].toUpperCase() + title.slice(1);
		list.className = "stack";
		for (const frame of stack) {
			for (const one of frame.inlined) add(one.name, frame, true, one.source);
			add(frame.name, frame, false, frame.source);
		}
		byId("stacks").append(head, list);
	};

	document.title = "perf-poke: " + report.sentence;
	byId("sentence").textContent = report.sentence;
	readColors();
	resize();
	fillTables();
	showStack(chart.holder_title, report.holder && report.holder.stack);
	showStack(chart.stack_title, report.stack);
	tellLatencies();
})();

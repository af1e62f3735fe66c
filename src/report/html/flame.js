// SPDX-License-Identifier: GPL-2.0-only
// The late activation beside the median of the normal ones: a flame chart, of the same page.
"use strict";
(() => {
	const normal = JSON.parse(document.getElementById("normal-data").textContent);
	const byId = (id) => document.getElementById(id);
	const [PARENT, NAME, KIND, HERE, HERE_SELF, MEDIAN, MEDIAN_SELF, P99_SELF, SEEN] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
	const ROW = 18, NARROW = 0.001;

	byId("normal").hidden = !normal;
	if (!normal) return;
	byId("normal_sentence").textContent = normal.sentence;
	if (!normal.nodes) return;

	const format = (ns) => {
		for (const [scale, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]]) {
			if (Math.abs(ns) >= scale) return Number((ns / scale).toPrecision(3)) + unit;
		}
		return Math.round(ns) + "ns";
	};
	const signed = (ns) => (ns < 0 ? "-" : "+") + format(Math.abs(ns));
	const children = normal.nodes.map(() => []);
	normal.nodes.forEach((node, n) => n && children[node[PARENT]].push(n));

	const tell = (n) => {
		const node = normal.nodes[n];
		byId("normal_details").textContent = `${node[NAME]}, ${node[KIND]}: here ${format(node[HERE])}, normally ${format(node[MEDIAN])}; ` +
			`by itself here ${format(node[HERE_SELF])}, normally ${format(node[MEDIAN_SELF])} (p99 ${format(node[P99_SELF])}), ` +
			`${signed(node[HERE_SELF] - node[MEDIAN_SELF])}; ${node[SEEN]} of ${normal.activations} normal activations have it`;
	};
	const colorOf = (node) => {
		const more = node[HERE_SELF] - node[MEDIAN_SELF], share = Math.min(Math.abs(more) / Math.max(normal.more_ns, 1), 1);
		// The least difference shows.
		const part = more ? Math.round(12 + 73 * share) : 0;
		return `color-mix(in srgb, var(--${more < 0 ? "accent" : "late"}) ${part}%, var(--faint))`;
	};

	let column = HERE;
	const draw = () => {
		const flame = byId("flame"), total = children[0].reduce((sum, n) => sum + normal.nodes[n][column], 0);
		let deepest = 0;
		const place = (n, left, depth) => {
			const node = normal.nodes[n], wide = node[column] / total;
			if (wide < NARROW) return;
			const frame = document.createElement("button");
			frame.textContent = frame.title = node[NAME];
			frame.style.left = 100 * left + "%";
			frame.style.width = 100 * wide + "%";
			frame.style.top = depth * ROW + "px";
			frame.style.background = colorOf(node);
			frame.addEventListener("click", () => tell(n));
			frame.addEventListener("focus", () => tell(n));
			flame.append(frame);
			deepest = Math.max(deepest, depth + 1);
			placeAll(children[n], left, depth + 1);
		};
		const placeAll = (list, left, depth) => {
			for (const n of [...list].sort((a, b) => normal.nodes[b][column] - normal.nodes[a][column])) {
				place(n, left, depth);
				left += normal.nodes[n][column] / total;
			}
		};
		flame.textContent = "";
		if (total) placeAll(children[0], 0, 0);
		flame.style.height = deepest * ROW + "px";
		byId("normal_width").textContent = column === HERE ? "Widths: here" : "Widths: normal";
	};
	byId("normal_width").addEventListener("click", () => {
		column = column === HERE ? MEDIAN : HERE;
		draw();
	});

	const table = byId("normal_steps");
	const addRow = (tag, cells) => {
		const row = table.insertRow();
		cells.forEach((text, n) => {
			const cell = document.createElement(tag);
			cell.textContent = text;
			if (!n) cell.className = "name";
			row.append(cell);
		});
	};
	const known = (ns) => (ns === null ? "-" : format(ns));
	addRow("th", ["step", "normal", "p99", "here", "more"]);
	for (const step of normal.steps) {
		if (step.median_ns === null && step.here_ns === null) continue;
		addRow("td", [step.step, known(step.median_ns), known(step.p99_ns), known(step.here_ns),
			step.median_ns === null || step.here_ns === null ? "-" : signed(step.here_ns - step.median_ns)]);
	}
	draw();
})();

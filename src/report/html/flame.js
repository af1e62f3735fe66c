// SPDX-License-Identifier: GPL-2.0-only
// A flame chart of two times side by side, for each page that has one: callers are above what they called.
"use strict";
const flameTime = (ns) => {
	for (const [scale, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]]) {
		if (Math.abs(ns) >= scale) return Number((ns / scale).toPrecision(3)) + unit;
	}
	return Math.round(ns) + "ns";
};
const flameSigned = (ns) => (ns < 0 ? "-" : "+") + flameTime(Math.abs(ns));

// Parts are elements: the chart itself, a button for its widths, and the details of what is pointed at. The chart has nodes of
// [parent, name, kind, here, here by itself, there, there by itself, ...], after the root; more_ns, which has the full colour;
// here and there, words for both; and about(node), which ends the details.
function showFlame(parts, chart) {
	const [PARENT, NAME, KIND, HERE, HERE_SELF, THERE, THERE_SELF] = [0, 1, 2, 3, 4, 5, 6];
	const ROW = 18, NARROW = 0.001, LABEL = 24; // rows and the least width of a name in pixels
	const children = chart.nodes.map(() => []);
	chart.nodes.forEach((node, n) => n && children[node[PARENT]].push(n));

	const tell = (n) => {
		const node = chart.nodes[n];
		parts.details.textContent = `${node[NAME]}, ${node[KIND]}: ${chart.here} ${flameTime(node[HERE])}, ${chart.there} ${flameTime(node[THERE])}; ` +
			`by itself ${chart.here} ${flameTime(node[HERE_SELF])}, ${chart.there} ${flameTime(node[THERE_SELF])}, ` +
			`${flameSigned(node[HERE_SELF] - node[THERE_SELF])}; ${chart.about(node)}`;
	};
	const colorOf = (node) => {
		const more = node[HERE_SELF] - node[THERE_SELF], share = Math.min(Math.abs(more) / Math.max(chart.more_ns, 1), 1);
		// The least difference shows.
		const part = more ? Math.round(15 + 85 * share) : 0;
		return `color-mix(in srgb, var(--${more < 0 ? "less" : "more"}) ${part}%, var(--faint))`;
	};

	let column = HERE;
	const draw = () => {
		const total = children[0].reduce((sum, n) => sum + chart.nodes[n][column], 0);
		let deepest = 0;
		const place = (n, left, depth) => {
			const node = chart.nodes[n], wide = node[column] / total;
			if (wide < NARROW) return;
			const frame = document.createElement("button");
			frame.title = frame.ariaLabel = node[NAME];
			if (wide * parts.flame.clientWidth >= LABEL) frame.textContent = node[NAME];
			frame.style.left = 100 * left + "%";
			frame.style.width = 100 * wide + "%";
			frame.style.top = depth * ROW + "px";
			frame.style.background = colorOf(node);
			frame.addEventListener("click", () => tell(n));
			frame.addEventListener("focus", () => tell(n));
			parts.flame.append(frame);
			deepest = Math.max(deepest, depth + 1);
			placeAll(children[n], left, depth + 1);
		};
		const placeAll = (list, left, depth) => {
			for (const n of [...list].sort((a, b) => chart.nodes[b][column] - chart.nodes[a][column])) {
				place(n, left, depth);
				left += chart.nodes[n][column] / total;
			}
		};
		parts.flame.textContent = total ? "" : `Nothing is known of what ran ${column === HERE ? chart.here : chart.there}.`;
		if (total) placeAll(children[0], 0, 0);
		parts.flame.style.height = Math.max(deepest, 1) * ROW + "px";
		parts.width.textContent = `Widths: ${column === HERE ? chart.here : chart.there}`;
	};
	parts.width.addEventListener("click", () => {
		column = column === HERE ? THERE : HERE;
		draw();
	});
	parts.details.textContent = `Red frames took longer by themselves ${chart.here} than ${chart.there}, blue ones less. Click one for its numbers.`;
	draw();
}

// A late activation beside the median of the normal ones.
function showNormalFlame(parts, normal) {
	const [P99_SELF, SEEN] = [7, 8];
	showFlame(parts, {
		nodes: normal.nodes.map((n) => [n.parent, n.name, n.kind, n.total_ns, n.here_ns, n.median_total_ns, n.median_ns, n.p99_ns, n.activations]),
		more_ns: normal.more_ns, here: "here", there: "normally",
		about: (node) => `p99 ${flameTime(node[P99_SELF])}; ${node[SEEN]} of ${normal.activations} normal activations have it`,
	});
}

// SPDX-License-Identifier: GPL-2.0-only
// The late activation beside the median of the normal ones: a flame chart, callers above what they called, and a table of steps.
"use strict";
(() => {
	const normal = JSON.parse(byId("normal-data").textContent);
	const ROW = 18, NARROW = 0.001, LABEL = 24; // rows and the least width of a name in pixels

	byId("normal").hidden = !normal;
	if (!normal) return;
	byId("normal_sentence").textContent = normal.sentence;
	if (!normal.nodes) return;

	const formatMore = (time) => (time.here_ns < time.median_ns ? "-" : "+") + format(Math.abs(time.here_ns - time.median_ns));
	const known = (ns) => (ns === null ? "-" : format(ns));
	fillTable("normal_steps", ["step", "normal", "p99", "here", "more"],
		normal.steps.filter((step) => step.median_ns !== null || step.here_ns !== null).map((step) =>
			[step.step, known(step.median_ns), known(step.p99_ns), known(step.here_ns),
				step.median_ns === null || step.here_ns === null ? "-" : formatMore(step)]));

	const nodes = normal.nodes, flame = byId("flame");
	nodes.forEach((node, n) => {
		node.children = [];
		if (n) nodes[node.parent].children.push(node);
	});
	const tell = (node) => {
		byId("normal_details").textContent = `${node.name}, ${node.kind}: here ${format(node.total_ns)}, normally ${format(node.median_total_ns)}; ` +
			`by itself here ${format(node.here_ns)}, normally ${format(node.median_ns)}, ${formatMore(node)}; p99 ${format(node.p99_ns)}; ` +
			`${node.activations} of ${normal.activations} normal activations have it`;
	};
	const colorOf = (node) => {
		const more = node.here_ns - node.median_ns, share = Math.min(Math.abs(more) / Math.max(normal.more_ns, 1), 1);
		// The least difference shows.
		const part = more ? Math.round(15 + 85 * share) : 0;
		return `color-mix(in srgb, var(--${more < 0 ? "less" : "more"}) ${part}%, var(--faint))`;
	};

	let widths = "total_ns";
	const draw = () => {
		const total = nodes[0].children.reduce((sum, node) => sum + node[widths], 0), here = widths === "total_ns" ? "here" : "normally";
		let deepest = 0;
		const place = (list, left, depth) => {
			for (const node of [...list].sort((a, b) => b[widths] - a[widths])) {
				const wide = node[widths] / total;
				if (wide < NARROW) return;
				const frame = document.createElement("button");
				frame.title = frame.ariaLabel = node.name;
				if (wide * flame.clientWidth >= LABEL) frame.textContent = node.name;
				frame.style.left = 100 * left + "%";
				frame.style.width = 100 * wide + "%";
				frame.style.top = depth * ROW + "px";
				frame.style.background = colorOf(node);
				frame.addEventListener("click", () => tell(node));
				frame.addEventListener("focus", () => tell(node));
				flame.append(frame);
				deepest = Math.max(deepest, depth + 1);
				place(node.children, left, depth + 1);
				left += wide;
			}
		};
		flame.textContent = total ? "" : `Nothing is known of what ran ${here}.`;
		if (total) place(nodes[0].children, 0, 0);
		flame.style.height = Math.max(deepest, 1) * ROW + "px";
		byId("normal_width").textContent = `Widths: ${here}`;
	};
	byId("normal_width").addEventListener("click", () => {
		widths = widths === "total_ns" ? "median_total_ns" : "total_ns";
		draw();
	});
	byId("normal_details").textContent = "Red frames took longer by themselves here than normally, blue ones less. Click one for its numbers.";
	draw();
})();

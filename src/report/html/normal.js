// SPDX-License-Identifier: GPL-2.0-only
// The late activation beside the normal ones.
"use strict";
(() => {
	const normal = JSON.parse(document.getElementById("normal-data").textContent);
	const byId = (id) => document.getElementById(id);

	byId("normal").hidden = !normal;
	if (!normal) return;
	byId("normal_sentence").textContent = normal.sentence;
	if (!normal.nodes) return;

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
	const known = (ns) => (ns === null ? "-" : flameTime(ns));
	addRow("th", ["step", "normal", "p99", "here", "more"]);
	for (const step of normal.steps) {
		if (step.median_ns === null && step.here_ns === null) continue;
		addRow("td", [step.step, known(step.median_ns), known(step.p99_ns), known(step.here_ns),
			step.median_ns === null || step.here_ns === null ? "-" : flameSigned(step.here_ns - step.median_ns)]);
	}
	showNormalFlame({ flame: byId("flame"), width: byId("normal_width"), details: byId("normal_details") }, normal);
})();

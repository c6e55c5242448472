/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pans and zooms a graph that Graphviz drew as SVG, searches it, and shows the arrows of a box. No
 * other file is needed: callgraph_svg.c puts this into each picture. Mouse: drag, wheel, double
 * click. Fingers: drag, pinch. Keys: arrows, + - 0, / to search, n N, Tab from box to box. */
"use strict";
(function () {
	const svg = document.currentScript.ownerSVGElement;
	const whole = svg.viewBox.baseVal;
	const home = [whole.x, whole.y, whole.width, whole.height];
	const nodes = Array.from(svg.querySelectorAll("g.node"));
	const edges = Array.from(svg.querySelectorAll("g.edge"));
	const nameOf = (g) => g.querySelector("title").textContent;
	const told = (g) => g.querySelector("a")?.getAttribute("xlink:title") || g.textContent.trim();
	const fingers = new Map();
	let view = home.slice();
	let hits = [], hit = -1, moved = false;

	function show() {
		svg.setAttribute("viewBox", view.join(" "));
	}

	function point(x, y) {
		return new DOMPoint(x, y).matrixTransform(svg.getScreenCTM().inverse());
	}

	function zoom(factor, x, y) {
		const width = Math.min(4 * home[2], Math.max(home[2] / 200, view[2] / factor));
		const by = width / view[2];
		view = [x - (x - view[0]) * by, y - (y - view[1]) * by, width, view[3] * by];
		show();
	}

	function zoomMiddle(factor) {
		zoom(factor, view[0] + view[2] / 2, view[1] + view[3] / 2);
	}

	function pan(x, y) {
		view[0] += x;
		view[1] += y;
		show();
	}

	function reset() {
		view = home.slice();
		show();
	}

	function middleOf(g) {
		const box = g.getBoundingClientRect();
		return point(box.x + box.width / 2, box.y + box.height / 2);
	}

	function centre(g) {
		const at = middleOf(g);
		pan(at.x - view[0] - view[2] / 2, at.y - view[1] - view[3] / 2);
	}

	/* Arrows of a box stay, others become pale. */
	function light(g) {
		const name = g && nameOf(g);
		for (const edge of edges) {
			const ends = nameOf(edge).split("->");
			edge.classList.toggle("pale", g !== null && !ends.includes(name));
		}
	}

	function search(text) {
		let sought = null;
		const flags = text === text.toLowerCase() ? "i" : "";
		try {
			sought = new RegExp(text, flags);
		} catch (error) {
			sought = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), flags);
		}
		hits = text ? nodes.filter((g) => sought.test(told(g))) : [];
		hit = -1;
		for (const g of nodes)
			g.classList.toggle("hit", hits.includes(g));
		if (hits.length)
			step(1);
	}

	function step(by) {
		if (!hits.length)
			return;
		hit = (hit + by + hits.length) % hits.length;
		centre(hits[hit]);
		hits[hit].focus({preventScroll: true});
	}

	svg.addEventListener("wheel", (event) => {
		event.preventDefault();
		const at = point(event.clientX, event.clientY);
		zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), at.x, at.y);
	}, {passive: false});
	svg.addEventListener("pointerdown", (event) => {
		fingers.set(event.pointerId, [event.clientX, event.clientY]);
		moved = false;
	});
	svg.addEventListener("pointermove", (event) => {
		const before = fingers.get(event.pointerId);
		if (!before)
			return;
		const from = point(...before), to = point(event.clientX, event.clientY);
		if (fingers.size === 2) {
			const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
			const length = (one) => Math.hypot(one[0] - other[0], one[1] - other[1]) || 1;
			const still = point(...other);
			zoom(length([event.clientX, event.clientY]) / length(before), still.x, still.y);
		} else if (moved || Math.hypot(event.clientX - before[0], event.clientY - before[1]) > 3) {
			if (!moved)
				svg.setPointerCapture(event.pointerId);
			moved = true;
			pan(from.x - to.x, from.y - to.y);
		} else {
			return;
		}
		fingers.set(event.pointerId, [event.clientX, event.clientY]);
	});
	for (const end of ["pointerup", "pointercancel"])
		svg.addEventListener(end, (event) => fingers.delete(event.pointerId));
	svg.addEventListener("dblclick", (event) => {
		const at = point(event.clientX, event.clientY);
		zoom(event.shiftKey ? 0.5 : 2, at.x, at.y);
	});
	window.addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		const tenth = view[2] / 10;
		const keys = {
			ArrowLeft: () => pan(-tenth, 0),
			ArrowRight: () => pan(tenth, 0),
			ArrowUp: () => pan(0, -tenth),
			ArrowDown: () => pan(0, tenth),
			"+": () => zoomMiddle(1.25),
			"=": () => zoomMiddle(1.25),
			"-": () => zoomMiddle(0.8),
			0: reset,
			Escape: () => { search(""); reset(); },
			"/": () => {
				const text = prompt("Functions to find (a regular expression; empty: none)", "");
				if (text !== null)
					search(text);
			},
			n: () => step(1),
			N: () => step(-1),
		};
		if (!Object.hasOwn(keys, event.key))
			return;
		event.preventDefault();
		keys[event.key]();
	});
	for (const g of nodes) {
		g.setAttribute("tabindex", "0");
		g.setAttribute("role", "img");
		g.setAttribute("aria-label", told(g));
		g.addEventListener("pointerenter", () => light(g));
		g.addEventListener("pointerleave", () => light(null));
		g.addEventListener("focus", () => light(g));
		g.addEventListener("blur", () => light(null));
	}
	const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
	style.textContent = "svg{cursor:grab;touch-action:none;user-select:none}g.edge.pale{opacity:.15}" +
		"g.node.hit polygon{stroke:#e377f2;stroke-width:4}g.node:focus{outline:2px solid #0b57a4}";
	svg.append(style);
	if (document.documentElement === svg) {
		svg.setAttribute("width", "100%");
		svg.setAttribute("height", "100%");
	}
	const asked = new URLSearchParams(location.search).get("s");
	if (asked)
		search(asked);
})();

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Zoom by click, search, and what stands under the pointer, in a flame graph as SVG. No other file
 * is needed: src/views/flame_svg.c puts this into each picture. Keys: arrows from box to box, Enter
 * zooms, / or Ctrl+F searches, n and N go through what was found, Escape shows all. */
"use strict";
(function () {
	const svg = document.currentScript.ownerSVGElement;
	const full = +svg.dataset.width;
	const letter = +svg.dataset.letter;
	const row = +svg.dataset.row;
	const head = svg.querySelector("#head");
	const details = svg.querySelector("#details");
	const found = svg.querySelector("#found");
	const reset = svg.querySelector("#reset");
	const nodes = Array.from(svg.querySelectorAll("#flame g"), (g) => {
		const rect = g.querySelector("rect");
		return {
			g,
			rect,
			text: g.querySelector("text"),
			title: g.querySelector("title").textContent,
			name: g.dataset.name,
			x: +rect.getAttribute("x"),
			y: +rect.getAttribute("y"),
			width: +rect.getAttribute("width"),
			fill: rect.getAttribute("fill"),
		};
	});

	let current = null;

	function label(name, width) {
		const letters = Math.floor((width - 6) / letter);
		if (letters < 3)
			return "";
		return name.length <= letters ? name : name.slice(0, letters - 2) + "..";
	}

	function place(node, x, width) {
		node.g.style.display = "";
		node.rect.setAttribute("x", x);
		node.rect.setAttribute("width", width);
		node.text.setAttribute("x", x + 3);
		node.text.textContent = label(node.name, width);
	}

	function zoom(to) {
		const scale = full / to.width;
		const end = to.x + to.width;
		const slack = to.width * 1e-6;
		for (const node of nodes) {
			const outer = node.y < to.y && node.x <= to.x + slack &&
				node.x + node.width >= end - slack;
			const inner = node.y >= to.y && node.x >= to.x - slack &&
				node.x + node.width <= end + slack;
			node.g.classList.toggle("outer", outer);
			if (outer)
				place(node, 0, full);
			else if (inner)
				place(node, (node.x - to.x) * scale, node.width * scale);
			else
				node.g.style.display = "none";
		}
		reset.style.display = to === nodes[0] ? "none" : "";
	}

	/* Case only matters if there are capitals. */
	function pattern(text) {
		const flags = text === text.toLowerCase() ? "i" : "";
		try {
			return new RegExp(text, flags);
		} catch (error) {
			return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), flags);
		}
	}

	/* Boxes come depth first: the one that a box hangs from is the last one before it in the row above. */
	const last = [];
	for (const node of nodes) {
		last[node.y] = node;
		node.above = last[node.y - row] || null;
		node.below = [];
		if (node.above)
			node.above.below.push(node);
	}

	function choose(node) {
		if (!node)
			return;
		if (current)
			current.g.classList.remove("current");
		current = node;
		node.g.classList.add("current");
		node.g.scrollIntoView({block: "nearest"});
		details.textContent = node.title;
	}

	function sibling(by) {
		const level = nodes.filter((node) => node.y === current.y && node.g.style.display !== "none");
		return level[level.indexOf(current) + by];
	}

	function step(by) {
		const hits = nodes.filter((node) => node.hit && node.g.style.display !== "none");
		const at = hits.indexOf(current);
		choose(hits[at < 0 ? (by > 0 ? 0 : hits.length - 1) : (at + by + hits.length) % hits.length]);
	}

	/* Frames come before those they called: what lies in a match is in its width already. */
	function search(text) {
		let covered = 0, sum = 0;
		const sought = text ? pattern(text) : null;
		for (const node of nodes) {
			const hit = sought !== null && node !== nodes[0] && sought.test(node.name);
			node.hit = hit;
			node.rect.setAttribute("fill", hit ? "#e377f2" : node.fill);
			if (hit && node.x >= covered - 1e-6) {
				sum += node.width;
				covered = node.x + node.width;
			}
		}
		found.textContent = sought === null ? "Search" :
			`${text}: ${(100 * sum / full).toFixed(1)}% (search again)`;
	}

	function ask() {
		const text = prompt("Functions to find (a regular expression; empty: none)", "");
		if (text !== null)
			search(text);
	}

	for (const node of nodes) {
		node.g.addEventListener("click", () => zoom(node));
		node.g.addEventListener("mouseover", () => { details.textContent = node.title; });
		node.g.addEventListener("mouseout", () => { details.textContent = ""; });
	}
	found.addEventListener("click", ask);
	reset.addEventListener("click", () => zoom(nodes[0]));
	const keys = {
		Escape: () => {
			zoom(nodes[0]);
			search("");
		},
		"/": ask,
		n: () => step(1),
		N: () => step(-1),
		Enter: () => zoom(current || nodes[0]),
		ArrowUp: () => choose(current ? current.above : nodes[0]),
		ArrowDown: () => choose(current ? current.below[0] : nodes[0]),
		ArrowLeft: () => choose(current ? sibling(-1) : nodes[0]),
		ArrowRight: () => choose(current ? sibling(1) : nodes[0]),
	};
	window.addEventListener("keydown", (event) => {
		const finds = event.key === "f" && (event.ctrlKey || event.metaKey);
		if (!finds && (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)))
			return;
		event.preventDefault();
		(finds ? ask : keys[event.key])();
	});
	/* What is said of a box stays in sight above a graph that is higher than the window. */
	if (document.documentElement === svg)
		window.addEventListener("scroll", () => head.setAttribute("transform", `translate(0 ${scrollY})`));
	found.style.display = "";
	const asked = new URLSearchParams(location.search).get("s");
	if (asked)
		search(asked);
})();

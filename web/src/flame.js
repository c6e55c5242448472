// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph on a canvas: boxes by level, sorted by place, so that a frame draws only what is seen.
import { childrenOf } from "./stacks.js";

const HEIGHT = 18,
    CANVAS_MOST = 32000, // pixels that a canvas can be high in all browsers
    TEXT_LEAST = 24,
    MOVE_MS = 160;

/** Where each node is, from 0 to the root's figure, and the nodes of each level from left to right. */
function layOut(tree) {
    const start = new Float64Array(tree.count),
        { order, firstChild, total } = tree,
        levels = [Uint32Array.of(0)];
    for (let depth = 0; depth < tree.deepest; depth++) {
        let count = 0;
        for (const node of levels[depth]) count += firstChild[node + 1] - firstChild[node];
        const level = new Uint32Array(count);
        count = 0;
        for (const node of levels[depth]) {
            let at = start[node];
            for (let i = firstChild[node]; i < firstChild[node + 1] && total[order[i]] > 0; i++) {
                const child = order[i];
                start[child] = at;
                at += total[child];
                level[count++] = child;
            }
        }
        levels.push(level.subarray(0, count));
    }
    return { start, levels };
}

export class Flame {
    /** options: label(node), fill(node, dark, faded), onHover(node, event), onChoose(node), onRemove(node) */
    constructor(canvas, options) {
        this.canvas = canvas;
        this.options = options;
        this.context = canvas.getContext("2d");
        this.flipped = false;
        this.matches = null;
        this.at = 0;
        canvas.addEventListener("mousemove", (event) => this.hover(event));
        canvas.addEventListener("mouseleave", () => options.onHover(-1));
        canvas.addEventListener("click", (event) => {
            const node = this.find(event);
            if (node < 0) return;
            if ((event.ctrlKey || event.metaKey) && node && options.onRemove) options.onRemove(node);
            else options.onChoose(node);
        });
        canvas.addEventListener(
            "wheel",
            (event) => {
                if (!event.ctrlKey) return;
                event.preventDefault();
                this.scale(event.deltaY > 0 ? 1.25 : 0.8, event.offsetX / canvas.clientWidth);
            },
            { passive: false },
        );
        new ResizeObserver(() => this.draw()).observe(canvas);
    }

    show(tree, zoomed = 0) {
        this.tree = tree;
        this.places = layOut(tree);
        this.root = zoomed;
        this.at = zoomed;
        [this.from, this.width] = [this.places.start[zoomed], tree.total[zoomed] || 1];
        this.canvas.style.height = `${(tree.deepest + 1) * HEIGHT + 1}px`;
        this.draw();
    }

    zoom(node) {
        this.root = node;
        this.at = node;
        const [from, width] = [this.places.start[node], this.tree.total[node] || 1];
        if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
            [this.from, this.width] = [from, width];
            return this.draw();
        }
        const [from0, width0, began] = [this.from, this.width, performance.now()];
        const step = (now) => {
            const t = Math.min(1, (now - began) / MOVE_MS),
                eased = 1 - (1 - t) ** 3;
            this.from = from0 + (from - from0) * eased;
            this.width = width0 + (width - width0) * eased;
            this.draw();
            if (t < 1 && this.root === node) requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
    }

    scale(factor, middle) {
        const whole = this.tree.total[0],
            width = Math.min(whole, this.width * factor);
        this.from = Math.max(0, Math.min(whole - width, this.from + (this.width - width) * middle));
        this.width = width;
        this.draw();
    }

    top(depth) {
        return this.flipped ? (this.tree.deepest - depth) * HEIGHT : depth * HEIGHT;
    }

    /** The first of a level that ends after a place. */
    first(level, place) {
        const { start } = this.places,
            nodes = this.places.levels[level];
        let low = 0,
            high = nodes.length;
        while (low < high) {
            const middle = (low + high) >> 1,
                node = nodes[middle];
            if (start[node] + this.tree.total[node] <= place) low = middle + 1;
            else high = middle;
        }
        return low;
    }

    draw() {
        if (!this.tree) return;
        const width = this.canvas.clientWidth,
            height = (this.tree.deepest + 1) * HEIGHT + 1,
            ratio = Math.min(devicePixelRatio || 1, CANVAS_MOST / height);
        if (this.canvas.width !== Math.round(width * ratio)) this.canvas.width = Math.round(width * ratio);
        if (this.canvas.height !== Math.round(height * ratio))
            this.canvas.height = Math.round(height * ratio);
        const c = this.context,
            dark = document.documentElement.dataset.theme === "dark";
        c.setTransform(ratio, 0, 0, ratio, 0, 0);
        c.clearRect(0, 0, width, height);
        c.font = "12px system-ui, sans-serif";
        c.textBaseline = "middle";
        this.letter ??= c.measureText("abcdefghij").width / 10;
        this.drawn = 0;
        for (let level = 0; level < this.places.levels.length; level++) this.drawLevel(c, level, width, dark);
        this.outline(c, width);
    }

    drawLevel(c, level, width, dark) {
        const { start, levels } = this.places,
            { total } = this.tree,
            nodes = levels[level];
        const scale = width / this.width,
            end = this.from + this.width,
            y = this.top(level);
        for (let i = this.first(level, this.from); i < nodes.length && start[nodes[i]] < end; i++) {
            const node = nodes[i],
                x = Math.max(0, (start[node] - this.from) * scale);
            let right = Math.min(width, (start[node] + total[node] - this.from) * scale);
            if (right - x < 0.7) {
                // the run of boxes that are too small to be seen is one
                const place = this.from + (x + 1) / scale;
                const next = Math.max(i + 1, this.first(level, place));
                c.fillStyle = dark ? "#4a4f59" : "#b9bec8";
                c.fillRect(x, y, 1, HEIGHT - 1);
                i = next - 1;
                continue;
            }
            right = Math.max(right, x + 1);
            this.drawBox(c, node, x, y, right - x, dark);
        }
    }

    drawBox(c, node, x, y, width, dark) {
        this.drawn++;
        const matched = this.matches && this.matches[this.tree.functions[node]];
        c.fillStyle = this.colour(node, dark, Boolean(this.matches) && !matched);
        c.fillRect(x, y, Math.max(1, width - 0.6), HEIGHT - 1);
        if (matched) {
            c.fillStyle = dark ? "#ffd98a" : "#5b3a00";
            c.fillRect(x, y, Math.max(1, width - 0.6), 2);
        }
        if (width < TEXT_LEAST) return;
        const room = Math.floor((width - 8) / this.letter),
            label = this.options.label(node);
        c.fillStyle = dark ? "#f3f5f8" : "#14161a";
        c.fillText(
            label.length > room ? label.slice(0, Math.max(1, room - 1)) + "…" : label,
            x + 4,
            y + HEIGHT / 2,
            width - 6,
        );
    }

    colour(node, dark, faded) {
        return node === 0 ? (dark ? "#3a404b" : "#d3d7de") : this.options.fill(node, dark, faded);
    }

    outline(c, width) {
        if (document.activeElement !== this.canvas || this.at < 0) return;
        const scale = width / this.width,
            x = (this.places.start[this.at] - this.from) * scale;
        c.lineWidth = 2;
        c.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--text");
        c.strokeRect(
            Math.max(1, x + 1),
            this.top(this.tree.depth[this.at]) + 1,
            Math.max(2, Math.min(width - 2, this.tree.total[this.at] * scale - 2)),
            HEIGHT - 3,
        );
    }

    find(event) {
        const level = this.flipped
            ? this.tree.deepest - Math.floor(event.offsetY / HEIGHT)
            : Math.floor(event.offsetY / HEIGHT);
        const nodes = this.places.levels[level];
        if (!nodes) return -1;
        const place = this.from + (event.offsetX / this.canvas.clientWidth) * this.width,
            node = nodes[this.first(level, place)];
        return node !== undefined && this.places.start[node] <= place ? node : -1;
    }

    hover(event) {
        this.options.onHover(this.find(event), event);
    }

    /** By arrow keys: to the parent, the largest child, or a neighbour. */
    move(key) {
        const { tree } = this,
            level = this.places.levels[tree.depth[this.at]],
            i = level.indexOf(this.at);
        const inward = this.flipped ? "ArrowUp" : "ArrowDown",
            outward = this.flipped ? "ArrowDown" : "ArrowUp";
        let next = this.at;
        if (key === outward) next = tree.parent[this.at];
        else if (key === inward) next = childrenOf(tree, this.at)[0] ?? this.at;
        else next = level[i + (key === "ArrowLeft" ? -1 : 1)] ?? this.at;
        this.at = next;
        this.draw();
        return next;
    }

    /** Nodes that match the search, level by level, of what is zoomed to. */
    hits() {
        const { start, levels } = this.places,
            { functions, total } = this.tree,
            hits = [];
        for (const level of levels)
            for (const node of level)
                if (
                    node &&
                    this.matches?.[functions[node]] &&
                    start[node] < this.from + this.width &&
                    start[node] + total[node] > this.from
                )
                    hits.push(node);
        return hits;
    }

    /** To the next box that matches (by: 1) or the one before (-1). Returns { which, of }, from 1; of 0: none matches. */
    step(by) {
        const hits = this.hits(),
            i = hits.indexOf(this.at);
        const which = i < 0 ? (by > 0 ? 0 : hits.length - 1) : (i + by + hits.length) % hits.length;
        if (hits.length) this.at = hits[which];
        this.draw();
        return { which: which + 1, of: hits.length };
    }

    /** Where a box is in the window. */
    seen(node) {
        const box = this.canvas.getBoundingClientRect(),
            x = ((this.places.start[node] - this.from) * box.width) / this.width;
        return {
            left: box.left + Math.max(0, x),
            top: box.top + this.top(this.tree.depth[node]),
            height: HEIGHT,
        };
    }

    /** The picture as it is seen, as SVG. */
    svg(title) {
        const width = this.canvas.clientWidth,
            height = this.canvas.clientHeight,
            scale = width / this.width,
            parts = [];
        const escape = (text) =>
            text
                .replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`)
                .replace(/[^\t\n\r -\ud7ff\ue000-\ufffd]/g, "?");
        for (let level = 0; level < this.places.levels.length; level++) {
            const nodes = this.places.levels[level];
            for (
                let i = this.first(level, this.from);
                i < nodes.length && this.places.start[nodes[i]] < this.from + this.width;
                i++
            ) {
                const node = nodes[i],
                    x = Math.max(0, (this.places.start[node] - this.from) * scale);
                const w =
                    Math.min(width, (this.places.start[node] + this.tree.total[node] - this.from) * scale) -
                    x;
                if (w < 0.7) continue;
                const label = this.options.label(node),
                    room = Math.floor((w - 8) / this.letter);
                const text =
                    w < TEXT_LEAST
                        ? ""
                        : `<text x="${(x + 4).toFixed(1)}" y="${this.top(level) + 13}">${escape(label.length > room ? label.slice(0, Math.max(1, room - 1)) + "…" : label)}</text>`;
                parts.push(
                    `<g><title>${escape(label)}</title><rect x="${x.toFixed(1)}" y="${this.top(level)}" width="${Math.max(1, w - 0.6).toFixed(1)}" height="${HEIGHT - 1}" fill="${this.colour(node, false, false)}"/>${text}</g>`,
                );
            }
        }
        return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="12"><title>${escape(title)}</title>${parts.join("")}</svg>`;
    }
}

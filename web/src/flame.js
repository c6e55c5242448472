// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph on a canvas: boxes by level, sorted by place, so that a frame draws only what is seen.
import { endsAfter, layOut } from "./places.js";
import { childrenOf } from "./stacks.js";
import { Strips } from "./strips.js";

const HEIGHT = 18,
    CANVAS_MOST = 32000, // pixels that a canvas can be high in all browsers
    TEXT_LEAST = 24,
    BOX_LEAST = 1,
    MATCH_HEIGHT = 2,
    MOVE_MS = 160;

export class Flame {
    /** options: label(node), fill(node, dark, faded), onHover(node, event), onChoose(node), onRemove(node) */
    constructor(canvas, options) {
        this.canvas = canvas;
        this.options = options;
        this.context = canvas.getContext("2d");
        this.strips = new Strips();
        this.flipped = false;
        this.frames = 0;
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
        new ResizeObserver(() => this.drawnWidth !== canvas.clientWidth && this.draw()).observe(canvas);
    }

    /** What draw() draws. */
    show(tree, zoomed = 0) {
        this.tree = tree;
        this.places = tree.places ??= layOut(tree);
        this.root = zoomed;
        this.at = zoomed;
        [this.from, this.width] = [this.leftOf(zoomed), tree.total[zoomed] || 1];
        this.deepest = this.places.levels.length - 2;
        this.canvas.style.height = `${(this.deepest + 1) * HEIGHT + 1}px`;
    }

    leftOf(node) {
        return this.places.left[this.places.place[node]];
    }

    zoom(node) {
        this.root = node;
        this.at = node;
        const [from, width] = [this.leftOf(node), this.tree.total[node] || 1];
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
        return this.flipped ? (this.deepest - depth) * HEIGHT : depth * HEIGHT;
    }

    draw() {
        const width = this.canvas.clientWidth;
        if (!this.tree || !width) return;
        this.drawnWidth = width;
        const height = (this.deepest + 1) * HEIGHT + 1,
            ratio = Math.min(devicePixelRatio || 1, CANVAS_MOST / height);
        if (this.canvas.width !== Math.round(width * ratio)) this.canvas.width = Math.round(width * ratio);
        if (this.canvas.height !== Math.round(height * ratio))
            this.canvas.height = Math.round(height * ratio);
        const c = this.context,
            dark = document.documentElement.dataset.theme === "dark";
        // What this frame costs, for tests: boxes, runs of tiny ones, what was looked at for them.
        this.drawn = this.runs = this.visited = 0;
        this.frames++;
        this.drawBoxes(c, width, ratio, dark);
        c.setTransform(ratio, 0, 0, ratio, 0, 0);
        this.drawLabels(c, dark);
        this.outline(c, width);
    }

    drawBoxes(c, width, ratio, dark) {
        const { strips, deepest, matches } = this;
        this.labels = [];
        strips.begin(this.canvas.width, (deepest + 1) * (matches ? 2 : 1));
        for (let level = 0; level <= deepest; level++) this.fillLevel(level, width, ratio, dark);
        strips.end();
        c.setTransform(1, 0, 0, 1, 0, 0);
        c.clearRect(0, 0, this.canvas.width, this.canvas.height);
        c.imageSmoothingEnabled = false;
        for (let level = 0; level <= deepest; level++) {
            const y = this.top(level),
                pixels = (from, to) => [
                    Math.round((y + from) * ratio),
                    Math.round((y + to) * ratio) - Math.round((y + from) * ratio),
                ];
            strips.draw(c, level, ...pixels(0, HEIGHT - 1));
            if (matches) strips.draw(c, deepest + 1 + level, ...pixels(0, MATCH_HEIGHT));
        }
    }

    fillLevel(level, width, ratio, dark) {
        const { nodes, left, right, levels } = this.places,
            { from } = this,
            to = levels[level + 1],
            scale = width / this.width;
        // Boxes too small to be seen that are less than a pixel apart are one run.
        let run = -1,
            runEnd = -1;
        const end = () => {
            if (run < 0) return;
            this.runs++;
            const start = Math.round(run * ratio),
                colour = dark ? "#4a4f59" : "#b9bec8";
            this.strips.fill(level, start, Math.max(start + 1, Math.round(runEnd * ratio)), colour);
            run = -1;
        };
        for (let i = endsAfter(right, levels[level], to, from); i < to;) {
            const x = Math.max(0, (left[i] - from) * scale);
            if (x >= width) break;
            this.visited++;
            const boxEnd = Math.min(width, (right[i] - from) * scale);
            if (boxEnd - x >= BOX_LEAST) {
                end();
                this.fillBox(nodes[i++], level, x, boxEnd, ratio, dark);
                continue;
            }
            if (x - runEnd >= 1) end();
            if (run < 0) run = x;
            i = endsAfter(right, i + 1, to, from + (x + 1) / scale);
            runEnd = Math.min(width, Math.max(x + 1, (right[i - 1] - from) * scale));
        }
        end();
    }

    fillBox(node, level, x, boxEnd, ratio, dark) {
        this.drawn++;
        const matched = this.matches && this.matches[this.tree.functions[node]],
            start = Math.round(x * ratio),
            end = Math.max(start + 1, Math.round(boxEnd * ratio)),
            gap = end - start > 3 ? 1 : 0;
        this.strips.fill(level, start, end - gap, this.colour(node, dark, Boolean(this.matches) && !matched));
        if (matched)
            this.strips.fill(this.deepest + 1 + level, start, end - gap, dark ? "#ffd98a" : "#5b3a00");
        if (boxEnd - x >= TEXT_LEAST) this.labels.push(node, level, x, boxEnd - x);
    }

    drawLabels(c, dark) {
        const { labels } = this;
        c.font = "12px system-ui, sans-serif";
        c.textBaseline = "middle";
        this.letter ??= c.measureText("abcdefghij").width / 10;
        c.fillStyle = dark ? "#f3f5f8" : "#14161a";
        for (let i = 0; i < labels.length; i += 4) {
            const width = labels[i + 3];
            c.fillText(
                this.fitted(this.options.label(labels[i]), width),
                labels[i + 2] + 4,
                this.top(labels[i + 1]) + HEIGHT / 2,
                width - 6,
            );
        }
    }

    /** A label as far as it has room in a box. */
    fitted(label, width) {
        const room = Math.floor((width - 8) / this.letter);
        return label.length > room ? label.slice(0, Math.max(1, room - 1)) + "…" : label;
    }

    colour(node, dark, faded) {
        return node === 0 ? (dark ? "#3a404b" : "#d3d7de") : this.options.fill(node, dark, faded);
    }

    outline(c, width) {
        if (document.activeElement !== this.canvas || this.at < 0) return;
        const scale = width / this.width,
            x = (this.leftOf(this.at) - this.from) * scale;
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
            ? this.deepest - Math.floor(event.offsetY / HEIGHT)
            : Math.floor(event.offsetY / HEIGHT);
        const { nodes, left, right, levels } = this.places,
            to = levels[level + 1];
        if (level < 0 || to === undefined) return -1;
        const x = this.from + (event.offsetX / this.canvas.clientWidth) * this.width,
            i = endsAfter(right, levels[level], to, x);
        return i < to && left[i] <= x ? nodes[i] : -1;
    }

    hover(event) {
        this.options.onHover(this.find(event), event);
    }

    /** By arrow keys: to the parent, the largest child, or a neighbour. */
    move(key) {
        const { tree } = this,
            { nodes, place, levels } = this.places,
            depth = tree.depth[this.at];
        const inward = this.flipped ? "ArrowUp" : "ArrowDown",
            outward = this.flipped ? "ArrowDown" : "ArrowUp";
        let next = this.at;
        if (key === outward) next = tree.parent[this.at];
        else if (key === inward) next = childrenOf(tree, this.at)[0] ?? this.at;
        else {
            const beside = place[this.at] + (key === "ArrowLeft" ? -1 : 1);
            if (beside >= levels[depth] && beside < levels[depth + 1]) next = nodes[beside];
        }
        this.at = next;
        this.draw();
        return next;
    }

    /** Nodes that match the search, level by level, of what is zoomed to. */
    hits() {
        const { nodes, left, right, levels } = this.places,
            { functions } = this.tree,
            hits = [];
        for (let i = 1; this.matches && i < levels.at(-1); i++)
            if (this.matches[functions[nodes[i]]] && left[i] < this.from + this.width && right[i] > this.from)
                hits.push(nodes[i]);
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
            x = ((this.leftOf(node) - this.from) * box.width) / this.width;
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
        const { nodes, left, right, levels } = this.places,
            { from } = this;
        for (let level = 0; level <= this.deepest; level++) {
            const y = this.top(level);
            for (
                let i = endsAfter(right, levels[level], levels[level + 1], from);
                i < levels[level + 1];
                i++
            ) {
                const node = nodes[i],
                    x = Math.max(0, (left[i] - from) * scale),
                    w = Math.min(width, (right[i] - from) * scale) - x;
                if (x >= width) break;
                if (w < BOX_LEAST) continue;
                const label = this.options.label(node),
                    text =
                        w < TEXT_LEAST
                            ? ""
                            : `<text x="${(x + 4).toFixed(1)}" y="${y + 13}">${escape(this.fitted(label, w))}</text>`;
                parts.push(
                    `<g><title>${escape(label)}</title><rect x="${x.toFixed(1)}" y="${y}" width="${Math.max(1, w - 0.6).toFixed(1)}" height="${HEIGHT - 1}" fill="${this.colour(node, false, false)}"/>${text}</g>`,
                );
            }
        }
        return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="12"><title>${escape(title)}</title>${parts.join("")}</svg>`;
    }
}

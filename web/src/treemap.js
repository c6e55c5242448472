// SPDX-License-Identifier: GPL-2.0-or-later
// A squarified treemap on a canvas (Bruls, Huizing, van Wijk, 2000): a box for each node in that of its owner.
import { childrenOf } from "./stacks.js";

const HEAD = 17, // of a box that has boxes in it
    EDGE = 2,
    TEXT_LEAST = 30,
    SPLIT_LEAST = 9; // smaller boxes stay whole
const SELF = -1; // what of a box is the node's own

/** Calls place(item, x, y, width, height) for all values, which descend. */
export function squarify(values, x, y, width, height, place) {
    let sum = 0;
    for (const value of values) sum += value;
    let i = 0;
    while (i < values.length && sum > 0 && width > 0 && height > 0) {
        const short = Math.min(width, height),
            scale = (width * height) / sum;
        // As many side by side as make the worst of them more square.
        let row = 0,
            worst = Infinity,
            end = i;
        for (; end < values.length; end++) {
            const next = row + values[end],
                thick = (next * scale) / short,
                last = (values[end] * scale) / thick,
                first = (values[i] * scale) / thick;
            const ratio = Math.max(thick / last, last / thick, first / thick, thick / first);
            if (ratio > worst) break;
            [row, worst] = [next, ratio];
        }
        const thick = (row * scale) / short;
        let along = width < height ? x : y;
        for (; i < end; i++) {
            const length = (values[i] * scale) / thick;
            if (width < height) place(i, along, y, length, thick);
            else place(i, x, along, thick, length);
            along += length;
        }
        sum -= row;
        if (width < height) [y, height] = [y + thick, height - thick];
        else [x, width] = [x + thick, width - thick];
    }
}

export class Treemap {
    /** options: as of Flame; text(node, own): what a box says below its label, set before show(). */
    constructor(canvas, options) {
        this.canvas = canvas;
        this.options = options;
        this.context = canvas.getContext("2d");
        this.matches = null;
        canvas.addEventListener("mousemove", (event) => options.onHover(this.find(event), event));
        canvas.addEventListener("mouseleave", () => options.onHover(-1));
        canvas.addEventListener("click", (event) => {
            const node = this.find(event);
            if (node >= 0) options.onChoose(node);
        });
        new ResizeObserver(() => this.draw()).observe(canvas);
    }

    show(tree, zoomed = 0) {
        [this.tree, this.root, this.at] = [tree, zoomed, zoomed];
    }

    /** Boxes from the outside in: { node, x, y, width, height, own }. */
    layOut(width, height) {
        const boxes = [],
            { tree } = this;
        const put = (node, x, y, w, h) => {
            const box = { node, x, y, width: w, height: h, own: false };
            boxes.push(box);
            const kids = childrenOf(tree, node);
            const head = h > HEAD * 2 && w > TEXT_LEAST ? HEAD : EDGE;
            if (!kids.length || w < SPLIT_LEAST || h < SPLIT_LEAST) return;
            const items = [...kids],
                own = tree.self[node];
            if (own > 0) {
                const at = items.findIndex((kid) => tree.total[kid] < own);
                items.splice(at < 0 ? items.length : at, 0, SELF);
            }
            squarify(
                items.map((kid) => (kid === SELF ? own : tree.total[kid])),
                x + EDGE,
                y + head,
                w - 2 * EDGE,
                h - head - EDGE,
                (i, ...place) => {
                    if (place[2] < 1 || place[3] < 1) return;
                    if (items[i] !== SELF) put(items[i], ...place);
                    else
                        boxes.push({
                            node,
                            x: place[0],
                            y: place[1],
                            width: place[2],
                            height: place[3],
                            own: true,
                        });
                },
            );
            box.opened = true;
        };
        if (tree.total[this.root] > 0) put(this.root, 0, 0, width, height);
        return boxes;
    }

    draw() {
        const { clientWidth: width, clientHeight: height } = this.canvas,
            ratio = devicePixelRatio || 1;
        if (!this.tree || !width) return;
        this.canvas.width = Math.round(width * ratio);
        this.canvas.height = Math.round(height * ratio);
        const c = this.context,
            dark = document.documentElement.dataset.theme === "dark";
        c.setTransform(ratio, 0, 0, ratio, 0, 0);
        c.font = "12px system-ui, sans-serif";
        c.textBaseline = "middle";
        this.letter ??= c.measureText("abcdefghij").width / 10;
        this.boxes = this.layOut(width, height);
        for (const box of this.boxes) this.drawBox(c, box, dark);
        const at = this.boxes.find((box) => box.node === this.at);
        if (document.activeElement !== this.canvas || !at) return;
        c.lineWidth = 3;
        c.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--text");
        c.strokeRect(at.x + 2, at.y + 2, Math.max(1, at.width - 4), Math.max(1, at.height - 4));
    }

    drawBox(c, { node, x, y, width, height, own, opened }, dark) {
        const faded = Boolean(this.matches) && !this.matches[this.tree.functions[node]];
        c.fillStyle = dark ? "#14161a" : "#ffffff";
        c.fillRect(x, y, width, height);
        c.globalAlpha = own ? 0.55 : 1;
        c.fillStyle = this.options.fill(node, dark, faded);
        c.fillRect(x, y, Math.max(0.5, width - 0.7), Math.max(0.5, height - 0.7));
        c.globalAlpha = 1;
        if (width < TEXT_LEAST || height < 14 || (opened && height <= HEAD * 2)) return;
        c.fillStyle = dark ? "#f3f5f8" : "#14161a";
        c.fillText(this.fitted(own ? "itself" : this.options.label(node), width), x + 4, y + 9);
        if (!opened && height > 34) c.fillText(this.fitted(this.text(node, own), width), x + 4, y + 25);
    }

    fitted(text, width) {
        const room = Math.floor((width - 8) / this.letter);
        return text.length > room ? text.slice(0, Math.max(1, room - 1)) + "…" : text;
    }

    find({ offsetX: x, offsetY: y }) {
        const box = this.boxes?.findLast(
            (one) => x >= one.x && x < one.x + one.width && y >= one.y && y < one.y + one.height,
        );
        return box ? box.node : -1;
    }

    /** As of Flame. */
    step(by) {
        const hits = this.boxes.filter((box) => !box.own && this.matches[this.tree.functions[box.node]]),
            i = hits.findIndex((box) => box.node === this.at),
            of = hits.length,
            which = i < 0 ? (by > 0 ? 0 : of - 1) : (i + by + of) % of;
        if (of) this.at = hits[which].node;
        this.draw();
        return { which: which + 1, of };
    }

    seen(node) {
        const { left, top } = this.canvas.getBoundingClientRect(),
            box = this.boxes.find((one) => one.node === node) ?? this.boxes[0];
        return { left: left + box.x, top: top + box.y, height: HEAD };
    }

    /** By arrow keys: into the largest, out again, to a neighbour. */
    move(key) {
        const { tree, at, root } = this,
            beside = at === root ? [] : [...childrenOf(tree, tree.parent[at])];
        if (key === "ArrowDown") this.at = childrenOf(tree, at)[0] ?? at;
        else if (key === "ArrowUp") this.at = at === root ? at : tree.parent[at];
        else this.at = beside[beside.indexOf(at) + (key === "ArrowLeft" ? -1 : 1)] ?? at;
        this.draw();
        return this.at;
    }
}

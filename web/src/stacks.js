// SPDX-License-Identifier: GPL-2.0-or-later
// Rows of stacks as trees of calls, for one metric, after filters. A tree is columns by node: node 0
// is the root, parents come before their children.
import { METRICS } from "./format.js";
import { callers, calls, NONE, sorted } from "./treeshape.js";

const sum = (values) => {
    let all = 0;
    for (let i = 0; i < values.length; i++) all += values[i];
    return all;
};

/** Names that frames are compared and shown by. */
export class Stacks {
    constructor(data) {
        const c = data.columns;
        this.strings = data.strings;
        this.frames = {
            name: c["frame.function"],
            module: c["frame.module"],
            file: c["frame.file"],
            line: c["frame.line"],
            flags: c["frame.flags"],
            whole: c["frame.whole"] ?? c["frame.function"],
        };
        this.hasShort = Boolean(c["frame.whole"]);
        this.nodeParent = c["node.parent"];
        this.nodeFrame = c["node.frame"];
        this.rowNode = c["row.node"];
        this.rowKind = c["row.kind"];
        // Without a range what is kept is what is live.
        const ranged = data.documents.report.recording.range;
        this.metrics = Object.keys(METRICS).filter(
            (name) => c["row." + name] && (ranged || !name.startsWith("kept_")),
        );
        this.values = Object.fromEntries(this.metrics.map((name) => [name, c["row." + name]]));
        const totals = (of) => Object.fromEntries(this.metrics.map((name) => [name, sum(of[name])]));
        this.totals = totals(this.values);
        // Of a difference: the older figures of the same rows.
        if (data.kind === "diff") {
            this.was = Object.fromEntries(this.metrics.map((name) => [name, c["base." + name]]));
            this.wasTotals = totals(this.was);
            this.firstOf(data.documents.diff);
        }
        this.shapes = new Map();
        this.nameFunctions();
    }

    /** Frames of one function are one, whatever line they are at: functions by number, and each frame's. */
    nameFunctions() {
        const { name, whole, module, flags } = this.frames,
            known = new Map();
        this.functionOf = new Uint32Array(name.length);
        this.functions = [];
        for (let i = 0; i < name.length; i++) {
            const key = whole[i] * this.strings.length + module[i]; // short names may be those of several
            let number = known.get(key);
            if (number === undefined) {
                known.set(key, (number = this.functions.length));
                this.functions.push({
                    name: this.strings[name[i]] || "(unknown)",
                    whole: this.strings[whole[i]] || "(unknown)",
                    module: this.strings[module[i]],
                    flags: flags[i],
                    frame: i,
                });
            }
            this.functionOf[i] = number;
        }
    }

    /** Of a difference: what is shown first is what was asked about, unless nothing of it changed. */
    firstOf({ metric, older, newer }) {
        const differs = (name) => this.values[name]?.some((value, row) => value !== this.was[name][row]);
        this.first = [metric, "peak_bytes", "allocated_bytes", ...this.metrics].find(differs) ?? metric;
        this.sampled = [older, newer].some((side) => side.recording.mode === "sample");
    }

    /** Whether another module has a function of that name. */
    namesakes(number) {
        this.modulesOf ??= this.functions.reduce(
            (map, { whole }) => map.set(whole, (map.get(whole) ?? 0) + 1),
            new Map(),
        );
        return this.modulesOf.get(this.functions[number].whole) > 1;
    }

    /** A metric that the file knows: the one that is asked for, that of a difference, or the peak. */
    metric(wanted) {
        return (
            [wanted, this.first, "peak_bytes"].find((name) => this.metrics.includes(name)) ?? this.metrics[0]
        );
    }

    where(frame) {
        const file = this.strings[this.frames.file[frame]],
            line = this.frames.line[frame];
        return file ? (line ? `${file}:${line}` : file) : "";
    }

    /** 1 for rows a function of which matches, of the frames that are kept. */
    rowsWith(match, keep) {
        const nodes = new Uint8Array(this.nodeParent.length),
            rows = new Uint8Array(this.rowNode.length);
        for (let node = 1; node < nodes.length; node++)
            nodes[node] =
                nodes[this.nodeParent[node]] |
                (!keep || keep[node] ? match[this.functionOf[this.nodeFrame[node]]] : 0);
        for (let row = 0; row < rows.length; row++) rows[row] = nodes[this.rowNode[row]];
        return rows;
    }

    /** The shape of the tree of all rows: nodes by function, and which of them each row ends at. The
     *  latest ones are kept. keep: 1 for nodes whose frame is in it, null: all; of: 1 for functions. */
    shape(key, inverted, of, keep) {
        let known = this.shapes.get(key);
        if (!known) {
            known = (inverted ? callers : calls)(this, keep, of);
            if (this.shapes.size > 1) this.shapes.delete(this.shapes.keys().next().value);
            this.shapes.set(key, known);
        }
        return known;
    }

    /** Functions, files or modules with what each allocated itself and with callees, of what sift() left. */
    spots(kind, metric, left, values = this.values[metric]) {
        const { parent, total, self } = this.nodesTotal(values, left),
            { keep } = left,
            key = (node) => this.keyOf(kind, this.nodeFrame[node]);
        const found = new Map();
        const spot = (number, node) => {
            let one = found.get(number);
            if (!one) found.set(number, (one = { number, node, flat: 0, cum: 0 }));
            return one;
        };
        for (let node = 1; node < parent.length; node++) {
            if (!total[node] || (keep && !keep[node])) continue;
            const number = key(node),
                one = spot(number, node);
            one.flat += self[node];
            let above = parent[node];
            while (above && ((keep && !keep[above]) || key(above) !== number)) above = parent[above];
            if (!above) one.cum += total[node];
        }
        return [...found.values()].map((one) => ({ ...one, ...this.spotNames(kind, one.node) }));
    }

    keyOf(kind, frame) {
        return kind === "functions"
            ? this.functionOf[frame]
            : kind === "files"
              ? this.frames.file[frame]
              : this.frames.module[frame];
    }

    spotNames(kind, node) {
        const frame = this.nodeFrame[node],
            file = this.strings[this.frames.file[frame]],
            module = this.strings[this.frames.module[frame]];
        if (kind === "functions")
            return {
                name: this.functions[this.functionOf[frame]].name,
                whole: this.functions[this.functionOf[frame]].whole,
                module: this.namesakes(this.functionOf[frame]) ? module : "",
                file: file || module,
            };
        return {
            name: (kind === "files" ? file : module) || "(unknown)",
            whole: (kind === "files" ? file : module) || "(unknown)",
            file: "",
        };
    }

    /** What a frame that is taken out allocated is its caller's. */
    nodesTotal(values, { rows, keep }) {
        const parent = this.nodeParent,
            self = new Float64Array(parent.length);
        for (let row = 0; row < values.length; row++) {
            let node = this.rowNode[row];
            while (keep && node && !keep[node]) node = parent[node];
            if (rows[row]) self[node] += values[row];
        }
        const total = self.slice();
        for (let node = parent.length; --node > 0;) total[parent[node]] += total[node];
        return { parent, self, total };
    }

    /** A metric, or what there is by row, of each node and its callees, in a shape. */
    sumsOf(metric, rows, shape) {
        const { count, parent, rowEnd } = shape,
            values = this.values[metric] ?? metric,
            self = new Float64Array(count);
        for (let row = 0; row < rows.length; row++)
            if (rows[row] && rowEnd[row] !== NONE) self[rowEnd[row]] += values[row];
        const total = self.slice();
        for (let node = count; --node > 0;) total[parent[node]] += total[node];
        return { self, total };
    }

    /** The tree of calls. inverted: begins with the functions that allocate. of: 1 for functions: only
     *  what is below (callees) or above (inverted: callers) them. left: what sift() left, and its key.
     *  drop(shape, rows): takes rows out. */
    tree(metric, left, { inverted = false, of = null, ofKey = "", drop = null } = {}) {
        const shape = this.shape(`${inverted} ${ofKey} ${left.key}`, inverted, of, left.keep);
        drop?.(shape, left.rows);
        const { self, total } = this.sumsOf(metric, left.rows, shape);
        return { ...shape, self, total, order: sorted(shape, total) };
    }
}

export { NONE };

/** The children that have something, the largest first. */
export function childrenOf(tree, node) {
    const from = tree.firstChild[node];
    let to = tree.firstChild[node + 1];
    while (to > from && tree.total[tree.order[to - 1]] <= 0) to--;
    return tree.order.subarray(from, to);
}

// SPDX-License-Identifier: GPL-2.0-or-later
// Who retains what: columns owner.* as a tree that pictures and lists draw (as of stacks.js).
import { fill, hash } from "./colours.js";

const METRICS = { owned_bytes: "owner.self_bytes", owned_blocks: "owner.self_blocks" };
const made = {};

/** The tree for one of METRICS; node 0 is all blocks in use. `functions` are labels by number. */
export function ownerTree({ columns, strings }, metric) {
    if (made[metric]?.strings === strings) return made[metric];
    const parent = columns["owner.parent"],
        count = parent.length,
        self = columns[METRICS[metric]],
        total = self.slice(),
        depth = new Uint16Array(count),
        firstChild = new Uint32Array(count + 1),
        order = new Uint32Array(count - 1);
    for (let node = count; --node > 0;) total[parent[node]] += total[node];
    for (let node = 1; node < count; node++) {
        firstChild[parent[node] + 1]++;
        depth[node] = depth[parent[node]] + 1;
    }
    for (let node = 0; node < count; node++) firstChild[node + 1] += firstChild[node];
    const next = firstChild.slice();
    for (let node = 1; node < count; node++) order[next[parent[node]]++] = node;
    for (let node = 0; node < count; node++)
        if (firstChild[node + 1] - firstChild[node] > 1)
            order.subarray(firstChild[node], firstChild[node + 1]).sort((a, b) => total[b] - total[a]);
    const functions = columns["owner.label"],
        kinds = columns["owner.kind"],
        modules = columns["owner.module"];
    return (made[metric] = {
        strings,
        count,
        parent,
        self,
        total,
        depth,
        firstChild,
        order,
        functions,
        label: (node) => strings[functions[node]],
        kind: (node) => strings[kinds[node]],
        where: (node) => strings[modules[node]],
    });
}

/** Those above a node and itself, from the outside in, without the root. */
export function pathTo(tree, node) {
    const path = [];
    for (let at = node; at; at = tree.parent[at]) path.unshift(at);
    return path;
}

/** The colour of a node: that of its label, everywhere. Grey: what is no owner and no type. */
export function ownerColour(tree, node, dark, faded) {
    if (/^(heap|cut|deeper)$/.test(tree.kind(node))) return dark ? "#3a404b" : "#d3d7de";
    const number = hash(tree.label(node));
    return fill(number, ((number >>> 8) % 5) - 2, dark, faded);
}

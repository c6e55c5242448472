// SPDX-License-Identifier: GPL-2.0-or-later
// Shapes of trees: columns by node. Nodes are numbered level by level, so parents come before their children, and the
// children of a node follow one another: the k-th node that is a child is number k + 1. Children of one function are one.

const FEW = 12; // so many are sorted by insertion

/** What a row of rowEnd is that the tree has no part of. */
export const NONE = 0xffffffff;

/** Columns with room for so many nodes; what they had before stays. */
function columnsOf(room, old = {}) {
    const column = (name, Type) => {
        const made = new Type(room);
        if (old[name]) made.set(old[name]);
        else if (Type === Int32Array) made[0] = -1;
        return made;
    };
    return {
        parent: column("parent", Uint32Array),
        functions: column("functions", Int32Array),
        frame: column("frame", Int32Array),
        depth: column("depth", Uint16Array),
        firstChild: column("firstChild", Uint32Array),
        // What a node is made of: a list from its head to its tail.
        head: column("head", Uint32Array),
        tail: column("tail", Uint32Array),
    };
}

function shapeOf({ parent, functions, frame, depth, firstChild }, count, rowEnd) {
    const part = (column) => column.subarray(0, count);
    firstChild[count] = count - 1;
    return {
        count,
        rowEnd,
        firstChild: firstChild.subarray(0, count + 1),
        parent: part(parent),
        functions: part(functions),
        frame: part(frame),
        depth: part(depth),
    };
}

/** Of each node the nearest one that is chosen: itself or one above; 0: none. */
function nearest(parent, chosen) {
    const found = new Uint32Array(parent.length);
    for (let node = 1; node < found.length; node++) found[node] = chosen(node) ? node : found[parent[node]];
    return found;
}

/** The children of each node as the page has them: kids[first[node]] to kids[first[node + 1] - 1]. Nodes whose `above` is NONE are left out. */
function kidsOf(above) {
    const count = above.length,
        first = new Uint32Array(count + 1),
        kids = new Uint32Array(count);
    for (let node = 1; node < count; node++) if (above[node] !== NONE) first[above[node] + 1]++;
    for (let node = 0; node < count; node++) first[node + 1] += first[node];
    const next = first.slice();
    for (let node = 1; node < count; node++) if (above[node] !== NONE) kids[next[above[node]]++] = node;
    return { first, kids };
}

/** Of each of the page's nodes the one above it in a tree of what is kept; NONE: it is not in that. of: the tree has only what
 *  is below the outermost functions of it, with these. */
function aboveOf({ nodeParent, nodeFrame, functionOf }, kept, of) {
    if (!kept && !of) return nodeParent;
    const above = new Uint32Array(nodeParent.length),
        inside = new Uint8Array(nodeParent.length);
    for (let node = 1; node < above.length; node++) {
        const over = kept ? kept[nodeParent[node]] : nodeParent[node],
            isIn = !kept || kept[node] === node;
        inside[node] = inside[over] | (isIn && of?.[functionOf[nodeFrame[node]]] ? 1 : 0);
        above[node] = !isIn || (of && !inside[node]) ? NONE : of && !inside[over] ? 0 : over;
    }
    return above;
}

/** The tree of calls of all stacks. The page's nodes are in its order (docs/schema/page-1.md): those that are one of its nodes
 *  follow one another. */
function allCalls({ nodeParent, nodeFrame, functionOf, rowNode }) {
    const room = nodeParent.length,
        columns = columnsOf(room + 1),
        { parent, functions, frame, depth, firstChild } = columns,
        at = new Uint32Array(room); // by node of the page
    let last = 0,
        next = 1; // whose children are not begun
    for (let node = 1; node < room; node++) {
        const above = at[nodeParent[node]],
            number = functionOf[nodeFrame[node]];
        if (number !== functions[last] || above !== parent[last]) {
            while (next <= above) firstChild[next++] = last;
            functions[++last] = number;
            parent[last] = above;
            frame[last] = nodeFrame[node];
            depth[last] = depth[above] + 1;
        }
        at[node] = last;
    }
    while (next <= last) firstChild[next++] = last;
    const rowEnd = new Uint32Array(rowNode.length);
    for (let row = 0; row < rowEnd.length; row++) rowEnd[row] = at[rowNode[row]];
    return shapeOf(columns, last + 1, rowEnd);
}

/** The tree of calls. keep: 1 for each node that stays; what doesn't is part of its caller; null: all stay. of: 1 for functions: only
 *  what is below them; null: all. */
export function calls(stacks, keep, of) {
    if (!keep && !of) return allCalls(stacks);
    const { nodeParent, nodeFrame, functionOf, rowNode } = stacks,
        kept = keep && nearest(nodeParent, (node) => keep[node]),
        { first, kids } = kidsOf(aboveOf(stacks, kept, of)),
        room = nodeParent.length,
        columns = columnsOf(room + 1),
        { parent, functions, frame, depth, firstChild, head, tail } = columns,
        at = new Uint32Array(room).fill(of ? NONE : 0), // by node of the page
        next = new Uint32Array(room), // those that are one node
        child = new Uint32Array(stacks.functions.length); // of each function the latest node
    let count = 1;
    for (let node = 0; node < count; node++) {
        const before = count,
            last = tail[node];
        firstChild[node] = before - 1;
        for (let one = head[node], isLast = false; !isLast; one = next[one]) {
            isLast = one === last;
            for (let i = first[one]; i < first[one + 1]; i++) {
                const kid = kids[i],
                    number = functionOf[nodeFrame[kid]];
                let below = child[number];
                if (below >= before) next[tail[below]] = kid;
                else {
                    below = child[number] = count++;
                    head[below] = kid;
                    parent[below] = node;
                    functions[below] = number;
                    frame[below] = nodeFrame[kid];
                    depth[below] = depth[node] + 1;
                }
                tail[below] = kid;
                at[kid] = below;
            }
        }
    }
    const rowEnd = new Uint32Array(rowNode.length);
    for (let row = 0; row < rowEnd.length; row++) rowEnd[row] = at[kept ? kept[rowNode[row]] : rowNode[row]];
    return shapeOf(columns, count, rowEnd);
}

/** The tree of callers, from the functions that allocate outward; of: from the innermost functions of it. keep: as above. */
export function callers(stacks, keep, of) {
    const { nodeParent, nodeFrame, functionOf, rowNode } = stacks,
        kept = keep && nearest(nodeParent, (node) => keep[node]),
        begin = of
            ? nearest(nodeParent, (node) => (!keep || keep[node]) && of[functionOf[nodeFrame[node]]])
            : kept,
        rowEnd = new Uint32Array(rowNode.length),
        next = new Uint32Array(rowNode.length + 1), // rows of a node, from 1
        place = new Uint32Array(rowNode.length + 1), // the node of the page that a row has come to
        child = new Uint32Array(stacks.functions.length); // of each function the latest node
    let count = 1,
        room = 2 * rowNode.length + 16,
        columns = columnsOf(room);
    for (let row = 0, last = 0; row < rowNode.length; row++) {
        place[row + 1] = begin ? begin[rowNode[row]] : rowNode[row];
        if (of && !place[row + 1]) rowEnd[row] = NONE;
        else last = last ? (next[last] = row + 1) : (columns.head[0] = row + 1);
    }
    for (let node = 0; node < count; node++) {
        const before = count;
        let { parent, functions, frame, depth, head, tail } = columns;
        columns.firstChild[node] = before - 1;
        for (let row = head[node], following; row; row = following) {
            const at = place[row];
            following = next[row];
            next[row] = 0;
            if (!at) {
                rowEnd[row - 1] = node;
                continue;
            }
            const number = functionOf[nodeFrame[at]];
            let below = child[number];
            if (below >= before) next[tail[below]] = row;
            else {
                below = child[number] = count++;
                // One more than nodes: firstChild says where the last one's children end.
                if (count === room)
                    ({ parent, functions, frame, depth, head, tail } = columns = columnsOf(
                        (room *= 2),
                        columns,
                    ));
                head[below] = row;
                parent[below] = node;
                functions[below] = number;
                frame[below] = nodeFrame[at];
                depth[below] = depth[node] + 1;
            }
            tail[below] = row;
            place[row] = kept ? kept[nodeParent[at]] : nodeParent[at];
        }
    }
    return shapeOf(columns, count, rowEnd);
}

/** The order of children by what they have, the largest first. */
export function sorted({ count, firstChild }, total) {
    const ret = new Uint32Array(count - 1);
    for (let node = 0, to = 0; node < count; node++) {
        const from = to;
        to = firstChild[node + 1];
        if (to - from > FEW) {
            for (let i = from; i < to; i++) ret[i] = i + 1;
            ret.subarray(from, to).sort((a, b) => total[b] - total[a]);
            continue;
        }
        for (let i = from; i < to; i++) {
            let k = i;
            for (; k > from && total[ret[k - 1]] < total[i + 1]; k--) ret[k] = ret[k - 1];
            ret[k] = i + 1;
        }
    }
    return ret;
}

// SPDX-License-Identifier: GPL-2.0-or-later
// Where the boxes of a flame graph are: columns by place, level by level, from left to right in each.

/** Of a tree: `nodes` by place; `left` and `right` ends by place, from 0 to the root's figure; `place` by node (0: it has
 *  none); levels[depth]: the first place of a level. */
export function layOut(tree) {
    const { count, order, firstChild, total } = tree,
        nodes = new Uint32Array(count),
        place = new Uint32Array(count),
        left = new Float64Array(count),
        right = new Float64Array(count),
        levels = [0];
    right[0] = total[0];
    let end = 1;
    for (let at = 0, next = 1; at < end; at++) {
        if (at === next) {
            levels.push(at);
            next = end;
        }
        let x = left[at];
        const to = firstChild[nodes[at] + 1];
        for (let i = firstChild[nodes[at]]; i < to; i++) {
            const child = order[i];
            if (!(total[child] > 0)) break;
            nodes[end] = child;
            place[child] = end;
            left[end] = x;
            right[end++] = x += total[child];
        }
    }
    levels.push(end);
    return { nodes, place, left, right, levels };
}

/** The first from a place on, of those before `to`, that ends after x; near `from` it is found soonest. */
export function endsAfter(right, from, to, x) {
    let step = 1;
    while (from + step < to && right[from + step - 1] <= x) {
        from += step;
        step *= 2;
    }
    let low = from,
        high = Math.min(to, from + step);
    while (low < high) {
        const middle = (low + high) >> 1;
        if (right[middle] <= x) low = middle + 1;
        else high = middle;
    }
    return low;
}

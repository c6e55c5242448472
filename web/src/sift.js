// SPDX-License-Identifier: GPL-2.0-or-later
// Which stacks are shown, and which of their frames: the words and rules of --focus, --ignore, --hide,
// --show and --show-from (src/analysis/filter.h).
const MARK = 8;
export const UNNAMED = 2; // the function isn't known

/** Parts in the order in which they apply: name, as the trail says it. */
export const PARTS = {
    focus: "only stacks with",
    ignore: "without stacks with",
    hide: "frames hidden:",
    show: "only frames:",
    "show-from": "from the outermost",
};

/** A pattern as users write it: a regular expression; as plain text if it is none. Case matters, in a search only if it has capitals. */
export function pattern(text, searched = false) {
    if (!text) return null;
    const flags = searched && text === text.toLowerCase() ? "i" : "";
    try {
        return new RegExp(text, flags);
    } catch {
        return new RegExp(quote(text), flags);
    }
}

export const quote = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** For each frame: 1 if its function, its file or its module fits, 2 if only what is shown instead of a name does. */
function fits(stacks, wanted) {
    const { name, whole, file, module, flags } = stacks.frames,
        known = new Map(),
        result = new Uint8Array(name.length);
    const test = (number) => {
        let found = known.get(number);
        if (found === undefined)
            known.set(number, (found = number > 0 && wanted.test(stacks.strings[number])));
        return found;
    };
    for (let i = 0; i < result.length; i++) {
        if (flags[i] & MARK) continue;
        const named = test(name[i]) || test(whole[i]);
        if (test(file[i]) || test(module[i]) || (named && !(flags[i] & UNNAMED))) result[i] = 1;
        else if (named) result[i] = 2;
    }
    return result;
}

/** What is left: { rows: 1 for each row that stays; keep: 1 for each node whose frame stays, null: all;
 *  byLabel: a frame without a name was chosen by what is shown instead, which no command does }. */
export function sift(stacks, filter) {
    const { nodeParent, nodeFrame, rowNode, functionOf } = stacks,
        count = nodeParent.length;
    const found = {};
    let byLabel = false;
    for (const part of Object.keys(PARTS)) {
        const wanted = pattern(filter[part]);
        if (!wanted) continue;
        found[part] = fits(stacks, wanted);
        byLabel ||= found[part].includes(2);
    }
    const { focus, ignore, hide, show, "show-from": from } = found,
        cuts = hide || show || from || filter.collapse;
    const has = (part, rows) => {
        const nodes = new Uint8Array(count);
        for (let node = 1; node < count; node++)
            nodes[node] = nodes[nodeParent[node]] | (part[nodeFrame[node]] ? 1 : 0);
        return rows.map((_, row) => nodes[rowNode[row]]);
    };
    const rows = new Uint8Array(rowNode.length).fill(1);
    if (focus) has(focus, rows).forEach((one, row) => (rows[row] &= one));
    if (ignore) has(ignore, rows).forEach((one, row) => (rows[row] &= 1 - one));
    if (!cuts) return { rows, keep: null, byLabel };
    // By node, of the stack that ends there: 1: frames were taken out, 2: code is left, 4: show-from has begun.
    const state = new Uint8Array(count),
        keep = new Uint8Array(count),
        last = new Int32Array(count).fill(-1);
    for (let node = 1; node < count; node++) {
        const above = nodeParent[node],
            frame = nodeFrame[node],
            isCode = !(stacks.frames.flags[frame] & MARK);
        const left = !isCode || (!hide?.[frame] && (!show || show[frame]));
        state[node] = state[above] | (left ? (isCode ? 2 : 0) : 1) | (left && from?.[frame] ? 4 : 0);
        keep[node] = left && (!from || state[node] & 4) ? 1 : 0;
        last[node] = keep[node] ? functionOf[frame] : last[above];
        if (filter.collapse && keep[node] && isCode && last[above] === last[node]) keep[node] = 0;
    }
    for (let row = 0; row < rows.length; row++) {
        const at = state[rowNode[row]];
        if (((show || at & 1) && !(at & 2)) || (from && !(at & 4))) rows[row] = 0;
    }
    return { rows, keep, byLabel };
}

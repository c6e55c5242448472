// SPDX-License-Identifier: GPL-2.0-or-later
// Source lines with what they allocated, if the page has any (heapwise html --source).
import { choice, el } from "./dom.js";
import { amount, exact, METRICS } from "./format.js";
import * as state from "./state.js";

const files = new Map();

/** Makes the page's source files known. Returns whether there are any. */
export function setSources({ documents }) {
    for (const one of documents.sources?.files ?? []) files.set(one.file, one);
    return files.size > 0;
}

/** Where a line of source is in the page; null: nowhere. */
export const sourceHref = (file, line) =>
    files.has(file) ? state.href({ view: "source", file, line: line || "", at: "" }) : null;

/** A link to the line of a frame of the stacks; null: the page doesn't have it. */
export function sourceLink(stacks, frame) {
    const href = sourceHref(stacks.strings[stacks.frames.file[frame]], stacks.frames.line[frame]);
    return href && el("a", { href }, "Source");
}

/** By line: what it allocated itself, and with what it called; a stack counts once for a line. */
function figures(stacks, metric, file) {
    const number = stacks.strings.indexOf(file),
        values = stacks.values[metric],
        found = new Map();
    for (let row = 0; row < values.length; row++) {
        if (!values[row]) continue;
        const seen = new Set();
        for (
            let node = stacks.rowNode[row], innermost = true;
            node;
            node = stacks.nodeParent[node], innermost = false
        ) {
            const frame = stacks.nodeFrame[node],
                line = stacks.frames.line[frame];
            if (stacks.frames.file[frame] !== number) continue;
            const one = found.get(line) ?? { flat: 0, cum: 0 };
            found.set(line, one);
            if (innermost) one.flat += values[row];
            if (!seen.has(line)) one.cum += values[row];
            seen.add(line);
        }
    }
    return found;
}

export function sourceView(data, stacks) {
    const names = [...files.keys()],
        file = files.has(state.get("file")) ? state.get("file") : names[0],
        metric = stacks.metric(state.get("metric")),
        by = figures(stacks, metric, file),
        chosen = Number(state.get("line"));
    const cell = (value) =>
        el(
            "td",
            { class: "number", title: value ? exact(metric, value) : null },
            value ? amount(metric, value) : "",
        );
    const line = (text, number) => {
        const { flat = 0, cum = 0 } = by.get(number) ?? {};
        return el(
            "tr",
            { class: number === chosen ? "chosen" : cum ? "" : "quiet", "data-line": number },
            cell(flat),
            cell(cum),
            el("td", { class: "number" }, String(number)),
            el("td", {}, text),
        );
    };
    const { runs, newer } = files.get(file),
        cut = data.cut?.documents?.sources,
        { missing } = data.documents.sources;
    const made = el(
        "table",
        { class: "source", "aria-label": `Lines of ${file}` },
        el(
            "thead",
            {},
            el(
                "tr",
                {},
                ["Self", "With callees", "Line", "Source"].map((text, i) =>
                    el("th", { class: i < 3 ? "number" : "", scope: "col" }, text),
                ),
            ),
        ),
        runs.map(({ line: first, text }) =>
            el(
                "tbody",
                {},
                text.map((one, i) => line(one, first + i)),
            ),
        ),
    );
    requestAnimationFrame(() => made.querySelector(".chosen")?.scrollIntoView({ block: "center" }));
    const notes = [
        newer ? "The file was changed after the recording began: lines may have moved." : "",
        missing || cut
            ? `Not in the page: ${missing} files that were not found or may not be embedded${cut ? `, ${cut} for want of room` : ""}.`
            : "",
        data.cut?.rows ? "Stacks that were added up count for no line." : "",
    ].filter(Boolean);
    return [
        el(
            "div",
            { class: "bar" },
            choice(
                "File",
                names.map((name) => [name, name]),
                file,
                (value) => state.set({ file: value, line: "" }),
            ),
            choice(
                "Figures",
                stacks.metrics.map((name) => [name, METRICS[name].join(", ")]),
                metric,
                (value) => state.set({ metric: value }),
            ),
        ),
        notes.map((text) => el("p", { class: "note" }, text)),
        el("div", { class: "wide" }, made),
    ];
}

// SPDX-License-Identifier: GPL-2.0-or-later
// Leaks by kind, with who holds them; other errors.
import { el } from "./dom.js";
import { leakSums } from "./diffview.js";
import { count } from "./format.js";
import { blocksAndBytes, judged, leftWords, stackList } from "./parts.js";

/** What a search of a heap tells apart. */
export const FOUND = {
    definite: "Definitely lost",
    indirect: "Indirectly lost",
    possible: "Possibly lost",
    reachable: "Still reachable",
};
const KINDS = [
    ...Object.entries(FOUND),
    ["library", "Kept by libraries"],
    ["suppressed", "Suppressed"],
    ["never_freed", "Never freed"],
];
let left = "Never freed"; // what is said of blocks that were not searched
const named = (kind) => (kind === "never_freed" ? left : (KINDS.find(([key]) => key === kind)?.[1] ?? kind));

const holder = (one) =>
    el("li", {}, typeof one === "string" ? one : (one.text ?? one.name ?? one.path ?? JSON.stringify(one)));

export function record(one) {
    return el(
        "li",
        {},
        el("span", { class: `tag ${one.kind}` }, named(one.kind)),
        " ",
        el("span", { class: "amount" }, blocksAndBytes(one.blocks, one.bytes)),
        one.indirect_blocks
            ? el(
                  "span",
                  { class: "note" },
                  ` and indirectly ${blocksAndBytes(one.indirect_blocks, one.indirect_bytes)}`,
              )
            : null,
        " ",
        el(
            "span",
            { class: "where" },
            one.function && one.function !== "unknown" ? `by ${one.function}` : "",
        ),
        stackList(one.stack, one.written_suppression),
        one.held_by?.length
            ? el(
                  "div",
                  {},
                  el("span", { class: "note" }, "Referenced by"),
                  el("ul", { class: "stack" }, one.held_by.slice(0, 10).map(holder)),
              )
            : null,
        one.suppression ? el("p", { class: "note" }, `Suppressed by ${one.suppression}`) : null,
    );
}

export function leaks(data) {
    const { leaks: answer, errors, report } = data.documents,
        found = answer?.leaks,
        change = data.kind === "diff" ? leakSums(data, KINDS) : null;
    left = leftWords(report);
    if (!found)
        return [
            change,
            el(
                "p",
                { class: "empty" },
                data.cut?.missing?.leaks ?? "This file does not say what was leaked.",
            ),
        ];
    const searched = found.summary.definite,
        sums = KINDS.filter(([key]) => found.summary[key] && !(searched && key === "never_freed"));
    return [
        change && [change, el("h2", {}, "In the newer one")],
        el(
            "div",
            { class: `verdict ${judged(data)}` },
            (answer.verdict ?? []).map((line) => el("p", {}, line)),
        ),
        el(
            "ul",
            { class: "cards" },
            sums.map(([key]) =>
                el(
                    "li",
                    {},
                    el("span", { class: "name" }, named(key)),
                    el(
                        "span",
                        { class: "figure" },
                        blocksAndBytes(found.summary[key].blocks, found.summary[key].bytes),
                    ),
                ),
            ),
        ),
        answer.notes?.length
            ? el(
                  "ul",
                  { class: "notes" },
                  answer.notes.map((note) => el("li", {}, note)),
              )
            : null,
        el("h2", {}, "Allocation sites"),
        data.cut?.documents?.leaks
            ? el(
                  "p",
                  { class: "warn" },
                  `${count(data.cut.documents.leaks)} more are not in the page: heapwise leaks --show-leak-kinds=all has all.`,
              )
            : null,
        found.records.length
            ? el("ol", { class: "sites" }, found.records.map(record))
            : el("p", { class: "empty" }, "None."),
        errors?.errors?.length
            ? [el("h2", {}, "Other errors"), el("ol", { class: "sites" }, errors.errors.map(errorOf))]
            : null,
    ];
}

function errorOf(error) {
    const stacks = Object.values(error).flatMap((value) =>
        Array.isArray(value) && value[0]?.stack ? value : [],
    );
    return el(
        "li",
        {},
        el("span", { class: "tag definite" }, String(error.kind ?? "error")),
        " ",
        error.what ?? error.text ?? "",
        stacks.map((one) => [el("div", { class: "note" }, one.what ?? one.text ?? ""), stackList(one.stack)]),
    );
}

// SPDX-License-Identifier: GPL-2.0-or-later
// What chooses stacks and frames, as a trail, with the command line that does the same.
import { commandLine } from "./about.js";
import { button, copy, el } from "./dom.js";
import { rangeChip, rangeCommand } from "./range.js";
import { PARTS, quote } from "./sift.js";
import * as state from "./state.js";

const SHORT = { focus: "Only with", ignore: "Without", hide: "Hide", show: "Show only", "show-from": "From" };
// Of libc, C++'s library and other languages' runtimes, by where they are and how they are called.
const RUNTIME =
    "^(std|__gnu_cxx|__cxxabiv1|core|alloc|runtime)::|^operator (new|delete)|^(__libc_|_start$|_dl_)|/(libc|libstdc\\+\\+|libc\\+\\+|libm|libgcc_s|ld-linux[^/]*)(-[0-9.]+)?\\.so[^/]*$";

let isOpen = false; // the bar of filters
let tell = null; // takes the trail of a served page, whose filters of PARTS are the server's

/** For a served page: `show(items, command, none)` shows what of the trail the tool does not compute. */
export function useServer(show) {
    tell = show;
}
export const isServed = () => Boolean(tell);
/** The name of a part in the URL. */
export const keyOf = (part) => (tell ? `ask.${part}` : part);
/** That a view has no trail of its own. */
export const noTrail = () => tell?.([]);

/** Filters in the URL that the page applies itself. */
export function filterOf() {
    const filter = { inverted: state.get("inverted") === "1", collapse: state.get("collapse") === "1" };
    for (const part of Object.keys(PARTS)) filter[part] = tell ? "" : state.get(part);
    for (const part of ["of", "ofin", "drop", "only", "by"]) filter[part] = state.get(part);
    return filter;
}

const FILTERED = ["flame", "calls", "tables"];
/** In a view that filters of stacks do not affect: that it is so. */
export const ofAll = (view) =>
    !tell && !FILTERED.includes(view) && Object.keys(PARTS).some((part) => state.get(part))
        ? el(
              "p",
              { class: "note" },
              "This view is of all stacks: filters apply to flame graphs, call trees and tables. ",
              button("Remove the filters", () =>
                  change(Object.fromEntries(Object.keys(PARTS).map((part) => [part, ""]))),
              ),
          )
        : null;

/** Changes filters: what is zoomed to or was removed is of the tree before. */
export const change = (changes) => state.set({ at: "", drop: "", ...changes });

/** One more pattern of a part: hide, ignore and show take either, others the new one. */
export function add(part, text) {
    const before = state.get(keyOf(part));
    if (!text || `|${before}|`.includes(`|${text}|`)) return;
    change({ [keyOf(part)]: before && /^(ignore|hide|show)$/.test(part) ? `${before}|${text}` : text });
}

export const exactName = (name) => `^${quote(name)}$`;

const OF_TABLES = ["functions", "files", "modules", "sites"];

const isRegular = (text) => {
    try {
        return Boolean(new RegExp(text));
    } catch {
        return false;
    }
};

/** The command that finds the same, or why there is none: { command } or { none }. */
function commandOf(data, stacks, view, metric, filter, byLabel = false) {
    const { recording } = data.documents.report,
        asked = data.served ? data.asked.filter((one) => !/^--(lifetimes|timeline)\b/.test(one)) : [];
    const none =
        data.asked?.length && !data.served
            ? "the page itself is of a part"
            : data.anonymous
              ? "the page has no names"
              : data.kind === "heap"
                ? "these are stacks of a heap that was joined with its recording"
                : recording.range && (!data.served || metric.startsWith("range_"))
                  ? "the page is of a range"
                  : metric.startsWith("range_") && recording.source !== "recording"
                    ? "commands know no times of such a file"
                    : metric.startsWith("lost_")
                      ? "heapwise leaks shows what is lost"
                      : filter.only
                        ? "stacks are chosen by their change"
                        : filter.drop
                          ? "single stacks were removed"
                          : filter.collapse
                            ? "recursion is collapsed"
                            : byLabel
                              ? "a function has no name"
                              : filter.ofin
                                ? "the function has a namesake in another module"
                                : OF_TABLES.includes(view) && metric.startsWith("range_")
                                  ? "tables of a range are the page's alone"
                                  : filter.of && /^range_(grown|shrunk)/.test(metric)
                                    ? "heapwise diff has no callers and callees"
                                    : "";
    if (none) return { none };
    // Of two files, not of one that is a difference by itself.
    const two = data.documents.base_leaks ?? data.cut?.missing?.base_leaks;
    const of = filter.of && (filter.inverted ? "--callers" : "--callees");
    const words = OF_TABLES.includes(view)
        ? ["report", "--view", view]
        : [
              view === "calls" || of ? "tree" : "flame",
              ...(of ? [of, exactName(filter.of)] : filter.inverted ? ["--bottom-up"] : []),
          ];
    const filters = Object.keys(PARTS).flatMap((part) =>
        filter[part] ? [`--${part}`, isRegular(filter[part]) ? filter[part] : quote(filter[part])] : [],
    );
    filters.push(...asked);
    return {
        command: commandLine(
            metric.startsWith("range_")
                ? rangeCommand(stacks, metric, recording.file, words, filters)
                : [
                      "heapwise",
                      ...words,
                      ...(two ? ["--base", data.documents.diff.older.label] : []),
                      words[0] === "report" ? "--sort" : "--metric",
                      metric,
                      ...filters,
                      recording.file,
                  ],
        ),
    };
}

/** What is often wanted. */
export const quickFilters = () => [
    button("Hide runtimes", () => add("hide", RUNTIME), {
        title: "Frames of libc, of C++'s library and of other languages' runtimes",
    }),
    button("Collapse recursion", () => change({ collapse: state.get("collapse") ? "" : "1" }), {
        title: "A function that calls itself is one box",
        "aria-pressed": String(state.get("collapse") === "1"),
    }),
];

/** A field for a pattern of each part; null: what serves the page has them. */
export function filterBar() {
    if (tell) return null;
    const text = el("input", {
        type: "search",
        placeholder: "Function, file or module (regex)",
        size: 32,
        "aria-label": "Pattern of a filter: function, file or module, as a regular expression",
    });
    const buttons = Object.entries(SHORT).map(([part, name]) =>
        button(name, () => add(part, text.value), { title: `--${part}: ${PARTS[part]} …` }),
    );
    text.addEventListener("keydown", (event) => event.key === "Enter" && add("focus", text.value));
    const bar = el("div", { class: "bar" }, text, buttons);
    const box = el("details", { open: isOpen }, el("summary", {}, "Filters of stacks and frames"), bar);
    box.addEventListener("toggle", () => (isOpen = box.open));
    return el("div", { class: "bar filters" }, box, quickFilters());
}

/** A pattern as the trail says it. */
export const short = (text) => (text === RUNTIME ? "runtimes" : text.replaceAll(RUNTIME, "runtimes"));

export function trailOf({ data, stacks, view, metric, filter, all, byLabel, gone }) {
    const one = (text, value, changes, title) =>
        el(
            "li",
            { title },
            `${text} ${value} `,
            button("×", () => change(changes), { "aria-label": `Remove the filter ${text} ${value}` }),
        );
    const of = filter.of && `${filter.of}${filter.ofin ? ` in ${filter.ofin}` : ""}`;
    const chip = rangeChip(stacks, metric),
        items = chip ? [chip] : [];
    for (const [part, text] of Object.entries(PARTS))
        if (filter[part])
            items.push(
                one(text, short(filter[part]), { [part]: "" }, commandLine([`--${part}`, filter[part]])),
            );
    if (filter.only) items.push(one("stacks that are", filter.only, { only: "" }));
    if (filter.collapse) items.push(one("recursion", "collapsed", { collapse: "" }));
    if (of && !OF_TABLES.includes(view))
        items.push(
            one(
                view === "flame" ? "callers and callees of" : filter.inverted ? "callers of" : "callees of",
                of,
                { of: "", ofin: "" },
            ),
        );
    gone.forEach(([path, name], i) =>
        items.push(
            one(name === null ? "not in this tree:" : "removed:", name ?? path, {
                drop: gone
                    .filter((_, other) => other !== i)
                    .map(([other]) => other)
                    .join(","),
            }),
        ),
    );
    if (!items.length && !tell) return null;
    const { command, none } = commandOf(data, stacks, view, metric, filter, byLabel);
    if (tell) return tell(items, command, items.length ? none : "");
    return el(
        "div",
        {},
        el("ul", { class: "trail", "aria-label": "Filters" }, items, el("li", {}, all)),
        el(
            "div",
            { class: "bar" },
            command
                ? [el("code", {}, command), button("Copy", () => copy(command, "Command"))]
                : el("span", { class: "note" }, `No command shows the same: ${none}.`),
        ),
    );
}

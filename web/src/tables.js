// SPDX-License-Identifier: GPL-2.0-or-later
// Functions, files, modules, threads, sizes: as tables.
import { button, choice, el } from "./dom.js";
import { classes, onlyChoice, spotsTable, threadsTable } from "./diffview.js";
import { exactName, filterBar, filterOf, keyOf, ofAll, trailOf } from "./filters.js";
import { amount, baseName, bytes, count, duration, exact, METRICS, percent, plural } from "./format.js";
import { bars } from "./parts.js";
import { sift } from "./sift.js";
import * as state from "./state.js";
import { table } from "./table.js";

const OF_SPOTS = { functions: "Functions", files: "Files", modules: "Modules" };

export function tables(data, stacks) {
    const views = [...Object.entries(OF_SPOTS), ...(data.documents.threads ? [["threads", "Threads"]] : [])];
    const chosen = views.some(([name]) => name === state.get("table")) ? state.get("table") : "functions";
    const metric = stacks.metric(state.get("metric")),
        cut = data.cut?.documents?.threads;
    const pick = el(
        "div",
        { class: "bar" },
        choice("Table", views, chosen, (value) => state.set({ table: value })),
        chosen === "threads"
            ? null
            : choice(
                  "Figures",
                  stacks.metrics.map((name) => [name, METRICS[name].join(", ")]),
                  metric,
                  (value) => state.set({ metric: value }),
              ),
        stacks.was && chosen !== "threads"
            ? choice("Rows", onlyChoice, state.get("only"), (value) => state.set({ only: value }))
            : null,
        chosen === "functions" && stacks.hasShort
            ? button("Whole names", () => state.set({ names: state.get("names") ? "" : "1" }), {
                  "aria-pressed": String(state.get("names") === "1"),
              })
            : null,
        chosen === "threads"
            ? null
            : el("span", { class: "note" }, "Enter or a double click shows a row's stacks as a flame graph."),
    );
    if (chosen === "threads") {
        const rows = data.documents.threads.threads;
        return [
            pick,
            ofAll("threads"),
            cut
                ? el(
                      "p",
                      { class: "note" },
                      `${count(cut)} more rows are not in the page: heapwise report --view threads has all.`,
                  )
                : null,
            stacks.was ? threadsTable(rows) : threads(rows),
        ];
    }
    const filter = { ...filterOf(), only: "", of: "", drop: "", inverted: false },
        left = sift(stacks, filter);
    return [
        pick,
        filterBar(),
        trailOf({
            data,
            stacks,
            view: chosen,
            metric,
            filter,
            all: allOf(stacks, metric, left),
            byLabel: left.byLabel,
            gone: [],
        }),
        state.get("of") || state.get("drop")
            ? el(
                  "p",
                  { class: "note" },
                  "Tables have the stacks that were removed from a tree, or are not of its function, too.",
              )
            : null,
        stacks.was
            ? spotsTable(chosen, OF_SPOTS[chosen], stacks, metric, left, onRow(chosen))
            : spots(chosen, stacks, metric, left),
    ];
}

/** What the filters leave of all. */
function allOf(stacks, metric, left) {
    const values = stacks.values[metric];
    let sum = 0;
    for (let row = 0; row < values.length; row++) if (left.rows[row]) sum += values[row];
    return `${amount(metric, sum)}, ${percent(sum, stacks.totals[metric]) || "0%"} of all`;
}

const onRow = (name) =>
    name === "functions"
        ? (spot) => state.set({ view: "flame", of: spot.whole, ofin: spot.module, at: "", drop: "" })
        : (spot) => state.set({ view: "flame", [keyOf("focus")]: exactName(spot.whole), at: "", drop: "" });

function spots(name, stacks, metric, left) {
    const total = stacks.totals[metric];
    const figure = (which, title, says) => ({
        key: which,
        title,
        says,
        number: true,
        value: (spot) => spot[which],
        text: (spot) => amount(metric, spot[which]),
        exact: (spot) => exact(metric, spot[which]),
    });
    return table({
        name,
        label: OF_SPOTS[name],
        sorted: "flat down",
        rows: stacks.spots(name, metric, left),
        onRow: onRow(name),
        columns: [
            figure("flat", "Self", "what it allocated itself"),
            figure("cum", "With callees", "what it and what it called allocated"),
            {
                key: "share",
                title: "Share",
                says: "of all, with callees",
                number: true,
                width: "5rem",
                value: (spot) => spot.cum,
                text: (spot) => percent(spot.cum, total),
            },
            {
                key: "name",
                title: name === "functions" ? "Function" : name === "files" ? "File" : "Module",
                text: (spot) => (state.get("names") ? spot.whole : spot.name),
                whole: (spot) => spot.whole,
                exact: (spot) => spot.whole,
            },
            ...(name === "functions"
                ? [
                      {
                          key: "where",
                          title: "File",
                          width: "minmax(8rem, .5fr)",
                          text: (spot) => baseName(spot.file),
                          whole: (spot) => spot.file,
                          exact: (spot) => spot.file,
                      },
                  ]
                : []),
        ],
    });
}

function threads(rows) {
    const number = (key, title, form = count) => ({
        key,
        title,
        number: true,
        value: (row) => row[key] ?? null,
        text: (row) => (row[key] === null || row[key] === undefined ? "?" : form(row[key])),
        exact: (row) => (row[key] === null || row[key] === undefined ? "not known" : count(row[key])),
    });
    return table({
        name: "threads",
        label: "Threads",
        sorted: "allocated_bytes down",
        rows,
        columns: [
            number("allocated_bytes", "Allocated", bytes),
            number("allocations", "Calls"),
            number("frees", "Frees"),
            number("temporary", "Temporary"),
            number("first_ns", "First", duration),
            number("last_ns", "Last", duration),
            { key: "name", title: "Thread", text: (row) => `${row.name || "(no name)"} ${row.tid ?? ""}` },
        ],
    });
}

export function distributions(data) {
    const { sizes, lifetimes } = data.documents,
        parts = [],
        two = data.kind === "diff";
    const size = (one) => (one.up_to === null ? "larger" : `up to ${bytes(one.up_to)}`);
    if (sizes?.size_classes && two)
        parts.push(
            el("h2", {}, "Sizes of all allocations"),
            classes(
                sizes.size_classes.map((one) => [size(one), one.base.allocations, one.allocations]),
                "Size",
            ),
        );
    else if (sizes?.size_classes)
        parts.push(
            el("h2", {}, "Sizes of all allocations"),
            bars(
                sizes.size_classes.map((one) => ({
                    label: size(one),
                    value: one.allocations,
                    text: `${plural(one.allocations, "call", "calls")}, ${bytes(one.bytes)}`,
                })),
                "Sizes",
            ),
        );
    const byTime = lifetimes?.lifetimes?.by_time;
    const blocks = (one) => one.freed_blocks + one.live_blocks;
    const life = (one) =>
        one.up_to_ns === 0
            ? "too short to tell"
            : one.up_to_ns === null
              ? "longer"
              : `up to ${duration(one.up_to_ns)}`;
    if (byTime && two)
        parts.push(
            el("h2", {}, "How long blocks lived"),
            classes(
                byTime
                    .filter((one) => blocks(one) || blocks(one.base))
                    .map((one) => [life(one), blocks(one.base), blocks(one)]),
                "Lifetime",
            ),
        );
    else if (byTime) {
        const first = byTime.findIndex(blocks),
            last = byTime.findLastIndex(blocks);
        parts.push(
            el("h2", {}, "How long blocks lived"),
            bars(
                byTime.slice(Math.max(0, first), last + 1).map((one) => ({
                    label: life(one),
                    value: blocks(one),
                    text: `${count(one.freed_blocks)} freed${one.live_blocks ? `, ${count(one.live_blocks)} live` : ""}`,
                })),
                "Lifetimes",
            ),
        );
    }
    for (const name of ["sizes", "lifetimes"])
        if (!data.documents[name] && data.cut?.missing?.[name])
            parts.push(el("p", { class: "empty" }, data.cut.missing[name]));
    return parts.length ? parts : [el("p", { class: "empty" }, "This file has neither sizes nor lifetimes.")];
}

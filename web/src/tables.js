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
const FOLDED = 4, // a frame of libc or of a language's runtime
    CALLERS = 3; // frames that an allocation site is named after

export function tables(data, stacks) {
    const views = [
        ...Object.entries(OF_SPOTS),
        ...(stacks.was ? [] : [["sites", "Allocation sites"]]),
        ...(data.documents.threads ? [["threads", "Threads"]] : []),
    ];
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
        /functions|sites/.test(chosen) && stacks.hasShort
            ? button("Whole names", () => state.set({ names: state.get("names") ? "" : "1" }), {
                  "aria-pressed": String(state.get("names") === "1"),
              })
            : null,
        chosen === "threads"
            ? null
            : el(
                  "span",
                  { class: "note" },
                  "A name leads to its stacks in the flame graph; also Enter, or a double click on a row.",
              ),
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
            : (chosen === "sites" ? sites : spots)(chosen, stacks, metric, left),
    ];
}

/** What the filters leave of all. */
function allOf(stacks, metric, left) {
    const values = stacks.values[metric];
    let sum = 0;
    for (let row = 0; row < values.length; row++) if (left.rows[row]) sum += values[row];
    return `${amount(metric, sum)}, ${percent(sum, stacks.totals[metric]) || "0%"} of all`;
}

/** What shows the stacks of a row. */
const leadsTo = (name, spot) => ({
    view: "flame",
    ...(name === "functions"
        ? { of: spot.whole, ofin: spot.module, at: "" }
        : name === "sites"
          ? { at: spot.path(), inverted: "", of: "", ofin: "" }
          : { [keyOf("focus")]: exactName(spot.whole), at: "" }),
    drop: "",
});
const onRow = (name) => (spot) => state.set(leadsTo(name, spot));
const nameLink = (name) => (spot) =>
    el(
        "a",
        { href: state.href(leadsTo(name, spot)), tabIndex: -1 },
        state.get("names") ? spot.whole : spot.name,
    );

/** A row of a table of stacks; its texts are made when they are asked for. */
class Site {
    constructor(stacks, row, value, keep) {
        Object.assign(this, { stacks, row, value, keep });
    }

    /** From the inside out. */
    nodes() {
        const { rowNode, nodeParent } = this.stacks,
            found = [];
        for (let node = rowNode[this.row]; node; node = nodeParent[node])
            if (!this.keep || this.keep[node]) found.push(node);
        return found;
    }

    /** The first ones that say something. */
    frames() {
        const { frames, nodeFrame } = this.stacks,
            all = this.nodes().map((node) => nodeFrame[node]),
            told = all.filter((frame) => !(frames.flags[frame] & FOLDED));
        return (told.length ? told : all).slice(0, CALLERS);
    }

    named(key) {
        const { functions, functionOf } = this.stacks;
        return (
            this.frames()
                .map((frame) => functions[functionOf[frame]][key])
                .join(" ← ") || "(no stack)"
        );
    }

    get name() {
        return this.named("name");
    }

    get whole() {
        return this.named("whole");
    }

    get kind() {
        return this.stacks.strings[this.stacks.rowKind[this.row]] || "several";
    }

    get where() {
        const [frame] = this.frames(),
            { frames, strings } = this.stacks;
        return frame === undefined ? "" : this.stacks.where(frame) || strings[frames.module[frame]];
    }

    /** As state.at has it. */
    path() {
        const { functionOf, nodeFrame } = this.stacks;
        return this.nodes()
            .map((node) => functionOf[nodeFrame[node]])
            .reverse()
            .join(".");
    }
}

function sites(name, stacks, metric, { rows: kept, keep }) {
    const values = stacks.values[metric],
        total = stacks.totals[metric];
    const rows = [...values.keys()]
        .filter((row) => kept[row] && values[row])
        .map((row) => new Site(stacks, row, values[row], keep));
    return table({
        name,
        label: "Allocation sites",
        sorted: "value down",
        rows,
        onRow: onRow(name),
        columns: [
            {
                key: "value",
                title: METRICS[metric][1] === "bytes" ? "Bytes" : "Number",
                says: METRICS[metric].join(", "),
                number: true,
                part: ({ value }) => value / total,
                value: ({ value }) => value,
                text: ({ value }) => amount(metric, value),
                exact: ({ value }) => exact(metric, value),
            },
            {
                key: "share",
                title: "Share",
                number: true,
                width: "5.5rem",
                value: ({ value }) => value,
                text: ({ value }) => percent(value, total),
            },
            { ...nameColumn(name), title: "Allocated in" },
            { key: "kind", title: "By", width: "8rem", text: ({ kind }) => kind },
            {
                key: "where",
                title: "Where",
                width: "minmax(8rem, .5fr)",
                text: ({ where }) => baseName(where),
                whole: ({ where }) => where,
                exact: ({ where }) => where,
            },
        ],
    });
}

const nameColumn = (name) => ({
    key: "name",
    text: (spot) => (state.get("names") ? spot.whole : spot.name),
    whole: (spot) => spot.whole,
    exact: (spot) => spot.whole,
    element: nameLink(name),
});

function spots(name, stacks, metric, left) {
    const total = stacks.totals[metric];
    const figure = (which, title, says) => ({
        key: which,
        title,
        says,
        number: true,
        part: (spot) => spot[which] / total,
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
                width: "5.5rem",
                value: (spot) => spot.cum,
                text: (spot) => percent(spot.cum, total),
            },
            {
                ...nameColumn(name),
                title: OF_SPOTS[name].slice(0, -1),
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

// SPDX-License-Identifier: GPL-2.0-or-later
// A page of a difference: what it says first, and its tables.
import { changed, changeSpots, fromTo, ONLY, rate, sign, signed, statusOf } from "./change.js";
import { el } from "./dom.js";
import { amount, baseName, bytes, count, exact, METRICS, plural } from "./format.js";
import { siteList } from "./parts.js";
import * as state from "./state.js";
import { table } from "./table.js";

const FEW = 5;

const modeOf = ({ recording }) =>
    [
        recording.mode === "sample" ? "sampled: figures are estimates" : recording.mode,
        recording.complete ? "" : "incomplete",
    ]
        .filter(Boolean)
        .join(", ");

/** Which two, for the head of the page. */
export function headOf({ documents: { diff } }) {
    const one = (side) => `${side.label}${modeOf(side) && ` (${modeOf(side)})`}`;
    return `${one(diff.older)} → ${one(diff.newer)}`;
}

/** Whether it is of two heaps that were not recorded: rows are types then. */
export const ofTypes = ({ kind, documents: { diff } }) =>
    kind === "diff" && [diff.older, diff.newer].every((side) => side.recording.source === "core");

const heads = (title) =>
    el(
        "thead",
        {},
        el(
            "tr",
            {},
            [title, "Before", "After", "Change", ""].map((text) => el("th", { scope: "col" }, text)),
        ),
    );

/** A figure that sums up: { older, newer, change, range, within_error }. */
function line(metric, name, figure, cut) {
    if (!figure)
        return el(
            "tr",
            {},
            el("th", { scope: "row" }, name),
            el("td", { colspan: 4, class: "note" }, `not known: ${cut} does not say it`),
        );
    const { older, newer, range } = figure;
    return el(
        "tr",
        {},
        el("th", { scope: "row" }, name),
        el("td", { class: "number", title: exact(metric, older) }, amount(metric, older)),
        el("td", { class: "number", title: exact(metric, newer) }, amount(metric, newer)),
        el(
            "td",
            { class: "number", title: exact(metric, newer - older) },
            changed(metric, older, newer),
            range
                ? el(
                      "div",
                      { class: "note" },
                      figure.within_error
                          ? "within the error"
                          : `estimate: ${signed(metric, range[0])} to ${signed(metric, range[1])}`,
                  )
                : null,
        ),
        el("td", { class: "number" }, rate(older, newer)),
    );
}

function totals({ documents: { diff }, cut }) {
    const ranged = diff.older.recording.range || diff.newer.recording.range,
        rows = Object.entries(METRICS).filter(
            ([metric]) =>
                (diff.totals[metric] || cut.figures?.[metric]) &&
                (ranged || !metric.startsWith("kept_")) &&
                !(metric === "failed" && !diff.totals.failed?.older && !diff.totals.failed?.newer),
        );
    return el(
        "table",
        { class: "totals" },
        heads("Figure"),
        el(
            "tbody",
            {},
            rows.map(([metric, name]) =>
                line(metric, name.join(", "), diff.totals[metric], cut.figures?.[metric]),
            ),
        ),
    );
}

/** Allocation sites, or types, of a status: those that changed most. */
function places(data, status, title, none) {
    const { diff } = data.documents,
        { metric } = diff,
        of = diff.rows.filter((row) => row.status === status && !row.library),
        sure = of.filter((row) => !row[metric].within_error),
        unsure = of.length - sure.length,
        rows = [...sure, ...of.filter((row) => row[metric].within_error)].slice(0, FEW),
        // All rows are here unless the document is cut; then the sum of all stands.
        whole = unsure && !data.cut?.documents?.diff,
        all = whole ? sure.length : diff.places[status].count,
        change = whole ? sure.reduce((sum, row) => sum + row[metric].change, 0) : diff.places[status].change;
    return el(
        "section",
        {},
        el(
            "h2",
            {},
            `${title}: ${all ? `${ofTypes(data) ? plural(all, "type", "types") : plural(all, "allocation site", "allocation sites")}, ${signed(metric, change)}` : none}${whole ? `; within the error: ${count(unsure)}` : ""}`,
        ),
        rows.length
            ? siteList(data, rows, ({ [metric]: { older, newer, within_error: unsure } }) => [
                  changed(metric, older, newer),
                  el(
                      "span",
                      { class: "note" },
                      ` ${fromTo(metric, older, newer)}${unsure ? "; within the error" : ""}`,
                  ),
              ])
            : null,
        all
            ? el(
                  "p",
                  {},
                  el("a", { href: state.href({ view: "flame", metric, only: status }) }, "Flame graph"),
                  all > rows.length ? ` of all ${count(all)}` : "",
              )
            : null,
    );
}

const notes = (title, lines) =>
    lines?.length
        ? el(
              "section",
              {},
              el("h2", {}, title),
              el(
                  "ul",
                  { class: "notes" },
                  lines.map((text) => el("li", {}, text)),
              ),
          )
        : null;

export function diffOverview(data, timeline) {
    const { diff } = data.documents;
    const differs = ["new", "grown", "shrunk", "gone"].some((status) => diff.places[status].count);
    return [
        el(
            "div",
            { class: "verdict" },
            diff.verdict.map((text) => el("p", {}, text)),
            diff.same_recording ? el("p", { class: "note" }, "Two moments of one recording.") : null,
        ),
        totals(data),
        notes("What limits the comparison", diff.notes),
        timeline,
        differs
            ? el(
                  "div",
                  { class: "two" },
                  places(data, "grown", "▲ Grown", "none"),
                  places(data, "new", "▲ New", "none"),
                  places(data, "shrunk", "▼ Shrunk", "none"),
                  places(data, "gone", "▼ Gone", "none"),
              )
            : el(
                  "p",
                  { class: "empty" },
                  `No ${ofTypes(data) ? "type" : "allocation site"} differs by “${METRICS[diff.metric].join(", ")}”. `,
                  el("a", { href: state.href({ view: "flame" }) }, "Changes by other figures"),
              ),
    ];
}

/** Columns of a table: the change of a figure, what it was, what it is. was, now: of a row; null: not known. */
function three(key, title, form, was, now, says) {
    const by = (row) => (was(row) === null || now(row) === null ? null : now(row) - was(row));
    const words = (value, text) => (value === null || value === undefined ? "?" : text(value));
    const column = (name, of, more) => ({
        key: `${key}.${name}`,
        title: `${title} ${name}`,
        says: `${says ?? title}: ${name}`,
        number: true,
        width: "8rem",
        value: (row) => of(row),
        text: (row) => words(of(row), form),
        exact: (row) => words(of(row), count),
        ...more,
    });
    const text = (value) =>
        `${sign(value)} ${value ? (value > 0 ? "+" : "-") + form(Math.abs(value)) : "±0"}`;
    return [
        column("change", by, {
            rank: (row) => (by(row) === null ? null : Math.abs(by(row))),
            text: (row) => words(by(row), text),
            element: (row) =>
                el("span", { class: by(row) > 0 ? "more" : by(row) < 0 ? "less" : "" }, words(by(row), text)),
        }),
        column("before", was),
        column("after", now),
    ];
}

export function spotsTable(kind, title, stacks, metric, left, onRow) {
    const only = state.get("only"),
        form = (value) => amount(metric, value),
        pair = (key, name, i, says) =>
            three(
                key,
                name,
                form,
                (one) => one.was[i],
                (one) => one.now[i],
                says,
            ),
        self = pair("self", "Self", 0, "what it allocated itself"),
        cum = pair("cum", "Total", 1, "what it and what it called allocated");
    const rows = changeSpots(stacks, kind, metric, left).filter((one) => {
        const status = statusOf(one.was[1], one.now[1]);
        return !only || (only === "changed" ? status !== "same" : status === only);
    });
    // Of those that changed equally by themselves, by what they called.
    rows.sort((a, b) => cum[0].rank(b) - cum[0].rank(a));
    return table({
        name: kind,
        label: title,
        sorted: "self.change down",
        rows,
        onRow,
        columns: [
            self[0],
            cum[0],
            {
                key: "name",
                title: title.slice(0, -1),
                text: (one) => (state.get("names") ? one.whole : one.name),
                whole: (one) => one.whole,
                exact: (one) => one.whole,
            },
            ...(kind === "functions"
                ? [
                      {
                          key: "where",
                          title: "File",
                          width: "minmax(7rem, .4fr)",
                          text: (one) => baseName(one.file),
                          exact: (one) => one.file,
                      },
                  ]
                : []),
            ...self.slice(1),
            ...cum.slice(1),
        ],
    });
}

export const onlyChoice = Object.entries(ONLY);

/** A table of rows that have `base` beside their own figures; columns: [member, title, form]. */
function pairTable(name, label, rows, columns, naming) {
    const told = columns.map(([key, title, form]) =>
        three(
            key,
            title,
            form,
            (row) => row.base?.[key] ?? null,
            (row) => row[key] ?? null,
        ),
    );
    return table({
        name,
        label,
        sorted: `${columns[0][0]}.change down`,
        rows,
        columns: [
            ...told.map((one) => one[0]),
            { key: "name", title: label, text: naming },
            ...told.flatMap((one) => one.slice(1)),
        ],
    });
}

export const threadsTable = (rows) =>
    pairTable(
        "threads",
        "Thread",
        rows,
        [
            ["allocated_bytes", "Allocated", bytes],
            ["allocations", "Calls", count],
            ["frees", "Frees", count],
        ],
        (row) => `${row.name || "(no name)"} ${row.tid ?? ""}`,
    );

/** Classes in their order, of both files: rows are [label, was, now] of counts. */
export function classes(rows, title) {
    return el(
        "table",
        { class: "totals", "aria-label": title },
        heads(title),
        el(
            "tbody",
            {},
            rows.map(([label, was, now]) =>
                el(
                    "tr",
                    {},
                    el("th", { scope: "row" }, label),
                    el("td", { class: "number" }, count(was)),
                    el("td", { class: "number" }, count(now)),
                    el("td", { class: "number" }, changed("allocations", was, now)),
                    el("td", { class: "number" }, rate(was, now)),
                ),
            ),
        ),
    );
}

/** What leak searches found before and after, by kind. */
export function leakSums({ documents, cut }, kinds) {
    const [was, now] = ["base_leaks", "leaks"].map((name) => documents[name]?.leaks.summary);
    if (!was || !now)
        return el(
            "p",
            { class: "note" },
            `Leaks can't be compared: ${cut?.missing?.[now ? "base_leaks" : "leaks"] ?? "one of the two was not searched."}`,
        );
    const rows = kinds.filter(
        ([key]) => was[key] && now[key] && !(key === "never_freed" && was.definite && now.definite),
    );
    if (!rows.length) return el("p", { class: "note" }, "Only one of the two was searched for leaks.");
    return el(
        "table",
        { class: "totals" },
        heads("Leaks"),
        el(
            "tbody",
            {},
            rows.map(([key, name]) =>
                line("lost_bytes", name, { older: was[key].bytes, newer: now[key].bytes }),
            ),
        ),
    );
}

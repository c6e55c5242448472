// SPDX-License-Identifier: GPL-2.0-or-later
// The heap of a core or a process: what is in use, of which types, who retains it, what is around it.
import { about, commandLine } from "./about.js";
import { el } from "./dom.js";
import { exactName } from "./filters.js";
import { baseName, bytes, count, duration, percent, plural } from "./format.js";
import { FOUND, record } from "./leaks.js";
import { ownerAt, owners } from "./owners.js";
import { ownerTree } from "./ownertree.js";
import { blocksAndBytes, judged, stackList } from "./parts.js";
import { childrenOf } from "./stacks.js";
import * as state from "./state.js";
import { table } from "./table.js";

const link = (changes, text) => el("a", { href: "#" + new URLSearchParams(changes) }, text);
const part = (title, ...parts) => el("section", { class: "part" }, el("h2", {}, title), parts);
const note = (...parts) => el("p", { class: "note" }, parts);
const list = (style, items, none = "Nothing.") =>
    items.length ? el("ol", { class: style }, items) : el("p", { class: "empty" }, none);
const verdict = (data, lines, style) =>
    el(
        "div",
        { class: `verdict ${judged(data) || style}` },
        lines.map((line) => el("p", {}, line)),
    );
const shown = (value, form) => (value === null || value === undefined ? "not known" : form(value));
/** What finds a type among owners. */
const ofType = (name) => ({ view: "owners", q: exactName(name), at: "" });

/** The command that shows it. */
function commandOf({ documents }, verb) {
    const { kind, name, pid } = documents.summary.source;
    return `heapwise ${kind === "core" ? `core ${commandLine([name])}` : `heap ${pid}`}${verb && " " + verb}`;
}

const cutNote = (data, name, verb) =>
    data.cut?.documents?.[name]
        ? el(
              "p",
              { class: "warn" },
              `${count(data.cut.documents[name])} more rows are not in the page: ${commandOf(data, `${verb} --limit 1000000`)} has them.`,
          )
        : null;

/** A view of a document, if there is one. */
const viewOf = (name, view) => (data) =>
    data.documents[name]
        ? view(data)
        : el("p", { class: "empty" }, data.cut?.missing?.[name] ?? "Not known.");

/** Columns of a table: [key, title, form (of a figure; null: a text), what it says, more]. */
const grid = (name, label, sorted, rows, columns, onRow) =>
    table({
        onRow,
        name,
        label,
        sorted,
        rows,
        columns: columns.filter(Boolean).map(([key, title, form = count, says = title, more]) => ({
            key,
            title,
            says,
            ...(form
                ? {
                      number: true,
                      width: `${Math.max(6.5, 2.5 + title.length * 0.6)}rem`,
                      value: (row) => row[key] ?? null,
                      text: (row) => shown(row[key], form),
                      exact: (row) => shown(row[key], count),
                  }
                : { text: (row) => String(row[key] ?? "") }),
            ...more,
        })),
    });

const card = (name, figure, exact, ...notes) =>
    el(
        "li",
        {},
        el("span", { class: "name" }, name),
        el("span", { class: "figure", title: exact }, figure),
        el("span", { class: "note" }, notes.filter(Boolean).join("; ")),
    );
const amountCard = (name, size, blocks, ...notes) =>
    card(name, bytes(size), `${count(size)} bytes`, plural(blocks, "block", "blocks"), ...notes);

const lossCards = ({ leaks, alone, totals }) =>
    Object.entries(FOUND).map(([kind, name]) => {
        const one = leaks?.summary?.[kind];
        return one && (one.blocks || kind === "definite")
            ? amountCard(
                  name,
                  one.bytes,
                  one.blocks,
                  percent(one.bytes, totals?.used_bytes),
                  kind === "definite" && alone?.blocks
                      ? `${blocksAndBytes(alone.blocks, alone.bytes)} without any pointer`
                      : "",
              )
            : null;
    });

/** null: not known, as no heap was found where something is missing. */
const totalsOf = ({ totals, allocators, partial }) => (allocators.length || !partial.length ? totals : null);

function cards(summary) {
    const { allocators, source, recording } = summary,
        totals = totalsOf(summary);
    return el(
        "ul",
        { class: "cards" },
        totals
            ? [
                  amountCard("In use", totals.used_bytes, totals.used_blocks),
                  amountCard(
                      "Free, not given back",
                      totals.free_bytes,
                      totals.free_blocks,
                      totals.cached_blocks ? `${bytes(totals.cached_bytes)} cached` : "",
                  ),
                  lossCards(summary),
              ]
            : card("In use", "not known", "", "no heap was found"),
        card(
            "Allocators",
            allocators.map((one) => one.allocator).join(", ") || "none found",
            "",
            allocators.map((one) => `${one.allocator} ${bytes(one.bytes)}`).join(", "),
        ),
        recording
            ? amountCard(
                  "With call stacks",
                  recording.known_bytes,
                  recording.known_blocks,
                  baseName(recording.file),
              )
            : null,
        source.pause_ns ? card("Paused", duration(source.pause_ns), "", "while it was copied") : null,
    );
}

/** Rows with a bar each, which lead somewhere: [name, bytes, blocks, note, where]. */
function ranking(title, rows, whole, view, all) {
    const most = Math.max(1, ...rows.map((row) => row[1]));
    return part(
        title,
        list(
            "ranking",
            rows.map(([name, size, blocks, says, changes]) => {
                const bar = el("span", { class: "bar-of" });
                bar.style.width = `${(100 * size) / most}%`;
                return el(
                    "li",
                    { title: `${count(size)} bytes in ${plural(blocks, "block", "blocks")}` },
                    el("span", { class: "amount" }, bytes(size)),
                    el("span", { class: "share" }, percent(size, whole)),
                    el("span", {}, link(changes, name), el("span", { class: "where" }, ` ${says}`), bar),
                );
            }),
            "No block in use was found.",
        ),
        el("p", {}, link({ view }, all)),
    );
}

function largestOwners(data) {
    const tree = ownerTree(data, "owned_bytes"),
        blocks = ownerTree(data, "owned_blocks");
    const rows = [...childrenOf(tree, 0).subarray(0, 10)].map((node) => [
        tree.label(node),
        tree.total[node],
        blocks.total[node],
        baseName(tree.where(node)),
        { view: "owners", at: ownerAt(tree, node), q: "" },
    ]);
    return ranking("Largest owners", rows, tree.total[0], "owners", "All owners, and what they retain");
}

/** What figures lack. */
function doubts({ damage, unread }) {
    const lines = damage.map(
        (one) =>
            `${one.amid_change ? "A thread is in the middle of a change, or damage" : "Damage"} at ${one.address}: ${one.what}${one.bytes ? `, ${count(one.bytes)} bytes` : ""}.`,
    );
    for (const one of unread?.seen ?? []) lines.push(`${one.allocator}: ${one.found}`);
    return lines.length
        ? part(
              "What was not understood",
              el(
                  "ul",
                  { class: "notes" },
                  lines.map((line) => el("li", {}, line)),
              ),
          )
        : null;
}

export function heapOverview(data) {
    const { summary, leaks } = data.documents,
        { types, partial, damage } = summary,
        totals = totalsOf(summary),
        lost = (leaks?.leaks?.records ?? []).filter((one) => /^(definite|possible)$/.test(one.kind)),
        unknown = types.reduce((sum, one) => sum + (one.kind === "unknown" ? one.bytes : 0), 0);
    const rows = types
        .slice(0, 10)
        .map((one) => [
            one.name,
            one.bytes,
            one.blocks,
            one.kind === "unknown"
                ? "unknown type"
                : one.look_alike
                  ? `${count(one.look_alike)} by looks alone`
                  : "",
            ofType(one.name),
        ]);
    return [
        verdict(data, summary.verdict, partial.length || damage.length || !totals ? "bad" : ""),
        cards(summary),
        doubts(summary),
        el(
            "div",
            { class: "two" },
            ranking("Largest types", rows, totals?.used_bytes, "types", `All ${count(types.length)} types`),
            largestOwners(data),
        ),
        unknown && totals
            ? note(
                  `${bytes(unknown)} (${percent(unknown, totals.used_bytes)}) are in blocks of unknown types, which are named after size and pointers. Debug information names more.`,
              )
            : null,
        lost.length
            ? part(
                  "Lost",
                  list("sites", lost.slice(0, 3).map(record)),
                  el("p", {}, link({ view: "leaks" }, "All leaks")),
              )
            : null,
    ];
}

export function types(data) {
    const { types: rows, groups, totals } = data.documents.summary;
    const each = (row) => row.bytes / row.blocks,
        examples = new Map(groups.map((one) => [one.name, one.example])),
        share = {
            value: (row) => row.bytes,
            text: (row) => percent(row.bytes, totals?.used_bytes),
            exact: (row) => `${count(row.bytes)} bytes`,
        };
    return [
        cutNote(data, "summary", "types"),
        grid(
            "types",
            "Types of blocks in use",
            "bytes down",
            rows,
            [
                ["bytes", "Bytes", bytes],
                [
                    "name",
                    "Type",
                    null,
                    "leads to what retains its blocks",
                    { element: (row) => link(ofType(row.name), row.name) },
                ],
                ["share", "Share", count, "of what is in use", share],
                ["blocks", "Blocks"],
                [
                    "each",
                    "Each",
                    bytes,
                    "on average",
                    {
                        value: each,
                        text: (row) => bytes(each(row)),
                        exact: (row) => `${each(row).toFixed(1)} bytes`,
                    },
                ],
                ["kind", "Known by", null, "", { width: "6.5rem" }],
                groups.length && [
                    "example",
                    "Example",
                    null,
                    "a block of an unknown type",
                    { width: "10rem", text: (row) => examples.get(row.name) ?? "" },
                ],
                rows.some((row) => row.look_alike) && [
                    "look_alike",
                    "Look-alikes",
                    count,
                    "blocks that only look like it",
                    {
                        value: (row) => row.look_alike ?? 0,
                        text: (row) => (row.look_alike ? count(row.look_alike) : ""),
                        exact: (row) => count(row.look_alike ?? 0),
                    },
                ],
            ],
            (row) => state.set(ofType(row.name)),
        ),
        groups.length
            ? note(
                  `${commandOf(data, "type EXAMPLE")} looks for types that a block of unknown type may be of.`,
              )
            : null,
    ];
}

const HELD = ["kind", "symbol", "type"];

/** Owners as a picture, and those that retain most, one by one, with addresses to ask about. */
export const heapOwners = (data) => [
    owners(data),
    viewOf("dominators", ({ documents: { dominators: answer } }) =>
        part(
            "Single owners",
            cutNote(data, "dominators", "dominators"),
            grid("dominators", "Single owners", "retained_bytes down", answer.dominators, [
                ["retained_bytes", "Retained", bytes],
                [
                    "name",
                    "Owner",
                    null,
                    "",
                    {
                        text: (row) =>
                            HELD.map((key) => row[key])
                                .filter(Boolean)
                                .join(" ") + (row.thread ? ` of thread ${row.thread}` : ""),
                    },
                ],
                ["address", "Address", null, "", { width: "10rem" }],
            ]),
            note(
                answer.least_bytes > 1
                    ? `What retains less than ${bytes(answer.least_bytes)} is not listed. `
                    : "",
                `${commandOf(data, "why ADDRESS")} has what references it.`,
            ),
        ),
    )(data),
];

export const heapLeaks = viewOf("leaks", (data) => {
    const { leaks, summary } = data.documents;
    const of = (reachable) =>
        list(
            "sites",
            leaks.leaks.records.filter((one) => (one.kind === "reachable") === reachable).map(record),
        );
    // Without a heap there is nothing to count.
    if (!totalsOf(summary)) return [verdict(data, leaks.verdict ?? [], "")];
    return [
        verdict(data, leaks.verdict ?? [], ""),
        el("ul", { class: "cards" }, lossCards(summary)),
        cutNote(data, "leaks", "leaks"),
        part("Lost", of(false)),
        part("Still reachable", of(true)),
        note(`${commandOf(data, "why TYPE")} has everything that references a type.`),
    ];
});

const SPACES = { used: "in use", free: "free", spare: "after the last block" };

function arenaBar(arena, most) {
    const says = ([style, name]) => `${bytes(arena[style + "_bytes"])} ${name}`,
        all = Object.entries(SPACES);
    return el(
        "li",
        {},
        el("strong", {}, `${arena.allocator}, arena ${arena.arena} `),
        all.map(says).join(", "),
        el(
            "div",
            { class: "spaces" },
            all.map((one) => {
                const space = el("span", { class: one[0], title: says(one) });
                space.style.width = `${(100 * arena[one[0] + "_bytes"]) / most}%`;
                return space;
            }),
        ),
    );
}

export const fragmentation = viewOf("fragmentation", (data) => {
    const { arenas, pins } = data.documents.fragmentation,
        size = (one) => one.used_bytes + one.free_bytes + one.spare_bytes,
        largest = arenas
            .slice()
            .sort((a, b) => size(b) - size(a))
            .slice(0, 8);
    return [
        list(
            "arenas",
            largest.map((arena) => arenaBar(arena, size(largest[0]) || 1)),
            "No arena was found.",
        ),
        note(
            Object.entries(SPACES).map(([style, name]) => [
                el("span", { class: `key ${style}` }),
                `${name}  `,
            ]),
            arenas.length > largest.length ? `${largest.length} of ${count(arenas.length)} arenas` : "",
        ),
        cutNote(data, "fragmentation", "fragmentation"),
        part(
            "Arenas",
            grid("arenas", "Arenas", "free_bytes down", arenas, [
                ["allocator", "Allocator", null, "", { width: "7rem" }],
                ["arena", "Arena"],
                ["bytes", "Bytes", bytes],
                ["used_bytes", "In use", bytes],
                ["free_bytes", "Free", bytes],
                ["spare_bytes", "Spare", bytes, "after the last block"],
                ["pages", "Pages", count],
                ["free_pages", "Free pages", count],
                ["pinned_pages", "Pinned pages", count, "pages that are used to less than a quarter"],
                ["pinned_bytes", "Free in these", bytes],
            ]),
        ),
        part(
            "What pins pages",
            note("Blocks in pages that are used to less than a quarter, and so can't be given back."),
            grid("pins", "Types of blocks that pin pages", "free_bytes down", pins, [
                ["free_bytes", "Free beside", bytes, "free in the pages that they pin"],
                ["blocks", "Blocks"],
                ["type", "Type", null],
            ]),
        ),
    ];
});

export const threadStacks = viewOf("thread_stacks", (data) => {
    const { threads } = data.documents.thread_stacks;
    return [
        cutNote(data, "thread_stacks", "threads"),
        list(
            "sites",
            threads.map(({ tid, signal, stack, python }) =>
                el(
                    "li",
                    {},
                    el("span", { class: "amount" }, `Thread ${tid} `),
                    signal ? el("span", { class: "tag definite" }, `ended by signal ${signal}`) : null,
                    python.length ? [el("div", { class: "note" }, "In Python"), stackList(python)] : null,
                    stack.length ? stackList(stack) : note("Its stack could not be followed."),
                ),
            ),
            "No thread is known.",
        ),
    ];
});

export const mappings = viewOf("maps", (data) => {
    const { kinds, maps } = data.documents.maps,
        isCore = data.documents.summary.source.kind === "core";
    const figures = [
        ["bytes", "Bytes", bytes],
        ["there", "Readable", bytes],
        ["not_zero", "Not zero", bytes],
        ...(isCore
            ? []
            : [
                  ["resident", "Resident", bytes],
                  ["private", "Private", bytes],
                  ["swapped", "Swapped", bytes],
              ]),
    ];
    return [
        isCore ? note("A core does not say what was resident or swapped out.") : null,
        grid("map-kinds", "Mappings by purpose", "bytes down", kinds, [
            ["kind", "Purpose", null, "", { width: "7rem" }],
            ["mappings", "Mappings"],
            ...figures,
        ]),
        part(
            "All mappings",
            cutNote(data, "maps", "maps"),
            grid("maps", "Mappings", "start up", maps, [
                ["start", "Start", null, "", { width: "10rem" }],
                ["flags", "Flags", null, "", { width: "4rem" }],
                ["kind", "Purpose", null, "", { width: "6rem" }],
                ...figures,
                ["path", "File or owner", null, "", { text: (row) => row.path || row.of || "" }],
            ]),
        ),
    ];
});

const VERBS = ["", "types", "dominators", "leaks", "fragmentation", "threads", "maps", "--html"];

export const heapAbout = (data) => [
    about(
        data,
        VERBS.map((verb) => commandOf(data, verb)),
    ),
    note("It has sizes, types and names, and no contents of memory."),
];

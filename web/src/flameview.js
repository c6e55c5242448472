// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph and the tree of calls, with what chooses them: metric, direction, filters, search.
import { calltree } from "./calltree.js";
import { changeTeller, changeTree, leaveOnly, ONLY, WIDTHS } from "./change.js";
import { COLOURS, painter } from "./colours.js";
import { button, choice, copy, download, el } from "./dom.js";
import { change, exactName, add, filterBar, filterOf, isServed, trailOf } from "./filters.js";
import { flameBox, pathText } from "./flamebox.js";
import { amount, exact, METRICS, percent } from "./format.js";
import { besides } from "./print.js";
import { rangeKey } from "./range.js";
import { pattern, sift, UNNAMED } from "./sift.js";
import { sourceLink } from "./source.js";
import { NONE } from "./stacks.js";
import * as state from "./state.js";

let made = null; // the latest trees, and of what
let shown = []; // the flame graphs that are shown
/** For other pictures: those that keys and the theme are for. */
export function setShown(pictures) {
    shown = pictures;
}
const isDark = () => document.documentElement.dataset.theme === "dark";
addEventListener("themechange", () => {
    for (const one of shown) one.draw();
    document.querySelector(".legend")?.retint();
});

/** For keys: goes to the next (1) or previous (-1) box that matches the search. */
export function stepMatch(by) {
    const flame = shown.findLast((one) => one.canvas.isConnected);
    if (!flame?.matches) return;
    const { which, of } = flame.step(by);
    if (of) flame.canvas.focus({ preventScroll: true });
    if (of) flame.tell(`, match ${which} of ${of}`);
    const told = document.getElementById("step");
    if (told) told.textContent = of ? `${which} of ${of} boxes` : "no box";
}

/** Functions of that name, and of that module if one is given: 1 for each; null: none is asked for. */
function functionsOf(stacks, { of, ofin }) {
    return of
        ? Uint8Array.from(stacks.functions, (f) => (f.whole === of && (!ofin || f.module === ofin) ? 1 : 0))
        : null;
}

/** { left, tree, gone }, for the callers of a function also `callers`. */
function treesOf(stacks, metric, filter, both) {
    const key = JSON.stringify([metric, filter, both, rangeKey(stacks, metric)]);
    if (made?.key === key && made.stacks === stacks) return made;
    const left = sift(stacks, filter),
        of = functionsOf(stacks, filter),
        gone = [];
    left.key = JSON.stringify({
        ...filter,
        only: 0,
        by: 0,
        focus: 0,
        ignore: 0,
        of: 0,
        ofin: 0,
        inverted: 0,
        drop: 0,
    });
    if (of && !of.includes(1)) left.rows.fill(0);
    if (stacks.was) leaveOnly(stacks, metric, left.rows, filter.only);
    const ofKey = filter.of + " " + filter.ofin,
        drop = filter.drop ? (shape, rows) => dropStacks(stacks, filter.drop, shape, rows, gone) : null;
    const tree = (inverted) => {
        const how = { inverted, of, ofKey, drop },
            made = stacks.was
                ? changeTree(stacks, metric, left, how, filter.by)
                : stacks.tree(metric, left, how);
        made.tell = (stacks.was ? changeTeller : teller)(stacks, metric, made, left.rows);
        return made;
    };
    const callers = both && of ? tree(true) : null;
    made = { key, stacks, left, gone, callers, tree: tree(filter.inverted && !callers) };
    return made;
}

/** How the figures of a tree are told. */
export function figuresOf(metric, tree) {
    const whole = tree.total[0],
        text = (node) => `${amount(metric, tree.total[node])}, ${percent(tree.total[node], whole) || "0%"}`;
    return {
        text,
        label: (node, name) => (node ? name : `all: ${amount(metric, whole)}`),
        details: (node, inverted) =>
            el(
                "div",
                {},
                text(node),
                el(
                    "span",
                    { class: "note" },
                    ` (${exact(metric, tree.total[node])}${inverted ? "" : `; itself ${amount(metric, tree.self[node])}`})`,
                ),
            ),
        cells: (node) => [
            el("span", { class: "amount" }, amount(metric, tree.total[node])),
            el("span", { class: "share" }, percent(tree.total[node], whole)),
        ],
    };
}

function teller(stacks, metric, tree, rows) {
    const whole = tree.total[0];
    return {
        ...figuresOf(metric, tree),
        matched: (some) => {
            let sum = 0;
            for (let row = 0; row < some.length; row++)
                if (some[row] && rows[row] && tree.rowEnd[row] !== NONE) sum += stacks.values[metric][row];
            return `${amount(metric, sum)}, ${percent(sum, whole) || "0%"}`;
        },
        all: () => `${amount(metric, whole)}, ${percent(whole, stacks.totals[metric])} of all`,
    };
}

/** Takes rows out that end in a removed node or what it called. Tells what that was: [path, name or null: nothing]. */
function dropStacks(stacks, paths, shape, rows, gone) {
    const dead = new Uint8Array(shape.count);
    for (const path of paths.split(",")) {
        const node = nodeOf(shape, path);
        dead[node] = node ? 1 : 0;
        gone.push([path, node ? stacks.functions[shape.functions[node]].name : null]);
    }
    for (let node = 1; node < shape.count; node++) dead[node] |= dead[shape.parent[node]];
    for (let row = 0; row < rows.length; row++)
        if (shape.rowEnd[row] !== NONE && dead[shape.rowEnd[row]]) rows[row] = 0;
}

/** The node at the end of the path of functions in the URL; 0 if there is none. */
function nodeOf(tree, path) {
    let node = 0;
    for (const number of path ? path.split(".").map(Number) : []) {
        const end = tree.firstChild[node + 1] + 1;
        node = tree.firstChild[node] + 1;
        while (node < end && tree.functions[node] !== number) node++;
        if (node === end) return 0;
    }
    return node;
}

function pathOf(tree, node) {
    const path = [];
    for (let at = node; at; at = tree.parent[at]) path.push(tree.functions[at]);
    return path.reverse().join(".");
}

/** What a click on a box of a function asks for: its name, and its module if there is a namesake. */
function ofFunction(stacks, number) {
    const { whole, module } = stacks.functions[number];
    return { of: whole, ofin: stacks.namesakes(number) ? module : "" };
}

function topBar(stacks, view, metric, filter, find, told) {
    const toggle = (name, text, title) =>
        button(text, () => change({ [name]: state.get(name) ? "" : "1" }), {
            "aria-pressed": String(state.get(name) === "1"),
            title,
        });
    const flame = view === "flame",
        shares = stacks.metrics.includes("temporary") && stacks.metrics.includes("allocations");
    return el(
        "div",
        { class: "bar" },
        choice(
            "Figures",
            stacks.metrics.map((name) => [name, METRICS[name].join(", ")]),
            metric,
            (value) => state.set({ metric: value }),
        ),
        flame && filter.of
            ? null
            : toggle("inverted", "Inverted", "Begin with the functions that allocate (i)"),
        flame && !filter.of
            ? toggle("flip", "Flames upward", "The outermost function at the bottom (f)")
            : null,
        stacks.hasShort
            ? toggle("names", "Whole names", "Names with all arguments of templates and functions")
            : null,
        flame
            ? choice(
                  "Colour",
                  Object.entries(stacks.was ? { change: "Change", ...COLOURS } : COLOURS).filter(
                      ([name]) => name !== "temporary" || (shares && !stacks.was),
                  ),
                  state.get("colour", stacks.was ? "change" : "module"),
                  (value) => state.set({ colour: value }),
              )
            : null,
        stacks.was
            ? choice("Stacks", Object.entries(ONLY), filter.only, (value) => change({ only: value }))
            : null,
        stacks.was && flame
            ? choice("Width", Object.entries(WIDTHS), filter.by, (value) => state.set({ by: value }))
            : null,
        find,
        told,
    );
}

export function flameView(data, stacks, view) {
    const metric = stacks.metric(state.get("metric")),
        filter = filterOf();
    // Trees of calls are of what changed, unless the user wants all.
    filter.by = stacks.was ? filter.by || (view === "calls" ? "change" : "both") : "";
    if (!stacks.was) filter.only = "";
    const { tree, callers, left, gone } = treesOf(stacks, metric, filter, view === "flame"),
        whole = tree.total[0];
    const spell = (number) => stacks.functions[number][state.get("names") ? "whole" : "name"];
    const nameOf = (tree) => (node) => (node ? spell(tree.functions[node]) : "all");
    const labelOf = (tree) => (node) => tree.tell.label(node, nameOf(tree)(node));
    const whereOf = (tree) => (node) =>
        node ? stacks.where(tree.frame[node]) || stacks.functions[tree.functions[node]].module : "";
    const find = el("input", {
        id: "find",
        type: "search",
        placeholder: "Search functions (regex)",
        size: 26,
        "aria-label": "Search functions by a regular expression",
        value: state.get("q"),
    });
    const matched = el("span", { role: "status", class: "note" }),
        step = el("span", { id: "step", class: "note" });
    const bar = topBar(stacks, view, metric, filter, find, [matched, step]);
    const all = tree.tell.all();
    const trail = trailOf({ data, stacks, view, metric, filter, all, byLabel: left.byLabel, gone });
    const search = (draw) => {
        const wanted = pattern(find.value, true);
        const matches =
            wanted && stacks.functions.map((f) => (wanted.test(f.whole) || wanted.test(f.name) ? 1 : 0));
        step.textContent = "";
        matched.textContent = wanted
            ? `matched ${tree.tell.matched(stacks.rowsWith(matches, left.keep))}`
            : "";
        draw(matches);
    };
    const onFind = (draw) => {
        find.addEventListener("input", () => {
            state.set({ q: find.value }, true);
            search(draw);
        });
        find.addEventListener(
            "keydown",
            (event) => event.key === "Enter" && stepMatch(event.shiftKey ? -1 : 1),
        );
    };
    const above = [bar, filterBar(), trail];
    if (!whole) return [...above, nothing(trail, filter)];
    const common = { stacks, metric, filter, left };
    if (view === "calls") {
        onFind(() => {});
        search(() => {});
        const onChoose = (node) => add("focus", exactly(stacks, tree, node)),
            onCopy = (node) => copy(pathText(stacks, tree, node), "Stack");
        return [
            ...above,
            stacks.was ? changeNote(filter) : null,
            calltree(tree, {
                label: nameOf(tree),
                where: whereOf(tree),
                cells: tree.tell.cells,
                text: tree.tell.text,
                onChoose,
                onCopy,
            }),
        ];
    }
    const one = (tree, options) => ({
        ...common,
        ...options,
        tree,
        tell: tree.tell,
        name: nameOf(tree),
        label: labelOf(tree),
        where: whereOf(tree),
    });
    const pictures = callers
        ? bothWays(one(callers, { title: "Callers", inverted: true }), one(tree, { title: "Callees" }))
        : picture(one(tree, { title: "Flame graph", inverted: filter.inverted }));
    const paint = (matches) => {
        for (const flame of shown) {
            flame.matches = matches;
            flame.draw();
        }
    };
    onFind(paint);
    requestAnimationFrame(() => {
        for (const flame of shown) flame.show(flame.shows, flame.zoomed);
        search(paint);
        performance.mark("heapwise: drawn");
    });
    window.heapwiseFlame = shown.at(-1); // for tests and for those who look
    return [...above, ...pictures];
}

/** That no stack is left, and what may be asked for instead. */
const nothing = (trail, { by, only }) =>
    el(
        "p",
        { class: "empty" },
        by === "change" && !trail
            ? [
                  "No stack changed by this figure. ",
                  button("Show all stacks", () => state.set({ by: "both" })),
              ]
            : `Nothing is left with these filters${only ? " and of that change" : ""}.`,
    );

/** What the columns of a tree of both are. */
const changeNote = ({ by }) =>
    el(
        "p",
        { class: "note" },
        "Change, before, after; what changed most first. ",
        button(by === "change" ? "Also what did not change" : "Only what changed", () =>
            state.set({ by: by === "change" ? "both" : "change" }),
        ),
    );

const exactly = (stacks, tree, node) => exactName(stacks.functions[tree.functions[node]].whole);

/** A flame graph of a tree with its legend; it is drawn as soon as it is in the page. */
function boxOf(at, onChoose, onRemove) {
    const { stacks, tree, left } = at,
        mode = state.get("colour", at.tell.paint ? "change" : "module");
    const sums = (metric) => stacks.sumsOf(metric, left.rows, tree).total;
    const temporary =
        mode === "temporary" && stacks.values.temporary && stacks.values.allocations
            ? { total: sums("temporary"), calls: sums("allocations") }
            : null;
    const paint =
            mode === "change" && at.tell.paint
                ? at.tell.paint
                : painter(stacks, tree, mode, temporary, at.beside),
        made = flameBox({ ...at, paint, onChoose, onRemove });
    const legend = el("ul", { class: "legend", "aria-label": "Colours" });
    legend.retint = () => legend.replaceChildren(...paint.legend(isDark()));
    legend.retint();
    made.flame.shows = tree;
    made.flame.zoomed = 0;
    shown.push(made.flame);
    return { ...made, legend };
}

const saving = ({ flame, canvas }, metric) => [
    button("Save as SVG", () =>
        download("flame.svg", "image/svg+xml", flame.svg(METRICS[metric].join(", "))),
    ),
    button("Save as PNG", () => canvas.toBlob((blob) => download("flame.png", "image/png", blob))),
];

/** The same as a picture, for those who don't see it. */
const asTree = ({ stacks, tree, name, where }, text) =>
    besides(text, () =>
        calltree(tree, {
            label: name,
            where,
            cells: tree.tell.cells,
            text: tree.tell.text,
            onCopy: (node) => copy(pathText(stacks, tree, node), "Stack"),
        }),
    );

/** Callers of a function above it, its callees below; a click makes another function the middle. */
function bothWays(up, down) {
    shown = [];
    const pivot = (tree) => (node) => node && change(ofFunction(down.stacks, tree.functions[node]));
    up.beside = down.tree;
    down.beside = up.tree;
    const boxes = [up, down].map((at) => boxOf(at, pivot(at.tree), null));
    boxes[0].flame.flipped = true;
    const caption = (at) => `${at.title}, in all ${at.tell.text(0)}`;
    return [
        el("p", { class: "note" }, `${caption(up)}; a click on a box makes it the one in the middle.`),
        boxes[1].legend,
        boxes[0].elements,
        el("p", { class: "note" }, caption(down)),
        boxes[1].elements,
        asTree(up, "Callers as a tree"),
        asTree(down, "Callees as a tree"),
        el("div", { class: "bar" }, saving(boxes[1], down.metric)),
    ];
}

function picture(at) {
    const { stacks, tree, metric, tell } = at;
    shown = [];
    const go = (node) => state.set({ at: pathOf(tree, node) });
    const remove = (node) =>
        state.set({ at: "", drop: [state.get("drop"), pathOf(tree, node)].filter(Boolean).join(",") });
    const box = boxOf(at, go, remove),
        zoomed = nodeOf(tree, state.get("at")),
        chosen = stacks.functions[tree.functions[zoomed]];
    box.flame.zoomed = zoomed;
    box.flame.flipped = state.get("flip") === "1";
    const crumbs = el(
        "div",
        { class: "bar" },
        zoomed
            ? [
                  button("Zoom out", () => go(0), { title: "Show all (0)" }),
                  button("Up one level", () => go(tree.parent[zoomed]), { title: "To the caller (Escape)" }),
                  el("span", {}, el("strong", {}, chosen.name), ` ${tell.text(zoomed)}`),
                  // The tool chooses by names alone.
                  isServed() && chosen.flags & UNNAMED
                      ? null
                      : [
                            button("Only stacks with it", () => add("focus", exactly(stacks, tree, zoomed))),
                            button("Without it", () => add("ignore", exactly(stacks, tree, zoomed))),
                            button("Hide it", () => add("hide", exactly(stacks, tree, zoomed))),
                        ],
                  button("Remove this stack", () => remove(zoomed), {
                      title: "Also: Ctrl and click, or Delete",
                  }),
                  button("Callers and callees", () => change(ofFunction(stacks, tree.functions[zoomed]))),
                  button("Copy the stack", () => copy(pathText(stacks, tree, zoomed), "Stack"), {
                      title: "c",
                  }),
                  sourceLink(stacks, tree.frame[zoomed]) ?? "",
              ]
            : el(
                  "span",
                  { class: "note hint" },
                  "Click a box to zoom, with Ctrl to remove it; Ctrl and wheel scale; press ? for keys.",
              ),
        saving(box, metric),
    );
    return [crumbs, box.legend, box.elements, asTree(at, "The flame graph as a tree")];
}

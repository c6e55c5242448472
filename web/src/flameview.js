// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph and the tree of calls, with what chooses them: metric, direction, filters, search.
import { calltree } from "./calltree.js";
import { announce, button, choice, copy, download, el } from "./dom.js";
import { Flame } from "./flame.js";
import { amount, exact, METRICS, percent } from "./format.js";
import { NONE, pattern } from "./stacks.js";
import * as state from "./state.js";

const COLOURS = { module: "Module", name: "Function", one: "One colour" };
let made = null; // the latest tree, and of what
let shown = null; // the flame graph that is shown
addEventListener("themechange", () => shown?.draw());

function treeOf(stacks, metric, filter) {
    const key = JSON.stringify([metric, filter]);
    if (made?.key === key && made.stacks === stacks) return made;
    const left = stacks.rowsLeft({ focus: pattern(filter.focus), ignore: pattern(filter.ignore) });
    const of = filter.of ? stacks.functions.findIndex((f) => f.whole === filter.of) : -1;
    if (filter.of && of < 0) left.fill(0);
    made = { key, stacks, left, tree: stacks.tree(metric, left, { inverted: filter.inverted, of }) };
    return made;
}

/** The node at the end of the path of functions in the URL; 0 if there is none. */
function nodeOf(stacks, tree, path) {
    let node = 0;
    for (const number of path ? path.split(".").map(Number) : []) {
        const next = [...tree.order.subarray(tree.firstChild[node], tree.firstChild[node + 1])].find(
            (child) => tree.functions[child] === number,
        );
        if (next === undefined) return 0;
        node = next;
    }
    return node;
}

function pathOf(tree, node) {
    const path = [];
    for (let at = node; at; at = tree.parent[at]) path.push(tree.functions[at]);
    return path.reverse().join(".");
}

/** Functions without a name are told by addresses, which the command line does not match. */
const isNamed = (stacks, text) => !stacks.functions.some((f) => f.flags & 10 && exactName(f.whole) === text);
const exactName = (name) => `^${name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}$`;

/** The command that finds the same; null: there is none. */
export function commandOf(data, stacks, view, metric, filter) {
    if (
        data.asked?.length ||
        data.documents.report.recording.range ||
        filter.of ||
        metric.startsWith("lost_") ||
        !isNamed(stacks, filter.focus) ||
        !isNamed(stacks, filter.ignore)
    )
        return null;
    const word = (text) => `'${text.replace(/'/g, "'\\''")}'`;
    const file = data.documents.report.recording.file;
    return [
        "heapwise",
        view === "calls" ? "tree" : "flame",
        "--metric",
        metric,
        ...(filter.inverted ? ["--bottom-up"] : []),
        ...(filter.focus ? ["--focus", word(filter.focus)] : []),
        ...(filter.ignore ? ["--ignore", word(filter.ignore)] : []),
        /^[\w@%+=:,./-]+$/.test(file) ? file : word(file),
    ].join(" ");
}

export function flameView(data, stacks, view) {
    const metric = stacks.metric(state.get("metric"));
    const filter = {
        inverted: state.get("inverted") === "1",
        focus: state.get("focus"),
        ignore: state.get("ignore"),
        of: state.get("of"),
    };
    const { tree, left } = treeOf(stacks, metric, filter),
        whole = tree.total[0];
    const label = (node) =>
        node ? stacks.functions[tree.functions[node]].name : `all: ${amount(metric, whole)}`;
    const where = (node) =>
        node ? stacks.where(tree.frame[node]) || stacks.functions[tree.functions[node]].module : "";
    const find = el("input", {
        id: "find",
        type: "search",
        placeholder: "Search functions (regex)",
        "aria-label": "Search functions by a regular expression",
        value: state.get("q"),
    });
    const matched = el("span", { role: "status", class: "note" });
    const toggle = (name, text, title) =>
        button(text, () => state.set({ [name]: state.get(name) ? "" : "1", at: "" }), {
            "aria-pressed": String(state.get(name) === "1"),
            title,
        });
    const bar = el(
        "div",
        { class: "bar" },
        choice(
            "Figures",
            stacks.metrics.map((name) => [name, METRICS[name].join(", ")]),
            metric,
            (value) => state.set({ metric: value }),
        ),
        toggle("inverted", "Inverted", "Begin with the functions that allocate (i)"),
        view === "flame" ? toggle("flip", "Flames upward", "The outermost function at the bottom (f)") : null,
        view === "flame"
            ? choice("Colour", Object.entries(COLOURS), state.get("colour", "module"), (value) =>
                  state.set({ colour: value }),
              )
            : null,
        find,
        matched,
    );
    const trail = trailOf(data, view, metric, filter, whole, stacks);
    const search = (draw) => {
        const wanted = pattern(find.value, true),
            sum = { value: 0 };
        if (wanted) {
            const rows = stacks.rowsWith(wanted),
                values = stacks.values[metric];
            for (let row = 0; row < rows.length; row++)
                if (rows[row] && left[row] && tree.rowEnd[row] !== NONE) sum.value += values[row];
        }
        matched.textContent = wanted
            ? `matched ${amount(metric, sum.value)}, ${percent(sum.value, whole) || "0%"}`
            : "";
        draw(wanted ? stacks.functions.map((f) => wanted.test(f.whole) || wanted.test(f.name)) : null);
    };
    if (!whole) return [bar, trail, el("p", { class: "empty" }, "Nothing is left with these filters.")];
    if (view === "calls") {
        find.addEventListener("input", () => {
            state.set({ q: find.value }, true);
            search(() => {});
        });
        search(() => {});
        return [
            bar,
            trail,
            calltree(tree, {
                metric,
                label,
                where,
                onChoose: (node) => state.set({ focus: exactly(stacks, tree, node) }),
            }),
        ];
    }
    return [bar, trail, ...picture({ data, stacks, tree, metric, whole, label, where, find, search })];
}

const exactly = (stacks, tree, node) => exactName(stacks.functions[tree.functions[node]].whole);

function picture({ data, stacks, tree, metric, whole, label, where, find, search }) {
    const canvas = el("canvas", {
        tabIndex: 0,
        role: "img",
        "aria-label": `Flame graph: ${METRICS[metric].join(", ")}. The view Call tree has the same as a list.`,
    });
    const tip = el("div", { class: "tip", hidden: true }),
        crumbs = el("div", { class: "bar" });
    const about = (node) => [
        el("strong", {}, node ? stacks.functions[tree.functions[node]].name : "all"),
        el(
            "div",
            {},
            `${amount(metric, tree.total[node])}, ${percent(tree.total[node], whole)}`,
            el(
                "span",
                { class: "note" },
                ` (${exact(metric, tree.total[node])}; itself ${amount(metric, tree.self[node])})`,
            ),
        ),
        el("div", { class: "where" }, where(node)),
    ];
    const flame = new Flame(canvas, {
        label,
        colourKey: (number) =>
            ({ module: stacks.functions[number].module, name: stacks.functions[number].name })[
                state.get("colour", "module")
            ] ?? "",
        onHover: (node, event) => {
            tip.hidden = node < 0;
            if (node < 0) return;
            tip.replaceChildren(...about(node));
            tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8))}px`;
            tip.style.top = `${event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 8 : event.clientY + 18}px`;
        },
        onChoose: (node) => go(node),
    });
    const go = (node) => state.set({ at: pathOf(tree, node) });
    const zoomed = nodeOf(stacks, tree, state.get("at"));
    flame.flipped = state.get("flip") === "1";
    const chosen = stacks.functions[tree.functions[zoomed]];
    crumbs.replaceChildren(
        ...(zoomed
            ? [
                  button("Zoom out", () => go(0), { title: "Show all (0)" }),
                  button("Up one level", () => go(tree.parent[zoomed]), { title: "To the caller (Escape)" }),
                  el(
                      "span",
                      {},
                      el("strong", {}, chosen.name),
                      ` ${amount(metric, tree.total[zoomed])}, ${percent(tree.total[zoomed], whole)}`,
                  ),
                  button("Only stacks with it", () =>
                      state.set({ focus: exactly(stacks, tree, zoomed), at: "" }),
                  ),
                  button("Without it", () => state.set({ ignore: exactly(stacks, tree, zoomed), at: "" })),
                  button("Its callees", () => state.set({ of: chosen.whole, inverted: "", at: "" })),
                  button("Its callers", () => state.set({ of: chosen.whole, inverted: "1", at: "" })),
                  button("Copy the path", () => copy(pathText(stacks, tree, zoomed), "Path")),
              ]
            : [el("span", { class: "note" }, "Click a box to zoom, press ? for keys.")]),
        button("Save as SVG", () =>
            download("flame.svg", "image/svg+xml", flame.svg(METRICS[metric].join(", "))),
        ),
        button("Save as PNG", () => canvas.toBlob((blob) => download("flame.png", "image/png", blob))),
    );
    canvas.addEventListener("keydown", (event) => {
        if (event.key.startsWith("Arrow")) {
            const node = flame.move(event.key);
            announce(
                `${label(node)}, ${amount(metric, tree.total[node])}, ${percent(tree.total[node], whole)}`,
            );
        } else if (event.key === "Enter") go(flame.at);
        else return;
        event.preventDefault();
    });
    canvas.addEventListener("focus", () => flame.draw());
    canvas.addEventListener("blur", () => flame.draw());
    shown = flame;
    find.addEventListener("input", () => {
        state.set({ q: find.value }, true);
        search(paint);
    });
    const paint = (matches) => {
        flame.matches = matches;
        flame.draw();
    };
    requestAnimationFrame(() => {
        flame.show(tree, zoomed);
        search(paint);
    });
    window.heapwiseFlame = flame; // for tests and for those who look
    return [crumbs, el("div", { class: "canvas" }, canvas), tip];
}

const pathText = (stacks, tree, node) => {
    const lines = [];
    for (let at = node; at; at = tree.parent[at]) lines.push(stacks.functions[tree.functions[at]].whole);
    return lines.join("\n") + "\n";
};

function trailOf(data, view, metric, filter, whole, stacks) {
    const one = (name, text, value) =>
        value &&
        el(
            "li",
            {},
            `${text} ${value} `,
            button("×", () => state.set({ [name]: "", at: "" }), {
                "aria-label": `Remove the filter ${text} ${value}`,
            }),
        );
    const items = [
        one("focus", "only stacks with", filter.focus),
        one("ignore", "without", filter.ignore),
        one("of", filter.inverted ? "callers of" : "callees of", filter.of),
    ].filter(Boolean);
    if (!items.length) return null;
    const command = commandOf(data, stacks, view, metric, filter);
    return el(
        "div",
        {},
        el(
            "ul",
            { class: "trail", "aria-label": "Filters" },
            items,
            el("li", {}, `${amount(metric, whole)}, ${percent(whole, stacks.totals[metric])} of all`),
        ),
        command === null
            ? null
            : el(
                  "div",
                  { class: "bar" },
                  el("code", {}, command),
                  button("Copy", () => copy(command, "Command")),
              ),
    );
}

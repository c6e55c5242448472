// SPDX-License-Identifier: GPL-2.0-or-later
// Retained memory by owner: an icicle or a treemap, and beside it the same as a tree.
import { calltree } from "./calltree.js";
import { button, choice, copy, download, el } from "./dom.js";
import { Flame } from "./flame.js";
import { flameBox } from "./flamebox.js";
import { figuresOf, setShown } from "./flameview.js";
import { amount, baseName, count, percent } from "./format.js";
import { ownerColour, ownerTree, pathTo } from "./ownertree.js";
import { pattern } from "./sift.js";
import * as state from "./state.js";
import { Treemap } from "./treemap.js";

/** A node as the URL has it; flame graphs have paths of other numbers. */
export const ownerAt = (tree, node) => (node ? ["o", ...pathTo(tree, node)].join(".") : "");

function zoomedNode(tree) {
    const path = state.get("at").split("."),
        node = path[0] === "o" ? Number(path.pop()) : 0;
    return Number.isInteger(node) && node > 0 && node < tree.count && tree.total[node] > 0 ? node : 0;
}

export function owners(data) {
    const metric = state.get("metric") === "owned_blocks" ? "owned_blocks" : "owned_bytes",
        shape = state.get("shape") === "treemap" ? "treemap" : "icicle",
        tree = ownerTree(data, metric),
        whole = tree.total[0],
        zoomed = zoomedNode(tree);
    if (!whole) return [el("p", { class: "empty" }, "No block in use was found.")];
    const label = (node) => (node ? tree.label(node) : `all: ${amount(metric, whole)}`);
    const find = el("input", {
        id: "find",
        type: "search",
        placeholder: "Search owners and types (regex)",
        "aria-label": "Search owners and types by a regular expression",
        value: state.get("q"),
    });
    const matched = el("span", { role: "status", class: "note" });
    const go = (node) => state.set({ at: ownerAt(tree, node) });
    const text = (node, own) => {
        const value = (own ? tree.self : tree.total)[node];
        return `${amount(metric, value)}, ${percent(value, whole)}`;
    };
    const tell = figuresOf(metric, tree);
    const { flame, canvas, elements } = flameBox({
        stacks: { functions: data.strings.map((name) => ({ name, whole: name })) },
        tree,
        metric,
        tell,
        name: label,
        label,
        where: (node) =>
            [
                tree.kind(node),
                tree.where(node),
                tree.depth[node] > 1 &&
                    `below ${pathTo(tree, tree.parent[node]).map(tree.label).join(" › ")}`,
            ]
                .filter(Boolean)
                .join(", "),
        paint: { fill: (node, dark, faded) => ownerColour(tree, node, dark, faded) },
        title: "Retained memory",
        elsewhere: "beside it",
        Picture: shape === "icicle" ? Flame : Treemap,
        onChoose: go,
    });
    canvas.classList.add(shape);
    flame.text = text;
    const search = () => {
        const wanted = pattern(find.value, true),
            hits = wanted && data.strings.map((text) => wanted.test(text));
        matched.textContent = hits ? matchedText(tree, metric, hits) : "";
        flame.matches = hits;
        flame.draw();
    };
    find.addEventListener("input", () => {
        state.set({ q: find.value }, true);
        search();
    });
    requestAnimationFrame(() => {
        flame.show(tree, zoomed);
        search();
    });
    setShown([flame]);
    window.heapwiseOwners = flame; // for tests and for those who look
    return [
        el(
            "div",
            { class: "bar" },
            choice(
                "Figures",
                [
                    ["owned_bytes", "bytes"],
                    ["owned_blocks", "blocks"],
                ],
                metric,
                (value) => state.set({ metric: value }),
            ),
            choice(
                "Picture",
                [
                    ["icicle", "Icicle"],
                    ["treemap", "Treemap"],
                ],
                shape,
                (value) => state.set({ shape: value }),
            ),
            find,
            matched,
            el("span", { id: "step", class: "note" }),
        ),
        el(
            "p",
            { class: "note" },
            "What would be freed with its owner: each block is below what all paths to it lead through. Blocks of one type are one box there, as are lists and trees of them.",
            data.cut?.owners
                ? ` The smallest ${count(data.cut.owners)} are added up, as “(… smaller)”; heapwise core CORE dominators lists single blocks.`
                : "",
        ),
        crumbs({ tree, metric, whole, zoomed, go, flame, canvas, shape }),
        el(
            "div",
            { class: shape === "icicle" ? "above" : "beside" },
            elements,
            calltree(tree, {
                label: (node) => tree.label(node),
                where: (node) => baseName(tree.where(node)),
                cells: tell.cells,
                text: tell.text,
                onChoose: go,
            }),
        ),
    ];
}

/** What matches, each block once. */
function matchedText(tree, metric, hits) {
    const inside = new Uint8Array(tree.count);
    let sum = 0;
    for (let node = 1; node < tree.count; node++) {
        inside[node] = inside[tree.parent[node]] | (hits[tree.functions[node]] ? 1 : 0);
        if (inside[node]) sum += tree.self[node];
    }
    return `matched ${amount(metric, sum)}, ${percent(sum, tree.total[0]) || "0%"}, with what they retain`;
}

function crumbs({ tree, metric, whole, zoomed, go, flame, canvas, shape }) {
    const path = pathTo(tree, zoomed),
        names = path.map(tree.label);
    return el(
        "div",
        { class: "bar" },
        zoomed
            ? [
                  button("Zoom out", () => go(0), { title: "Show all (0)" }),
                  button("Up one level", () => go(tree.parent[zoomed]), { title: "To the owner (Escape)" }),
                  el(
                      "span",
                      {},
                      path
                          .slice(0, -1)
                          .map((node) => [
                              el("a", { href: state.href({ at: ownerAt(tree, node) }) }, tree.label(node)),
                              " › ",
                          ]),
                      el("strong", {}, tree.label(zoomed)),
                      ` retains ${amount(metric, tree.total[zoomed])}, ${percent(tree.total[zoomed], whole)}`,
                  ),
                  button("Copy the path", () => copy(names.join("\n") + "\n", "Path")),
              ]
            : el("span", { class: "note" }, "Click a box to zoom, press ? for keys."),
        shape === "icicle"
            ? button("Save as SVG", () =>
                  download("owners.svg", "image/svg+xml", flame.svg("Retained memory")),
              )
            : null,
        button("Save as PNG", () =>
            canvas.toBlob((blob) => download(`owners-${shape}.png`, "image/png", blob)),
        ),
    );
}

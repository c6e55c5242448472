// SPDX-License-Identifier: GPL-2.0-or-later
// Colours of boxes: by module, by function, by the share of temporary allocations; and what they mean.
import { el } from "./dom.js";
import { baseName, count, percent } from "./format.js";

// Paul Tol's "light" scheme: fills for text that stay apart for all kinds of colour vision.
const FILLS = [0x77aadd, 0xee8866, 0xeedd88, 0xffaabb, 0x44bb99, 0x99ddff, 0xbbcc33, 0xaaaa00, 0xdddddd];
const SHARE = { light: [0xf2f2f2, 0xd9660f], dark: [0x3a404b, 0xb04e08] };
const LEGEND = 8;
export const COLOURS = {
    module: "Module",
    name: "Function",
    temporary: "Temporary share",
    one: "One colour",
};

const parts = (colour) => [colour >> 16, (colour >> 8) & 255, colour & 255];
const rgb = (colour) => `rgb(${colour.map((one) => Math.round(Math.max(0, Math.min(255, one)))).join(" ")})`;
const mix = (a, b, share) => a.map((one, i) => one + (b[i] - one) * share);
const GREY = [128, 128, 128];

export function hash(text) {
    let value = 2166136261;
    for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
    return (value ^ (value >>> 15)) >>> 0;
}

const fills = []; // that were made: thousands of functions share them

/** A fill of the scheme; shade: from -2 to 2. What doesn't match a search is nearly grey. */
export function fill(number, shade, dark, faded) {
    const of = number % FILLS.length;
    return (fills[(of * 5 + shade + 2) * 4 + (dark ? 2 : 0) + (faded ? 1 : 0)] ??= mixed(
        of,
        shade,
        dark,
        faded,
    ));
}

function mixed(of, shade, dark, faded) {
    let colour = parts(FILLS[of]);
    if (faded) colour = mix(colour, GREY, 0.75);
    const light = dark ? 0.4 + 0.025 * shade : 1 + 0.035 * shade;
    if (faded && !dark) return rgb(mix(colour, [255, 255, 255], 0.6 + 0.05 * shade));
    return rgb(colour.map((one) => one * (faded ? light * 0.8 : light)));
}

/** Modules by what is drawn of them, so that the largest have colours of their own. */
function modulesOf(stacks, tree) {
    const sums = new Float64Array(stacks.functions.length),
        drawn = new Map();
    for (let node = 1; node < tree.count; node++) sums[tree.functions[node]] += tree.total[node];
    sums.forEach((sum, number) => {
        const { module } = stacks.functions[number];
        if (sum) drawn.set(module, (drawn.get(module) ?? 0) + sum);
    });
    return [...drawn].sort((a, b) => b[1] - a[1]).map(([module]) => module);
}

export const swatch = (colour, text, title) => {
    const box = el("span", { class: "swatch", "aria-hidden": "true" });
    box.style.background = colour;
    return el("li", { title }, box, text);
};

/** { fill(node, dark, faded), legend(dark): elements }. temporary: totals by node, and of all calls; null: unknown. beside: another
 *  tree whose modules are in the legend, too. */
export function painter(stacks, tree, mode, temporary, beside) {
    const known = [[], [], [], []];
    const cached = (make) => (node, dark, faded) => {
        const of = known[(dark ? 2 : 0) + (faded ? 1 : 0)],
            number = tree.functions[node];
        return (of[number] ??= make(stacks.functions[number], dark, faded));
    };
    const shadeOf = (name) => (hash(name) % 5) - 2;
    if (mode === "temporary" && temporary) {
        const share = (node) =>
            temporary.calls[node] ? Math.min(1, temporary.total[node] / temporary.calls[node]) : 0;
        const colour = (part, dark) => rgb(mix(...SHARE[dark ? "dark" : "light"].map(parts), part));
        return {
            fill: (node, dark, faded) =>
                faded
                    ? rgb(mix(dark ? [46, 50, 58] : [236, 236, 236], GREY, 0.05))
                    : colour(share(node), dark),
            says: (node) =>
                temporary.calls[node]
                    ? `${percent(temporary.total[node], temporary.calls[node]) || "0%"} of its calls are temporary`
                    : "no calls are known",
            legend: (dark) =>
                [0, 0.25, 0.5, 0.75, 1].map((part) => swatch(colour(part, dark), `${part * 100}% temporary`)),
        };
    }
    if (mode === "name")
        return {
            fill: cached((f, dark, faded) => fill(hash(f.name), shadeOf(f.whole), dark, faded)),
            legend: () => [],
        };
    if (mode === "one")
        return { fill: cached((f, dark, faded) => fill(0, shadeOf(f.name), dark, faded)), legend: () => [] };
    const modules = [...new Set([tree, beside].flatMap((one) => (one ? modulesOf(stacks, one) : [])))],
        rank = (stacks.moduleRank ??= new Map());
    // A module keeps its colour, whatever is shown next.
    for (const module of modules) if (!rank.has(module)) rank.set(module, rank.size);
    return {
        fill: cached((f, dark, faded) => fill(rank.get(f.module) ?? 8, shadeOf(f.name), dark, faded)),
        legend: (dark) => [
            ...modules
                .slice(0, LEGEND)
                .map((module) =>
                    swatch(fill(rank.get(module), 0, dark, false), baseName(module) || "(unknown)", module),
                ),
            ...(modules.length > LEGEND
                ? [el("li", {}, `${count(modules.length - LEGEND)} more modules`)]
                : []),
        ],
    };
}

// SPDX-License-Identifier: GPL-2.0-or-later
// What changed from an older file to a newer one: of rows, nodes and spots; in words, signs and colours.
import { swatch } from "./colours.js";
import { el } from "./dom.js";
import { amount, exact } from "./format.js";
import { NONE } from "./stacks.js";

export const sign = (by) => (by > 0 ? "▲" : by < 0 ? "▼" : "=");
/** "+3.00 MiB", "±0" */
export const signed = (metric, by) => (by ? (by > 0 ? "+" : "-") + amount(metric, Math.abs(by)) : "±0");
export const fromTo = (metric, was, now) =>
    was === now ? `${amount(metric, now)} in both` : `${amount(metric, was)} → ${amount(metric, now)}`;
export const statusOf = (was, now) =>
    was === now ? "same" : !was ? "new" : !now ? "gone" : now > was ? "grown" : "shrunk";

/** "+140%", "new", "gone" */
export function rate(was, now) {
    if (!was || !now || was === now) return was === now ? "" : was ? "gone" : "new";
    const share = (100 * Math.abs(now - was)) / was,
        digits = share >= 10 && !(now < was && share >= 99.5) ? 0 : share >= 1 && share < 10 ? 1 : 2;
    return `${now > was ? "+" : "-"}${share < 0.005 ? "<0.01" : share.toFixed(digits)}%`;
}

/** "▲ +3.00 MiB", in its colour, too. */
export const changed = (metric, was, now) =>
    el(
        "span",
        { class: now > was ? "more" : now < was ? "less" : "" },
        `${sign(now - was)} ${signed(metric, now - was)}`,
    );

export const ONLY = {
    "": "All",
    changed: "Only changed",
    new: "Only new",
    grown: "Only grown",
    shrunk: "Only shrunk",
    gone: "Only gone",
};
export const WIDTHS = { both: "Larger of both", change: "Change" };

/** Takes rows out whose figure has another fate. */
export function leaveOnly(stacks, metric, rows, only) {
    const was = stacks.was[metric],
        now = stacks.values[metric];
    for (let row = 0; only && row < rows.length; row++) {
        const status = statusOf(was[row], now[row]);
        if (only === "changed" ? status === "same" : status !== only) rows[row] = 0;
    }
}

/** The tree of both files. Sizes of boxes add up: of each row the larger figure, or by how much it changed. */
export function changeTree(stacks, metric, left, how, by) {
    const now = stacks.values[metric],
        was = stacks.was[metric];
    const size = now.map((value, row) =>
        by === "change" ? Math.abs(value - was[row]) : Math.max(value, was[row]),
    );
    const tree = stacks.tree(size, left, how),
        of = (values) => stacks.sumsOf(values, left.rows, tree).total;
    tree.now = of(now);
    tree.was = of(was);
    tree.more = of(now.map((value, row) => Math.max(0, value - was[row])));
    return tree;
}

/** How a tree of both is told: as flameview.js tells one of a single file. */
export function changeTeller(stacks, metric, tree, rows) {
    const text = (was, now) =>
        `${sign(now - was)} ${signed(metric, now - was)}${rate(was, now) && ` (${rate(was, now)})`}, ${fromTo(metric, was, now)}`;
    const of = (node) => text(tree.was[node], tree.now[node]);
    return {
        text: of,
        label: (node, name) => {
            const [was, now] = [tree.was[node], tree.now[node]],
                by = now - was,
                fate = was && now ? "" : `${rate(was, now)}: `;
            if (!node) return `all: ${sign(by)} ${signed(metric, by)}, ${fromTo(metric, was, now)}`;
            return by ? `${sign(by)} ${fate}${name} ${signed(metric, by)}` : name;
        },
        details: (node) => {
            const [was, now, more] = [tree.was[node], tree.now[node], tree.more[node]],
                less = more - (now - was);
            return [
                el("div", {}, of(node)),
                el("div", { class: "note" }, `${exact(metric, was)} before, ${exact(metric, now)} after`),
                more && less
                    ? el(
                          "div",
                          { class: "note" },
                          `In its stacks ${signed(metric, more)} and ${signed(metric, -less)}.`,
                      )
                    : null,
            ];
        },
        cells: (node) => [
            el("span", { class: "amount" }, changed(metric, tree.was[node], tree.now[node])),
            el("span", { class: "share" }, rate(tree.was[node], tree.now[node])),
            el("span", { class: "amount" }, amount(metric, tree.was[node])),
            el("span", { class: "amount" }, amount(metric, tree.now[node])),
        ],
        matched: (some) => {
            let [was, now] = [0, 0];
            for (let row = 0; row < some.length; row++)
                if (some[row] && rows[row] && tree.rowEnd[row] !== NONE)
                    [was, now] = [was + stacks.was[metric][row], now + stacks.values[metric][row]];
            return text(was, now);
        },
        all: () => `${of(0)}; in all ${signed(metric, stacks.totals[metric] - stacks.wasTotals[metric])}`,
        paint: {
            fill: (node, dark, faded) => {
                const [was, now] = [tree.was[node], tree.now[node]],
                    by = (now - was) / Math.max(was, now, 1);
                // In steps: few colours are found faster than many.
                return by && !faded
                    ? shade((Math.sign(by) * Math.ceil(Math.abs(by) * 64)) / 64, dark)
                    : `hsl(220 8% ${dark ? (faded ? 24 : 31) : faded ? 92 : 84}%)`;
            },
            legend: (dark) => [
                swatch(shade(1, dark), "▲ more"),
                swatch(shade(-1, dark), "▼ less"),
                swatch(`hsl(220 8% ${dark ? 31 : 84}%)`, "the same"),
                stacks.sampled ? el("li", {}, "Figures are estimates: small changes can be chance.") : "",
            ],
        },
    };
}

/** Orange for more, blue for less; the stronger, the larger the part that changed, from -1 to 1. */
export function shade(part, dark) {
    const strength = Math.sqrt(Math.abs(part));
    return part > 0
        ? `hsl(30 ${dark ? 40 + 30 * strength : 95}% ${dark ? 28 + 8 * strength : 88 - 26 * strength}%)`
        : `hsl(212 ${dark ? 35 + 30 * strength : 85}% ${dark ? 30 + 10 * strength : 90 - 20 * strength}%)`;
}

/** Functions, files or modules with both figures of each. */
export function changeSpots(stacks, kind, metric, left) {
    const found = new Map();
    for (const [values, at] of [
        [stacks.was[metric], "was"],
        [stacks.values[metric], "now"],
    ])
        for (const one of stacks.spots(kind, metric, left, values)) {
            let spot = found.get(one.number);
            if (!spot) found.set(one.number, (spot = { ...one, was: [0, 0], now: [0, 0] }));
            spot[at] = [one.flat, one.cum];
        }
    return [...found.values()];
}

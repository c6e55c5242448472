// SPDX-License-Identifier: GPL-2.0-or-later
// The heap over time, by uPlot.
import { el } from "./dom.js";
import { bytes, duration } from "./format.js";
import { besides, PAPER, printing } from "./print.js";

// Not before a chart is drawn: it asks the browser for its language and time zone, which takes 20 ms.
const plots = () => require("../vendor/uplot/uPlot.esm.js").default;

// Ticks of the axis of bytes.
const STEPS = Array.from({ length: 60 }, (_, i) => 2 ** i);
const short = (form) => (value) =>
    value
        ? form(value)
              .replace(/\.0+ /, " ")
              .replace(/(\.\d)0 /, "$1 ")
        : "0";
// By the unit of the file's time: where a snapshot is on the axis, and what its labels say.
const AXES = {
    ms: [(one) => one.time_ns / 1e9, (seconds) => duration(Math.round(seconds * 1e9))],
    B: [(one) => one.allocated_bytes + one.freed_bytes, bytes],
    n: [(_, i) => i, (number) => String(Math.round(number))],
};
// Labels above the chart: the height of one, levels of them.
const LABEL = 13,
    LEVELS = 4;
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const known = (form) => (value) => (value === null || value === undefined ? "–" : form(value));

/** Columns of moments: where, what was live, and if there is an older file, what was live in that. On one axis: each
 *  moment of either, and what is known of the other then. */
function columnsOf(snapshots, before, place) {
    const columns = (all) => [all.map(place), all.map((one) => one.useful_bytes)];
    return before.length ? plots().join([columns(snapshots), columns(before)]) : columns(snapshots);
}

function axesOf(form) {
    const axis = {
        stroke: () => style("--dim"),
        grid: { stroke: () => style("--line"), width: 1 },
        ticks: { stroke: () => style("--line") },
        font: "12px system-ui, sans-serif",
    };
    return [
        { ...axis, size: 34, values: (_, ticks) => ticks.map(short(form)) },
        { ...axis, size: 78, incrs: STEPS, values: (_, ticks) => ticks.map(short(bytes)) },
    ];
}

function seriesOf(unit, form, isTwo) {
    const steps = {
        points: { show: false },
        width: 1.5,
        paths: plots().paths.stepped({ align: 1 }),
        value: (_, value) => known(bytes)(value),
        spanGaps: true,
    };
    return [
        {
            label: unit === "ms" ? "Time" : unit === "B" ? "Allocated and freed" : "Snapshot",
            value: (_, x) => known(form)(x),
        },
        { label: "Live", stroke: style("--heap"), fill: style("--heap") + "33", ...steps },
        ...(isTwo ? [{ label: "Before", stroke: style("--dim"), dash: [5, 4], ...steps }] : []),
    ];
}

/** The same for those who don't see the chart. */
function momentsTable([times, ...columns], form) {
    const row = (name, cells, attributes) =>
        el(
            "tr",
            {},
            cells.map((cell) => el(name, attributes, cell)),
        );
    return el(
        "table",
        { class: "moments" },
        el("thead", {}, row("th", ["At", "Live", "Before"].slice(0, columns.length + 1), { scope: "col" })),
        el(
            "tbody",
            {},
            times.map((time, i) => row("td", [form(time), ...columns.map((all) => known(bytes)(all[i]))])),
        ),
    );
}

/** a heapwise.timeline/1; marks: [{ time_ns, name }]. range: gives the chosen one, in seconds, or nothing;
 *  onRange: takes one that was drawn, instead of a zoom; drawRange() of what is returned shows it anew. */
export function chart(
    { snapshots, time_unit: unit, older },
    { what = "The heap", peak, marks = [], height = 220, range, onRange },
) {
    const box = el("div", { class: "canvas", role: "img" });
    const [place, form] = AXES[unit] ?? AXES.n,
        before = older?.snapshots ?? [],
        columns = columnsOf(snapshots, before, place);
    const most = (all) => bytes(Math.max(0, ...all.map((one) => one.useful_bytes)));
    const told = el(
        "p",
        { class: "said" },
        `${what} over time: ${snapshots.length} moments, highest ${most(snapshots)}${before.length ? `; before, highest ${most(before)}` : ""}.`,
    );
    box.setAttribute("aria-label", told.textContent);
    const levels = unit === "ms" ? Math.min(LEVELS, marks.length + (peak ? 1 : 0)) : 0;
    let plot = null;
    const select = (u) => {
        const chosen = range?.();
        if (!chosen) return;
        const [left, right] = chosen.map((seconds) => u.valToPos(seconds, "x"));
        u.setSelect({ left, width: Math.max(2, right - left), top: 0, height: u.over.clientHeight }, false);
    };
    const onSelect = ({ select: { left, width } }) =>
        width > 1 && onRange?.([left, left + width].map((x) => plot.posToVal(x, "x")));
    const draw = () => {
        const width = printing ? Math.min(box.clientWidth, PAPER) : box.clientWidth;
        if (!width) return;
        plot?.destroy();
        const options = {
            width,
            height,
            padding: [6 + LABEL * levels, 12, null, null],
            cursor: { drag: { x: true, y: false, setScale: !onRange } },
            scales: { x: { time: false }, y: { range: (_, __, most) => [0, most * 1.08 || 1] } },
            axes: axesOf(form),
            series: seriesOf(unit, form, before.length > 0),
            hooks: {
                draw: [(u) => unit === "ms" && lines(u, peak, marks, levels)],
                ready: [select],
                setSelect: [onSelect],
            },
        };
        plot = new (plots())(options, columns, box);
    };
    new ResizeObserver(draw).observe(box);
    const onTheme = () => (box.isConnected ? draw() : removeEventListener("themechange", onTheme));
    addEventListener("themechange", onTheme);
    const asTable = besides("The chart as a table", () => momentsTable(columns, form));
    return Object.assign(el("div", {}, box, told, asTable), { drawRange: () => plot && select(plot) });
}

/** Lines at the peak and at marks, whose labels are above the chart; a label without room is left out. */
function lines(u, peak, marks, levels) {
    const c = u.ctx,
        { left, top, width, height } = u.bbox,
        ratio = devicePixelRatio || 1,
        taken = Array.from({ length: levels }, () => []);
    const place = (from, to) => {
        const level = taken.findIndex((all) => all.every(([a, b]) => to < a || from > b));
        taken[level]?.push([from, to]);
        return level;
    };
    const line = (seconds, colour, text) => {
        const x = Math.round(u.valToPos(seconds, "x", true));
        if (x < left || x > left + width) return;
        c.strokeStyle = c.fillStyle = colour;
        const size = c.measureText(text).width + 6 * ratio,
            from = Math.max(left, Math.min(x, left + width - size)),
            level = place(from, from + size),
            y = top - (4 + LABEL * level) * ratio;
        c.beginPath();
        c.moveTo(x, level < 0 ? top : y);
        c.lineTo(x, top + height);
        c.stroke();
        if (level >= 0) c.fillText(text, from + (from === x ? 3 * ratio : 0), y - ratio);
    };
    c.save();
    c.setLineDash([4 * ratio, 3 * ratio]);
    c.font = `${12 * ratio}px system-ui, sans-serif`;
    c.textAlign = "left";
    if (peak) line(peak.time_ns / 1e9, style("--bad"), `peak ${bytes(peak.bytes)}`);
    for (const mark of marks) line(mark.time_ns / 1e9, style("--mark"), mark.name);
    c.restore();
}

// SPDX-License-Identifier: GPL-2.0-or-later
// A range of moments: what each stack had live at its end, what it grew by, what it had at its highest.
import { commandLine } from "./about.js";
import { button, choice, copy, el } from "./dom.js";
import { amount, bytes, count, duration, METRICS } from "./format.js";
import { siteList } from "./parts.js";
import * as state from "./state.js";
import { chart } from "./timeline.js";

const TOP = 10;
const MEANINGS = {
    live: "Live at its end",
    grown: "Grown in it",
    shrunk: "Shrunk in it",
    peak: "Peak in it",
};
const isRange = (metric) => metric.startsWith("range_");
const UNIT_NS = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

/** A time as the command line takes it, exactly. */
function timeWord(ns) {
    const unit = ["s", "ms", "us"].find((name) => ns % UNIT_NS[name] === 0) ?? "ns";
    return `${ns / UNIT_NS[unit]}${unit}`;
}

/** What rows had live at moments; cells are changes since the moment before, rows distances. */
class Moments {
    constructor({ columns: c, documents: { marks } }) {
        this.times = c["moment.time_ns"];
        this.peak = c["moment.flags"].findIndex((flags) => flags & 1);
        this.first = new Uint32Array(this.times.length + 1);
        this.rows = c["cell.row"].slice();
        this.values = { bytes: c["cell.bytes"], blocks: c["cell.blocks"] };
        this.count = c["row.node"].length;
        this.totals = new Float64Array(this.times.length);
        for (let i = 0, sum = 0; i < this.times.length; i++) {
            const from = this.first[i],
                to = (this.first[i + 1] = from + c["moment.cells"][i]);
            for (let k = from; k < to; k++) {
                if (k > from) this.rows[k] += this.rows[k - 1];
                sum += this.values.bytes[k];
            }
            this.totals[i] = sum;
        }
        this.names = Array.from(this.times, (ns, i) =>
            i === this.peak ? "peak" : c["moment.flags"][i] & 2 ? "end" : timeWord(ns),
        );
        this.placeMarks(marks?.marks ?? [], c["moment.mark"]);
    }

    /** Marks by the word for each: { moment: that it is at, or that is nearest, isExact, text }. */
    placeMarks(marks, numbers) {
        this.marks = new Map();
        marks.forEach(({ name, nth, time_ns: ns }, i) => {
            const at = numbers?.indexOf(i + 1) ?? -1,
                isExact = at >= 0,
                isFirst = nth === 1 && !/#\d+$/.test(name),
                moment = isExact ? at : this.nearest(ns),
                by = this.times[moment] - ns,
                word = `mark:${name}${isFirst ? "" : `#${nth}`}`;
            if (isExact && this.names[at] !== "peak") this.names[at] = word;
            const near = by ? `${duration(Math.abs(by))} ${by < 0 ? "before" : "after"} it` : "at its time";
            this.marks.set(word, {
                moment,
                isExact,
                text: `${word.slice(5)}${isExact ? "" : ` – nearest exact moment: ${near}`}`,
            });
        });
    }

    /** What each row had at the moment. */
    at(moment, unit) {
        const now = new Float64Array(this.count),
            values = this.values[unit];
        for (let k = 0; k < this.first[moment + 1]; k++) now[this.rows[k]] += values[k];
        return now;
    }

    nearest(ns) {
        let best = 0;
        this.times.forEach((time, i) => {
            if (Math.abs(time - ns) < Math.abs(this.times[best] - ns)) best = i;
        });
        return best;
    }

    /** The number of "peak", "end" or "12.5ms"; undefined: it is none. */
    parse(word) {
        const known = this.marks.get(word)?.moment ?? this.names.indexOf(word),
            time = /^(\d+(?:\.\d+)?)(ns|us|ms|s)$/.exec(word);
        return known >= 0 ? known : time ? this.nearest(time[1] * UNIT_NS[time[2]]) : undefined;
    }

    highest(from, to) {
        let best = from;
        for (let i = from; i <= to; i++) if (this.totals[i] > this.totals[best]) best = i;
        return from <= this.peak && this.peak <= to ? this.peak : best;
    }

    said(moment) {
        const name = this.names[moment],
            what = moment === this.peak ? "the peak" : name.startsWith("mark:") ? name : "";
        return `${duration(this.times[moment])}${what && ` (${what})`}: ${bytes(this.totals[moment])}`;
    }
}

/** Makes the range that the URL names one of what the stacks can show. */
export function useRange(data, stacks) {
    if (stacks.moments === undefined)
        stacks.moments = data.columns["moment.time_ns"] ? new Moments(data) : null;
    const { moments } = stacks,
        [from, to] = state
            .get("range")
            .split("..")
            .map((word) => moments?.parse(word));
    setRange(
        stacks,
        from !== undefined && to !== undefined ? [Math.min(from, to), Math.max(from, to)] : null,
    );
}

function setRange(stacks, range) {
    if (String(stacks.range) === String(range)) return;
    stacks.range = range;
    stacks.metrics = stacks.metrics.filter((name) => !isRange(name));
    if (!range) return;
    const { moments } = stacks,
        [from, to] = range;
    for (const unit of ["bytes", "blocks"]) {
        if (!moments.values[unit]) continue;
        const start = moments.at(from, unit),
            live = moments.at(to, unit),
            made = {
                live,
                grown: live.map((value, row) => Math.max(0, value - start[row])),
                shrunk: live.map((value, row) => Math.max(0, start[row] - value)),
                peak: moments.at(moments.highest(from, to), unit),
            };
        for (const meaning of Object.keys(MEANINGS)) {
            const metric = `range_${meaning}_${unit}`;
            stacks.metrics.push(metric);
            stacks.values[metric] = made[meaning];
            stacks.totals[metric] = made[meaning].reduce((sum, value) => sum + value, 0);
        }
    }
}

const rangeWord = ({ moments, range }) => range.map((moment) => moments.names[moment]).join("..");
const rangeText = ({ moments, range: [from, to] }) =>
    `${duration(moments.times[from])} to ${duration(moments.times[to])}`;

/** What changes in the key of a tree when the range does. */
export const rangeKey = (stacks, metric) => (isRange(metric) ? String(stacks.range) : "");

/** The filter that a range is; null: the figures are not of one. */
export function rangeChip(stacks, metric) {
    if (!isRange(metric)) return null;
    const text = `${METRICS[metric][0]}: ${rangeText(stacks)}`;
    return el(
        "li",
        {},
        `${text} `,
        button("×", () => state.set({ range: "", metric: "", at: "" }), {
            "aria-label": `Remove the range ${text}`,
        }),
    );
}

/** How a command shows it: its words, with the file last. `filters`: options of filters. */
export function rangeCommand(stacks, metric, file, words, filters) {
    const { moments, range } = stacks,
        [, meaning, unit] = metric.split("_"),
        [from, to] = range.map((moment) => moments.names[moment]);
    if (meaning === "grown" || meaning === "shrunk")
        return ["heapwise", "diff", "--count-libraries", ...filters, `${file}@${from}`, `${file}@${to}`];
    const at = meaning === "live" ? to : moments.names[moments.highest(...range)];
    return ["heapwise", ...words, "--metric", `live_${unit}`, "--at", at, ...filters, file];
}

const NOTES = {
    live: (sampled) =>
        `What was live at the end of the range, whenever it was allocated${sampled ? "; an estimate" : ""}.`,
    grown: () =>
        "Net growth of each stack: live at the end of the range minus live at its start, of stacks that have more then. What replaced freed memory of the same stack does not count.",
    shrunk: () =>
        "Of each stack live at the start of the range minus live at its end, of stacks that have less then.",
    peak: (_, { moments, range: [from, to] }) =>
        (moments.peak >= from && moments.peak <= to
            ? "The highest point of the range is the recording's peak."
            : `The highest of the ${to - from + 1} moments in the range: it may have been higher between them.`) +
        " Of bytes; blocks are those of that moment.",
};

function exactly(data, stacks, meaning, unit) {
    const { recording } = data.documents.report,
        [from, to] = stacks.range.map((moment) => stacks.moments.names[moment]),
        metric = `range_${meaning}_${unit}`,
        range = ["--from", from, "--to", to, recording.file];
    if (data.asked?.length || recording.source !== "recording") return [];
    const lines = [["These figures", rangeCommand(stacks, metric, recording.file, ["flame"], [])]];
    if (meaning === "grown")
        lines.push([
            "What was allocated in the range and is live at its end",
            ["heapwise", "html", ...range],
        ]);
    if (
        meaning === "peak" &&
        !(stacks.moments.peak >= stacks.range[0] && stacks.moments.peak <= stacks.range[1])
    )
        lines.push(["The true highest point", ["heapwise", "flame", "--metric", `peak_${unit}`, ...range]]);
    return lines.map(([text, words]) => {
        const line = commandLine(words);
        return el(
            "div",
            { class: "bar" },
            `${text}: `,
            el("code", {}, line),
            button("Copy", () => copy(line, "Command")),
        );
    });
}

function topStacks(data, stacks, metric) {
    const values = stacks.values[metric],
        { frames } = stacks,
        word = (column, frame) => stacks.strings[column[frame]];
    const rows = [...values.keys()].filter((row) => values[row] > 0).sort((a, b) => values[b] - values[a]);
    const sites = rows.slice(0, TOP).map((row) => {
        const stack = [];
        for (let node = stacks.rowNode[row]; node; node = stacks.nodeParent[node]) {
            const frame = stacks.nodeFrame[node];
            stack.push({
                function: word(frames.whole, frame),
                short: word(frames.name, frame),
                file: word(frames.file, frame),
                line: frames.line[frame],
                module: word(frames.module, frame),
                inlined: frames.flags[frame] & 1,
                folded: frames.flags[frame] & 4,
            });
        }
        return { kind: stacks.strings[stacks.rowKind[row]] || "several", stack, value: values[row] };
    });
    return [
        el("h2", {}, rows.length > TOP ? `The top ${TOP} of ${count(rows.length)} stacks` : "Stacks"),
        siteList(data, sites, (site) => amount(metric, site.value), "None."),
    ];
}

/** A choice of marks for an end of the range; null: there are none. */
function markChoice(text, { marks }, choose) {
    if (!marks.size) return null;
    const options = [["", "at mark …"], ...[...marks].map(([word, one]) => [word, one.text])],
        made = choice("", options, "", (word) => word && choose(marks.get(word).moment));
    made.firstElementChild.setAttribute("aria-label", `${text} of the range at a mark`);
    return made;
}

/** The view of the timeline: the chart, a range in it, and what the range means. */
export function timelineView(data, stacks, { peak, marks }) {
    const { documents, cut } = data,
        { timeline } = documents;
    if (!(timeline?.snapshots?.length > 1))
        return el(
            "p",
            { class: "empty" },
            timeline
                ? "There is one moment alone."
                : (cut?.missing?.timeline ?? "This file does not say when anything happened."),
        );
    if (stacks.moments) return new Ranges(data, stacks, { peak, marks }).elements();
    return [
        el(
            "p",
            { class: "note" },
            `Live bytes at ${timeline.snapshots.length} moments; drag to zoom, double-click to show all. No range can be chosen: ${cut?.missing?.moments ?? "the file does not know which stacks had what"}.`,
        ),
        chart(timeline, { peak, marks, height: 420 }),
    ];
}

/** What of a range the URL asks for: its meaning, in bytes or blocks. */
function askedOf(moments) {
    const metric = state.get("metric"),
        meaning = /^range_(\w+)_/.exec(metric)?.[1];
    return {
        meaning: MEANINGS[meaning] ? meaning : "grown",
        unit: metric.endsWith("_blocks") && moments.values.blocks ? "blocks" : "bytes",
    };
}

/** The chart in which a range is chosen, the two ends of it, and what it means. */
class Ranges {
    constructor(data, stacks, { peak, marks }) {
        const { moments } = stacks;
        Object.assign(this, { data, stacks, moments }, askedOf(moments));
        this.result = el("div");
        this.told = el("p", { class: "note", role: "status" });
        this.ends = ["Start", "End"].map((text, number) => this.end(text, number));
        this.buttons = Object.keys(MEANINGS).map((name) => button("", () => this.ask({ meaning: name })));
        this.picture = chart(data.documents.timeline, {
            peak,
            marks,
            height: 320,
            range: () => stacks.range?.map((moment) => moments.times[moment] / 1e9),
            onRange: (seconds) => this.choose(seconds.map((one) => moments.nearest(one * 1e9))),
        });
    }

    elements() {
        const { cut } = this.data;
        this.result.append(this.told);
        this.show();
        return [
            this.picture,
            el(
                "div",
                { class: "bar range" },
                this.ends.map((one) => one.label),
            ),
            cut?.moments
                ? el(
                      "p",
                      { class: "note" },
                      `${count(cut.moments)} moments were left out to keep the page small.`,
                  )
                : null,
            this.result,
        ];
    }

    end(text, number) {
        const last = this.moments.times.length - 1,
            said = el("span", { class: "note" }),
            input = el("input", {
                type: "range",
                min: 0,
                max: last,
                step: 1,
                value: (this.stacks.range ?? [0, last])[number],
                "aria-label": `${text} of the range`,
                oninput: () => this.choose(this.placed(), number),
            });
        const atMark = markChoice(text, this.moments, (moment) => {
            const both = this.placed();
            both[number] = moment;
            this.choose(both, number);
        });
        return {
            input,
            said,
            label: el("span", { class: "end" }, el("label", {}, text, input, said), atMark),
        };
    }

    /** The moments that the ends are at. */
    placed() {
        return this.ends.map((one) => Number(one.input.value));
    }

    /** moved: the end that was. Beyond the other one it takes that along. */
    choose([from, to], moved = 1) {
        if (from > to) moved ? (from = to) : (to = from);
        setRange(this.stacks, [from, to]);
        this.ends.forEach(({ input }, i) => (input.value = this.stacks.range[i]));
        this.picture.drawRange();
        this.show();
    }

    ask(what) {
        Object.assign(this, what);
        this.show();
    }

    totals(meaning) {
        return this.stacks.totals[`range_${meaning}_${this.unit}`];
    }

    show() {
        const { moments, stacks, meaning, unit, told } = this;
        for (const { input, said } of this.ends) {
            said.textContent = moments.said(Number(input.value));
            input.setAttribute("aria-valuetext", said.textContent);
        }
        if (!stacks.range) {
            told.textContent = `${moments.times.length} moments. Drag over the chart, or move the two ends, to choose a range.`;
            return;
        }
        const metric = `range_${meaning}_${unit}`,
            net = this.totals("grown") - this.totals("shrunk"),
            sampled = this.data.documents.report.recording.mode === "sample";
        state.set({ range: rangeWord(stacks), metric }, true);
        told.textContent = `${rangeText(stacks)}: ${net < 0 ? "" : "+"}${amount(metric, net)} in the heap. ${NOTES[meaning](sampled, stacks)}`;
        this.result.replaceChildren(
            this.meanings(metric),
            told,
            hands(),
            ...exactly(this.data, stacks, meaning, unit),
            ...topStacks(this.data, stacks, metric),
        );
    }

    /** What of the range is shown, and in which unit. */
    meanings(metric) {
        Object.entries(MEANINGS).forEach(([name, text], i) => {
            this.buttons[i].textContent = `${text}: ${amount(metric, this.totals(name))}`;
            this.buttons[i].setAttribute("aria-pressed", String(name === this.meaning));
        });
        const units = ["bytes", "blocks"].map((unit) => [unit, unit]);
        return el(
            "div",
            { class: "bar", role: "group", "aria-label": "What of the range" },
            this.buttons,
            this.moments.values.blocks ? choice("in", units, this.unit, (unit) => this.ask({ unit })) : "",
        );
    }
}

/** Where else the range is shown. */
const hands = () =>
    el(
        "div",
        { class: "bar" },
        [
            ["flame", "Flame graph"],
            ["calls", "Call tree"],
            ["tables", "Tables"],
        ].map(([view, text]) => el("a", { href: state.href({ view, at: "" }) }, text)),
        button("No range", () => state.set({ range: "", metric: "" })),
    );

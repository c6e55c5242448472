// SPDX-License-Identifier: GPL-2.0-or-later
// The page as `heapwise serve` hands it out: which file, which range and filters. Each choice is a question to
// the server (docs/schema/serve-1.md), which answers with the data that `heapwise html` would have written.
import { commandLine } from "./about.js";
import { parse } from "./data.js";
import { announce, button, choice, copy, el } from "./dom.js";
import { change, quickFilters, short, useServer } from "./filters.js";
import { baseName, bytes } from "./format.js";
import { PARTS } from "./sift.js";
import * as state from "./state.js";
import { chart } from "./timeline.js";

// Options by their names on the command line: what the field is called, and an example.
const FIELDS = {
    from: ["From", "1.5s, mark:NAME"],
    to: ["To", "peak, end, 2s"],
    focus: ["Only stacks with", "REGEX"],
    ignore: ["Without", "REGEX"],
    hide: ["Hide frames", "REGEX"],
    show: ["Show only frames", "REGEX"],
    "show-from": ["Show from", "REGEX"],
    kind: ["Kind", "malloc"],
    thread: ["Thread", "TID or name"],
    "min-size": ["Size at least", "1K"],
    "max-size": ["Size at most", "1M"],
    "min-lifetime": ["Lifetime at least", "20ms"],
    "max-lifetime": ["Lifetime at most", "1s"],
    "min-age": ["Age at least", "1s"],
    "max-age": ["Age at most", "1min"],
};
const FIRST = 4;
const POLL_MS = 2000,
    GROWING_NS = 60e9;
const MEANINGS = [
    ["live_bytes", "Live at its end", "live_bytes_at_end"],
    ["kept_bytes", "Grown in it: allocated in it and live at its end", "kept_bytes"],
    ["peak_bytes", "Peak in it", "peak_bytes"],
];

let show, // start() of main.js
    list = { files: [] },
    rows = {}, // of `heapwise report --json`, by file
    stacks = null, // that are shown
    data = null,
    shown = "", // what they answer
    growing = false,
    running = null, // AbortController
    answered = null, // what of the fragment chose the data that is shown
    inView = { items: [] }, // of the trail: what the page does itself
    whole = {}; // timelines of whole files

const option = (name) => `ask.${name}`;
const fileOf = (number) => list.files.find((file) => String(file.number) === number);
const noFile = () => new Error(`There is no file ${state.get("file")} in the list.`);
const chosen = () => fileOf(state.get("file", "0"));
const base = () => (list.compares ? fileOf(state.get("base")) : null);
const asked = () =>
    [...Object.keys(FIELDS), "all-frames", "lifetimes"]
        .map((name) => [name, state.get(option(name))])
        .filter(([, value]) => value);

async function fetchAnswer(path, signal) {
    const answer = await fetch(path, { signal, cache: "no-store" });
    if (answer.ok) return answer;
    const text = await answer.text();
    let said;
    try {
        said = JSON.parse(text);
    } catch {
        said = { error: text.trim() || answer.statusText };
    }
    throw Object.assign(new Error(said.error), { code: said.exit_code });
}

const words = () => {
    const file = chosen();
    return [
        "heapwise",
        "html",
        ...asked().map(([name, value]) => (name === "all-frames" ? `--${name}` : `--${name}=${value}`)),
        ...(base() ? [`--base=${base().file}`] : []),
        file?.file ?? "FILE",
    ];
};

const question = (more) =>
    "data?" +
    new URLSearchParams([
        ["file", chosen()?.number ?? 0],
        ...(base() ? [["base", base().number]] : []),
        ...asked(),
        ...more,
    ]);
const stampOf = (file) => `${file?.bytes} ${file?.modified_ns}`;
const keyOf = () => `${question([])} ${stampOf(chosen())} ${stampOf(base())}`;

/** Functions have other numbers in other data: the zoom stays with their names. */
function keepZoom(next) {
    const path = state.get("at");
    if (!path || !stacks || !next) return;
    const key = (f) => `${f?.whole}\n${f?.module}`,
        numbers = new Map(next.functions.map((f, i) => [key(f), i])),
        found = path.split(".").map((number) => numbers.get(key(stacks.functions[number])));
    const end = found.indexOf(undefined);
    state.set({ at: (end < 0 ? found : found.slice(0, end)).join(".") }, true);
}

async function take(more, signal) {
    if (!chosen()) throw noFile();
    const answer = await fetchAnswer(question(more), signal),
        next = parse(await answer.arrayBuffer());
    signal.throwIfAborted();
    next.served = true;
    const place = [scrollX, scrollY];
    const before = stacks;
    window.heapwiseShown = data = next; // for tests and for those who look
    stacks = show(next, (made) => {
        stacks = before;
        keepZoom(made);
    });
    scrollTo(...place);
    const { timeline, report } = next.documents;
    growing = !report.recording.complete && report.recording.source === "recording";
    if (timeline && !asked().length && !base()) whole[chosen().number] = timeline;
}

const asksOf = () =>
    Object.fromEntries(
        ["file", "base", ...[...Object.keys(FIELDS), "all-frames", "lifetimes"].map(option)].map((name) => [
            name,
            state.get(name),
        ]),
    );

/** Filters of a page that was a file become questions. */
function takeOver() {
    const parts = Object.keys(PARTS).filter((part) => state.get(part));
    if (parts.length)
        state.set(
            Object.fromEntries(
                parts.flatMap((part) => [
                    [part, ""],
                    [option(part), state.get(part)],
                ]),
            ),
            true,
        );
}

/** What was shown before is of another question: it is marked so while it waits, and goes if there is no answer. */
function stale(on) {
    const main = document.getElementById("main");
    main?.classList.toggle("stale", on);
    main?.setAttribute("aria-busy", String(on));
}

/** No data for what is asked for: nothing else is shown under its name. */
function fail(text) {
    const before = answered;
    blank(
        `Nothing is shown: ${text}`,
        again(),
        " ",
        before ? button("Back to what was shown", () => state.set(before)) : "",
    );
    data = stacks = answered = null;
    inView = { items: [] };
}

/** Asks for what the fragment says, unless it is shown; `anew`: also then. */
async function refresh(anew) {
    takeOver();
    const key = keyOf();
    if (key === shown && !anew) return draw();
    running?.abort();
    const mine = (running = new AbortController()),
        began = performance.now(),
        passed = () => performance.now() - began,
        seconds = () => `${(passed() / 1000).toFixed(2)} s`;
    const asks = asksOf();
    let isThere = false; // the figures, though not the times
    shown = key;
    draw();
    stale(true);
    const tell = (text, kind, ...more) => said.replaceChildren(el("span", { class: kind }, text), ...more);
    const cancel = button("Cancel", () => mine.abort());
    const clock = setInterval(() => passed() > 400 && tell(`Computing… ${seconds()} `, "", cancel), 200);
    document.documentElement.dataset.computing = "1";
    try {
        await take(
            [
                ["timeline", "no"],
                ["lifetimes", "no"],
            ],
            mine.signal,
        );
        isThere = true;
        answered = asks;
        const time = seconds();
        clearInterval(clock);
        tell(`Computed in ${time}; times follow… `, "", cancel);
        draw();
        document.documentElement.dataset.figures = key;
        // A heap is of one moment.
        if (data.kind !== "heap") {
            await take([], mine.signal);
            if (!whole[chosen().number] && !base()) await takeWhole(mine.signal);
        }
        tell(`Computed in ${time}${growing ? "; the file still grows" : ""}.`, "");
        announce(`Computed in ${time}`);
    } catch (error) {
        if (mine !== running) return;
        if (isThere) {
            tell(`Without times: ${mine.signal.aborted ? "cancelled" : error.message}. `, "warn", again());
        } else if (mine.signal.aborted && answered) {
            state.set(answered, true);
            shown = keyOf();
            stale(false);
            tell("Cancelled: it is what was shown before. ", "warn");
        } else {
            tell("", "");
            fail(mine.signal.aborted ? "cancelled. " : `${error.message} `);
        }
    } finally {
        clearInterval(clock);
        if (mine === running) {
            running = null;
            delete document.documentElement.dataset.computing;
            draw();
        }
    }
}

/** The whole file's timeline, to choose ranges on. */
async function takeWhole(signal) {
    const answer = await fetchAnswer(`data?file=${chosen().number}&lifetimes=no`, signal);
    whole[chosen().number] = parse(await answer.arrayBuffer()).documents.timeline;
}

const again = () => button("Try again", () => refresh(true));

function blank(...said) {
    document
        .getElementById("page")
        .replaceChildren(el("main", { id: "main" }, el("p", { class: "warn", role: "alert" }, said)));
    document.documentElement.dataset.ready = "1";
}

// --- the bar ------------------------------------------------------------------------------------

const said = el("span", { class: "note", role: "status" }),
    top = el("div", { class: "bar" }),
    strip = el("div"),
    meaning = el("div", { class: "bar" }),
    trail = el("ul", { class: "trail", "aria-label": "Filters" }),
    quick = el("span", { class: "bar quick" }),
    command = el("code"),
    noCommand = el("span", { class: "note" }),
    inputs = {};

function describe(file) {
    const row = rows[file.file],
        parts = [
            row && (row.program || "").slice(0, 60),
            file.kind === "process" ? "process" : file.there ? bytes(file.bytes) : "gone",
            row && !row.complete && (isFresh(file) ? "still growing" : "incomplete"),
        ];
    const twice = list.files.some((one) => one !== file && baseName(one.file) === baseName(file.file));
    return `${twice ? file.file : baseName(file.file)} – ${parts.filter(Boolean).join(", ")}`;
}

const isFresh = (file) => Date.now() * 1e6 - file.modified_ns < GROWING_NS;

const pick = (label, none, value, key) =>
    choice(
        label,
        [...none, ...list.files.map((file) => [String(file.number), describe(file)])],
        value,
        (number) => state.set({ [key]: number, [option("from")]: "", [option("to")]: "", at: "" }),
    );

function apply(event) {
    event?.preventDefault();
    state.set({
        ...Object.fromEntries(
            Object.entries(inputs).map(([name, input]) => [option(name), input.value.trim()]),
        ),
        at: "",
    });
}

function field([name, [label, example]]) {
    inputs[name] = el("input", {
        name,
        placeholder: example,
        size: 12,
        autocomplete: "off",
        spellcheck: "false",
    });
    return el("label", {}, label, inputs[name]);
}

function flag(name, value, label) {
    return el(
        "label",
        {},
        el("input", {
            type: "checkbox",
            onchange: (event) => state.set({ [option(name)]: event.target.checked ? value : "" }),
            "data-flag": name,
        }),
        label,
    );
}

function form() {
    const all = Object.entries(FIELDS);
    return el(
        "form",
        { onsubmit: apply },
        el(
            "details",
            { class: "fold", open: innerWidth > 544 },
            el("summary", {}, "Range and filters"),
            el("div", { class: "bar" }, all.slice(0, FIRST).map(field), el("button", {}, "Apply"), quick),
        ),
        el(
            "details",
            {},
            el("summary", {}, "More filters"),
            el(
                "div",
                { class: "bar" },
                all.slice(FIRST).map(field),
                flag("all-frames", "1", "all frames"),
                flag("lifetimes", "yes", "lifetimes of any number of events"),
            ),
        ),
    );
}

function drawStrip() {
    const file = chosen(),
        timeline = file && whole[file.number],
        asks = state.get(option("from")) + state.get(option("to")),
        range = asks && !running ? data?.documents.report.recording.range : null,
        ask = range ? `${range.from_ns} ${range.to_ns}` : "";
    if (strip.timeline === timeline && strip.ask === ask) return;
    strip.timeline = timeline;
    strip.ask = ask;
    if (!(timeline?.snapshots?.length > 1) || timeline.time_unit !== "ms") return strip.replaceChildren();
    const picture = chart(timeline, {
        peak: null,
        height: 110,
        range: () => (range ? [range.from_ns, range.to_ns].map((ns) => ns / 1e9) : null),
        onRange: (seconds) => {
            const [from, to] = seconds.map((one) => `${Math.max(0, Math.round(one * 1e9))}ns`);
            state.set({ [option("from")]: from, [option("to")]: to });
        },
    });
    strip.replaceChildren(
        el(
            "details",
            { open: innerWidth > 700 },
            el("summary", {}, "Timeline: drag over it to choose a range, whose figures are computed exactly"),
            picture,
        ),
    );
}

function drawMeaning() {
    const ranged =
        (state.get(option("from")) || state.get(option("to"))) && data?.documents.report.recording.range;
    meaning.hidden = !ranged;
    if (!ranged) return;
    const { totals } = data.documents.report;
    meaning.replaceChildren(
        "Of the range: ",
        ...MEANINGS.filter(([metric]) => data.columns["row." + metric]).map(([metric, text, total]) =>
            el(
                "a",
                { href: state.href({ view: "flame", metric, at: "" }) },
                `${text}${totals[total] === null ? "" : ` (${bytes(totals[total])})`}`,
            ),
        ),
    );
}

function draw() {
    const file = chosen();
    top.replaceChildren(
        pick("File", [], String(file?.number ?? 0), "file"),
        list.compares && list.files.length > 1
            ? pick("Change from", [["", "–"]], state.get("base"), "base")
            : "",
        file?.kind === "process" ? button("Look again", () => refresh(true)) : "",
        list.left_out ? el("span", { class: "warn" }, `${list.left_out} more are not in the list.`) : "",
    );
    for (const [name, input] of Object.entries(inputs))
        if (document.activeElement !== input) input.value = state.get(option(name));
    for (const box of bar.querySelectorAll("[data-flag]"))
        box.checked = !!state.get(option(box.dataset.flag));
    drawTrail();
    drawStrip();
    drawMeaning();
}

/** What is asked for, then what the page does itself; the command that shows the same. */
function drawTrail() {
    trail.replaceChildren(
        ...asked().map(([name, value]) =>
            el(
                "li",
                { title: commandLine([`--${name}${name === "all-frames" ? "" : `=${value}`}`]) },
                `--${name}${name === "all-frames" ? "" : ` ${short(value)}`} `,
                button("×", () => change({ [option(name)]: "" }), { "aria-label": `Remove --${name}` }),
            ),
        ),
        ...inView.items,
    );
    quick.replaceChildren(...(data?.columns["row.node"] ? quickFilters() : []));
    command.textContent = inView.command ?? commandLine(words());
    noCommand.textContent = inView.none ? `Not part of it: ${inView.none}.` : "";
}

const bar = el(
    "section",
    { class: "served", "aria-label": "What is shown" },
    top,
    el(
        "div",
        { class: "bar" },
        command,
        button("Copy", () => copy(command.textContent, "Command")),
        noCommand,
        said,
    ),
    form(),
    trail,
    strip,
    meaning,
);

// --- files ----------------------------------------------------------------------------------------

async function lookAtFiles() {
    list = await (await fetchAnswer("files")).json();
}

async function lookAtRecordings() {
    try {
        const table = await (await fetchAnswer("recordings")).json();
        rows = Object.fromEntries(
            table.recordings.filter((row) => row.own_file).map((row) => [row.file, row]),
        );
    } catch {
        rows = {}; // the list has names and sizes
    }
    draw();
}

/** While the page is looked at: are there other files, does the one that is shown grow? */
async function poll() {
    if (document.visibilityState === "visible" && !running) {
        const before = list.files.map((file) => `${file.file} ${file.there}`).join();
        try {
            await lookAtFiles();
            lost.hidden = true;
            if (before !== list.files.map((file) => `${file.file} ${file.there}`).join())
                await lookAtRecordings();
            if (!running && data && keyOf() !== shown) {
                await refresh();
                if (!growing) await lookAtRecordings();
            }
        } catch {
            lost.hidden = false;
        }
    }
    setTimeout(poll, POLL_MS);
}

const lost = el(
    "p",
    { class: "warn", hidden: true },
    "heapwise serve doesn't answer any more; what is shown stays.",
);

/** `start`: shows data, calls its second argument with the stacks before, and returns them. */
export async function serve(start) {
    show = start;
    useServer((items, command, none) => {
        inView = { items, command, none };
        drawTrail();
    });
    document.body.prepend(bar);
    bar.append(lost);
    await lookAtFiles();
    state.onChange(() => refresh());
    lookAtRecordings();
    if (list.files.length) await refresh();
    else blank("Nothing is shown: there is no recording (*.hpw) here yet.");
    setTimeout(poll, POLL_MS);
}

// SPDX-License-Identifier: GPL-2.0-or-later
// The page: loads its data, shows the view that the URL fragment names.
import { about, commandLine } from "./about.js";
import { load } from "./data.js";
import { diffOverview, headOf, ofTypes } from "./diffview.js";
import { button, el } from "./dom.js";
import { noTrail, ofAll } from "./filters.js";
import { flameView, stepMatch } from "./flameview.js";
import {
    fragmentation,
    heapAbout,
    heapLeaks,
    heapOverview,
    heapOwners,
    mappings,
    threadStacks,
    types,
} from "./heap.js";
import { count, nameLive } from "./format.js";
import { leaks } from "./leaks.js";
import { marksOf, overTime, overview, peakOf } from "./overview.js";
import { ofProcesses, processesView } from "./processes.js";
import { timelineView, useRange } from "./range.js";
import { setSources, sourceView } from "./source.js";
import { serve } from "./served.js";
import { Stacks } from "./stacks.js";
import * as state from "./state.js";
import { distributions, tables } from "./tables.js";

const KEYS = [
    ["1 … 9", "the views, from left to right"],
    ["/", "search"],
    ["n, N", "the next box that matches, the one before"],
    ["Enter", "zoom to the chosen box; sort, open or choose what has the focus"],
    ["Ctrl and click, Delete", "remove a box and what is below it"],
    ["c", "copy the stack of the chosen box or row"],
    ["arrows", "go from box to box, or through a tree or table"],
    ["Escape", "up one level; leaves a field"],
    ["0", "show all"],
    ["i", "inverted: begin with the functions that allocate"],
    ["f", "flames upward"],
    ["d", "dark or light"],
    ["?", "this list"],
];

// Of each its name, what shows it, and whether a page has it: pages of heaps have other ones.
const ofHeap = (data) => data.kind === "heap",
    ofRecording = (data) => !ofHeap(data),
    hasStacks = (data) => Boolean(data.columns["row.node"]);
const ALL_VIEWS = {
    overview: [
        "Overview",
        (data) =>
            ofHeap(data)
                ? heapOverview(data)
                : data.kind === "diff"
                  ? diffOverview(data, overTime(data))
                  : overview(data),
        () => true,
    ],
    types: ["Types", types, ofHeap],
    owners: ["Owners", heapOwners, ofHeap],
    flame: ["Flame graph", (data, stacks) => flameView(data, stacks, "flame"), hasStacks],
    leaks: ["Leaks", (data) => (ofHeap(data) ? heapLeaks : leaks)(data), () => true],
    timeline: [
        "Timeline",
        (data, stacks) =>
            timelineView(data, stacks, {
                peak: peakOf(data.documents.report),
                marks: marksOf(data.documents),
            }),
        ofRecording,
    ],
    tables: ["Tables", (data, stacks) => tables(data, stacks), hasStacks],
    calls: ["Call tree", (data, stacks) => flameView(data, stacks, "calls"), hasStacks],
    sizes: ["Sizes and lifetimes", (data) => distributions(data), ofRecording],
    fragmentation: ["Fragmentation", fragmentation, ofHeap],
    threads: ["Threads", threadStacks, ofHeap],
    maps: ["Mappings", mappings, ofHeap],
    about: ["About", (data) => (ofHeap(data) ? heapAbout(data) : about(data)), () => true],
};
let VIEWS = ALL_VIEWS;

function setTheme(theme, keep) {
    document.documentElement.dataset.theme = theme;
    try {
        if (keep) localStorage.setItem("heapwise.theme", theme);
    } catch {
        /* not from file:// everywhere */
    }
    dispatchEvent(new Event("themechange"));
}

function firstTheme() {
    let kept = null;
    try {
        kept = localStorage.getItem("heapwise.theme");
    } catch {
        /* as above */
    }
    setTheme(kept ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"), false);
}

const help = () => {
    const box = el(
        "dialog",
        { "aria-label": "Keys" },
        el("h2", {}, "Keys"),
        el(
            "table",
            {},
            el(
                "tbody",
                {},
                KEYS.map(([key, what]) => el("tr", {}, el("td", {}, el("kbd", {}, key)), el("td", {}, what))),
            ),
        ),
        el("form", { method: "dialog" }, el("button", {}, "Close")),
    );
    box.addEventListener("close", () => box.remove());
    box.querySelector("button").addEventListener("click", (event) => {
        event.preventDefault();
        box.close();
    });
    document.body.append(box);
    box.showModal();
};

function onKey(event) {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName),
        names = Object.keys(VIEWS);
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (typing) {
        if (event.key === "Escape") event.target.blur();
        return;
    }
    const flip = (name) => state.set({ [name]: state.get(name) ? "" : "1", at: "", drop: "" });
    const keys = {
        "/": () =>
            (
                document.getElementById("find") ??
                document.querySelector('main input[aria-label^="Filter rows"]')
            )?.focus(),
        "?": help,
        i: () => flip("inverted"),
        f: () => flip("flip"),
        n: () => stepMatch(1),
        N: () => stepMatch(-1),
        d: () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark", true),
        0: () => state.set({ at: "" }),
        Escape: () => state.set({ at: state.get("at").split(".").slice(0, -1).join(".") }),
    };
    const number = Number(event.key);
    if (number >= 1 && number <= names.length) state.set({ view: names[number - 1] });
    else if (Object.hasOwn(keys, event.key)) keys[event.key]();
    else return;
    event.preventDefault();
}

let redraw = null; // shows the view of the data that is there

/** Shows data, and returns its stacks; `before` gets them first. */
function start(data, before) {
    VIEWS = Object.fromEntries(Object.entries(ALL_VIEWS).filter(([, [, , has]]) => has(data)));
    const first = !redraw,
        stacks = hasStacks(data) ? new Stacks(data) : null,
        main = el("main", { id: "main" }),
        nav = el("nav", { "aria-label": "Views" }),
        { target, recording } = data.documents.report;
    const two = data.kind === "diff",
        title = target.command?.length && !two ? commandLine(target.command) : data.title;
    if (data.documents.processes) VIEWS.processes = ["Processes", processesView];
    if (setSources(data)) VIEWS.source = ["Source", sourceView];
    nameLive(ofHeap(data) || ofTypes(data), recording.snapshot);
    document.title = `${data.title} – heapwise`;
    document.getElementById("page").replaceChildren(
        el(
            "header",
            {},
            el("h1", { title }, title),
            el(
                "span",
                { class: "of" },
                two
                    ? headOf(data)
                    : `${recording.file}${recording.mode === "sample" ? ", sampled: figures are estimates" : ""}${recording.complete ? "" : ", incomplete"}${ofProcesses(data)}`,
            ),
            el(
                "span",
                { class: "tools" },
                button(
                    "Theme",
                    () =>
                        setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark", true),
                    { title: "Dark or light (d)" },
                ),
                button("Keys", help, { title: "Keys (?)" }),
            ),
        ),
        nav,
        ...(data.served &&
        data.asked.some((one) => /^--(focus|ignore|hide|show|show-from|kind|tagfocus)\b/.test(one))
            ? [
                  el(
                      "p",
                      { class: "warn cut" },
                      "Trees, tables and search are of what the filters leave; verdict and totals are of the whole process.",
                  ),
              ]
            : []),
        ...(data.asked?.length && !data.served
            ? [
                  el(
                      "p",
                      { class: "warn cut" },
                      "Made with ",
                      el("code", {}, `heapwise ${two ? "diff --html" : "html"} ${commandLine(data.asked)}`),
                      ": trees, tables and search are of what these options leave; the verdict says what it is of.",
                  ),
              ]
            : []),
        ...(data.documents.diff?.normalized
            ? [el("p", { class: "warn cut" }, "Older figures are scaled so that totals agree (--normalize).")]
            : []),
        ...(data.cut?.rows
            ? [
                  el(
                      "p",
                      { class: "warn cut" },
                      `The ${count(data.cut.rows)} smallest stacks are summed up in one: sums are exact, and ${
                          data.served
                              ? "filters and ranges leave room for more."
                              : "heapwise html --page-limit SIZE gives more of them."
                      }`,
                  ),
              ]
            : []),
        main,
    );
    const draw = () => {
        const chosen = Object.hasOwn(VIEWS, state.get("view")) ? state.get("view") : "overview";
        if (stacks) useRange(data, stacks);
        nav.replaceChildren(
            ...Object.entries(VIEWS).map(([name, [text]]) =>
                el(
                    "a",
                    {
                        href: state.href({ view: name }),
                        "aria-current": name === chosen ? "page" : null,
                        onclick: (event) => {
                            event.preventDefault();
                            state.set({ view: name });
                        },
                    },
                    text,
                ),
            ),
        );
        noTrail();
        main.replaceChildren(...[ofAll(chosen), VIEWS[chosen][1](data, stacks)].flat(3).filter(Boolean));
        main.dataset.view = chosen;
        const here = nav.querySelector("[aria-current]");
        nav.scrollLeft = here.offsetLeft - (nav.clientWidth - here.offsetWidth) / 2;
    };
    before?.(stacks);
    redraw = draw;
    draw();
    performance.mark("heapwise: elements");
    document.documentElement.dataset.ready = "1";
    if (first) listen();
    return stacks;
}

function listen() {
    state.onChange(() => redraw());
    document.addEventListener("click", (event) => {
        const link = event.target.closest?.('a[href^="#"]');
        if (!link || event.defaultPrevented) return;
        event.preventDefault();
        state.set(Object.fromEntries(new URLSearchParams(link.getAttribute("href").slice(1))));
    });
    document.addEventListener("keydown", onKey);
}

firstTheme();
(document.getElementById("heapwise-served") ? serve(start) : load().then((data) => start(data))).catch(
    (error) => {
        document
            .getElementById("page")
            .replaceChildren(
                el("main", {}, el("p", { class: "warn" }, `This page can't be shown: ${error.message}`)),
            );
        document.documentElement.dataset.ready = "failed";
    },
);

// SPDX-License-Identifier: GPL-2.0-or-later
// The first screen: how bad, where, is it a leak?
import { el } from "./dom.js";
import { bytes, count, duration, plural } from "./format.js";
import { blocksAndBytes, judged, siteList, leftWords } from "./parts.js";
import * as state from "./state.js";
import { chart } from "./timeline.js";

const FEW = 3;
const TOP = 5; // of the report's lists
const UNKNOWN = "This file does not say it.";

export const marksOf = (documents) => documents.marks?.marks ?? [];

export function peakOf({ totals }) {
    return totals.peak_time_ns === null || totals.peak_time_ns === undefined
        ? null
        : { time_ns: totals.peak_time_ns, bytes: totals.peak_bytes };
}

function cards({ totals, recording }) {
    const sampled = recording.mode === "sample",
        note = sampled
            ? "estimate, from samples"
            : recording.source !== "recording"
              ? ""
              : recording.complete
                ? "exact"
                : "as far as it was recorded";
    const all = [
        [
            "Peak",
            totals.peak_bytes,
            bytes,
            totals.peak_blocks === null ? "" : plural(totals.peak_blocks, "block", "blocks"),
            note,
        ],
        [
            recording.snapshot
                ? "Live at this moment"
                : recording.range
                  ? "Live at the end of the range"
                  : "Live at the end",
            totals.live_bytes_at_end,
            bytes,
            totals.live_blocks_at_end === null ? "" : plural(totals.live_blocks_at_end, "block", "blocks"),
            note,
        ],
        [
            "Allocated in all",
            totals.allocated_bytes,
            bytes,
            totals.allocations === null ? "" : plural(totals.allocations, "call", "calls"),
            note,
        ],
        [
            "Temporary",
            totals.temporary,
            count,
            totals.allocations
                ? `${((100 * totals.temporary) / totals.allocations).toFixed(1)}% of all calls`
                : "",
            note,
        ],
        ["Resident at most", recording.resident_peak_bytes, bytes, "of the process, by the kernel"],
        ["Recorded for", recording.duration_ns, duration, recording.complete ? "" : "incomplete"],
    ];
    return el(
        "ul",
        { class: "cards" },
        all
            .filter(([, value]) => value !== null && value !== undefined)
            .map(([name, value, form, more, rests]) =>
                el(
                    "li",
                    {},
                    el("span", { class: "name" }, name),
                    el("span", { class: "figure", title: count(value) }, form(value)),
                    el("span", { class: "note" }, [more, rests].filter(Boolean).join("; ")),
                ),
            ),
    );
}

const subject = ({ report }) => (report?.recording?.class ? "What was mapped" : "The heap");

/** The chart; null: there is none. */
export const overTime = ({ documents, columns }) =>
    documents.timeline?.snapshots?.length > 1
        ? el(
              "section",
              {},
              el("h2", {}, `${subject(documents)} over time`),
              chart(documents.timeline, {
                  what: subject(documents),
                  peak: peakOf(documents.report),
                  marks: marksOf(documents),
                  onRange:
                      columns["moment.time_ns"] &&
                      ((seconds) =>
                          state.set({
                              view: "timeline",
                              range: seconds.map((one) => `${Math.round(one * 1e9)}ns`).join(".."),
                          })),
              }),
          )
        : null;

/** Where bytes were allocated, of a file that knows of no calls. */
const allocating = ({ totals, sorted_by, sites }) =>
    totals.allocations === null && sorted_by === "allocated_bytes" ? sites : [];

/** The first of these sites; null: there are none. */
function most(data, title, sites, metric, figure) {
    return sites?.length
        ? el(
              "section",
              {},
              el("h2", {}, title),
              siteList(data, sites.slice(0, FEW), figure),
              el("p", {}, el("a", { href: state.href({ view: "flame", metric, at: "" }) }, "Flame graph")),
          )
        : null;
}

export function overview(data) {
    const { report } = data.documents,
        { totals, recording } = report;
    const verdict = [...(report.verdict ?? [])];
    const kept = recording.range?.from_ns > 0,
        left = kept ? totals.kept_bytes : totals.live_bytes_at_end,
        few = (site) =>
            kept
                ? blocksAndBytes(site.kept_blocks, site.kept_bytes)
                : blocksAndBytes(site.live_blocks, site.live_bytes);
    const link = (view, text) => el("a", { href: state.href({ view }) }, text);
    return [
        el(
            "div",
            { class: `verdict ${judged(data)}` },
            verdict.length
                ? verdict.map((line) => el("p", {}, line))
                : el(
                      "p",
                      {},
                      totals.live_bytes_at_end === null && totals.allocated_bytes !== null
                          ? "This file says what was allocated, and not what stayed."
                          : "The file has no verdict.",
                  ),
        ),
        cards(report),
        overTime(data),
        el(
            "div",
            { class: "two" },
            el(
                "section",
                {},
                el("h2", {}, leftWords(report)),
                siteList(
                    data,
                    report.top?.never_freed,
                    few,
                    left === null || left === undefined
                        ? UNKNOWN
                        : left
                          ? "Only what libraries keep for themselves."
                          : recording.sample_bytes
                            ? "Nothing that was sampled."
                            : "Nothing.",
                ),
                el("p", {}, link("leaks", "All leaks")),
            ),
            el(
                "section",
                {},
                el("h2", {}, "Live at the peak"),
                siteList(
                    data,
                    report.top?.peak,
                    (site) => blocksAndBytes(site.peak_blocks, site.peak_bytes),
                    totals.peak_bytes === null || !data.columns["row.peak_bytes"]
                        ? UNKNOWN
                        : totals.peak_bytes
                          ? "Only what libraries keep for themselves."
                          : "Nothing was allocated.",
                ),
                el("p", {}, link("flame", "Flame graph")),
            ),
            most(data, "Most allocations", report.top?.calls, "allocations", (site) =>
                plural(site.allocations, "call", "calls"),
            ),
            most(data, "Most allocated", allocating(report), "allocated_bytes", (site) =>
                bytes(site.allocated_bytes),
            ),
            most(
                data,
                "Most temporary allocations",
                report.top?.temporary,
                "temporary",
                (site) => `${count(site.temporary)} of ${plural(site.allocations, "call", "calls")}`,
            ),
        ),
        data.cut?.documents?.report && data.cut.limit < TOP
            ? el(
                  "p",
                  { class: "warn" },
                  "Lists of this view are cut to keep the page small; the flame graph has all stacks.",
              )
            : null,
        report.notes?.length
            ? el(
                  "section",
                  {},
                  el("h2", {}, "Notes"),
                  el(
                      "ul",
                      { class: "notes" },
                      report.notes.map((note) => el("li", {}, note)),
                  ),
              )
            : null,
    ];
}

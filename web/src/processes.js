// SPDX-License-Identifier: GPL-2.0-or-later
// The processes of a folder of recordings: who started whom, and what each had.
import { el } from "./dom.js";
import { baseName, bytes, count, duration, plural } from "./format.js";
import { table } from "./table.js";

const ended = (exit) =>
    !exit
        ? "not known"
        : exit.running
          ? "ran on"
          : exit.exec
            ? "went on as another program"
            : exit.signal !== undefined
              ? `signal ${exit.signal}`
              : `exit ${exit.code}`;

/** Below the one that started it; of a path the name. */
const shown = ({ depth, program }) => "\u2003\u2003".repeat(depth) + program.replace(/^\/\S*\//, "");

/** For the line at the top; empty unless the page is of a folder. */
export const ofProcesses = ({ documents: { processes } }) =>
    processes ? `, of a run of ${plural(processes.processes, "process", "processes")}` : "";

export function processesView({ documents, cut }) {
    const { processes: all, report } = documents,
        own = report.recording.file,
        unread = cut?.documents?.processes,
        rows = all.recordings.map((one, i) => ({ ...one, order: i + 1 }));
    const number = (key, title, form = count) => ({
        key,
        title,
        number: true,
        width: "6.5rem",
        value: (row) => (row.unseen ? null : (row[key] ?? null)),
        text: (row) => (row.unseen || (row[key] ?? null) === null ? "?" : form(row[key])),
        exact: (row) =>
            row.unseen || (row[key] ?? null) === null
                ? "not known"
                : `${count(row[key])}${row.complete && !row.lost_events ? "" : ", incomplete"}`,
    });
    const missed = all.recordings.flatMap((one) => one.unrecorded ?? []);
    return [
        el(
            "p",
            { class: "note" },
            `${plural(all.processes, "process was", "processes were")} recorded; peaks don't add up. All other views are of ${own}, the one with the largest peak; for another: heapwise html FILE.`,
        ),
        unread
            ? el(
                  "p",
                  { class: "warn" },
                  `${plural(unread, "recording", "recordings")} of the folder could not be read.`,
              )
            : null,
        table({
            name: "processes",
            label: "Processes",
            sorted: "order up",
            rows,
            columns: [
                { ...number("order", "#"), width: "3.5rem", says: "each after the one that started it" },
                {
                    key: "program",
                    title: "Program",
                    width: "minmax(16rem, 2fr)",
                    text: shown,
                    exact: (row) => row.program,
                    element: (row) =>
                        el(row.file === own && row.own_file ? "strong" : "span", {}, shown(row)),
                },
                number("peak_bytes", "Peak", bytes),
                { ...number("live_bytes_at_end", "At end", bytes), says: "live at its end" },
                number("allocated_bytes", "Allocated", bytes),
                number("allocations", "Calls"),
                number("duration_ns", "Time", duration),
                { key: "exit", title: "End", width: "8rem", text: (row) => ended(row.exit) },
                { ...number("outer_pid", "PID", String), exact: (row) => String(row.outer_pid) },
                {
                    key: "file",
                    title: "Recording",
                    width: "minmax(8rem, 1fr)",
                    text: (row) => baseName(row.file) + (row.own_file ? "" : " (a row in it)"),
                    exact: (row) => row.file,
                },
            ],
        }),
        all.children_unrecorded
            ? [
                  el(
                      "h2",
                      {},
                      `${plural(all.children_unrecorded, "program", "programs")} without a recording`,
                  ),
                  el(
                      "ul",
                      { class: "notes" },
                      missed.map((one) =>
                          el(
                              "li",
                              {},
                              `${one.program || "not known which"}: ${one.reason}${one.count > 1 ? `, ${count(one.count)} times` : ""}`,
                          ),
                      ),
                  ),
              ]
            : null,
    ];
}

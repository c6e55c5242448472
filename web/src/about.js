// SPDX-License-Identifier: GPL-2.0-or-later
// Where all this comes from, what was lost, how to make it again.
import { el } from "./dom.js";
import { count, duration } from "./format.js";

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`);
export const commandLine = (words) => words.map(quoted).join(" ");

/** heap: it is no recording, which could have lost something. */
function factsOf({ target, recording }, heap) {
    const facts = [],
        add = (name, value) =>
            value !== null &&
            value !== undefined &&
            value !== false &&
            value !== "" &&
            facts.push(el("dt", {}, name), el("dd", {}, value));
    add("Command", target.command?.length ? el("code", {}, commandLine(target.command)) : null);
    add("Executable", target.exe);
    add("Directory", target.cwd);
    add("Machine", target.host);
    add("Process", target.pid && `${target.pid}`);
    add(
        "Started",
        Boolean(target.wall_start_ns) &&
            new Date(target.wall_start_ns / 1e6).toISOString().replace("T", " ").replace("Z", " UTC"),
    );
    add(
        "End",
        target.exit &&
            Object.entries(target.exit)
                .map(([key, value]) => `${key} ${value}`)
                .join(", "),
    );
    add("File", recording.file);
    add("Format", recording.source);
    add("Written by", recording.writer);
    add(
        "Mode",
        recording.mode &&
            (recording.mode === "sample"
                ? `sample, one block in about ${count(recording.sample_bytes)} bytes: figures are estimates`
                : recording.mode),
    );
    add("Recorded", recording.duration_ns && duration(recording.duration_ns));
    add(
        "Events",
        recording.events === null || recording.events === undefined ? null : count(recording.events),
    );
    add(
        "Lost",
        heap
            ? null
            : recording.lost_events === null
              ? "unknown"
              : recording.lost_events
                ? count(recording.lost_events)
                : "nothing",
    );
    add("Complete", recording.complete ? "yes" : "no");
    add(
        "Waited",
        recording.wait_ns ? `${duration(recording.wait_ns)} in all threads for room in their buffers` : null,
    );
    add("Programs not recorded", recording.children_unrecorded ? count(recording.children_unrecorded) : null);
    return el("dl", { class: "facts" }, facts);
}

const modeOf = ({ mode, sample_bytes: bytes }) =>
    mode === "sample" ? `--mode sample:${bytes} ` : mode === "aggregate" ? "--mode aggregate " : "";

/** commands: others than those of recordings. */
export function about(data, commands) {
    const { target, recording, base } = data.documents.report,
        diff = data.documents.diff,
        chosen = data.asked ?? [];
    const file = quoted(recording.file ?? "FILE");
    return [
        el("h2", {}, commands ? "Heap" : "Recording"),
        factsOf({ target, recording }, Boolean(commands)),
        base ? [el("h2", {}, `Compared with ${base.label}`), factsOf(base)] : null,
        recording.damage?.length
            ? [
                  el("h2", {}, recording.complete ? "Remarks on the file" : "Why it is incomplete"),
                  el(
                      "ul",
                      { class: "notes" },
                      recording.damage.map((line) => el("li", {}, line)),
                  ),
              ]
            : null,
        el("h2", {}, "The same on the command line"),
        el(
            "ul",
            { class: "notes" },
            (
                commands ?? [
                    target.command?.length && recording.source === "recording"
                        ? `heapwise run ${modeOf(recording)}${commandLine(target.command)}`
                        : null,
                    ...(chosen.length || recording.range
                        ? [!diff && chosen.length && `heapwise html ${commandLine(chosen)} ${file}`]
                        : [
                              `heapwise report ${file}`,
                              `heapwise leaks ${file}`,
                              diff ? null : `heapwise html ${file}`,
                          ]),
                    ...(base && diff && !chosen.length
                        ? [`heapwise diff ${quoted(diff.older.label)} ${quoted(diff.newer.label)}`]
                        : []),
                ]
            )
                .filter(Boolean)
                .map((line) => el("li", {}, el("code", {}, line))),
        ),
        el(
            "p",
            { class: "note" },
            data.served
                ? `This page is served by ${data.writer}, which computes what it shows.`
                : `This page was made by ${data.writer}. It is one file, loads nothing and sends nothing.`,
        ),
    ];
}

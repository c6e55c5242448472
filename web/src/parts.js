// SPDX-License-Identifier: GPL-2.0-or-later
// What several views show: stacks, sites, histograms.
import { button, copy, el } from "./dom.js";
import { baseName, bytes, count, plural } from "./format.js";
import { sourceHref } from "./source.js";

const FRAMES = 6;

const frameName = (frame, whole) =>
    (whole ? frame.function : (frame.short ?? frame.function)) ??
    `${baseName(frame.module)}+${frame.offset ?? frame.address ?? "?"}`;
const frameWhere = (frame) =>
    frame.file
        ? `${baseName(frame.file)}${frame.line ? `:${frame.line}` : ""}`
        : frame.function
          ? baseName(frame.module)
          : "";

/** Where it is; a link if the page has its source. */
function linked(frame) {
    const href = frame.file && sourceHref(frame.file, frame.line);
    return el(href ? "a" : "span", { class: "where", href }, frameWhere(frame));
}

const stackText = (stack) =>
    stack
        .map(
            (frame) =>
                `${frameName(frame, true)}${frame.file ? ` (${frame.file}${frame.line ? `:${frame.line}` : ""})` : ` (in ${frame.module})`}`,
        )
        .join("\n") + "\n";

/** Entries that suppress the leaks of a stack, as heapwise leaks --gen-suppressions writes them; "": it has none. */
function suppressionOf({ documents }, stack) {
    const like = JSON.stringify(stack),
        fitting = (documents.leaks?.leaks?.records ?? []).filter(
            (one) => one.written_suppression && JSON.stringify(one.stack) === like,
        );
    return fitting.map((one) => one.written_suppression).join("");
}

/** A stack of a document, innermost first: the frames that say something, all of them on demand. */
export function stackList(stack, suppression) {
    const list = el("ol", { class: "stack" });
    let all = false;
    const draw = () => {
        const told = all ? stack : stack.filter((frame) => !frame.folded),
            some = all ? told : (told.length ? told : stack).slice(0, FRAMES);
        const blamed = stack.find((frame) => !frame.folded);
        list.replaceChildren(
            ...some.map((frame) =>
                el(
                    "li",
                    { class: frame === blamed ? "blamed" : "", title: frame.file ?? frame.module },
                    frameName(frame, all),
                    " ",
                    linked(frame),
                    frame.inlined ? el("span", { class: "where" }, " inlined") : null,
                ),
            ),
        );
        const isBrief = stack.some((frame) => frame.short && frame.short !== frame.function),
            isWhole = !all && !isBrief && stack.length === some.length;
        list.append(
            el(
                "li",
                { class: "hands" },
                isWhole
                    ? null
                    : button(
                          all
                              ? isBrief
                                  ? "Fewer frames, short names"
                                  : "Fewer frames"
                              : `${stack.length === 1 ? "The frame" : `All ${stack.length} frames`}${isBrief ? ", whole names" : ""}`,
                          () => {
                              all = !all;
                              draw();
                              list.querySelector("button").focus();
                          },
                      ),
                " ",
                button("Copy the stack", () => copy(stackText(stack), "Stack")),
                " ",
                suppression ? button("Copy a suppression", () => copy(suppression, "Suppression")) : null,
            ),
        );
    };
    draw();
    return list;
}

export function siteList(data, sites, figure, none) {
    if (!sites?.length) return el("p", { class: "empty" }, none);
    return el(
        "ol",
        { class: "sites" },
        sites.map((site) =>
            el(
                "li",
                {},
                el("span", { class: "amount" }, figure(site)),
                " ",
                site.kind === "unknown" ? null : el("span", { class: "where" }, `by ${site.kind}`),
                stackList(site.stack, suppressionOf(data, site.stack)),
            ),
        ),
    );
}

/** rows: [{ label, value, text }] */
export function bars(rows, title) {
    const most = Math.max(1, ...rows.map((row) => row.value));
    return el(
        "div",
        {
            class: "bars",
            role: "img",
            "aria-label": `${title}: ${rows.map((row) => `${row.label}: ${row.text}`).join("; ")}`,
        },
        rows.map((row) => {
            const bar = el("span", { class: "bar-of" });
            bar.style.width = `${(100 * row.value) / most}%`;
            return [el("span", {}, row.label), el("span", {}, bar), el("span", {}, row.text)];
        }),
    );
}

/** What blocks are that were not freed: of a program that went on, or was killed, they need not be left over. */
export function leftWords({ recording, target }) {
    if (recording.range)
        return recording.range.from_ns > 0
            ? "Allocated in the range and live at its end"
            : "Live at this moment";
    if (recording.snapshot) return "Live at this moment";
    if (!recording.complete) return "Live at the end of the recording";
    return target.exit?.signal ? "Live when the program was killed" : "Never freed";
}

/** Files of some tools know bytes and no blocks. */
export const blocksAndBytes = (blocks, size) =>
    blocks === null || blocks === undefined
        ? bytes(size ?? 0)
        : `${bytes(size ?? 0)} in ${plural(blocks, "block", "blocks")}`;

/** "good", "bad" or "": good is only what was searched or counted and found to be so, of all of it. */
export function judged({ documents, asked }) {
    const { report, leaks, errors } = documents,
        { recording, totals, target } = report,
        found = leaks?.leaks;
    const wrong =
        (errors?.errors_total ?? 0) + (leaks?.other_errors?.errors_total ?? 0) + (found?.errors ?? 0);
    if (wrong > 0 || recording.lost_events > 0 || !recording.complete) return "bad";
    const partial =
        recording.range ||
        recording.blocks ||
        recording.mode === "sample" ||
        recording.source !== "recording" ||
        asked?.length ||
        target.exit?.code === undefined;
    const nothing =
        totals.live_bytes_at_end !== null && totals.live_bytes_at_end === (report.libraries?.bytes ?? 0);
    return !partial && (nothing || (found?.decided && leaks.other_errors?.decided !== false)) ? "good" : "";
}

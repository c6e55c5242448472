// SPDX-License-Identifier: GPL-2.0-or-later
// A table of any length: only the rows in sight are elements.
import { button, copy, download, el } from "./dom.js";
import * as state from "./state.js";

const HEIGHT = 27,
    AHEAD = 12;

/** columns: { key, title, number, width, value(row), text(row), exact(row), element(row) }. name: in the URL and in files. */
export function table({ name, columns, rows, sorted, label, onRow }) {
    const find = el("input", {
        type: "search",
        placeholder: "Filter rows",
        "aria-label": `Filter rows: ${label}`,
        value: state.get(`${name}.find`),
    });
    const told = el("span", { class: "note", role: "status" });
    const body = el("div", { class: "rows", role: "rowgroup" });
    const head = el("div", { role: "row", class: "head" });
    const box = el(
        "div",
        { class: "table", role: "table", "aria-label": label, "aria-rowcount": rows.length + 1, tabIndex: 0 },
        el("div", { role: "rowgroup" }, head),
        body,
    );
    const widths = columns
        .map((column) => column.width ?? (column.number ? "9rem" : "minmax(14rem, 1fr)"))
        .join(" ");
    let [key, down] = (state.get(`${name}.sort`) || sorted).split(" "),
        shown = rows;

    function arrange() {
        const column = columns.find((one) => one.key === key) ?? columns[0],
            words = find.value.toLowerCase();
        shown = words
            ? rows.filter((row) =>
                  columns.some((one) => !one.number && one.text(row).toLowerCase().includes(words)),
              )
            : rows.slice();
        const sign = down === "up" ? 1 : -1;
        shown.sort(
            (a, b) =>
                sign *
                (column.number
                    ? column.value(a) - column.value(b)
                    : column.text(a).localeCompare(column.text(b))),
        );
        told.textContent = words
            ? `${shown.length.toLocaleString("en-US")} of ${rows.length.toLocaleString("en-US")} rows`
            : `${rows.length.toLocaleString("en-US")} rows`;
        body.style.height = `${shown.length * HEIGHT}px`;
        heads();
        draw(true);
    }

    function heads() {
        head.style.gridTemplateColumns = widths;
        head.replaceChildren(
            ...columns.map((column) => {
                const by = column.key === key;
                return el(
                    "span",
                    {
                        role: "columnheader",
                        class: column.number ? "number" : "",
                        "aria-sort": by ? (down === "up" ? "ascending" : "descending") : "none",
                    },
                    button(
                        column.title + (by ? (down === "up" ? " ▲" : " ▼") : ""),
                        () => {
                            down = by ? (down === "up" ? "down" : "up") : column.number ? "down" : "up";
                            key = column.key;
                            state.set({ [`${name}.sort`]: `${key} ${down}` }, true);
                            arrange();
                        },
                        { title: column.says ?? column.title },
                    ),
                );
            }),
        );
    }

    let first = -1,
        last = -1;
    function draw(anew = false) {
        const top = Math.max(0, Math.floor(box.scrollTop / HEIGHT) - AHEAD);
        const bottom = Math.min(
            shown.length,
            Math.ceil((box.scrollTop + (box.clientHeight || 600)) / HEIGHT) + AHEAD,
        );
        if (!anew && top === first && bottom === last) return;
        [first, last] = [top, bottom];
        body.replaceChildren(
            ...shown.slice(top, bottom).map((row, i) => {
                const line = el(
                    "div",
                    { role: "row", "aria-rowindex": top + i + 2 },
                    columns.map((column) => {
                        const cell = el("span", {
                            role: "cell",
                            class: column.number ? "number" : "name",
                            title: column.exact ? column.exact(row) : column.text(row),
                        });
                        cell.append(column.element ? column.element(row) : column.text(row));
                        return cell;
                    }),
                );
                line.style.top = `${(top + i) * HEIGHT}px`;
                line.style.gridTemplateColumns = widths;
                if (onRow) line.addEventListener("dblclick", () => onRow(row));
                return line;
            }),
        );
    }

    const plain = (column, row) => (column.number ? String(column.value(row)) : column.text(row));
    const csv = () =>
        [columns.map((one) => one.key), ...shown.map((row) => columns.map((one) => plain(one, row)))]
            .map((line) =>
                line
                    .map((cell) => (/[",\n\r]/.test(cell) ? `"${cell.replace(/"/g, '""')}"` : cell))
                    .join(","),
            )
            .join("\r\n") + "\r\n";
    const markdown = () =>
        [
            `| ${columns.map((one) => one.title).join(" | ")} |`,
            `|${columns.map((one) => (one.number ? "---:" : "---")).join("|")}|`,
            ...shown
                .slice(0, 100)
                .map((row) => `| ${columns.map((one) => one.text(row).replace(/\|/g, "\\|")).join(" | ")} |`),
        ].join("\n") + "\n";
    box.addEventListener("scroll", () => draw());
    find.addEventListener("input", () => {
        state.set({ [`${name}.find`]: find.value }, true);
        box.scrollTop = 0;
        arrange();
    });
    new ResizeObserver(() => draw()).observe(box);
    arrange();
    return el(
        "div",
        {},
        el(
            "div",
            { class: "bar" },
            find,
            told,
            button("Copy as Markdown", () => copy(markdown(), "Table")),
            button("Save as CSV", () => download(`${name}.csv`, "text/csv", csv())),
        ),
        box,
    );
}

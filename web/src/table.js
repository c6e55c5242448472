// SPDX-License-Identifier: GPL-2.0-or-later
// A table of any length: only the rows in sight are elements.
import { button, copy, download, el } from "./dom.js";
import { count, plural } from "./format.js";
import { layOut, whenLaidAnew } from "./narrow.js";
import { printing } from "./print.js";
import * as state from "./state.js";

const by = (column, row) => (column.rank ?? column.value)(row);
const AHEAD = 12,
    MARKDOWN = 100, // rows that are copied
    PRINTED = 1000;

/** columns: { key, title, number, width, value(row): null is not known, rank(row): sorted by, part(row): of a bar behind it, 0 to 1, text(row), exact(row), element(row) }.
 *  name: in the URL and in files. onRow(row): by Enter or a double click; rowText(row): for the key c. */
export function table({ name, columns, rows, sorted, label, onRow, rowText }) {
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
        {
            class: columns.length > 6 ? "table wide" : "table",
            role: "grid",
            "aria-label": label,
            "aria-rowcount": rows.length + 1,
            "aria-colcount": columns.length,
            tabIndex: 0,
        },
        el("div", { role: "rowgroup" }, head),
        body,
    );
    let form = layOut(columns);
    let [key, down] = (state.get(`${name}.sort`) || sorted).split(" "),
        shown = rows,
        at = -1; // the row that keys have come to

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
                    ? (by(column, a) ?? -Infinity) - (by(column, b) ?? -Infinity) || 0
                    : column.text(a).localeCompare(column.text(b))),
        );
        told.textContent = words
            ? `${count(shown.length)} of ${plural(rows.length, "row", "rows")}`
            : plural(rows.length, "row", "rows");
        at = -1;
        heads();
        draw(true);
    }

    const lay = ({ style }) => {
        style.gridTemplateColumns = form.widths;
        style.minWidth = form.least;
    };
    const classOf = (column, style) => (column === form.name ? "main " : "") + style;

    function heads() {
        box.classList.toggle("tall", Boolean(form.name));
        lay(head);
        const had = [...head.children].findIndex((one) => one.contains(document.activeElement));
        head.replaceChildren(
            ...form.columns.map((column) => {
                const by = column.key === key;
                return el(
                    "span",
                    {
                        role: "columnheader",
                        class: classOf(column, column.number ? "number" : ""),
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
        if (had >= 0) head.children[had].firstElementChild.focus();
    }

    let first = -1,
        last = -1;
    function draw(anew = false) {
        const top = printing ? 0 : Math.max(0, Math.floor(box.scrollTop / form.height) - AHEAD);
        const bottom = Math.min(
            shown.length,
            printing ? PRINTED : Math.ceil((box.scrollTop + (box.clientHeight || 600)) / form.height) + AHEAD,
        );
        body.style.height = `${(printing ? bottom : shown.length) * form.height}px`;
        body.dataset.cut =
            printing && bottom < shown.length
                ? `${(shown.length - bottom).toLocaleString("en-US")} more rows are not printed`
                : "";
        if (!anew && top === first && bottom === last) return;
        [first, last] = [top, bottom];
        body.replaceChildren(
            ...shown.slice(top, bottom).map((row, i) => {
                const line = el(
                    "div",
                    {
                        role: "row",
                        id: `${name}-${top + i}`,
                        "aria-rowindex": top + i + 2,
                        "aria-selected": top + i === at ? "true" : null,
                    },
                    form.columns.map((column) => {
                        const cell = el("span", {
                            role: "gridcell",
                            class: classOf(column, column.number ? "number" : "name"),
                            title: column.exact ? column.exact(row) : column.text(row),
                        });
                        if (column.part) {
                            cell.classList.add("barred");
                            cell.style.setProperty("--part", `${100 * column.part(row)}%`);
                        }
                        cell.append(column.element ? column.element(row) : column.text(row));
                        return cell;
                    }),
                );
                line.style.top = `${(top + i) * form.height}px`;
                lay(line);
                if (onRow) line.addEventListener("dblclick", () => onRow(row));
                return line;
            }),
        );
    }

    function go(to) {
        if (!shown.length) return;
        at = Math.max(0, Math.min(shown.length - 1, to));
        const top = at * form.height,
            room = box.clientHeight - head.offsetHeight - form.height;
        if (top < box.scrollTop) box.scrollTop = top;
        else if (top > box.scrollTop + room) box.scrollTop = top - Math.max(0, room);
        draw(true);
        box.setAttribute("aria-activedescendant", `${name}-${at}`);
    }

    box.addEventListener("keydown", (event) => {
        if (event.target !== box || event.ctrlKey || event.metaKey || event.altKey) return;
        const page = Math.max(1, Math.floor(box.clientHeight / form.height) - 2);
        const keys = {
            ArrowDown: () => go(at + 1),
            ArrowUp: () => go(at - 1),
            PageDown: () => go(at + page),
            PageUp: () => go(at - page),
            Home: () => go(0),
            End: () => go(shown.length - 1),
            Enter: () => shown[at] && onRow?.(shown[at]),
            c: () => shown[at] && copy(rowText?.(shown[at]) ?? plainRow(shown[at]), "Row"),
        };
        if (!Object.hasOwn(keys, event.key)) return;
        event.preventDefault();
        event.stopPropagation();
        keys[event.key]();
    });

    const plain = (column, row) =>
        column.number ? String(column.value(row) ?? "") : (column.whole?.(row) ?? column.text(row));
    const plainRow = (row) => columns.map((one) => plain(one, row)).join("\t") + "\n";
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
                .slice(0, MARKDOWN)
                .map((row) => `| ${columns.map((one) => one.text(row).replace(/\|/g, "\\|")).join(" | ")} |`),
            ...(shown.length > MARKDOWN
                ? [`\n${(shown.length - MARKDOWN).toLocaleString("en-US")} more rows are left out.`]
                : []),
        ].join("\n") + "\n";
    box.addEventListener("scroll", () => draw());
    find.addEventListener("input", () => {
        state.set({ [`${name}.find`]: find.value }, true);
        box.scrollTop = 0;
        arrange();
    });
    new ResizeObserver(() => draw()).observe(box);
    whenLaidAnew(() => {
        form = layOut(columns);
        heads();
        draw(true);
        return box.isConnected;
    });
    const onPrint = () => (box.isConnected ? draw(true) : removeEventListener("printchange", onPrint));
    addEventListener("printchange", onPrint);
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

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

const plain = (column, row) =>
    column.number ? String(column.value(row) ?? "") : (column.whole?.(row) ?? column.text(row));
const plainRow = (columns, row) => columns.map((one) => plain(one, row)).join("\t") + "\n";

function csv(columns, rows) {
    const cell = (text) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
    return [columns.map((one) => one.key), ...rows.map((row) => columns.map((one) => plain(one, row)))]
        .map((line) => line.map(cell).join(",") + "\r\n")
        .join("");
}

function markdown(columns, rows) {
    const line = (cells) => `| ${cells.join(" | ")} |`,
        left = rows.length - MARKDOWN;
    return (
        [
            line(columns.map((one) => one.title)),
            `|${columns.map((one) => (one.number ? "---:" : "---")).join("|")}|`,
            ...rows
                .slice(0, MARKDOWN)
                .map((row) => line(columns.map((one) => one.text(row).replace(/\|/g, "\\|")))),
            ...(left > 0 ? [`\n${count(left)} more rows are left out.`] : []),
        ].join("\n") + "\n"
    );
}

/** columns: { key, title, number, width, value(row): null is not known, rank(row): sorted by, part(row): of a bar behind it, 0 to 1, text(row), exact(row), element(row) }.
 *  name: in the URL and in files. onRow(row): by Enter or a double click; rowText(row): for the key c. */
export function table(of) {
    return new Table(of).element();
}

class Table {
    constructor({ name, columns, rows, sorted, label, onRow, rowText }) {
        Object.assign(this, { name, columns, rows, onRow, rowText, shown: rows });
        [this.key, this.down] = (state.get(`${name}.sort`) || sorted).split(" ");
        this.at = -1; // the row that keys have come to
        this.form = layOut(columns);
        this.find = el("input", {
            type: "search",
            placeholder: "Filter rows",
            "aria-label": `Filter rows: ${label}`,
            value: state.get(`${name}.find`),
        });
        this.told = el("span", { class: "note", role: "status" });
        this.body = el("div", { class: "rows", role: "rowgroup" });
        this.head = el("div", { role: "row", class: "head" });
        this.box = el(
            "div",
            {
                class: columns.length > 6 ? "table wide" : "table",
                role: "grid",
                "aria-label": label,
                "aria-rowcount": rows.length + 1,
                "aria-colcount": columns.length,
                tabIndex: 0,
            },
            el("div", { role: "rowgroup" }, this.head),
            this.body,
        );
        this.listen();
        this.arrange();
    }

    element() {
        const { find, told, box, columns, name } = this;
        return el(
            "div",
            {},
            el(
                "div",
                { class: "bar" },
                find,
                told,
                button("Copy as Markdown", () => copy(markdown(columns, this.shown), "Table")),
                button("Save as CSV", () => download(`${name}.csv`, "text/csv", csv(columns, this.shown))),
            ),
            box,
        );
    }

    listen() {
        const { box, find } = this;
        box.addEventListener("keydown", (event) => this.onKey(event));
        box.addEventListener("scroll", () => this.draw());
        find.addEventListener("input", () => {
            state.set({ [`${this.name}.find`]: find.value }, true);
            box.scrollTop = 0;
            this.arrange();
        });
        new ResizeObserver(() => this.draw()).observe(box);
        whenLaidAnew(() => {
            this.form = layOut(this.columns);
            this.heads();
            this.draw(true);
            return box.isConnected;
        });
        const onPrint = () =>
            box.isConnected ? this.draw(true) : removeEventListener("printchange", onPrint);
        addEventListener("printchange", onPrint);
    }

    /** Filters and sorts the rows, and draws them anew. */
    arrange() {
        const { columns, rows } = this,
            column = columns.find((one) => one.key === this.key) ?? columns[0],
            words = this.find.value.toLowerCase(),
            has = (row) => columns.some((one) => !one.number && one.text(row).toLowerCase().includes(words));
        const sign = this.down === "up" ? 1 : -1,
            all = plural(rows.length, "row", "rows");
        this.shown = (words ? rows.filter(has) : rows.slice()).sort(
            (a, b) =>
                sign *
                (column.number
                    ? (by(column, a) ?? -Infinity) - (by(column, b) ?? -Infinity) || 0
                    : column.text(a).localeCompare(column.text(b))),
        );
        this.told.textContent = words ? `${count(this.shown.length)} of ${all}` : all;
        this.at = -1;
        this.heads();
        this.draw(true);
    }

    sortBy(column) {
        const other = this.down === "up" ? "down" : "up";
        this.down = column.key === this.key ? other : column.number ? "down" : "up";
        this.key = column.key;
        state.set({ [`${this.name}.sort`]: `${this.key} ${this.down}` }, true);
        this.arrange();
    }

    lay({ style }) {
        style.gridTemplateColumns = this.form.widths;
        style.minWidth = this.form.least;
    }

    classOf(column, style) {
        return (column === this.form.name ? "main " : "") + style;
    }

    heads() {
        const { head, form } = this;
        this.box.classList.toggle("tall", Boolean(form.name));
        this.lay(head);
        const had = [...head.children].findIndex((one) => one.contains(document.activeElement));
        head.replaceChildren(...form.columns.map((column) => this.headOf(column)));
        if (had >= 0) head.children[had].firstElementChild.focus();
    }

    headOf(column) {
        const isUp = this.down === "up",
            isSorted = column.key === this.key;
        return el(
            "span",
            {
                role: "columnheader",
                class: this.classOf(column, column.number ? "number" : ""),
                "aria-sort": isSorted ? (isUp ? "ascending" : "descending") : "none",
            },
            button(column.title + (isSorted ? (isUp ? " ▲" : " ▼") : ""), () => this.sortBy(column), {
                title: column.says ?? column.title,
            }),
        );
    }

    /** Makes elements of the rows in sight. anew: also if they are the same as before. */
    draw(anew = false) {
        const { box, body, shown } = this,
            { height } = this.form;
        const top = printing ? 0 : Math.max(0, Math.floor(box.scrollTop / height) - AHEAD);
        const bottom = Math.min(
            shown.length,
            printing ? PRINTED : Math.ceil((box.scrollTop + (box.clientHeight || 600)) / height) + AHEAD,
        );
        body.style.height = `${(printing ? bottom : shown.length) * height}px`;
        body.dataset.cut =
            printing && bottom < shown.length
                ? `${count(shown.length - bottom)} more rows are not printed`
                : "";
        if (!anew && top === this.top && bottom === this.bottom) return;
        [this.top, this.bottom] = [top, bottom];
        body.replaceChildren(...shown.slice(top, bottom).map((row, i) => this.line(row, top + i)));
    }

    line(row, i) {
        const made = el(
            "div",
            {
                role: "row",
                id: `${this.name}-${i}`,
                "aria-rowindex": i + 2,
                "aria-selected": i === this.at ? "true" : null,
            },
            this.form.columns.map((column) => this.cell(column, row)),
        );
        made.style.top = `${i * this.form.height}px`;
        this.lay(made);
        if (this.onRow) made.addEventListener("dblclick", () => this.onRow(row));
        return made;
    }

    cell(column, row) {
        const made = el(
            "span",
            {
                role: "gridcell",
                class: this.classOf(column, column.number ? "number" : "name"),
                title: column.exact ? column.exact(row) : column.text(row),
            },
            column.element ? column.element(row) : column.text(row),
        );
        if (column.part) {
            made.classList.add("barred");
            made.style.setProperty("--part", `${100 * column.part(row)}%`);
        }
        return made;
    }

    go(to) {
        const { box, shown, form } = this;
        if (!shown.length) return;
        this.at = Math.max(0, Math.min(shown.length - 1, to));
        const top = this.at * form.height,
            room = box.clientHeight - this.head.offsetHeight - form.height;
        if (top < box.scrollTop) box.scrollTop = top;
        else if (top > box.scrollTop + room) box.scrollTop = top - Math.max(0, room);
        this.draw(true);
        box.setAttribute("aria-activedescendant", `${this.name}-${this.at}`);
    }

    onKey(event) {
        const { box, shown, at } = this;
        if (event.target !== box || event.ctrlKey || event.metaKey || event.altKey) return;
        const page = Math.max(1, Math.floor(box.clientHeight / this.form.height) - 2),
            row = shown[at];
        const keys = {
            ArrowDown: () => this.go(at + 1),
            ArrowUp: () => this.go(at - 1),
            PageDown: () => this.go(at + page),
            PageUp: () => this.go(at - page),
            Home: () => this.go(0),
            End: () => this.go(shown.length - 1),
            Enter: () => row && this.onRow?.(row),
            c: () => row && copy(this.rowText?.(row) ?? plainRow(this.columns, row), "Row"),
        };
        if (!Object.hasOwn(keys, event.key)) return;
        event.preventDefault();
        event.stopPropagation();
        keys[event.key]();
    }
}

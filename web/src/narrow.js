// SPDX-License-Identifier: GPL-2.0-or-later
// How a table is laid out: a row is a line; where there is little room, its name is a line over its figures.
const LITTLE = matchMedia("(max-width: 34rem)");
const LINE = 27,
    TWO_LINES = 46;
const FIGURE_REM = 6.2,
    TEXT_REM = 9;

const isFixed = ({ width }) => width && !width.startsWith("minmax");

/** The column that says what a row is of. */
const nameOf = (columns) => {
    const texts = columns.filter((one) => !one.number);
    return texts.find((one) => !isFixed(one)) ?? texts[0] ?? columns[0];
};

/** { columns in their order, name: the column on a line of its own or null, widths, least, height }. */
export function layOut(columns) {
    if (!LITTLE.matches) {
        const widths = columns.map((one) => one.width ?? (one.number ? "9rem" : "minmax(14rem, 1fr)"));
        return { columns, name: null, widths: widths.join(" "), least: "", height: LINE };
    }
    const name = nameOf(columns),
        others = columns.filter((one) => one !== name),
        rems = others.map((one) =>
            isFixed(one) ? parseFloat(one.width) : one.number ? FIGURE_REM : TEXT_REM,
        );
    return {
        columns: [name, ...others],
        name,
        widths: rems.map((rem) => `${rem}rem`).join(" "),
        least: `${rems.reduce((sum, rem) => sum + rem, 0)}rem`,
        height: TWO_LINES,
    };
}

/** Calls back when there is little room where there was not, or enough again, as long as it returns true. */
export function whenLaidAnew(call) {
    const change = () => call() || LITTLE.removeEventListener("change", change);
    LITTLE.addEventListener("change", change);
}

// SPDX-License-Identifier: GPL-2.0-or-later
// A tree of calls in elements (ARIA tree): what the flame graph shows, for keyboards and screen readers, too.
import { el } from "./dom.js";
import { baseName, count } from "./format.js";
import { childrenOf } from "./stacks.js";

const FIRST = 50; // children that are shown at once
const RUN_MOST = 40; // levels that one click opens
const TRUNK = 0.9; // of a node, what its first child has

/** cells(node): what stands before its name; text(node): the same in words. */
export function calltree(tree, { label, where, cells, text, onChoose, onCopy }) {
    const root = el("ul", { role: "tree", "aria-label": "Tree of calls", tabIndex: -1 });

    function item(node, level) {
        const kids = childrenOf(tree, node),
            name = label(node);
        const mark = el("span", { class: "open", "aria-hidden": "true" }, kids.length ? "▸" : "");
        const line = el(
            "div",
            { class: "line", title: `${text(node)}${where(node) ? `\n${where(node)}` : ""}` },
            mark,
            el("span", {}, name, " "),
            el("span", { class: "where" }, baseName(where(node))),
            el("span", { class: "figures" }, cells(node)),
        );
        line.style.setProperty("--in", `${(level - 1) * 0.9}rem`);
        const made = el(
            "li",
            {
                role: "treeitem",
                "aria-level": level,
                "aria-expanded": kids.length ? "false" : null,
                tabIndex: -1,
                "aria-label": `${name}, ${text(node)}`,
            },
            line,
        );
        made.node = node;
        made.toggle = (open, run = 0) => {
            if (!kids.length) return;
            if (!made.group) made.append((made.group = group(node, level + 1)));
            made.setAttribute("aria-expanded", String(open));
            made.group.hidden = !open;
            mark.textContent = open ? "▾" : "▸";
            // Runs that don't branch are opened at once.
            if (open && kids.length === 1 && tree.self[node] === 0 && run < RUN_MOST)
                made.group.firstElementChild.toggle(true, run + 1);
        };
        line.addEventListener("click", () => {
            focus(made);
            made.toggle(made.getAttribute("aria-expanded") !== "true");
        });
        line.addEventListener("dblclick", () => onChoose?.(node));
        return made;
    }

    function group(node, level, from = 0, into = el("ul", { role: "group" })) {
        const kids = childrenOf(tree, node);
        for (const child of kids.subarray(from, from + FIRST)) into.append(item(child, level));
        if (kids.length > from + FIRST) {
            const more = el(
                "li",
                { role: "treeitem", "aria-level": level, tabIndex: -1 },
                el("div", { class: "line note" }, `${count(kids.length - from - FIRST)} more…`),
            );
            more.toggle = () => {
                more.remove();
                group(node, level, from + FIRST, into);
            };
            more.addEventListener("click", more.toggle);
            into.append(more);
        }
        return into;
    }

    function focus(made) {
        root.querySelector('[role="treeitem"][tabindex="0"]')?.setAttribute("tabindex", "-1");
        made.setAttribute("tabindex", "0");
        made.focus();
    }

    /** What nearly all goes through is open, up to where it branches. */
    function openTrunk(at) {
        for (let level = 0; at?.node && level < RUN_MOST; level++) {
            at.toggle(true, RUN_MOST);
            const next = at.group?.firstElementChild;
            if (!next?.node || tree.total[next.node] < TRUNK * tree.total[at.node]) return;
            at = next;
        }
    }

    root.addEventListener("keydown", (event) => {
        const at = event.target.closest('[role="treeitem"]'),
            open = at?.getAttribute("aria-expanded");
        if (!at) return;
        const items = () =>
            [...root.querySelectorAll('[role="treeitem"]')].filter(
                (one) => !one.parentElement.closest("[hidden]"),
            );
        const step = (by) => {
            const all = items(),
                next = all[all.indexOf(at) + by];
            if (next) focus(next);
        };
        const keys = {
            ArrowDown: () => step(1),
            ArrowUp: () => step(-1),
            Home: () => focus(items()[0]),
            End: () => focus(items().at(-1)),
            ArrowRight: () => (open === "false" ? at.toggle(true) : step(1)),
            ArrowLeft: () =>
                open === "true"
                    ? at.toggle(false)
                    : at.parentElement.closest('[role="treeitem"]') &&
                      focus(at.parentElement.closest('[role="treeitem"]')),
            Enter: () => at.toggle(open !== "true"),
            " ": () => at.toggle(open !== "true"),
            c: () => at.node && !event.ctrlKey && !event.metaKey && onCopy?.(at.node),
        };
        if (!keys[event.key]) return;
        event.preventDefault();
        event.stopPropagation();
        keys[event.key]();
    });
    group(0, 1, 0, root);
    root.firstElementChild?.setAttribute("tabindex", "0");
    openTrunk(root.firstElementChild);
    return root;
}

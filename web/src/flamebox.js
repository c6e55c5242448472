// SPDX-License-Identifier: GPL-2.0-or-later
// A flame graph with its tooltip and keys.
import { announce, copy, el } from "./dom.js";
import { Flame } from "./flame.js";
import { METRICS } from "./format.js";

export const pathText = (stacks, tree, node) => {
    const lines = [];
    for (let at = node; at; at = tree.parent[at]) lines.push(stacks.functions[tree.functions[at]].whole);
    return lines.join("\n") + "\n";
};

/** title: of the picture; elsewhere: where a tree of the same is; Picture: Flame, or what has its interface; onChoose(node), onRemove(node): null if nothing can be removed. */
export function flameBox({
    stacks,
    tree,
    metric,
    tell,
    name: nameOf,
    label,
    where,
    paint,
    inverted,
    title,
    elsewhere = "below",
    Picture = Flame,
    onChoose,
    onRemove,
}) {
    const canvas = el("canvas", {
        tabIndex: 0,
        role: "img",
        "aria-label": `${title}: ${METRICS[metric].join(", ")}. A tree ${elsewhere} has the same.`,
    });
    const tip = el("div", { class: "tip", hidden: true });
    const about = (node) => {
        const { name, whole: full } = stacks.functions[tree.functions[node]] ?? { name: "all" };
        return [
            el("strong", {}, name),
            full && full !== name ? el("div", { class: "where" }, full) : "",
            tell.details(node, inverted),
            node && paint.says ? el("div", {}, paint.says(node)) : "",
            el("div", { class: "where" }, where(node)),
        ];
    };
    const point = (node, x, y) => {
        tip.hidden = node < 0;
        if (node < 0) return;
        tip.replaceChildren(...about(node).flat().filter(Boolean));
        tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - tip.offsetWidth - 8))}px`;
        tip.style.top = `${y + 18 + tip.offsetHeight > innerHeight ? Math.max(4, y - tip.offsetHeight - 8) : y + 18}px`;
    };
    const flame = new Picture(canvas, {
        label,
        fill: paint.fill,
        onHover: (node, event) => point(node, event?.clientX, event?.clientY),
        onChoose,
        onRemove,
    });
    /** Shows the box that keys have come to, and says it. */
    flame.tell = (more = "") => {
        const node = flame.at,
            { left, top, height } = flame.seen(node);
        if (top < 60 || top + height > innerHeight) scrollBy(0, top - innerHeight / 2);
        point(node, left, flame.seen(node).top);
        announce(`${nameOf(node)}, ${tell.text(node)}${more}`);
    };
    canvas.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.key.startsWith("Arrow")) {
            flame.move(event.key);
            flame.tell();
        } else if (event.key === "Enter") onChoose(flame.at);
        else if (event.key === "Delete" && onRemove && flame.at) onRemove(flame.at);
        else if (event.key === "c" && flame.at) copy(pathText(stacks, tree, flame.at), "Stack");
        else return;
        event.preventDefault();
    });
    canvas.addEventListener("focus", () => flame.draw());
    canvas.addEventListener("blur", () => {
        tip.hidden = true;
        flame.draw();
    });
    return { flame, canvas, elements: [el("div", { class: "canvas" }, canvas), tip] };
}

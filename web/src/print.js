// SPDX-License-Identifier: GPL-2.0-or-later
// On paper: light, all rows of a table (up to some), no controls.
import { el } from "./dom.js";

/** Whether a page is being printed: tables draw all their rows then, canvases the light theme. */
export let printing = false;
/** The width of a sheet. */
export const PAPER = 680;
let before = "light";

function turn(on) {
    const root = document.documentElement;
    if (on === printing) return;
    printing = on;
    if (on) before = root.dataset.theme;
    root.dataset.theme = on ? "light" : before;
    dispatchEvent(new Event("themechange"));
    dispatchEvent(new Event("printchange"));
}
addEventListener("beforeprint", () => turn(true));
addEventListener("afterprint", () => turn(false));

/** What a canvas shows, as elements that are made when they are asked for. */
export function besides(text, make) {
    const box = el("details", { class: "besides" }, el("summary", {}, text));
    box.addEventListener("toggle", () => box.open && box.children.length === 1 && box.append(make()));
    return box;
}

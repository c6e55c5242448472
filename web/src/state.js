// SPDX-License-Identifier: GPL-2.0-or-later
// What is shown is in the URL fragment: back, forward and a pasted link lead to it again.

const listeners = [];
let current = read();

function read() {
    return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

export const get = (name, otherwise = "") => current[name] ?? otherwise;

/** Sets some; undefined and "" remove one. `replace`: without a step in the history, and who sets it shows it. */
export function set(changes, replace = false) {
    const next = { ...current, ...changes };
    for (const [key, value] of Object.entries(next))
        if (value === undefined || value === "" || value === null) delete next[key];
    const hash = "#" + new URLSearchParams(next);
    if (hash === location.hash || (hash === "#" && !location.hash)) return;
    current = next;
    history[replace ? "replaceState" : "pushState"](
        null,
        "",
        hash === "#" ? location.pathname + location.search : hash,
    );
    if (!replace) for (const listener of listeners) listener();
}

export const href = (changes) => "#" + new URLSearchParams({ ...current, ...changes });

export function onChange(listener) {
    listeners.push(listener);
}

addEventListener("popstate", () => {
    current = read();
    for (const listener of listeners) listener();
});

// SPDX-License-Identifier: GPL-2.0-or-later
// Elements, without HTML in strings: what programs call their functions never becomes markup.

/** el("td", { class: "number", onclick: f }, "text", otherElement) */
export function el(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
        if (value === null || value === undefined || value === false) continue;
        if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
        else if (key === "value" || key === "checked" || key === "tabIndex") made[key] = value;
        else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(
        ...children
            .flat(Infinity)
            .filter((child) => child !== null && child !== undefined && child !== false),
    );
    return made;
}

export function button(text, onclick, attributes = {}) {
    return el("button", { type: "button", onclick, ...attributes }, text);
}

/** A labelled choice: options are [value, text] pairs. */
export function choice(label, options, value, onchange) {
    const select = el(
        "select",
        { onchange: () => onchange(select.value) },
        options.map(([key, text]) => el("option", { value: key, selected: key === value }, text)),
    );
    return el("label", {}, label, select);
}

/** Says it to a screen reader. */
export function announce(text) {
    let place = document.getElementById("said");
    if (!place)
        document.body.append(
            (place = el("div", { id: "said", class: "said", role: "status", "aria-live": "polite" })),
        );
    place.textContent = text;
}

let toast = null;
export async function copy(text, what) {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        // Not allowed from file:// in some browsers: by a selection then.
        const area = el("textarea", { class: "said" });
        area.value = text;
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
    }
    announce(`${what} copied`);
    toast?.remove();
    toast = el("div", { class: "tip" }, `${what} copied`);
    toast.style.right = toast.style.bottom = "1rem";
    document.body.append(toast);
    setTimeout(() => toast?.remove(), 1500);
}

/** Offers a file. */
export function download(name, type, content) {
    const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    const link = el("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
}

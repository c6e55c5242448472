// SPDX-License-Identifier: GPL-2.0-or-later
// Figures as the command line writes them: binary units, three digits.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytes(value) {
    let unit = 0,
        amount = Math.abs(value);
    while (amount >= 1024 && unit < UNITS.length - 1) [amount, unit] = [amount / 1024, unit + 1];
    const text = unit ? digits(amount) : String(Math.round(amount));
    return `${value < 0 ? "-" : ""}${text} ${UNITS[unit]}`;
}

function digits(amount) {
    return amount >= 100 ? amount.toFixed(0) : amount >= 10 ? amount.toFixed(1) : amount.toFixed(2);
}

// Not toLocaleString(): the first call of it takes longer than a flame graph.
export const count = (value) => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");

export function duration(ns) {
    if (ns < 1e3) return `${ns} ns`;
    if (ns < 1e6) return `${digits(ns / 1e3)} µs`;
    if (ns < 1e9) return `${digits(ns / 1e6)} ms`;
    if (ns < 120e9) return `${digits(ns / 1e9)} s`;
    const minutes = Math.floor(ns / 60e9);
    return minutes < 120
        ? `${minutes} min ${Math.round(ns / 1e9) % 60} s`
        : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function percent(part, whole) {
    if (!whole) return "";
    const share = (100 * part) / whole;
    // Nearly nothing is not nothing, nearly all is not all.
    if (share > 0 && share < 0.005) return "<0.01%";
    if (share >= 99.5 && part < whole) return ">99%";
    return `${share >= 10 || share === 0 ? share.toFixed(0) : share >= 1 ? share.toFixed(1) : share.toFixed(2)}%`;
}

export const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;

export const METRICS = {
    peak_bytes: ["Live at the peak", "bytes"],
    peak_blocks: ["Live at the peak", "blocks"],
    live_bytes: ["Live at the end", "bytes"],
    live_blocks: ["Live at the end", "blocks"],
    kept_bytes: ["Allocated in the range and live at its end", "bytes"],
    kept_blocks: ["Allocated in the range and live at its end", "blocks"],
    lost_bytes: ["Lost", "bytes"],
    lost_blocks: ["Lost", "blocks"],
    allocated_bytes: ["Allocated", "bytes"],
    allocations: ["Allocated", "blocks"],
    temporary: ["Temporary", "blocks"],
    failed: ["Failed", "calls"],
    range_live_bytes: ["Live at the end of the range", "bytes"],
    range_live_blocks: ["Live at the end of the range", "blocks"],
    range_grown_bytes: ["Grown in the range, net", "bytes"],
    range_grown_blocks: ["Grown in the range, net", "blocks"],
    range_shrunk_bytes: ["Shrunk in the range, net", "bytes"],
    range_shrunk_blocks: ["Shrunk in the range, net", "blocks"],
    range_peak_bytes: ["Peak of the range", "bytes"],
    range_peak_blocks: ["Peak of the range", "blocks"],
    owned_bytes: ["Retained", "bytes"],
    owned_blocks: ["Retained", "blocks"],
};
/** What live blocks are called: what was looked at once has no end. `heap`: it is of a core or a process. */
export function nameLive(heap, snapshot) {
    const name = heap ? "In use" : snapshot ? "Live at this moment" : "Live at the end";
    METRICS.live_bytes[0] = METRICS.live_blocks[0] = name;
}
export const amount = (metric, value) => (METRICS[metric][1] === "bytes" ? bytes(value) : count(value));
export const exact = (metric, value) => `${count(value)} ${METRICS[metric][1]}`;

export const baseName = (path) => (path ? path.slice(path.lastIndexOf("/") + 1) : "");

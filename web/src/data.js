// SPDX-License-Identifier: GPL-2.0-or-later
// What is in the page: docs/schema/page-1.md describes it.
import { inflate } from "./packed.js";

const TYPES = { u8: Uint8Array, u32: Uint32Array, f64: Float64Array };

export function parse(buffer) {
    const view = new DataView(buffer);
    if (buffer.byteLength < 12 || view.getUint32(0, false) !== 0x48575047)
        throw new Error("the data is not a heapwise page");
    if (view.getUint32(4, true) !== 1)
        throw new Error(`the data is of version ${view.getUint32(4, true)}, this page shows version 1`);
    const bytes = view.getUint32(8, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 12, bytes)));
    const start = Math.ceil((12 + bytes) / 8) * 8,
        columns = {};
    for (const [name, { type, offset, count }] of Object.entries(header.columns))
        columns[name] = new TYPES[type](buffer, start + offset, count);
    // Names that are hidden choose nothing.
    const asked = header.asked?.filter((one) => one !== "--anonymize") ?? [];
    return { ...header, asked, anonymous: asked.length < (header.asked?.length ?? 0), columns };
}

export async function load() {
    const place = document.getElementById("heapwise-data");
    if (!place) throw new Error("this page has no data: it is the form that heapwise fills");
    performance.mark("heapwise: script");
    const container = await inflate(place.textContent);
    performance.mark("heapwise: unpacked");
    const data = parse(container);
    performance.mark("heapwise: read");
    place.remove();
    return data;
}

// SPDX-License-Identifier: GPL-2.0-or-later
// What is in the page: docs/schema/page-1.md describes it.

const TYPES = { u8: Uint8Array, u32: Uint32Array, f64: Float64Array };

function bytesOf(base64) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64); // browsers of 2025
    const text = atob(base64.trim()),
        ret = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) ret[i] = text.charCodeAt(i);
    return ret;
}

async function inflate(base64) {
    const packed = bytesOf(base64);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
}

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
    const data = parse(await inflate(place.textContent));
    place.remove();
    return data;
}

// SPDX-License-Identifier: GPL-2.0-or-later
// What is packed in the page: base64 of gzip files.

function bytesOf(base64) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64); // browsers of 2025
    const text = atob(base64.trim()),
        ret = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) ret[i] = text.charCodeAt(i);
    return ret;
}

const GZIP_LEAST = 18; // bytes of its head and its end

/** What a gzip file of base64 holds. Its last four bytes say how much that is, so it is copied once. */
export async function inflate(base64) {
    const packed = bytesOf(base64);
    if (packed.length < GZIP_LEAST) throw new Error("its data is not all there");
    const ret = new Uint8Array(new DataView(packed.buffer).getUint32(packed.length - 4, true)),
        { readable, writable } = new DecompressionStream("gzip"),
        writer = writable.getWriter(),
        written = Promise.all([writer.write(packed), writer.close()]),
        reader = readable.getReader();
    written.catch(() => {}); // reading fails as well, and says it
    for (let at = 0, piece; (piece = (await reader.read()).value); at += piece.length) {
        if (piece.length > ret.length - at)
            throw new Error("its data is damaged: there is more than it says");
        ret.set(piece, at);
    }
    return ret.buffer;
}

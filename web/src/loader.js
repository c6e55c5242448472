// SPDX-License-Identifier: GPL-2.0-or-later
// Unpacks the script of the page, which the page's policy names by its hash, and runs it.
(async () => {
    try {
        const place = document.getElementById("heapwise-script"),
            text = atob(place.textContent),
            packed = new Uint8Array(text.length);
        for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
        const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")),
            script = document.createElement("script");
        script.textContent = await new Response(stream).text();
        place.replaceWith(script);
    } catch (error) {
        document.getElementById("page").textContent =
            `This page can't be shown: ${error.message}. It needs a browser of 2023 or newer.`;
        document.documentElement.dataset.ready = "failed";
    }
})();

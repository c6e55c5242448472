// SPDX-License-Identifier: GPL-2.0-or-later
// Unpacks the script of the page, which the page's policy names by its hash, and runs it.
import { inflate } from "./packed.js";

(async () => {
    try {
        const place = document.getElementById("heapwise-script"),
            script = document.createElement("script");
        script.textContent = new TextDecoder().decode(await inflate(place.textContent));
        place.replaceWith(script);
    } catch (error) {
        document.getElementById("page").textContent =
            `This page can't be shown: ${error.message}. It needs a browser of 2023 or newer.`;
        document.documentElement.dataset.ready = "failed";
    }
})();

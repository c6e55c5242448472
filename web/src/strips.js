// SPDX-License-Identifier: GPL-2.0-or-later
// Boxes of one height as pixels: a line of pixels for each level, drawn as high as its boxes are. Thousands of
// boxes that are a pixel or two wide cost no more than a few large ones this way.

/** A colour of CSS as a pixel; a context tells what it is. */
function pixelOf(context, colour) {
    context.fillStyle = colour;
    const rgb = parseInt(context.fillStyle.slice(1), 16);
    return (0xff000000 | ((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >> 16)) >>> 0;
}

export class Strips {
    constructor() {
        this.canvas = document.createElement("canvas");
        this.context = this.canvas.getContext("2d", { willReadFrequently: true });
        this.known = new Map();
    }

    /** Makes so many empty lines. */
    begin(width, lines) {
        if (this.image?.width === width && this.image.height === lines) return this.pixels.fill(0);
        [this.canvas.width, this.canvas.height] = [width, lines];
        this.image = this.context.createImageData(width, lines);
        this.pixels = new Uint32Array(this.image.data.buffer);
    }

    fill(line, from, to, colour) {
        let pixel = this.known.get(colour);
        if (pixel === undefined) this.known.set(colour, (pixel = pixelOf(this.context, colour)));
        const start = line * this.image.width;
        this.pixels.fill(pixel, start + from, start + to);
    }

    end() {
        this.context.putImageData(this.image, 0, 0);
    }

    /** Draws a line, so high, at y of a context whose units are pixels. */
    draw(context, line, y, height) {
        const { width } = this.image;
        context.drawImage(this.canvas, 0, line, width, 1, 0, y, width, height);
    }
}

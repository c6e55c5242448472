// SPDX-License-Identifier: GPL-2.0-or-later
// node dh_view.js DH_VIEW FILE: what the script of Valgrind's dh_view.html shows of FILE, as text. No browser: a page
// has here what the script wants of it, as far as it shows a tree.
const fs = require("fs"), vm = require("vm");
class Element {
  constructor() { this.childNodes = []; this.text = ""; this.classList = { add() {}, toggle() {}, contains() { return false; } }; }
  appendChild(child) { child.parentNode = this; this.childNodes.push(child); return child; }
  cloneNode() { return new Element(); }
  replaceChild(child, old) { child.parentNode = this; this.childNodes[this.childNodes.indexOf(old)] = child; }
  set textContent(text) { this.text = text; this.childNodes = []; }
  get textContent() { return this.text + this.childNodes.map((child) => child.textContent).join(""); }
  addEventListener() {}
}
const body = new Element();
const document = { body, location: { search: "" }, createElement: () => new Element(), createTextNode: (text) => Object.assign(new Element(), { text }) };
const context = vm.createContext({ document, console, performance, URLSearchParams, Intl, window: {} });
vm.runInContext(fs.readFileSync(process.argv[2], "utf8"), context);
context.input = fs.readFileSync(process.argv[3], "utf8");
vm.runInContext("onLoad(); gSelect.selectedIndex = 1; gData = JSON.parse(input); buildTree(); displayTree(0, 0, 0);", context);
console.log(body.textContent);

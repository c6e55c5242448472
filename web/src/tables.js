// SPDX-License-Identifier: GPL-2.0-or-later
// Functions, files, modules, threads, sizes: as tables.
import { choice, el } from "./dom.js";
import { amount, baseName, bytes, count, duration, exact, METRICS, percent } from "./format.js";
import { bars } from "./parts.js";
import * as state from "./state.js";
import { table } from "./table.js";

const OF_SPOTS = { functions: "Functions", files: "Files", modules: "Modules" };

export function tables(data, stacks) {
  const known = Object.keys(OF_SPOTS).filter((name) => data.documents[name]), views = [...known.map((name) => [name, OF_SPOTS[name]]), ...(data.documents.threads ? [["threads", "Threads"]] : [])];
  const chosen = views.some(([name]) => name === state.get("table")) ? state.get("table") : views[0]?.[0];
  if (!chosen) return [el("p", { class: "empty" }, "This file has no tables.")];
  const metric = stacks.metric(state.get("metric"));
  const pick = el("div", { class: "bar" }, choice("Table", views, chosen, (value) => state.set({ table: value })),
    chosen === "threads" ? null : choice("Figures", stacks.metrics.map((name) => [name, METRICS[name].join(", ")]), metric, (value) => state.set({ metric: value })));
  const cut = data.cut?.documents?.[chosen];
  return [pick, cut ? el("p", { class: "note" }, `${count(cut)} more rows are not in the page: heapwise report --view ${chosen} has all.`) : null,
    chosen === "threads" ? threads(data.documents.threads.threads) : spots(chosen, data.documents[chosen], metric)];
}

function spots(name, answer, metric) {
  const total = Math.max(1, ...answer.spots.map((spot) => spot.cum[metric] ?? 0));
  const figure = (which, title, says) => ({ key: which, title, says, number: true, value: (spot) => spot[which][metric] ?? 0,
    text: (spot) => `${amount(metric, spot[which][metric] ?? 0)}`, exact: (spot) => exact(metric, spot[which][metric] ?? 0) });
  return table({ name, label: OF_SPOTS[name], sorted: "flat down", rows: answer.spots, columns: [
    figure("flat", "Self", "what it allocated itself"), figure("cum", "With callees", "what it and what it called allocated"),
    { key: "share", title: "Share", number: true, width: "5rem", value: (spot) => spot.cum[metric] ?? 0, text: (spot) => percent(spot.cum[metric] ?? 0, total) },
    { key: "name", title: name === "functions" ? "Function" : name === "files" ? "File" : "Module", text: (spot) => spot.short ?? spot.name, exact: (spot) => spot.name },
    ...(name === "functions" ? [{ key: "where", title: "File", width: "minmax(8rem, .5fr)", text: (spot) => (spot.file ? baseName(spot.file) : baseName(spot.module)), exact: (spot) => spot.file ?? spot.module ?? "" }] : [])] });
}

function threads(rows) {
  const number = (key, title, form = count) => ({ key, title, number: true, value: (row) => row[key] ?? 0, text: (row) => form(row[key] ?? 0), exact: (row) => count(row[key] ?? 0) });
  return table({ name: "threads", label: "Threads", sorted: "allocated_bytes down", rows, columns: [number("allocated_bytes", "Allocated", bytes), number("allocations", "Calls"), number("frees", "Frees"), number("temporary", "Temporary"),
    number("first_ns", "First", duration), number("last_ns", "Last", duration), { key: "name", title: "Thread", text: (row) => `${row.name || "(no name)"} ${row.tid ?? ""}` }] });
}

export function distributions(data) {
  const { sizes, lifetimes } = data.documents, parts = [];
  if (sizes?.size_classes) parts.push(el("h2", {}, "Sizes of all allocations"), bars(sizes.size_classes.map((one) => ({ label: one.up_to === null ? "larger" : `up to ${bytes(one.up_to)}`, value: one.allocations, text: `${count(one.allocations)} calls, ${bytes(one.bytes)}` })), "Sizes"));
  const byTime = lifetimes?.lifetimes?.by_time;
  if (byTime) {
    const first = byTime.findIndex((one) => one.freed_blocks || one.live_blocks), last = byTime.findLastIndex((one) => one.freed_blocks || one.live_blocks);
    parts.push(el("h2", {}, "How long blocks lived"), bars(byTime.slice(Math.max(0, first), last + 1).map((one) => ({ label: one.up_to_ns === null ? "longer" : `up to ${duration(one.up_to_ns)}`,
      value: one.freed_blocks + one.live_blocks, text: `${count(one.freed_blocks)} freed${one.live_blocks ? `, ${count(one.live_blocks)} live` : ""}` })), "Lifetimes"));
  }
  for (const name of ["sizes", "lifetimes"]) if (!data.documents[name] && data.cut?.missing?.[name]) parts.push(el("p", { class: "empty" }, data.cut.missing[name]));
  return parts.length ? parts : [el("p", { class: "empty" }, "This file has neither sizes nor lifetimes.")];
}

# SPDX-License-Identifier: GPL-2.0-or-later
"""What is in a page of heapwise html, without a browser."""

import base64
import gzip
import json
import re
import struct

import hw

DATA = re.compile(r'<script type="text/plain" id="heapwise-data">([^<]*)</script>')
TYPES = {"u8": "B", "u32": "I", "f64": "d"}
# What the totals of a report call them.
METRICS = {"allocations": "allocations", "allocated_bytes": "allocated_bytes", "failed": "failed",
           "live_bytes": "live_bytes_at_end", "live_blocks": "live_blocks_at_end", "kept_bytes": "kept_bytes",
           "kept_blocks": "kept_blocks", "peak_bytes": "peak_bytes", "peak_blocks": "peak_blocks",
           "temporary": "temporary"}


class Page:
    """A page, unpacked as docs/schema/page-1.md says."""

    def __init__(self, html):
        found = DATA.findall(html)
        hw.need(len(found) == 1, f"the data is in the page {len(found)} times")
        self.html = html
        data = gzip.decompress(base64.b64decode(found[0], validate=True))
        magic, version, length = struct.unpack_from("<4sII", data)
        hw.need(magic == b"HWPG" and version == 1, f"{magic} {version}")
        self.header = json.loads(data[12:12 + length])
        begin = (12 + length + 7) // 8 * 8
        hw.need(not any(data[12 + length:begin]), "the header's padding isn't zero")
        self.columns, places, end = {}, set(), begin
        for name, column in self.header["columns"].items():
            place, form = begin + column["offset"], f"<{column['count']}{TYPES[column['type']]}"
            # Columns with the same numbers are at the same place.
            hw.need(place % 8 == begin % 8 and (place >= end or (place, form) in places), f"{name} overlaps: {column}")
            self.columns[name] = struct.unpack_from(form, data, place)
            places.add((place, form))
            end = max(end, place + struct.calcsize(form))
        hw.need(len(data) == (end + 7) // 8 * 8, f"{len(data)} bytes, columns end at {end}")

    @property
    def documents(self):
        return self.header["documents"]

    def words(self, column):
        return [self.header["strings"][number] for number in self.columns[column]]

    def sums(self, of="row"):
        """By metric, of what is shown; of "base": of what that is compared with."""
        return {name: sum(self.columns[f"{of}.{name}"]) for name in METRICS if f"{of}.{name}" in self.columns}

    def stacks(self, names="frame.whole"):
        """Of each row the functions, outermost first."""
        functions = self.words(names if names in self.columns else "frame.function")
        parents, frames = self.columns["node.parent"], self.columns["node.frame"]
        paths = [()]
        for node in range(1, len(parents)):
            hw.need(parents[node] < node, f"node {node} comes before its parent {parents[node]}")
            paths.append((*paths[parents[node]], functions[frames[node]]))
        if names == "frame.whole":
            self.check_order(list(zip(functions, self.columns["frame.module"])))
        return [paths[node] for node in self.columns["row.node"]]

    def check_order(self, functions):
        """Nodes are in the order of the tree of functions: level by level, those that are one in it side by side."""
        parents, frames = self.columns["node.parent"], self.columns["node.frame"]
        at, last, known = [0], (0, None), set()
        for node in range(1, len(parents)):
            here = (at[parents[node]], functions[frames[node]])
            hw.need(here[0] >= last[0], f"node {node} is a child of {here[0]}, after one of {last[0]}")
            hw.need(here == last or here not in known, f"node {node} is not beside those that are one with it: {here}")
            known.add(here)
            at.append(at[-1] + (here != last))
            last = here

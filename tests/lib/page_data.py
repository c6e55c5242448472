# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages of heapwise, unpacked as docs/schema/page-1.md says."""

import base64
import gzip
import json
import re
import struct

import hw

DATA = re.compile(r'<script type="text/plain" id="heapwise-data">([^<]*)</script>')
TYPES = {"u8": "B", "u32": "I", "f64": "d"}
METRICS = {"allocations": "allocations", "allocated_bytes": "allocated_bytes", "failed": "failed",
           "live_bytes": "live_bytes_at_end", "live_blocks": "live_blocks_at_end", "kept_bytes": "kept_bytes",
           "kept_blocks": "kept_blocks", "peak_bytes": "peak_bytes", "peak_blocks": "peak_blocks",
           "temporary": "temporary"}


class Page:
    """The data of a page."""

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
        self.columns, end = {}, begin
        for name, column in self.header["columns"].items():
            hw.need(column["offset"] % 8 == 0 and begin + column["offset"] >= end, f"{name} overlaps: {column}")
            form = f"<{column['count']}{TYPES[column['type']]}"
            self.columns[name] = struct.unpack_from(form, data, begin + column["offset"])
            end = begin + column["offset"] + struct.calcsize(form)
        hw.need(len(data) == (end + 7) // 8 * 8, f"{len(data)} bytes, columns end at {end}")

    @property
    def documents(self):
        return self.header["documents"]

    def words(self, column):
        return [self.header["strings"][number] for number in self.columns[column]]

    def sums(self):
        return {name[4:]: sum(values) for name, values in self.columns.items() if name[4:] in METRICS}

    def stacks(self, names="frame.whole"):
        """Of each row the functions, outermost first."""
        functions = self.words(names if names in self.columns else "frame.function")
        parents, frames = self.columns["node.parent"], self.columns["node.frame"]
        paths = [()]
        for node in range(1, len(parents)):
            hw.need(parents[node] < node, f"node {node} comes before its parent {parents[node]}")
            paths.append((*paths[parents[node]], functions[frames[node]]))
        return [paths[node] for node in self.columns["row.node"]]

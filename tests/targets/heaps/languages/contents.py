# SPDX-License-Identifier: GPL-2.0-or-later
# -*- coding: utf-8 -*-
"""Objects that say of themselves what they hold: contents.py ACCOUNT-FILE wait"""

import json
import os
import sys
import time
import unicodedata
from collections import OrderedDict


class Name(str):
    pass


class Grown(dict):
    def __repr__(self):
        return "Grown(%s)" % dict.__repr__(self)


itself = [1]
itself.append(itself)
mutual = {}
mutual["me"] = mutual
emptied = dict.fromkeys(range(40))
for key in range(30):
    del emptied[key]
small = {1, 2, 3}
small.discard(2)
# The table begins with what was removed.
removed = set(range(100))
removed.difference_update(range(0, 100, 3))


class Plain(object):
    def __init__(self):
        self.first = 1
        self.second = "two"


plain = Plain()


def attributes(*names):
    """Of objects that share their keys: of those the first was told all, in another order."""
    one = Shared()
    for name in names:
        if name[0] == "-":
            delattr(one, name[1:])
        else:
            setattr(one, name, "value of " + name)
    return one.__dict__


class Shared(object):
    pass


shared = [attributes("a", "b", "c"), attributes("c", "b", "a"), attributes("b"), attributes("a", "b", "c", "-b"),
          attributes("a", "b", "c", "-b", "b"), attributes("c", "-c", "a")]
# Where what is printable begins and ends, in the Unicode that heapwise goes by: that of 3.11.
edges = []
if unicodedata.unidata_version == "14.0.0":
    edges = [c for c in range(1, 0x110000) if chr(c).isprintable() != chr(c - 1).isprintable()]
texts = [u"".join(chr(c - 1) + chr(c) for c in edges[i:i + 450]) for i in range(0, len(edges), 450)]
kept = [
    u"\u200b\u202e\u2066\u3000\U000e0001\ud800 \u0301\xa0", OrderedDict(), OrderedDict([(u"a", 1), (2, [u"b"])]), {1: OrderedDict([(3, 4)])},
    u"plain ascii", u"it's", u'both \' and "', u"Grüße", u"λόγος", u"\U0001f600 wide", u"\t\n\\\x01\x7f\xad", u"",
    b"bytes \x00\xff'", b"", Name("derived"),
    0, 1, -1, 2**30 - 1, 2**30, -2**60, 2**200, -(10**300), True, False, None,
    0.0, -0.0, 1.0, 0.1, 1e16, 123456789.125, 1e-5, 5e-324, -1.7976931348623157e308, float("inf"), 1 / 3.0, 1e22, 100.0, 12345678901234567.0,
    1j, 1 + 2j, -1.5 - 0.5j, complex(1, float("nan")), complex(float("inf"), -float("nan")),
    [], [1, "two", 3.0], (), (1,), (1, (2, (3, None))), {}, {"a": 1, 2: [3]}, {"only": u"text", "keys": u"here"}, set(), {7}, frozenset([5, "x"]),
    small, removed, emptied, Grown(x=1), itself, mutual, int, {"deep": [{"er": [1]}]}, list(range(90)), dict.fromkeys(range(99)),
    plain.__dict__, {i: str(i) for i in range(80)}, {u"ключ": 1},
] + texts + shared
# Nobody is to be folded into another, nor to stand where constants do.
with open(sys.argv[1], "wb") as account:
    for each in kept:
        account.write(json.dumps([id(each) ^ (2**64 - 1), type(each).__name__, repr(each)]).encode("ascii") + b"\n")
os.write(1, b"ready\n")
while True:
    time.sleep(1000)

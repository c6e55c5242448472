# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects that a core may have a part of alone: left_out.py ACCOUNT-FILE wait"""

import ctypes
import json
import os
import sys
import time

text = "text " * 1000
items = list(range(5000))
first = ctypes.c_uint64.from_address(id(items) + 24).value
ALL = 2**64 - 1
with open(sys.argv[1], "w", encoding="ascii") as account:
    # Texts are read by 512 characters.
    begin = id(text) + sys.getsizeof("")
    print(json.dumps([id(text) ^ ALL, begin - 1 + 600 ^ ALL, repr(text[:512]) + "…"]), file=account)
    print(json.dumps([id(items) ^ ALL, first + 8 * 50 ^ ALL, repr(items[:50])[:-1] + ", …]"]), file=account)
os.write(1, b"ready\n")
while True:
    time.sleep(1000)

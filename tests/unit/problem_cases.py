#!/usr/bin/python3
"""Writes problem files with h5py, one for each way of storing them and for each fault, and cases.txt beside them.

SPDX-License-Identifier: BSD-3-Clause

Each line of cases.txt is NAME, KIND and TEXT, tab-separated. KIND: same (valid, the very values of base.h5), differs
(valid, other values), open or validate (refused there; the message has TEXT), bad (valid; one dataset's fault has
TEXT).
"""
import os
import sys

sys.dont_write_bytecode = True

import h5py  # noqa: E402

import problem_faulty  # noqa: E402,F401
import problem_valid  # noqa: E402,F401
from problem_base import CASES, base  # noqa: E402


def main(folder):
    with h5py.File(os.path.join(folder, "base.h5"), "w") as f:
        base(f)
    with open(os.path.join(folder, "cases.txt"), "w", encoding="utf-8") as table:
        for name, kind, text, change in CASES:
            with h5py.File(os.path.join(folder, name + ".h5"), "w") as f:
                base(f)
                change(f)
            print(name, kind, text.replace("\n", "\\n"), sep="\t", file=table)


if __name__ == "__main__":
    main(sys.argv[1])

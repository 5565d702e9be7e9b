"""The progress of a run: a line that is redrawn on standard error, or in a notebook a bar below the cell.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import html
import re
import sys
from typing import Any, Callable, List


def is_notebook() -> bool:
    """Whether this runs in a kernel of Jupyter, which shows more than text."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module else None
    return hasattr(shell, "kernel")


class Progress:
    """Gets what the program writes to standard error, piece by piece."""

    def __init__(self) -> None:
        self._display: Any = None
        self._pending = ""  # a line that has no end yet
        self._shown = 0  # its characters that were written
        self._line = ""  # of progress, the latest
        self._said: List[str] = []  # other lines
        self._in_notebook = is_notebook()
        self._failed = False  # the error is raised, not shown

    def hear(self, text: str, translate: Callable[[str], str]) -> None:
        """Takes the next piece."""
        *whole, self._pending = (self._pending + text).split("\n")
        for line in whole:
            self._put(line, translate)
        redrawn = self._pending.rpartition("\r")[2]
        if "\r" in self._pending or re.match(r" *\d+ %", redrawn):
            self._redraw(redrawn)

    def _put(self, line: str, translate: Callable[[str], str]) -> None:
        last = line.rpartition("\r")[2].replace("\x1b[K", "")
        is_progress = re.match(r" *\d+ %", last) is not None
        self._failed = self._failed or last.startswith("stiffit: error: ")
        if self._failed:
            return
        if self._in_notebook:
            if is_progress:
                self._line = last
            else:
                self._said.append(translate(last))
            self._update()
        else:
            rest = line[self._shown:]
            sys.stderr.write((rest if is_progress or self._shown else translate(rest)) + "\n")
            sys.stderr.flush()
        self._shown = 0

    def _redraw(self, line: str) -> None:
        if self._in_notebook:
            self._line = line.replace("\x1b[K", "")
            self._update()
        else:
            sys.stderr.write(self._pending[self._shown:])
            sys.stderr.flush()
            self._shown = len(self._pending)

    def _update(self) -> None:
        """Shows all of it in one place, which the next call replaces."""
        percent = re.match(r" *(\d+) % *(.*)", self._line)
        bar = f'<progress value="{percent[1]}" max="100"></progress> {html.escape(percent[2])}' if percent else ""
        text = "\n".join(self._said)
        bundle = {"text/plain": "\n".join([self._line, text]).strip("\n"),
                  "text/html": f"<div>{bar}</div><pre>{html.escape(text)}</pre>"}
        if self._display is None:
            import IPython.display  # pylint: disable=import-outside-toplevel
            self._display = IPython.display.display(bundle, raw=True, display_id=True)
        else:
            self._display.update(bundle, raw=True)

    def end(self) -> None:
        """What had no end of line."""
        if self._pending and not self._in_notebook:
            sys.stderr.write(self._pending[self._shown:] + "\n")
        self._pending = ""

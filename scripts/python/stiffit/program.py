"""Calls of the program `stiffit`: keywords become options, and what it says of them speaks of keywords and tables.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import codecs
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from .cells import refuse_units
from .progress import Progress

Path = Union[str, "os.PathLike[str]"]


class StiffitError(RuntimeError):
    """The program refused something: its message, and its exit code as `code` (see stiffit(1))."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class StiffitWarning(UserWarning):
    """A note of the program, as that a column is not used."""


def find_program() -> Optional[str]:
    """The absolute path of $STIFFIT, or of stiffit on the PATH, whose relative entries are ignored."""
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    found = shutil.which(os.environ.get("STIFFIT", "stiffit"), path=os.pathsep.join(folders))
    return os.path.abspath(found) if found else None


def program() -> str:
    """The path that find_program finds. Raises StiffitError if there is none."""
    found = find_program()
    if not found:
        name = os.environ.get("STIFFIT", "stiffit")
        raise StiffitError(f"there is no program {name!r}: install stiffit, or set STIFFIT to its path", 4)
    return found


class Option(NamedTuple):
    """An option of a command, as its help describes it."""

    letter: str  # its short form, or ""
    value: str  # "" for a flag
    repeats: bool  # several values are several options; else a list with commas


@functools.lru_cache(maxsize=None)
def _help(path: str, command: str) -> Dict[str, Option]:
    done = subprocess.run([path, command, "--help"], capture_output=True, text=True, check=False)
    begins = re.compile(r"^ +(?:-(\w), +)?--([a-z0-9-]+)(?: (\S+))?(?:  .*)?$", re.M)
    found = list(begins.finditer(done.stdout))
    ends = [item.start() for item in found[1:]] + [len(done.stdout)]
    helps = [" ".join(done.stdout[item.start():end].split()) for item, end in zip(found, ends)]
    return {item[2]: Option(item[1] or "", item[3] or "", bool(re.search("be repeated|be given several", text)))
            for item, text in zip(found, helps)}


def options_of(command: str) -> Dict[str, Option]:
    """The options of a command by their names, without the dashes in front."""
    return _help(program(), command)


def _text(value: Any, option: str) -> str:
    refuse_units(value, option, option, "np.timedelta64(1, 'h')")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return repr(float(value)) if hasattr(value, "dtype") and value.dtype.kind == "f" else str(value)


def _items(value: Any, option: str, has_names: bool = True) -> Optional[List[str]]:
    """The items of a list, an array, {name: value} or a Series; None: it is a single value."""
    if hasattr(value, "items") and has_names:
        return [f"{name}={','.join(_items(item, option) or [_text(item, option)])}" for name, item in value.items()]
    if isinstance(value, (str, bytes, os.PathLike)) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        return None
    return [_text(item, option) for item in value]


def words_of(command: str, keywords: Mapping[str, Any]) -> List[str]:
    """Keywords as words of the command line: keep_starts=True is --keep-starts, profile=["k", "A"] is --profile=k,A, and
    start={"k": 1} is --start=k=1. None, and False for a flag, are left out. Files may be relative to the present folder."""
    known, words = options_of(command), []
    for name, value in keywords.items():
        option = name.replace("_", "-")
        described = known.get(option, Option("", "?", False))
        if value is None or (value is False and described.value in ("", "?")):
            continue
        if value is True and described.value in ("", "?"):
            words.append("--" + option)
            continue
        items = _items(value, name, isinstance(value, Mapping) or "=" in described.value)
        if described.value in ("FILE", "DIR", "MODEL", "RESULT") and value != "-":
            value = os.path.abspath(value)
        for text in [_text(value, name)] if items is None else items if described.repeats else [",".join(items)]:
            words.append(f"--{option}={text}")
    return words


class Names:
    """What the user calls the files that the program speaks of, and the rows of tables."""

    def __init__(self) -> None:
        self._files: List[Tuple[str, str, Optional[Callable[[int], str]]]] = []

    def add(self, file: Path, name: str, row_of_line: Optional[Callable[[int], str]] = None) -> None:
        """A table has a row_of_line: "row 3" of line 5, or "" of its header."""
        self._files.append((os.fspath(file), name, row_of_line))

    def translate(self, text: str, command: str) -> str:
        """Errors and notes of a command in the words of Python."""
        for file, name, row_of_line in self._files:
            def place(found: "re.Match[str]", name: str = name, rows: Any = row_of_line) -> str:
                row = rows(int(found[1])) if rows and found[1] else ""
                return name + (f", {row}" if row else f":{found[1]}" if found[1] and not rows else "")
            text = re.sub(rf"(?<![\w./-]){re.escape(file)}(?::(\d+))?(?![\w/])", place, text)
        text = "\n".join(line for line in text.splitlines() if not re.search(r"^\s*See `stiffit \w+ --help`\.$", line))
        text = re.sub(r" See `stiffit [\w ]+ --help`\.", "", text)
        letters = {option.letter: name for name, option in options_of(command).items() if option.letter}

        def long_form(found: "re.Match[str]") -> str:
            return "--" + letters.get(found[1], found[1])

        def keyword(found: "re.Match[str]") -> str:
            return _KEYWORDS.get(found[1], found[1]).replace("-", "_")
        text = re.sub(r"(?<=with )-(\w)\b", long_form, text)
        return re.sub(r"(?<![\w-])--([a-z][a-z0-9-]+)", keyword, text)


_KEYWORDS = {"datasets": "covariates"}  # where a keyword is called otherwise than the option


def call(command: str, words: Sequence[str], *, names: Optional[Names] = None, accept: Tuple[int, ...] = (0,),
         progress: Optional[Progress] = None, folder: Optional[Path] = None) -> str:
    """Standard output of a command. Its notes become warnings; with progress they are shown with it. An exit code that is
    not accepted raises StiffitError."""
    arguments = [program(), command, "--color=never", *words]
    called = names or Names()
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    said = ""
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder) as process:
        assert process.stderr
        try:
            # With progress standard output is one short object, which fits into the pipe until it is read.
            while progress and (piece := os.read(process.stderr.fileno(), 4096)):
                said += (text := decoder.decode(piece))
                progress.hear(text, lambda line: called.translate(line, command))
            out, rest = process.communicate()
        except BaseException:
            process.terminate()  # an interrupted run resumes with the same call
            raise
        finally:
            if progress:
                progress.end()
    rest_said = rest.decode("utf-8", "replace")
    if process.returncode not in accept:
        raise StiffitError(_reason(said + rest_said, called, command) or f"exit code {process.returncode}", process.returncode)
    for line in _lines(rest_said):
        if "stiffit: note: " in line:
            warnings.warn(called.translate(line.partition("note: ")[2], command), StiffitWarning, stacklevel=_callers())
    return out.decode()


def _callers() -> int:
    """The stacklevel of the line outside of this package, for a warning of the function that calls this one."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(str(__package__) + "."):
        frame, level = frame.f_back, level + 1
    return level


def _lines(said: str) -> List[str]:
    return [line for line in re.sub("\r|\x1b\\[K", "\n", said).splitlines() if line.strip()]


def _reason(said: str, names: Names, command: str) -> str:
    """The error with its lines, which may begin above it; if there is none, all that was said."""
    lines = _lines(said)
    first = next((i for i, line in enumerate(lines) if line.startswith("stiffit: error: ")), 0)
    while first > 0 and not re.match(r"stiffit: | *\d+ %", lines[first - 1]):
        first -= 1
    return re.sub("^stiffit: error: ", "", names.translate("\n".join(lines[first:]), command), flags=re.M)


def check(command: str, words: Sequence[str], names: Optional[Names] = None, folder: Optional[Path] = None) -> None:
    """Raises StiffitError if the command refuses these options, which it looks at before it opens the file that it works on."""
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run([program(), command, "--color=never", *words, os.path.join(empty, "none")],
                              capture_output=True, text=True, errors="replace", check=False, cwd=folder)
    if done.returncode == 2:
        raise StiffitError(_reason(done.stderr, names or Names(), command), 2)


def absolute(path: Path) -> pathlib.Path:
    return pathlib.Path(os.path.abspath(path))

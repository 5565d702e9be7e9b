"""Stand-ins for outside libraries that die, end the process, loop for ever or take all memory, for tests of what the program
does then. Files that make a real library do so are not kept here. HDF5 was seen to crash on 1.7 % and to loop on 0.15 % of
files with some bytes changed; libSBML to crash on formulas nested 100,000 deep and on functions that call each other, and to
take all memory for submodels that double at each level.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import subprocess

import helpers as h

# What STAND_IN says.
MISBEHAVE = """
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void misbehave(void)
{
    const char *how = getenv("STAND_IN");
    if (!strcmp(how, "dies"))
        raise(SIGSEGV);
    else if (!strcmp(how, "waits"))
        for (;;)
            pause();
    else if (!strcmp(how, "ends"))
        exit(1);
    else if (!strcmp(how, "loops"))
        for (volatile unsigned long n = 0;; n++)
            continue;
    else if (!strcmp(how, "takes all memory")) {
        while (malloc(64ul << 20))
            continue;
        abort();
    }
}
"""
# Comes before the C library's function, by which HDF5 reads a file.
HDF5 = """
#include <stdio.h>
#include <sys/syscall.h>
ssize_t pread64(int file, void *bytes, size_t n, long at)
{
    char name[64], path[4096];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t n_path = readlink(name, path, sizeof path);
    const char *bad = getenv("STAND_IN_FILE");
    if (n_path >= (ssize_t)strlen(bad) && !strncmp(path + n_path - strlen(bad), bad, strlen(bad)))
        misbehave();
    return syscall(SYS_pread64, file, bytes, n, at);
}
ssize_t pread(int file, void *bytes, size_t n, long at) { return pread64(file, bytes, n, at); }
"""


def compiled(path, source):
    subprocess.run([os.environ.get("CC", "cc"), "-D_GNU_SOURCE", "-fPIC", "-shared", "-w", "-fno-builtin", "-xc", "-", "-o",
                    path], input=MISBEHAVE + source, text=True, check=True)


def hdf5(tmp, how, name, **changes):
    """The environment in which reading a file of that name goes wrong."""
    if h.SANITIZE:
        h.skip("the sanitizer wants to be loaded first")
    compiled(tmp / "hdf5.so", HDF5)
    return h.environment(**h.preload(tmp / "hdf5.so"), STAND_IN=how, STAND_IN_FILE=name, **changes)


def sbml(tmp, how, **changes):
    """The environment in which there is a libSBML that goes wrong as it reads a file."""
    functions = re.findall(r"X\((\w+)\)", (h.ROOT / "src/sbml/library.h").read_text())
    assert "readSBMLFromFile" in functions and len(functions) > 100
    folder = tmp / "sbml"
    folder.mkdir(exist_ok=True)
    compiled(folder / "libsbml.so.5", "".join(
        f"void *{name}(void) {{ {'misbehave();' if name.startswith('readSBML') else ''} return 0; }}\n" for name in functions))
    return h.environment(LD_LIBRARY_PATH=folder, STAND_IN=how, **changes)

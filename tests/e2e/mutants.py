"""Mutants of files for fuzzing: bytes of files that stiffit itself reads, and what h5py can make of a problem or result file.
The same number makes the same mutant.

SPDX-License-Identifier: BSD-3-Clause
"""
import random
import struct

import h5py
import numpy as np

import faults

INTERESTING = [b"\0", b"\xff", b"\x7f", b"\x80", b"\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0" * 8,
               b"\xff" * 8, struct.pack("<Q", 1 << 60), struct.pack("<q", -1 << 40), struct.pack("<d", float("nan"))]
CSV_WORDS = [b"\"", b"\"\"", b",", b",,", b"\n", b"\r", b"\r\n", b"\0", b";", b"\t", b"nan", b"inf", b"-1e999",
             b"1e-999", b"0x1p9", b"1,5", b"\xef\xbb\xbf", b"\xff\xfe", b"\xc3\x28", b"=cmd()", b"9" * 400, b"a" * 5000, b"#",
             b" ", b"'", b"\x1b[31m", b"18446744073709551616", b"-0", b"+", b"1e", b"dataset", b"time"]


def mutate_bytes(data, rng, words=INTERESTING):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        if not data:
            break
        at = rng.randrange(len(data))
        n = min(rng.choice((1, 2, 8, 64, 512)), len(data) - at)
        kind = rng.randrange(8)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            word = rng.choice(words)
            data[at:at + len(word)] = word
        elif kind == 2:
            data[at:at] = rng.choice(words)
        elif kind == 3:
            del data[at:at + n]
        elif kind == 4:
            data[at:at] = data[at:at + n] * rng.choice((1, 2, 50))
        elif kind == 5:
            data[at:at + n] = rng.randbytes(n)
        elif kind == 6:
            other = rng.randrange(len(data))
            data[at:at + n] = data[other:other + n]
        elif rng.random() < 0.3:
            del data[at:]
    return bytes(data)


def mutate_journal(data, rng):
    """Half of them with good checksums around bad numbers."""
    data = bytearray(data)
    if rng.random() < 0.5:
        return mutate_bytes(data, rng)
    found = faults.frames(bytes(data))
    for i, (kind, number, payload) in enumerate(found):
        if rng.random() < (0.3 if i == 0 else 0.5) and payload:
            payload = bytearray(payload)
            for _ in range(rng.choice((1, 3))):
                place = min(rng.randrange(len(payload)), rng.randrange(len(payload)))
                word = rng.choice(INTERESTING)[:len(payload) - place]
                payload[place:place + len(word)] = word
            found[i] = (kind, number, bytes(payload))
    return faults.framed(found)


def datasets_of(f):
    found = []
    f.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)
    return found


def put(f, name, *args, **keywords):
    if name in f:
        del f[name]
    f.create_dataset(name, *args, **keywords)


def another_type(f, name, rng):
    data = f[name][()]
    kind = rng.randrange(9)
    n = np.shape(data) or (1,)
    if kind == 0:
        put(f, name, data=np.zeros(n, rng.choice(("i1", "u8", ">i4", "f4", ">f8", "f2", "c16", "?"))))
    elif kind == 1:
        put(f, name, data=np.zeros(n, [("a", "f8"), ("b", "S3")]))
    elif kind == 2:
        put(f, name, n, dtype=h5py.ref_dtype)
    elif kind == 3:
        put(f, name, n, dtype=h5py.vlen_dtype(np.float64))
    elif kind == 4:
        put(f, name, data=np.full(n, b"\xff\xc3(" * 5, "S15"))
    elif kind == 5:
        put(f, name, n, dtype=h5py.string_dtype())
    elif kind == 6:
        put(f, name, data=np.zeros(n, "V7"))
    elif kind == 7:
        put(f, name, data=h5py.Empty("f8"))
    else:
        put(f, name, n, dtype=h5py.enum_dtype({"A": 0, "B": 1 << 20}, basetype="i4"))


def another_shape(f, name, rng):
    data = f[name][()]
    huge = rng.choice((1 << 31, 1 << 32, 1 << 40, 1 << 60, (1 << 63) - 1))
    kind = rng.randrange(6)
    dtype = f[name].dtype if h5py.check_string_dtype(f[name].dtype) is None else "S9"
    if kind == 0:
        put(f, name, (huge,), dtype=dtype, chunks=(rng.choice((1, 4096)),))
    elif kind == 1:
        put(f, name, (rng.choice((1, 3)), huge), dtype=dtype, chunks=(1, 64), maxshape=(None, None))
    elif kind == 2:
        put(f, name, data=np.resize(np.atleast_1d(data), rng.randrange(0, 9)))
    elif kind == 3:
        put(f, name, data=np.atleast_1d(data)[None, ..., None])
    elif kind == 4:
        put(f, name, data=np.atleast_1d(data)[0] if np.size(data) else 1)
    else:
        put(f, name, (1,) * rng.randrange(2, 32), dtype=dtype)


def another_number(f, name, rng):
    column = f[name]
    if column.size and column.dtype.kind in "fiu":
        at = tuple(rng.randrange(n) for n in column.shape)
        values = (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0, -1) if column.dtype.kind == "f" else \
            (0, 1, np.iinfo(column.dtype).max, np.iinfo(column.dtype).min)
        column[at] = rng.choice(values)


def strange_link(f, name, rng):
    kind = rng.randrange(6)
    group = name.rsplit("/", 1)[0] if "/" in name else "/"
    if kind < 4:
        del f[name]
    if kind == 0:
        f[name] = h5py.ExternalLink(rng.choice(("/etc/passwd", "nowhere.h5", f.filename, "/dev/zero")), "/x")
    elif kind == 1:
        f[name] = h5py.SoftLink(rng.choice((name, "/" + group, "/nowhere", "/" * 300)))
    elif kind == 2:
        f[name] = f[group]
    elif kind == 3:
        f.create_group(name)
    elif kind == 4:
        f[group + "/loop"] = f["/"]
    else:
        here = f[group]
        for i in range(rng.choice((3, 300))):
            here = here.create_group("x" * rng.choice((1, 200)))


def strange_storage(f, name, rng):
    data = np.atleast_1d(f[name][()])
    kind = rng.randrange(5)
    if data.dtype == object:
        return
    if kind == 0:
        put(f, name, data=data, compression="gzip", shuffle=True, fletcher32=True, chunks=True)
    elif kind == 1:
        layout = h5py.VirtualLayout(data.shape, data.dtype)
        layout[...] = h5py.VirtualSource(rng.choice((".", "nowhere.h5")), name, data.shape)
        if name in f:
            del f[name]
        f.create_virtual_dataset(name, layout)
    elif kind == 2:
        put(f, name, data.shape, data.dtype, external=[(rng.choice(("/etc/passwd", "/dev/zero", "nowhere")), 0, 1 << 20)])
    elif kind == 3 and data.size:
        put(f, name, data=data, compression="gzip", chunks=data.shape)
        f.flush()
        f[name].id.write_direct_chunk((0,) * data.ndim, rng.randbytes(50))
    else:
        put(f, name, data.shape, data.dtype, chunks=True)


def strange_attribute(f, name, rng):
    places = ["/", name, *(group for group in f if isinstance(f[group], h5py.Group))]
    owner = f[rng.choice(places)]
    key = rng.choice([*owner.attrs, "plugin", "sha256", "format", "stiffit_file", "rtol", "starts", "seed", "kind", "x" * 70])
    value = rng.choice((-1, 0, 1 << 62, float("nan"), "\x1b[31m" * 9, b"\xff\xfe", "x" * 60000, np.zeros(7000),
                        h5py.Empty("f8"), ["a", "b"], np.zeros((2, 2)), ""))
    owner.attrs[key] = np.bytes_(value) if isinstance(value, bytes) else value


def mutate_hdf5(path, rng):
    """In place, through h5py. What h5py itself refuses stays undone."""
    with h5py.File(path, "r+") as f:
        for _ in range(rng.choice((1, 1, 2, 3))):
            names = datasets_of(f)
            if not names:
                break
            change = rng.choice((another_type, another_shape, another_number, another_number, strange_link, strange_storage,
                                 strange_attribute, strange_attribute, None))
            try:
                if change:
                    change(f, rng.choice(names), rng)
                else:
                    del f[rng.choice(names)]
            except (TypeError, ValueError, KeyError, OSError, RuntimeError, OverflowError, MemoryError, IndexError):
                pass


def rng_of(kind, number):
    return random.Random(f"{kind} {number}")

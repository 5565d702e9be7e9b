"""Model text from strangers: a million of anything, bytes that are no text, names that are orders. Each ends soon,
within bounded memory, as a model or as a message with a place.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 1200
"""
import os
import pathlib
import random
import re
import resource
import shutil
import stat
import subprocess

import helpers as h

FUZZ = h.BUILD / "tests" / "fuzz" / "fuzz_text"
N_MUTANT = 20_000 if h.SLOW else 200 if h.QUICK else 800
MEMORY = 2 << 30  # a model of a megabyte needs a few hundred
SECONDS = 60 * h.SANITIZER_SPEED  # all of them take below 5 on an idle machine
MILLION = 1_000_000 if h.SLOW else 20_000 if h.QUICK else 100_000


def model(expression, before=""):
    return f"{before}parameter k = 1\nx(0) = 1\nx' = {expression}\nobserve x\n"


def bounded():
    if not h.SANITIZE:  # whose shadow memory is terabytes
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def read(path, *args, **keywords):
    """`stiffit model build` without the compiler: reading, derivatives, C."""
    command = [h.STIFFIT, "model", "build", *args, "-c", "/dev/null", path]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False,
                          env=h.environment(), preexec_fn=bounded, **keywords)
    h.assert_no_report(done, f"model build {path}")
    return done


def expect(tmp, text, codes, *words, place=r":\d+:\d+"):
    path = tmp / "model.ode"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = read(path)
    shown = text[-2000:][:60]
    assert done.returncode in codes, f"{shown!r}: exit code {done.returncode}\n{done.stderr[-2000:]}"
    assert len(done.stderr) < 200_000, f"{shown!r}: {len(done.stderr)} bytes of messages"
    if done.returncode:
        assert done.returncode == 3, f"{shown!r}: exit code {done.returncode}\n{done.stderr[-2000:]}"
        assert re.search(rf"model\.ode{place}: error: \S", done.stderr), f"{shown!r}: no place\n{done.stderr[-2000:]}"
        assert all(word in done.stderr for word in words), f"{shown!r}: no {words}\n{done.stderr[-2000:]}"
    return done


def expect_good(tmp, text):
    return expect(tmp, text, (0,))


def expect_bad(tmp, text, *words):
    return expect(tmp, text, (3,), *words)


# --- too much of something ---
@h.both
def test_a_megabyte_of_one_expression(tmp):
    n = MILLION // 2 if h.SLOW else MILLION // 5
    for sign in "+-*":
        expect_good(tmp, model(sign.join(["k"] * n)))
    expect(tmp, model("/".join(["x"] * n)), (0, 3))
    expect(tmp, model(" + ".join(f"k*{i}.5*x" for i in range(n // 8))), (0, 3))
    expect(tmp, model(" + ".join(f"exp(-x/{i + 1})" for i in range(n // 10))), (0, 3))
    expect(tmp, model(" and ".join(["k"] * (n // 3))), (0,))
    expect_bad(tmp, model("<".join(["k"] * n)), "and")
    expect_good(tmp, model("max(" + ",".join(["x", "k"] * (n // 2)) + ")"))
    expect(tmp, model("piecewise(" + ",".join(f"{i},x<{i}" for i in range(n // 8)) + ",0)"), (0, 3))
    expect_good(tmp, model(" " * MILLION + "k"))
    expect_good(tmp, model("k # " + "k" * MILLION))
    expect_good(tmp, model("k") + "\n;" * MILLION)
    expect_bad(tmp, model("k") + "1\n" * MILLION)


@h.more
def test_nesting(tmp):
    for n in (10_000, MILLION) if h.SLOW else (150_000,):  # a recursion of so many frames has no room on a stack of 8 MiB
        deep = "deep"
        expect_bad(tmp, model("(" * n + "k" + ")" * n), deep)
        expect_bad(tmp, model("sin(" * n + "k" + ")" * n), deep)
        expect_bad(tmp, model("max(k," * n + "k" + ")" * n), deep)
        expect_bad(tmp, model("piecewise(k," * n + "k" + ",1)" * n), deep)
        expect_bad(tmp, model("if(k," * n + "k" + ",1)" * n), deep)
        expect_bad(tmp, model("if k then " * n + "k" + " else k" * n), deep)
        expect_bad(tmp, model("if " * n + "k" + " then k else k" * n), deep)
        expect_bad(tmp, model("(" * n))
        expect_bad(tmp, model("sin(" * n))
        expect_bad(tmp, model("if " * n))
        expect_bad(tmp, model("[" * n))
        expect_bad(tmp, model(")" * n))
        # Without brackets there is nothing that must be kept for each level.
        m = min(n, 100_000 if h.SLOW else 30_000)
        for chain in ("-" * n + "k", "+-" * n + "k", "not " * n + "k", "! " * n + "k", "^".join(["k"] * m),
                      "^-".join(["k"] * m), "x**" * m + "2", "if k then 1 else " * m + "k"):
            expect(tmp, model(chain), (0, 3), deep)
    expect_good(tmp, model("(" * 900 + "k" + ")" * 900))
    expect_good(tmp, model("sin(" * 900 + "x" + ")" * 900))


@h.both
def test_functions_that_grow(tmp):
    def doubling(body, n=60):
        lines = [f"f{i}(a) = {body.replace('F', f'f{i - 1}')}" for i in range(1, n)]
        return "f0(a) = a*x + k\n" + "\n".join(lines) + "\n"
    for i, body in enumerate(("F(a) + F(a)", "F(a)*F(a + 1)", "F(F(a))", "F(a*a) - F(-a)", "if a > 1 then F(a) else F(1/a)")):
        for n in (12, 60, 2000) if h.SLOW else (12,) if h.SANITIZE or h.QUICK or i % 2 else (12, 60 if i else 2000):
            expect(tmp, model(f"f{n - 1}(x)", doubling(body, n)), (0, 3))
    expect_bad(tmp, model("f(x)", "f(a) = f(a)\n"), "f")
    expect_bad(tmp, model("f(x)", "f(a) = g(a)\ng(a) = f(a)\n"), "f", "g")
    # As intermediates they are shared; derivatives of what is shared must be, too.
    chain = "\n".join(f"a{i} = sin(a{i - 1})*a{i - 1} + a{i - 1}" for i in range(1, 300))
    expect_good(tmp, model("a299", f"a0 = x*k\n{chain}\n"))


@h.both
def test_many_names(tmp):
    n = 99_999
    expect_good(tmp, model("k", "".join(f"par p{i} = {i}\n" for i in range(n))))
    n = n if h.SLOW else 5_000 if h.QUICK else 25_000
    expect_good(tmp, model(f"a{n - 1}", "a0 = k\n" + "".join(f"a{i} = a{i - 1} + 1\n" for i in range(1, n))))
    expect(tmp, model("a0", "".join(f"a{i} = sin(a{i + 1})\n" for i in range(n)) + f"a{n} = x\n"), (0, 3))
    expect_good(tmp, model("c1", "".join(f"const c{i} = c{i + 1}\n" for i in range(n)) + f"const c{n} = 1\n"))
    expect_bad(tmp, model("a0", "".join(f"a{i} = a{(i + 1) % n}\n" for i in range(n))), "needs")
    expect_bad(tmp, model("k", "".join(f"a{i} = b{i}\n" for i in range(n))), "b0")
    expect_bad(tmp, model("k", "par k = 1\n" * n), "k")
    expect_bad(tmp, model("x" * MILLION), "xxx")
    expect_bad(tmp, model("k", f"par {'x' * 4001} = 1\n"), "name")
    expect_good(tmp, model("k", f"par {'x' * 4000} = 1\n"))
    expect(tmp, model("k", f'par z = 1 unit "{"u" * MILLION}"\n'), (0, 3))
    expect_good(tmp, model("k", "".join(f"covariate c{i}\n" for i in range(n))))
    expect(tmp, "par k = 1\n" + "".join(f"x{i}(0) = 1\nx{i}' = -k*x{i}\n" for i in range(5000)) + "observe x0\n",
           (0, 3))
    expect(tmp, "par k = 1\nobserve " + ", ".join(f"y{i} = k*{i}" for i in range(n)) + "\n", (0, 3))


# --- what is no text ---
def test_bytes_that_are_no_text(tmp):
    good = model("k").encode()
    for bad in (b"\0", b"\x01", b"\x7f", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf",
                b"\x1b[31m", b"\xe2\x80\xae", "µ".encode(), b"\f", b"\v", b"@", b"$", b"`", b"~", b"\xef\xbb\xbf"):
        for place in (len(good), good.index(b"=") + 1):
            done = expect_bad(tmp, good[:place] + bad + good[place:])
            assert not re.search(r"[\0-\x08\x0b-\x1f\x7f]", done.stderr), f"{bad!r} reaches the terminal"
        done = expect(tmp, good + b"# " + bad + b"\nmodel m \"" + bad + b"\"\n", (0, 3))
        assert "\x1b" not in done.stderr, "escape sequences reach the terminal"
    expect_good(tmp, b"\xef\xbb\xbf" + good)
    expect_good(tmp, good.replace(b"\n", b"\r\n"))
    expect_good(tmp, good[:-1])
    expect_bad(tmp, good.decode().encode("utf-16"))
    (tmp / "program.ode").write_bytes(pathlib.Path(h.STIFFIT).read_bytes()[:2 * MILLION])
    assert read(tmp / "program.ode").returncode == 3
    expect_bad(tmp, random.Random(1).randbytes(MILLION))


@h.both
def test_numbers_and_ends(tmp):
    for number in ("1e999", "-1e400", "1e99999999999999999999", "9" * MILLION, "1" + "0" * 309, "0x10", "1e", "1e+",
                   "1.2.3", "1..2", ".", "1_000", "1,5", "1d0", "0b1", "inf", "nan", "1e308*10", "1/0", "1e-999", "0."
                   + "0" * MILLION + "1", "1e-99999999999999999999"):
        expect(tmp, model(number), (0, 3) if number in ("1/0", "1e308*10") else (3,))
    for number in ("0" * MILLION + "1", "0." + "3" * MILLION, "0e-999", "5e-324", "1E5", ".5"):
        expect_good(tmp, model(number))
    for end in h.portion(("k +", "(k", "k)", "sin(", "sin", "max(k", "max(k,", "if", "if k", "if k then", "if k then 1",
                "if k then 1 else", "k ^", "not", "piecewise(k)", "piecewise(1, k)", "atan2(k)", "exp()", "exp(1, 2)",
                "\\", "k '", "x(0)", "\"k", "k \"", "k[1]", "k = 1", "k := 1", "k == ", "k, 1", "", "k k", "2k", "k 2",
                "k & k", "k | k", "k ? 1 : 2"), 12):
        expect_bad(tmp, model(end))
        expect_bad(tmp, "parameter k = 1\nx(0) = 1\nobserve x\nx' = " + end)
    for end in h.portion(('par z = 1 unit "', "par z = 1 in [0", "par z = 1 in [0,", "par z = 1 in", "par", "par z", "par z =",
                "par z = 1,", "par z = 1 scale", "par z = 1 scale log2", "par z = 1 in [2, 1]",
                "par z = -1 scale log", "observe", "observe q =", "observe x sd", "observe nothing", "function f(",
                "f(a) =", "f(a, a) = a", "f() = 1", "sin(x) = 1", "x' = 1", "x(0) = 2", "y' = 1", "y(0) = 1",
                "y(1) = 1", "time from x", "model", "model 3", "const c = x", "const c = k", "d/dt(", "d/dt(x)",
                "dx/dt", "dx/dt =", "q = q", "t = 1", "pi = 3", "if = 1", "exp = 1", "init x", "init x = x",
                "covariate", "covariate x", "covariate 1", "'", "=", "= 1", "1 = 1", "(", "(x)' = 1", "x'' = 1"), 16):
        expect_bad(tmp, model("k") + end)
    for nothing in ("", "\n", "# nothing", "\\", "\ufeff", ";"):
        expect(tmp, nothing, (3,), "parameter", place="")


def test_what_is_no_file(tmp):
    for path in (tmp, "/dev/zero", "/dev/null", tmp / "missing.ode", "", "/proc/self/mem", "/dev/full"):
        done = read(path)
        assert done.returncode in (2, 3, 4) and "error" in done.stderr, f"{path}: {done.returncode} {done.stderr}"
    locked = tmp / "locked.ode"
    locked.write_text(model("k"))
    locked.chmod(0)
    assert read(locked).returncode == (0 if os.geteuid() == 0 else 4)
    with open(tmp / "huge.ode", "wb") as sparse:
        sparse.truncate(1 << 40)
    done = read(tmp / "huge.ode")
    assert done.returncode in (3, 4) and "huge.ode" in done.stderr, done.stderr


def mutant(rng, seeds):
    text = bytearray(rng.choice(seeds))
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        a, b = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        b = min(b, a + rng.choice([1, 2, 5, 40, 1000]))
        other = rng.choice(seeds)
        c = rng.randrange(len(other))
        kind = rng.randrange(6)
        if kind == 0:
            text[a:b] = b""
        elif kind == 1:
            text[a:a] = text[a:b] * rng.choice([1, 2, 50])
        elif kind == 2:
            text[a:b] = rng.randbytes(rng.choice([1, 1, 3]))
        elif kind == 3:
            text[a:b] = rng.choice([b"(", b")", b"[", b'"', b"'", b"\\\n", b"\n", b";", b"if ", b" then ", b" else ",
                                    b"=", b"^", b"-", b"(0)", b"d/dt(", b"/dt", b"t", b"inf", b"1e308", b"0",
                                    b"function ", b"observe ", b" sd ", b",", b"model ", b" in [", b"\xc3\xa9", b"\0",
                                    b"#", b"//", b"x", b"k", b"max(", b"piecewise(", b"not "])
        elif kind == 4:
            text[a:b] = other[c:c + rng.choice([1, 10, 200])]
        elif text:
            text[min(a, len(text) - 1)] ^= 1 << rng.randrange(8)
    return bytes(text[:100_000])


def seed_texts():
    files = sorted(h.ROOT.glob("models/*/*.ode")) + sorted(h.ROOT.glob("tests/fuzz/*/*.ode"))
    return [path.read_bytes() for path in files]


@h.both
def test_mutants(tmp):
    """Every mutant is a model or has errors with places; the fuzz target looks at what comes back."""
    rng, seeds = random.Random(20261121), seed_texts()
    assert len(seeds) >= 3
    h.assert_no_report(subprocess.run([FUZZ, *sorted(h.ROOT.glob("tests/fuzz/*/*.ode"))], capture_output=True, text=True,
                                      errors="replace", check=True))
    for first in range(0, N_MUTANT, 100):
        paths = []
        for i in range(100):
            paths.append(tmp / f"m{i}.ode")
            paths[-1].write_bytes(mutant(rng, seeds))
        for group in (paths, *([path] for path in paths)):  # one by one if anything is wrong with all
            done = subprocess.run([FUZZ, *group], capture_output=True, text=True, errors="replace", timeout=10
                                  * SECONDS, check=False, preexec_fn=bounded)
            if done.returncode == 0:
                break
            assert len(group) > 1, f"mutant {first}: {done.returncode} {done.stderr[-1500:]}\n{group[0].read_bytes()!r}"


# --- names and labels that are orders ---
ORDERS = ["$(touch pwned)", "`touch pwned`", ";touch pwned;", "|touch pwned", "&& touch pwned", "\\", "%s%n%d",
          "*/ #error no /*", "??/", "#include </etc/passwd>", "'", "//", "/*", "\t", "é µ 日本", "${HOME}", "-o pwned",
          "@pwned", "a\\", "<&>", "\\\\n\\0\\x41"]


def test_labels_stay_labels(tmp):
    text = "model m \"" + ORDERS[7] + "\"\ntime unit \"??/\"\n"
    for i, order in enumerate(ORDERS):
        text += f"# {order}\npar p{i} = {i} unit \"{order}\" // {order}\n"
        text += f"x{i}(0) = p{i} # {order} \\\nx{i}' = -x{i} # {order} ??/\n"
        text += f"observe y{i} = x{i} unit \"{order}\" sd 1 # {order}\n"
    (tmp / "m.ode").write_text(text)
    h.stiffit("model", "build", "m.ode", "-c", "m.c", cwd=tmp)
    for options in (["-std=c11", "-trigraphs"], ["-std=gnu11"], ["-std=c11", "-O1"]):
        done = subprocess.run([os.environ.get("CC", "cc"), *options, "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                               "-I", h.ROOT / "include", "m.c"], cwd=tmp, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert "#error" not in [line.strip() for line in (tmp / "m.c").read_text().splitlines()]
    h.stiffit("model", "build", "m.ode", "--no-cache", cwd=tmp)
    shown = h.stiffit("model", "show", "--json", "m.ode", cwd=tmp).stdout
    assert "pwned" in shown and not (tmp / "pwned").exists()


def test_names_of_c_stay_names(tmp):
    words = ("auto break case char const_ continue default do double enum extern float for goto if_ inline int "
             "long main register restrict return short signed sizeof static struct switch typedef union "
             "unsigned void volatile while asm typeof errno NULL INFINITY NAN M_PI I complex linux unix i386 "
             "stdin environ __LINE__ __func__ _Bool _Static_assert stiffit_model stiffit_point rhs initial "
             "observe_ prepare jacobian noise at out y p work covariate_ memcpy exit system fma pow_ y0 y1 jn "
             "signgam int64_t uint8_t defined __COUNTER__ true false bool nullptr constexpr").split()
    text = "".join(f"par {w} = 1\n" for w in words[::2]) + "".join(f"{w}(0) = 1\n{w}' = -{w}\n" for w in words[1::2])
    text += "observe " + ", ".join(f"observed{i} = {a}*{b}" for i, (a, b) in enumerate(zip(words[::2],
                                                                                           words[1::2]))) + "\n"
    (tmp / "m.ode").write_text(text)
    h.stiffit("model", "build", "m.ode", "--no-cache", cwd=tmp)
    h.stiffit("model", "check", "m.so", cwd=tmp)


FILE_NAMES = ["a b.ode", "it's.ode", 'say "x".ode', "new\nline.ode", "$(touch pwned).ode", "`touch pwned`.ode",
              ";touch pwned;.ode", "%s%n.ode", "é日本.ode", os.fsdecode(b"\xff\xfe.ode"), "-x.ode", "--help.ode", "a"
              * 240 + ".ode", ".ode", "*.ode", "back\\slash.ode", "a.b.c.ode", "\t.ode", "@file.ode", "-o pwned.ode",
              "1.ode", "int.ode", "*.ode*/.ode"[:5] + "x.ode"]


@h.both
def test_names_of_files(tmp):
    for name in h.portion(FILE_NAMES, 6):
        folder = tmp / "here"
        folder.mkdir()
        (folder / name).write_text(model("k"))
        done = h.stiffit("model", "build", "--no-cache", "--", name, cwd=folder)
        made = {entry.name for entry in folder.iterdir()} - {name}
        assert made == {(name[:-4] or name) + ".so"}, f"{name!r}: {made} {done.stderr}"
        h.stiffit("model", "show", "./" + name, cwd=folder)
        (folder / name).write_text(model("nowhere"))
        done = h.stiffit("model", "build", "--no-cache", "./" + name, cwd=folder, code=3)
        assert "nowhere" in done.stderr and ":3:6: error" in done.stderr, done.stderr
        assert not list(tmp.glob("**/pwned*"))
        shutil.rmtree(folder)


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@h.both
def test_compilers_that_are_none(tmp):
    (tmp / "m.ode").write_text(model("k"))
    output = 'while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done\n'
    compilers = ["/nonexistent/cc", "false", "true", "cat", "$(touch pwned)", "cc; touch pwned", "cc | touch pwned",
                 "`touch pwned`", "cc && touch pwned", "cc\ntouch pwned", "%s%n", str(tmp), "cc --no-such-option",
                 script(tmp / "garbage", output + 'echo garbage >"$out"\n'),
                 script(tmp / "empty", output + ': >"$out"\n'), script(tmp / "killed", "kill -9 $$\n"),
                 script(tmp / "stopped", "kill -SEGV $$\n"), script(tmp / "loud",
                                                                    "yes no | head -c 3000000 >&2\nexit 1\n"),
                 script(tmp / "folder", output + 'mkdir "$out"\n'), script(tmp / "link", output
                                                                           + 'ln -sf /etc/passwd "$out"\n')]
    for compiler in h.portion(compilers, 7):
        done = h.stiffit("model", "build", "--no-cache", "m.ode", cwd=tmp, code=None, timeout=SECONDS,
                         env=h.environment(CC=compiler, TMPDIR=tmp))
        assert done.returncode in (3, 4), f"{compiler}: {done.returncode} {done.stderr}"
        assert "error" in done.stderr and len(done.stderr) < 20_000, f"{compiler}: {done.stderr[:2000]}"
        assert not (tmp / "pwned").exists() and not (tmp / "m.so").exists(), compiler
    blanks = script(tmp / "a  c compiler", 'exec cc "$@"\n')
    for good in ("", "  ", "cc -DX", " cc  -O1 ", blanks, f" {blanks} -O1 "):
        h.stiffit("model", "build", "--no-cache", "m.ode", cwd=tmp, env=h.environment(CC=good))
        (tmp / "m.so").unlink()
    done = h.stiffit("model", "build", "--no-cache", "m.ode", cwd=tmp, code=3, env=h.environment(CC=f"{tmp}/a  c -O1"))
    assert f"there is no program '{f'{tmp}/a'.split()[0]}'" in done.stderr, done.stderr
    compilers.append(blanks)
    left = {entry.name for entry in tmp.iterdir()} - {"m.ode"} - {pathlib.Path(c).name for c in compilers}
    assert not left, f"left behind: {left}"


if __name__ == "__main__":
    h.main()

"""libFuzzer over the reader of model text and its derivatives, for a minute in `make check-all`.

SPDX-License-Identifier: BSD-3-Clause
test-timeout: 900
"""
import os
import re
import shutil
import subprocess
import sys

import helpers as h

sys.path.append(str(h.ROOT / "tests" / "property"))

from ode_random import RandomModel  # noqa: E402

SECONDS = 60
LONGEST = 4096


def fuzzer():
    """The program, built anew where its sources have changed."""
    if not shutil.which("clang"):
        h.skip("no clang")
    probe = subprocess.run(["clang", "-fsanitize=fuzzer,address", "-x", "c", "-", "-o", "/dev/null"], text=True,
                           check=False,
                           input="int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && n > 9; }",
                           capture_output=True)
    if probe.returncode:
        h.skip("this clang has no libFuzzer (Debian: libclang-rt-dev)")
    subprocess.run(["make", "-s", "build/fuzz/fuzz_text"], cwd=h.ROOT, check=True, timeout=600,
                   env={k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))})
    return h.ROOT / "build" / "fuzz" / "fuzz_text"


@h.slow
def test_fuzzer_finds_nothing(tmp):
    if h.SANITIZE:
        h.skip("the fuzzer brings its own sanitizers")
    program = fuzzer()
    corpus = tmp / "corpus"
    corpus.mkdir()
    # Large ones slow it down and show it nothing new.
    seeds = [path for path in (*h.ROOT.glob("models/*/*.ode"), *h.ROOT.glob("tests/fuzz/*/*.ode"))
             if path.stat().st_size < LONGEST]
    texts = [seed.read_bytes() for seed in seeds] + [RandomModel(seed).text.encode() for seed in range(100)]
    for i, text in enumerate(texts):
        (corpus / f"seed{i}").write_bytes(text[:LONGEST])
    done = subprocess.run([program, f"-max_total_time={SECONDS}", f"-max_len={LONGEST}", "-timeout=20",
                           "-rss_limit_mb=2048", "-seed=1", f"-dict={h.ROOT / 'tests/fuzz/text.dict'}",
                           "-print_final_stats=1", corpus], cwd=tmp, text=True, capture_output=True, errors="replace",
                          check=False, timeout=SECONDS + 300)
    kept = [path.read_bytes()[:3000] for path in tmp.glob("*-*") if path.is_file()]
    assert done.returncode == 0 and not kept, f"{done.stderr[-3000:]}\n{kept}"
    runs = int(re.search(r"number_of_executed_units: (\d+)", done.stderr).group(1))
    print(f"{runs} texts, {len(list(corpus.iterdir()))} kept of them and of {len(texts)} seeds")
    assert runs > 1000


if __name__ == "__main__":
    h.main()

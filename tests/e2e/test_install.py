"""How stiffit reaches a user: `make install` into a folder of its own, the tarball of the sources, the Debian package.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import shutil
import subprocess
import tarfile

import h5py
import numpy as np

import helpers as h

INSTALLED = ("bin/stiffit", "include/stiffit/model.h", "share/man/man1/stiffit.1", "share/man/man3/stiffit-model.3",
             "share/man/man5/stiffit-file.5", "share/bash-completion/completions/stiffit",
             "share/zsh/site-functions/_stiffit", "share/pkgconfig/stiffit.pc")
VERSION = re.search(r'STIFFIT_VERSION "(.*)"', (h.ROOT / "src/base/version.h").read_text(encoding="utf-8")).group(1)


def shell(*command, cwd=None, **env):
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=h.environment(**env), capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def need(*tools):
    for tool in tools:
        if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            h.skip(f"no {tool}")


def need_plain_build():
    if h.SANITIZE or os.environ.get("STIFFIT_BUILD", "").rstrip("/").split("/")[-1] != "build":
        h.skip("needs the plain build")


def make(*words, cwd=h.ROOT):
    return shell("make", "-s", "-C", cwd, *words)


def test_install_use_uninstall(tmp):
    need_plain_build()
    need("pkg-config")
    words = (f"DESTDIR={tmp}/dest", "prefix=/opt/stiffit")
    make("install", *words)
    base = tmp / "dest/opt/stiffit"
    for name in INSTALLED:
        assert (base / name).stat().st_size > 0, name
    pc = {"PKG_CONFIG_PATH": base / "share/pkgconfig", "PKG_CONFIG_SYSROOT_DIR": tmp / "dest"}
    assert shell("pkg-config", "--modversion", "stiffit", **pc).strip() == VERSION
    flags = shell("pkg-config", "--cflags", "stiffit", **pc).split()
    assert flags == [f"-I{base}/include"], flags

    shell("cc", "-std=c11", "-O1", "-fPIC", "-shared", *flags, h.ROOT / "models/robertson/robertson.c", "-o", tmp / "plugin.so",
          "-lm")
    assert f"stiffit {VERSION}" in shell(base / "bin/stiffit", "--version")
    shell(base / "bin/stiffit", "model", "check", tmp / "plugin.so")
    shell(base / "bin/stiffit", "import", h.ROOT / "data/alpha-pinene.csv", "--model",
          h.ROOT / "models/alpha-pinene/alpha-pinene.ode", "-o", tmp / "p.h5")
    shell(base / "bin/stiffit", "run", tmp / "p.h5")
    with h5py.File(tmp / "p.result.h5") as f:  # Box, Hunter et al. 1973, Technometrics 15: 5.93e-5 a minute
        assert np.isclose(f["fits/parameters"][0][0], 5.93e-5, rtol=2e-2), f["fits/parameters"][0]
    if shutil.which("man"):
        pages = shell("man", "-M", base / "share/man", "-w", "stiffit", "stiffit-run", "stiffit-slurm", "5", "stiffit-model")
        assert len(pages.split()) >= 4 and all(str(base) in page for page in pages.split()), pages

    make("uninstall", *words)
    assert not [path for path in tmp.glob("dest/**/*") if path.is_file()]
    assert not (base / "include/stiffit").exists()


def unpack_sources(tmp):
    """The folder that the tarball of make dist makes."""
    tarball = tmp / f"stiffit-{VERSION}.tar.gz"
    shell(h.ROOT / "scripts/dist", VERSION, tarball, SOURCE_DATE_EPOCH=1700000000)
    with tarfile.open(tarball) as tar:
        names = tar.getnames()
        assert names and all(name.startswith(f"stiffit-{VERSION}/") for name in names), names[:3]
        assert {m.mtime for m in tar} == {1700000000}
        tar.extractall(tmp)
    return tmp / f"stiffit-{VERSION}", tarball


def test_tarball_of_sources(tmp):
    folder, tarball = unpack_sources(tmp)
    for name in ("Makefile", "src/cli/main.c", "tests/run", "scripts/install-deps", "man/stiffit.1", "LICENSE", ".ci/run"):
        assert (folder / name).stat().st_mode == (h.ROOT / name).stat().st_mode, name
    assert not (folder / "build").exists() and not (folder / ".git").exists()
    # Unpacked, the same tarball can be made again, without git: the same bytes.
    shell(folder / "scripts/dist", VERSION, tmp / "again.tar.gz", SOURCE_DATE_EPOCH=1700000000)
    assert (tmp / "again.tar.gz").read_bytes() == tarball.read_bytes()
    # make finds its way there: what it would do is what it does here.
    plan = shell("make", "-n", "-C", folder, "all")
    assert "build/obj/src/cli/main.o" in plan and "build/models/decay.so" in plan


@h.slow
def test_tarball_builds(tmp):
    folder, _ = unpack_sources(tmp)
    make("-j4", "all", cwd=folder)
    make("install", f"DESTDIR={tmp}/dest", "prefix=/usr", cwd=folder)
    assert f"stiffit {VERSION}" in shell(tmp / "dest/usr/bin/stiffit", "--version")
    shell(folder / "scripts/lint", cwd=folder)


def debian(name):
    return (h.ROOT / "scripts/debian" / name).read_text(encoding="utf-8")


def test_debian_files_agree_with_the_sources(tmp):
    assert debian("changelog").startswith(f"stiffit ({VERSION}-1) "), debian("changelog")
    wanted = re.search(r"^Build-Depends:(.*?)^\S", debian("control"), re.M | re.S).group(1)
    script = (h.ROOT / "scripts/install-deps").read_text(encoding="utf-8")
    needs = re.findall(r"^build +([a-z-]+[0-9]*) +([a-z0-9-]{6,})", script, re.M)
    assert len(needs) > 9
    for need, package in needs:
        if need not in ("compiler", "make", "openblas"):  # build-essential has two; OpenBLAS is loaded when it is needed
            assert package in re.findall(r"[\w.-]+", wanted), package
    assert "libopenblas0" in debian("control")
    for pattern in (debian("docs") + debian("examples")).split():
        assert list(h.ROOT.glob(pattern)), pattern
    text = (h.ROOT / "LICENSE").read_text(encoding="utf-8")
    for line in text[text.index("Redistribution"):].splitlines():
        assert line in debian("copyright"), line


def bare_chroot(root):
    """A Debian without anything but apt."""
    need("debootstrap")
    if os.getuid() != 0:
        h.skip("needs root")
    done = subprocess.run(["debootstrap", "--variant=minbase", "bookworm", root], env={**os.environ, "LC_ALL": "C"},
                          capture_output=True, text=True, check=False)
    if done.returncode:
        h.skip(f"debootstrap fails: {done.stdout[-200:]}")


def inside(root, command, code=0):
    """What a command prints that a shell in the chroot runs, both streams. There is a /proc: stiffit starts itself from it."""
    mounted = 'mount -t proc proc "$0/proc" && exec chroot "$0" sh -ec "$1"'
    done = subprocess.run(["unshare", "--mount", "sh", "-c", mounted, str(root), command], capture_output=True, text=True,
                          check=False, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                                            "DEBIAN_FRONTEND": "noninteractive"})
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


FIRST_FIT = ("cd /tmp && rm -f *.h5 && stiffit import {data}/alpha-pinene.csv --model {models}/alpha-pinene/alpha-pinene.ode "
             "-o p.h5 && stiffit run p.h5 && stiffit show p.result.h5")


def try_package(package, root):
    """Installed, used without a compiler and with one, and removed, in a bare chroot."""
    before = set(path for path in root.glob("usr/**/*stiffit*"))
    shutil.copy(package, root / "tmp/stiffit.deb")
    inside(root, "apt-get -q update && apt-get -qy --no-install-recommends install /tmp/stiffit.deb")
    examples = "/usr/share/doc/stiffit/examples"
    fit = FIRST_FIT.format(data=examples, models=examples)
    words = inside(root, fit, code=3)
    assert "compiler" in words, words
    inside(root, "apt-get -qy --no-install-recommends install gcc libc6-dev pkg-config")
    assert "1 converged" in inside(root, fit)
    inside(root, f"cd /tmp && cc -std=c11 -fPIC -shared $(pkg-config --cflags stiffit) -o plugin.so {examples}/decay/decay.c "
           "-lm && stiffit model check plugin.so")
    inside(root, "apt-get -qy purge stiffit")
    assert set(path for path in root.glob("usr/**/*stiffit*")) == before


@h.slow
def test_debian_package(tmp):
    need("dpkg-buildpackage", "dh")
    shell(h.ROOT / "scripts/make-deb", VERSION, tmp / "deb")
    package, = (path for path in (tmp / "deb").glob("stiffit_*.deb"))
    listed = shell("dpkg-deb", "-c", package)
    for name in INSTALLED:
        assert f"./usr/{name}" in listed, name
    if shutil.which("lintian"):
        shell("lintian", *(["--allow-root"] if os.getuid() == 0 else []), "--fail-on", "error,warning",
              *(tmp / "deb").glob("*.changes"))
    bare_chroot(tmp / "root")
    try_package(package, tmp / "root")


if __name__ == "__main__":
    h.main()

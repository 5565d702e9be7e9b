"""How stiffit reaches a user: `make install` into a folder of its own, the tarball of the sources, the Debian package, the
bundle with its libraries; both of these in a bare Debian. The recipes for conda and Spack only agree with the sources.

SPDX-License-Identifier: BSD-3-Clause
"""
import ast
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tarfile

import h5py
import numpy as np

import helpers as h
import sbml_text
import test_library as library

INSTALLED = ("bin/stiffit", "include/stiffit/model.h", "share/man/man1/stiffit.1", "share/man/man3/stiffit-model.3",
             "share/man/man5/stiffit-file.5", "share/bash-completion/completions/stiffit",
             "share/zsh/site-functions/_stiffit", "share/fish/vendor_completions.d/stiffit.fish", "share/pkgconfig/stiffit.pc",
             *(f"share/doc/stiffit/examples/{name}" for name in (
                 "alpha-pinene/alpha-pinene.ode", "alpha-pinene/README.md", "library/pk-oral-1.ode", "decay/decay.c",
                 "alpha-pinene.csv", "slurm/array.sh", "slurm/Makefile.example")))
LIBRARY = ("include/stiffit/stiffit.h", "lib/libstiffit.so.0", "lib/libstiffit.so", "lib/libstiffit.a",
           "lib/pkgconfig/libstiffit.pc", "share/man/man3/libstiffit.3",
           "share/doc/stiffit/examples/fit-alpha-pinene.c")
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


def test_libraries_that_each_process_loads(tmp):
    """Debian's HDF5 and SUNDIALS want some sixty more for cloud storage and MPI, 4 and 30 ms of CPU in each process: where
    there are archives, the program does without."""
    made = {path.name for path in (h.BUILD / "archives").glob("*.a")}
    if h.SANITIZE or not made or not shutil.which("ldd"):
        h.skip("no archives of libraries here, or no ldd")
    loaded = subprocess.run(["ldd", h.STIFFIT], capture_output=True, text=True, check=True).stdout
    for archive, words in (("libhdf5.a", ("hdf5", "curl")), ("libsundials_core.a", ("sundials", "mpi", "ucs"))):
        for word in words if archive in made else ():
            assert f"lib{word}" not in loaded, loaded


def test_install_use_uninstall(tmp):
    need_plain_build()
    need("pkg-config")
    words = (f"DESTDIR={tmp}/a dest", "prefix=/opt/my programs")
    make("install", *words)
    base = tmp / "a dest/opt/my programs"
    for name in INSTALLED + LIBRARY:
        assert (base / name).stat().st_size > 0, name
    assert (base / "share/doc/stiffit/LICENSE").read_bytes() == (h.ROOT / "LICENSE").read_bytes()
    installed = {path.name for path in (base / "share/doc/stiffit/examples").iterdir()}
    assert {path.parent.name for path in h.ROOT.glob("models/*/README.md")} <= installed
    assert {path.name for path in h.ROOT.glob("data/*.csv")} <= installed
    pc = {"PKG_CONFIG_PATH": base / "share/pkgconfig", "PKG_CONFIG_SYSROOT_DIR": tmp / "a dest"}
    assert shell("pkg-config", "--modversion", "stiffit", **pc).strip() == VERSION
    flags = shlex.split(shell("pkg-config", "--cflags", "stiffit", **pc))
    assert flags == [f"-I{base}/include"], flags

    shell("cc", "-std=c11", "-O1", "-fPIC", "-shared", *flags, h.ROOT / "models/robertson/robertson.c", "-o", tmp / "plugin.so",
          "-lm")
    assert f"stiffit {VERSION}" in shell(base / "bin/stiffit", "--version")
    shell(base / "bin/stiffit", "model", "check", tmp / "plugin.so")
    examples = base / "share/doc/stiffit/examples"
    shell(base / "bin/stiffit", "import", examples / "alpha-pinene.csv", "--model", examples / "alpha-pinene/alpha-pinene.ode",
          "-o", tmp / "p.h5")
    shell(base / "bin/stiffit", "run", tmp / "p.h5")
    with h5py.File(tmp / "p.result.h5") as f:  # Box, Hunter et al. 1973, Technometrics 15: 5.93e-5 a minute
        assert np.isclose(f["fits/parameters"][0][0], 5.93e-5, rtol=2e-2), f["fits/parameters"][0]
    if shutil.which("man"):
        pages = shell("man", "-M", base / "share/man", "-w", "stiffit", "stiffit-run", "stiffit-slurm", "5", "stiffit-model")
        assert len(pages.splitlines()) >= 4 and all(str(base) in page for page in pages.splitlines()), pages

    make("uninstall", *words)
    assert not [path for path in tmp.glob("a dest/**/*") if path.is_file()]
    assert not (base / "include/stiffit").exists() and not (base / "share/doc/stiffit").exists()


@h.more
def test_c_program_of_an_installed_library(tmp):
    need_plain_build()
    need("pkg-config", "make", "cc")
    library.run("make", "-s", "-C", h.ROOT, "install", f"DESTDIR={tmp}/dest", "prefix=/opt/stiffit")
    base = tmp / "dest/opt/stiffit"
    pc = {"PKG_CONFIG_PATH": base / "lib/pkgconfig", "PKG_CONFIG_SYSROOT_DIR": tmp / "dest"}
    flags = shlex.split(library.run("pkg-config", "--cflags", "--libs", "libstiffit", **pc).stdout)
    assert set(flags) == {f"-I{base}/include", f"-L{base}/lib", "-lstiffit"}, flags
    words = (
        "cc",
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        library.EXAMPLES / "fit-alpha-pinene.c",
        "-o",
        tmp / "fit",
    )
    library.run(*words, *flags)
    shown = library.run("readelf", "-d", tmp / "fit").stdout
    assert "libstiffit.so.0" in shown and "hdf5" not in shown, shown
    library.check_fit(library.run(tmp / "fit", *library.PINENE, LD_LIBRARY_PATH=base / "lib").stdout)

    # Static, with what the .pc file lists; the sysroot is for files of the DESTDIR alone.
    libs = library.run(
        "pkg-config", "--static", "--libs", "libstiffit", PKG_CONFIG_PATH=base / "lib/pkgconfig"
    ).stdout.split()
    library.run(
        "cc",
        *words[1:5],
        library.EXAMPLES / "fit-alpha-pinene.c",
        "-o",
        tmp / "static",
        f"-I{base}/include",
        base / "lib/libstiffit.a",
        *[word for word in libs if word != "-lstiffit"],
    )
    assert "libstiffit" not in library.run("readelf", "-d", tmp / "static").stdout
    library.check_fit(library.run(tmp / "static", *library.PINENE).stdout)
    # In C++ the header means the same.
    (tmp / "a.cc").write_text(
        "#include <stiffit/stiffit.h>\nint main() { return stiffit_version() == nullptr; }\n"
    )
    if shutil.which("c++"):
        library.run("c++", "-Wall", "-Werror", tmp / "a.cc", "-o", tmp / "a", *flags)
        library.run(tmp / "a", LD_LIBRARY_PATH=base / "lib")


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


@h.more
def test_tarball_of_sources(tmp):
    folder, tarball = unpack_sources(tmp)
    for name in ("Makefile", "src/cli/main.c", "tests/run", "scripts/install-deps", "man/stiffit.1", "LICENSE", ".ci/run"):
        runs = [bool(path.stat().st_mode & 0o100) for path in (folder / name, h.ROOT / name)]  # all that git knows of modes
        assert runs[0] == runs[1], name
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


def text_of(name):
    return (h.ROOT / "scripts" / name).read_text(encoding="utf-8")


def build_needs():
    """need: (its package on Debian, on conda-forge), of what a build needs."""
    rows = re.findall(r"^build +([a-z]\S+) +([a-z]\S+) +\S+ +(\S+)", text_of("install-deps"), re.M)
    assert len(rows) > 9
    return {need: packages for need, *packages in rows}


def test_debian_files_agree_with_the_sources(tmp):
    assert text_of("debian/changelog").startswith(f"stiffit ({VERSION}-1) "), text_of("debian/changelog")
    wanted = re.search(r"^Build-Depends:(.*?)^\S", text_of("debian/control"), re.M | re.S).group(1)
    for need, (package, _) in build_needs().items():
        if need not in ("compiler", "make", "openblas"):  # build-essential has two; OpenBLAS is loaded when it is needed
            assert package in re.findall(r"[\w.-]+", wanted), package
    assert "libopenblas0" in text_of("debian/control")
    for pattern in text_of("debian/docs").split():
        assert list(h.ROOT.glob(pattern)), pattern
    text = (h.ROOT / "LICENSE").read_text(encoding="utf-8")
    for line in text[text.index("Redistribution"):].splitlines():
        assert line in text_of("debian/copyright"), line


def test_recipes_agree_with_the_sources(tmp):
    try:
        import yaml
    except ImportError:
        h.skip("no PyYAML")
    recipe = yaml.safe_load(text_of("conda/recipe.yaml"))
    assert recipe["context"]["version"] == VERSION
    packages = {word.split()[0] for kind in ("build", "host") for word in recipe["requirements"][kind]}
    assert "openmpi" in packages and {"gnuplot", "openmpi"} <= set(recipe["requirements"]["run"])
    assert [source["url"].split("/")[-1].split("-")[0] for source in recipe["source"]] == ["stiffit", "chart.js"]
    for need, (_, package) in build_needs().items():
        assert package in packages or package in ("compilers", "-"), package
    shell("bash", "-n", h.ROOT / "scripts/conda/build.sh")
    calls = [node for node in ast.walk(ast.parse(text_of("spack/package.py"))) if isinstance(node, ast.Call)]
    words = {(call.func.id, call.args[0].value) for call in calls if isinstance(call.func, ast.Name) and call.args}
    assert ("version", VERSION) in words
    for need in set(build_needs()) - {"compiler", "make", "pkg-config", "klu", "chart.js"}:  # KLU is in suite-sparse
        assert any(name.removeprefix("lib").startswith(need.removeprefix("lib")) for _, name in words), need
    assert {("depends_on", "mpi"), ("depends_on", "gnuplot")} <= words
    assert any(call.func.id == "resource" and {word.arg: word.value.value for word in call.keywords}["name"] == "chart.js"
               for call in calls if isinstance(call.func, ast.Name))
    # Both give the charts' file to make, which takes it.
    for text in (text_of("conda/build.sh"), text_of("spack/package.py")):
        assert "CHART_JS=chart.js/dist/chart.min.js" in text
    assert "CHART_JS ?=" in (h.ROOT / "Makefile").read_text(encoding="utf-8")


def section(name):
    """A section of the recipe for Apptainer."""
    return re.search(rf"^%{name}\n(.*?)(?=^%|\Z)", text_of("apptainer/stiffit.def"), re.M | re.S).group(1)


def test_recipe_for_apptainer_agrees_with_the_sources(tmp):
    words = section("post").split()
    for need, (package, _) in build_needs().items():
        assert package in words, need
    assert {"libopenmpi-dev", "gnuplot-nox"} <= set(words)
    for name in ("post", "runscript", "test"):
        shell("sh", "-n", "-c", section(name))
    tests = subprocess.run(["sh", "-e", "-c", section("test")], capture_output=True, text=True, check=False,
                           env=h.environment(PATH=f"{h.BUILD}:{os.environ['PATH']}"))
    assert tests.returncode == 0 and "0 faults" in tests.stdout, tests.stderr


@h.slow
def test_recipe_for_apptainer_in_a_bare_system(tmp):
    """What it does in an image of Debian, in a chroot."""
    need_plain_build()
    bare_chroot(tmp / "root")
    folder, _ = unpack_sources(tmp)
    shutil.move(folder, tmp / "root/opt/stiffit")
    inside(tmp / "root", section("post"))
    assert "0 faults" in inside(tmp / "root", section("test"))
    assert not (tmp / "root/opt/stiffit").exists()


def bare_chroot(root):
    """A Debian without anything but apt, from where apt gets its own packages."""
    need("debootstrap", "unshare")
    if os.getuid() != 0:
        h.skip("needs root")
    lists = [path.read_text(encoding="utf-8") for path in sorted(pathlib.Path("/etc/apt").glob("sources.list*/*.*"))
             + sorted(pathlib.Path("/etc/apt").glob("sources.list"))]
    mirrors = re.findall(r"^(?:URIs:|deb(?: \[.*?\])?) *(\S+/debian)/?(?:\s|$)", "\n".join(lists), re.M)
    if not mirrors:
        h.skip("apt has no source that ends in /debian")
    done = subprocess.run(["debootstrap", "--variant=minbase", "bookworm", root, mirrors[0]],
                          env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True, check=False)
    if done.returncode:
        h.skip(f"debootstrap fails: {done.stdout[-200:]}")


def inside(root, command, code=0, user="0"):
    """What a command prints that a shell in the chroot runs, both streams. Its /proc vanishes with this mount namespace."""
    mounted = 'mount -t proc proc "$0/proc" && exec chroot --userspec="$2" "$0" sh -ec "$1"'
    done = subprocess.run(["unshare", "--mount", "sh", "-c", mounted, str(root), command, f"{user}:{user}"],
                          capture_output=True, text=True, check=False,
                          env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                               "DEBIAN_FRONTEND": "noninteractive"})
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


FIRST_FIT = ("cd /tmp && rm -f *.h5 && stiffit import {data}/alpha-pinene.csv --model {models}/alpha-pinene/alpha-pinene.ode "
             "-o p.h5 && stiffit run p.h5 && stiffit show p.result.h5")
MOVED = "/srv/of its own/stiffit"


def try_bundle(tarball, root):
    """Where nothing is installed: the commands of its README, there and after a move; the libraries that it loads by name."""
    shutil.copy(tarball, root / "opt")
    inside(root, "cd /opt && tar -xf *.tar.gz && rm *.tar.gz && mv stiffit-* unpacked")
    commands = "".join(re.findall(r"^    .*\n", (root / "opt/unpacked/README").read_text(encoding="utf-8"), re.M))
    assert commands.count("stiffit ") == 3, commands
    assert "1 converged" in inside(root, f"cd /opt/unpacked\n{commands}", user="65534")
    inside(root, f"rm /tmp/*.h5 && mkdir -p '{MOVED}' && rmdir '{MOVED}' && mv /opt/unpacked '{MOVED}'")
    assert "1 converged" in inside(root, f"cd '{MOVED}'\n{commands}", user="65534")
    (root / "tmp/m.xml").write_text(sbml_text.sbml(sbml_text.parameter("k", 1)), encoding="utf-8")
    assert "lapack linear solver" in inside(root, f"PATH='{MOVED}'/bin:$PATH; cd /tmp && stiffit import m.xml -o m.ode && "
                                            "stiffit run pinene.h5 --trust --linear-solver lapack --restart --overwrite")
    inside(root, "rm /tmp/*.h5")


def try_bundle_with_compiler(root):
    models = f"'{MOVED}'/share/doc/stiffit/examples"
    assert "1 converged" in inside(root, f"PATH='{MOVED}'/bin:$PATH; " + FIRST_FIT.format(data=models, models=models))
    inside(root, f"cd '{MOVED}' && cc -std=c11 -fPIC -shared -Iinclude -o /tmp/decay.so {models}/decay/decay.c -lm && "
           "bin/stiffit model check /tmp/decay.so && PKG_CONFIG_PATH=share/pkgconfig pkg-config --cflags stiffit")


def try_package(package, root):
    """Installed, used without a compiler and with one, and removed. The compiler stays."""
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
def test_packages_in_a_bare_system(tmp):
    need_plain_build()
    need("dpkg-buildpackage", "dh")
    make("deb")
    package, = (h.BUILD / "deb").glob(f"stiffit_{VERSION}-1_*.deb")
    listed = shell("dpkg-deb", "-c", package)
    for name in INSTALLED:
        assert f"./usr/{name}" in listed, name
    if shutil.which("lintian"):
        shell("lintian", *(["--allow-root"] if os.getuid() == 0 else []), "--fail-on", "error,warning",
              *(h.BUILD / "deb").glob(f"stiffit_{VERSION}-1_*.changes"))
    make("bundle")
    bundle, = (h.BUILD / "bundle").glob(f"stiffit-{VERSION}-*.tar.gz")
    with tarfile.open(bundle) as tar:
        names = tar.getnames()
    folder = bundle.name.removesuffix(".tar.gz")
    for name in INSTALLED:
        assert f"{folder}/{name}" in names, name
    bare_chroot(tmp / "root")
    try_bundle(bundle, tmp / "root")
    try_package(package, tmp / "root")
    try_bundle_with_compiler(tmp / "root")


if __name__ == "__main__":
    h.main()

# SPDX-License-Identifier: BSD-3-Clause
"""A package for Spack. The sources are the tarball of make dist; the address and the hash stand for those of a published
release."""

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Stiffit(MakefilePackage):
    """stiffit fits one stiff ODE model to many independent datasets: a thousand, or a million. Models are texts of plain
    equations or small C files; data and results are HDF5 files."""

    homepage = "https://stiffit.example"
    url = "https://stiffit.example/releases/stiffit-0.2.0.tar.gz"

    maintainers("stiffit-maintainer")

    license("BSD-3-Clause")

    version("0.2.0", sha256="0000000000000000000000000000000000000000000000000000000000000000")

    variant("sbml", default=False, description="Import models in SBML")
    variant("mpi", default=False, description="Run one fit on many machines")
    variant("plot", default=True, description="Draw fits with gnuplot")

    # Chart.js, which `stiffit report` puts into its pages.
    resource(
        name="chart.js",
        url="https://registry.npmjs.org/chart.js/-/chart.js-3.9.1.tgz",
        sha256="0000000000000000000000000000000000000000000000000000000000000000",
        placement="chart.js",
    )

    depends_on("c", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("sundials@6.4:~mpi")
    depends_on("liblbfgs")
    depends_on("openblas")
    depends_on("hdf5~mpi")
    depends_on("suite-sparse")
    depends_on("nettle")
    depends_on("zlib-api")
    depends_on("libyaml")
    depends_on("sbml", when="+sbml")
    depends_on("mpi", when="+mpi")
    depends_on("gnuplot", type="run", when="+plot")

    @property
    def build_targets(self):
        """For any CPU of its kind; the folder of KLU's header differs between versions of SuiteSparse."""
        headers = self.spec["suite-sparse"].prefix.include
        mpicc = self.spec["mpi"].mpicc if self.spec.satisfies("+mpi") else ""
        return ["PORTABLE=1", "HDF5_ARCHIVE=", "CHART_JS=chart.js/dist/chart.min.js", f"MPICC={mpicc}",
                f"KLU_CFLAGS=-I{headers} -I{headers.suitesparse}", "build/stiffit"]

    @property
    def install_targets(self):
        return [f"prefix={self.prefix}", *self.build_targets, "install"]

#!/bin/bash
# Builds the conda package: the libraries are in $PREFIX, and packages run on any CPU of their kind.
# SPDX-License-Identifier: BSD-3-Clause
set -eu
export CONDA_PREFIX=$PREFIX
make -j"$CPU_COUNT" V=1 PORTABLE=1 HDF5_ARCHIVE= CHART_JS=chart.js/dist/chart.min.js prefix="$PREFIX" install

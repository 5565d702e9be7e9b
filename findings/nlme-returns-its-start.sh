#!/bin/sh
# R's nlme returns the start values as estimates: without an error, without a warning, with standard errors and p-values.
# SPDX-License-Identifier: BSD-3-Clause
#
# Fourteen subjects with one to three samples each of E0 + Emax t/(EC50 + t), EC50 and E0 random on a logarithmic scale. nlme
# 3.1-162 (R 4.2.2) ends after two iterations at each of five starts. The penalised least squares step of an iteration takes
# no step, the change of the fixed effects is 0, and that meets the test of convergence. The estimates of the five fits are
# the five starts, to the last bit; their log-likelihoods are -112.0 to -107.3.
#
# The model with one random effect less, which is nested in it, moves from its start and has -106.7: a larger model is less
# likely than one that it contains, and a likelihood ratio test of the two is negative. Whoever fits many studies in a loop sees
# success. What shows it: fixef(fit) that equals the start.
#
# Needs R 4.2 and apt (Debian 12). Unpacks nlme in a temporary folder and fails if this changes.
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
apt-get download -q r-cran-nlme=3.1.162-1
dpkg-deb -x r-cran-nlme_3.1.162-1_*.deb "$folder/unpacked"
R_LIBS="$folder/unpacked/usr/lib/R/library" Rscript --vanilla - <<'END'
library(nlme)
stopifnot(packageVersion("nlme") == "3.1.162", startsWith(path.package("nlme"), Sys.getenv("R_LIBS")))
options(warn = 2)  # a warning is an error
d <- data.frame(
  id = c(1, 1, 2, 2, 3, 3, 3, 4, 4, 4, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 11, 11, 12, 12, 12, 13, 14),
  t = c(1, 8, 1, 8, 1, 4, 20, 1, 2, 20, 8, 0.3, 1, 2, 0.3, 4, 8, 0.3, 1, 20, 1, 2, 4, 0.3, 0.3, 8, 1, 8, 20, 8, 4),
  y = c(15.6, 40.3, 18.5, 52.5, 17.5, 45.5, 62, 50.3, 65.7, 55.9, 62.9, 8.81, 23, 30.6, 15.3, 42.2, 46, 7.05, 7.87, 49.5, 18.1,
        29.9, 42.4, 22.8, 15.3, 51, 13.1, 54.3, 61.1, 57.7, 27.1))
emax <- function(t, lE0, lEmax, lEC50) exp(lE0) + exp(lEmax) * t / (exp(lEC50) + t)
fit <- function(random, start)
  nlme(y ~ emax(t, lE0, lEmax, lEC50), data = d, fixed = lE0 + lEmax + lEC50 ~ 1, random = list(id = pdDiag(random)),
       method = "ML", start = start)
values <- numeric(0)
for (start in list(c(5, 60, 3), c(6.9, 30.5, 2.9), c(8, 35, 2.7), c(3.3, 40, 4), c(7, 90, 2))) {
  found <- fit(lEC50 + lE0 ~ 1, log(start))
  cat("start", start, "estimates", exp(fixef(found)), "log-likelihood", logLik(found), "iterations", found$numIter, "\n")
  stopifnot(all(fixef(found) == log(start)), all(is.finite(summary(found)$tTable)))
  values <- c(values, logLik(found))
}
nested <- fit(lEC50 ~ 1, log(c(5, 60, 3)))
cat("without a random E0: estimates", exp(fixef(nested)), "log-likelihood", logLik(nested), "\n")
stopifnot(all(fixef(nested) != log(c(5, 60, 3))), logLik(nested) > max(values) + 0.4)
END

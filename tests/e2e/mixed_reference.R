# What R's lme4 and nlme say of mixed-effects models of two studies: -2 log L, fixed effects, standard deviations over the
# subjects, residual standard deviation. Writes mixed_reference.csv to standard output:
# Rscript tests/e2e/mixed_reference.R > tests/e2e/mixed_reference.csv
# Made with R 4.2.2, lme4 1.1-31, nlme 3.1-162 (Debian: r-base-core, r-cran-lme4, r-cran-nlme).
# nlmer maximises Laplace's approximation with Gauss and Newton's second derivatives; nlme that of a model linearised around the
# conditional modes (Lindstrom & Bates 1990), which is another estimator.
# SPDX-License-Identifier: BSD-3-Clause
suppressMessages({library(lme4); library(nlme)})
put <- function(fit, name, value) cat(sprintf("%s,%s,%.9g\n", fit, name, value), sep = "")
cat("fit,name,value\n")
start <- c(lKe = -2.45, lKa = 0.46, lCl = -3.22)
for (case in 1:2) {
  formula <- list(conc ~ SSfol(Dose, Time, lKe, lKa, lCl) ~ (lKa | Subject) + (lCl | Subject),
                  conc ~ SSfol(Dose, Time, lKe, lKa, lCl) ~ (lCl | Subject))[[case]]
  fit <- suppressWarnings(eval(bquote(nlmer(.(formula), as.data.frame(Theoph), start = start)))) # nlmer reads its call
  label <- c("nlmer theophylline Ka Cl", "nlmer theophylline Cl")[case]
  put(label, "minus_2_log_likelihood", -2 * as.numeric(logLik(fit)))
  put(label, names(fixef(fit)), fixef(fit))
  deviation <- as.data.frame(VarCorr(fit))
  put(label, ifelse(deviation$grp == "Residual", "sigma", paste0("sd_", deviation$var1)), deviation$sdcor)
}
from_nlme <- function(label, fit) {
  put(label, "minus_2_log_likelihood", -2 * as.numeric(logLik(fit)))
  put(label, sub(".(Intercept)", "", sub(".I(log(Wt))", "_power", names(fixef(fit)), fixed = TRUE), fixed = TRUE), fixef(fit))
  deviation <- sqrt(diag(as.matrix(fit$modelStruct$reStruct[[1]]))) * fit$sigma
  put(label, paste0("sd_", sub(".(Intercept)", "", names(deviation), fixed = TRUE)), deviation)
  put(label, "sigma", fit$sigma)
}
from_nlme("nlme theophylline Ka Cl", nlme(conc ~ SSfol(Dose, Time, lKe, lKa, lCl), Theoph, fixed = lKe + lKa + lCl ~ 1,
                                          random = pdDiag(lKa + lCl ~ 1), start = start, method = "ML"))
from_nlme("nlme phenobarbital", nlme(conc ~ phenoModel(Subject, time, dose, lCl, lV), Phenobarb, fixed = list(lCl ~ I(log(Wt)),
    lV ~ I(log(Wt))), random = pdDiag(lCl + lV ~ 1), start = c(-5, 1, 0, 1), na.action = NULL, naPattern = ~ !is.na(conc),
    method = "ML"))

#!/usr/bin/env Rscript
# Exports the phenobarbital study from R and fits it with nlme, as data and as reference answers for stiffit.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: make-phenobarbital.R [FOLDER]     (default: data)
#
# Newborn infants who were given phenobarbital repeatedly: Grasela and Donn (1985), Developmental Pharmacology and Therapeutics
# 8, 374-383; R's nlme::Phenobarb. nlme::phenoModel superposes the doses in one compartment. The pooled fit is nls of it, with
# clearance and volume proportional to powers of the weight. Needs R with nlme. Made with R 4.2.2, nlme 3.1-162.
suppressMessages(library(nlme))
folder <- c(commandArgs(TRUE), "data")[1]
write_csv <- function(frame, name) write.csv(frame, file.path(folder, name), row.names = FALSE, quote = FALSE, na = ".")

study <- as.data.frame(Phenobarb)
study$Subject <- as.integer(as.character(study$Subject))
study <- study[order(study$Subject, study$time), ]
write_csv(data.frame(ID = study$Subject, TIME = study$time, AMT = study$dose, WT = study$Wt, DV = study$conc),
          "phenobarbital.csv")

seen <- !is.na(study$conc)
conc <- study$conc[seen]
predict <- function(lCl, Cl_power, lV, V_power)
    with(study, phenoModel(Subject, time, dose, lCl + Cl_power * log(Wt), lV + V_power * log(Wt)))[seen]
fit <- nls(conc ~ predict(lCl, Cl_power, lV, V_power), start = c(lCl = -5.4, Cl_power = 1.2, lV = 0, V_power = 0.9),
           control = nls.control(tol = 1e-7, minFactor = 1e-8))
answer <- summary(fit)$coefficients
write_csv(data.frame(parameter = rownames(answer), estimate = sprintf("%.8f", answer[, 1]),
                     standard_error = sprintf("%.8f", answer[, 2]), sum_of_squares = sprintf("%.8f", deviance(fit))),
          "phenobarbital-nls.csv")

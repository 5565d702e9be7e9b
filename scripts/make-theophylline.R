#!/usr/bin/env Rscript
# Exports the theophylline study from R and fits it with nlme, as data and as reference answers for stiffit.
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: make-theophylline.R [FOLDER]     (default: data)
# Needs R with nlme (Debian: r-base-core, r-cran-nlme). Made with R 4.2.2, nlme 3.1-162.
suppressMessages(library(nlme))
folder <- c(commandArgs(trailingOnly = TRUE), "data")[1]
write_csv <- function(frame, name)
    write.csv(frame, file.path(folder, name), row.names = FALSE, quote = FALSE)

# Subject is an ordered factor, ordered by its highest concentration: numeric order is easier to read.
study <- data.frame(Subject = as.integer(as.character(Theoph$Subject)), Wt = Theoph$Wt, Dose = Theoph$Dose,
                    Time = Theoph$Time, conc = Theoph$conc)
study <- study[order(study$Subject, study$Time), ]
write_csv(study, "theophylline.csv")

write_csv(data.frame(dataset = study$Subject, time = study$Time, observable = "conc", value = study$conc),
          "theophylline-measurements.csv")
subjects <- unique(study[, c("Subject", "Dose")])
write_csv(data.frame(dataset = subjects$Subject, dose = subjects$Dose), "theophylline-subjects.csv")

# One least-squares fit a subject. The covariates must be named: nlsList(SSfol, data = Theoph) fails.
fits <- nlsList(conc ~ SSfol(Dose, Time, lKe, lKa, lCl) | Subject, data = Theoph)
answers <- coef(fits)
sum_of_squares <- sapply(fits, function(fit) sum(residuals(fit)^2))
rows <- order(as.integer(rownames(answers)))
write_csv(data.frame(dataset = as.integer(rownames(answers))[rows],
                     lapply(answers[rows, ], function(x) sprintf("%.8f", x)),
                     sum_of_squares = sprintf("%.8f", sum_of_squares[rows])),
          "theophylline-nlsList.csv")

# The population: one nonlinear mixed model, restricted maximum likelihood, all covariances free (takes half a minute). Its last
# digits wander: 4 are stable.
mixed <- suppressWarnings(nlme(fits, random = pdSymm(lKe + lKa + lCl ~ 1), method = "REML", control =
    nlmeControl(maxIter = 500, pnlsMaxIter = 50, msMaxIter = 500, tolerance = 1e-6, returnObject = TRUE)))
spread <- as.matrix(mixed$modelStruct$reStruct[[1]]) * mixed$sigma^2
population <- data.frame(parameter = names(fixef(mixed)), mean = fixef(mixed), standard_error = sqrt(diag(vcov(mixed))),
                         deviation = sqrt(diag(spread)), cov2cor(spread), sigma = mixed$sigma)
names(population)[5:7] <- paste0("correlation_", names(fixef(mixed)))
population[-1] <- lapply(population[-1], function(x) sprintf("%.6f", x))
write_csv(population, "theophylline-nlme.csv")

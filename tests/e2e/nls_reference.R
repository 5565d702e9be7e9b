# What R's nls says of the models with real data: estimates, standard errors, residual standard error, deviance. Writes
# nls_reference.csv to standard output: Rscript tests/e2e/nls_reference.R > tests/e2e/nls_reference.csv
# Run from the repository's root. Needs nlme (theophylline); integrates with nothing but base R: a matrix exponential and a
# Runge-Kutta method of order 4.
# SPDX-License-Identifier: BSD-3-Clause
suppressMessages(library(nlme))
control <- nls.control(tol = 1e-7, maxiter = 200, minFactor = 1e-8, nDcentral = TRUE, warnOnly = TRUE)
put <- function(model, dataset, fit) {
  q <- summary(fit)
  rows <- rbind(q$coefficients[, 1:2, drop = FALSE], "(sigma)" = c(q$sigma, NA), "(deviance)" = c(deviance(fit), NA))
  cat(sprintf("%s,%s,%s,%.12g,%.12g\n", model, dataset, rownames(rows), rows[, 1], rows[, 2]), sep = "")
}
cat("model,dataset,parameter,estimate,standard_error\n")

# y' = K y. Scaling and squaring of a Taylor series: ||K t|| / 2^20 is below 1e-5, so that 6 terms are all digits.
exponential <- function(a) {
  a <- a / 2^20
  sum <- term <- diag(nrow(a))
  for (i in 1:6) { term <- term %*% a / i; sum <- sum + term }
  for (i in 1:20) sum <- sum %*% sum
  sum
}
d <- read.csv("data/alpha-pinene.csv")
pinene <- function(p1, p2, p3, p4, p5) {
  k <- matrix(c(-p1 - p2, p1, p2, 0, 0,  0, 0, 0, 0, 0,  0, 0, -p3 - p4, p3, p4,  0, 0, 0, 0, 0,  0, 0, p5, 0, -p5), 5)
  y <- sapply(unique(d$time), function(t) exponential(k * t) %*% c(100, 0, 0, 0, 0))
  y[cbind(match(d$observable, paste0("y", 1:5)), match(d$time, unique(d$time)))]
}
put("alpha-pinene", "alpha-pinene", nls(value ~ pinene(p1, p2, p3, p4, p5), d, control = control,
                            start = list(p1 = 6e-5, p2 = 3e-5, p3 = 2e-5, p4 = 2.5e-4, p5 = 4e-5)))

h <- read.csv("data/hare-lynx.csv")
years <- sort(unique(h$time))
lotka <- function(alpha, beta, gamma, delta, H0, L0, n = 200) { # n steps a year
  rate <- function(y) c(y[1] * (alpha - beta * y[2]), y[2] * (delta * y[1] - gamma))
  y <- c(H0, L0)
  out <- matrix(y, 2, length(years))
  for (i in 2:length(years)) {
    s <- (years[i] - years[i - 1]) / n
    for (k in 1:n) {
      a <- rate(y); b <- rate(y + s / 2 * a); c <- rate(y + s / 2 * b); e <- rate(y + s * c)
      y <- y + s / 6 * (a + 2 * b + 2 * c + e)
    }
    out[, i] <- y
  }
  out[cbind(match(h$observable, c("hare", "lynx")), match(h$time, years))]
}
put("hare-lynx", "hudson-bay", nls(value ~ lotka(alpha, beta, gamma, delta, H0, L0), h, control = control,
                         start = list(alpha = 0.5, beta = 0.025, gamma = 0.9, delta = 0.025, H0 = 35, L0 = 4)))

fits <- nlsList(conc ~ SSfol(Dose, Time, lKe, lKa, lCl) | Subject, data = Theoph, control = control)
for (s in sort(names(fits))) put("theophylline", s, fits[[s]])

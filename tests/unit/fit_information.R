# The numbers of test_fit_information.c: Rscript tests/unit/fit_information.R (package survival)
# SPDX-License-Identifier: BSD-3-Clause
suppressMessages(library(survival))
options(digits = 12, warn = -1)
i <- 0:23
t <- 0.5 * i
e <- sin(7 * i) + 0.6 * cos(3 * i * i)
y <- round(2 - 0.25 * t + 0.4 * e, 4)
out <- replace(y, c(5, 17), y[c(5, 17)] + c(3, -2.5))
show <- function(name, ...) cat(name, ":", paste(sprintf("%.12g", c(...)), collapse = ", "), "\n")
show("y", y)
tight <- survreg.control(rel.tolerance = 1e-14, maxiter = 200)
# estimates of a, b, s; minus log likelihood; standard errors (that of s from the one of log s)
survived <- function(name, f) {
  se <- sqrt(diag(vcov(f)))
  show(name, coef(f), f$scale, -f$loglik[2], se[1:2], se[3] * f$scale)
}
side <- function(v, low, high) ifelse(v < low, 2, ifelse(v > high, 0, 1)) # Surv's codes: 2 left, 0 right, 1 exact
censored <- function(v, low, high) {
  v2 <- pmin(pmax(v, low), high)
  k <- side(v, low, high)
  Surv(ifelse(k == 2, NA, v2), ifelse(k == 0, NA, v2), type = "interval2")
}
survived("left", survreg(censored(y, 0.3, Inf) ~ t, dist = "gaussian", control = tight))
survived("right", survreg(censored(y, -Inf, 1.6) ~ t, dist = "gaussian", control = tight))
survived("both", survreg(censored(y, 0.3, 1.6) ~ t, dist = "gaussian", control = tight))
survived("log-normal both", survreg(censored(exp(y), exp(0.3), exp(1.6)) ~ t, dist = "lognormal", control = tight))
# Every second value is only known to lie in its cell, 0.8 wide.
cell <- function(v, low) ifelse(i %% 2 == 0, 0.8 * floor(v / 0.8), ifelse(v < low, NA, v))
above <- function(v, low) ifelse(i %% 2 == 0, 0.8 * floor(v / 0.8) + 0.8, pmax(v, low))
cells <- function(f, low) Surv(f(cell(y, low)), f(above(y, low)), type = "interval2")
survived("cells", survreg(cells(identity, 0.3) ~ t, dist = "gaussian", control = tight))
survived("log-normal cells", survreg(cells(exp, 0.3) ~ t, dist = "lognormal", control = tight))
survived("student", survreg(Surv(out) ~ t, dist = "t", parms = 4, control = tight))
# Objectives written out.
# Second derivatives from five values a direction pair (error of the fourth order in the step), and Newton's steps with them.
hessian <- function(x, f, h) {
  n <- length(x)
  d <- function(g, x, v) (8 * (g(x + h * v) - g(x - h * v)) - (g(x + 2 * h * v) - g(x - 2 * h * v))) / (12 * h)
  axis <- function(k) replace(numeric(n), k, 1)
  sapply(1:n, function(k) sapply(1:n, function(l) d(function(z) d(f, z, axis(l)), x, axis(k))))
}
slope <- function(x, f, h) sapply(seq_along(x), function(k) {
  v <- replace(numeric(length(x)), k, h)
  (8 * (f(x + v) - f(x - v)) - (f(x + 2 * v) - f(x - 2 * v))) / (12 * h)
})
fitted <- function(name, f, start, h = 4e-4) {
  best <- optim(start, f, control = list(reltol = 1e-15, maxit = 5000))$par
  for (k in 1:6) best <- best - solve(hessian(best, f, h), slope(best, f, h))
  show(name, best, f(best), sqrt(diag(solve(hessian(best, f, h)))))
}
rho <- function(r, k = 1.345) ifelse(abs(r) <= k, r^2 / 2, k * abs(r) - k^2 / 2)
fitted("huber, s = 0.5", function(p) sum(rho((p[1] + p[2] * t - out) / 0.5)), c(2, -0.25), 1e-4) # between kinks
fitted("student, s = 0.5", function(p) sum(2.5 * log1p(((p[1] + p[2] * t - out) / 0.5)^2 / 4)), c(2, -0.25))
fitted("sd = s + c t", function(p) -sum(dnorm(y, p[1] + p[2] * t, p[3] + p[4] * t, log = TRUE)), c(2, -0.25, 0.4, 0.01))
in_cells <- function(m, s) {
  ends <- pnorm(above(y, -Inf), m, s) - pnorm(cell(y, -Inf), m, s)
  -sum(ifelse(i %% 2 == 0, log(ends), dnorm(y, m, s, log = TRUE)))
}
fitted("cells, s = 0.3", function(p) in_cells(p[1] + p[2] * t, 0.3), c(2, -0.25))
fitted("sd = s + c t, cells", function(p) {
  s <- p[3] + p[4] * t
  if (any(s <= 0)) 1e10 else in_cells(p[1] + p[2] * t, s)
}, c(2, -0.25, 0.4, 0.01))
fitted("sd = s + c t, left", function(p) {
  m <- p[1] + p[2] * t; s <- p[3] + p[4] * t
  if (any(s <= 0)) return(1e10)
  -sum(ifelse(y < 0.3, pnorm(0.3, m, s, log.p = TRUE), dnorm(y, m, s, log = TRUE)))
}, c(2, -0.25, 0.4, 0.01))

"""The R package of scripts/r: data frames become a problem, its fits data frames, errors speak of rows and arguments; against
h5py, NumPy and closed forms. Its examples are run.

SPDX-License-Identifier: BSD-3-Clause
"""
import fcntl
import functools
import json
import shutil
import subprocess

import h5py
import numpy as np

import helpers as h

PACKAGE = h.ROOT / "scripts/r"
LIBRARY = h.BUILD / "tests/r-library"
TRUE = {"a": (0.3, 2.0), "b": (0.7, 1.0), "007": (1.5, 3.0)}  # k, A of y = A exp(-k t)
TIMES = np.linspace(0.5, 8, 16)
# `told` has what is checked: values, and the messages of calls that fail.
BEGIN = """
library(stiffit, lib.loc = commandArgs(TRUE)[1])
text <- "
parameter k = 0.5 in [1e-4, 1e4] scale log
parameter A = 1 in [1e-4, 1e4] scale log
y(0) = A
y' = -k*y
observe y
"
true <- data.frame(id = c("a", "b", "007"), k = c(0.3, 0.7, 1.5), A = c(2, 1, 3))
times <- seq(0.5, 8, by = 0.5)
data <- do.call(rbind, lapply(1:3, function(i) data.frame(dataset = true$id[i], time = times,
                                                          value = true$A[i]*exp(-true$k[i]*times), sigma = 0.01)))
told <- list()
refused <- function(call) tryCatch({ call; "not refused" }, error = function(fault) conditionMessage(fault))
exact <- function(x) { x[] <- sprintf("%.17g", x); x } # JSON has 15 digits
types <- function(table) vapply(table, typeof, "")
"""
END = '\ncat("\\ntold:", as.character(jsonlite::toJSON(told, digits = NA, auto_unbox = TRUE, na = "null")))\n'


@functools.lru_cache(maxsize=None)
def install():
    """Into the build, again if the sources have changed."""
    if not shutil.which("Rscript"):
        h.skip("no R")
    LIBRARY.mkdir(parents=True, exist_ok=True)
    made = LIBRARY / "stiffit/DESCRIPTION"
    with open(LIBRARY / "lock", "w", encoding="utf-8") as lock:  # another test may be at it
        fcntl.flock(lock, fcntl.LOCK_EX)
        install_into(made)


def install_into(made):
    if not made.exists() or made.stat().st_mtime < max(file.stat().st_mtime for file in PACKAGE.rglob("*")):
        done = subprocess.run(["R", "CMD", "INSTALL", "--no-test-load", f"--library={LIBRARY}", PACKAGE], capture_output=True,
                              text=True, check=False)
        if "jsonlite" in done.stderr and done.returncode:
            h.skip("no R with jsonlite")
        assert done.returncode == 0, done.stderr


def run(tmp, script, *words):
    return subprocess.run(["Rscript", "-e", script, LIBRARY, *words], cwd=tmp, capture_output=True, text=True, check=False,
                          env=h.environment(STIFFIT=h.STIFFIT))


def told(tmp, script):
    """What a script told, and all that it printed."""
    install()
    done = run(tmp, BEGIN + script + END)
    assert done.returncode == 0, done.stdout + done.stderr
    printed, _, text = done.stdout.rpartition("\ntold:")
    return json.loads(text), printed, done.stderr


def test_a_session(tmp):
    """A fit, its tables, and what a result can do."""
    said, printed, noted = told(tmp, """
result <- stiffit_fit(data, text, output = "p.h5", starts = 2, keep_starts = TRUE, progress = TRUE)
print(result)
table <- as.data.frame(result)
told$id <- table$id
told$best <- exact(coef(result))
told$residuals <- residuals(result)
told$fitted <- fitted(result)$prediction
told$curve <- predict(result, c(0, 1.5), id = "b")
told$covariance <- exact(vcov(result, "b"))
told$correlation <- vcov(result, "b", correlation = TRUE)
told$starts <- nrow(stiffit_export(result, "starts"))
told$median <- summary(result)$median
told$population <- stiffit_population(result)$parameters$mean
fewer <- stiffit_fit(data, text, fix = c(A = 2))
told$totals <- stiffit_compare(result, fewer)$totals
told$read <- identical(as.data.frame(stiffit_read("p.result.h5")), table)
told$tables <- stiffit_simulate(text, c(0, 2), parameters = data.frame(dataset = c("u", "v"), k = c(0.5, 0.1), A = 2))$value
told$dosed <- refused(stiffit_simulate(text, 1, doses = data.frame(dataset = "simulated", time = 0, amount = "much")))
told$simulated <- stiffit_simulate(text, c(0, 0.5, 3), set = c(k = 0.3, A = 2))$value
again <- stiffit_run(simulate(result, 3, output = "again.h5", id = "b", method = "parametric"))
told$again <- coef(again)[, "k"]
told$report <- readLines(stiffit_report(result, "fits.html"), 1)
pdf("fits.pdf"); plot(result, "b"); plot(result); invisible(dev.off())
folder <- dirname(fewer$path)
told$folder <- file.exists(folder)
rm(fewer); invisible(gc())
told$gone <- !file.exists(folder)
""")
    assert "<stiffit result p.result.h5: 3 fits, 3 converged>" in printed and "6/6 starts" in noted
    assert said["id"] == list(TRUE) and said["starts"] == 6
    with h5py.File(tmp / "p.result.h5") as f:
        best, square = f["fits/parameters"][:], f["fits/covariance"][1].reshape(2, 2)
    with h5py.File(tmp / "p.h5") as f:
        # R reads and writes decimal numbers; its exp may round otherwise than NumPy's
        np.testing.assert_allclose(f["measurements/value"][:], [A * np.exp(-k * t) for k, A in TRUE.values() for t in TIMES],
                                   rtol=4e-16)
    np.testing.assert_allclose(np.array(said["best"], float), best, rtol=4e-16)  # R reads to within a bit
    np.testing.assert_allclose(best, list(TRUE.values()), rtol=1e-5)  # --rtol 1e-7
    np.testing.assert_allclose(said["median"], np.median(best, axis=0), rtol=1e-14)
    rows = {name: np.array([row[name] for row in said["residuals"]]) for name in ("value", "prediction", "residual")}
    np.testing.assert_allclose(rows["value"] - rows["prediction"], rows["residual"], atol=1e-14)
    np.testing.assert_array_equal(rows["prediction"], said["fitted"])
    k, A = best[1]
    np.testing.assert_allclose([row["prediction"] for row in said["curve"]], A * np.exp(-k * np.array([0, 1.5])), rtol=1e-6)
    np.testing.assert_allclose(np.array(said["covariance"], float), square, rtol=4e-16)
    np.testing.assert_allclose(said["correlation"][0][1], square[0, 1] / np.sqrt(square[0, 0] * square[1, 1]), rtol=1e-14)
    # exact data: the errors of the fits (1 %) are small beside the spread over the datasets (60 %)
    np.testing.assert_allclose(said["population"], np.log(list(TRUE.values())).mean(axis=0), atol=0.02)
    assert [row["parameters"] for row in said["totals"]] == [6, 3]
    for row in said["totals"]:
        np.testing.assert_allclose(row["aic"], 2 * row["parameters"] - 2 * row["log_likelihood"], rtol=1e-12)
    assert said["read"] and said["folder"] and said["gone"] and said["report"].lower().startswith("<!doctype html>")
    np.testing.assert_allclose(said["simulated"], 2 * np.exp(-0.3 * np.array([0, 0.5, 3])), rtol=1e-6)
    np.testing.assert_allclose(said["tables"], 2 * np.exp(-np.outer([0.5, 0.1], [0, 2])).ravel(), rtol=1e-6)
    assert said["dosed"].startswith("doses, row 1: column 'amount': 'much'"), said["dosed"]
    assert len(said["again"]) == 4
    np.testing.assert_allclose(said["again"], TRUE["b"][0], rtol=0.2)  # standard error 3 %
    assert (tmp / "fits.pdf").stat().st_size > 3000


def test_errors_and_types(tmp):
    said, _, noted = told(tmp, """
stiffit_problem(data, text, "p.h5", start = c(k = 0.25), fix = c(A = 2))
before <- file.mtime("p.h5")
told$options <- c(refused(stiffit_fit(data, text, output = "p.h5", strats = 3)),
                  refused(stiffit_fit(data, text, output = "p.h5", max_step = "wide")),
                  refused(stiffit_fit(data, text, output = "p.h5", certify = 3)))
told$kept <- identical(file.mtime("p.h5"), before)
bad <- transform(data, value = as.character(value))
bad$value[c(4, 41)] <- c("low", "high")
told$rows <- refused(stiffit_fit(bad, text))
rownames(bad) <- paste0("r", 1:48)
bad$dataset[1:16] <- "two\\nlines"
told$names <- refused(stiffit_fit(bad, text))
told$others <- c(refused(stiffit_fit(data, text, doses = list(dataset = "a", time = 0, amount = "much"))),
                 refused(stiffit_fit(data, text, parameters = data.frame(parameter = c("k", "q"), start = 1))),
                 refused(stiffit_fit(data, text, share = "q")), refused(stiffit_fit(data, paste0(text, "z' = q*y\\n"))),
                 refused(stiffit_fit(7, text)), refused(stiffit_fit(data[0, ], text)))
told$code <- tryCatch(stiffit_fit(bad, text), stiffit_error = function(fault) fault$code)
mixed <- transform(data, sigma = ifelse(seq_len(48) == 38, -1, sigma), dataset = factor(dataset))
mixed <- mixed[order(mixed$time), ]
rownames(mixed) <- NULL
told$bad <- which(mixed$sigma == -1)
told$message <- as.data.frame(stiffit_fit(mixed, text))$message
result <- stiffit_fit(transform(data, remark = 1), text)
whole <- stiffit_fit(transform(data, dataset = c(a = "NA", b = "1", "007" = "007")[dataset]), text, start = c(k = 1, A = 2),
                     fix = c(k = 1), evaluate = TRUE)
told$ids <- as.data.frame(whole)$id
odd <- c("\\u00e9\\u03bc", "a,b", "q\\"x", " blank ", "#1", "two\\nlines", "x;y") # the tests' locale has ASCII alone
odd_fit <- stiffit_fit(data.frame(dataset = rep(odd, each = 2), time = 1:2, value = c(0.5, NA)), text, evaluate = TRUE)
told$odd <- identical(as.data.frame(odd_fit)$id, odd) && nrow(residuals(odd_fit, id = odd[1])) == 2
wanted <- types(as.data.frame(result))
told$types <- as.list(wanted)
told$same <- c(identical(types(as.data.frame(result, where = "k > 99")), wanted),
               identical(types(stiffit_export(whole, columns = "id,k,message,at_bound,notes")),
                         wanted[c("id", "k", "message", "at_bound", "notes")]))
""")
    assert "unknown option strats" in said["options"][0] and "Did you mean starts?" in said["options"][0]
    assert "max_step: 'wide'" in said["options"][1] and "certify: '3'" in said["options"][2] and said["kept"]
    assert "measurements, row 4: column 'value': 'low'" in said["rows"] and "row 41: " in said["rows"]
    assert "row 4 ('r4')" in said["names"] and "row 41 ('r41')" in said["names"]
    for message, words in zip(said["others"], (
            "doses, row 1: column 'amount': 'much'", "parameters, row 2: ", "share: there is no parameter 'q'",
            "model:7:6: error: `q` is not defined", "a data frame is expected, not numeric",
            "measurements: there are no rows")):
        assert words in message, message
    texts = [*said["options"], said["rows"], *said["others"]]
    assert not any(word in text for text in texts for word in ("--", "/tmp", ".csv")), texts
    assert said["code"] == 3 and "measurements: column 'remark' is not used" in noted
    assert said["message"] == ["", "", said["message"][2]]
    assert said["message"][2].startswith(f"measurements, row {said['bad']}: sigma is -1")
    assert said["odd"] and said["ids"] == ["NA", "1", "007"] and said["same"] == [True, True]
    assert {said["types"][name] for name in ("id", "status", "message", "at_bound")} == {"character"}
    assert {said["types"][name] for name in ("k", "iterations", "objective")} == {"double"}


def test_quantities_with_units_are_refused(tmp):
    """As in Python: one message that names the unit and says how to make them numbers."""
    said, _, _ = told(tmp, """
one <- data[data$dataset == "a", ]
start <- as.POSIXct("2026-01-01", tz = "UTC")
with <- function(time) { list <- as.list(one); list$time <- time; list }
as_hms <- structure(one$time*3600, units = "secs", class = c("hms", "difftime"))
as_itime <- structure(as.integer(3600*one$time), class = "ITime")
told$durations <- vapply(list(as.difftime(one$time, units = "hours"), (start + 3600*one$time) - start, as_hms, as_itime),
                         function(time) { frame <- one; frame$time <- time; refused(stiffit_fit(frame, text)) }, "")
told$points <- vapply(list(start + 3600*one$time, as.POSIXlt(start + 3600*one$time), as.Date("2026-01-01") + 0:15),
                      function(time) refused(stiffit_fit(with(time), text)), "")
dose <- list(dataset = "a", time = as.difftime(1, units = "days"), amount = 1)
told$others <- c(refused(stiffit_fit(one, text, doses = dose)),
                 refused(stiffit_simulate(text, as.difftime(c(1, 2), units = "mins"))))
told$wide <- refused(stiffit_fit(transform(one, dataset = structure(rep(5e-324, 16), class = "integer64")), text))
b <- (start + 3600*one$time) - start
told$same <- identical(coef(stiffit_fit(with(as.numeric(b, units = "hours")), text)), coef(stiffit_fit(one, text)))
dated <- stiffit_fit(one, text, covariates = data.frame(dataset = "a", day = as.Date("2026-01-01")))
told$day <- as.data.frame(dated)$day
told$ids <- as.data.frame(stiffit_fit(transform(one, dataset = factor(dataset)), text))$id
""")
    for message, unit in zip(said["durations"], ("hours (difftime)", "mins (difftime)", "secs (hms)", "secs (ITime)")):
        assert message.startswith(f"measurements: the column 'time' has the unit {unit}") and "is in hours" in message, message
        assert len(message.splitlines()) == 1
    for message in said["points"]:
        assert "has points in time (" in message, message
        assert "difftime(data$time, min(data$time), units = \"hours\")" in message, message
    assert said["others"][0].startswith("doses: the column 'time' has the unit days")
    assert said["others"][1].startswith("times has the unit mins")
    assert "the class integer64" in said["wide"] or "has no" not in said["wide"]  # with bit64 it is a text
    assert said["same"] and said["day"] == "2026-01-01" and said["ids"] == "a"


def test_no_relative_place(tmp):
    """The program is not looked for in the present folder."""
    install()
    (tmp / "stiffit").write_text("#!/bin/sh\necho taken\n")
    (tmp / "stiffit").chmod(0o755)
    done = run(tmp, BEGIN + "Sys.setenv(PATH = '.::/nowhere', STIFFIT = 'stiffit')\ncat(refused(stiffit_fit(data, text)))\n")
    assert "there is no program 'stiffit'" in done.stdout, done.stdout + done.stderr


def test_examples_of_its_help(tmp):
    """All of them in one session."""
    install()
    done = run(tmp, 'for (page in list.files(commandArgs(TRUE)[2], full.names = TRUE)) {'
                    ' tools::Rd2ex(page, out <- tempfile()); if (file.exists(out)) {'
                    ' library(stiffit, lib.loc = commandArgs(TRUE)[1]); source(out, echo = TRUE) } }', PACKAGE / "man")
    assert done.returncode == 0 and done.stdout.count("2 fits, 2 converged") == 1, done.stdout + done.stderr


@h.slow
def test_r_accepts_the_package(tmp):
    install()
    env = h.environment(STIFFIT=h.STIFFIT, LC_ALL="C.UTF-8")  # in C, R warns of its own locale
    subprocess.run(["R", "CMD", "build", PACKAGE], cwd=tmp, env=env, capture_output=True, check=True)
    done = subprocess.run(["R", "CMD", "check", "--no-manual", next(tmp.glob("*.tar.gz"))], cwd=tmp, env=env,
                          capture_output=True, text=True, check=False)
    assert "Status: OK" in done.stdout, done.stdout


if __name__ == "__main__":
    h.main()

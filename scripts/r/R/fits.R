# Fits of many datasets: data frames become a problem file, the program fits it, and its result is an object with data frames.
# SPDX-License-Identifier: BSD-3-Clause

tables <- c("covariates", "parameters", "experiments", "doses", "inputs", "events", "substitutes")

is_text <- function(model) is.character(model) && length(model) == 1 && grepl("\n", model, fixed = TRUE)

# The file of a model that may be a text, as `names` needs it.
model_file <- function(model, folder) {
  if (!is_text(model))
    return(list(file = absolute(model), name = model))
  writeLines(enc2utf8(model), file.path(folder, "model.ode"), useBytes = TRUE)
  list(file = "model.ode", name = "model")
}

new_folder <- function() {
  folder <- tempfile("stiffit-")
  dir.create(folder)
  folder
}

stiffit_problem <- function(data, model, output, ...) {
  write_problem(data, model, absolute(output), list(...), list())
  invisible(absolute(output))
}

write_problem <- function(data, model, path, options, names) {
  folder <- new_folder()
  on.exit(unlink(folder, recursive = TRUE))
  source <- model_file(model, folder)
  names <- c(names, list(source))
  words <- c(words_of("import", options[!names(options) %in% tables]), paste0("--model=", source$file),
             paste0("--output=", path), "--overwrite", "--quiet")
  check_options("import", words, names, folder)
  written <- write_tables(options, folder)
  names <- c(names, written$names, list(write_table(data, "measurements", folder)))
  unlink(call_program("import", c(words, written$words, "measurements"), names, folder = folder))
}

# Writes the options that are tables: words that name their files, and their names. The files have short names, which a problem
# keeps for messages on rows.
write_tables <- function(options, folder) {
  options <- options[names(options) %in% tables & !vapply(options, is.null, NA)]
  files <- lapply(stats::setNames(nm = names(options)), function(name) {
    table <- options[[name]]
    if (is.character(table)) list(file = absolute(table), name = table) else write_table(table, name, folder)
  })
  list(words = sprintf("--%s=%s", sub("^covariates$", "datasets", names(files)), vapply(files, function(it) it$file, "")),
       names = unname(files))
}

stiffit_fit <- function(data, model, output = NULL, progress = interactive(), ...) {
  options <- list(...)
  option <- gsub("_", "-", names(options), fixed = TRUE)
  is_import <- names(options) %in% tables | (!option %in% options_of("run")$name & option %in% options_of("import")$name)
  check_options("run", words_of("run", options[!is_import]))
  if (!is.null(output)) {
    path <- absolute(output)
    write_problem(data, model, path, options[is_import], list())
    return(run_problem(path, result_of(path), progress, c(options[!is_import], overwrite = TRUE), list()))
  }
  folder <- new_folder()
  done <- FALSE
  on.exit(if (!done) unlink(folder, recursive = TRUE))
  path <- file.path(folder, "fit.h5")
  names <- list(list(file = path, name = "the problem"), list(file = result_of(path), name = "the result"))
  write_problem(data, model, path, options[is_import], names)
  result <- run_problem(path, result_of(path), progress, options[!is_import], names)
  # The files go with the last copy of the result.
  result$keeper <- new.env()
  reg.finalizer(result$keeper, function(keeper) unlink(folder, recursive = TRUE), onexit = TRUE)
  done <- TRUE
  result
}

result_of <- function(path) paste0(sub("\\.[^./]*$", "", path), ".result.h5")

stiffit_run <- function(path, output = NULL, progress = interactive(), ...) {
  if (!file.exists(path))
    stop("there is no file ", path, call. = FALSE)
  check_options("run", words_of("run", list(...)))
  run_problem(absolute(path), if (!is.null(output)) absolute(output), progress, list(...), list())
}

run_problem <- function(path, output, progress, options, names) {
  words <- c(words_of("run", options), "--json", if (progress) "--progress=always" else "--quiet",
             if (!is.null(output)) paste0("--output=", output), path)
  summary <- read_json(call_program("run", words, names, accept = 0:1, progress = progress))
  structure(list(path = absolute(summary$result), summary = summary), class = "stiffit")
}

stiffit_read <- function(path) {
  if (!file.exists(path))
    stop("there is no file ", path, call. = FALSE)
  structure(list(path = absolute(path)), class = "stiffit")
}

# A command on a result; the file of its standard output.
of_result <- function(command, result, words) {
  names <- if (!is.null(result$keeper)) list(list(file = result$path, name = "the result"))
  call_program(command, c(words, result$path), names)
}

stiffit_export <- function(result, what = "fits", ...) {
  table <- read_table(of_result("export", result, c(paste0("--what=", what), "--types-row", words_of("export", list(...)))))
  if (!is.null(table$message)) { # lines of the table of measurements, whose header is line 1, as its rows from 1
    found <- gregexpr("\\bmeasurements:\\d+", table$message, perl = TRUE)
    regmatches(table$message, found) <- lapply(regmatches(table$message, found), function(place)
      if (length(place)) sprintf("measurements, row %d", as.integer(sub(".*:", "", place)) - 1L) else place)
  }
  table
}

as.data.frame.stiffit <- function(x, row.names = NULL, optional = FALSE, ...) {
  table <- stiffit_export(x, ...)
  if (!is.null(row.names)) rownames(table) <- row.names
  table
}

shown <- function(result) read_json(of_result("show", result, "--json"))

counts <- function(facts) {
  status <- sort(unlist(facts$status), decreasing = TRUE)
  paste(c(sprintf("%d fit%s", facts$fits, if (facts$fits == 1) "" else "s"),
          paste(status, names(status))[status > 0]), collapse = ", ")
}

print.stiffit <- function(x, ...) {
  name <- if (is.null(x$keeper)) paste0(" ", basename(x$path)) else ""
  cat("<stiffit result", name, ": ", counts(if (is.null(x$summary)) shown(x) else x$summary), ">\n", sep = "")
  invisible(x)
}

summary.stiffit <- function(object, ...) {
  columns <- c("name", "unit", "min", "q25", "median", "q75", "max", "relative_error")
  shown(object)$parameters[columns]
}

coef.stiffit <- function(object, ...) {
  names <- shown(object)$parameters$name
  table <- stiffit_export(object, columns = c("id", "parameters"), ...)
  best <- as.matrix(table[-1])
  dimnames(best) <- list(table$id, names)
  best
}

vcov.stiffit <- function(object, id = NULL, correlation = FALSE, ...) {
  pairs <- stiffit_export(object, "covariance", id = id, ...)
  if (length(unique(pairs$id)) > 1)
    stop("id: there are several datasets", call. = FALSE)
  names <- unique(pairs$parameter)
  square <- matrix(NA_real_, length(names), length(names), dimnames = list(names, names))
  value <- if (correlation) pairs$correlation else pairs$covariance
  square[cbind(pairs$parameter, pairs$with)] <- value
  square[cbind(pairs$with, pairs$parameter)] <- value
  square
}

residuals.stiffit <- function(object, ...) stiffit_export(object, "residuals", ...)

fitted.stiffit <- function(object, ...) stiffit_export(object, "predictions", ...)

predict.stiffit <- function(object, times = NULL, ...) {
  if (is.null(times))
    return(stiffit_export(object, "predictions", ...))
  table <- read_table(of_result("simulate", object, c("--types-row", words_of("simulate", list(times = times, ...)))))
  names(table)[names(table) == "value"] <- "prediction"
  table
}

simulate.stiffit <- function(object, nsim = 1, seed = NULL, output, ...) {
  options <- list(...)
  if (is.null(options$population))
    options$bootstrap <- nsim
  unlink(of_result("simulate", object, c(words_of("simulate", c(options, list(seed = seed, output = output))), "--quiet")))
  invisible(absolute(output))
}

stiffit_simulate <- function(model, times, output = NULL, ...) {
  folder <- new_folder()
  on.exit(unlink(folder, recursive = TRUE))
  source <- model_file(model, folder)
  options <- list(times = times, output = output, ...)
  written <- write_tables(options, folder)
  words <- c(words_of("simulate", options[!names(options) %in% tables]), paste0("--model=", source$file), written$words)
  made <- call_program("simulate", c(words, if (is.null(output)) "--types-row" else "--quiet"), c(list(source), written$names),
                       folder = folder)
  if (is.null(output))
    return(read_table(made))
  unlink(made)
  invisible(absolute(output))
}

stiffit_report <- function(result, output, ...) {
  unlink(of_result("report", result, words_of("report", list(output = output, ...))))
  invisible(absolute(output))
}

stiffit_population <- function(result, ...) {
  all <- shown(result)
  if (!is.null(all$population)) {
    found <- all$population
    names(found)[names(found) == "random"] <- "parameters"
    if (nrow(found$covariance) == nrow(found$parameters)) # by experiment there are more
      dimnames(found$covariance) <- rep(list(found$parameters$name), 2)
    return(structure(found, class = "stiffit_population"))
  }
  words <- words_of("population", list(...))
  found <- read_json(of_result("population", result, c("--json", words)))
  found$table <- read_table(of_result("population", result, c("--output=-", "--types-row", words)))
  dimnames(found$covariance) <- list(found$parameters$name, found$parameters$name)
  structure(found, class = "stiffit_population")
}

print.stiffit_population <- function(x, ...) {
  print(x$parameters, ...)
  invisible(x)
}

stiffit_compare <- function(...) {
  paths <- vapply(list(...), function(result) if (inherits(result, "stiffit")) result$path else absolute(result), "")
  found <- read_json(call_program("compare", c("--json", paths)))
  structure(list(totals = found$results, table = read_table(call_program("compare", c("--output=-", "--types-row", paths))),
                 likelihood_ratio = found$likelihood_ratio), class = "stiffit_comparison")
}

print.stiffit_comparison <- function(x, ...) {
  totals <- x$totals
  totals$file <- basename(totals$file)
  print(totals[c("file", "model", "parameters", "log_likelihood", "aic", "bic", "aic_weight")], ...)
  invisible(x)
}

# Measurements with their errors, and the curve at the best fit, of one observable.
plot.stiffit <- function(x, id = NULL, observable = NULL, points = 200, xlab = "time", ylab = observable, main = id, ...) {
  if (is.null(id)) {
    fits <- stiffit_export(x, columns = c("id", "reduced_chi_square"))
    id <- fits$id[which.max(ifelse(is.nan(fits$reduced_chi_square), -1, fits$reduced_chi_square))]
  }
  rows <- residuals(x, id = id)
  if (is.null(observable))
    observable <- rows$observable[1]
  rows <- rows[rows$observable == observable, ]
  if (nrow(rows) == 0)
    stop("observable: '", observable, "' was not measured in '", id, "'", call. = FALSE)
  curve <- predict(x, seq(min(rows$time), max(rows$time), length.out = points), id = id, observable = observable)
  range <- range(rows$value - rows$sigma, rows$value + rows$sigma, rows$value, curve$prediction, finite = TRUE)
  graphics::plot(rows$time, rows$value, ylim = range, xlab = xlab, ylab = ylab, main = main, ...)
  for (part in split(curve, if (is.null(curve$experiment)) rep("", nrow(curve)) else curve$experiment))
    graphics::lines(part$time, part$prediction)
  known <- is.finite(rows$sigma)
  graphics::segments(rows$time[known], (rows$value - rows$sigma)[known], y1 = (rows$value + rows$sigma)[known])
  invisible(curve)
}

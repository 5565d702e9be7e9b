# Calls of the program `stiffit`: arguments become options, and what it says of them speaks of arguments and tables.
# SPDX-License-Identifier: BSD-3-Clause

# The absolute path of the program: $STIFFIT, or stiffit on the PATH, whose relative entries are ignored.
program <- function() {
  name <- Sys.getenv("STIFFIT", "stiffit")
  folders <- strsplit(Sys.getenv("PATH"), ":", fixed = TRUE)[[1]]
  paths <- if (grepl("/", name, fixed = TRUE)) name else file.path(folders[startsWith(folders, "/")], name)
  found <- paths[file.access(paths, 1L) == 0L & !dir.exists(paths)]
  if (!length(found))
    refuse(sprintf("there is no program '%s': install stiffit, or set STIFFIT to its path", name), 4L)
  normalizePath(found[1])
}

# An error of class stiffit_error, with the exit code of the program as `code` (see stiffit(1)).
refuse <- function(message, code) {
  stop(structure(class = c("stiffit_error", "error", "condition"), list(message = message, call = NULL, code = code)))
}

helps <- new.env(parent = emptyenv())

# The options of a command, as its help describes them: a data frame with the columns name, letter, value ("" for a flag) and
# repeats (several values are several options; else they are a list with commas).
options_of <- function(command) {
  path <- program()
  key <- paste(path, command)
  if (is.null(helps[[key]])) {
    lines <- suppressWarnings(system2(path, c(command, "--help"), stdout = TRUE))
    begins <- "^ +(?:-(\\w), +)?--([a-z0-9-]+)(?: (\\S+))?(?:  .*)?$"
    at <- grep(begins, lines, perl = TRUE)
    part <- function(i) sub(begins, paste0("\\", i), lines[at], perl = TRUE)
    text <- tapply(lines, findInterval(seq_along(lines), at), paste, collapse = " ")[as.character(seq_along(at))]
    helps[[key]] <- data.frame(name = part(2), letter = part(1), value = part(3),
                               repeats = grepl("be +repeated|be +given +several", text))
  }
  helps[[key]]
}

# Numbers with the fewest of 15 or 17 digits that read back to the same.
number_text <- function(x) {
  text <- sprintf("%.15g", x)
  known <- !is.na(x)
  more <- known
  more[known] <- as.numeric(text[known]) != x[known]
  text[more] <- sprintf("%.17g", x[more])
  text
}

item_text <- function(x) {
  if (is.logical(x)) ifelse(x, "yes", "no") else if (is.double(x)) number_text(x) else as.character(x)
}

# Arguments as words of the command line: keep_starts = TRUE is --keep-starts, profile = c("k", "A") is --profile=k,A, and
# start = c(k = 1) is --start=k=1. NULL, and FALSE for a flag, are left out.
words_of <- function(command, arguments) {
  known <- options_of(command)
  words <- character()
  if (length(arguments) && (is.null(names(arguments)) || any(!nzchar(names(arguments)))))
    stop("options are named arguments", call. = FALSE)
  for (name in names(arguments)) {
    option <- gsub("_", "-", name, fixed = TRUE)
    value <- arguments[[name]]
    if (!is.list(value))
      refuse_units(value, name, name)
    row <- known[known$name == option, ]
    is_flag <- nrow(row) == 0 || row$value == ""
    if (is.null(value) || (isFALSE(value) && is_flag))
      next
    if (isTRUE(value) && is_flag) {
      words <- c(words, paste0("--", option))
      next
    }
    if (!is_flag && row$value %in% c("FILE", "DIR", "MODEL", "RESULT") && !identical(value, "-"))
      value <- absolute(value)
    items <- if (is.null(names(value)) || (nrow(row) && !grepl("=", row$value))) {
      item_text(unlist(value))
    } else {
      paste0(names(value), "=", vapply(as.list(value), function(item) paste(item_text(item), collapse = ","), ""))
    }
    if (is_flag || !row$repeats)
      items <- paste(items, collapse = ",")
    words <- c(words, paste0("--", option, "=", items))
  }
  words
}

absolute <- function(path) {
  path <- path.expand(path)
  ifelse(startsWith(path, "/"), path, file.path(getwd(), path))
}

# Errors and notes of a command in the words of R. `names`: a list of (file, name, row_of_line), where a table has a
# row_of_line: "row 3" of line 4, or "" of its header.
translate <- function(text, names, command) {
  for (it in names) {
    found <- gregexpr(sprintf("(?<![\\w./-])\\Q%s\\E(:\\d+)?(?![\\w/])", it$file), text, perl = TRUE)
    regmatches(text, found) <- lapply(regmatches(text, found), function(places) vapply(places, function(place) {
      line <- substring(place, nchar(it$file) + 2)
      if (is.null(it$row_of_line) || !nzchar(line)) return(paste0(it$name, if (nzchar(line)) ":", line))
      row <- it$row_of_line(as.numeric(line))
      paste0(it$name, if (nzchar(row)) ", ", row)
    }, ""))
  }
  text <- text[!grepl("^\\s*See `stiffit [a-z ]+ --help`\\.$", text)]
  text <- gsub(" See `stiffit [a-z ]+ --help`\\.", "", text)
  known <- options_of(command)
  for (i in which(nzchar(known$letter)))
    text <- gsub(sprintf("(?<=with )-%s\\b", known$letter[i]), paste0("--", known$name[i]), text, perl = TRUE)
  found <- gregexpr("(?<![\\w-])--[a-z][a-z0-9-]+", text, perl = TRUE)
  regmatches(text, found) <- lapply(regmatches(text, found), function(word)
    sub("^datasets$", "covariates", gsub("-", "_", substring(word, 3))))
  text
}

# The error with its lines, which may begin above it; if there is none, all that was said.
reason <- function(said, names, command) {
  first <- which(startsWith(said, "stiffit: error: "))[1]
  if (!is.na(first)) {
    others <- which(grepl("^stiffit: | *\\d+ %", said[seq_len(first - 1)], perl = TRUE))
    said <- said[(max(0, others) + 1):length(said)]
  }
  paste(sub("^stiffit: error: ", "", translate(said, names, command)), collapse = "\n")
}

# The exit code of a command line. It is in a file, for not every locale has all its letters.
run_shell <- function(line) {
  script <- tempfile("stiffit-sh-")
  on.exit(unlink(script))
  writeLines(enc2utf8(line), script, useBytes = TRUE)
  system2("sh", shQuote(script))
}

# The file that has the standard output of a command. Its notes become warnings; with progress they are shown with it. An exit
# code that is not accepted is an error.
call_program <- function(command, words, names = list(), accept = 0L, progress = FALSE, folder = NULL) {
  out <- tempfile("stiffit-out-")
  err <- tempfile("stiffit-err-")
  code <- tempfile("stiffit-code-")
  on.exit(unlink(c(err, code)))
  line <- paste(shQuote(c(program(), command, "--color=never", words)), collapse = " ")
  if (!is.null(folder))
    line <- sprintf("cd %s && %s", shQuote(folder), line)
  run_shell(if (progress)
    sprintf("{ { %s; } 2>&1 >%s; echo $? >%s; } | tee %s >&2", line, shQuote(out), shQuote(code), shQuote(err))
  else
    sprintf("{ %s; } 2>%s >%s; echo $? >%s", line, shQuote(err), shQuote(out), shQuote(code)))
  ended <- if (file.exists(code)) as.integer(readLines(code, warn = FALSE)) else 75L
  said <- if (file.exists(err)) unlist(strsplit(readLines(err, warn = FALSE, encoding = "UTF-8"), "\r|\033\\[K")) else character()
  if (!ended %in% accept) {
    why <- reason(said[nzchar(trimws(said))], names, command)
    refuse(if (nzchar(why)) why else sprintf("exit code %d", ended), ended)
  }
  notes <- if (progress) character() else said[grepl("stiffit: note: ", said, fixed = TRUE)]
  for (note in translate(sub("^.*stiffit: note: ", "", notes), names, command))
    warning(note, call. = FALSE)
  out
}

# An error if the command refuses these options, which it looks at before it opens the file that it works on.
check_options <- function(command, words, names = list(), folder = NULL) {
  err <- tempfile("stiffit-err-")
  on.exit(unlink(err))
  line <- paste(shQuote(c(program(), command, "--color=never", words, file.path(tempdir(), "none", "none"))), collapse = " ")
  code <- run_shell(sprintf("%s%s >/dev/null 2>%s", if (is.null(folder)) "" else sprintf("cd %s && ", shQuote(folder)), line,
                            shQuote(err)))
  if (code == 2L)
    refuse(reason(readLines(err, warn = FALSE), names, command), 2L)
}

read_json <- function(file) {
  force(file)
  on.exit(unlink(file))
  jsonlite::fromJSON(file)
}

# Data frames as files for the program, and its tables as data frames.
# SPDX-License-Identifier: BSD-3-Clause

# What the user calls the row that begins at a line of the file, whose header is line 1.
row_of_line <- function(table) {
  breaks <- rep(0, nrow(table)) # of lines, within the texts of a row
  for (column in table)
    if (is.character(column))
      breaks <- breaks + lengths(regmatches(column, gregexpr("\n", column, fixed = TRUE)))
  first <- 2 + cumsum(c(0, 1 + breaks))
  names <- if (.row_names_info(table) > 0) rownames(table)
  function(line) {
    row <- findInterval(line, first)
    if (row < 1 || row > nrow(table)) return("")
    if (is.null(names)) sprintf("row %d", row) else sprintf("row %d ('%s')", row, names[row])
  }
}

ids <- c("dataset", "id", "experiment", "observable", "parameter", "target")
# Columns that are numbers; another column may hold dates, which are kept as texts.
number_columns <- c("time", "t0", "value", "sigma", "limit", "amount", "rate", "duration", "interval", "start", "lower", "upper")

# An error if numbers have a unit, which R may have chosen itself, and how to make them numbers.
refuse_units <- function(x, what, name, is_number = TRUE) {
  unit <- if (inherits(x, c("difftime", "units"))) paste(as.character(units(x)), collapse = " ") else
    if (inherits(x, c("ITime", "Duration", "Period"))) "secs" else if (inherits(x, "times") && !inherits(x, "dates")) "days"
  hours <- if (inherits(x, "difftime")) sprintf("as.numeric(%s, units = \"hours\")", name) else
    if (inherits(x, "units")) sprintf("as.numeric(units::set_units(%s, \"h\"))", name) else
    if (identical(unit, "days")) sprintf("24*as.numeric(%s)", name) else sprintf("as.numeric(%s)/3600", name)
  if (!is.null(unit))
    stop(what, " has the unit ", unit, " (", class(x)[1], "), and the model's times are numbers, in a unit that you choose: ", hours,
         " is in hours", call. = FALSE)
  if (is_number && inherits(x, c("POSIXt", "Date", "dates")))
    stop(what, " has points in time (", class(x)[1], "), and the model's times are numbers, in a unit that you choose: ",
         sprintf("as.numeric(difftime(%s, min(%s), units = \"hours\"))", name, name), " is in hours after the first", call. = FALSE)
}

# Whole numbers of bit64, which is.numeric, have the bits of integers in doubles.
plain_column <- function(column, what) {
  if (inherits(column, "integer64")) {
    if (!requireNamespace("bit64", quietly = TRUE))
      stop(what, " has the class integer64, which needs the package bit64", call. = FALSE)
    return(as.character(column))
  }
  if (is.logical(column)) as.integer(column) else if (is.numeric(column)) column else as.character(column)
}

# Lists and matrices as data frames, factors as texts, truth as 0 and 1.
as_table <- function(table, what) {
  if (!is.list(table) && !is.matrix(table))
    stop(what, ": a data frame is expected, not ", class(table)[1], call. = FALSE)
  rows <- tryCatch(as.data.frame(table, stringsAsFactors = FALSE), error = function(fault)
    stop(what, ": a data frame is expected: ", conditionMessage(fault), call. = FALSE))
  if (nrow(rows) == 0)
    stop(what, ": there are no rows", call. = FALSE)
  for (name in names(rows)) {
    column <- rows[[name]]
    where <- sprintf("%s: the column '%s'", what, name)
    if ((is.list(column) && !inherits(column, "POSIXlt")) || is.matrix(column))
      stop(where, " is not a vector", call. = FALSE)
    if (!tolower(name) %in% ids)
      refuse_units(column, where, paste0("data$", name), tolower(name) %in% number_columns)
    rows[[name]] <- plain_column(column, where)
  }
  rows
}

quoted <- function(text) paste0("\"", gsub("\"", "\"\"", text, fixed = TRUE), "\"")

# Writes the table into the folder, and returns what `names` needs; the file is called what the table is.
write_table <- function(table, what, folder) {
  rows <- as_table(table, what)
  place <- row_of_line(rows)
  fields <- lapply(c(rows), function(column) {
    text <- if (is.character(column)) quoted(column) else if (is.double(column)) number_text(column) else as.character(column)
    ifelse(is.na(column), "", text)
  })
  # Bytes, for not every locale has all letters.
  lines <- c(paste(quoted(names(rows)), collapse = ","), do.call(paste, c(unname(fields), sep = ",")))
  writeLines(enc2utf8(lines), file.path(folder, what), useBytes = TRUE)
  list(file = what, name = what, row_of_line = place)
}

# A table with a row of types below its header; these, not the values, are the types of the columns. Whole numbers are doubles
# too, for they may be above R's largest integer.
read_table <- function(file) {
  force(file)
  on.exit(unlink(file))
  head <- utils::read.csv(file, header = FALSE, nrows = 2, colClasses = "character", encoding = "UTF-8")
  kinds <- ifelse(unlist(head[2, ]) == "text", "character", "numeric")
  table <- tryCatch(utils::read.csv(file, header = FALSE, skip = 2, colClasses = kinds, na.strings = character(),
                                    encoding = "UTF-8"),
                    error = function(fault) if (length(readLines(file, 3)) > 2) stop(fault) else
                      as.data.frame(lapply(kinds, vector, 0)))
  names(table) <- make.unique(unlist(head[1, ]))
  table
}

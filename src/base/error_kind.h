/* The distributions that an observable's measurement errors may have, one row for each. Words,
 * options, help and messages are made from these lists; fit/objective/loss.c has a row of functions
 * for each. A new distribution needs no other file.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What a common factor of all residuals multiplies the loss by: its square, the factor itself,
 * or nothing that is the same for all residuals. With the last every standard deviation has to
 * be known. */
enum error_growth { GROWTH_SQUARE, GROWTH_LINEAR, GROWTH_OTHER };

/* X(identifier, word of options and files, word of model text, name for people, growth, whether
 * it is about the logarithms of values, whether --bootstrap draws replicates, objective,
 * objective for people) */
#define ERROR_LIST(X) \
    X(NORMAL, "normal", "normal", "normal", SQUARE, false, true, "half_sum_of_squares", \
      "half the weighted sum of squares") \
    ERROR_LIST_OTHERS(X)
#define ERROR_LIST_OTHERS(X) \
    X(LOG_NORMAL, "log-normal", "lognormal", "log-normal", SQUARE, true, true, \
      "half_sum_of_squares", \
      "half the weighted sum of squares") \
    X(LAPLACE, "laplace", "laplace", "Laplace's", LINEAR, false, false, "laplace_loss", \
      "the sum of weighted absolute residuals") \
    X(LOG_LAPLACE, "log-laplace", "loglaplace", "log-Laplace", LINEAR, true, false, \
      "laplace_loss", \
      "the sum of weighted absolute residuals") \
    X(HUBER, "huber", "huber", "Huber's", OTHER, false, false, "huber_loss", \
      "the sum of Huber's losses") \
    X(STUDENT, "student", "student", "Student's", OTHER, false, false, "student_loss", \
      "the sum of Student's losses")

/* The distributions with a constant that is given, not fitted. X(identifier, its letter, option
 * of `stiffit run`, standard value, least value (excluded), largest value, help). Huber's
 * standard value is 95 % efficient for normal errors (Huber 1964). */
#define ERROR_TUNING_LIST(X) \
    X(HUBER, "k", "huber-k", 1.345, 0, 1e6, \
      "for huber errors: residuals beyond this many sigma count linearly") \
    X(STUDENT, "nu", "student-nu", 4, 0, 1e6, "for student errors: the degrees of freedom")

#define ERROR_IDENTIFIER(id, ...) ERROR_##id,
enum error_kind { ERROR_LIST(ERROR_IDENTIFIER) N_ERROR };

/* Literals of all words: normal, log-normal, ...; "normal", "log-normal", ... */
#define ERROR_COMMA(id, word, ...) ", " word
#define ERROR_WORDS "normal" ERROR_LIST_OTHERS(ERROR_COMMA)
#define ERROR_QUOTE(id, word, ...) ", \"" word "\""
#define ERROR_QUOTED "\"normal\"" ERROR_LIST_OTHERS(ERROR_QUOTE)

struct error_row {
    const char *name;
    enum error_growth growth;
    bool is_log, is_drawn;
    const char *objective, *objective_text;
};

extern const struct error_row error_row[N_ERROR];

struct error_tuning {
    const char *letter, *option; /* NULL: the distribution has no constant */
    double standard;
};
extern const struct error_tuning error_tuning[N_ERROR];
/* NULL behind the last */
extern const char *const error_kind_word[N_ERROR + 1], *const error_kind_text_word[N_ERROR + 1];
/* The word of an observable whose errors a file or model leaves open. */
extern const char error_kind_default[];

int error_kind_of(const char *word); /* -1: no such word; NULL is legal */
/* Whether the loss is the square of a residual, of values or of their logarithms. */
bool error_kind_is_square(enum error_kind kind);
/* Whether two of n kinds have losses of different shapes. Their sum then depends on every sigma,
 * so the objective must be a likelihood. */
bool error_kinds_mix(const enum error_kind *kind, size_t n);
/* Squares determine their scale; losses that are not squares, and sums of different ones, depend
 * on it, so every sigma must be known. Returns the first of n kinds that needs it; n: their sum
 * does; -1: none. */
int error_kinds_need_sigma(const enum error_kind *kind, size_t n);
#define ERROR_KINDS_MIXED "a sum of losses that are not all squares"

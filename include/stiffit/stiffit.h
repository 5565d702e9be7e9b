/* libstiffit: fits and evaluations of one stiff ODE model in a program of your own, in memory. The
 * manual is libstiffit(3); models are described in stiffit-model(5) and <stiffit/model.h>.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Errors: a function that can fail returns 0, or one of enum stiffit_code and a message in `error`
 * (NULL: not wanted). Nothing is printed, and the process never ends. A model's own code may crash.
 *
 * NULL for an argument that a function needs is STIFFIT_USAGE, with a message that names it; a
 * function without an error returns 0, NaN or NULL then. Where NULL has a meaning, it is said.
 *
 * Threads: a system may be used by any number of threads, which need no lock. A problem, with
 * all that is done with it, belongs to one thread at a time; different problems are independent,
 * also those of one system. Files are read with HDF5 by stiffit_problem_open and, for problems
 * from it, by stiffit_evaluate and stiffit_fit: by one thread of the process at a time.
 *
 * Ownership: what is passed in is copied. Strings that are returned belong to the object.
 *
 * Arrays: row-major. Parameters: natural scale, in the problem's order. Times and states: the
 * model's units. NaN: missing. */
#ifndef STIFFIT_STIFFIT_H
#define STIFFIT_STIFFIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STIFFIT_API __attribute__((visibility("default")))

enum stiffit_code {
    STIFFIT_FAILED = 1,       /* the model cannot be evaluated at these parameters */
    STIFFIT_USAGE = 2,        /* an argument or an option */
    STIFFIT_BAD_PROBLEM = 3,  /* the data, the starts or the bounds */
    STIFFIT_BAD_MODEL = 4,    /* the model's text or plugin */
    STIFFIT_SYSTEM_ERROR = 5, /* a file or the operating system */
    STIFFIT_NO_MEMORY = 6,
    STIFFIT_BUG = 7           /* of libstiffit */
};

struct stiffit_error {
    int code;           /* 0: there is none */
    char message[2000]; /* what is wrong, where, and what to do */
};

/* "0.2.0": the library's, not the header's. */
STIFFIT_API const char *stiffit_version(void);

/* --- a system: a model that is loaded --------------------------------------------------------- */

struct stiffit_system;

/* From a file: model text (.ode), which is compiled (with the C compiler cc or $CC) unless the
 * cache has it, or a plugin (.so), whose code then runs in this process. Close it after all its
 * problems. */
STIFFIT_API int stiffit_system_open(struct stiffit_system **system, const char *path,
                                    struct stiffit_error *error);
/* From model text in memory, NUL-terminated. */
STIFFIT_API int stiffit_system_parse(struct stiffit_system **system, const char *text,
                                     struct stiffit_error *error);
STIFFIT_API void stiffit_system_close(struct stiffit_system *system); /* NULL is legal */

enum stiffit_names { STIFFIT_STATES, STIFFIT_PARAMETERS, STIFFIT_OBSERVABLES, STIFFIT_COVARIATES,
                     STIFFIT_INPUTS };
STIFFIT_API const char *stiffit_system_name(const struct stiffit_system *system);
STIFFIT_API size_t stiffit_system_count(const struct stiffit_system *system,
                                        enum stiffit_names names);
/* NULL: there is no such number. */
STIFFIT_API const char *stiffit_system_item(const struct stiffit_system *system,
                                            enum stiffit_names names, size_t i);

/* --- a problem: data, parameters, options ----------------------------------------------------- */

struct stiffit_problem;

/* One dataset in memory: first without measurements, at the model's initial time, and with the
 * model's parameters in its order. */
STIFFIT_API int stiffit_problem_new(struct stiffit_problem **problem,
                                    const struct stiffit_system *system,
                                    struct stiffit_error *error);
/* The datasets of a problem file (stiffit-file(5)). `model`: the path of the model, or NULL for
 * the text that the file contains or names; native code that a file contains or names does not
 * run. What is set below does not apply to it, but for options. */
STIFFIT_API int stiffit_problem_open(struct stiffit_problem **problem, const char *path,
                                     const char *model, struct stiffit_error *error);
STIFFIT_API void stiffit_problem_free(struct stiffit_problem *problem); /* NULL is legal */

struct stiffit_parameter {
    const char *name;
    double start, lower, upper; /* infinite: no bound. A NaN start must be set before a fit */
    const char *scale;          /* "lin", "log", "log10": the scale of the optimiser */
    int fixed;                  /* not 0: held at its start */
};
STIFFIT_API size_t stiffit_problem_n_dataset(const struct stiffit_problem *problem);
STIFFIT_API size_t stiffit_problem_n_parameter(const struct stiffit_problem *problem);
/* In a file: those of its first dataset. Its strings hold until an option is set. */
STIFFIT_API int stiffit_get_parameter(struct stiffit_problem *problem, size_t i,
                                      struct stiffit_parameter *parameter,
                                      struct stiffit_error *error);
STIFFIT_API int stiffit_set_parameter(struct stiffit_problem *problem,
                                      const struct stiffit_parameter *parameter,
                                      struct stiffit_error *error);

/* Adds n measurements of one observable (NULL: the only one). Times in any order; NaN values do
 * not count. sigma: standard deviations, NaN where there is none; NULL: there are none. */
STIFFIT_API int stiffit_add_measurements(struct stiffit_problem *problem, const char *observable,
                                         size_t n, const double *time, const double *value,
                                         const double *sigma, struct stiffit_error *error);
STIFFIT_API int stiffit_set_t0(struct stiffit_problem *problem, double t0,
                               struct stiffit_error *error);
STIFFIT_API int stiffit_set_covariate(struct stiffit_problem *problem, const char *name,
                                      double value, struct stiffit_error *error);
/* The knots of an input, at increasing times. */
STIFFIT_API int stiffit_set_input(struct stiffit_problem *problem, const char *name, size_t n,
                                  const double *time, const double *value,
                                  struct stiffit_error *error);

/* As /doses of a problem file, stiffit-file(5). */
struct stiffit_dose {
    const char *target;    /* the state */
    double time, amount;
    double duration, rate; /* one of them, or 0 and 0: at once */
    double interval;       /* between repetitions */
    uint32_t count;        /* 0 counts as 1, unless it is steady */
    uint32_t steady;       /* 1: at the steady state of its repetition; 2: which is added */
};
STIFFIT_API int stiffit_add_dose(struct stiffit_problem *problem, const struct stiffit_dose *dose,
                                 struct stiffit_error *error);

/* An option of stiffit-run(1), without the dashes: "rtol", "1e-9". Those of a fit of one dataset:
 * starts, seed, evaluate, error and its constants, and all of the integrator and the optimiser. */
STIFFIT_API int stiffit_set_option(struct stiffit_problem *problem, const char *name,
                                   const char *value, struct stiffit_error *error);

/* --- results ---------------------------------------------------------------------------------- */

/* Simulates a dataset (from 0; in memory 0) and its experiment (from 0) at `parameter`
 * (n_parameter), or at the starts (NULL). Times in any order, none before t0. prediction: n_time x
 * n_observable. sensitivity: n_time x n_observable x n_parameter, the derivatives of the
 * predictions by the parameters, natural scale; or NULL, which changes the predictions' last
 * digits. After an error both are undefined. */
STIFFIT_API int stiffit_evaluate(struct stiffit_problem *problem, size_t dataset,
                                 size_t experiment, size_t n_time, const double *time,
                                 const double *parameter, double *prediction,
                                 double *sensitivity, struct stiffit_error *error);

struct stiffit_record;

/* Fits one dataset: the numbers of `stiffit run`, bit for bit. A fit that failed is a record, too,
 * and no error: its status and reason say why. */
STIFFIT_API int stiffit_fit(struct stiffit_problem *problem, size_t dataset,
                            struct stiffit_record **record, struct stiffit_error *error);
STIFFIT_API void stiffit_record_free(struct stiffit_record *record); /* NULL is legal */
/* Whether its status is a success. */
STIFFIT_API int stiffit_record_is_success(const struct stiffit_record *record);
/* Why it failed, or ""; NULL of a record that is NULL. */
STIFFIT_API const char *stiffit_record_reason(const struct stiffit_record *record);

/* A record has the columns of /fits in a result, stiffit-file(5), by their names there:
 * "objective", "parameters", "standard_error", "status" ... */
struct stiffit_column {
    const char *name, *description, *unit; /* unit: or NULL */
    size_t n;   /* of numbers in this record: 1, n_parameter, n_parameter x n_parameter; 0: none */
    int n_axis; /* accordingly 0, 1, 2 */
    int has_words;
};
/* Column i of this record. Returns 0 beyond the last one, else 1. */
STIFFIT_API int stiffit_record_column(const struct stiffit_record *record, size_t i,
                                      struct stiffit_column *column);
/* Number i of a column; NaN if there is none. */
STIFFIT_API double stiffit_record_number(const struct stiffit_record *record, const char *column,
                                         size_t i);
/* The word of a number of an enumeration ("status", "stopping_test", "error_missing" ...);
 * NULL: there is none. */
STIFFIT_API const char *stiffit_record_word(const struct stiffit_record *record,
                                            const char *column, size_t i);

#ifdef __cplusplus
}
#endif
#endif

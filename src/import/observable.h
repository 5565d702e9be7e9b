/* Which observable of the model a measurement is of. One rule for rows, columns and blocks of all
 * forms of tables: what they say must mean an observable. Where nothing is said, the model must
 * have a single one. Anything else is a fault, because a measurement of something else would be
 * fitted.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "import/import.h"
#include "io/table/csv.h"

/* The observable that a word names, in any case unless names differ by case alone; -1: none. */
int import_observable_find(const struct stiffit_model *abi, const char *word);
/* The observable that the row's field names. */
enum status import_observable_read(const struct csv_reader *reader, size_t column,
                                   const struct stiffit_model *abi, uint32_t *observable,
                                   struct error *error);

enum { MAX_CMT = 1000 };

/* Reads NUMBER=NAME of an option, with commas between several. */
enum status import_numbers_take(const struct option_list *list, const char *option,
                                const char *what, const char *const *names, size_t n,
                                uint32_t number_of[MAX_CMT], struct error *error);

/* The rule for a NONMEM-style table, where a number may stand for an observable. DVID says it by
 * the number, from 1, or the name; with --observables CMT does, or DVID if there is no CMT. For a
 * model with one observable all measurements must otherwise say the same in DVID and in CMT,
 * whatever it is: tables in which they differ have measurements of something else. */
struct import_observables {
    const struct stiffit_model *abi;
    const char *path;
    size_t by;                   /* the column that decides, or CSV_NO_COLUMN */
    bool is_mapped;              /* by --observables */
    uint32_t of_number[MAX_CMT]; /* of --observables; UINT32_MAX: none */
    struct import_said {
        size_t column;           /* DVID or CMT, which must not vary; or CSV_NO_COLUMN */
        bool is_cmt;
        double none;             /* the number of a missing value */
        double number;           /* what the first measurement says */
        char word[40];           /* that number as it is written */
        uint64_t line;           /* of that measurement; 0: there was none */
    } said[2];
};
/* cmt: its column. STATUS_BAD_PROBLEM: the model has several observables, and no column tells
 * them apart. */
enum status import_observables_find(struct import_observables *observables,
                                    const struct csv_reader *reader, const char *path, size_t cmt,
                                    size_t dvid, const struct stiffit_model *abi,
                                    const struct option_list *options, struct error *error);
/* The observable of the measurement in the reader's row; is_empty: it has no value, and need not
 * say of what. */
enum status import_observables_of(struct import_observables *observables,
                                  const struct csv_reader *reader, bool is_empty,
                                  uint32_t *observable, struct error *error);
/* After the last measurement: a note if a number other than 1 was taken for the only observable. */
void import_observables_say(const struct import_observables *observables,
                            const struct csv_reader *reader, const struct import_options *options);

/* Reads a table in NONMEM's style: one row per record of an individual, doses and measurements
 * together. A record that cannot be honoured is refused with its line.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/words.h"
#include "import/clock.h"
#include "import/format.h"
#include "import/observable.h"
#include "import/open.h"
#include "import/where.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ID, TIME, DV, AMT, RATE, DUR, EVID, MDV, CMT, ADDL, II, SS, CENS, LIMIT, DVID, N_COLUMN };
static const char *const column_name[N_COLUMN] = {"ID",  "TIME", "DV",   "AMT",   "RATE",
                                                  "DUR", "EVID", "MDV",  "CMT",   "ADDL",
                                                  "II",  "SS",   "CENS", "LIMIT", "DVID"};
enum { MAX_SIDE = 126 }; /* of a dose */
/* Records that are left out if it holds a word. */
static const char comment_column[] = "C";

/* A record of an individual. Numbers that are missing are 0, but those of time, value and limit
 * NaN. */
struct record {
    double number[N_COLUMN];
    int evid;
};

/* The individual and experiment that are being read. */
struct nonmem {
    const char *path;
    struct csv_reader *reader;
    const struct model *model;
    const struct import_options *options;
    struct import_rows *rows;
    struct import_subjects *subjects;
    struct import_happenings *happenings;
    size_t column[N_COLUMN];
    size_t comment;            /* the column C, or CSV_NO_COLUMN */
    size_t *covariate, *input; /* columns of those of the model */
    uint32_t cmt[MAX_CMT];     /* the state of each number; UINT32_MAX: none */
    struct import_observables observables;
    struct import_clock clock;
    struct id_table seen;      /* individuals */
    char *id;
    unsigned n_reset;          /* experiments of the individual before this one */
    bool is_later;             /* this one is not the individual's first */
    uint32_t owner;
    double time;               /* of the record before; NaN: an experiment begins */
    /* at this time: whether there was a dose, its side, and that of the last measurement */
    bool is_dosed;
    int dose_side, measured_side;
    size_t first_knot;         /* of the experiment */
    size_t *last_knot;         /* of each input; SIZE_MAX: none yet */
    size_t room_t0, room_covariate;
    /* number of the first constant infusion of this experiment that awaits its unit of time */
    size_t constant;
    struct {
        size_t n_row, n_dose, n_knot;
        uint32_t n_dataset, n_experiment;
        bool has_experiments;
    } before;                  /* the individual */
    size_t n_missing;          /* covariates of this experiment that no record has given */
    struct error missing;      /* the first of them */
    /* comments; records whose II has no effect, that lack a later covariate */
    struct csv_lines left_out, idle, filled;
    struct import_where where;
    struct csv_lines doses_left_out; /* by --where */
    uint64_t n_empty;          /* individuals without measurements */
    char *empty;               /* the first one */
};

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for the table");
}

static enum status fault(const struct nonmem *nonmem, int which, struct error *error,
                         const char *message)
{
    return csv_fault(nonmem->reader, nonmem->column[which], error, "%s", message);
}

/* What to do with columns that other programs have for values below a limit. */
static const char *limit_hint(const char *name)
{
    static const char *const flags[] = {"BLQ", "BQL", "BLOQ", "BLD", "BDL"},
                             *const limits[] = {"LLOQ", "LOQ", "LOD", "LLOD"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (!strcasecmp(name, flags[i]))
            return ": a measurement below a limit of quantification has CENS 1 and that limit as "
                   "its DV (--column CENS=COLUMN names the column), or is left out with --where";
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (!strcasecmp(name, limits[i]))
            return ": where CENS is 1, DV is the limit of quantification";
    return "";
}

static enum status find_columns(struct nonmem *nonmem, struct error *error)
{
    const struct stiffit_model *abi = &nonmem->model->abi;
    const struct csv_reader *reader = nonmem->reader;
    enum status status = STATUS_OK;
    struct import_lacks lacks = {.n = 0};
    for (int c = 0; c < N_COLUMN; c++)
        nonmem->column[c] = csv_find_column(reader, column_name[c]);
    if (nonmem->column[DVID] == CSV_NO_COLUMN) /* Monolix's name */
        nonmem->column[DVID] = csv_find_column(reader, "YTYPE");
    if (nonmem->column[CENS] == CSV_NO_COLUMN) /* it has no meaning, and is said to be unused */
        nonmem->column[LIMIT] = CSV_NO_COLUMN;
    nonmem->comment = csv_find_column(reader, comment_column);
    import_clock_find(&nonmem->clock, reader);
    for (int c = ID; c <= DV; c++)
        import_need(&lacks, reader, column_name[c], "");
    for (uint32_t i = 0; i < abi->n_covariate; i++)
        nonmem->covariate[i] =
            import_need(&lacks, reader, abi->covariate_name[i], "it is a covariate of the model");
    for (uint32_t i = 0; i < abi->n_input; i++)
        nonmem->input[i] =
            import_need(&lacks, reader, abi->input_name[i], "it is an input of the model");
    status = import_lacks_end(&lacks, reader, error);
    if (!status)
        status = import_observables_find(&nonmem->observables, reader, nonmem->path,
                                         nonmem->column[CMT], nonmem->column[DVID], abi,
                                         &nonmem->options->observables, error);
    if (!status && nonmem->observables.by == nonmem->column[CMT]) /* and is said to be unused */
        nonmem->column[DVID] = CSV_NO_COLUMN;
    for (size_t j = 0; j < csv_n_column(reader) && !status; j++) {
        bool is_used = false;
        for (int c = 0; c < N_COLUMN; c++)
            is_used = is_used || nonmem->column[c] == j;
        for (uint32_t i = 0; i < abi->n_covariate; i++)
            is_used = is_used || nonmem->covariate[i] == j;
        for (uint32_t i = 0; i < abi->n_input; i++)
            is_used = is_used || nonmem->input[i] == j;
        if (!is_used && j != nonmem->comment && j != nonmem->clock.date &&
            !import_where_uses(&nonmem->where, j))
            import_say_unused_column(nonmem->options, nonmem->path, csv_column_name(reader, j),
                                     limit_hint(csv_column_name(reader, j)));
    }
    return status;
}

/* What the numbers of CMT mean. */
static enum status find_numbers(struct nonmem *nonmem, struct error *error)
{
    const struct stiffit_model *abi = &nonmem->model->abi;
    for (uint32_t k = 0; k < MAX_CMT; k++)
        nonmem->cmt[k] = k > 0 && k <= abi->n_state ? k - 1 : UINT32_MAX;
    return import_numbers_take(&nonmem->options->cmt, "cmt", "state", abi->state_name,
                               abi->n_state, nonmem->cmt, error);
}

static void count_line(struct csv_lines *lines, const struct csv_reader *reader)
{
    if (lines->n++ == 0)
        lines->first = csv_line(reader);
}

static bool is_comment_mark(const char *field)
{
    double number;
    return (isalpha((unsigned char)*field) || *field == '@' || *field == '#') &&
           !csv_parse_double(field, &number);
}

/* With --ignore as NM-TRAN: a record whose first character is one of these; @ is any letter, and
 * @. In any case as with IGNORE=@, IGNORE=# or IGNORE=C: a word in a first column that is not
 * the ID, or in a column C, or a row that begins with #. */
static bool is_comment(const struct nonmem *nonmem)
{
    bool is_id = nonmem->column[ID] == 0;
    char first = csv_first_character(nonmem->reader);
    for (size_t i = 0; i < nonmem->options->ignore.n; i++) {
        char mark = *nonmem->options->ignore.item[i];
        if (first == mark || (mark == '@' && isalpha((unsigned char)first)))
            return true;
    }
    return first == '#' || (!is_id && is_comment_mark(csv_field(nonmem->reader, 0))) ||
           (nonmem->comment != CSV_NO_COLUMN &&
            is_comment_mark(csv_field(nonmem->reader, nonmem->comment)));
}

/* CMT and DVID may be words; their meaning is found where it is needed. */
static enum status read_record(struct nonmem *nonmem, struct record *record, bool is_individual,
                               struct error *error)
{
    enum status status = import_clock_time(&nonmem->clock, nonmem->reader, is_individual,
                                           &record->number[TIME], error);
    if (status)
        return status;
    for (int c = DV; c < N_COLUMN; c++) {
        double *number = &record->number[c];
        bool is_word = c == CMT || c == DVID;
        bool may_miss = c == DV || c == LIMIT;
        *number = may_miss ? (double)NAN : 0;
        if (nonmem->column[c] == CSV_NO_COLUMN || is_word)
            continue;
        if (c == DV &&
            (status = import_check_value(nonmem->reader, nonmem->column[c], "CENS", error)))
            return status;
        if ((status = csv_number(nonmem->reader, nonmem->column[c], number, error)))
            return status;
        if (isnan(*number) && !may_miss)
            *number = 0;
    }
    const double *number = record->number;
    bool has_evid = nonmem->column[EVID] != CSV_NO_COLUMN;
    double evid = has_evid ? number[EVID] : number[AMT] != 0 ? 1 : 0;
    record->evid = evid >= 0 && evid <= 4 && evid == floor(evid) ? (int)evid : -1;
    if (record->evid < 0)
        return fault(nonmem, EVID, error, "must be 0, 1, 2, 3 or 4");
    if (!isfinite(number[TIME]))
        return fault(nonmem, TIME, error,
                     isnan(number[TIME]) ? "the time is missing" : "the time must be finite");
    return STATUS_OK;
}

/* The index that a cell means by its number, from 1, or by a name; an empty cell means 1. -1:
 * none. */
static long find_index(const struct nonmem *nonmem, int which, const char *const *names, size_t n)
{
    double number = NAN;
    const char *cell = nonmem->column[which] == CSV_NO_COLUMN
                           ? ""
                           : csv_field(nonmem->reader, nonmem->column[which]);
    int found = words_find(cell, names, n);
    if (found >= 0)
        return found + 1;
    if (!csv_parse_double(cell, &number))
        return -1;
    return isnan(number)                                       ? 1
           : number == floor(number) && fabs(number) < MAX_CMT ? (long)number
                                                               : -1;
}

/* What cannot be honoured. */
static enum status check_record(const struct nonmem *nonmem, const struct record *record,
                                struct error *error)
{
    const double *number = record->number;
    bool is_dose = record->evid == 1 || record->evid == 4;
    if (number[SS] == 3)
        return fault(nonmem, SS, error,
                     "3, a steady state whose search begins at what is there, is not supported; 1 "
                     "is the same for a model that has one steady state only");
    if (number[SS] != 0 && number[SS] != 1 && number[SS] != 2)
        return fault(nonmem, SS, error, "must be 0, 1 or 2");
    if (number[SS] != 0 && !is_dose)
        return fault(nonmem, SS, error, "a record with this EVID gives no dose");
    if (!is_dose && (number[AMT] != 0 || number[RATE] != 0))
        return fault(nonmem, number[AMT] != 0 ? AMT : RATE, error,
                     "a record with this EVID gives no dose");
    if (find_index(nonmem, CMT, nonmem->model->abi.state_name, nonmem->model->abi.n_state) < 0 &&
        record->evid != 0)
        return fault(nonmem, CMT, error,
                     "must be the number or the name of a state; states cannot be switched off");
    if (number[CENS] != 0 && fabs(number[CENS]) != 1)
        return fault(nonmem, CENS, error, "must be 0, 1 or -1");
    bool is_measured = record->evid == 0 && number[MDV] == 0;
    if (is_measured && number[CENS] != 0 && number[CENS] * (number[LIMIT] - number[DV]) >= 0)
        return fault(nonmem, LIMIT, error,
                     number[CENS] > 0 ? "must be below DV, which the measurement is below (CENS 1)"
                                      : "must be above DV, which the measurement is above (CENS "
                                        "-1)");
    return STATUS_OK;
}

/* An infusion without an end, at steady state, is one of many that each begin when the one
 * before ends, the last one at the record's time. Until the unit of time of the experiment is
 * known, it is 1. */
static bool is_constant(const struct record *record)
{
    const double *number = record->number;
    return number[SS] != 0 && number[AMT] == 0 && number[RATE] > 0 && number[II] == 0 &&
           number[DUR] == 0 && number[ADDL] == 0;
}

static enum status add_dose(struct nonmem *nonmem, const struct record *record, struct error *error)
{
    const double *number = record->number;
    const struct stiffit_model *abi = &nonmem->model->abi;
    struct dose dose = dose_none;
    dose.time = number[TIME];
    dose.amount = number[AMT];
    dose.duration = number[DUR];
    dose.interval = number[II];
    dose.steady = (uint8_t)number[SS];
    bool is_modelled = number[RATE] == -1 || number[RATE] == -2;
    if ((!(number[RATE] >= 0) && !is_modelled) || isinf(number[RATE]))
        return fault(nonmem, RATE, error, "must be finite and at least 0, or -1 or -2");
    if (!(dose.duration >= 0) || isinf(dose.duration))
        return fault(nonmem, DUR, error, "must be finite and at least 0");
    if (number[RATE] != 0 && dose.duration > 0)
        return fault(nonmem, RATE, error, "a dose has a RATE or a DUR, not both");
    if (number[SS] != 0 && !is_constant(record) && !(dose.interval > 0 && dose.interval < INFINITY))
        return fault(nonmem, nonmem->column[II] == CSV_NO_COLUMN ? SS : II, error,
                     "must be above 0 where SS is (a constant "
                     "infusion has an AMT of 0, no II and no ADDL)");
    if (!isfinite(dose.amount) || (number[RATE] != 0 && !(dose.amount > 0) && !is_constant(record)))
        return fault(nonmem, AMT, error, "the amount must be finite, and above 0 with a RATE");
    if (!(number[ADDL] >= 0 && number[ADDL] < UINT32_MAX && number[ADDL] == floor(number[ADDL])))
        return fault(nonmem, ADDL, error, "must be a whole number, at least 0");
    if (number[ADDL] > 0 && !(dose.interval > 0 && dose.interval < INFINITY))
        return fault(nonmem, II, error, "must be above 0 where ADDL is");
    long cmt = find_index(nonmem, CMT, abi->state_name, abi->n_state);
    const char *cell =
        nonmem->column[CMT] == CSV_NO_COLUMN ? "" : csv_field(nonmem->reader, nonmem->column[CMT]);
    dose.target = words_find(cell, abi->state_name, abi->n_state) >= 0 ? (uint32_t)(cmt - 1)
                  : cmt > 0 && cmt < MAX_CMT ? nonmem->cmt[cmt] : UINT32_MAX;
    if (dose.target == UINT32_MAX)
        return fault(nonmem, CMT, error,
                     "is not the number of a state; give its meaning with --cmt NUMBER=STATE");
    /* there was a measurement since the last dose */
    if (nonmem->measured_side > nonmem->dose_side)
        nonmem->dose_side = nonmem->measured_side;
    if (nonmem->dose_side > MAX_SIDE)
        return fault(nonmem, TIME, error,
                     "too many doses at one time with measurements between them");
    dose.side = (uint8_t)nonmem->dose_side;
    if (number[RATE] == -2)
        dose.duration = DOSE_OF_MODEL;
    else if (number[RATE] != 0)
        dose.rate = number[RATE] == -1 ? DOSE_OF_MODEL : number[RATE];
    if (is_modelled && !import_has_infusion(nonmem->model, &dose))
        return csv_fault(nonmem->reader, nonmem->column[RATE], error,
                         "the model has no %s(%.60s), which %g means",
                         number[RATE] == -1 ? "rate" : "duration", abi->state_name[dose.target],
                         number[RATE]);
    if (dose.interval > 0 && number[ADDL] == 0 && number[SS] == 0)
        count_line(&nonmem->idle, nonmem->reader);
    dose.count = is_constant(record) ? 0 : 1 + (uint32_t)number[ADDL];
    dose.interval = is_constant(record) ? 1 : dose.interval;
    if (!dose_is_apart(&dose))
        return fault(nonmem, II, error,
                     "must be large enough to change the times of repeated doses");
    nonmem->is_dosed = true;
    struct import_record *added =
        import_record_add(nonmem->happenings, RECORD_DOSE, nonmem->owner, error);
    if (added)
        added->is.dose = dose;
    return added ? STATUS_OK : error->status;
}

static enum status add_measurement(struct nonmem *nonmem, const struct record *record,
                                   struct error *error)
{
    const struct stiffit_model *abi = &nonmem->model->abi;
    struct measurements row;
    enum status status = import_rows_begin(nonmem->rows, &row, error);
    if (status)
        return status;
    if ((status = import_observables_of(&nonmem->observables, nonmem->reader,
                                        isnan(record->number[DV]), row.observable, error)))
        return status;
    *row.line = (uint32_t)csv_line(nonmem->reader);
    *row.time = record->number[TIME];
    *row.value = record->number[DV];
    *row.censored = (int8_t)record->number[CENS];
    *row.limit = *row.censored ? record->number[LIMIT] : (double)NAN;
    /* The input has the value of this record until its time, that of the next one from then on. */
    bool is_backward = abi->n_input > 0 && !nonmem->options->locf;
    *row.side = (int8_t)(nonmem->is_dosed ? nonmem->dose_side + 1 : -is_backward);
    nonmem->measured_side = *row.side;
    import_rows_end(nonmem->rows, nonmem->owner);
    return STATUS_OK;
}

/* Covariates are constant within an experiment: each has the value of the first record that
 * gives one. */
static enum status check_covariates(struct nonmem *nonmem, bool is_first, struct error *error)
{
    uint32_t n = nonmem->model->abi.n_covariate;
    double *kept = nonmem->subjects->covariate + (size_t)nonmem->owner * n;
    for (uint32_t i = 0; i < n; i++) {
        double value;
        enum status status =
            import_check_covariate(nonmem->reader, nonmem->covariate[i], error);
        if (!status)
            status = csv_number(nonmem->reader, nonmem->covariate[i], &value, error);
        if (status)
            return status;
        if (isinf(value))
            import_faults_add(&nonmem->subjects->faults, nonmem->reader, nonmem->covariate[i],
                              "a covariate must be finite");
        if (is_first && isnan(value) && nonmem->n_missing++ == 0)
            csv_fault(nonmem->reader, nonmem->covariate[i], &nonmem->missing,
                      "no record of this individual has this covariate");
        if (is_first) {
            kept[i] = value;
        } else if (isnan(kept[i]) && !isnan(value)) {
            kept[i] = value;
            nonmem->n_missing--;
            count_line(&nonmem->filled, nonmem->reader);
        } else if (!isnan(value) && value != kept[i]) {
            return csv_fault(nonmem->reader, nonmem->covariate[i], error,
                             "the covariate was %g before; to let it vary, the "
                             "model must declare it as an input",
                             kept[i]);
        }
    }
    return STATUS_OK;
}

/* A covariate that an experiment lacks is that of the individual's experiment before it. */
static void settle_covariates(struct nonmem *nonmem)
{
    uint32_t n = nonmem->model->abi.n_covariate;
    double *kept =
        nonmem->n_missing ? nonmem->subjects->covariate + (size_t)nonmem->owner * n : NULL;
    for (uint32_t i = 0; kept && i < n; i++)
        if (isnan(kept[i]) && nonmem->is_later && !isnan((kept - n)[i])) {
            kept[i] = (kept - n)[i];
            nonmem->n_missing--;
        }
    struct import_faults *faults = &nonmem->subjects->faults;
    if (nonmem->n_missing && faults->n == 0)
        faults->first = nonmem->missing;
    faults->n += nonmem->n_missing;
    nonmem->n_missing = 0;
}

/* Knots of an input: from a record's time on, its own value if linear or carried forward;
 * carried backward, the value of the first record at the next time, which is put there when that
 * record comes. */
static enum status add_knots(struct nonmem *nonmem, double time, bool is_first, struct error *error)
{
    const struct stiffit_model *abi = &nonmem->model->abi;
    struct import_happenings *happenings = nonmem->happenings;
    bool is_new_time = is_first || time > nonmem->time;
    for (uint32_t i = 0; i < abi->n_input; i++) {
        double value;
        enum status status = import_check_covariate(nonmem->reader, nonmem->input[i], error);
        if (!status)
            status = csv_number(nonmem->reader, nonmem->input[i], &value, error);
        if (status)
            return status;
        bool is_linear = abi->input_linear && abi->input_linear[i],
             is_backward = !is_linear && !nonmem->options->locf;
        struct knot *last = nonmem->last_knot[i] == SIZE_MAX
                                ? NULL
                                : &happenings->of[RECORD_KNOT].row[nonmem->last_knot[i]].is.knot;
        if (isnan(value) && !last)
            return csv_fault(nonmem->reader, nonmem->input[i], error,
                             "the first value of an input must be there");
        if (isnan(value))
            continue;
        if (is_new_time && is_backward && last)
            last->value = value;
        else if (!is_new_time && !is_backward && last)
            last->value = is_linear ? last->value : value;
        nonmem->last_knot[i] = is_new_time ? happenings->of[RECORD_KNOT].n : nonmem->last_knot[i];
        if (!is_new_time)
            continue;
        struct import_record *added =
            import_record_add(happenings, RECORD_KNOT, nonmem->owner, error);
        if (!added)
            return error->status;
        added->is.knot = (struct knot){time, value, i};
    }
    return STATUS_OK;
}

/* Constant infusions get the time from their record to the last one as the unit of time. */
static void settle_constants(struct nonmem *nonmem)
{
    for (size_t i = nonmem->constant; i < nonmem->happenings->of[RECORD_DOSE].n; i++) {
        struct dose *dose = &nonmem->happenings->of[RECORD_DOSE].row[i].is.dose;
        if (dose->count > 0)
            continue;
        dose->interval = dose->duration = nonmem->time > dose->time ? nonmem->time - dose->time : 1;
        dose->amount = dose->rate * dose->interval;
        dose->rate = 0;
    }
    nonmem->constant = nonmem->happenings->of[RECORD_DOSE].n;
}

/* Leaves out knots that change nothing: the integrator stops at each. */
static void end_experiment(struct nonmem *nonmem)
{
    const struct stiffit_model *abi = &nonmem->model->abi;
    struct import_happenings *happenings = nonmem->happenings;
    settle_constants(nonmem);
    settle_covariates(nonmem);
    size_t n = nonmem->first_knot;
    for (uint32_t i = 0; i < abi->n_input; i++)
        nonmem->last_knot[i] = SIZE_MAX;
    struct import_records *knots = &happenings->of[RECORD_KNOT];
    for (size_t k = n; k < knots->n; k++) {
        const struct import_record record = knots->row[k];
        const struct knot knot = record.is.knot;
        size_t *last = &nonmem->last_knot[knot.input];
        bool is_linear = abi->input_linear && abi->input_linear[knot.input];
        if (*last != SIZE_MAX && !is_linear && knots->row[*last].is.knot.value == knot.value)
            continue;
        *last = n;
        knots->row[n++] = record;
    }
    knots->n = nonmem->first_knot = n;
    for (uint32_t i = 0; i < abi->n_input; i++)
        nonmem->last_knot[i] = SIZE_MAX;
}

/* Leaves an individual without measurements out. */
static bool end_individual(struct nonmem *nonmem)
{
    struct import_owners *owners = &nonmem->rows->owners;
    struct import_happenings *happenings = nonmem->happenings;
    end_experiment(nonmem);
    if (nonmem->id && nonmem->rows->n == nonmem->before.n_row) {
        id_table_drop(&owners->dataset, nonmem->before.n_dataset);
        id_table_drop(&owners->experiment, nonmem->before.n_experiment);
        owners->has_experiments = nonmem->before.has_experiments;
        happenings->of[RECORD_DOSE].n = nonmem->constant = nonmem->before.n_dose;
        happenings->of[RECORD_KNOT].n = nonmem->first_knot = nonmem->before.n_knot;
        if (nonmem->n_empty++ == 0 && !(nonmem->empty = strdup(nonmem->id)))
            return false;
    }
    nonmem->before.n_row = nonmem->rows->n;
    nonmem->before.n_dataset = owners->dataset.n;
    nonmem->before.n_experiment = owners->experiment.n;
    nonmem->before.has_experiments = owners->has_experiments;
    nonmem->before.n_dose = happenings->of[RECORD_DOSE].n;
    nonmem->before.n_knot = happenings->of[RECORD_KNOT].n;
    return true;
}

/* Another experiment of the individual begins at this time. */
static enum status begin_experiment(struct nonmem *nonmem, double time, struct error *error)
{
    char name[24];
    struct import_subjects *subjects = nonmem->subjects;
    end_experiment(nonmem);
    snprintf(name, sizeof name, "%u", nonmem->n_reset + 1);
    nonmem->owner = import_owner_add(&nonmem->rows->owners, nonmem->id, name);
    size_t n = nonmem->model->abi.n_covariate, e = nonmem->owner;
    if (e == ID_NO_MEMORY ||
        !array_grow(&subjects->t0, e, &nonmem->room_t0, sizeof *subjects->t0) ||
        (n && !array_grow(&subjects->covariate, e, &nonmem->room_covariate,
                          n * sizeof *subjects->covariate)))
        return no_memory(error);
    subjects->t0[e] = time;
    nonmem->is_later = nonmem->n_reset > 0;
    nonmem->rows->owners.has_experiments = nonmem->rows->owners.has_experiments || nonmem->is_later;
    nonmem->time = NAN;
    return STATUS_OK;
}

/* An individual's first record. */
static enum status begin_individual(struct nonmem *nonmem, const char *id, struct error *error)
{
    uint32_t n = nonmem->seen.n;
    if (id_table_find(&nonmem->seen, id) != ID_NONE)
        return fault(nonmem, ID, error, "the individual's records must follow one another");
    if (!end_individual(nonmem))
        return no_memory(error);
    free(nonmem->id);
    nonmem->id = strdup(id);
    nonmem->n_reset = 0;
    return nonmem->id && id_table_add(&nonmem->seen, id) == n ? STATUS_OK : no_memory(error);
}

static enum status add_record(struct nonmem *nonmem, struct error *error)
{
    struct record record;
    const char *id = csv_field(nonmem->reader, nonmem->column[ID]);
    bool is_individual = !nonmem->id || strcmp(id, nonmem->id) != 0;
    enum status status = *id ? read_record(nonmem, &record, is_individual, error)
                             : fault(nonmem, ID, error, "is missing");
    if (!status)
        status = check_record(nonmem, &record, error);
    if (!status && is_individual)
        status = begin_individual(nonmem, id, error);
    if (status)
        return status;
    double time = record.number[TIME];
    bool is_reset = !is_individual && record.evid >= 3, is_first = is_individual || is_reset;
    nonmem->n_reset += is_reset;
    if (is_first && (status = begin_experiment(nonmem, time, error)))
        return status;
    if (time < nonmem->time && nonmem->clock.date != CSV_NO_COLUMN)
        return csv_fault(nonmem->reader, nonmem->column[TIME], error,
                         "is before that of the individual's last record: %s after %s",
                         nonmem->clock.this_date, nonmem->clock.last_date);
    if (time < nonmem->time)
        return fault(nonmem, TIME, error, "is before that of the individual's last record");
    if (!(time == nonmem->time)) {
        nonmem->is_dosed = false;
        nonmem->dose_side = nonmem->measured_side = 0;
    }
    status = check_covariates(nonmem, is_first, error);
    if (!status)
        status = add_knots(nonmem, time, is_first, error);
    nonmem->time = time;
    if (!status && (record.evid == 1 || record.evid == 4))
        status = add_dose(nonmem, &record, error);
    if (!status && record.evid == 0 && record.number[MDV] == 0)
        status = add_measurement(nonmem, &record, error);
    return status;
}

/* Whether --where takes the record. */
static enum status is_wanted(struct nonmem *nonmem, bool *wanted, struct error *error)
{
    double amount = 0;
    struct error unread;
    enum status status = import_where_holds(&nonmem->where, nonmem->reader, wanted, error);
    if (!status && !*wanted && nonmem->column[AMT] != CSV_NO_COLUMN &&
        !csv_number(nonmem->reader, nonmem->column[AMT], &amount, &unread) && amount > 0)
        count_line(&nonmem->doses_left_out, nonmem->reader);
    return status;
}

static void say_records(const struct nonmem *nonmem)
{
    const struct { const struct csv_lines *lines; const char *what;
    } notes[] = {{&nonmem->left_out, "marked as comments (a C, # or other word in front) left out"},
                 {&nonmem->idle, "with an II but neither ADDL nor SS: II has no effect"},
                 {&nonmem->where.left_out, "left out by --where"},
                 {&nonmem->doses_left_out, "of these with an AMT: doses are left out, too"},
                 {&nonmem->filled, "with the first value of a covariate, which also holds for the "
                                   "individual's records before it"}};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (notes[i].lines->n)
            nonmem->options->say("note: %.300s: %llu record%s %s; the first is line %llu",
                                 nonmem->path, (unsigned long long)notes[i].lines->n,
                                 plural(notes[i].lines->n), notes[i].what,
                                 (unsigned long long)notes[i].lines->first);
}

static enum status read_table(struct import_rows *rows, struct import_subjects *subjects,
                              struct import_happenings *happenings,
                              const struct import_options *options, const struct model *model,
                              struct error *error)
{
    struct nonmem nonmem = {.path = options->measurements,
                            .model = model, .options = options, .rows = rows, .subjects = subjects,
                            .happenings = happenings, .time = NAN,
                            .where = {.missing_is_0 = true}};
    bool more = true, wanted;
    subjects->has_t0 = true;
    subjects->n_covariate = model->abi.n_covariate;
    subjects->n_parameter = model->abi.n_parameter;
    nonmem.covariate = calloc(model->abi.n_covariate + 1, sizeof *nonmem.covariate);
    nonmem.input = calloc(model->abi.n_input + 1, sizeof *nonmem.input);
    nonmem.last_knot = calloc(model->abi.n_input + 1, sizeof *nonmem.last_knot);
    enum status status = nonmem.covariate && nonmem.input && nonmem.last_knot
                             ? csv_open(&nonmem.reader, nonmem.path, error) : no_memory(error);
    if (!status) {
        csv_set_missing(nonmem.reader, options->missing.item, options->missing.n);
        csv_set_fortran(nonmem.reader);
    }
    if (!status)
        status = import_name_columns(nonmem.reader, options, error);
    if (!status)
        status = import_where_begin(&nonmem.where, options, nonmem.reader, nonmem.path, error);
    if (!status)
        status = find_columns(&nonmem, error);
    if (!status)
        status = find_numbers(&nonmem, error);
    while (!status && !(status = csv_next(nonmem.reader, &more, error)) && more)
        if (is_comment(&nonmem))
            count_line(&nonmem.left_out, nonmem.reader);
        else if (!(status = is_wanted(&nonmem, &wanted, error)) && wanted)
            status = add_record(&nonmem, error);
    if (!status && !end_individual(&nonmem))
        status = no_memory(error);
    if (!status) {
        say_records(&nonmem);
        import_observables_say(&nonmem.observables, nonmem.reader, options);
    }
    if (!status && nonmem.n_empty)
        nonmem.options->say("note: %s: %llu individual%s without measurements left out, the first "
                            "is '%.100s'",
                            nonmem.path, (unsigned long long)nonmem.n_empty, plural(nonmem.n_empty),
                            nonmem.empty);
    if (!status && nonmem.clock.n_relative)
        nonmem.options->say("note: %s: times are hours since the first record of each individual",
                            nonmem.path);
    if (!status)
        import_say_reading(options, nonmem.reader, nonmem.path);
    if (!status && rows->n == 0)
        status = import_where_none(&nonmem.where, nonmem.path, error);
    import_where_fini(&nonmem.where);
    csv_close(nonmem.reader);
    free(nonmem.covariate);
    free(nonmem.input);
    free(nonmem.last_knot);
    free(nonmem.id);
    free(nonmem.empty);
    id_table_fini(&nonmem.seen);
    return status;
}

static const char *const typical[] = {"DV", "AMT", "EVID", "MDV", "CMT", "ADDL", NULL};
static const char *const options[] = {"locf", "cmt", "observables", "ignore", NULL};
const struct import_format import_format_nonmem = {.name = "nonmem", .style = "NONMEM's style",
                                                   .id = "ID",
                                                   .column = typical, .option = options,
                                                   .read = read_table};

/* Fits, profiles and replicates whose k-th allocation fails, for every k: ours and libLBFGS's. They end with out_of_memory or,
 * where libLBFGS could be spared, well, with the bits of a fit that nothing disturbed; they never crash, and leak nothing. The
 * same of evaluations that find no memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "../unit/fit_case.h"

#include "base/memory.h"
#include "fit/refits/bootstrap.h"
#include "fit/refits/profile.h"
#include "fit/refits/single.h"

enum call { ALLOCATE };
static long countdown; /* the call that fails is this many away; 0: none does */
static bool lasting;   /* and all later ones */
static bool has_failed;

static bool now(enum call call)
{
    (void)call;
    if (countdown <= 0)
        return false;
    if (countdown > 1) {
        countdown--;
        return false;
    }
    if (!lasting)
        countdown = 0;
    has_failed = true;
    return true;
}

#include "failing_allocation.h"

static const struct stiffit_model *model;

static void evaluate(const struct fit_case *self, struct evaluation *evaluation)
{
    const struct evaluation_adjoint *adjoint = evaluation->adjoint;
    size_t n_row = self->task.n_row;
    double out[2];
    for (size_t i = 0; i < n_row; i++)
        case_point(model, evaluation, i, model->observe, evaluation->prediction + i);
    evaluation->outcome = EVALUATION_OK;
    if (adjoint && !adjoint->weigh(adjoint->context, evaluation))
        evaluation->outcome = EVALUATION_MODEL_FAILED;
    for (size_t k = 0; k < evaluation->n_sens; k++) {
        if (adjoint)
            adjoint->gradient[k] = 0;
        for (size_t i = 0; i < n_row; i++) {
            case_point(model, evaluation, i, model->observe_parameter, out);
            if (adjoint)
                adjoint->gradient[k] += adjoint->by_prediction[i] * out[evaluation->sens[k]];
            else
                evaluation->d_prediction[i + k * n_row] = out[evaluation->sens[k]];
        }
    }
}

static long asked_until_short; /* the evaluation that finds no memory is this many away; 0: none does */
static bool has_been_short;

/* The host must not be hit: its evaluations take no memory here. */
static bool ask(void *context, struct evaluation *const *evaluations, size_t n)
{
    for (size_t e = 0; e < n; e++) {
        evaluate(context, evaluations[e]);
        if (asked_until_short > 0 && --asked_until_short == 0) {
            evaluations[e]->outcome = EVALUATION_NO_MEMORY;
            evaluations[e]->reason[0] = 0;
            has_been_short = true;
        }
    }
    return true;
}

enum work { FIT, PROFILE, REPLICATE };
static const struct way {
    const char *name;
    enum work work;
    enum optimizer optimizer;
    enum gradient_method gradient;
    enum error_kind error;
    bool lacks_sigma;
} ways[] = {
    {"trf", FIT, OPTIMIZER_trf, GRADIENT_forward, ERROR_NORMAL, false},
    {"trf along kinks", FIT, OPTIMIZER_trf, GRADIENT_forward, ERROR_LAPLACE, false},
    {"trf along kinks without sigma", FIT, OPTIMIZER_trf, GRADIENT_forward, ERROR_LAPLACE, true},
    {"trf by differences", FIT, OPTIMIZER_trf, GRADIENT_differences, ERROR_NORMAL, false},
    {"observed information", FIT, OPTIMIZER_trf, GRADIENT_forward, ERROR_STUDENT, false},
    {"lbfgs", FIT, OPTIMIZER_lbfgs, GRADIENT_forward, ERROR_NORMAL, false},
    {"lbfgs by adjoints", FIT, OPTIMIZER_lbfgs, GRADIENT_adjoint, ERROR_NORMAL, false},
    {"lbfgs by differences", FIT, OPTIMIZER_lbfgs, GRADIENT_differences, ERROR_NORMAL, false},
    {"profile", PROFILE, OPTIMIZER_trf, GRADIENT_forward, ERROR_NORMAL, false},
    {"profile by adjoints", PROFILE, OPTIMIZER_lbfgs, GRADIENT_adjoint, ERROR_NORMAL, false},
    {"profile by differences", PROFILE, OPTIMIZER_trf, GRADIENT_differences, ERROR_NORMAL, false},
    {"replicate", REPLICATE, OPTIMIZER_trf, GRADIENT_forward, ERROR_NORMAL, false},
};

/* Everything that a fit fills, and what a profile and a replicate need on top. */
struct memory_case {
    struct fit_case *fit;
    struct arena scratch;
    double best[2];
    double whole[5]; /* parameters, their errors, and the objective, of what nothing disturbed */
};

static void take_numbers(const struct fit_record *record, double numbers[5])
{
    for (int j = 0; j < 2; j++) {
        numbers[j] = record->parameter[j];
        numbers[2 + j] = record->standard_error[j];
    }
    numbers[4] = record->objective;
}

static void assert_same_numbers(const struct memory_case *self, const char *name)
{
    double now[5];
    take_numbers(&self->fit->result, now);
    if (memcmp(now, self->whole, sizeof now))
        fail_msg("%s: memory was short, and the numbers are others", name);
}

static enum outcome work(struct memory_case *self, enum work work)
{
    struct fit_case *fit = self->fit;
    const struct fit_profile_request request = {.parameter = 1, .side = 1};
    if (work == FIT)
        return case_run(fit)->outcome;
    struct fit_single single = {.problem = fit->problem, .host = &fit->host, .arena = &fit->arena, .scratch = &self->scratch,
                                .kind = BOOTSTRAP_RESIDUAL};
    single.problem.start = self->best;
    arena_reset(&fit->arena);
    const struct fit_subject subject = fit_subject_single(&single, &fit->options);
    if (work == REPLICATE) {
        fit_bootstrap_run(&subject, &fit->options, 3, &fit->result);
        return fit->result.outcome;
    }
    fit_profile_run(&subject, &fit->options, &fit->arena, &request, &fit->result);
    assert_true((fit->result.outcome == OUTCOME_converged) == (fit->result.limit == LIMIT_found));
    return fit->result.outcome;
}

/* From memory that is empty to memory that is empty. */
static enum outcome work_anew(struct memory_case *self, enum work kind, long failing)
{
    long before = n_alive;
    has_failed = false;
    countdown = failing;
    enum outcome outcome = work(self, kind);
    countdown = 0;
    arena_fini(&self->fit->arena);
    arena_fini(&self->scratch);
    memset(&self->fit->arena, 0, sizeof self->fit->arena);
    memset(&self->scratch, 0, sizeof self->scratch);
    assert_int_equal(n_alive, before);
    return outcome;
}

static void make(struct memory_case *self, size_t n_row)
{
    memset(self, 0, sizeof *self);
    struct fit_case *fit = self->fit = case_new(model = test_model("decay"), n_row);
    for (size_t i = 0; i < n_row; i++) {
        fit->time[i] = 400 * (double)i / (double)n_row;
        fit->value[i] = 2 * exp(-0.01 * fit->time[i]) + 0.1 * sin((double)i);
        fit->sigma[i] = 0.1;
    }
    fit->start[1] = 0.02;
    fit->host.ask = ask;
    fit->options.statistics = true;
}

/* Every allocation of one way, with so many rows: where in our own code memory ends depends on them. */
static void fail_each(const struct way *way, size_t n_row, long *n_tried, long *n_failed)
{
    struct memory_case self;
    make(&self, n_row);
    self.fit->options.optimizer = way->optimizer;
    self.fit->options.gradient = way->gradient;
    self.fit->loss[0] = fit_loss_of(way->error, NULL);
    for (size_t i = 0; i < n_row && way->lacks_sigma; i++)
        self.fit->sigma[i] = NAN;
    assert_int_equal(case_run(self.fit)->outcome, OUTCOME_converged);
    memcpy(self.best, self.fit->parameter, sizeof self.best);
    arena_fini(&self.fit->arena);
    memset(&self.fit->arena, 0, sizeof self.fit->arena);
    assert_int_equal(work_anew(&self, way->work, 0), OUTCOME_converged);
    take_numbers(&self.fit->result, self.whole);
    has_failed = true;
    for (long k = 1; has_failed; k++) {
        uint64_t n_counted = memory_n_failed();
        enum outcome outcome = work_anew(&self, way->work, k);
        if (outcome == OUTCOME_converged && memory_n_failed() == n_counted)
            assert_same_numbers(&self, way->name);
        if (outcome != OUTCOME_out_of_memory && outcome != OUTCOME_converged)
            fail_msg("%s, %zu rows, allocation %ld: %s", way->name, n_row, k, self.fit->result.reason);
        assert_true(has_failed || outcome == OUTCOME_converged);
        if (has_failed && outcome == OUTCOME_converged && way->optimizer != OPTIMIZER_lbfgs)
            fail_msg("%s, %zu rows: allocation %ld failed and nobody cared", way->name, n_row, k);
        *n_tried += has_failed;
        *n_failed += outcome == OUTCOME_out_of_memory;
    }
    has_been_short = true;
    for (long k = 1; has_been_short; k++) {
        has_been_short = false;
        asked_until_short = k;
        enum outcome outcome = work_anew(&self, way->work, 0);
        asked_until_short = 0;
        if (has_been_short ? outcome != OUTCOME_out_of_memory : outcome != OUTCOME_converged)
            fail_msg("%s, %zu rows, no memory for evaluation %ld: %s", way->name, n_row, k, outcome_name((int)outcome));
    }
    case_free(self.fit);
}

static void test_every_allocation(void **state)
{
    (void)state;
if (!REPLACES_MALLOC) {
        print_message("a sanitizer owns malloc: skipped\n");
        skip();
    }
    static const size_t rows[] = {20, 100, 130, 170, 220, 300, 400, 550, 700, 1000, 2000};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        for (int kind = 0; kind < 2; kind++) {
            long n_tried = 0, n_failed = 0;
            lasting = kind == 1;
            for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
                fail_each(&ways[w], rows[r], &n_tried, &n_failed);
            print_message("%-22s %s: %ld of %ld out of memory\n", ways[w].name, lasting ? "from then on" : "once", n_failed,
                          n_tried);
            assert_true(n_failed >= 11); /* one for each number of rows, at least */
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

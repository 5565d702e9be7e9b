/* The minimisation of a fit within its bounds by a trust region, for one dataset and for many:
 * the first steps at loose tolerances, then steps until a stopping test is met. What a step is,
 * the method knows.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/search/stopping.h"

struct fit_search;

/* The end of the model's step, once it has been tried. */
struct fit_search_trial {
    double f;         /* the objective; infinite: it could not be evaluated, or values alone are
                       * compared */
    double decrease;  /* of the objective; -infinity: it could not be evaluated */
    double slope;     /* of the objective along the step, at the best point */
    bool is_refused;  /* whatever it gains: the step was not valid, and the next one is shorter */
    bool is_known;    /* it was left before, and is left again: only the trust region changes */
    bool keeps_reach; /* it says nothing of the trust region: something else limits the steps */
};

/* What is minimised, and how its steps are found: a sum over one dataset or many
 * (joint/search.c), or the likelihood of random parameters (mixed/search.c). All may return
 * ASKED_END: the fit must end, for the reason in search->asker. */
struct fit_search_method {
    /* Evaluates the start, as a new search does; it becomes the best point. ASKED_FAILED: it
     * cannot be evaluated. */
    enum asked (*begin)(struct fit_search *search);
    /* Leaves a start that is orders of magnitude off. NULL: `begin` does it. */
    enum asked (*leap)(struct fit_search *search);
    /* Sets the model at the best point, with its step and what that promises. ASKED_FAILED: it
     * is not finite, or what it needs cannot be evaluated. */
    enum asked (*look)(struct fit_search *search);
    /* Evaluates the end of the model's step. ASKED_FAILED: there is nothing to judge, and the next
     * step is another one. */
    enum asked (*try)(struct fit_search *search, struct fit_search_trial *trial);
    /* The trial has been judged: it becomes the best point, or is left. `radius`: what the trust
     * region's did. */
    void (*settle)(struct fit_search *search, const struct fit_search_trial *trial, bool is_taken,
                   enum trust_radius radius);
    /* The accuracy has become higher: goes to the end of the model's step, which is of
     * evaluations at the former accuracy, or stays. ASKED_FAILED: neither can be evaluated. */
    enum asked (*land)(struct fit_search *search);
    /* The loose first steps gained no more than their errors: returns to the start if that is
     * better. */
    enum asked (*look_back)(struct fit_search *search);
    /* Whether the budgets suffice for more steps at loose tolerances, and full ones after these. */
    bool (*has_budget)(const struct fit_search *search);
    /* A stopping test is met. ASKED_OK: something has changed, and the search goes on;
     * ASKED_FAILED: it ends. */
    enum asked (*go_on)(struct fit_search *search, enum outcome outcome);
    /* Returns to the lowest point, which is not the best one. False: it is not kept. NULL: none
     * is. */
    bool (*go_lowest)(struct fit_search *search);
};

struct fit_search {
    const struct fit_search_method *method;
    /* Of this the search needs map, options (the tests' tolerances), accuracy, is_near, is_exact,
     * start_f and objective.has_offset; it sets accuracy, notes, and for a failure outcome and
     * reason. What evaluates the points is the method's affair. */
    struct fit_asker *asker;
    const struct fit_point *best;
    struct trust_model model;  /* at the best point */
    struct stopping stopping;
    struct fit_accuracy requested; /* after the loose steps */
    /* relative tolerance of the first steps, as long as they last; 0 after them */
    double loose;
    double doubt;              /* a decrease smaller than this is noise */
    /* the lowest objective at these tolerances, that of the best point or of one that slopes led
     * away from; not known before the first step */
    bool has_lowest;
    double lowest;
    /* of the reach after a good step that it has limited: TRUST_REACH_GROWTH, say */
    double reach_growth;
    int64_t n_iteration;
    /* how often the estimated second derivatives were forgotten rather than believed */
    int n_plain;
};

/* From the start to where a stopping test is met: stopping.met says which. `is_under_way`:
 * another process was at the best point. */
enum outcome fit_search_run(struct fit_search *search, bool is_under_way);

/* The lowest objective at these tolerances. */
double fit_search_lowest(const struct fit_search *search);

/* What a trial that could be evaluated says of the curvature. `asker`: that of both points, whose
 * parameters are the model's. */
void fit_search_learn(struct fit_search *search, struct fit_asker *asker,
                      const struct fit_point *best, const struct fit_point *trial, bool is_better);

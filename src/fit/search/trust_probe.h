/* Looks for the next step by values alone, which cost a small part of an evaluation with
 * derivatives.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * In a narrow curved valley, linear predictions hold for short steps only. What they miss at the
 * end of a step corrects the step, with the same factorisation: the correction of second order
 * (Fan 2012), which follows the valley's floor as geodesic acceleration does (Transtrum & Sethna
 * 2012), and may be repeated. Then the longest radius is sought that still pays. Most searches
 * meet no such valley: some poor steps must have shown it. */
#pragma once

#include "fit/search/trust_model.h"

struct trust_probe {
    struct fit_asker *asker;
    int n_poor;                /* steps that were poor: they made the trust region shrink */
    /* enough were, and the latest predictions missed more than errors of integration could cause */
    bool is_needed;
    bool has_plain;            /* plain and plain_f belong to the best point */
    /* n_row: predictions without derivatives at the best point, and at the end of the step */
    double *plain, *found;
    /* the same of the model's latest step, which may be taken without being found */
    double *last, *last_theta;
    double plain_f, found_f, last_f; /* the objectives of those; NaN if there is no such step */
    /* by how much decreases by evaluations with and without derivatives differed recently */
    double gap;
    double *missed;            /* n_row: second differences of the predictions */
    double *straight, *step;   /* n: the model's step, and the best one found */
    int64_t n_plain;           /* evaluations made here */
};

/* False: out of memory. */
bool trust_probe_init(struct trust_probe *probe, struct fit_asker *asker, struct arena *arena);
/* As bytes: what lasts from step to step. */
void trust_probe_pass(struct cursor *cursor, struct trust_probe *probe);
/* Another search begins: no step has been poor. */
void trust_probe_forget(struct trust_probe *probe);
/* A step was poor. */
void trust_probe_poor(struct trust_probe *probe);
/* Improves the model's step and radius. Overwrites `trial`. ASKED_END: the fit is over. */
enum asked trust_probe_step(struct trust_probe *probe, struct trust_model *model,
                            const struct fit_point *best, struct fit_point *trial);
/* The end of the step has been evaluated with derivatives as `trial`, or could not be (NULL). */
void trust_probe_note(struct trust_probe *probe, const struct fit_point *best,
                      const struct fit_point *trial);
/* The best point changes: to the end of the step found, or to any other. */
void trust_probe_move(struct trust_probe *probe, bool is_found);

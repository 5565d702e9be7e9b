/* Bends steps and chooses their length by evaluations without derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search/trust_probe.h"

#include <math.h>
#include <string.h>

/* Errors of predictions in units of the integrator's tolerance. What these alone could cause is
 * no reason to bend. */
static const double ERROR_GROWTH = 10;
/* A step that promises less than this multiple of the gap is left to the derivatives. */
static const double GAPS = 10;
static const double SHORTER = 0.25, LONGER = 2;
enum { MAX_RADIUS = 5 };
/* Where states are integrated, probes begin after so many poor steps. From the first one on they
 * cost more there than they spare: on saturable kinetics, sums of exponentials and Hill functions
 * 10 to 17 % of the evaluations, on published pathways 2 to 9 %. Functions in closed form, whose
 * values need no integration, gain from the first one on: NIST's fits would take 20 % more. */
enum { POOR_STEPS = 6 };
/* An evaluation with derivatives by this many parameters costs about one more than one without. */
enum { PARAMETERS = 3 };
/* Where so many evaluations without derivatives cost as much as one with them, a step may be bent
 * twice. */
enum { CHEAP = 4 };

bool trust_probe_init(struct trust_probe *probe, struct fit_asker *asker, struct arena *arena)
{
    size_t n = asker->map.n_free, n_row = asker->objective.n_row;
    *probe = (struct trust_probe){.asker = asker, .found_f = NAN, .last_f = NAN};
    return ARENA_DOUBLES(arena, {&probe->plain, n_row, 1}, {&probe->found, n_row, 1},
                         {&probe->missed, n_row, 1}, {&probe->straight, n, 1}, {&probe->step, n, 1},
                         {&probe->last, n_row, 1}, {&probe->last_theta, n, 1});
}

void trust_probe_pass(struct cursor *cursor, struct trust_probe *probe)
{
    size_t n = probe->asker->map.n_free, n_row = probe->asker->objective.n_row;
    FIELD(probe->n_poor);
    FIELD(probe->is_needed);
    FIELD(probe->has_plain);
    FIELD(probe->plain_f);
    FIELD(probe->found_f);
    FIELD(probe->last_f);
    FIELD(probe->gap);
    FIELD(probe->n_plain);
    ARRAY(probe->plain, n_row);
    ARRAY(probe->found, n_row);
    ARRAY(probe->last, n_row);
    ARRAY(probe->last_theta, n);
    ARRAY(probe->step, n);
}

/* So many evaluations without derivatives count as one with them. */
static int64_t parts_of(const struct trust_probe *probe)
{
    return 1 + (int64_t)probe->asker->map.n_free / PARAMETERS;
}

/* Evaluates without derivatives. */
static enum asked ask(struct trust_probe *probe, struct fit_point *point)
{
    struct fit_asker *asker = probe->asker;
    int64_t before = asker->used.n_evaluation, parts = parts_of(probe);
    enum asked asked = fit_ask(asker, asker->accuracy, point, false);
    if (asker->accuracy.gradient == GRADIENT_forward && asker->used.n_evaluation > before &&
        probe->n_plain++ % parts != 0)
        asker->used.n_evaluation--;
    return asked;
}

static enum asked ask_plain(struct trust_probe *probe, const struct fit_point *best,
                            struct fit_point *trial)
{
    size_t bytes = probe->asker->map.n_free * sizeof *trial->theta;
    if (probe->has_plain)
        return ASKED_OK;
    if (!isnan(probe->last_f) && memcmp(probe->last_theta, best->theta, bytes) == 0) {
        double *plain = probe->plain;
        probe->plain = probe->last;
        probe->plain_f = probe->last_f;
        probe->last = plain;
        probe->last_f = NAN;
        probe->has_plain = true;
        return ASKED_OK;
    }
    memcpy(trial->theta, best->theta, bytes);
    enum asked asked = ask(probe, trial);
    probe->has_plain = asked == ASKED_OK;
    if (probe->has_plain) {
        probe->plain_f = trial->f;
        memcpy(probe->plain, trial->prediction,
               probe->asker->objective.n_row * sizeof *probe->plain);
    }
    return asked;
}

/* Corrects the model's step by what linear predictions miss at `far`. False: that may be due to
 * errors of integration, or the correction is too large. */
static bool bend(struct trust_probe *probe, struct trust_model *model, const struct fit_point *best,
                 const struct fit_point *far)
{
    const struct fit_asker *asker = probe->asker;
    size_t n = asker->map.n_free, n_row = asker->objective.n_row;
    double sum = 0, noise = 0,
           error = ERROR_GROWTH * fit_asker_rtol(asker, asker->accuracy.tighter);
    for (size_t i = 0; i < n_row; i++)
        probe->missed[i] = (far->prediction[i] - probe->plain[i]) * best->weight[i];
    for (size_t j = 0; j < n; j++) {
        double part = (far->theta[j] - best->theta[j]) * best->chain[j];
        const double *column = best->d_prediction + j * n_row;
        for (size_t i = 0; i < n_row; i++)
            probe->missed[i] -= column[i] * best->weight[i] * part;
    }
    for (size_t i = 0; i < n_row; i++) {
        sum += probe->missed[i] * probe->missed[i];
        noise += pow(error * best->prediction[i] * best->weight[i], 2);
        probe->missed[i] *= 2;
    }
    probe->is_needed = sum > noise;
    if (!probe->is_needed || !model->is_restricted)
        return false;
    memcpy(model->step, probe->straight, n * sizeof *model->step);
    return trust_model_bend(model, best, probe->missed);
}

/* Tries the model's step, then bends it as long as that lowers the objective. Returns the best
 * ratio of actual to predicted decrease. */
static enum asked try_radius(struct trust_probe *probe, struct trust_model *model,
                             const struct fit_point *best, struct fit_point *trial, double *ratio)
{
    size_t bytes = model->n * sizeof *model->step;
    double last = -INFINITY;
    int max_bend = parts_of(probe) < CHEAP ? 1 : 2;
    *ratio = -INFINITY;
    memcpy(probe->straight, model->step, bytes);
    for (int i = 0; i <= max_bend; i++) {
        trust_model_target(model, best, trial->theta);
        enum asked asked = ask(probe, trial);
        if (asked != ASKED_OK)
            return asked;
        if (i == 0) {
            probe->last_f = trial->f;
            memcpy(probe->last_theta, trial->theta, bytes);
            memcpy(probe->last, trial->prediction,
                   probe->asker->objective.n_row * sizeof *probe->last);
        }
        double decrease = probe->plain_f - trial->f;
        *ratio = fmax(*ratio, decrease / model->promise);
        if (decrease > probe->gap && !(trial->f >= probe->found_f)) {
            probe->found_f = trial->f;
            memcpy(probe->step, model->step, bytes);
            memcpy(probe->found, trial->prediction,
                   probe->asker->objective.n_row * sizeof *probe->found);
        }
        if (!(decrease > last) || i == max_bend || !bend(probe, model, best, trial))
            return ASKED_OK;
        last = decrease;
    }
    return ASKED_OK;
}

void trust_probe_forget(struct trust_probe *probe)
{
    probe->n_poor = 0;
    probe->is_needed = false;
}

void trust_probe_poor(struct trust_probe *probe)
{
    probe->n_poor++;
    probe->is_needed |= probe->asker->is_exact || probe->n_poor >= POOR_STEPS;
}

enum asked trust_probe_step(struct trust_probe *probe, struct trust_model *model,
                            const struct fit_point *best, struct fit_point *trial)
{
    double radius = model->reach.radius, found_radius = radius;
    probe->gap *= 0.5;
    /* the step found from here: with derivatives it was no good */
    bool is_rejected = !isnan(probe->found_f);
    if (is_rejected || !probe->is_needed || !model->is_restricted ||
        !(model->promise > GAPS * probe->gap))
        return ASKED_OK;
    enum asked asked = ask_plain(probe, best, trial);
    bool shrinks = false;
    for (int i = 0; i < MAX_RADIUS && asked != ASKED_END && probe->has_plain; i++) {
        double ratio, before = probe->found_f;
        asked = try_radius(probe, model, best, trial, &ratio);
        bool is_better = probe->found_f < before || isnan(before) > isnan(probe->found_f);
        found_radius = is_better ? model->reach.radius : found_radius;
        shrinks = isnan(probe->found_f);
        if (!probe->is_needed || (shrinks && !(ratio < TRUST_RATIO_POOR)))
            break;
        if (!shrinks && (!is_better || !(ratio > TRUST_RATIO_GOOD) || found_radius < radius ||
                         !model->is_restricted))
            break;
        model->reach.radius = shrinks ? SHORTER * fmin(model->reach.radius, model->length)
                                      : LONGER * model->reach.radius;
        trust_model_step(model, best);
        if (memcmp(model->step, probe->straight, model->n * sizeof *model->step) == 0)
            break; /* bounds and limits hold it, not the radius */
    }
    if (asked == ASKED_END)
        return asked;
    if (!isnan(probe->found_f) || !probe->is_needed)
        model->reach.radius = found_radius;
    trust_model_step(model, best);
    if (!isnan(probe->found_f))
        memcpy(model->step, probe->step, model->n * sizeof *model->step);
    return ASKED_OK;
}

void trust_probe_note(struct trust_probe *probe, const struct fit_point *best,
                      const struct fit_point *trial)
{
    if (trial && !isnan(probe->found_f))
        probe->gap = fmax(probe->gap, fabs(best->f - trial->f - (probe->plain_f - probe->found_f)));
}

void trust_probe_move(struct trust_probe *probe, bool is_found)
{
    double *plain = probe->plain;
    probe->has_plain = is_found && !isnan(probe->found_f);
    if (probe->has_plain) {
        probe->plain = probe->found;
        probe->plain_f = probe->found_f;
        probe->found = plain;
    }
    probe->found_f = NAN;
    if (!is_found)
        probe->last_f = NAN;
}

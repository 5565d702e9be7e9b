/* A fit's optimum is confirmed by an evaluation with tighter tolerances. Where that confirms
 * nothing, or the search has stalled, other searches go on from the best point: with tighter
 * tolerances, and by CVODES in place of lanes, until the optimum is confirmed or tolerances are as
 * tight as they can be.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/model.h"

#include "base/random.h"
#include "fit/joint/internal.h"

#include <math.h>
#include <stdio.h>

/* One fit in CHECKED is checked by the other engine, and one in CHECKED_OF_MANY from dataset
 * MANY on: a sample of a given size shows a fault of the lanes as well in a long run as in a
 * short one. PURPOSE_CHECK keeps the random numbers apart from those of other purposes. */
enum { CHECKED = 64, CHECKED_OF_MANY = 1024, MANY = 4096 };
static const uint64_t PURPOSE_CHECK = 0x636865636b; /* "check" */
/* A stalled search is repeated with tolerances this many times tighter. */
static const double STALLED_FACTOR = 100;
/* A search with the same tolerances that gains less than this part of the predicted decrease is
 * not repeated. */
static const double LEAST_GAIN = 0.1;

/* The end of a search. */
struct ending {
    enum outcome *outcome;
    enum stop_test *stop;
};

static const struct fit_certificate none = {.change = NAN, .decrease = NAN};

static double change_of(const struct joint_block *block) { return block->trial.f - block->best.f; }
static double squares_of(const struct joint_block *block)
{
    return block->best.mean_square * (double)block->n_row;
}
static double variance_of(const struct joint_block *block)
{
    return block->best.variance * (double)block->n_row;
}

/* The certificate of a sum, from the blocks' trials. */
static void sum_certificate(struct joint *joint)
{
    struct fit_certificate *certificate = &joint->confirm.certificate;
    bool is_exact = joint->asker.is_exact;
    double n_row = fmax(1, (double)joint->asker.objective.n_row), variance = 1;
    certificate->change = is_exact ? 0 : joint_total(joint, change_of);
    certificate->decrease = joint_promise_free(joint, JOINT_TRIAL);
    if (!joint->asker.is_sigma_known)
        variance = joint_total(joint, variance_of) / n_row;
    fit_certificate_judge(certificate, joint->options, joint->search.stopping.beyond.misfit,
                          variance, joint_total(joint, squares_of) / n_row,
                          joint->asker.is_sigma_known);
    if (is_exact)
        certificate->factor = 0;
}

/* Evaluates the certificate. A single block makes its own. ASKED_FAILED: it is known, or it is not
 * to be had; ASKED_OK: blocks have left. */
static enum asked certify(struct joint *joint)
{
    struct joint_confirm *confirm = &joint->confirm;
    joint->confirm.certificate = none;
    confirm->is_described = false;
    enum joint_went went = joint_run_pass(joint, JOINT_CHECK);
    confirm->is_missed = confirm->is_missed || (went == JOINT_ENDED && joint_forgive(joint));
    if (confirm->is_missed)
        return ASKED_FAILED;
    if (went != JOINT_COUNTS)
        return joint_judge(joint, went);
    if (joint->session || joint_some_failed(joint))
        return ASKED_FAILED;
    confirm->is_described = true;
    enum asked asked = joint_set_model(joint, JOINT_TRIAL);
    if (asked == ASKED_OK)
        sum_certificate(joint);
    return asked == ASKED_END ? ASKED_END : ASKED_FAILED;
}

/* Whether CVODES may take over. */
static bool may_leave(const struct joint_block *block)
{
    return block->engine.kind != ENGINE_REFERENCE && !block->engine.lanes.stays;
}

/* Whether there are blocks in lanes; some that may leave them; and have lost an integration there.
 */
enum { IN_LANES = 1, MAY_LEAVE = 2, HAS_LOST = 4 };
static uint32_t find_lanes(const struct joint *joint)
{
    struct joint_facts facts = {.any = 0};
    for (size_t i = 0; i < joint->part.n_active; i++) {
        const struct joint_block *block = joint_active(joint, i);
        bool may = may_leave(block);
        facts.any |= (block->engine.kind != ENGINE_REFERENCE ? IN_LANES : 0)
                     | (may ? MAY_LEAVE : 0)
                     | (may && block->engine.lanes.has_lost ? HAS_LOST : 0);
    }
    joint_agree(joint, &facts);
    return facts.any;
}

static void leave_lanes(struct joint *joint)
{
    for (size_t i = 0; i < joint->part.n_active; i++)
        if (may_leave(joint_active(joint, i)))
            joint_leave_lanes(joint_active(joint, i));
}

/* CVODES has taken over, or cannot. */
static void settle_lanes(struct joint *joint, bool has_left)
{
    for (size_t i = 0; i < joint->part.n_active; i++) {
        struct joint_block *block = joint_active(joint, i);
        if (!has_left)
            joint_return_to_lanes(block, false);
        block->engine.left = ENGINE_REFERENCE;
    }
}

static struct joint_former remember(const struct joint *joint, struct ending ending)
{
    struct joint_former former = {.is_there = true, .outcome = *ending.outcome,
                                  .stop = *ending.stop, .certificate = joint->confirm.certificate,
                                  .notes = joint->asker.notes, .f = joint->above.f};
    snprintf(former.reason, sizeof former.reason, "%s", joint->asker.reason);
    return former;
}

static void recall(struct joint *joint, const struct joint_former *former, struct ending ending)
{
    *ending.outcome = former->outcome;
    *ending.stop = former->stop;
    joint->confirm.certificate = former->certificate;
    joint->asker.notes |= former->notes;
    snprintf(joint->asker.reason, sizeof joint->asker.reason, "%s", former->reason);
}

/* Another search begins at the best point. */
static void begin_again(struct joint *joint)
{
    joint->asker.notes &= ~(uint32_t)NOTE_noise_floor;
    joint_begin_stopping(joint);
    trust_model_forget(&joint->search.model);
    joint->search.n_plain = 0;
    /* Steps at the looser tolerances may have become as short as their errors, and the optimum is
     * elsewhere now. */
    joint_free_reaches(joint, INFINITY);
    if (joint->session)
        joint_session_forget(joint->session);
}

/* The best point is by the new tolerances. */
static enum asked take_over(struct joint *joint, const struct joint_former *former)
{
    joint->confirm.former = *former;
    joint->confirm.former.f = joint->above.f;
    joint->confirm.former.doubt = fabs(joint->above.f - former->f);
    joint_doubt(joint, former->f);
    begin_again(joint);
    return ASKED_OK;
}

/* Goes on from the best point with tolerances divided by `factor`, and by CVODES if it leaves
 * lanes. ASKED_FAILED: the best point cannot be evaluated so, and nothing has changed. */
static enum asked go_on(struct joint *joint, struct ending ending, double factor, bool leaves)
{
    const struct fit_accuracy before = joint->asker.accuracy;
    const struct joint_former former = remember(joint, ending);
    joint->confirm.repeats = factor == 1 && !leaves;
    if (joint->confirm.repeats)
        return take_over(joint, &former);
    joint->asker.accuracy.tighter *= factor;
    joint->search.requested = joint->asker.accuracy;
    joint->confirm.is_described = false;
    if (leaves)
        leave_lanes(joint);
    enum asked asked = joint_evaluate(joint, JOINT_ANEW);
    settle_lanes(joint, asked == ASKED_OK);
    if (asked == ASKED_OK)
        return take_over(joint, &former);
    joint->asker.accuracy = joint->search.requested = before;
    if (asked == ASKED_END && !joint_forgive(joint))
        return ASKED_END;
    recall(joint, &former, ending);
    return ASKED_FAILED;
}

/* The search is cut short. ASKED_FAILED: the one before it was not, and this one, with other
 * tolerances, has gained no more than these may change. */
static enum asked fall_back(struct joint *joint, struct ending ending)
{
    const struct joint_former *former = &joint->confirm.former;
    if (!former->is_there || former->f - joint->above.f > FIT_DOUBT * former->doubt ||
        !joint_forgive(joint))
        return ASKED_END;
    recall(joint, former, ending);
    return ASKED_FAILED;
}

/* Goes on where a search has stalled. What lanes cannot finish CVODES often can, even with the same
 * tolerances. */
static enum asked go_on_stalled(struct joint *joint, struct ending ending)
{
    enum asked asked = ASKED_FAILED;
    uint32_t lanes = find_lanes(joint);
    struct fit_certificate stalled = none;
    stalled.factor = STALLED_FACTOR;
    joint->confirm.certificate = none;
    if (lanes & HAS_LOST)
        asked = go_on(joint, ending, 1, true);
    if (asked != ASKED_FAILED || !joint->options->certify ||
        !fit_certificate_may_tighten(&stalled, &joint->asker))
        return asked;
    if (lanes & MAY_LEAVE)
        asked = go_on(joint, ending, STALLED_FACTOR, true);
    return asked == ASKED_FAILED ? go_on(joint, ending, STALLED_FACTOR, false) : asked;
}

/* Goes on with the tolerances that the certificate needs. With the same ones another search has to
 * gain what it promises. */
static enum asked go_on_tighter(struct joint *joint, struct ending ending)
{
    struct fit_certificate *certificate = &joint->confirm.certificate;
    double goal = joint->above.f - LEAST_GAIN * certificate->decrease;
    if (!fit_certificate_may_tighten(certificate, &joint->asker))
        return ASKED_FAILED;
    if (certificate->factor == 1 && joint->above.f < joint->confirm.goal) {
        joint->confirm.goal = goal;
        return go_on(joint, ending, 1, false);
    }
    if (certificate->factor == 1)
        certificate->factor = FIT_TIGHTER;
    return fit_certificate_may_tighten(certificate, &joint->asker)
             ? go_on(joint, ending, certificate->factor, false)
             : ASKED_FAILED;
}

/* Whether CVODES checks the certificate that lanes give this fit. */
static bool is_sample(const struct joint *joint)
{
    if (!joint->session)
        return false;
    const struct fit_problem *problem = &joint->session->problem;
    uint64_t part = problem->dataset < MANY ? CHECKED : CHECKED_OF_MANY;
    return random_below(0, random_stream(PURPOSE_CHECK, problem->dataset), problem->start_number,
                        part) == 0;
}

/* A second certificate, by CVODES, in place of one from lanes: for a sample, and where that one
 * confirms nothing. */
static enum asked check_lanes(struct joint *joint)
{
    struct joint_confirm *confirm = &joint->confirm;
    const struct fit_certificate own = joint->confirm.certificate;
    if (!(find_lanes(joint) & IN_LANES) || (own.is_certified && !is_sample(joint)))
        return ASKED_FAILED;
    confirm->by_reference = true;
    confirm->is_missed = false;
    enum asked asked = certify(joint);
    confirm->by_reference = false;
    if (confirm->is_missed)
        joint->confirm.certificate = own;
    else if (own.is_certified && !joint->confirm.certificate.is_certified)
        joint->asker.notes |= NOTE_engines_differ;
    return asked;
}

/* Certifies the best point of a search that has met a stopping test. One that has repeated another
 * and has not moved has that one's certificate. */
static enum asked check(struct joint *joint, struct ending ending)
{
    struct joint_confirm *confirm = &joint->confirm;
    enum asked asked = ASKED_FAILED;
    if (confirm->repeats && joint->above.f == confirm->former.f) {
        confirm->certificate = confirm->former.certificate;
        asked = go_on_tighter(joint, ending);
    }
    if (asked != ASKED_FAILED)
        return asked;
    confirm->is_missed = false;
    asked = certify(joint);
    if (asked == ASKED_FAILED)
        asked = go_on_tighter(joint, ending);
    return asked == ASKED_FAILED ? check_lanes(joint) : asked;
}

/* Goes on by CVODES where lanes have stalled, or the certificate confirms nothing. */
static enum asked go_on_by_reference(struct joint *joint, struct ending ending)
{
    bool is_success = outcome_is_success(*ending.outcome),
         is_finished = is_success && (joint->confirm.certificate.is_certified ||
                                      isnan(joint->confirm.certificate.change));
    return !is_finished && find_lanes(joint) & MAY_LEAVE ? go_on(joint, ending, 1, true)
                                                        : ASKED_FAILED;
}

/* A search with other tolerances than at the start may have ended above it: if so, another one goes
 * on from there. */
static enum asked go_back(struct joint *joint)
{
    struct joint_confirm *confirm = &joint->confirm;
    double before = joint->above.f;
    if (!(confirm->doubt > 0) || joint->asker.start_f - before > confirm->doubt)
        return ASKED_FAILED;
    confirm->doubt = 0;
    enum asked asked = joint->search.method->look_back(&joint->search);
    if (asked == ASKED_END)
        return joint_forgive(joint) ? ASKED_FAILED : ASKED_END;
    if (!(joint->above.f < before))
        return ASKED_FAILED;
    begin_again(joint);
    return ASKED_OK;
}

/* A start may be the lowest of several although its budget is used up. One evaluation beyond the
 * budget then confirms its objective. */
static void confirm_beyond(struct joint *joint)
{
    struct joint_confirm *confirm = &joint->confirm;
    if (!isnan(confirm->certificate.change) || !joint->options->certify ||
        joint->start.n_start < 2)
        return;
    confirm->is_beyond = true;
    confirm->is_missed = false;
    certify(joint);
    confirm->is_beyond = false;
    if (!confirm->certificate.is_confirmed)
        joint->asker.notes |= NOTE_not_certified;
}

/* The statistics of the best point. False: no memory for them. */
static bool describe(struct joint *joint)
{
    if (!joint->confirm.is_described && joint_run_pass(joint, JOINT_DESCRIBE) != JOINT_COUNTS)
        return true;
    if (joint_some_failed(joint) || joint_set_model(joint, JOINT_TRIAL) != ASKED_OK)
        return true;
    bool is_good = joint_errors_compute(joint);
    if (!is_good)
        joint_errors_fini(joint);
    return is_good;
}

void joint_keep_best(struct joint *joint, enum outcome outcome)
{
    bool describes = joint->options->statistics && outcome != OUTCOME_out_of_memory &&
                     (outcome == OUTCOME_budget || joint->session);
    joint->confirm.certificate = none;
    joint->confirm.is_described = false;
    if (!describes) {
        joint_run_pass(joint, JOINT_KEEP);
        return;
    }
    confirm_beyond(joint);
    describe(joint);
}

/* The fit ends like this. */
static enum asked conclude(struct joint *joint, struct ending ending)
{
    confirm_beyond(joint);
    fit_certificate_conclude(&joint->confirm.certificate, &joint->asker, joint->above.f,
                             ending.outcome, ending.stop);
    if (!describe(joint))
        return joint_end_short(joint);
    return joint->end.is_stopped || joint_account(joint) == JOINT_ENDED ? ASKED_END : ASKED_FAILED;
}

enum asked joint_confirm(struct joint *joint, enum outcome *outcome, enum stop_test *stop)
{
    struct ending ending = {outcome, stop};
    bool is_cut = joint->end.is_cut, is_success = outcome_is_success(*outcome);
    if (!is_cut && !is_success && *outcome != OUTCOME_stalled)
        return joint_end_short(joint);
    enum asked asked = is_cut ? fall_back(joint, ending) : go_back(joint);
    if (asked != ASKED_FAILED)
        return asked;
    if (!is_cut && !is_success)
        asked = go_on_stalled(joint, ending);
    else if (!is_cut && joint->options->certify)
        asked = check(joint, ending);
    if (!is_cut && asked == ASKED_FAILED)
        asked = go_on_by_reference(joint, ending);
    return asked == ASKED_FAILED ? conclude(joint, ending) : asked;
}

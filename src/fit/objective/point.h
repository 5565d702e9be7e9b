/* The evaluations of a fit: it asks its host for them, within budgets, and lets only finite
 * numbers pass in either direction. A point of the search has the answers, objective and
 * gradient. Derivatives of predictions come from sensitivities, or from difference quotients of
 * evaluations without sensitivities (--gradient differences): a compromise for models whose
 * derivatives are wrong, incomplete, or more expensive than two evaluations per parameter.
 *
 * A prediction has an error of about the integrator's tolerance, which varies from point to
 * point as the steps do. A quotient over h has this error divided by h, and the error of the
 * formula, of order h^2. Their sum is least at h ~ cbrt(error) (Gill, Murray & Wright 1981,
 * section 8.6), and small enough for a Gauss-Newton step only with tighter tolerances than
 * usual. All evaluations of such a fit use these tolerances, also those without quotients, so
 * that values remain comparable.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/cursor.h"
#include "fit/objective/objective.h"
#include "fit/objective/start.h"
#include "fit/objective/work.h"

enum asked {
    ASKED_OK,     /* f and gradient are valid and finite */
    ASKED_FAILED, /* the point cannot be evaluated: a failed trial */
    ASKED_END     /* the fit must end, for the reason in asker->outcome */
};

struct fit_point;
struct fit_quotient;
struct fit_spectrum;

/* For difference quotients: the divisor of the integrator's tolerances, in addition to
 * fit_asker.tighter. Measured on 288 trust-region fits of seven models, by the objective's
 * distance from the best known: with forward sensitivities 15 fits were more than 1e-6 off; with
 * central differences 46 with tolerances divided by 10, and 16 with 100; with one-sided ones 65
 * and 28, at 0.6 of the cost. Dividing by 100 costs 1.3 times as much as by 10. Halving or
 * doubling the steps changed little. */
#define FIT_QUOTIENT_TIGHTER 100.0
/* Relative accuracy of derivatives if nothing is integrated: that of difference quotients;
 * formulas are more accurate. */
#define FIT_QUOTIENT_ROUNDING 1e-11

/* How points are evaluated. Values of points are compared only if they have the same accuracy. */
struct fit_accuracy {
    double tighter;           /* the divisor of tolerances, as in struct evaluation; below 1 for
                               * loose first steps */
    enum engine_kind engine;
    enum gradient_method gradient; /* adjoint: points have only the gradient; otherwise they also
                                    * have d_prediction */
    bool is_loose;            /* tolerances are looser than requested: what fails may succeed
                               * with these */
};

/* Integrations that failed in lanes, and what follows from them. */
struct fit_lanes {
    bool leaves;   /* ASKED_END because the start, or many points in a row, could not be
                    * integrated */
    bool stays;    /* CVODES cannot integrate the best point */
    bool has_lost; /* an integration has failed since the search began */
    int n_lost;    /* grows with those that tighter tolerances did not save, and shrinks with other
                    * evaluations */
};

struct fit_asker {
    const struct fit_problem *problem;
    const struct fit_options *options;
    const struct fit_host *host;
    struct fit_accuracy accuracy; /* of the search's points from now on */
    enum optimizer optimizer;     /* of the search; and its gradients: those of accuracy but for
                                   * the final evaluations */
    enum gradient_method gradient;
    struct fit_map map;
    struct fit_objective objective;
    bool is_sigma_known;    /* every row has a sigma, its own or the model's */
    double scale;           /* fit_objective_scale, if no standard deviation is modelled */
    size_t *first_row;      /* n_experiment + 1: rows of experiment e are [first_row[e],
                             * first_row[e + 1]) */
    struct evaluation *evaluation;     /* n_experiment: those of a point */
    struct evaluation **asked;         /* 2 n_experiment */
    struct evaluation **again;         /* those that an ask waits for */
    struct evaluation_course *course;  /* n_experiment: of the last point */
    double *of_model;                  /* of fit_map_model */
    double *compared;       /* 2 n_parameter: scratch of fit_asker_is_same */
    double *excess;         /* n_row of the only experiment, for its first evaluation */
    double start_f, start_tighter; /* the objective at the start, and the accuracy of that
                                    * evaluation; NaN: none yet */
    double prediction_error;       /* norm of the weighted predictions' errors at the best point,
                                    * measured by the certificate; NaN: not known */
    const struct fit_spectrum *spectrum; /* the certificate's, with the derivatives of this
                                          * point; NULL: there is none */
    const struct fit_point *spectrum_point;
    bool meets_jump;        /* ASKED_END because the trajectory has no derivative at a switch or
                             * an event */
    struct fit_lanes lanes;
    struct fit_quotient *quotient;     /* for differences */
    double *by_prediction, *by_noise;  /* n_row; for adjoints */
    struct evaluation_adjoint *adjoint; /* n_experiment; for adjoints, with room for the
                                         * gradients */
    struct fit_point *asked_point;     /* the point whose adjoint evaluations are running */
    int n_unsaved;          /* consecutive failed integrations that tighter tolerances did not
                             * save */
    struct fit_start start; /* or the latest one of those that replace it */
    bool is_near;           /* the start is near an optimum: no loose first steps */
    bool is_exact;          /* nothing is integrated: only rounding is in the predictions */
    uint32_t notes;
    struct fit_work used;
    enum outcome outcome;   /* when ASKED_END; OUTCOME_not_run: the host cancelled */
    bool is_cancelled;      /* it has done so */
    enum outcome failure;   /* of the latest failed trial: ode_failed or model_failed */
    char reason[160];       /* of the latest failure */
};

/* After making the map: makes room for the evaluations of a point. False: out of memory. */
bool fit_asker_prepare(struct fit_asker *asker, struct arena *arena);
/* Forgets the courses of the last point: the next evaluations depend on their requests alone. */
void fit_asker_forget(struct fit_asker *asker);
/* ASKED_END and ASKED_FAILED, with this reason or that of an evaluation, which names its
 * experiment if there are several. */
enum asked fit_asker_end(struct fit_asker *asker, enum outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum asked fit_asker_miss(struct fit_asker *asker, enum outcome failure, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Before a reason: "experiment ID: ", or "" if there is one. */
enum { FIT_NAME_SIZE = 80 };
const char *fit_name_experiment(const struct fit_problem *problem, const struct ode_task *task,
                                char name[FIT_NAME_SIZE]);
/* Relative accuracy of predictions at these tolerances: the integrator's, or rounding if nothing
 * is integrated. */
double fit_asker_rtol(const struct fit_asker *asker, double tighter);
/* Whether two theta give the model the same bits of parameters, so that evaluating both would be
 * a waste. */
bool fit_asker_is_same(const struct fit_asker *asker, const double *theta, const double *other);

/* A point with all results of its evaluation. */
struct fit_point {
    double *theta, *gradient, *chain; /* n_free */
    double *p;                        /* n_parameter */
    double f;
    int64_t n_step;                   /* of the integrations of its predictions */
    double *prediction, *d_prediction, *noise, *d_noise; /* as in struct evaluation */
    double *weight, *residual;                           /* as in struct fit_answer */
    /* What is added to theta in each experiment, where fit_problem.varies: n_experiment x n_free,
     * the caller's; NULL: nothing. Not with difference quotients or adjoint gradients. Derivatives
     * are by theta, or by what is added in the row's experiment, which are the same. */
    const double *by_experiment;
};

/* Room for a point of this kind of gradient. False: out of memory. */
bool fit_point_init(struct fit_point *point, const struct fit_asker *asker,
                    enum gradient_method gradient, struct arena *arena);
/* Evaluates point->theta. Without derivatives, gradient and d_* do not change, and the other
 * results have different bits. */
enum asked fit_ask(struct fit_asker *asker, struct fit_accuracy accuracy, struct fit_point *point,
                   bool with_derivatives);
/* Relative accuracy of the predictions' derivatives. */
double fit_asker_accuracy(const struct fit_asker *asker, struct fit_accuracy accuracy);
/* Mean square of the weighted residuals at a point; and the variance of the errors, the unit for
 * decreases of the objective: 1 if every sigma is known or modelled, otherwise that mean square. */
double fit_point_mean_square(const struct fit_asker *asker, const struct fit_point *point);
double fit_point_variance(const struct fit_asker *asker, const struct fit_point *point);
/* The size of the objective at a point, for relative changes of it: its absolute value or, if
 * that has an offset, half the sum of squares of the weighted residuals, but at least what it is
 * expected to be. Does not depend on units if sigma is known or modelled; otherwise it is
 * proportional to the square of the data's. */
double fit_point_misfit(const struct fit_asker *asker, const struct fit_point *point);
/* fit_objective_scale at a point. */
double fit_point_scale(const struct fit_asker *asker, const struct fit_point *point);
/* Norm of the weighted predictions: their relative error times this is their error in units of
 * sigma. */
double fit_point_size(const struct fit_asker *asker, const struct fit_point *point);
struct fit_answer fit_point_answer(const struct fit_asker *asker, const struct fit_point *point);
/* Whether parameter j is on a bound with a slope that points outward. */
bool fit_point_is_held(const struct fit_map *map, const struct fit_point *point, size_t j);
/* Largest entry of the projected gradient, optimiser's scale. */
double fit_point_gradient_norm(const struct fit_map *map, const struct fit_point *point);

struct fit_quotient {
    /* h for the current tolerances, for logarithms; on a linear scale relative to the value */
    double step;
    double *offset;                   /* 2 n_free: theta at the places minus theta of the point */
    double *theta, *p, *of_model;     /* n_free; by place: n_parameter; n_of_model */
    /* n_row x n_free each, at the second places; those of the first places are stored where the
     * derivatives will be */
    double *prediction, *noise;
    /* 2 n_free x n_experiment: the first places, then the second */
    struct evaluation *evaluation;
    struct evaluation **asked;        /* twice as many */
};

/* After the asker's map and objective. False: out of memory. */
bool fit_quotient_init(struct fit_quotient *quotient, const struct fit_asker *asker,
                       struct arena *arena);

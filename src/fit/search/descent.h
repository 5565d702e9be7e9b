/* The minimisation of a fit within its bounds by L-BFGS, for one dataset and for many: legs of
 * libLBFGS over the parameters that no bound holds. What a point is, the method knows. libLBFGS
 * cannot save its state: a saved search is that at the beginning of the leg, with what the method
 * has answered since then, and repeats the leg with these answers.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/cursor.h"
#include "fit/search/metric.h"
#include "fit/search/search.h"

enum { DESCENT_APART = 9, DESCENT_HISTORY = 10 };

struct descent;

/* What is minimised: a sum over datasets (joint/descent.c). */
struct descent_method {
    /* Between two legs, and before an evaluation: descent_pass has all that the search needs
     * besides the best point. NULL: nothing is kept. */
    void (*keep)(struct descent *descent);
    /* A leg begins. NULL: nothing to do. */
    void (*begin)(struct descent *descent);
    /* Evaluates the trial. ASKED_END: the fit must end, for the reason in asker. */
    enum asked (*evaluate)(struct descent *descent);
    /* Whether two theta are the same to the model. */
    bool (*is_same)(const struct descent *descent, const double *theta, const double *other);
    /* The trial has become the best point. */
    void (*take)(struct descent *descent);
    /* The remaining decrease at the best point; infinite: unknown. If it is above `enough`, a
     * number between these will do. */
    double (*promise)(struct descent *descent, double enough);
    /* Once that is finite: the squared length of the residuals' derivatives by parameter j. */
    double (*square)(struct descent *descent, size_t j);
    /* Sets the metric at the best point, from an evaluation of the derivatives of all residuals,
     * which otherwise are not there; it calls fit_metric_damp. ASKED_FAILED: there is none. */
    enum asked (*measure)(struct descent *descent);
    /* As bytes, what it knows of the best point; with `keep`. */
    void (*pass)(struct cursor *cursor, struct descent *descent);
};

/* What lasts from leg to leg. */
struct descent_state {
    int n_leg;
    int n_barren;               /* consecutive legs that gained almost nothing */
    size_t n_on_bound;          /* consecutive legs that ended on a bound */
    double shrink;              /* of the first trial, after legs in which every trial went too
                                 * far */
    size_t n_known;             /* trials since the best point was found: descent.known */
    double apart[DESCENT_APART]; /* disagreement of value and slopes in the latest such trials */
    int n_apart;
    double hope;                /* the largest decrease promised by the parabola through such a
                                 * trial's slopes */
    double history[DESCENT_HISTORY]; /* objectives after the latest iterations */
    int n_gain;
};

/* A leg under way, as far as it can be repeated: its beginning, and the numbers that the method has
 * answered since. */
struct descent_leg {
    struct descent_state state;
    double *known;              /* as in struct descent */
    double *theta, *gradient, f; /* of the best point */
    int64_t n_iteration;        /* of the search */
    double *answer;             /* n, with room for more; free() */
    size_t n, room;
    size_t n_repeated;          /* answers that have been given again; n: all */
    bool is_repeated;           /* the latest evaluation was such an answer */
    bool is_lost;               /* there are too many, and the leg is not kept */
};

struct descent {
    const struct descent_method *method;
    struct fit_search *search;  /* asker, stopping, n_iteration, and the method's model */
    struct fit_map *map;        /* n_free, scale, size and bounds of all parameters */
    size_t n;
    bool is_near;               /* the start is near an optimum */
    bool is_resumed;            /* descent_pass has been read: the next leg begins */
    bool shortens;              /* a step onto bounds that gains nothing is shortened, not cut */
    /* NULL: evaluations have the derivatives of all residuals, and the method's `promise` and
     * `square` know them; otherwise these two are NULL */
    struct fit_metric *metric;
    struct fit_point points[2]; /* at least theta, f and gradient */
    struct fit_point *best, *trial; /* best: NULL before the first evaluation */
    struct descent_state state;
    struct descent_leg leg;
    double *known;              /* most_known x (2 n + 1): theta, objective (NaN: it failed) and
                                 * gradient of trials, because a new leg may try the same points
                                 * again; the oldest is overwritten */
    size_t most_known;
    /* the parameters of this leg: n_loose of them, and so have the arrays below */
    uint32_t *loose;
    size_t n_loose;
    double *origin, *slope;     /* theta and the gradient at the beginning of the leg */
    /* the leg's first guess of the second derivatives: a triangle L with L L', or, if `factor`
     * is NULL, one unit of each variable. `factor` is valid until the first step. */
    double *diagonal;
    const double *factor;
    int n_iteration;            /* of this leg */
    double *base, *tried;       /* theta of libLBFGS's latest iterate and of its latest trial */
    double *scratch;
    bool met_bound, ended;      /* the latest trial was cut at a bound; the fit must end */
    int n_missed;               /* consecutive trials without improvement */
    bool is_flat;               /* the latest iterations gained almost nothing */
};

/* After these fields: method, search, map. The points are the caller's to make. False: out of
 * memory. */
bool descent_init(struct descent *descent, struct arena *arena);
void descent_fini(struct descent *descent);
/* The leg under way, as bytes; and what is known of the parameters' sizes. Reading: n is that of
 * the bytes, and arrays that are NULL are passed over, as is what a method knows if there is none;
 * false: out of memory. */
bool descent_pass(struct cursor *cursor, struct descent *descent);
/* From the best point to where a stopping test is met, search->stopping.met, or nothing better is
 * found. */
enum outcome descent_run(struct descent *descent);

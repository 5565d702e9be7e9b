/* Fits with random parameters: each dataset has values of its own, drawn from a normal
 * distribution on the optimiser's scale, whose mean and covariance are estimated together with
 * the parameters that all datasets share, by maximum likelihood: nonlinear mixed effects.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A dataset's random parameters are mean + L b with standard normal b: its random effects. The
 * factor L, lower triangular, makes the covariance L L'. So a variance may be 0 without being a
 * special case, as in lme4 (Bates et al. 2015, J. Stat. Softw. 67(1)).
 *
 * A parameter may also vary between the experiments of a dataset (occasions): each adds an
 * effect of its own. These are further random effects of the dataset, and what each adds to its
 * parameter counts as a further parameter above the block, whose mean is 0 and not estimated.
 *
 * What a dataset contributes is the integral over b of its likelihood times the density of b.
 * First by Laplace's approximation around the mode of the integrand, with Gauss and Newton's
 * second derivatives H there. Then by a rule for normal deviates (fit/mixed/rule.h), whose points
 * lie around the mode, scaled by H: adaptive quadrature (Pinheiro & Bates 1995, J. Comput. Graph.
 * Stat. 4, 12), or importance sampling with quasi-random points (Leary & Dunlavey 2012). In
 * these units they follow the shape of the dataset's integrand (fit/mixed/shape.h), which is found
 * once. The points move with the mode and with H, so that the sum is a smooth function of the
 * estimates, and exact where Laplace's approximation is. Integrands with several modes, or with
 * plateaus, or with kinks, are summed over points of their own for each hill (fit/mixed/hills.h).
 * The gradient is the mean of the estimates' scores over the points (fit/mixed/scores.h): it needs
 * few derivatives of the model, and does not follow the errors of the sum, as that of the sum over
 * moving points does. So the exact likelihood's steps are judged by their slopes.
 *
 * A prior of a random parameter is one of its typical value, the mean taken to the natural scale:
 * it is added to the sum over all datasets, as are those of shared parameters.
 *
 * The search is that of fit/search/search.h over all estimates: the means and shared values, then
 * the factor's entries. Its curvature is at first the expected information of the model linearised
 * at the modes, or the outer products of the datasets' gradients where these are many (Berndt,
 * Hall, Hall & Hausman 1974); steps improve it as BFGS does. */
#pragma once

#include "fit/joint/joint.h"
#include "fit/mixed/kept.h"
#include "fit/mixed/rule.h"
#include "fit/mixed/shape.h"
#include "io/result/mixed_result.h"

enum mixed_phase {
    MIXED_POOLED, /* the joint search, with random parameters as shared ones, finds a start */
    MIXED_LAPLACE,
    MIXED_EXACT
};

/* The search begins with the datasets' own levels of the rule, and its last stage has finer ones.
 * The likelihood is corrected by the finest and levels beyond it in a sample of the datasets, which
 * shows its error. Differences for second derivatives have levels of their own. */
enum mixed_level { MIXED_OWN, MIXED_ERRORS, MIXED_FINER, MIXED_FINEST };

enum { MIXED_ENDS = 4 };

/* How far the search has come: what a process needs to continue it, besides the arrays. */
struct mixed_progress {
    enum mixed_phase phase;
    size_t r, s, n_factor;    /* random parameters; all above the blocks; entries of the factor; */
    size_t q;                 /* parameters that vary between experiments */
    enum mixed_level level;
    double f;                 /* at the best estimates */
    struct trust_reach reach;
    struct stopping stopping;
    int64_t n_iteration;
    /* Laplace's likelihood is searched from several starts (fit/mixed/search.c), the exact one from
     * their ends: the numbers of these, and the values at the n_end most likely different ends,
     * which are in mixed->kept. */
    size_t start, n_end, end;
    double end_f[MIXED_ENDS];
    bool began_given;         /* the first one was the given one, and not the pooled fit's */
    double uncorrelated_f;    /* of the end behind these: the best one without correlations */
    /* Columns of the factor, a bit each, without whose random effects the datasets' levels are
     * chosen: these columns are held at 0; and those that have come back in this stage. */
    uint64_t left_out, returned;
    /* The numbers at the best estimates come from a second pass, which began at the modes that the
     * first one had found. */
    bool is_repeated;
    /* Of a start after the first one: the value so many steps of its search ago, and whether it is
     * given up. */
    double before_f;
    int64_t before_iteration;
    bool is_given_up;
    /* In the exact stages: modes lie on kinks of the integrands, and sums over points are rough. */
    bool is_rough;
    /* Of the latest search: its first step, the value there, and the lowest one; how many of the
     * latest steps promise nothing; and passes that looked for higher modes. */
    int64_t first_iteration;
    double first_f, lowest_f;
    int n_idle, n_sought;
};

/* Which parameters are random, and where the search for their distribution begins. Their level is
 * that of shared ones (struct joint_levels), whose value is the mean. */
struct mixed_levels {
    /* n_parameter; NULL: none is random. k > 0: each dataset has its own value, normal on the
     * optimiser's scale, correlated with those of the same k. */
    const uint8_t *random;
    /* n_parameter; NULL: none varies. Not 0: to the dataset's value each experiment adds one of its
     * own, with mean 0, independent of all others. */
    const uint8_t *occasion;
    /* Where the search for the covariance begins (NULL, NaN: guesses), on the optimiser's scale:
     * n_parameter deviations, and those over experiments; n_parameter x n_parameter
     * correlations. */
    const double *deviation, *by_experiment, *correlation;
};

struct mixed {
    struct fit_search search; /* the first field: the method's functions get it */
    struct joint *joint;
    struct mixed_levels levels;
    struct mixed_progress progress;
    /* estimates, and means that are fixed: s, n_factor, and q standard deviations of experiments */
    size_t m;
    /* R, then q: indices of these parameters among those above the blocks. */
    uint32_t *random;
    /* n_factor: of the factor's entries, column after column; then q of the standard deviations,
     * as if they were further entries r, r + 1 ... */
    uint32_t *row, *column;
    struct fit_asker asker;   /* of the search: its map, */
    struct fit_options options; /* and these with a tolerance of the search's stage */
    struct fit_point point;   /* the best estimates: theta, gradient, f */
    double *trial, *slope;    /* m: other estimates, and the gradient there */
    double *curvature;        /* m x m */
    double *start;            /* scratch of mixed_first_factor */
    double *kept;             /* m x (MIXED_ENDS + 1): estimates at the ends of starts */
    /* M x m: second derivatives; those of columns with 0 on the diagonal are not known. */
    double *second;
    double *sum;              /* mixed_n_number: over all datasets, of the latest pass */
    const double *at;         /* the estimates that the pass evaluates */
    double n_dataset;         /* of the latest pass: how many datasets count, with their weights */
    /* The priors' part of the latest sums, -log of their density but for constants. */
    double prior_f, log_prior, *prior_slope, *prior_curvature;
    struct rule rule;
    double sampled;           /* in how many datasets the last pass refines the integral; */
    bool refines_more;        /* by more than a level where that changes much */
    bool holds;               /* the pass stays at the known modes */
    bool is_again;            /* another process has counted the pass's evaluations */
    bool chooses;             /* datasets choose their levels of the rule, */
    bool has_hills;           /* with the hills that the pass before has found */
    bool seeks;               /* datasets look for higher modes, and count if they find one */
    uint64_t probed;          /* columns of those left out that the pass integrates over */
    bool is_current;          /* the latest pass was at the best estimates */
    struct mixed_result result; /* once the fit has ended */
    bool has_result;
};

/* Whether each dataset counts so much that rare troubles, as several maxima, are looked for. */
static inline bool mixed_are_few(const struct mixed *mixed)
{
    return mixed->joint->part.n_all <= 40;
}

/* NULL: the fit has no random parameters. */
static inline struct mixed *mixed_of_joint(const struct joint *joint)
{
    return joint->upper.context;
}

/* The numbers that a dataset gives: the value, its gradient, and the lower triangle of an
 * information matrix, column after column: the expected one, or, of the distributions' estimates
 * alone, the observed one. */
static inline size_t mixed_n_number(size_t m) { return 1 + m + m * (m + 1) / 2; }

/* Room for what is kept of a dataset, with so many hills; freed by free(). NULL: out of memory. */
struct mixed_block *mixed_block_new(const struct mixed *mixed, size_t n_effect,
                                    size_t n_experiment, size_t n_hill);
/* The same dataset's with room for more hills, which are not set; frees `block` but where it
 * returns NULL: out of memory. */
struct mixed_block *mixed_block_with(const struct mixed *mixed, struct mixed_block *block,
                                     size_t n_hill);
/* Of the state between two steps: the pass_search and pass_block of struct joint_upper_method. */
void mixed_pass_search(struct cursor *cursor, struct joint *joint);
bool mixed_pass_block(struct cursor *cursor, const struct joint *joint, void **kept);
/* The record of block i, after the end. */
void mixed_record(const struct joint *joint, size_t i, struct fit_record *record);

/* After the pooled fit has begun: finds the estimates' layout, and makes room for the search.
 * False: out of memory. */
bool mixed_make(struct mixed *mixed);
/* Whether the file fixes the mean, or value over which experiments vary, k of those above the
 * blocks: it is no estimate. */
bool mixed_is_fixed(const struct mixed *mixed, size_t k);
/* How many estimates are not fixed: the result's. */
size_t mixed_n_estimate(const struct mixed *mixed);
/* A standard deviation of random parameter a to begin with, at these means. */
double mixed_first_deviation(const struct mixed *mixed, const double *theta, size_t a);
/* Sets the factor's entries of estimates (m) to the given covariance or, where none is given, to
 * independent deviations of mixed_first_deviation. */
void mixed_first_factor(const struct mixed *mixed, double *estimates);
/* The given start, or the drawn one, with the factor's entries that the former sets. */
void mixed_take_given(const struct mixed *mixed, double *estimates);
/* Takes what is below a diagonal entry of 0 to later columns, which leaves the covariance: then the
 * others' entries are functions of it. */
void mixed_clear_columns(const struct mixed *mixed, double *estimates);
/* The columns of the factor that are 0, a bit each: their random effects move nothing. */
uint64_t mixed_zero_columns(const struct mixed *mixed, const double *estimates);
/* Whether estimate k, one of the factor's entries or behind them, is a standard deviation. */
static inline bool mixed_is_diagonal(const struct mixed *mixed, size_t k)
{
    return mixed->row[k - mixed->progress.s] == mixed->column[k - mixed->progress.s];
}
static inline uint64_t mixed_bit(size_t column)
{
    return column < 64 ? UINT64_C(1) << column : 0;
}
/* How many columns of the factor the rule integrates over. */
size_t mixed_count_columns(const struct mixed *mixed);
/* The factor of the covariance over the datasets as a matrix, r x r, column-major. */
void mixed_factor(const struct mixed *mixed, const double *estimates, double *factor);
/* Whether the last stage of the exact likelihood gives the observed information of the
 * distributions' estimates: not lattices, whose few points are too rough for fourth moments. */
static inline bool mixed_observes(const struct mixed *mixed)
{
    const struct mixed_progress *progress = &mixed->progress;
    return progress->phase == MIXED_EXACT && progress->r <= RULE_PRODUCT_MOST && progress->q == 0;
}

/* Whether sums over points have the observed information of the distributions' estimates. */
static inline bool mixed_has_information(const struct mixed *mixed)
{
    return mixed_observes(mixed) && mixed->progress.level >= MIXED_FINER;
}

/* After joint_init: makes parameters of the sum random. `levels` is copied, its arrays are not.
 * False: out of memory. */
bool mixed_init(struct joint *joint, const struct mixed_levels *levels);

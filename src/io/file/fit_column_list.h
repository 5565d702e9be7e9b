/* The columns of /fits, as lists from which fit_record.h makes the record of a fit and a table
 * of its columns. Journals, results, merging, export, show and the selection of rows use that
 * table: a new number needs an entry here, and a line where the fit computes it. Separate
 * because the lists grow with every new number.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* constant, path, kind, shape, field of struct fit_record, description, other members of struct
 * fit_column_info that are not 0 */
#define FIT_COLUMN_LIST(X) \
    X(PARAMETERS, "/fits/parameters", DOUBLE, PER_PARAMETER, parameter, \
      "best fit, natural scale; NaN where there is none", .table = 3) \
    X(OBJECTIVE, "/fits/objective", DOUBLE, PER_FIT, objective, \
      "value at the best fit; the attribute kind names the objective", .sigma_power = 1, \
      .table = 2) \
    X(STATUS, "/fits/status", OUTCOME, PER_FIT, outcome, "how the fit ended", .table = 1) \
    X(NOTES, "/fits/notes", UINT32, PER_FIT, notes, \
      "compromises, one bit each; the attributes bit_0, ... name them", .table = 12) \
    X(START, "/fits/start", UINT32, PER_FIT, start, \
      "number of the start that gave this fit, from 0", .table = 11) \
    X(STANDARD_ERRORS, "/fits/standard_error", DOUBLE, PER_PARAMETER, standard_error, \
      "standard error of each parameter, natural scale; NaN: error_missing says why", .table = 3) \
    X(INTERVAL_LOWER, "/fits/interval_lower", DOUBLE, PER_PARAMETER, interval_lower, \
      "lower end of the confidence interval from the covariance") \
    X(INTERVAL_UPPER, "/fits/interval_upper", DOUBLE, PER_PARAMETER, interval_upper, \
      "upper end of the confidence interval from the covariance") \
    X(ERROR_MISSING, "/fits/error_missing", LACK, PER_PARAMETER, lack, \
      "why a parameter has no standard error") \
    X(COVARIANCE, "/fits/covariance", DOUBLE, PER_PAIR, covariance, \
      "covariance of the parameters, natural scale: P x P, row after row; for a sigma of 1 where " \
      "errors lack freedom") \
    X(EIGENVALUES, "/fits/information_eigenvalues", DOUBLE, PER_PARAMETER, eigenvalue, \
      "eigenvalues of the information matrix on the optimiser's scale, decreasing", \
      .sigma_power = 2) \
    X(FLATTEST, "/fits/flattest_direction", DOUBLE, PER_PARAMETER, flattest, \
      "the direction that the data determine least, on the optimiser's scale, of length 1") \
    X(N_FLAT, "/fits/flat_directions", INT64, PER_FIT, n_flat, \
      "number of directions that the data do not determine; -1: there is no best fit", \
      .table = 10) \
    X(FLAT_GROUP, "/fits/flat_group", INT8, PER_PARAMETER, flat_group, \
      "group of flat directions, from 1, to which each parameter belongs; 0: none") \
    X(CHI_SQUARE, "/fits/chi_square", DOUBLE, PER_FIT, chi_square, \
      "weighted sum of squared residuals", .line = 1, .label = "chi-square", \
      .sigma_power = 1, .table = 9) \
    X(FREEDOM, "/fits/degrees_of_freedom", INT64, PER_FIT, n_freedom, \
      "number of measurements minus that of fitted parameters", .line = 1, .label = \
      "degrees of freedom", \
      .table = 8) \
    X(REDUCED, "/fits/reduced_chi_square", DOUBLE, PER_FIT, reduced_chi_square, \
      "chi_square over the dataset's degrees of freedom, its share of them in a fit of many " \
      "datasets", \
      .sigma_power = 1, .table = 9) \
    X(N_NOISE, "/fits/noise_parameters", INT64, PER_FIT, n_own_noise, \
      "number of the dataset's own fitted parameters that affect only the noise; -1: not known") \
    X(N_NO_SIGMA, "/fits/without_sigma", INT64, PER_FIT, n_no_sigma, \
      "number of measurements that have no sigma, their own or the model's") \
    X(RESIDUAL_ERROR, "/fits/residual_error", DOUBLE, PER_FIT, residual_error, \
      "residual standard error, sqrt(chi_square / degrees_of_freedom)", \
      .line = 1, .label = "residual standard error", .sigma_power = 1, .table = 7) \
    X(LOG_LIKELIHOOD, "/fits/log_likelihood", DOUBLE, PER_FIT, log_likelihood, \
      "log-likelihood of the measurements, with all constants and without priors", \
      .line = 2, .label = "log-likelihood (llh)", .n_digit = 10) \
    X(LOG_PRIOR, "/fits/log_prior", DOUBLE, PER_FIT, log_prior, \
      "log-density of the priors between the bounds; NaN: there are none", \
      .line = 2, .label = "log-density of the priors", .n_digit = 10) \
    X(AIC, "/fits/aic", DOUBLE, PER_FIT, aic, \
      "Akaike's information criterion", .line = 3, .label = "AIC", .table = 9) \
    X(AICC, "/fits/aicc", DOUBLE, PER_FIT, aicc, \
      "the same, corrected for small samples", .line = 3, .label = "AICc", .table = 9) \
    X(BIC, "/fits/bic", DOUBLE, PER_FIT, bic, \
      "Schwarz's information criterion", .line = 3, .label = "BIC", .table = 9) \
    X(R_SQUARED, "/fits/r_squared", DOUBLE, PER_FIT, r_squared, \
      "coefficient of determination", .line = 1, .label = "R squared", .table = 9) \
    X(GRADIENT_NORM, "/fits/gradient_norm", DOUBLE, PER_FIT, gradient_norm, \
      "largest entry of the projected gradient, on the optimiser's scale", .sigma_power = 1, \
      .table = 6) \
    X(SLOPE, "/fits/objective_gradient", DOUBLE, PER_PARAMETER, slope, \
      "derivative of the objective by each parameter, natural scale; NaN: it is fixed", \
      .part = FIT_PART_EVALUATION, .sigma_power = 1, .table = 5) \
    X(RANDOM_MEAN, "/fits/random_mean", DOUBLE, PER_PARAMETER, random_mean, \
      "mean of each random parameter, given the dataset's measurements, on the optimiser's scale", \
      .part = FIT_PART_RANDOM, .table = 5) \
    X(RANDOM_DEVIATION, "/fits/random_deviation", DOUBLE, PER_PARAMETER, random_deviation, \
      "standard deviation of each random parameter, given the dataset's measurements, on the " \
      "optimiser's scale", \
      .part = FIT_PART_RANDOM, .table = 5) \
    X(MINUS_2_LOG_LIKELIHOOD, "/fits/minus_2_log_likelihood", DOUBLE, PER_FIT, \
      minus_2_log_likelihood, \
      "the dataset's contribution to -2 log L, integrated over its random parameters", \
      .part = FIT_PART_RANDOM, .line = 2, .label = "contribution to -2 log L", .n_digit = 10, \
          .table = 5) \
    X(EFFECTIVE_POINTS, "/fits/effective_points", DOUBLE, PER_FIT, effective_points, \
      "effective number of the points that the likelihood is integrated with; NaN: Laplace's " \
      "approximation", \
      .part = FIT_PART_RANDOM, .line = 2, .label = "effective points", .table = 5) \
    X(TIGHT_CHANGE, "/fits/tight_objective_change", DOUBLE, PER_FIT, tight_change, \
      "certificate: objective at tighter integrator tolerances minus objective, or a bound of it", \
      .sigma_power = 1, .table = 10) \
    X(TIGHT_DECREASE, "/fits/tight_decrease", DOUBLE, PER_FIT, tight_decrease, \
      "certificate: predicted decrease of a Gauss-Newton step at tighter integrator tolerances", \
      .sigma_power = 1, .table = 10) \
    X(RTOL, "/fits/rtol", DOUBLE, PER_FIT, rtol, \
      "relative tolerance of the integrator at the best fit: --rtol, or less if the data need it", \
      .table = 10) \
    X(STOP, "/fits/stopping_test", STOP, PER_FIT, stop, "which stopping test was met", .table = 5) \
    X(OPTIMIZER, "/fits/optimizer", OPTIMIZER, PER_FIT, optimizer, "the optimiser") \
    X(GRADIENT, "/fits/gradient", GRADIENT, PER_FIT, gradient, "the source of the derivatives") \
    X(ITERATIONS, "/fits/iterations", INT64, PER_FIT, n_iteration, \
      "iterations of the optimiser", .is_work = true, .table = 10) \
    X(EVALUATIONS, "/fits/evaluations", INT64, PER_FIT, n_evaluation, \
      "evaluations of the model", .is_work = true, .table = 10) \
    X(STEPS, "/fits/steps", INT64, PER_FIT, n_step, "steps of the integrator", .is_work = true, \
      .table = 10) \
    X(SECONDS, "/fits/seconds", DOUBLE, PER_FIT, seconds, \
      "computing time", .unit = "s", .is_work = true, .table = 10) \
    X(AT_BOUND, "/fits/at_bound", INT8, PER_PARAMETER, at_bound, \
      "-1 at the lower bound, 1 at the upper bound, otherwise 0", .table = 4)

/* Numbers known only when all tasks of a dataset are done. These columns are in results, not in
 * journals, and only if requested; the last one only if some datasets have no row. */
#define FIT_STARTS_COLUMN_LIST(X) \
    X(SAME_OPTIMUM, "/fits/starts_at_optimum", INT64, PER_FIT, n_same_optimum, \
      "starts that ended at the best objective, within 1e-6 of it", .part = FIT_PART_STARTS, \
      .table = 11) \
    X(OTHER_LEAST, "/fits/other_optimum_lower", DOUBLE, PER_FIT, other_least, \
      "least objective of the successful starts that ended elsewhere; NaN: there are none", \
      .part = FIT_PART_STARTS, .table = 11) \
    X(OTHER_MOST, "/fits/other_optimum_upper", DOUBLE, PER_FIT, other_most, \
      "their largest objective", .part = FIT_PART_STARTS, .table = 11)
#define FIT_PROFILE_COLUMN_LIST(X) \
    X(PROFILE_LOWER, "/fits/profile_lower", DOUBLE, PER_PARAMETER, profile_lower, \
      "lower confidence limit from the profile; profile_lower_status has its kind", \
      .part = FIT_PART_PROFILE, .table = 11) \
    X(PROFILE_UPPER, "/fits/profile_upper", DOUBLE, PER_PARAMETER, profile_upper, \
      "upper confidence limit from the profile; profile_upper_status has its kind", \
      .part = FIT_PART_PROFILE, .table = 11) \
    X(PROFILE_LOWER_STATUS, "/fits/profile_lower_status", LIMIT, PER_PARAMETER, \
      profile_lower_status, \
      "kind of the lower limit", .part = FIT_PART_PROFILE, .table = 11) \
    X(PROFILE_UPPER_STATUS, "/fits/profile_upper_status", LIMIT, PER_PARAMETER, \
      profile_upper_status, \
      "kind of the upper limit", .part = FIT_PART_PROFILE, .table = 11) \
    X(PROFILE_LOWER_BY, "/fits/profile_lower_held_by", INT64, PER_PARAMETER, profile_lower_by, \
      "row of /parameters of another parameter that a bound holds at the lower limit; -1: none", \
      .part = FIT_PART_PROFILE) \
    X(PROFILE_UPPER_BY, "/fits/profile_upper_held_by", INT64, PER_PARAMETER, profile_upper_by, \
      "row of /parameters of another parameter that a bound holds at the upper limit; -1: none", \
      .part = FIT_PART_PROFILE)
#define FIT_BOOTSTRAP_COLUMN_LIST(X) \
    X(BOOTSTRAP_N, "/fits/bootstrap_n", INT64, PER_FIT, n_bootstrap, \
      "number of replicates that were fitted successfully", .part = FIT_PART_BOOTSTRAP, \
      .table = 11) \
    X(BOOTSTRAP_ERROR, "/fits/bootstrap_standard_error", DOUBLE, PER_PARAMETER, bootstrap_error, \
      "standard deviation over the replicates, natural scale", .part = FIT_PART_BOOTSTRAP, \
      .table = 11) \
    X(BOOTSTRAP_LOWER, "/fits/bootstrap_lower", DOUBLE, PER_PARAMETER, bootstrap_lower, \
      "lower end of the studentised bootstrap interval", .part = FIT_PART_BOOTSTRAP, .table = 11) \
    X(BOOTSTRAP_UPPER, "/fits/bootstrap_upper", DOUBLE, PER_PARAMETER, bootstrap_upper, \
      "upper end of the studentised bootstrap interval", .part = FIT_PART_BOOTSTRAP, .table = 11) \
    X(PERCENTILE_LOWER, "/fits/bootstrap_percentile_lower", DOUBLE, PER_PARAMETER, \
      percentile_lower, \
      "lower end of the percentile interval, which tends to be too short", \
      .part = FIT_PART_BOOTSTRAP, .table = 11) \
    X(PERCENTILE_UPPER, "/fits/bootstrap_percentile_upper", DOUBLE, PER_PARAMETER, \
      percentile_upper, \
      "upper end of the percentile interval, which tends to be too short", \
      .part = FIT_PART_BOOTSTRAP, .table = 11)
#define FIT_SELECTION_COLUMN_LIST(X) \
    X(DATASET, "/fits/dataset", INT64, PER_FIT, dataset, \
      "row number of the dataset in the problem, from 0", .part = FIT_PART_SELECTION)

/* Those with a field of their own in struct fit_record, and all. */
#define FIT_FIELD_COLUMN_LIST(X) \
    FIT_COLUMN_LIST(X) FIT_STARTS_COLUMN_LIST(X) FIT_PROFILE_COLUMN_LIST(X) \
    FIT_BOOTSTRAP_COLUMN_LIST(X)
#define FIT_ALL_COLUMN_LIST(X) FIT_FIELD_COLUMN_LIST(X) FIT_SELECTION_COLUMN_LIST(X)

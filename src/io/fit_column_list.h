/* The columns of /fits, as lists from which fit_record.h makes its table. Separate because they grow with every new number.
 * Results have SLOPE only with --evaluate.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* constant, path, kind, shape, field of struct fit_record, unit, description */
#define FIT_COLUMN_LIST(X) \
    X(PARAMETERS, "/fits/parameters", DOUBLE, PER_PARAMETER, parameter, NULL, \
      "best fit, natural scale; NaN where there is none") \
    X(OBJECTIVE, "/fits/objective", DOUBLE, PER_FIT, objective, NULL, \
      "value at the best fit; the attribute kind names the objective") \
    X(STATUS, "/fits/status", OUTCOME, PER_FIT, outcome, NULL, "how the fit ended") \
    X(NOTES, "/fits/notes", UINT32, PER_FIT, notes, NULL, "compromises, one bit each; the attributes bit_0, ... name them") \
    X(START, "/fits/start", UINT32, PER_FIT, start, NULL, "number of the start that gave this fit, from 0") \
    X(STANDARD_ERRORS, "/fits/standard_error", DOUBLE, PER_PARAMETER, standard_error, NULL, \
      "standard error of each parameter, natural scale; NaN: error_missing says why") \
    X(INTERVAL_LOWER, "/fits/interval_lower", DOUBLE, PER_PARAMETER, interval_lower, NULL, \
      "lower end of the confidence interval from the covariance") \
    X(INTERVAL_UPPER, "/fits/interval_upper", DOUBLE, PER_PARAMETER, interval_upper, NULL, \
      "upper end of the confidence interval from the covariance") \
    X(ERROR_MISSING, "/fits/error_missing", LACK, PER_PARAMETER, lack, NULL, "why a parameter has no standard error") \
    X(COVARIANCE, "/fits/covariance", DOUBLE, PER_PAIR, covariance, NULL, \
      "covariance of the parameters, natural scale: P x P, row after row; for a sigma of 1 where errors lack freedom") \
    X(EIGENVALUES, "/fits/information_eigenvalues", DOUBLE, PER_PARAMETER, eigenvalue, NULL, \
      "eigenvalues of the information matrix on the optimiser's scale, decreasing") \
    X(FLATTEST, "/fits/flattest_direction", DOUBLE, PER_PARAMETER, flattest, NULL, \
      "the direction that the data determine least, on the optimiser's scale, of length 1") \
    X(N_FLAT, "/fits/flat_directions", INT64, PER_FIT, n_flat, NULL, \
      "number of directions that the data do not determine; -1: there is no best fit") \
    X(FLAT_GROUP, "/fits/flat_group", INT8, PER_PARAMETER, flat_group, NULL, \
      "group of flat directions, from 1, to which each parameter belongs; 0: none") \
    X(CHI_SQUARE, "/fits/chi_square", DOUBLE, PER_FIT, chi_square, NULL, "weighted sum of squared residuals") \
    X(FREEDOM, "/fits/degrees_of_freedom", INT64, PER_FIT, n_freedom, NULL, \
      "number of measurements minus that of fitted parameters") \
    X(REDUCED, "/fits/reduced_chi_square", DOUBLE, PER_FIT, reduced_chi_square, NULL, \
      "chi_square over the dataset's degrees of freedom, its share of them in a fit of many datasets") \
    X(N_NOISE, "/fits/noise_parameters", INT64, PER_FIT, n_own_noise, NULL, \
      "number of the dataset's own fitted parameters that affect only the noise; -1: not known") \
    X(N_NO_SIGMA, "/fits/without_sigma", INT64, PER_FIT, n_no_sigma, NULL, \
      "number of measurements that have no sigma, their own or the model's") \
    X(RESIDUAL_ERROR, "/fits/residual_error", DOUBLE, PER_FIT, residual_error, NULL, \
      "residual standard error, sqrt(chi_square / degrees_of_freedom)") \
    X(LOG_LIKELIHOOD, "/fits/log_likelihood", DOUBLE, PER_FIT, log_likelihood, NULL, \
      "log-likelihood of the measurements, with all constants and without priors") \
    X(LOG_PRIOR, "/fits/log_prior", DOUBLE, PER_FIT, log_prior, NULL, \
      "log-density of the priors between the bounds; NaN: there are none") \
    X(AIC, "/fits/aic", DOUBLE, PER_FIT, aic, NULL, "Akaike's information criterion") \
    X(AICC, "/fits/aicc", DOUBLE, PER_FIT, aicc, NULL, "the same, corrected for small samples") \
    X(BIC, "/fits/bic", DOUBLE, PER_FIT, bic, NULL, "Schwarz's information criterion") \
    X(R_SQUARED, "/fits/r_squared", DOUBLE, PER_FIT, r_squared, NULL, "coefficient of determination") \
    X(GRADIENT_NORM, "/fits/gradient_norm", DOUBLE, PER_FIT, gradient_norm, NULL, \
      "largest entry of the projected gradient, on the optimiser's scale") \
    X(SLOPE, "/fits/objective_gradient", DOUBLE, PER_PARAMETER, slope, NULL, \
      "derivative of the objective by each parameter, natural scale; NaN: it is fixed") \
    X(TIGHT_CHANGE, "/fits/tight_objective_change", DOUBLE, PER_FIT, tight_change, NULL, \
      "certificate: objective at tighter integrator tolerances minus objective") \
    X(TIGHT_DECREASE, "/fits/tight_decrease", DOUBLE, PER_FIT, tight_decrease, NULL, \
      "certificate: predicted decrease of a Gauss-Newton step at tighter integrator tolerances") \
    X(RTOL, "/fits/rtol", DOUBLE, PER_FIT, rtol, NULL, \
      "relative tolerance of the integrator at the best fit: --rtol, or less if the data need it") \
    X(STOP, "/fits/stopping_test", STOP, PER_FIT, stop, NULL, "which stopping test was met") \
    X(OPTIMIZER, "/fits/optimizer", OPTIMIZER, PER_FIT, optimizer, NULL, "the optimiser") \
    X(GRADIENT, "/fits/gradient", GRADIENT, PER_FIT, gradient, NULL, "the source of the derivatives") \
    X(ITERATIONS, "/fits/iterations", INT64, PER_FIT, n_iteration, NULL, "iterations of the optimiser") \
    X(EVALUATIONS, "/fits/evaluations", INT64, PER_FIT, n_evaluation, NULL, "evaluations of the model") \
    X(STEPS, "/fits/steps", INT64, PER_FIT, n_step, NULL, "steps of the integrator") \
    X(SECONDS, "/fits/seconds", DOUBLE, PER_FIT, seconds, "s", "computing time") \
    X(AT_BOUND, "/fits/at_bound", INT8, PER_PARAMETER, at_bound, NULL, \
      "-1 at the lower bound, 1 at the upper bound, otherwise 0")

/* Numbers known only when all tasks of a dataset are done. These columns are in results, not in journals, and only if
 * requested; the last one only if some datasets have no row. */
#define FIT_STARTS_COLUMN_LIST(X) \
    X(SAME_OPTIMUM, "/fits/starts_at_optimum", INT64, PER_FIT, n_same_optimum, NULL, \
      "starts that ended at the best objective, within 1e-6 of it") \
    X(OTHER_LEAST, "/fits/other_optimum_lower", DOUBLE, PER_FIT, other_least, NULL, \
      "least objective of the successful starts that ended elsewhere; NaN: there are none") \
    X(OTHER_MOST, "/fits/other_optimum_upper", DOUBLE, PER_FIT, other_most, NULL, "their largest objective")
#define FIT_PROFILE_COLUMN_LIST(X) \
    X(PROFILE_LOWER, "/fits/profile_lower", DOUBLE, PER_PARAMETER, profile_lower, NULL, \
      "lower confidence limit from the profile; profile_lower_status has its kind") \
    X(PROFILE_UPPER, "/fits/profile_upper", DOUBLE, PER_PARAMETER, profile_upper, NULL, \
      "upper confidence limit from the profile; profile_upper_status has its kind") \
    X(PROFILE_LOWER_STATUS, "/fits/profile_lower_status", LIMIT, PER_PARAMETER, profile_lower_status, NULL, \
      "kind of the lower limit") \
    X(PROFILE_UPPER_STATUS, "/fits/profile_upper_status", LIMIT, PER_PARAMETER, profile_upper_status, NULL, \
      "kind of the upper limit") \
    X(PROFILE_LOWER_BY, "/fits/profile_lower_held_by", INT64, PER_PARAMETER, profile_lower_by, NULL, \
      "row of /parameters of another parameter that a bound holds at the lower limit; -1: none") \
    X(PROFILE_UPPER_BY, "/fits/profile_upper_held_by", INT64, PER_PARAMETER, profile_upper_by, NULL, \
      "row of /parameters of another parameter that a bound holds at the upper limit; -1: none")
#define FIT_BOOTSTRAP_COLUMN_LIST(X) \
    X(BOOTSTRAP_N, "/fits/bootstrap_n", INT64, PER_FIT, n_bootstrap, NULL, \
      "number of replicates that were fitted successfully") \
    X(BOOTSTRAP_ERROR, "/fits/bootstrap_standard_error", DOUBLE, PER_PARAMETER, bootstrap_error, NULL, \
      "standard deviation over the replicates, natural scale") \
    X(BOOTSTRAP_LOWER, "/fits/bootstrap_lower", DOUBLE, PER_PARAMETER, bootstrap_lower, NULL, \
      "lower end of the studentised bootstrap interval") \
    X(BOOTSTRAP_UPPER, "/fits/bootstrap_upper", DOUBLE, PER_PARAMETER, bootstrap_upper, NULL, \
      "upper end of the studentised bootstrap interval") \
    X(PERCENTILE_LOWER, "/fits/bootstrap_percentile_lower", DOUBLE, PER_PARAMETER, percentile_lower, NULL, \
      "lower end of the percentile interval, which tends to be too short") \
    X(PERCENTILE_UPPER, "/fits/bootstrap_percentile_upper", DOUBLE, PER_PARAMETER, percentile_upper, NULL, \
      "upper end of the percentile interval, which tends to be too short")
#define FIT_SELECTION_COLUMN_LIST(X) \
    X(DATASET, "/fits/dataset", INT64, PER_FIT, dataset, NULL, "row number of the dataset in the problem, from 0")

/* Those with a field of their own in struct fit_record, and all. */
#define FIT_FIELD_COLUMN_LIST(X) \
    FIT_COLUMN_LIST(X) FIT_STARTS_COLUMN_LIST(X) FIT_PROFILE_COLUMN_LIST(X) FIT_BOOTSTRAP_COLUMN_LIST(X)
#define FIT_ALL_COLUMN_LIST(X) FIT_FIELD_COLUMN_LIST(X) FIT_SELECTION_COLUMN_LIST(X)

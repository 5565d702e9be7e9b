/* Columns of /fits that the finisher computes from all tasks of a dataset. Included only by io/fit_record.h, whose list they
 * continue.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef IO_FIT_LATER_COLUMNS_H
#define IO_FIT_LATER_COLUMNS_H

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
      "lower confidence limit from the profile; profile_lower_status says what it is") \
    X(PROFILE_UPPER, "/fits/profile_upper", DOUBLE, PER_PARAMETER, profile_upper, NULL, \
      "upper confidence limit from the profile; profile_upper_status says what it is") \
    X(PROFILE_LOWER_STATUS, "/fits/profile_lower_status", LIMIT, PER_PARAMETER, profile_lower_status, NULL, \
      "what became of the profile below the best fit") \
    X(PROFILE_UPPER_STATUS, "/fits/profile_upper_status", LIMIT, PER_PARAMETER, profile_upper_status, NULL, \
      "what became of the profile above the best fit")
#define FIT_BOOTSTRAP_COLUMN_LIST(X) \
    X(BOOTSTRAP_N, "/fits/bootstrap_n", INT64, PER_FIT, n_bootstrap, NULL, "replicates that were fitted with success") \
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

#endif

/* The curvature of a population's -log likelihood by its estimates, as the steps of the search
 * take it.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/mixed/mixed.h"

/* Of the latest pass, which was at the best estimates: the information, or the products of the
 * datasets' gradients where these are many. */
enum asked mixed_begin_curvature(struct mixed *mixed);
/* The triangle of the curvature (m x m), of which a part is added to the diagonal until it has
 * one. False: it has none, or out of memory. */
bool mixed_factor_curvature(const struct mixed *mixed, double *triangle);
/* BFGS's correction for the latest step, damped as Powell (1978) does to keep the curvature
 * positive. */
void mixed_improve_curvature(struct mixed *mixed);

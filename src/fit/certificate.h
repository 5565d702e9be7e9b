/* The certificate of a fit: its optimum looked at again with tighter integrator tolerances. Separate from the statistics,
 * because it is about the numerics, and asks the host.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_CERTIFICATE_H
#define FIT_CERTIFICATE_H

#include "fit/point.h"

struct fit_certificate {
    double change;     /* objective with tighter tolerances minus objective; NaN: it could not be evaluated */
    double decrease;   /* what a full Gauss-Newton step promises there, along the directions that the data know; or NaN */
    bool is_confirmed; /* the change is small beside the variance of the measurement errors: so is the objective's error */
    bool is_certified; /* the decrease, too: an optimum */
    double factor;     /* where they are not: what tolerances have to be divided by for that; 0: nothing tighter would help */
};

/* Of the best point of a search, with the derivatives of all residuals, and of the objective that is reported of it (with
 * adjoint gradients another evaluation's). Sets asker->prediction_error. ASKED_END: the host cancelled, a budget is used up, or
 * there is no memory (asker->outcome). A model without states is exact: nothing is asked. The asker's counters count the
 * evaluation. */
enum asked fit_certify(struct fit_asker *asker, const struct fit_point *best, double objective, struct arena *arena,
                       struct fit_certificate *certificate);

#endif

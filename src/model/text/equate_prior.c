/* Whether a prior of a model text makes sense beside start, bounds and scale of its parameter: one that cannot be honoured is a
 * fault of the text.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/resolve.h"

#include "model/graph/equations.h"

#include <math.h>
#include <string.h>

/* An end of a uniform prior in natural values. */
static double natural(const struct equation_parameter *parameter, double x)
{
    if (!parameter->prior.on_optimizer || strcmp(parameter->scale, "lin") == 0)
        return x;
    return strcmp(parameter->scale, "log10") == 0 ? pow(10, x) : exp(x);
}

static void check_uniform(struct source *source, struct span at, const struct equation_parameter *parameter)
{
    const struct equation_prior *prior = &parameter->prior;
    double lower = natural(parameter, prior->first), upper = natural(parameter, prior->second);
    if (!(prior->first < prior->second))
        message_fault(source, at, "the ends %g and %g of the uniform prior of `%s` hold no value: the lower one comes first",
                      prior->first, prior->second, parameter->name);
    else if (upper <= parameter->lower || lower >= parameter->upper)
        message_fault(source, at, "the uniform prior of `%s` on [%g, %g] lies outside its bounds [%g, %g]", parameter->name,
                      lower, upper, parameter->lower, parameter->upper);
    else if (parameter->start < lower || parameter->start > upper)
        message_warning(source, at, "`%s` starts at %.10g, outside its uniform prior on [%.10g, %.10g]: fits begin at %.10g",
                        parameter->name, parameter->start, lower, upper, parameter->start < lower ? lower : upper);
}

void equate_check_prior(struct source *source, struct span at, const struct equation_parameter *parameter)
{
    const struct equation_prior *prior = &parameter->prior;
    if (!prior->kind || isnan(prior->first) || isnan(prior->second) || isnan(parameter->start))
        return;
    bool is_log_normal = strcmp(prior->kind, "log-normal") == 0;
    if (strcmp(prior->kind, "uniform") == 0)
        check_uniform(source, at, parameter);
    else if (!(prior->second > 0))
        message_fault(source, at, "the second number of the prior of `%s` is its width and must be above 0, and this one is %g",
                      parameter->name, prior->second);
    else if (is_log_normal && prior->on_optimizer && strcmp(parameter->scale, "lin") != 0)
        message_fault(source, at, "on scale %s the optimiser sees a logarithm already, which cannot be log-normal: leave out "
                      "`on optimizer`, or write `normal`", parameter->scale);
    else if (is_log_normal && parameter->start <= 0)
        message_fault(source, at, "`%s` starts at %g, but with its lognormal prior it must be above 0", parameter->name,
                      parameter->start);
}

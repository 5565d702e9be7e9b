/* Reading a model text in a test and looking at what it says: shared by the tests of model/text.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_UNIT_TEXT_CASE_H
#define TESTS_UNIT_TEXT_CASE_H

#include "../graph_values.h"
#include "model/text/text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct text_case {
    struct equations *equations;
    struct text_messages messages;
    struct error error;
    enum status status;
    double *value; /* of the nodes, at the point below */
};

/* Where nodes are evaluated: states 2, 3, 5; parameters 0.5, 1.5, 2.5; covariates 7, 11; t = 4. */
static const double text_y[] = {2, 3, 5}, text_p[] = {0.5, 1.5, 2.5}, text_covariate[] = {7, 11};
static const double text_t = 4;

static inline void text_read_bytes(struct text_case *self, const char *text, size_t n_byte)
{
    memset(self, 0, sizeof *self);
    self->status = text_parse(text, n_byte, "dir/case.ode", &self->equations, &self->messages, &self->error);
    if (!self->equations)
        return;
    struct stiffit_point at = {.t = text_t, .y = text_y, .p = text_p, .covariate = text_covariate};
    self->value = calloc(graph_n_node(self->equations->graph), sizeof *self->value);
    assert_non_null(self->value);
    graph_evaluate(self->equations->graph, &at, self->value);
}

static inline void text_read(struct text_case *self, const char *text)
{
    text_read_bytes(self, text, strlen(text));
}

static inline void text_end(struct text_case *self)
{
    equations_free(self->equations);
    text_messages_fini(&self->messages);
    free(self->value);
}

/* A text that must be good. */
static inline void text_read_good(struct text_case *self, const char *text)
{
    text_read(self, text);
    if (self->status != STATUS_OK)
        print_error("%s\n", self->error.message);
    assert_int_equal(self->status, STATUS_OK);
    assert_non_null(self->equations);
}

/* Message i as "line:column+length: error: text". */
static inline const char *text_say(const struct text_case *self, size_t i, char *out, size_t size)
{
    if (i >= self->messages.n_message)
        return "none";
    const struct text_message *message = &self->messages.message[i];
    snprintf(out, size, "%u:%u+%u: %s: %s", (unsigned)message->line, (unsigned)message->column, (unsigned)message->length,
             message->is_error ? "error" : "warning", message->text);
    return out;
}

#endif

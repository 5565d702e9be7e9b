/* Shared by the files of the listing: names of nodes, forms of operations, and the state of
 * printing.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "model/generate/generate.h"

/* An item yet to be printed: a text, or a node (text NULL). */
struct item {
    const char *text;
    node which;
    uint8_t least;
    uint8_t depth;    /* of fractions within fractions */
    bool plain;       /* a sign needs parentheses */
    bool is_open;     /* the expression itself, not its name */
    /* a long LaTeX line may be broken before this text, or before the signs of this sum */
    bool may_break;
};

struct listing {
    const struct equations *equations;
    const struct functions *functions;
    bool is_latex, failed;
    /* All names as printed: states, parameters, covariates, observables, intermediates, inputs,
     * events. */
    char **name;
    size_t n_name, first[7 /* N_NAME_KIND */];
    /* per node: 0, or 1 + its name's number, or 1 + n_name + the number of its temporary */
    uint32_t *label;
    bool is_equation; /* temporaries of derivatives are not used */
    node *temporary; /* in the order of their numbers */
    /* those of the equations come first */
    size_t n_temporary, room_temporary, n_equation_temporary;
    char temporary_letter[16];
    struct item *stack;
    size_t n_stack, room_stack;
    size_t width; /* of the current LaTeX line, roughly in letters */
};

enum {
    NAME_STATE,
    NAME_PARAMETER,
    NAME_COVARIATE,
    NAME_OBSERVABLE,
    NAME_INTERMEDIATE,
    NAME_INPUT,
    NAME_EVENT,
    N_NAME_KIND
};

/* listing_name.c: name[] in the notation, the letter of temporaries, numbers. */
bool listing_make_names(struct listing *listing);
void listing_print_temporary(const struct listing *listing, size_t i, FILE *out);
/* A number as text, and how tightly it binds; digits: NUMBER_SIZE of base/words.h. */
enum binding text_number(double value, char text[80]);
enum binding latex_number(double value, char text[80]);
void listing_digits(double value, char *digits);
/* Approximate width of LaTeX text in letters. */
size_t latex_width(const char *text);

/* The label of a node that is in use now, or 0. */
static inline uint32_t listing_label_of(const struct listing *listing, node which)
{
    uint32_t label = listing->label[which];
    return listing->is_equation && label > listing->n_name + listing->n_equation_temporary ? 0
                                                                                           : label;
}

/* listing.c: the labels. */
bool listing_label_equations(struct listing *listing);
bool listing_label_derivatives(struct listing *listing);

/* listing_expression.c */
void listing_print(struct listing *listing, struct item first, FILE *out);
/* Whether the arguments of a sum or product are printed in reverse order. */
bool listing_is_swapped(const struct listing *listing, node which);

/* The contents of a model text during reading: names, formulas as postfix code, and statements.
 * The parser fills it, resolve.c finds the order, evaluate.c makes nodes, equate.c makes
 * equations.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "model/text/code.h"
#include "model/text/stated.h"
#include "model/text/token.h"

/* Limits, which bound the memory. */
enum {
    READING_SHOWN_NAME = 100,        /* characters of a name in messages */
    READING_MAX_SYMBOL = 1 << 20,
    READING_MAX_KIND = 100000,       /* states, parameters, ...: what a plugin may have */
    READING_MAX_CODE = 1 << 23,      /* instructions */
    READING_MAX_DEPTH = 1000,        /* nested brackets and ifs */
    READING_MAX_STEP = 1 << 24       /* instructions run, with functions expanded */
};

enum symbol_kind {
    SYMBOL_UNKNOWN,
    SYMBOL_PARAMETER,
    SYMBOL_CONSTANT,
    SYMBOL_COVARIATE,
    SYMBOL_STATE,
    SYMBOL_INTERMEDIATE,
    SYMBOL_FUNCTION,
    SYMBOL_INPUT,
    SYMBOL_EVENT
};

enum symbol_mark { MARK_NEW, MARK_OPEN, MARK_DONE };

struct symbol {
    struct span name;
    struct span place;   /* of its definition; length 0: undefined */
    uint8_t kind, mark;
    bool failed;         /* its definition is faulty: no further messages about it */
    bool used;           /* it affects a result */
    bool in_derivative;  /* ... or a derivative of a state */
    bool is_constant;    /* of functions: contains only numbers, constants and arguments */
    /* 1 + its number among the arguments of the function that is being read; 0: it is none */
    uint32_t argument;
    uint32_t line;
    uint32_t n_argument; /* of a function */
    /* among those of its kind; its depth while its formula is being resolved */
    uint32_t index;
    /* of a constant, intermediate, function or the derivative of a state; or NONE */
    uint32_t formula;
    uint32_t initial;    /* of a state, in initials; or NONE */
    uint32_t state;      /* a state that its value depends on, or NONE */
    node value;
};

/* A growing array. */
#define LIST(type) struct { type *item; uint32_t n, capacity; }

struct reading {
    struct source source;
    /* of the hash of names: made from the text, so that no fixed text makes the table slow */
    unsigned char key[32];
    LIST(struct symbol) symbols;
    uint32_t *slot; /* hash table of symbols */
    uint32_t n_slot;
    LIST(struct instruction) code;
    LIST(struct formula) formulas;
    LIST(uint32_t) states; /* symbols, by the order of their derivatives */
    LIST(struct stated_initial) initials;
    LIST(struct stated_parameter) parameters;
    LIST(struct stated_covariate) covariates, inputs;
    LIST(struct stated_dosing) dosings;
    LIST(struct stated_event) events;
    LIST(struct stated_assignment) assignments;
    LIST(struct stated_observable) observables;
    /* constants, intermediates and functions, each after those that it uses */
    LIST(uint32_t) order;
    struct span name, description, time_unit;
    uint32_t name_line, time_line; /* of their statements; 0: none */
    uint32_t t0; /* formula or NONE */
    bool too_large;
};

/* Adds a zeroed item; NULL: out of memory, or there are `most` already (the reading reports
 * which). */
#define list_add(reading, list, most) \
    ((list)->n < (list)->capacity || \
             ((list)->item = reading_grow((reading), (list)->item, &(list)->capacity, \
                 sizeof *(list)->item, (most)), \
              (list)->n < (list)->capacity) \
         ? memset(&(list)->item[(list)->n++], 0, sizeof *(list)->item) \
         : NULL)
/* Enlarges an array; if that fails, array and capacity do not change. */
void *reading_grow(struct reading *reading, void *item, uint32_t *capacity, size_t size,
                   uint32_t most);
/* True: reading has stopped, and its result is discarded. */
bool reading_is_over(const struct reading *reading);
void reading_fini(struct reading *reading);

/* For messages: precision and pointer of "%.*s". */
#define SPAN_ARGUMENTS(reading, span) \
    (int)((span).length < READING_SHOWN_NAME ? (span).length : READING_SHOWN_NAME), \
        (reading)->source.text + (span).offset

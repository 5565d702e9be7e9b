/* Statements about what happens to states: events, and lag times and the like of doses. Their
 * words are not reserved.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/parser.h"

#include <stdio.h>
#include <stiffit/model.h>
#include <string.h>

static bool stop(struct parser *parser, const char *expected)
{
    parser_unexpected(parser, expected);
    return false;
}

/* Reads an expression; false, after a message: it is faulty. */
static bool read_formula(struct parser *parser, uint32_t *formula, enum formula_role role)
{
    *formula = parser_expression(parser, role);
    return *formula != NONE && !parser->reading->formulas.item[*formula].failed;
}

void parser_dosing(struct parser *parser, enum dosing_kind kind)
{
    struct reading *reading = parser->reading;
    struct token word = parser_take(parser);
    parser_take(parser); /* the bracket */
    struct token name = parser_take(parser);
    parser_take(parser);
    struct stated_dosing read = {.symbol = symbol_of(reading, name.span),
                                 .formula = NONE, .line = word.line, .kind = kind,
                                 .place = name.span};
    bool good = read.symbol != NONE && parser_equal(parser) &&
                read_formula(parser, &read.formula, ROLE_DOSE);
    struct stated_dosing *kept =
        read.symbol == NONE ? NULL : list_add(reading, &reading->dosings, READING_MAX_SYMBOL);
    if (kept)
        *kept = read;
    if (good)
        parser_end(parser, "an operator or the end of the statement");
    else
        parser_skip(parser, false);
}

static bool stop_pair(struct parser *parser, const char *first, const char *second)
{
    char expected[60];
    snprintf(expected, sizeof expected, "`%s` (`%s %s`)", second, first, second);
    return stop(parser, expected);
}

/* The option in a pair of words, or the first one of an option with an expression; false: there
 * is none. */
static bool read_options(struct parser *parser, struct stated_event *event)
{
    static const struct { const char *first, *second; uint8_t kind;
    } pairs[] = {{"initially", "false", STIFFIT_EVENT_INITIALLY_FALSE},
                 {"can", "lapse", STIFFIT_EVENT_CAN_LAPSE},
                 {"early", "values", STIFFIT_EVENT_EARLY_VALUES},
                 {"before", "others", STIFFIT_EVENT_FIRST},
                 {"after", "measurements", STIFFIT_EVENT_AFTER}};
    for (;;) {
        struct token at = *parser_peek(parser, 0);
        uint32_t *formula = parser_is_name(parser, 0, "delay") ? &event->delay
                            : parser_is_name(parser, 0, "priority") ? &event->priority : NULL;
        uint8_t kind = 0;
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs && !formula && !kind; i++) {
            if (!parser_accept_name(parser, pairs[i].first))
                continue;
            if (!parser_accept_name(parser, pairs[i].second))
                return stop_pair(parser, pairs[i].first, pairs[i].second);
            kind = pairs[i].kind;
        }
        if (!formula && !kind)
            return true;
        if (kind ? event->kind & kind : *formula != NONE) {
            message_fault(&parser->reading->source, at.span, "`%.*s` appears twice",
                          SPAN_ARGUMENTS(parser->reading, at.span));
            return false;
        }
        bool is_timed = event->kind & STIFFIT_EVENT_TIMED;
        if (kind & (is_timed ? STIFFIT_EVENT_INITIALLY_FALSE | STIFFIT_EVENT_CAN_LAPSE
                             : STIFFIT_EVENT_FIRST)) {
            message_fault(&parser->reading->source, at.span, "`%.*s` is for events with a %s",
                          SPAN_ARGUMENTS(parser->reading, at.span),
                          is_timed ? "condition (`when`)" : "time (`at`)");
            return false;
        }
        event->kind |= kind;
        if (formula) {
            parser_take(parser);
            if (!read_formula(parser, formula, ROLE_EVENT))
                return false;
        }
    }
}

static bool read_assignment(struct parser *parser)
{
    struct reading *reading = parser->reading;
    struct token name = parser_name(parser, "the name of a state");
    struct stated_assignment read = {.formula = NONE, .line = name.line, .place = name.span};
    read.symbol = name.length ? symbol_of(reading, name.span) : NONE;
    if (read.symbol == NONE)
        return false;
    if (parser_peek(parser, 0)->kind == TOKEN_PRIME) {
        message_fault(&reading->source, parser_peek(parser, 0)->span,
                      "an event assigns values: give the rate of change a parameter or a state "
                      "that the event can change");
        return false;
    }
    bool good = parser_equal(parser) && read_formula(parser, &read.formula, ROLE_EVENT);
    struct stated_assignment *kept = list_add(reading, &reading->assignments, READING_MAX_SYMBOL);
    if (kept)
        *kept = read;
    return kept && good;
}

static bool read_event(struct parser *parser, struct stated_event *event)
{
    bool is_called =
        parser_peek(parser, 0)->kind == TOKEN_COLON || parser_is_name(parser, 0, "delay") ||
        parser_is_name(parser, 0, "priority") || parser_is_name(parser, 0, "early") ||
        (parser_is_name(parser, 0, "before") && parser_is_name(parser, 1, "others")) ||
        (parser_is_name(parser, 0, "after") && parser_is_name(parser, 1, "measurements"));
    bool is_timed = is_called || parser_accept_name(parser, "at");
    if (!is_timed && !parser_accept_name(parser, "when"))
        return stop(parser, "`at TIME`, `when CONDITION` or `:`");
    event->kind = is_timed ? STIFFIT_EVENT_TIMED : 0;
    if ((!is_called && !read_formula(parser, &event->when, ROLE_EVENT)) ||
        !read_options(parser, event))
        return false;
    /* those called at one time do not see each other's */
    event->kind |= is_called ? STIFFIT_EVENT_EARLY_VALUES : 0;
    if (!parser_accept(parser, TOKEN_COLON))
        return stop(parser, parser_peek(parser, 0)->kind == TOKEN_COMMA
                                ? "`:` (options are not separated by commas)"
                                : "`:` before the assignments, `delay`, `priority`, `initially "
                                  "false`, `can lapse`, `early values`, "
                                  "`before others` or `after measurements`");
    do {
        if (!read_assignment(parser))
            return false;
        event->n++;
    } while (parser_accept(parser, TOKEN_COMMA));
    return true;
}

void parser_event(struct parser *parser)
{
    struct reading *reading = parser->reading;
    parser_take(parser);
    struct token name = parser_take(parser);
    struct stated_event read = {.symbol = symbol_of(reading, name.span),
                                .when = NONE, .delay = NONE, .priority = NONE,
                                .first = reading->assignments.n, .line = name.line};
    bool good = read.symbol != NONE &&
                symbol_define(reading, read.symbol, SYMBOL_EVENT, name.span, name.line);
    good = read_event(parser, &read) && good;
    struct stated_event *kept =
        good ? list_add(reading, &reading->events, READING_MAX_SYMBOL) : NULL;
    if (kept)
        *kept = read;
    if (good)
        parser_end(parser, "an operator, a comma and another assignment, or the end of the "
                           "statement");
    else
        parser_skip(parser, false);
}

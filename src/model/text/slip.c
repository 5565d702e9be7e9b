/* Hints for tokens that make no sense where they are. Most of these slips are habits from other
 * languages, so the hint says how to write the same thing here.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/words.h"
#include "model/text/parser.h"

#include <string.h>

/* What to say about a word; of names also whether they are called. */
struct hint { const char *word, *hint; bool is_function; };

static const char *find_hint(const struct hint *hints, size_t n, const char *text, size_t length,
                             bool as_function)
{
    for (size_t i = 0; i < n; i++)
        if (hints[i].is_function == as_function && strlen(hints[i].word) == length &&
            !strncmp(hints[i].word, text, length))
            return hints[i].hint;
    return NULL;
}
#define FIND_HINT(hints, reading, span, as_function) \
    find_hint(hints, sizeof hints / sizeof *hints, (reading)->source.text + (span).offset, \
              (span).length, as_function)

/* Signs that other languages have. */
static const char *sign_hint(const char *text, const struct token *token)
{
    switch (text[token->offset]) {
    case '&': return "write `and` (or `&&`)";
    case '|': return "write `or` (or `||`); for an absolute value `abs(x)`";
    case '?': return "write `if C then A else B`";
    case '%': return "a remainder is `x - y*floor(x/y)`; a comment begins with `#`";
    case '@': return "options of the integrator belong to the command line (`stiffit run --help`)";
    case '{':
    case '}':
        return "there are no blocks: write one statement per line; a choice is `if C then A else "
               "B`";
    case '~': return "the standard deviation of a measurement is `observe NAME sd EXPR`";
    case '\\': return "a line continues on the next one if `\\` is its last character";
    case '"': return "labels go after `unit` or the model's name, in double quotes on one line";
    default:
        return (unsigned char)text[token->offset] < 0x80 ? NULL
               : "only comments and labels may contain characters beyond ASCII";
    }
}

/* Whether the token is a value where an operator should be. */
static bool is_value(const struct token *token)
{
    enum word word = token->reserved ? token->reserved->word : WORD_NONE;
    return token->kind == TOKEN_NUMBER || token->kind == TOKEN_OPEN || word == WORD_TIME ||
           word == WORD_NUMBER || token_is_function(token->reserved) ||
           (token->kind == TOKEN_NAME && !word);
}

/* A hint for the token after a value, if it holds in any language. */
static const char *operator_hint(struct parser *parser, const struct token *token)
{
    if (token->kind == TOKEN_NUMBER)
        return "an operator is missing before it";
    if (is_value(token))
        return "a `*` or another operator is missing before it";
    return token->kind == TOKEN_CLOSE && parser->n_open == 0
               ? "there is no open bracket for it to close" : NULL;
}

/* A hint for the token after a value, if it holds in model text alone. */
static const char *statement_hint(const struct token *token)
{
    switch (token->kind) {
    case TOKEN_EQUAL:
        return "to compare write `==`; a statement has one `=`, after the name that it defines";
    case TOKEN_COLON_EQUAL: return "a statement has one `=`, after the name that it defines";
    case TOKEN_PRIME:
        return "a derivative cannot be used in an expression: give its right-hand side a name and "
               "use that";
    default: return NULL;
    }
}

static const char *word_hint(struct parser *parser, const struct token *token)
{
    static const struct hint hints[] = {
        {"elif", "write `else if`", false},
        {"elseif", "write `else if`", false},
        {"endif", "an `if` ends with its expression", false},
        {"end", "nothing needs an end here: leave it out", false},
    };
    const char *found = FIND_HINT(hints, parser->reading, token->span, false);
    if (found || !token->reserved || parser->position != AT_VALUE)
        return found;
    if (token->reserved->word == WORD_INF)
        return "infinity is allowed only in the bounds of a parameter";
    return token_is_function(token->reserved) ? "a function needs its arguments in parentheses"
                                              : NULL;
}

static bool is_digit_at(const struct reading *reading, uint32_t at)
{
    return at < reading->source.n_byte && reading->source.text[at] >= '0' &&
           reading->source.text[at] <= '9';
}

/* Whether the token is a comma, or follows one, in the place of a decimal point. */
static bool is_decimal_comma(const struct reading *reading, const struct token *token)
{
    uint32_t comma = token->kind == TOKEN_NUMBER ? token->offset - 1 : token->offset;
    return (token->kind == TOKEN_COMMA || (token->kind == TOKEN_NUMBER && token->offset > 1)) &&
           reading->source.text[comma] == ',' && comma > 0 && is_digit_at(reading, comma - 1) &&
           is_digit_at(reading, comma + 1);
}

/* Whether there are several values in square brackets. */
static bool is_bounds(struct parser *parser)
{
    enum token_kind kind = parser_peek(parser, 0)->kind;
    bool is_open = kind == TOKEN_OPEN_BRACKET;
    for (uint32_t k = 1; kind != TOKEN_COMMA && kind != TOKEN_CLOSE_BRACKET &&
                         kind != TOKEN_BREAK && kind != TOKEN_END && k < PARSER_AHEAD;
         k++)
        kind = parser_peek(parser, k)->kind;
    return is_open && kind == TOKEN_COMMA;
}

/* What a slip from another language into model text should be. */
static const char *text_hint(struct parser *parser, const struct token *token)
{
    const char *hint = NULL;
    if (token->kind == TOKEN_NAME)
        hint = word_hint(parser, token);
    if (!hint && token->kind == TOKEN_BAD)
        hint = sign_hint(parser->reading->source.text, token);
    if (!hint && parser->position != AT_VALUE && is_bounds(parser))
        hint = "bounds need `in`: `parameter k = 1 in [0, 10]`";
    if (!hint && ((token->kind == TOKEN_OPEN_BRACKET && parser->position != AT_ANYTHING) ||
                  (token->kind == TOKEN_CLOSE_BRACKET && parser->position == AT_OPERATOR)))
        hint = "there are no arrays: write x1 for x[1]; use round brackets in expressions";
    return hint || parser->position != AT_OPERATOR ? hint : statement_hint(token);
}

void parser_unexpected(struct parser *parser, const char *expected)
{
    struct reading *reading = parser->reading;
    struct token token = *parser_peek(parser, 0);
    struct source *source = &reading->source;
    bool is_text = parser->lexer.dialect->has_statements;
    const char *hint = NULL;
    struct span at = token.span;
    char expectation[200] = "";
    if (expected)
        snprintf(expectation, sizeof expectation, "expected %s", expected);
    if (token.kind == TOKEN_BREAK || token.kind == TOKEN_END) {
        /* the place is the end of the last token */
        at = (struct span){parser->last_end > 0 ? parser->last_end - 1 : 0, 1};
        const char *part = token.unclosed ? "line" : "statement";
        const char *whole = is_text ? "text" : "formula";
        message_fault(source, at, "%s, but the %s ends here%s", expectation,
                      token.kind == TOKEN_END ? whole : part,
                      token.unclosed ? " (a bracket is still open)" : "");
        return;
    }
    if (token.kind == TOKEN_UNCLOSED_STRING) {
        message_fault(source, (struct span){at.offset, 1},
                      "the label that begins here does not end on this line: a \" is missing");
        return;
    }
    if (is_text)
        hint = text_hint(parser, &token);
    if (!hint && parser->position == AT_OPERATOR)
        hint = operator_hint(parser, &token);
    if (is_decimal_comma(reading, &token))
        hint = "a number has a decimal point, not a comma";
    const char *p = source->text + token.offset;
    char found[READING_SHOWN_NAME + 30];
    if (token.kind == TOKEN_BAD && !message_character(p, p + token.length))
        snprintf(found, sizeof found, "byte 0x%02x", (unsigned char)*p);
    else if (token.kind == TOKEN_STRING)
        snprintf(found, sizeof found, "a label");
    else
        snprintf(found, sizeof found, "`%.*s`", SPAN_ARGUMENTS(reading, token.span));
    message_fault(source, at, "%s%s%s%s%s", hint || !expected ? "unexpected " : expectation,
                  hint || !expected ? "" : ", found ", found, hint ? ": " : "", hint ? hint : "");
}

void parser_end(struct parser *parser, const char *expected)
{
    enum token_kind kind = parser_peek(parser, 0)->kind;
    if (kind == TOKEN_BREAK || kind == TOKEN_END)
        return;
    parser_unexpected(parser, expected);
    parser_skip(parser, false);
}

bool parser_equal(struct parser *parser)
{
    struct source *source = &parser->reading->source;
    struct token token = *parser_peek(parser, 0), next = *parser_peek(parser, 1);
    bool arrow = token.kind == TOKEN_LESS && next.kind == TOKEN_MINUS && !next.after_blank;
    if (token.kind == TOKEN_EQUAL) {
        parser_take(parser);
        return true;
    }
    if (arrow || token.kind == TOKEN_COLON_EQUAL || token.kind == TOKEN_EQUAL_EQUAL) {
        message_fault(source, (struct span){token.offset, 2}, "write `=` to define something");
        parser_take(parser);
        if (arrow)
            parser_take(parser);
        return true;
    }
    parser_unexpected(parser, "`=`");
    return false;
}

struct token parser_name(struct parser *parser, const char *what)
{
    struct token token = *parser_peek(parser, 0);
    if (token.kind == TOKEN_NAME)
        return parser_take(parser);
    parser_unexpected(parser, what);
    token.length = 0;
    return token;
}

#define EVENT_HINT "an event is `event NAME at TIME: STATE = EXPR, ...` or `event NAME when " \
    "CONDITION: STATE = EXPR, ...`"

/* First words of statements in other languages. */
const char *slip_statement_hint(const struct reading *reading, const struct token *token)
{
    static const struct hint hints[] = {
        {"aux",
         "an auxiliary quantity is just `NAME = EXPR`; to compare it with measurements `observe "
         "NAME = EXPR`",
         false},
        {"done", "the text needs no end: leave it out", false},
        {"end", "nothing needs an end here: leave it out", false},
        {"p", "parameters are `parameter NAME = VALUE, ...`", false},
        {"param", "parameters are `parameter NAME = VALUE, ...`", false},
        {"number", "constants are `constant NAME = VALUE, ...`", false},
        {"var",
         "a name needs no declaration: `NAME = EXPR` defines it, `NAME' = EXPR` makes it a state",
         false},
        {"species",
         "a state is declared by its derivative and initial value: `NAME' = EXPR` and `NAME(0) = "
         "EXPR`",
         false},
        {"compartment", "write a volume as a constant or a parameter", false},
        {"def", "a function is `function NAME(ARG, ...) = EXPR`", false},
        {"return", "a function is `function NAME(ARG, ...) = EXPR`", false},
        {"global", EVENT_HINT, false},
        {"at", EVENT_HINT, false},
        {"when", EVENT_HINT, false},
        {"events", EVENT_HINT, false},
        {"inputs", "inputs are `input NAME, ...`", false},
        {"wiener", "random terms are not part of the language", false},
        {"import", "nothing needs to be imported: all functions are built in", false},
    };
    return FIND_HINT(hints, reading, token->span, false);
}

#define TRUNC_HINT "the whole part is `sign(x)*floor(abs(x))`"
#define GAMMA_HINT "the gamma function is `exp(lgamma(x))` where x > 0"
#define LOG_GAMMA_HINT "write `lgamma(x)`"
#define NORMAL_HINT "the distribution function of the standard normal distribution is " \
    "`erfc(-x/sqrt(2))/2`"
#define LOGISTIC_HINT "write `1/(1 + exp(-x))`"
#define TABLE_HINT "a table is `interp(x, x1, y1, x2, y2, ...)`"
#define AFTER_DOSE_HINT "give the doses' times and amounts as inputs: `input tdose, adose`; the " \
    "time after the last dose is `t - tdose`"

/* Names that other languages know. */
const char *slip_name_hint(const struct reading *reading, struct span name, bool as_function)
{
    static const struct hint hints[] = {
        {"e", "Euler's number is `exp(1)`, and e^x is `exp(x)`", false},
        {"mod", "a remainder is `x - y*floor(x/y)`", true},
        {"fmod", "a remainder is `x - y*floor(x/y)`", true},
        {"round", "the nearest whole number is `floor(x + 0.5)`", true},
        {"trunc", TRUNC_HINT, true},
        {"fix", TRUNC_HINT, true},
        {"int", TRUNC_HINT, true},
        {"exp10", "write `10^x`", true},
        {"exp2", "write `2^x`", true},
        {"square", "write `x^2`", true},
        {"hypot", "write `sqrt(x^2 + y^2)`", true},
        {"cot", "write `1/tan(x)`", true},
        {"sec", "write `1/cos(x)`", true},
        {"csc", "write `1/sin(x)`", true},
        {"gamma", GAMMA_HINT, true},
        {"tgamma", GAMMA_HINT, true},
        {"gammaln", LOG_GAMMA_HINT, true},
        {"gammln", LOG_GAMMA_HINT, true},
        {"lngamma", LOG_GAMMA_HINT, true},
        {"loggamma", LOG_GAMMA_HINT, true},
        {"factorial", "n! is `exp(lgamma(n + 1))`", true},
        {"fact", "n! is `exp(lgamma(n + 1))`", true},
        {"lfactorial", "the logarithm of n! is `lgamma(n + 1)`", true},
        {"lfact", "the logarithm of n! is `lgamma(n + 1)`", true},
        {"beta", "the beta function is `exp(lgamma(a) + lgamma(b) - lgamma(a + b))`", true},
        {"lbeta", "its logarithm is `lgamma(a) + lgamma(b) - lgamma(a + b)`", true},
        {"digamma", "derivatives are found by the program; for values write `(lgamma(x + 1e-5) - "
                    "lgamma(x - 1e-5))/2e-5`", true},
        {"phi", NORMAL_HINT, true},
        {"Phi", NORMAL_HINT, true},
        {"PHI", NORMAL_HINT, true},
        {"pnorm", NORMAL_HINT, true},
        {"normcdf", NORMAL_HINT, true},
        {"dnorm", "the density of the standard normal distribution is `exp(-x^2/2)/sqrt(2*pi)`",
         true},
        {"expit", LOGISTIC_HINT, true},
        {"inv_logit", LOGISTIC_HINT, true},
        {"invlogit", LOGISTIC_HINT, true},
        {"logistic", LOGISTIC_HINT, true},
        {"sigmoid", LOGISTIC_HINT, true},
        {"logit", "write `log(x/(1 - x))`", true},
        {"ifelse", "write `if(CONDITION, A, B)`", true},
        {"table", TABLE_HINT, true},
        {"lookup", TABLE_HINT, true},
        {"approx", TABLE_HINT, true},
        {"approxfun", TABLE_HINT, true},
        {"interp1", TABLE_HINT, true},
        {"interp1d", TABLE_HINT, true},
        {"interpolate", TABLE_HINT, true},
        {"spline", TABLE_HINT, true},
        {"tad", AFTER_DOSE_HINT, true},
        {"tad", AFTER_DOSE_HINT, false},
        {"TAD", AFTER_DOSE_HINT, false},
        {"tad0", AFTER_DOSE_HINT, true},
        {"tafd", AFTER_DOSE_HINT, true},
        {"tlast", AFTER_DOSE_HINT, true},
        {"tlast", AFTER_DOSE_HINT, false},
        {"podo", AFTER_DOSE_HINT, true},
        {"podo", AFTER_DOSE_HINT, false},
        {"transit", "absorption through transit compartments is described under Doses in "
                    "stiffit-model(5)", true},
        {"delay", "values of the past are not part of the language; an event can have a delay",
         true},
        {"lag",
         "values of the past are not part of the language; the lag of doses is `lag(STATE) = EXPR`",
         true},
    };
    return FIND_HINT(hints, reading, name, as_function);
}

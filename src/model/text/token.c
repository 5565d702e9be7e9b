/* The tokeniser, and the table of reserved words of model text.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/token.h"

#include <string.h>

/* In the order of strcmp, for binary search. */
static const struct reserved table[] = {
    RESERVED_OPERATION("abs", ABS),
    RESERVED_OPERATION("acos", ACOS),
    RESERVED_OPERATION("acosh", ACOSH),
    {"and", WORD_AND, 0, 0},
    RESERVED_OPERATION("asin", ASIN),
    RESERVED_OPERATION("asinh", ASINH),
    RESERVED_OPERATION("atan", ATAN),
    RESERVED_OPERATION("atan2", ATAN2),
    RESERVED_OPERATION("atanh", ATANH),
    RESERVED_OPERATION("cbrt", CBRT),
    RESERVED_OPERATION("ceil", CEIL),
    {"const", WORD_CONSTANT, 0, 0},
    {"constant", WORD_CONSTANT, 0, 0},
    RESERVED_OPERATION("cos", COS),
    RESERVED_OPERATION("cosh", COSH),
    {"covariate", WORD_COVARIATE, 0, 0},
    {"else", WORD_ELSE, 0, 0},
    RESERVED_OPERATION("erf", ERF),
    RESERVED_OPERATION("erfc", ERFC),
    RESERVED_OPERATION("exp", EXP),
    RESERVED_OPERATION("expm1", EXPM1),
    RESERVED_OPERATION("floor", FLOOR),
    {"from", WORD_FROM, 0, 0},
    {"function", WORD_FUNCTION, 0, 0},
    RESERVED_OPERATION("heaviside", HEAVISIDE),
    {"if", WORD_IF, GRAPH_SELECT, 0},
    {"in", WORD_IN, 0, 0},
    {"inf", WORD_INF, 0, 0},
    {"init", WORD_INIT, 0, 0},
    {"interp", WORD_INTERP, GRAPH_INTERP, 0},
    RESERVED_OPERATION("lgamma", LGAMMA),
    {"lin", WORD_LIN, 0, 0},
    RESERVED_OPERATION("ln", LOG),
    RESERVED_OPERATION("log", LOG),
    RESERVED_OPERATION("log10", LOG10),
    RESERVED_OPERATION("log1p", LOG1P),
    RESERVED_OPERATION("log2", LOG2),
    {"max", WORD_FOLD, GRAPH_MAX, 0},
    {"min", WORD_FOLD, GRAPH_MIN, 0},
    {"model", WORD_MODEL, 0, 0},
    {"not", WORD_NOT, 0, 0},
    {"observe", WORD_OBSERVE, 0, 0},
    {"or", WORD_OR, 0, 0},
    {"par", WORD_PARAMETER, 0, 0},
    {"parameter", WORD_PARAMETER, 0, 0},
    {"pi", WORD_NUMBER, 0, 3.14159265358979323846},
    {"piecewise", WORD_PIECEWISE, GRAPH_SELECT, 0},
    RESERVED_OPERATION("pow", POWER),
    {"prior", WORD_PRIOR, 0, 0},
    {"scale", WORD_SCALE, 0, 0},
    {"sd", WORD_SD, 0, 0},
    RESERVED_OPERATION("sign", SIGN),
    RESERVED_OPERATION("sin", SIN),
    RESERVED_OPERATION("sinh", SINH),
    RESERVED_OPERATION("sqrt", SQRT),
    {"t", WORD_TIME, 0, 0},
    RESERVED_OPERATION("tan", TAN),
    RESERVED_OPERATION("tanh", TANH),
    {"then", WORD_THEN, 0, 0},
    {"time", WORD_TIME_STATEMENT, 0, 0},
    {"unit", WORD_UNIT, 0, 0},
};

const struct dialect dialect_model_text = {.name = "model text",
                                            .words = table,
                                            .n_word = sizeof table / sizeof *table,
                                            .has_statements = true,
                                            .or = BIND_OR,
                                            .not = BIND_NOT};

static const struct reserved *find_word(const struct dialect *dialect, const char *name,
                                        size_t length)
{
    size_t low = 0, high = dialect->n_word;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct reserved *word = &dialect->words[middle];
        int order = strncmp(word->name, name, length);
        if (order == 0)
            order = word->name[length] != '\0';
        if (order == 0)
            return word;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct reserved *token_reserved(const char *name, size_t length)
{
    return find_word(&dialect_model_text, name, length);
}

const struct reserved *token_reserved_at(size_t index)
{
    return index < dialect_model_text.n_word ? &table[index] : NULL;
}

bool token_is_function(const struct reserved *word) { return word && word->word >= WORD_PIECEWISE; }

void token_arity(const struct reserved *function, uint32_t *fewest, uint32_t *most)
{
    enum word word = function->word;
    *fewest = word == WORD_INTERP ? 5 : (uint32_t)graph_n_argument(function->op);
    *most = word == WORD_PIECEWISE || word == WORD_FOLD || word == WORD_INTERP ? UINT32_MAX
            : word == WORD_LOGARITHM ? 2 : *fewest;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_blank(char c) { return c == ' ' || c == '\t'; }

bool token_is_name_byte(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!first && is_digit(c));
}

void token_begin(struct lexer *lexer, const struct source *source, struct source *report)
{
    *lexer = (struct lexer){.dialect = &dialect_model_text,
                            .text = source->text, .n_byte = source->n_byte, .line = 1,
                            .report = report};
    if (source->n_byte >= 3 &&
        !memcmp(source->text, "\xef\xbb\xbf", 3)) /* a byte order mark, as some editors leave */
        lexer->at = 3;
}

static bool at_line_end(const struct lexer *lexer, uint32_t at)
{
    const char *p = lexer->text + at;
    return at >= lexer->n_byte || *p == '\n' || (*p == '\r' && p[1] == '\n') ||
           (*p == '\r' && at + 1 == lexer->n_byte);
}

/* Skips text of any characters, up to `quote` or the end of the line. Reports a fault once. */
static void pass_characters(struct lexer *lexer, char quote, const char *what)
{
    const char *end = lexer->text + lexer->n_byte;
    bool told = !lexer->report;
    while (!at_line_end(lexer, lexer->at) && (!quote || lexer->text[lexer->at] != quote)) {
        const char *p = lexer->text + lexer->at;
        size_t n = message_character(p, end);
        if (n == 0 && !told) {
            message_fault(lexer->report, (struct span){lexer->at, 1},
                          (unsigned char)*p < 0x80 ? "the control character 0x%02x is not allowed "
                                                     "in a %s"
                                                   : "the byte 0x%02x in this %s is not a "
                                                     "printable character in UTF-8: save the file "
                                                     "as UTF-8",
                          (unsigned char)*p, what);
            told = true;
        }
        lexer->at += n ? (uint32_t)n : 1;
    }
}

static bool begins_comment(const char *p) { return *p == '#' || (*p == '/' && p[1] == '/'); }

static const char *pass_blanks(const char *p)
{
    while (is_blank(*p))
        p++;
    return p;
}

/* Whether a line inside brackets begins like `NAME =`, `NAME' =` or `NAME(0) =`. It can only be
 * a new statement after a missing bracket; without this check the rest of the text would be one
 * fault. */
static bool begins_statement(const char *p)
{
    p = pass_blanks(p);
    if (!token_is_name_byte(*p, true))
        return false;
    const char *name = p;
    while (token_is_name_byte(*p, false))
        p++;
    const struct reserved *word = token_reserved(name, (size_t)(p - name));
    const char *next = pass_blanks(p);
    if (word && word->word == WORD_TIME_STATEMENT) /* or a value, as in `time else` */
        return (!strncmp(next, "from", 4) || !strncmp(next, "unit", 4)) &&
               !token_is_name_byte(next[4], false);
    if (word && next > p && token_is_name_byte(*next, true))
        return word->word >= WORD_MODEL && word->word <= WORD_OBSERVE;
    if (*next == '\'')
        return true;
    if (!strncmp(next, "(0)", 3))
        next = pass_blanks(next + 3);
    return *next == '=' && next[1] != '=';
}

/* Skips a backslash, blanks and a comment, and the line's end; false: something else follows. */
static bool continue_line(struct lexer *lexer)
{
    uint32_t before = lexer->at++;
    lexer->at = (uint32_t)(pass_blanks(lexer->text + lexer->at) - lexer->text);
    if (begins_comment(lexer->text + lexer->at))
        pass_characters(lexer, 0, "comment");
    if (!at_line_end(lexer, lexer->at)) {
        lexer->at = before;
        return false;
    }
    return true;
}

/* Skips blanks, comments and line ends that do not end a statement. */
static void pass_space(struct lexer *lexer, struct token *token)
{
    for (bool continued = false;;) {
        const char *p = lexer->text + lexer->at;
        if (lexer->at >= lexer->n_byte)
            return;
        if (at_line_end(lexer, lexer->at)) {
            uint32_t n = *p == '\r' && p[1] == '\n' ? 2 : 1;
            if (!continued && lexer->n_open == 0)
                return;
            token->unclosed = lexer->n_open > 0 && begins_statement(p + n);
            if (token->unclosed)
                return;
            lexer->at += n;
            lexer->line++;
            continued = false;
        } else if (is_blank(*p)) {
            lexer->at++;
        } else if (begins_comment(p)) {
            pass_characters(lexer, 0, "comment");
        } else if (*p == '\\' && continue_line(lexer)) {
            continued = true;
        } else {
            return;
        }
    }
}

/* digits [. digits] [e [sign] digits] or . digits ...; an e without digits is not part of it. */
static uint32_t number_length(const char *begin)
{
    const char *p = begin;
    while (is_digit(*p))
        p++;
    if (*p == '.')
        p++;
    while (is_digit(*p))
        p++;
    if (*p == 'e' || *p == 'E') {
        const char *exponent = p + 1 + (p[1] == '+' || p[1] == '-');
        if (is_digit(*exponent))
            for (p = exponent; is_digit(*p);)
                p++;
    }
    return (uint32_t)(p - begin);
}

static enum token_kind sign(const char *p, uint32_t *length)
{
    static const struct { char text[3]; enum token_kind kind;
    } signs[] = {
        {"**", TOKEN_POWER},       {"<=", TOKEN_LESS_EQUAL},  {">=", TOKEN_GREATER_EQUAL},
        {"==", TOKEN_EQUAL_EQUAL}, {"!=", TOKEN_NOT_EQUAL},   {"&&", TOKEN_AND},
        {"||", TOKEN_OR},          {":=", TOKEN_COLON_EQUAL}, {"+", TOKEN_PLUS},
        {"-", TOKEN_MINUS},        {"*", TOKEN_STAR},         {"/", TOKEN_SLASH},
        {"^", TOKEN_POWER},        {"<", TOKEN_LESS},         {">", TOKEN_GREATER},
        {"!", TOKEN_NOT},          {"=", TOKEN_EQUAL},        {"(", TOKEN_OPEN},
        {")", TOKEN_CLOSE},        {"[", TOKEN_OPEN_BRACKET}, {"]", TOKEN_CLOSE_BRACKET},
        {",", TOKEN_COMMA},        {"'", TOKEN_PRIME},        {":", TOKEN_COLON},
    };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        *length = (uint32_t)strlen(signs[i].text);
        if (!strncmp(p, signs[i].text, *length))
            return signs[i].kind;
    }
    *length = 1;
    return TOKEN_BAD;
}

static void read_string(struct lexer *lexer, struct token *token)
{
    lexer->at++;
    pass_characters(lexer, '"', "label");
    token->kind = lexer->text[lexer->at] == '"' ? TOKEN_STRING : TOKEN_UNCLOSED_STRING;
    token->length = lexer->at + (token->kind == TOKEN_STRING) - token->offset;
}

static void read_sign(struct lexer *lexer, struct token *token)
{
    const char *p = lexer->text + lexer->at;
    token->kind = sign(p, &token->length);
    if (token->kind == TOKEN_OPEN || token->kind == TOKEN_OPEN_BRACKET)
        lexer->n_open++;
    else if ((token->kind == TOKEN_CLOSE || token->kind == TOKEN_CLOSE_BRACKET) &&
             lexer->n_open > 0)
        lexer->n_open--;
    if (token->kind == TOKEN_BAD) {
        size_t n = message_character(p, lexer->text + lexer->n_byte);
        token->length = n ? (uint32_t)n : 1;
    }
}

void token_next(struct lexer *lexer, struct token *token)
{
    *token = (struct token){.kind = TOKEN_END};
    uint32_t before = lexer->at;
    bool is_text = lexer->dialect->has_statements;
    if (is_text)
        pass_space(lexer, token);
    else
        lexer->at += (uint32_t)strspn(lexer->text + before, " \t\r\n\f\v");
    const char *p = lexer->text + lexer->at;
    token->after_blank = lexer->at > before;
    token->offset = lexer->at;
    token->line = lexer->line;
    if (lexer->at >= lexer->n_byte)
        return;
    if (is_text && (*p == ';' || at_line_end(lexer, lexer->at))) {
        token->kind = TOKEN_BREAK;
        token->length = *p == '\r' ? 2 : 1;
        lexer->line += *p != ';';
        lexer->n_open = 0;
        if (token->offset + token->length > lexer->n_byte)
            token->length = 1;
    } else if (token_is_name_byte(*p, true)) {
        token->kind = TOKEN_NAME;
        while (token_is_name_byte(p[token->length], false))
            token->length++;
        token->reserved = find_word(lexer->dialect, p, token->length);
    } else if (is_digit(*p) || (*p == '.' && is_digit(p[1]))) {
        token->kind = TOKEN_NUMBER;
        token->length = number_length(p);
    } else if (is_text && *p == '"') {
        read_string(lexer, token);
    } else {
        read_sign(lexer, token);
    }
    lexer->at = token->offset + token->length;
}

struct span message_token_at(const struct source *source, uint32_t offset)
{
    struct token token;
    struct lexer lexer;
    token_begin(&lexer, source, NULL);
    lexer.at = offset;
    token_next(&lexer, &token);
    return token.length ? token.span : (struct span){offset, 1};
}

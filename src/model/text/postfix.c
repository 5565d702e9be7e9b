/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/postfix.h"

#include "base/sha256.h"
#include "base/words.h"
#include "model/text/parser.h"
#include "model/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct postfix_reader {
    const struct dialect *dialect;
    struct reading reading;
    struct parser parser;
    struct text_messages messages;
};

struct postfix_reader *postfix_reader_new(const struct dialect *dialect)
{
    struct postfix_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    reader->dialect = dialect;
    reader->parser.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!reader->parser.c_locale) {
        free(reader);
        return NULL;
    }
    return reader;
}

void postfix_reader_free(struct postfix_reader *reader)
{
    if (!reader)
        return;
    text_messages_fini(&reader->messages);
    reading_fini(&reader->reading);
    free(reader->parser.pending.item);
    freelocale(reader->parser.c_locale);
    free(reader);
}

const struct text_messages *postfix_messages(const struct postfix_reader *reader)
{
    return &reader->messages;
}

enum { SHORT = 1000 }; /* bytes */

/* Empties the lists, whose memory is kept. */
static void begin(struct postfix_reader *reader, const char *text)
{
    struct reading *reading = &reader->reading;
    struct parser *parser = &reader->parser;
    size_t length = strlen(text);
    text_messages_fini(&reader->messages);
    reader->messages = (struct text_messages){.message = NULL};
    for (uint32_t i = 0; reading->symbols.n > 0 && i < reading->n_slot; i++)
        reading->slot[i] = NONE;
    reading->symbols.n = reading->code.n = reading->formulas.n = 0;
    reading->too_large = length > TEXT_MAX_BYTES;
    reading->source = (struct source){.text = text, .messages = &reader->messages};
    if (reading->too_large)
        message_fault(&reading->source, (struct span){0, 0}, "this formula is too long");
    reading->source.n_byte = reading->too_large ? 0 : (uint32_t)length;
    if (length > SHORT) /* else its few names cannot make the table slow */
        sha256_of(text, reading->source.n_byte, reading->key);
    *parser = (struct parser){
        .reading = reading, .c_locale = parser->c_locale, .pending = parser->pending};
    parser->pending.n = 0;
    token_begin(&parser->lexer, &reading->source, NULL);
    parser->lexer.dialect = reader->dialect;
}

/* Functions are those of the language; others are called as if the text defined them. */
static void refuse_calls(struct reading *reading, const struct dialect *dialect)
{
    for (uint32_t i = 0; i < reading->code.n; i++) {
        const struct instruction *code = &reading->code.item[i];
        if (code->kind == CODE_CALL)
            message_fault(&reading->source, message_token_at(&reading->source, code->offset),
                          "`%.*s` is not a function of %s",
                          SPAN_ARGUMENTS(reading, reading->symbols.item[code->symbol].name),
                          dialect->name);
    }
}

/* False: out of memory. */
static bool copy(const struct reading *reading, struct arena *arena, struct postfix *postfix)
{
    uint32_t n = reading->code.n, n_name = reading->symbols.n;
    struct instruction *code = arena_alloc(arena, n * sizeof *code + n_name * sizeof(char *));
    double *stack = n > 1 ? arena_alloc(arena, n * sizeof *stack) : NULL;
    if (!code || (n > 1 && !stack))
        return false;
    const char **name = (const char **)(code + n);
    memcpy(code, reading->code.item, n * sizeof *code);
    for (uint32_t i = 0; i < n_name; i++) {
        struct span span = reading->symbols.item[i].name;
        name[i] = arena_strndup(arena, reading->source.text + span.offset, span.length);
        if (!name[i])
            return false;
    }
    *postfix = (struct postfix){n, code, name, stack};
    return true;
}

enum status postfix_read(struct postfix_reader *reader, struct arena *arena, const char *text,
                         struct postfix *postfix)
{
    struct reading *reading = &reader->reading;
    begin(reader, text);
    uint32_t which = reading->too_large ? NONE : parser_expression(&reader->parser, ROLE_VALUE);
    if (which != NONE && !reading->formulas.item[which].failed) {
        parser_end(&reader->parser, "an operator");
        refuse_calls(reading, reader->dialect);
    }
    if (reading->source.no_memory)
        return STATUS_NO_MEMORY;
    if (reader->messages.n_error)
        return STATUS_BAD_MODEL;
    return copy(reading, arena, postfix) ? STATUS_OK : STATUS_NO_MEMORY;
}

const char *postfix_name(const struct postfix *postfix)
{
    return postfix->n == 1 && postfix->code->kind == CODE_NAME
               ? postfix->name[postfix->code->symbol] : NULL;
}

bool postfix_is_number(const struct postfix *postfix)
{
    for (uint32_t i = 0; i < postfix->n; i++)
        if (postfix->code[i].kind == CODE_NAME)
            return false;
    return true;
}

void postfix_names(const struct postfix *postfix, void (*see)(void *context, const char *name),
                   void *context)
{
    for (uint32_t i = 0; i < postfix->n; i++)
        if (postfix->code[i].kind == CODE_NAME)
            see(context, postfix->name[postfix->code[i].symbol]);
}

/* Operands of an instruction that is no leaf. */
static uint32_t n_operand(const struct instruction *code)
{
    return code->kind == CODE_OPERATION ? (uint32_t)graph_n_argument(code->op) : code->n_argument;
}

static bool is_leaf(const struct instruction *code)
{
    return code->kind == CODE_NUMBER || code->kind == CODE_NAME;
}

/* Value, condition, ..., and a value for all other cases. */
static double choose(const double *operand, uint32_t n)
{
    for (uint32_t i = 0; i + 1 < n; i += 2)
        if (operand[i + 1] != 0)
            return operand[i];
    return operand[n - 1];
}

static double apply(const struct instruction *code, const double *operand)
{
    uint32_t n = n_operand(code);
    if (code->kind == CODE_PIECEWISE)
        return choose(operand, n);
    if (code->kind == CODE_OPERATION && code->swapped)
        return graph_apply(NULL, code->op, (const double[]){operand[1], operand[0]});
    if (code->kind == CODE_OPERATION)
        return graph_apply(NULL, code->op, operand);
    double value = operand[0];
    for (uint32_t i = 1; i < n; i++)
        value = graph_apply(NULL, code->op, (const double[]){value, operand[i]});
    return value;
}

double postfix_value(const struct postfix *postfix,
                     double (*value_of)(void *context, const char *name), void *context)
{
    double single, *stack = postfix->stack ? postfix->stack : &single;
    uint32_t n = 0;
    for (uint32_t i = 0; i < postfix->n; i++) {
        const struct instruction *code = &postfix->code[i];
        if (!is_leaf(code))
            n -= n_operand(code);
        stack[n] = code->kind == CODE_NUMBER ? code->value
                   : code->kind == CODE_NAME ? value_of(context, postfix->name[code->symbol])
                                             : apply(code, &stack[n]);
        n++;
    }
    return stack[0];
}

/* What is still to be written: a text, or the formula that ends with an instruction. */
struct item {
    const char *text; /* or NULL */
    uint32_t which;
    uint8_t least; /* enum binding: a formula that binds less tightly gets parentheses */
    bool is_plain; /* so does one that begins with a sign */
};

struct writing {
    const struct postfix *postfix;
    const struct postfix_writer *writer;
    const uint32_t *first; /* instruction of the formula that ends with an instruction */
    bool has_few;          /* parentheses: those that the grammar needs */
    struct item *stack;
    size_t n;
};

static void push_text(struct writing *writing, const char *text)
{
    if (*text)
        writing->stack[writing->n++] = (struct item){.text = text};
}

static void put_leaf(const struct writing *writing, const struct instruction *code)
{
    const struct postfix_writer *writer = writing->writer;
    char text[NUMBER_SIZE];
    if (code->kind == CODE_NAME)
        writer->put(writer->context,
                    writer->name_of(writer->context, writing->postfix->name[code->symbol]));
    else /* model text has no infinite numbers */
        writer->put(writer->context,
                    isinf(code->value) ? "(-log(0))" : number_text(text, code->value));
}

/* How model text writes an instruction. */
static struct form form_of(const struct instruction *code)
{
    static const struct form piecewise = {
        {"piecewise(", ", ", ")", NULL}, BIND_PRIMARY, {BIND_ANY, BIND_ANY}, false};
    struct form form =
        code->kind == CODE_PIECEWISE ? piecewise : graph_operations[code->op].text;
    if (code->op == GRAPH_NEGATE && code->kind == CODE_OPERATION)
        form.bind = form.least[0] = BIND_SIGN; /* so that it is read as it was */
    if (code->kind == CODE_OPERATION && code->swapped)
        form.piece[1] = code->op == GRAPH_LESS ? " > " : " >= ";
    return form;
}

/* The first piece, the operands with the second between them, and the last; in the reverse order,
 * as the stack gives back the last one first. */
static void push_parts(struct writing *writing, const struct item *item)
{
    const struct instruction *code = &writing->postfix->code[item->which];
    const struct form form = form_of(code);
    uint32_t n = n_operand(code), end = item->which;
    bool begins_with_sign = code->kind == CODE_OPERATION && code->op == GRAPH_NEGATE;
    bool is_enclosed = writing->has_few
                           ? form.bind < item->least || (item->is_plain && begins_with_sign)
                           : form.bind < BIND_PRIMARY;
    push_text(writing, is_enclosed ? ")" : "");
    push_text(writing, form.piece[n == 1 ? 1 : 2]);
    for (uint32_t i = n; i-- > 0;) {
        uint32_t which = end - 1;
        bool is_first_plain =
            begins_with_sign || (item->is_plain && !is_enclosed && !*form.piece[0]);
        writing->stack[writing->n++] =
            (struct item){.which = which,
                          .least = form.least[i > 0],
                          .is_plain = i == 0 ? is_first_plain : form.plain_right};
        push_text(writing, i == 0 ? form.piece[0] : form.piece[1]);
        end = writing->first[which];
    }
    push_text(writing, is_enclosed ? "(" : "");
}

/* Each instruction's `first`; returns how deeply operations are nested. `stack` and `depth` have
 * room for n. */
static uint32_t find_first(const struct postfix *postfix, uint32_t *first, uint32_t *stack,
                           uint32_t *depth)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < postfix->n; i++) {
        const struct instruction *code = &postfix->code[i];
        uint32_t n_below = is_leaf(code) ? 0 : n_operand(code);
        n -= n_below;
        first[i] = n_below ? first[stack[n]] : i;
        depth[i] = 0;
        for (uint32_t k = 0; k < n_below; k++)
            depth[i] = depth[stack[n + k]] >= depth[i] ? depth[stack[n + k]] + 1 : depth[i];
        stack[n++] = i;
    }
    return depth[postfix->n - 1];
}

bool postfix_write(const struct postfix *postfix, const struct postfix_writer *writer,
                   struct arena *arena)
{
    enum { MOST = 4 }; /* items that an instruction adds besides two for each of its operands */
    struct writing writing = {.postfix = postfix, .writer = writer};
    size_t n = postfix->n;
    uint32_t *first = arena_alloc(arena, 3 * n * sizeof *first);
    writing.stack = arena_alloc(arena, (2 + MOST) * n * sizeof *writing.stack);
    if (!first || !writing.stack)
        return false;
    /* a name's text may add as many levels */
    writing.has_few = find_first(postfix, first, first + n, first + 2 * n) > READING_MAX_DEPTH / 2;
    writing.first = first;
    writing.stack[writing.n++] = (struct item){.which = postfix->n - 1, .least = BIND_PRIMARY};
    while (writing.n > 0) {
        struct item item = writing.stack[--writing.n];
        if (item.text)
            writer->put(writer->context, item.text);
        else if (is_leaf(&postfix->code[item.which]))
            put_leaf(&writing, &postfix->code[item.which]);
        else
            push_parts(&writing, &item);
    }
    return true;
}

/* A fuzz target over model text: whatever the bytes, reading them and deriving what they define ends, with equations
 * that are sound or with messages that have a place. For libFuzzer (clang -fsanitize=fuzzer); compiled with
 * -DFUZZ_STANDALONE it is a plain program that reads the files given as arguments.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/generate.h"
#include "model/text/text.h"
#include "model/text/token.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_byte);

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "not true: %s\n", what);
    abort();
}

static void check_name(const char *name)
{
    require(name && *name, "a name is not empty");
    require(strlen(name) <= TOKEN_MAX_NAME, "a name is not too long");
    require(strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == strlen(name),
            "a name has nothing but letters, digits and _");
    require(*name < '0' || *name > '9', "a name begins with no digit");
}

static void check_label(const char *label)
{
    for (; label && *label; label++)
        require((unsigned char)*label >= 0x20 || *label == '\t', "a label has no control characters");
}

static void check_equations(const struct equations *equations)
{
    size_t n_node = graph_n_node(equations->graph);
    check_name(equations->name);
    check_label(equations->description);
    check_label(equations->time_unit);
    require(equations->n_parameter > 0 && equations->n_observable > 0, "there are parameters and observables");
    for (uint32_t i = 0; i < equations->n_state; i++) {
        check_name(equations->state[i].name);
        check_label(equations->state[i].unit);
        require(equations->state[i].initial < n_node && equations->state[i].rhs < n_node, "a state's nodes are nodes");
    }
    for (uint32_t i = 0; i < equations->n_parameter; i++) {
        const struct equation_parameter *parameter = &equations->parameter[i];
        check_name(parameter->name);
        check_label(parameter->unit);
        require(parameter->lower <= parameter->upper, "bounds hold a value");
        require(isfinite(parameter->start), "a start is a number"); /* maybe outside the bounds: a warning says so */
    }
    for (uint32_t i = 0; i < equations->n_covariate; i++)
        check_name(equations->covariate[i].name);
    for (uint32_t i = 0; i < equations->n_observable; i++) {
        check_name(equations->observable[i].name);
        require(equations->observable[i].value < n_node, "an observable's value is a node");
        require(equations->observable[i].noise < n_node || equations->observable[i].noise == NODE_NONE,
                "an observable's noise is a node or none");
    }
    for (uint32_t i = 0; i < equations->n_event; i++) {
        const struct equation_event *event = &equations->event[i];
        check_name(event->name);
        require(event->condition < n_node && event->when < n_node, "an event's condition is a node");
        for (uint32_t k = 0; k < event->n_assignment; k++)
            require(event->assignment[k].state < equations->n_state && event->assignment[k].value < n_node,
                    "an event changes states");
    }
    for (uint32_t i = 0; i < equations->n_dosing; i++)
        require(equations->dosing[i].state < equations->n_state && equations->dosing[i].value < n_node,
                "doses go into states");
    for (uint32_t i = 0; i < equations->n_input; i++)
        check_name(equations->input[i].name);
    for (uint32_t i = 0; i < equations->n_intermediate; i++) {
        check_name(equations->intermediate[i].name);
        require(equations->intermediate[i].value < n_node, "an intermediate's value is a node");
    }
}

static void check_messages(const struct text_messages *messages)
{
    require(messages->n_message <= TEXT_MAX_MESSAGES, "not too many messages are kept");
    for (size_t i = 0; i < messages->n_message; i++) {
        const struct text_message *message = &messages->message[i];
        require(message->text && *message->text, "a message says something");
        require(message->length > 0 && (message->line == 0) == (message->column == 0), "a message has a place or none");
        require(i == 0 || messages->message[i - 1].line <= message->line, "messages are in the order of lines");
    }
}

/* Labels and comments of the text end as harmless bytes in the C, and no comment of it holds or ends another. */
static void check_source(const struct equations *equations, const struct functions *functions)
{
    char *source = NULL;
    size_t n = 0;
    struct error error;
    FILE *out = open_memstream(&source, &n);
    require(out != NULL, "there is memory for the source");
    require(generate_c(equations, functions, out, &error) == STATUS_OK, "C can be made of good equations");
    fclose(out);
    for (size_t i = 0; i < n; i++)
        require((source[i] >= 0x20 && source[i] < 0x7f) || source[i] == '\n', "the source is printable ASCII");
    require(!strstr(source, "??"), "there are no trigraphs");
    require(!strstr(source, "\\\n"), "no line of it goes on in the next");
    for (const char *at = source; *at; at++) {
        if (*at == '"') {
            for (at++; *at && *at != '"' && *at != '\n'; at++)
                at += *at == '\\';
            require(*at == '"', "a string ends on its line");
        } else if (!strncmp(at, "/*", 2)) {
            const char *end = strstr(at + 2, "*/"), *next = strstr(at + 2, "/*");
            require(end && (!next || next > end), "a comment ends before the next");
            at = end + 1;
        }
    }
    free(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_byte)
{
    const char *text = n_byte ? (const char *)data : "";
    struct text_messages messages = {0};
    struct equations *equations;
    struct error error;
    enum status status = text_parse(text, n_byte, "fuzz.ode", &equations, &messages, &error);
    check_messages(&messages);
    require((status == STATUS_OK) == (equations != NULL), "there are equations where there is no error");
    require(status == STATUS_OK || status == STATUS_BAD_MODEL, "the text is good or bad");
    require((status == STATUS_OK) == (messages.n_error == 0), "a bad text has an error");
    char *printed = NULL;
    size_t n_printed = 0;
    FILE *out = open_memstream(&printed, &n_printed);
    require(out != NULL, "there is memory for the messages");
    text_messages_print(&messages, text, n_byte, "fuzz.ode", false, out);
    fclose(out);
    for (size_t i = 0; i < n_printed; i++)
        require((unsigned char)printed[i] >= 0x20 || printed[i] == '\n', "no control character is printed");
    free(printed);
    if (equations) {
        check_equations(equations);
        struct functions functions;
        status = functions_derive(equations, &functions, &error);
        require(status == STATUS_OK || status == STATUS_BAD_MODEL, "derivatives exist or are too large");
        if (status == STATUS_OK) {
            check_source(equations, &functions);
            functions_fini(&functions);
        }
    }
    equations_free(equations);
    text_messages_fini(&messages);
    return 0;
}

#ifdef FUZZ_STANDALONE
int main(int n_argument, char **argument)
{
    for (int i = 1; i < n_argument; i++) {
        FILE *file = fopen(argument[i], "rb");
        if (!file) {
            perror(argument[i]);
            return 1;
        }
        uint8_t *data = NULL;
        size_t n = 0, capacity = 0, got;
        do {
            capacity += 65536;
            data = realloc(data, capacity);
            require(data != NULL, "there is memory for the file");
            got = fread(data + n, 1, capacity - n, file);
            n += got;
        } while (got > 0);
        fclose(file);
        LLVMFuzzerTestOneInput(data, n);
        free(data);
    }
    return 0;
}
#endif

/* Writes the C sources of many models in one process, FILE.c beside each FILE: for tests that compile thousands of them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/generate.h"
#include "model/text/text.h"

#include <stdio.h>
#include <stdlib.h>

static char *read_all(const char *path, size_t *n_byte)
{
    FILE *file = fopen(path, "rb");
    char *text = malloc(1u << 20);
    *n_byte = file && text ? fread(text, 1, 1u << 20, file) : 0;
    if (file)
        fclose(file);
    return text;
}

static enum status write_source(const char *path, const char *text, size_t n_byte, struct text_messages *messages,
                                struct error *error)
{
    struct equations *equations = NULL;
    struct functions functions = {0};
    char name[4096];
    FILE *file = NULL;
    enum status status = text_parse(text, n_byte, path, &equations, messages, error);
    if (status != STATUS_OK || (status = functions_derive(equations, &functions, error)) != STATUS_OK)
        goto done;
    snprintf(name, sizeof name, "%s.c", path);
    file = fopen(name, "wb");
    if (!file) {
        status = error_set(error, STATUS_SYSTEM, "%s cannot be written", name);
        goto done;
    }
    status = generate_c(equations, &functions, file, error);
done:
    if (file && fclose(file) != 0)
        status = error_set(error, STATUS_SYSTEM, "%s cannot be written", name);
    functions_fini(&functions);
    equations_free(equations);
    return status;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        struct error error = {0};
        struct text_messages messages = {0};
        size_t n_byte;
        char *text = read_all(argv[i], &n_byte);
        if (!text || write_source(argv[i], text, n_byte, &messages, &error) != STATUS_OK) {
            failed = 1;
            fprintf(stderr, "%s: %s\n", argv[i], error.message);
            text_messages_print(&messages, text, n_byte, argv[i], false, stderr);
        }
        text_messages_fini(&messages);
        free(text);
    }
    return failed;
}

/* Telling model text from everything else by its name and its first words.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/kind.h"

#include <string.h>

static bool has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);
    return n >= m && strcmp(name + n - m, suffix) == 0;
}

/* The word at `text` and a blank behind it. */
static bool begins_with_word(const char *text, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - text) > n && memcmp(text, word, n) == 0 && (text[n] == ' ' || text[n] == '\t');
}

/* Whether some statement begins with the word: after the beginning, the end of a line or a semicolon, outside comments. */
static bool has_statement(const char *text, const char *end, const char *word)
{
    while (text < end) {
        while (text < end && (*text == ' ' || *text == '\t'))
            text++;
        if (begins_with_word(text, end, word))
            return true;
        while (text < end && *text != '\n' && *text != ';') {
            bool comment = *text == '#' || (*text == '/' && text + 1 < end && text[1] == '/');
            while (comment && text + 1 < end && text[1] != '\n')
                text++;
            text++;
        }
        text++;
    }
    return false;
}

bool kind_is_model_text(const void *bytes, size_t n_byte, const char *name)
{
    static const char *const other[] = {".c", ".h", ".cc", ".cpp", ".so", ".h5"};
    const char *text = bytes, *end = text + n_byte;
    if (n_byte >= 4 && memcmp(bytes, "\177ELF", 4) == 0)
        return false;
    if (has_suffix(name, ".ode"))
        return true;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (has_suffix(name, other[i]))
            return false;
    if (n_byte == 0 || memchr(bytes, 0, n_byte))
        return false;
    return has_statement(text, end, "observe") &&
           (has_statement(text, end, "parameter") || has_statement(text, end, "par"));
}

bool kind_text_is_named(const char *text, size_t n_byte) { return has_statement(text, text + n_byte, "model"); }

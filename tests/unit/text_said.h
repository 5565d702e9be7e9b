/* Texts with faults and what is said about them: a table row and how it is checked.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_UNIT_TEXT_SAID_H
#define TESTS_UNIT_TEXT_SAID_H

#include "text_case.h"

enum { MAX_EXPECTED = 6 };

/* What stands from line 2 on, and how each of the messages begins, all of them: line:column+length: kind: text. */
struct said {
    const char *text, *expected[MAX_EXPECTED];
};

/* Line 1: so that nothing is missing in what follows. */
static const char frame[] = "parameter k = 1; observe o = k\n";

static inline void check_said(const struct said *said, const char *before, const char *after)
{
    struct text_case self;
    char text[8000], line[2000];
    size_t n = 0;
    snprintf(text, sizeof text, "%s%s%s", before, said->text, after);
    text_read(&self, text);
    for (; n < MAX_EXPECTED && said->expected[n]; n++) {
        const char *got = text_say(&self, n, line, sizeof line);
        if (strncmp(got, said->expected[n], strlen(said->expected[n])))
            print_error("\"%s\" says\n  %s\nand should say\n  %s\n", said->text, got, said->expected[n]);
        assert_true(!strncmp(got, said->expected[n], strlen(said->expected[n])));
    }
    if (n != self.messages.n_message)
        print_error("\"%s\" says also\n  %s\n", said->text, text_say(&self, n, line, sizeof line));
    assert_int_equal(self.messages.n_message, n);
    assert_int_equal(self.messages.n_dropped, 0);
    size_t n_error = 0;
    for (size_t i = 0; i < n; i++)
        n_error += self.messages.message[i].is_error;
    assert_int_equal(self.messages.n_error, n_error);
    assert_int_equal(self.status, n_error ? STATUS_BAD_MODEL : STATUS_OK);
    assert_true((self.equations != NULL) == (n_error == 0));
    text_end(&self);
}

#endif

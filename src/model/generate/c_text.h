/* Text of the user's as C comments and string literals that it can never leave, and numbers as C constants.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GENERATE_C_TEXT_H
#define MODEL_GENERATE_C_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* For the inside of a comment, at most COMMENT_MAX characters: printable ASCII without backslash, and no comment's end or
 * beginning, no trigraph. */
enum { COMMENT_MAX = 160 };
void c_comment(FILE *out, const char *text, size_t length);

/* Where the lines of a text begin, so that each is found at once. */
struct c_lines {
    const char **start; /* n + 1 */
    size_t n;
};

/* *lines is zero on entry; `text` must live as long, or is NULL. False: out of memory. */
bool c_lines_init(struct c_lines *lines, const char *text);
void c_lines_fini(struct c_lines *lines);
/* Line `number`, from 1, without its end and without blanks around it; length 0 where there is none. */
const char *c_lines_get(const struct c_lines *lines, uint32_t number, size_t *length);

/* "text" with quotes, or 0. Whatever is not plain becomes an octal escape. */
void c_string(FILE *out, const char *text);

/* A constant of type double that reads back as `value`. Negative ones in brackets. */
void c_number(FILE *out, double value);

#endif

/* The JSON writer (RFC 8259).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/json.h"

#include "base/terminal.h"
#include "base/words.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

void json_begin(struct json *json, FILE *file) { *json = (struct json){.file = file}; }

static uint64_t bit(const struct json *json) { return UINT64_C(1) << json->depth; }

static void put_character(FILE *file, unsigned char c, bool in_page)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
    const char *found = strchr(plain, c);
    if (found)
        fprintf(file, "\\%c", letter[found - plain]);
    else if (c < 0x20 || c == 0x7f || (in_page && c == '<'))
        fprintf(file, "\\u%04x", c);
    else
        putc(c, file);
}

/* A character of two or three bytes that a terminal would obey; readers of JSON see the same
 * text. */
static void put_code(FILE *file, const unsigned char *s, int n)
{
    unsigned code = n == 2 ? (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu)
                           : (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
    fprintf(file, "\\u%04x", code);
}

static void put_string(FILE *file, const char *text, bool in_page)
{
    putc('"', file);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = utf8_length(s);
        if (n == 0)
            fputs("\xef\xbf\xbd", file);
        else if (n == 1)
            put_character(file, *s, in_page);
        else if (terminal_order(s, (size_t)n))
            put_code(file, s, n);
        else
            fwrite(s, 1, (size_t)n, file);
        s += n ? n : 1;
    }
    putc('"', file);
}

/* Writes what precedes a value: the comma after the previous item, the line break and
 * indentation, and the key. */
static void begin_item(struct json *json, const char *key)
{
    bool in_object = json->depth && !(json->is_array & bit(json));
    assert(in_object == (key != NULL) && (json->depth || !(json->has_item & 1)));
    if (json->has_item & bit(json))
        putc(',', json->file);
    json->has_item |= bit(json);
    if (json->depth && !json->in_page)
        fprintf(json->file, "\n%*s", 2 * json->depth, "");
    if (key) {
        put_string(json->file, key, json->in_page);
        fputs(json->in_page ? ":" : ": ", json->file);
    }
}

static void open_group(struct json *json, const char *key, bool is_array)
{
    begin_item(json, key);
    assert(json->depth < JSON_MAX_DEPTH);
    putc(is_array ? '[' : '{', json->file);
    json->depth++;
    json->has_item &= ~bit(json);
    json->is_array = is_array ? json->is_array | bit(json) : json->is_array & ~bit(json);
}

static void close_group(struct json *json, bool is_array)
{
    assert(json->depth > 0 && ((json->is_array & bit(json)) != 0) == is_array);
    bool has_item = json->has_item & bit(json);
    json->depth--;
    if (has_item && !json->in_page)
        fprintf(json->file, "\n%*s", 2 * json->depth, "");
    putc(is_array ? ']' : '}', json->file);
}

void json_object_begin(struct json *json, const char *key) { open_group(json, key, false); }
void json_object_end(struct json *json) { close_group(json, false); }
void json_array_begin(struct json *json, const char *key) { open_group(json, key, true); }
void json_array_end(struct json *json) { close_group(json, true); }

void json_end(struct json *json)
{
    while (json->depth)
        close_group(json, json->is_array & bit(json));
    putc('\n', json->file);
}

static void put_plain(struct json *json, const char *key, const char *text)
{
    begin_item(json, key);
    fputs(text, json->file);
}

void json_null(struct json *json, const char *key) { put_plain(json, key, "null"); }
void json_boolean(struct json *json, const char *key, bool value)
{
    put_plain(json, key, value ? "true" : "false");
}

void json_string(struct json *json, const char *key, const char *text)
{
    if (!text) {
        json_null(json, key);
        return;
    }
    begin_item(json, key);
    put_string(json->file, text, json->in_page);
}

void json_strings(struct json *json, const char *key, const char *const *texts, size_t n)
{
    json_array_begin(json, key);
    for (size_t i = 0; i < n; i++)
        json_string(json, NULL, texts[i]);
    json_array_end(json);
}

void json_number(struct json *json, const char *key, double value)
{
    char text[NUMBER_SIZE];
    put_plain(json, key, isfinite(value) ? number_text(text, value) : "null");
}

void json_integer(struct json *json, const char *key, int64_t value)
{
    begin_item(json, key);
    fprintf(json->file, "%" PRId64, value);
}

void json_unsigned(struct json *json, const char *key, uint64_t value)
{
    begin_item(json, key);
    fprintf(json->file, "%" PRIu64, value);
}

void json_counts(struct json *json, const char *key, const char *(*name)(int number), int first,
                 int n, const uint64_t *count)
{
    json_object_begin(json, key);
    for (int i = first; i < n; i++)
        if (name(i))
            json_unsigned(json, name(i), count[i]);
    json_object_end(json);
}

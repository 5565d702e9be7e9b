/* The JSON writer (RFC 8259).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/json.h"

#include "base/number.h"
#include "base/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

void json_begin(struct json *json, FILE *file, bool indented)
{
    *json = (struct json){.file = file, .indented = indented};
}

void json_end(struct json *json)
{
    assert(json->depth == 0 && !json->after_key);
    putc('\n', json->file);
}

static uint64_t bit(const struct json *json)
{
    return UINT64_C(1) << json->depth;
}

static void new_line(struct json *json)
{
    if (json->indented)
        fprintf(json->file, "\n%*s", 2 * json->depth, "");
}

/* What stands between the item before and this one. */
static void separate(struct json *json)
{
    if (json->has_item & bit(json))
        fputs(json->indented ? "," : ", ", json->file);
    json->has_item |= bit(json);
    if (json->depth)
        new_line(json);
}

static void before_value(struct json *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    assert(json->depth ? (json->is_array & bit(json)) != 0 : !(json->has_item & 1));
    separate(json);
}

static void open_group(struct json *json, bool is_array)
{
    before_value(json);
    assert(json->depth < JSON_MAX_DEPTH);
    putc(is_array ? '[' : '{', json->file);
    json->depth++;
    json->has_item &= ~bit(json);
    json->is_array = is_array ? json->is_array | bit(json) : json->is_array & ~bit(json);
}

static void close_group(struct json *json, bool is_array)
{
    assert(json->depth > 0 && !json->after_key && ((json->is_array & bit(json)) != 0) == is_array);
    bool has_item = json->has_item & bit(json);
    json->depth--;
    if (has_item)
        new_line(json);
    putc(is_array ? ']' : '}', json->file);
}

void json_object_begin(struct json *json) { open_group(json, false); }
void json_object_end(struct json *json) { close_group(json, false); }
void json_array_begin(struct json *json) { open_group(json, true); }
void json_array_end(struct json *json) { close_group(json, true); }

static void put_character(FILE *file, unsigned char c)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
    const char *found = strchr(plain, c);
    if (found)
        fprintf(file, "\\%c", letter[found - plain]);
    else if (c < 0x20 || c == 0x7f)
        fprintf(file, "\\u%04x", c);
    else
        putc(c, file);
}

static void put_string(FILE *file, const char *text)
{
    putc('"', file);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = utf8_length(s);
        if (n == 0)
            fputs("\xef\xbf\xbd", file);
        else if (n == 1)
            put_character(file, *s);
        else
            fwrite(s, 1, (size_t)n, file);
        s += n ? n : 1;
    }
    putc('"', file);
}

void json_key(struct json *json, const char *key)
{
    assert(json->depth && !(json->is_array & bit(json)) && !json->after_key);
    separate(json);
    put_string(json->file, key);
    fputs(": ", json->file);
    json->after_key = true;
}

void json_string(struct json *json, const char *text)
{
    before_value(json);
    if (text)
        put_string(json->file, text);
    else
        fputs("null", json->file);
}

void json_number(struct json *json, double value)
{
    char text[NUMBER_SIZE];
    before_value(json);
    if (!isfinite(value)) {
        fputs("null", json->file);
        return;
    }
    fputs(number_text(text, value), json->file);
}

void json_integer(struct json *json, int64_t value)
{
    before_value(json);
    fprintf(json->file, "%" PRId64, value);
}

void json_unsigned(struct json *json, uint64_t value)
{
    before_value(json);
    fprintf(json->file, "%" PRIu64, value);
}

void json_boolean(struct json *json, bool value)
{
    before_value(json);
    fputs(value ? "true" : "false", json->file);
}

void json_null(struct json *json)
{
    before_value(json);
    fputs("null", json->file);
}

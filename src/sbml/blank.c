/* Blanks what an SBML file says beside its mathematics before libSBML reads it: annotations, notes,
 * and elements and attributes of packages that are not required (layout and render in files of
 * Level 2, stray elements in them), whose faults are none of ours. Line breaks stay, so that lines
 * in messages are those of the file.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/read.h"

#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBSBML
struct span {
    const char *at;
    size_t n;
};

/* A namespace that a prefix means from some depth on. */
struct binding {
    struct span prefix, uri;
    unsigned depth;
};

enum { MAX_BINDING = 200, MAX_ATTRIBUTE = 200 };

struct attribute {
    struct span prefix, name, value;
    const char *begin, *end; /* with blanks before it */
};

struct tag {
    struct span prefix, name;
    bool is_end, is_empty;
    size_t n_attribute;
    struct attribute attribute[MAX_ATTRIBUTE];
};

struct blanking {
    const char *text, *at;
    char *copy; /* of the text, with the blanks */
    unsigned depth;
    size_t n_binding;
    struct binding binding[MAX_BINDING];
    size_t n_free;
    struct span free[MAX_ATTRIBUTE]; /* namespaces of packages that need not be understood */
    struct tag tag;
    bool any;
};

static bool is(struct span span, const char *text)
{
    return span.n == strlen(text) && !memcmp(span.at, text, span.n);
}
static bool is_same(struct span a, struct span b) { return a.n == b.n && !memcmp(a.at, b.at, a.n); }

static bool has(struct span span, const char *text)
{
    return memmem(span.at, span.n, text, strlen(text));
}

static void blank(struct blanking *it, const char *from, const char *to)
{
    it->any = it->any || from < to;
    for (; from < to; from++)
        if (*from != '\n' && *from != '\r')
            it->copy[from - it->text] = ' ';
}

/* "layout:id" as prefix and name. */
static struct span split_name(const char *at, size_t n, struct span *prefix)
{
    const char *colon = memchr(at, ':', n);
    *prefix = (struct span){at, colon ? (size_t)(colon - at) : 0};
    return colon ? (struct span){colon + 1, n - prefix->n - 1} : (struct span){at, n};
}

/* Reads the tag that begins at `at`; false: it is malformed. */
static bool read_tag(struct blanking *it)
{
    static const char blanks[] = " \t\r\n";
    struct tag *tag = &it->tag;
    const char *p = it->at + 1;
    tag->n_attribute = 0;
    tag->is_end = *p == '/';
    p += tag->is_end;
    size_t n = strcspn(p, " \t\r\n/>");
    tag->name = split_name(p, n, &tag->prefix);
    for (p += n;;) {
        const char *begin = p;
        p += strspn(p, blanks);
        tag->is_empty = *p == '/';
        if (*p == '>' || (*p == '/' && p[1] == '>')) {
            it->at = p + 1 + tag->is_empty;
            return n > 0;
        }
        if (tag->n_attribute == MAX_ATTRIBUTE)
            return false;
        struct attribute *attribute = &tag->attribute[tag->n_attribute++];
        size_t length = strcspn(p, " \t\r\n=/>");
        attribute->name = split_name(p, length, &attribute->prefix);
        p += length;
        p += strspn(p, blanks);
        p += *p == '=' ? 1 + strspn(p + 1, blanks) : 0;
        const char *end = *p == '"' || *p == '\'' ? strchr(p + 1, *p) : NULL;
        if (!end || length == 0)
            return false;
        attribute->value = (struct span){p + 1, (size_t)(end - p - 1)};
        attribute->begin = begin;
        attribute->end = p = end + 1;
    }
}

static bool is_declaration(const struct attribute *attribute)
{
    return is(attribute->prefix, "xmlns") || (attribute->prefix.n == 0 && is(attribute->name, "xmln"
                                                                                              "s"));
}

/* The namespace of a prefix; "" without one: of no prefix, the default. */
static struct span uri_of(const struct blanking *it, struct span prefix)
{
    for (size_t i = it->n_binding; i-- > 0;)
        if (is_same(it->binding[i].prefix, prefix))
            return it->binding[i].uri;
    return (struct span){"", 0};
}

static bool bind(struct blanking *it)
{
    for (size_t i = 0; i < it->tag.n_attribute; i++) {
        const struct attribute *attribute = &it->tag.attribute[i];
        if (!is_declaration(attribute))
            continue;
        if (it->n_binding == MAX_BINDING)
            return false;
        it->binding[it->n_binding++] =
            (struct binding){attribute->prefix.n ? attribute->name : (struct span){"", 0},
                             attribute->value, it->depth};
    }
    return true;
}

/* Whether the namespace is that of a package which does not count. Layout and render, which Level 2
 * has in annotations, flux balances and groups say nothing about how a model runs in time. */
static bool is_ignored(const struct blanking *it, struct span uri)
{
    bool is_package =
        has(uri, "sbml.org/sbml/level3/") && !has(uri, "/core") && !has(uri, "/l3v2extendedmath/");
    bool is_free = has(uri, "/layout/") || has(uri, "/render/") || has(uri, "/fbc/") ||
                   has(uri, "/groups/");
    for (size_t i = 0; i < it->n_free && !is_free; i++)
        is_free = is_same(uri, it->free[i]);
    return (is_package && is_free) || has(uri, "eml.org/bcb/sbml/");
}

/* Whether the text has an element of the package. Ports do not count: they are places for other
 * models to connect to. */
bool blank_has_element(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    for (const char *at = text; (at = strchr(at, '<')); at++)
        if (!strncmp(at + 1, prefix, n) && at[1 + n] == ':' && strncmp(at + 2 + n, "port", 4) &&
            strncmp(at + 2 + n, "listOfPorts", 11))
            return true;
    return false;
}

/* The root says which packages need not be understood. Level 2 knows none: there only their
 * elements count. */
static void find_free(struct blanking *it)
{
    bool is_3 = has(uri_of(it, it->tag.prefix), "/level3/");
    for (size_t i = 0; i < it->tag.n_attribute; i++) {
        const struct attribute *attribute = &it->tag.attribute[i];
        bool is_required = is(attribute->name, "required") && attribute->prefix.n;
        bool is_free = is_required && (is(attribute->value, "false") || is(attribute->value, "0"));
        char prefix[100] = "";
        if (!is_3 && is(attribute->prefix, "xmlns") && attribute->name.n < sizeof prefix) {
            memcpy(prefix, attribute->name.at, attribute->name.n);
            if (!blank_has_element(it->text, prefix))
                it->free[it->n_free++] = attribute->value;
        } else if (is_free) {
            it->free[it->n_free++] = uri_of(it, attribute->prefix);
        }
    }
}

static void blank_attributes(struct blanking *it)
{
    for (size_t i = 0; i < it->tag.n_attribute; i++) {
        const struct attribute *attribute = &it->tag.attribute[i];
        bool is_free = is_declaration(attribute)
                           ? attribute->prefix.n && is_ignored(it, attribute->value)
                       : attribute->prefix.n ? is_ignored(it, uri_of(it, attribute->prefix))
                                             : false;
        if (is_free)
            blank(it, attribute->begin, attribute->end);
    }
}

/* Skips what is no tag; false: it is malformed, or needs more than this reader knows. */
static bool skip_others(struct blanking *it, bool *is_tag)
{
    static const struct { const char *begin, *end; } others[] = {
        {"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}};
    *is_tag = true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strncmp(it->at, others[i].begin, strlen(others[i].begin))) {
            const char *end = strstr(it->at, others[i].end);
            *is_tag = false;
            if (!end)
                return false;
            it->at = end + strlen(others[i].end);
            return true;
        }
    return it->at[1] != '!';
}

static bool run(struct blanking *it)
{
    const char *hidden = NULL; /* where an element that is ignored begins */
    unsigned hidden_depth = 0;
    while ((it->at = strchr(it->at, '<'))) {
        const char *begin = it->at;
        bool is_tag;
        if (!skip_others(it, &is_tag))
            return false;
        if (!is_tag)
            continue;
        if (!read_tag(it))
            return false;
        if (it->tag.is_end) {
            if (it->depth-- == 0)
                return false;
        } else {
            if (!bind(it))
                return false;
            if (it->depth++ == 0)
                find_free(it);
            struct span uri = uri_of(it, it->tag.prefix);
            bool is_free = is_ignored(it, uri),
                 is_core = has(uri, "sbml.org/sbml/level") && !is_free;
            bool is_remark = is(it->tag.name, "annotation") || is(it->tag.name, "notes");
            if (!hidden && (is_free || (is_core && is_remark))) {
                hidden = begin;
                hidden_depth = it->depth;
            } else if (!hidden) {
                blank_attributes(it);
            }
        }
        if (hidden && (it->tag.is_end || it->tag.is_empty) &&
            it->depth + it->tag.is_end == hidden_depth) {
            blank(it, hidden, it->at);
            hidden = NULL;
        }
        it->depth -= it->tag.is_empty;
        while (it->n_binding && it->binding[it->n_binding - 1].depth >= it->depth)
            it->n_binding--;
    }
    return it->depth == 0;
}

char *blank_besides(const char *text)
{
    struct blanking *it = calloc(1, sizeof *it);
    char *copy = it ? strdup(text) : NULL;
    bool done = false;
    if (copy) {
        it->text = it->at = text;
        it->copy = copy;
        done = run(it) && it->any;
    }
    free(it);
    if (!done)
        free(copy);
    return done ? copy : NULL;
}
#endif

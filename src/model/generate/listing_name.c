/* The names and numbers of a listing: the model's own or their LaTeX form (k1 has a subscript,
 * alpha is a Greek letter), and names for temporaries that no model name equals.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/listing_internal.h"

#include "base/words.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const greek[] = {"alpha",   "beta",  "gamma",  "delta", "epsilon", "zeta",
                                    "eta",     "theta", "iota",   "kappa", "lambda",  "mu",
                                    "nu",      "xi",    "pi",     "rho",   "sigma",   "tau",
                                    "upsilon", "phi",   "chi",    "psi",   "omega",   "Gamma",
                                    "Delta",   "Theta", "Lambda", "Xi",    "Pi",      "Sigma",
                                    "Upsilon", "Phi",   "Psi",    "Omega", NULL};
/* Endings after K, k or V, as in Vmax, that are subscripts even without an underscore. */
static const char *const suffixes[] = {"max", "min", "on",  "off", "cat", "in",
                                       "out", "deg", "syn", "tot", "obs", NULL};

static bool is_among(const char *const *words, const char *word, size_t n)
{
    for (; *words; words++)
        if (strlen(*words) == n && !memcmp(*words, word, n))
            return true;
    return false;
}

/* Greek as Greek, a word upright; digits, and a lone letter that is no subscript, as they are. */
static void put_letters(const char *word, size_t n, bool is_subscript, FILE *out)
{
    bool plain = is_subscript ? strspn(word, "0123456789") >= n : n == 1;
    fprintf(out,
            is_among(greek, word, n) ? "\\%.*s"
            : plain                  ? "%.*s"
                                     : "\\mathrm{%.*s}",
            (int)n, word);
}

static size_t count_letters(const char *word)
{
    size_t n = 0;
    while (isalpha((unsigned char)word[n]))
        n++;
    return n;
}

/* Letters, then subscripts: digits or more that follow directly, and parts separated by
 * underscores. */
static void put_latex_name(const char *name, FILE *out)
{
    size_t n_letter = count_letters(name), n_base = n_letter;
    bool is_rate = n_letter > 1 && strchr("KkV", name[0]) && !is_among(greek, name, n_letter) &&
                   ((n_letter == 2 && islower((unsigned char)name[1])) ||
                    is_among(suffixes, name + 1, n_letter - 1));
    if (is_rate)
        n_base = 1;
    put_letters(name, n_base, false, out);
    bool begun = false;
    for (const char *rest = name + n_base; *rest;) {
        size_t n = strcspn(rest, "_");
        if (is_rate && rest == name + 1 && n > n_letter - 1)
            n = n_letter - 1;
        if (n > 0) {
            fputs(begun ? "," : "_{", out);
            put_letters(rest, n, true, out);
            begun = true;
        }
        rest += n;
        if (*rest == '_')
            rest++;
    }
    if (begun)
        fputc('}', out);
}

/* Unchanged, in typewriter letters. */
static void put_plain_name(const char *name, FILE *out)
{
    fputs("\\mathtt{", out);
    for (const char *c = name; *c; c++)
        fprintf(out, *c == '_' ? "\\_" : "%c", *c);
    fputc('}', out);
}

static char *made_name(const char *name, bool plain)
{
    char *text = NULL;
    size_t n = 0, length = strlen(name);
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return NULL;
    /* Subscripts would lose an underscore at an end, or two in a row. */
    if (plain || count_letters(name) == 0 || name[length - 1] == '_' || strstr(name, "__"))
        put_plain_name(name, out);
    else
        put_latex_name(name, out);
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

struct pair {
    const char *plain, *shown;
    size_t i;
};

static int compare_shown(const void *a, const void *b)
{
    const struct pair *left = a, *right = b;
    int order = strcmp(left->shown, right->shown);
    return order ? order : strcmp(left->plain, right->plain);
}

/* Two names that look the same in LaTeX, such as k1 and k_1, are shown as written. */
static bool part_equals(struct listing *listing, const char *const *plain)
{
    size_t n = listing->n_name;
    struct pair *pair = malloc((n + 1) * sizeof *pair);
    bool *doubtful = calloc(n + 1, sizeof *doubtful);
    bool done = pair && doubtful;
    for (size_t i = 0; done && i < n; i++)
        pair[i] = (struct pair){plain[i], listing->name[i], i};
    if (done)
        qsort(pair, n, sizeof *pair, compare_shown);
    for (size_t begin = 0, end; done && begin < n; begin = end) {
        bool differ = false;
        for (end = begin + 1; end < n && !strcmp(pair[begin].shown, pair[end].shown); end++)
            differ = differ || strcmp(pair[begin].plain, pair[end].plain);
        for (size_t i = begin; i < end; i++)
            doubtful[pair[i].i] = differ;
    }
    for (size_t i = 0; done && i < n; i++) {
        if (!doubtful[i])
            continue;
        free(listing->name[i]);
        listing->name[i] = made_name(plain[i], true);
        done = listing->name[i] != NULL;
    }
    free(doubtful);
    free(pair);
    return done;
}

/* Chooses a word for temporaries that, followed by a number, is not a name of the model. */
static void choose_letter(struct listing *listing, const char *const *plain)
{
    static const char *const words[] = {"w", "v", "u", "tmp", "shared", "temporary_w"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        size_t n = strlen(words[k]);
        bool taken = false;
        for (size_t i = 0; i < listing->n_name && !taken; i++)
            taken = !strncmp(plain[i], words[k], n) &&
                    isdigit((unsigned char)plain[i][n + (plain[i][n] == '_')]);
        snprintf(listing->temporary_letter, sizeof listing->temporary_letter, "%s", words[k]);
        if (!taken)
            return;
    }
}

static const char *plain_name(const struct equations *equations, int kind, size_t i)
{
    switch (kind) {
    case NAME_STATE: return equations->state[i].name;
    case NAME_PARAMETER: return equations->parameter[i].name;
    case NAME_COVARIATE: return equations->covariate[i].name;
    case NAME_OBSERVABLE: return equations->observable[i].name;
    case NAME_INPUT: return equations->input[i].name;
    case NAME_EVENT: return equations->event[i].name;
    default: return equations->intermediate[i].name;
    }
}

bool listing_make_names(struct listing *listing)
{
    const struct equations *equations = listing->equations;
    const size_t count[N_NAME_KIND] = {equations->n_state,        equations->n_parameter,
                                       equations->n_covariate,    equations->n_observable,
                                       equations->n_intermediate, equations->n_input,
                                       equations->n_event};
    size_t n = 0, at = 0;
    for (int kind = 0; kind < N_NAME_KIND; kind++)
        n += count[kind];
    listing->name = calloc(n + 1, sizeof *listing->name);
    const char **plain = malloc((n + 1) * sizeof *plain);
    bool done = listing->name && plain;
    for (int kind = 0; done && kind < N_NAME_KIND; kind++) {
        listing->first[kind] = at;
        for (size_t i = 0; done && i < count[kind]; i++, at++) {
            plain[at] = plain_name(equations, kind, i);
            listing->name[at] = listing->is_latex ? made_name(plain[at], false) : strdup(plain[at]);
            listing->n_name = at + 1;
            done = listing->name[at] != NULL;
        }
    }
    if (done) {
        choose_letter(listing, plain);
        done = !listing->is_latex || part_equals(listing, plain);
    }
    free(plain);
    return done;
}

void listing_print_temporary(const struct listing *listing, size_t i, FILE *out)
{
    if (!listing->is_latex)
        fprintf(out, "%s%zu", listing->temporary_letter, i + 1);
    else if (strlen(listing->temporary_letter) == 1)
        fprintf(out, "%s_{%zu}", listing->temporary_letter, i + 1);
    else
        fprintf(out, "\\mathrm{temporary}_{%zu}", i + 1);
}

/* The fewest digits that read back to the same bits, but large round numbers as powers of ten:
 * 3e7, 1e-7. */
void listing_digits(double value, char *text)
{
    number_text(text, value);
    char *exponent = strchr(text, 'e');
    if (exponent) {
        snprintf(exponent + 1, 8, "%ld", strtol(exponent + 1, NULL, 10));
        return;
    }
    char *end = text + strlen(text);
    size_t n_zero = 0;
    while (end > text && end[-1] == '0') {
        end--;
        n_zero++;
    }
    if (n_zero > 4 && !strpbrk(text, ".e"))
        snprintf(end, NUMBER_SIZE - (size_t)(end - text), "e%zu", n_zero);
}

enum binding text_number(double value, char text[80])
{
    if (!isfinite(value)) { /* the language has no word for them */
        snprintf(text, 80, "%s", isnan(value) ? "sqrt(-1)" : value > 0 ? "1/0" : "-1/0");
        return BIND_PRODUCT;
    }
    if (value == M_PI)
        snprintf(text, 80, "pi");
    else
        listing_digits(value, text);
    return value < 0 ? BIND_SIGN : BIND_PRIMARY;
}

enum binding latex_number(double value, char text[80])
{
    char plain[NUMBER_SIZE];
    if (!isfinite(value)) {
        snprintf(text, 80, "%s",
                 isnan(value) ? "\\mathrm{NaN}"
                 : value > 0  ? "\\infty"
                              : "-\\infty");
        return value < 0 ? BIND_SIGN : BIND_PRIMARY;
    }
    if (value == M_PI) {
        snprintf(text, 80, "\\pi");
        return BIND_PRIMARY;
    }
    listing_digits(value, plain);
    char *exponent = strchr(plain, 'e');
    enum binding bind = BIND_PRIMARY;
    if (!exponent)
        snprintf(text, 80, "%s", plain);
    else {
        *exponent++ = '\0';
        bool is_one = !strcmp(plain, "1"), is_minus_one = !strcmp(plain, "-1");
        snprintf(text, 80, "%s%s10^{%ld}", is_one ? "" : is_minus_one ? "-" : plain,
                 is_one || is_minus_one ? "" : " \\cdot ", strtol(exponent, NULL, 10));
        bind = is_one ? BIND_POWER : BIND_PRODUCT;
    }
    return value < 0 ? BIND_SIGN : bind;
}

size_t latex_width(const char *text)
{
    size_t width = 0;
    for (const char *c = text; *c; c++) {
        if (*c == '\\' && isalpha((unsigned char)c[1])) {
            while (isalpha((unsigned char)c[1]))
                c++;
            width++;
        } else if (!strchr("{}^_\\ ", *c)) {
            width++;
        }
    }
    return width;
}

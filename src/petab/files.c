/* Reads the YAML file with libyaml, whose documents are tables of nodes: aliases are not
 * expanded, and depth costs no stack.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "petab/files.h"

#include "base/output.h"
#include "base/words.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#ifdef HAVE_YAML
#include <yaml.h>

enum { MAX_YAML = 1 << 24 /* bytes */, MAX_DEPTH = 200 };

struct document {
    struct petab_reader *reader;
    struct petab_files *files;
    yaml_document_t yaml;
    const char *model;
    char *folder; /* resolved */
    bool outside;
};

static struct petab_place place_of(const struct document *document, const yaml_node_t *node)
{
    return (struct petab_place){document->files->yaml, node ? node->start_mark.line + 1 : 0, NULL};
}

static const char *text_of(const yaml_node_t *node)
{
    return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

static bool is_null(const yaml_node_t *node)
{
    const char *text = text_of(node);
    return !node || (text && (!*text || !strcmp(text, "null") || !strcmp(text, "~")));
}

/* The value of a key; NULL: there is none. */
static yaml_node_t *value_of(struct document *document, const yaml_node_t *map, const char *key)
{
    if (!map || map->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top;
         pair++) {
        const char *name = text_of(yaml_document_get_node(&document->yaml, pair->key));
        if (name && !strcmp(name, key))
            return yaml_document_get_node(&document->yaml, pair->value);
    }
    return NULL;
}

/* Reports keys that are not known or are there twice. */
static void check_keys(struct document *document, const yaml_node_t *map, const char *const *known,
                       size_t n)
{
    unsigned seen = 0;
    char hint[NEAREST_HINT];
    for (yaml_node_pair_t *pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top;
         pair++) {
        const yaml_node_t *key = yaml_document_get_node(&document->yaml, pair->key);
        const char *name = text_of(key);
        size_t i = 0;
        while (i < n && name && strcmp(name, known[i]))
            i++;
        if (!name || i == n)
            petab_note(document->reader, "%s:%zu: '%.300s' is not used%s", document->files->yaml,
                       key->start_mark.line + 1, name ? name : "a key",
                       name && strlen(name) < 64
                           ? nearest_hint(hint, "; did you mean '", "'?", name, known, n)
                           : "");
        else if (seen & 1u << i)
            petab_fault(document->reader, place_of(document, key), "'%s' is there twice", name);
        else
            seen |= 1u << i;
    }
}

static bool is_inside(const char *folder, const char *path)
{
    size_t n = strlen(folder);
    return !strncmp(folder, path, n) && (path[n] == '/' || folder[n - 1] == '/');
}

static void add_file(struct document *document, enum petab_kind kind, const yaml_node_t *node)
{
    struct petab_reader *reader = document->reader;
    struct petab_list *list = &document->files->list[kind];
    const char *name = text_of(node), *slash = strrchr(document->files->yaml, '/');
    struct petab_place place = place_of(document, node);
    if (!name || !*name) {
        petab_fault(reader, place, "the name of a file is expected here");
        return;
    }
    bool absolute = *name == '/';
    const char *path =
        petab_format(reader, "%.*s%s",
                     absolute || !slash ? 0 : (int)(slash + 1 - document->files->yaml),
                     document->files->yaml, name);
    char *resolved = realpath(path, NULL);
    struct stat about;
    if (strstr(name, "://"))
        petab_fault(reader, place, "'%.200s' is not a file here: download it", name);
    else if (!resolved)
        petab_fault(reader, place, "cannot open '%.200s': %s", name, strerror(errno));
    else if (!document->outside && !is_inside(document->folder, resolved))
        petab_fault(reader, place,
                    "'%.200s' leaves the folder of the problem: move it there, or give --outside",
                    name);
    else if (stat(resolved, &about) || !S_ISREG(about.st_mode))
        petab_fault(reader, place, "'%.200s' is no file", name);
    free(resolved);
    petab_grow(reader, &list->path, list->n, &list->room, sizeof *list->path);
    list->path[list->n++] = path;
}

/* One file or a list of them. */
static void add_files(struct document *document, enum petab_kind kind, const yaml_node_t *node)
{
    if (is_null(node))
        return;
    if (node->type != YAML_SEQUENCE_NODE) {
        add_file(document, kind, node);
        return;
    }
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++)
        add_file(document, kind, yaml_document_get_node(&document->yaml, *item));
}

static const struct {
    const char *key;
    enum petab_kind kind;
} lists[] = {{"parameter_file", PETAB_PARAMETERS},    {"parameter_files", PETAB_PARAMETERS},
             {"condition_files", PETAB_CONDITIONS},   {"experiment_files", PETAB_EXPERIMENTS},
             {"observable_files", PETAB_OBSERVABLES}, {"measurement_files", PETAB_MEASUREMENTS},
             {"mapping_files", PETAB_MAPPING},        {"mapping_file", PETAB_MAPPING}};

static void add_lists(struct document *document, const yaml_node_t *map)
{
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        add_files(document, lists[i].kind, value_of(document, map, lists[i].key));
}

/* The models: a list of files in version 1, a map of ids to language and location in version 2. */
static void add_models(struct document *document, const yaml_node_t *map)
{
    const yaml_node_t *models = value_of(document, map, "model_files"),
                      *files = value_of(document, map, "sbml_files");
    if (document->model)
        return;
    if (files)
        add_files(document, PETAB_MODEL, files);
    if (models && models->type != YAML_MAPPING_NODE)
        petab_fault(document->reader, place_of(document, models),
                    "ids of models with language and location are expected here");
    if (!models || models->type != YAML_MAPPING_NODE)
        return;
    for (yaml_node_pair_t *pair = models->data.mapping.pairs.start;
         pair < models->data.mapping.pairs.top; pair++) {
        const yaml_node_t *model = yaml_document_get_node(&document->yaml, pair->value);
        const yaml_node_t *language = value_of(document, model, "language");
        if (!text_of(language) || strcasecmp(text_of(language), "sbml"))
            petab_fault(document->reader, place_of(document, model),
                        "the language of the model is '%.40s'; only SBML is read",
                        text_of(language) ? text_of(language) : "");
        add_file(document, PETAB_MODEL, value_of(document, model, "location"));
        const char *id = text_of(yaml_document_get_node(&document->yaml, pair->key));
        document->files->model_id = id ? petab_strdup(document->reader, id) : NULL;
    }
}

static void read_version(struct document *document, const yaml_node_t *root)
{
    const yaml_node_t *node = value_of(document, root, "format_version");
    const char *text = text_of(node);
    if (text && *text == 'v')
        text++;
    document->files->version = text && *text == '2' ? 2 : 1;
    if (!text || (*text != '1' && *text != '2') || (text[1] && strncmp(text + 1, ".0", 2)))
        petab_fault(document->reader, place_of(document, node ? node : root),
                    "the format_version must be 1 or 2.0.0%s%.20s", text ? ", not " : "",
                    text ? text : "");
}

static void take_document(struct document *document)
{
    static const char *const known_1[] = {"format_version", "parameter_file", "problems",
                                          "extensions"};
    static const char *const known_2[] =
        {"format_version",    "parameter_files",  "model_files",
         "measurement_files", "observable_files", "condition_files",
         "experiment_files",  "mapping_files",    "id",
         "extensions"};
    static const char *const known_problem[] = {"sbml_files",        "model_files",
                                                "measurement_files", "condition_files",
                                                "observable_files",  "visualization_files",
                                                "mapping_file",      "mapping_files"};
    struct petab_reader *reader = document->reader;
    yaml_node_t *root = yaml_document_get_root_node(&document->yaml), *problem = root;
    if (!root || root->type != YAML_MAPPING_NODE)
        petab_leave(reader, STATUS_BAD_PROBLEM,
                    "%.300s: this is not a PEtab problem: a list of names and values is expected",
                    document->files->yaml);
    read_version(document, root);
    petab_check(reader); /* other versions have other keys */
    bool is_2 = document->files->version == 2;
    check_keys(document, root, is_2 ? known_2 : known_1, is_2 ? 10 : 4);
    const yaml_node_t *extensions = value_of(document, root, "extensions");
    if (extensions && extensions->type == YAML_MAPPING_NODE)
        for (yaml_node_pair_t *pair = extensions->data.mapping.pairs.start;
             pair < extensions->data.mapping.pairs.top; pair++) {
            const yaml_node_t *how = yaml_document_get_node(&document->yaml, pair->value);
            const char *required = text_of(value_of(document, how, "required"));
            const yaml_node_t *name = yaml_document_get_node(&document->yaml, pair->key);
            if (!required || strcasecmp(required, "false"))
                petab_fault(reader, place_of(document, name),
                            "the extension '%.300s' is required but not known",
                            text_of(name) ? text_of(name) : "");
        }
    add_lists(document, root);
    if (!is_2) {
        yaml_node_t *problems = value_of(document, root, "problems");
        size_t n =
            problems && problems->type == YAML_SEQUENCE_NODE
                ? (size_t)(problems->data.sequence.items.top - problems->data.sequence.items.start)
                : 0;
        problem =
            n == 1 ? yaml_document_get_node(&document->yaml, *problems->data.sequence.items.start)
                   : NULL;
        if (!problem || problem->type != YAML_MAPPING_NODE) {
            petab_fault(reader, place_of(document, root),
                        "%zu problems are listed; one is expected", n);
            return;
        }
        check_keys(document, problem, known_problem, sizeof known_problem / sizeof *known_problem);
        add_lists(document, problem);
    }
    add_models(document, problem);
}

static void check_lists(struct document *document)
{
    static const struct { enum petab_kind kind; const char *name;
    } tables[] = {{PETAB_PARAMETERS, "parameter"},
                  {PETAB_OBSERVABLES, "observable"},
                  {PETAB_MEASUREMENTS, "measurement"}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (document->files->list[tables[i].kind].n == 0)
            petab_fault(document->reader, place_of(document, NULL),
                        "no %s table is named; at least one is needed", tables[i].name);
    size_t n_model = document->files->list[PETAB_MODEL].n;
    if (n_model == 0)
        petab_fault(document->reader, place_of(document, NULL),
                    "no model is named; one is expected");
    else if (n_model > 1)
        petab_fault(document->reader, place_of(document, NULL),
                    "%zu models are named; one is expected", n_model);
}

/* For brackets that stay open, libyaml's time grows with the square of their number. Those in
 * texts count, too. */
static bool is_deep(FILE *file)
{
    long depth = 0;
    for (int c; depth <= MAX_DEPTH && (c = getc(file)) != EOF;)
        depth += (c == '[' || c == '{') - (depth > 0 && (c == ']' || c == '}'));
    rewind(file);
    return depth > MAX_DEPTH;
}

/* libyaml's parser and document are freed before anything can leave. */
static void load(struct document *document, FILE *file)
{
    struct petab_reader *reader = document->reader;
    yaml_parser_t parser;
    bool jumped;
    if (!yaml_parser_initialize(&parser))
        petab_leave(reader, STATUS_NO_MEMORY, "out of memory for '%.300s'", document->files->yaml);
    yaml_parser_set_input_file(&parser, file);
    bool good = yaml_parser_load(&parser, &document->yaml);
    size_t line = parser.problem_mark.line + 1;
    if (parser.error == YAML_READER_ERROR) { /* bytes that are no text: only their place is known */
        rewind(file);
        line = 1;
        for (size_t i = 0; i < parser.problem_offset; i++)
            line += getc(file) == '\n';
    }
    if (!good)
        error_set(&reader->error, STATUS_BAD_PROBLEM, "%.300s:%zu: this is not YAML: %.200s",
                  document->files->yaml, line, parser.problem ? parser.problem : "unknown problem");
    yaml_parser_delete(&parser);
    if (!good)
        petab_leave_with(reader);
    jmp_buf out;
    memcpy(&out, &reader->out, sizeof out);
    if (!(jumped = setjmp(reader->out)))
        take_document(document);
    memcpy(&reader->out, &out, sizeof out);
    yaml_document_delete(&document->yaml);
    if (jumped)
        petab_leave_with(reader);
}

bool petab_is_built(void) { return true; }

void petab_files_read(struct petab_reader *reader, struct petab_files *files, const char *yaml,
                      const char *model, bool outside)
{
    struct document document = {.reader = reader,
                                .files = files, .model = model, .outside = outside};
    char *resolved = realpath(yaml, NULL), *slash = resolved ? strrchr(resolved, '/') : NULL;
    struct stat about;
    /* a pipe would be waited for */
    bool is_file = resolved && !stat(resolved, &about) && S_ISREG(about.st_mode);
    FILE *file = is_file ? fopen(yaml, "r") : NULL;
    int number = resolved && !is_file ? EINVAL : errno;
    *files = (struct petab_files){.yaml = petab_strdup(reader, yaml)};
    if (slash)
        document.folder =
            petab_format(reader, "%.*s", (int)(slash - resolved + (slash == resolved)), resolved);
    free(resolved);
    if (!file) {
        error_system(&reader->error, number, "cannot read '%.300s'", yaml);
        petab_leave_with(reader);
    }
    bool is_long = fseek(file, 0, SEEK_END) || ftell(file) > MAX_YAML;
    rewind(file);
    jmp_buf out;
    memcpy(&out, &reader->out, sizeof out);
    bool jumped = setjmp(reader->out);
    if (!jumped && is_long)
        petab_leave(reader, STATUS_BAD_PROBLEM, "%.300s: this is no file, or too long for YAML",
                    yaml);
    if (!jumped && is_deep(file))
        petab_leave(reader, STATUS_BAD_PROBLEM, "%.300s: brackets are nested too deeply", yaml);
    if (!jumped)
        load(&document, file);
    memcpy(&reader->out, &out, sizeof out);
    fclose(file);
    if (jumped)
        petab_leave_with(reader);
    if (model)
        files->list[PETAB_MODEL] =
            (struct petab_list){.n = 1, .path = petab_alloc(reader, 1, sizeof(char *))};
    if (model)
        files->list[PETAB_MODEL].path[0] = petab_strdup(reader, model);
    if (reader->n_fault == 0) /* else these may be consequences */
        check_lists(&document);
    petab_check(reader);
    for (size_t i = 0; i < reader->outputs.n; i++)
        petab_files_spare(reader, files, reader->outputs.path[i]);
}

#else

bool petab_is_built(void) { return false; }

void petab_files_read(struct petab_reader *reader, struct petab_files *files, const char *yaml,
                      const char *model, bool outside)
{
    (void)files, (void)model, (void)outside;
    petab_leave(reader, STATUS_USAGE,
                "'%.300s' is YAML, and this stiffit was built without libyaml (Debian: "
                "libyaml-dev)",
                yaml);
}

#endif

void petab_files_spare(struct petab_reader *reader, const struct petab_files *files,
                       const char *output)
{
    enum status status = spare_file(output, files->yaml, &reader->error);
    for (size_t kind = 0; !status && kind < N_PETAB_KIND; kind++)
        for (size_t i = 0; !status && i < files->list[kind].n; i++)
            status = spare_file(output, files->list[kind].path[i], &reader->error);
    if (status)
        petab_leave_with(reader);
}

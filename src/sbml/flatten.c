/* Models that are put together from others (package comp): libSBML makes one flat model of them,
 * in which the element E of the submodel A is called A__E.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/read.h"

#include "base/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBSBML
enum { MOST_DEPTH = 20 };

/* The value of the attribute `source` of an externalModelDefinition, whose tag begins at `tag`, in
 * the document's arena; "": it has none. */
static char *source_of(struct document *document, const char *tag)
{
    const char *end = strchr(tag, '>'), *at = tag;
    while ((at = strstr(at, "source=\"")) && end && at < end) {
        bool is_whole = at[-1] == ' ' || at[-1] == ':' || at[-1] == '\n';
        at += strlen("source=\"");
        if (is_whole)
            return document_format(document, "%.*s", (int)strcspn(at, "\""), at);
    }
    return document_format(document, "%s", "");
}

/* The file with the source's model: it must lie in the folder of the file that names it, or below.
 * NULL, after the fault. */
static char *path_of_source(struct document *document, const char *path, const char *source)
{
    const char *slash = strrchr(path, '/');
    char *made = document_format(document, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path,
                                 source);
    char *folder = document_format(document, "%.*s", slash ? (int)(slash - path + 1) : 1,
                                   slash ? path : ".");
    if (!made || !folder)
        return NULL;
    char *real = realpath(made, NULL), *top = realpath(folder, NULL);
    size_t n = top ? strlen(top) : 0;
    bool is_inside = real && top && !strncmp(real, top, n) && (n == 1 || real[n] == '/');
    if (source[0] != '/' && (source[0] == '\0' || strchr(source, ':') || !real))
        document_fault(document, 0, "external model", source,
                       "there is no such file in the folder of %.200s; models from the network "
                       "are not fetched: put a copy beside it", words_file(path));
    else if (!is_inside || source[0] == '/')
        document_fault(document, 0, "external model", source,
                       "it lies outside of the folder of %.200s and is not read: put a copy "
                       "beside it", words_file(path));
    free(real);
    free(top);
    return document->failed ? NULL : made;
}

/* Checks the files that a file, whose text is given, and those in turn refer to. */
static void check_sources(struct reading *reading, const char *path, const char *text,
                          unsigned depth)
{
    const struct library *lib = &reading->lib;
    struct document *document = reading->document;
    static const char word[] = ":externalModelDefinition ";
    for (const char *at = text; (at = strstr(at, word)) && !document->failed; at++) {
        const char *source = source_of(document, at);
        char *inner = source ? path_of_source(document, path, source) : NULL;
        if (!inner)
            return;
        if (spare_outputs(&document->outputs, inner, document->error)) {
            document->failed = true;
            return;
        }
        if (depth == MOST_DEPTH) {
            document_fault(document, 0, "external model", source,
                           "files refer to each other more than %d deep", MOST_DEPTH);
            return;
        }
        SBMLDocument_t *file = lib->readSBMLFromFile(inner);
        char *written = file ? lib->writeSBMLToString(file) : NULL;
        if (written)
            check_sources(reading, inner, written, depth + 1);
        else
            document_no_memory(document);
        free(written);
        if (file)
            lib->SBMLDocument_free(file);
    }
}

/* A switch of the conversion; libSBML keeps a copy. */
static void add_option(const struct library *lib, ConversionProperties_t *how, const char *key,
                       int value)
{
    ConversionOption_t *option = how ? lib->ConversionOption_create(key) : NULL;
    if (!option)
        return;
    lib->ConversionOption_setType(option, CNV_TYPE_BOOL);
    lib->ConversionOption_setBoolValue(option, value);
    lib->ConversionProperties_addOption(how, option);
    lib->ConversionOption_free(option);
}

enum status reading_flatten(struct reading *reading, SBMLDocument_t *file, const char *prefix,
                            const char *text)
{
    const struct library *lib = &reading->lib;
    struct document *document = reading->document;
    check_sources(reading, reading->path, text, 0);
    if (document->failed)
        return document->error->status;
    ConversionProperties_t *how = lib->ConversionProperties_create();
    add_option(lib, how, "flatten comp", 1);
    /* The checks of the whole model are made once, on the flat one. */
    add_option(lib, how, "performValidation", 0);
    add_option(lib, how, "leavePorts", 0);
    lib->SBMLDocument_setLocationURI(file, reading->path);
    reading->is_flat = true;
    int result = how ? lib->SBMLDocument_convert(file, how) : LIBSBML_OPERATION_FAILED;
    if (how)
        lib->ConversionProperties_free(how);
    if (result == LIBSBML_OPERATION_SUCCESS)
        return reading_check(reading, file);
    if (result == LIBSBML_CONV_CONVERSION_NOT_AVAILABLE)
        return document_fault(document, 0, "package", prefix,
                              "this libSBML was built without the package and cannot put the "
                              "submodels together; Debian's libsbml5 can");
    if (!reading_check(reading, file))
        document_fault(document, 0, "package", prefix,
                       "libSBML cannot put the submodels together (error %d)", result);
    return document->error->status;
}
#endif

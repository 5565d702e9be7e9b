/* Attributes of one value: read as text or numbers, whatever their type in the file.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/hdf5_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 1 << 16 };

struct attribute {
    hid_t id, type;
    H5T_class_t class; /* H5T_INTEGER also for enumerations */
};

static void attribute_close(struct attribute *attribute)
{
    hdf5_release(&attribute->type);
    hdf5_release(&attribute->id);
}

/* id = 0 afterwards: no such attribute or object. */
static enum status attribute_open(const struct hdf5_file *file, const char *object, const char *name,
                                  struct attribute *attribute, struct error *error)
{
    *attribute = (struct attribute){0};
    enum hdf5_kind kind = hdf5_kind(file, object);
    if (kind != HDF5_GROUP && kind != HDF5_DATASET)
        return STATUS_OK;
    htri_t exists = H5Aexists_by_name(file->id, object, name, H5P_DEFAULT);
    if (exists == 0)
        return STATUS_OK;
    hid_t space = 0;
    attribute->id = exists > 0 ? H5Aopen_by_name(file->id, object, name, H5P_DEFAULT, H5P_DEFAULT) : -1;
    if (attribute->id > 0) {
        attribute->type = H5Aget_type(attribute->id);
        space = H5Aget_space(attribute->id);
    }
    enum status status = STATUS_OK;
    if (attribute->type <= 0 || space <= 0)
        status = hdf5_error(file, error, STATUS_BAD_PROBLEM, "%s @%s: cannot be read", object, name);
    else if (H5Sget_simple_extent_npoints(space) != 1)
        status = error_set(error, STATUS_BAD_PROBLEM, "%s: %s @%s: must be one value", file->path, object, name);
    hdf5_release(&space);
    if (status) {
        attribute_close(attribute);
        return status;
    }
    attribute->class = H5Tget_class(attribute->type);
    if (attribute->class == H5T_ENUM)
        attribute->class = H5T_INTEGER;
    return STATUS_OK;
}

/* A string of fixed size as stored in the file, cut as its padding says; malloc'ed. */
static char *fixed_text(const struct attribute *attribute)
{
    size_t size = H5Tget_size(attribute->type);
    if (size == 0 || size > MAX_TEXT)
        return NULL;
    char *text = calloc(size + 1, 1);
    if (text && H5Aread(attribute->id, attribute->type, text) < 0) {
        free(text);
        return NULL;
    }
    if (text && H5Tget_strpad(attribute->type) == H5T_STR_SPACEPAD)
        for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; n--)
            text[n - 1] = '\0';
    return text;
}

static char *variable_text(const struct attribute *attribute)
{
    char *given = NULL, *text = NULL;
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type > 0 && H5Tset_size(type, H5T_VARIABLE) >= 0 && H5Tset_cset(type, H5Tget_cset(attribute->type)) >= 0
        && H5Aread(attribute->id, type, &given) >= 0)
        text = strdup(given ? given : "");
    H5free_memory(given);
    hdf5_release(&type);
    return text;
}

static char *number_text(const struct attribute *attribute)
{
    char text[40];
    double real;
    long long integer;
    unsigned long long natural;
    if (attribute->class == H5T_FLOAT) {
        if (H5Aread(attribute->id, H5T_NATIVE_DOUBLE, &real) < 0)
            return NULL;
        snprintf(text, sizeof text, "%.17g", real);
    } else if (H5Tget_sign(attribute->type) == H5T_SGN_NONE) {
        if (H5Aread(attribute->id, H5T_NATIVE_ULLONG, &natural) < 0)
            return NULL;
        snprintf(text, sizeof text, "%llu", natural);
    } else {
        if (H5Aread(attribute->id, H5T_NATIVE_LLONG, &integer) < 0)
            return NULL;
        snprintf(text, sizeof text, "%lld", integer);
    }
    return strdup(text);
}

enum status hdf5_attribute_text(const struct hdf5_file *file, const char *object, const char *name, char **text,
                                struct error *error)
{
    *text = NULL;
    struct attribute attribute;
    enum status status = attribute_open(file, object, name, &attribute, error);
    if (status || !attribute.id)
        return status;
    if (attribute.class == H5T_STRING)
        *text = H5Tis_variable_str(attribute.type) > 0 ? variable_text(&attribute) : fixed_text(&attribute);
    else if (attribute.class == H5T_INTEGER || attribute.class == H5T_FLOAT)
        *text = number_text(&attribute);
    if (!*text)
        status = hdf5_error(file, error, STATUS_BAD_PROBLEM, "%s @%s: cannot be read as a string or number", object,
                            name);
    attribute_close(&attribute);
    return status;
}

enum status hdf5_attribute_number(const struct hdf5_file *file, const char *object, const char *name, hid_t type,
                                  bool *present, void *value, struct error *error)
{
    struct attribute attribute;
    *present = false;
    enum status status = attribute_open(file, object, name, &attribute, error);
    if (status || !attribute.id)
        return status;
    *present = true;
    if (attribute.class != H5T_INTEGER && attribute.class != H5T_FLOAT)
        status = error_set(error, STATUS_BAD_PROBLEM, "%s: %s @%s: must be a number", file->path, object, name);
    else if (H5Aread(attribute.id, type, value) < 0)
        status = hdf5_error(file, error, STATUS_BAD_PROBLEM, "%s @%s: cannot be read", object, name);
    attribute_close(&attribute);
    return status;
}

enum status hdf5_put_number(const struct hdf5_file *file, const char *object, const char *name, hid_t type,
                            const void *value, struct error *error)
{
    hid_t space = H5Screate(H5S_SCALAR), id = -1;
    if (type > 0 && space > 0)
        id = H5Acreate_by_name(file->id, object, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    enum status status = STATUS_OK;
    if (id < 0 || H5Awrite(id, type, value) < 0)
        status = hdf5_error(file, error, STATUS_SYSTEM, "%s @%s: cannot be written", object, name);
    hdf5_release(&id);
    hdf5_release(&space);
    return status;
}

enum status hdf5_put_text(const struct hdf5_file *file, const char *object, const char *name, const char *text,
                          struct error *error)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type > 0) {
        H5Tset_size(type, strlen(text) + 1);
        H5Tset_cset(type, H5T_CSET_UTF8);
    }
    enum status status = hdf5_put_number(file, object, name, type, text, error); /* one value of any type */
    hdf5_release(&type);
    return status;
}

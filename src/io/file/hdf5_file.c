/* Opens, closes and inspects HDF5 files, with their attributes. Converts HDF5's failures to
 * struct error; no file can make us open another one.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/file/hdf5_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0)) || H5_VERSION_GE(1, 12, 1)
#define HAVE_FILE_LOCKING 1
#endif

/* By default the library prints on stderr and follows external links; both are settings of the
 * process. It also cleans up at exit, where 1.10.8 crashes after a failed write; we close
 * everything ourselves. */
static void library_prepare(void)
{
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (H5Lis_registered(H5L_TYPE_EXTERNAL) > 0)
        H5Lunregister(H5L_TYPE_EXTERNAL);
}

static herr_t take_innermost(unsigned n, const H5E_error2_t *entry, void *context)
{
    static const char words[] = "error message = '";
    char *text = context;
    if (n > 0 || !entry->desc)
        return 0;
    /* of a failed read or write, among time, name, numbers */
    const char *reason = strstr(entry->desc, words);
    reason = reason ? reason + strlen(words) : entry->desc;
    snprintf(text, 200, ": %.*s", reason == entry->desc ? 190 : (int)strcspn(reason, "'"), reason);
    return 0;
}

enum status hdf5_error(const struct hdf5_file *file, struct error *error, enum status status,
                       const char *format, ...)
{
    char detail[200] = "", message[1024];
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, detail);
    H5Eclear2(H5E_DEFAULT);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const char *cure = strstr(detail, "version number")
                           ? "; if the file is not damaged, a newer HDF5 library wrote it in a "
                             "format that this one cannot read (h5py: libver='latest', complex "
                             "numbers): write it without libver, or with libver=('earliest', "
                             "'v110'), or convert it with that library's h5repack"
                           : "";
    return error_set(error, status, "%s: %s%s%s", file->path ? file->path : "HDF5", message, detail,
                     cure);
}

static hid_t access_list(void)
{
    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    if (list < 0)
        return 0;
    /* Handles left open by a failed read must not keep the file open. */
    H5Pset_fclose_degree(list, H5F_CLOSE_STRONG);
#ifdef HAVE_FILE_LOCKING
    /* NFS and Lustre are often mounted without locks; nobody else writes to our files while they
     * are open. */
    H5Pset_file_locking(list, false, true);
#endif
    return list;
}

/* Reports in our own words what HDF5 would report in its own. */
static enum status check_openable(const char *path, int flags, struct error *error)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return error_system(error, errno, "%s: cannot be opened", path);
    if (S_ISDIR(info.st_mode))
        return error_set(error, STATUS_SYSTEM, "%s: is a directory, not an HDF5 file", path);
    if (!S_ISREG(info.st_mode))
        return error_set(error, STATUS_SYSTEM,
                         "%s: is not a regular file (HDF5 cannot be read from a pipe or device)",
                         path);
    int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0)
        return error_system(error, errno, "%s: cannot be opened", path);
    char magic[8] = "";
    ssize_t n = pread(fd, magic, sizeof magic, 0);
    int failure = errno;
    close(fd);
    if (n < 0)
        return error_system(error, failure, "%s: cannot be read", path);
    if (info.st_size == 0)
        return error_set(error, STATUS_BAD_PROBLEM, "%s: is empty, not an HDF5 file", path);
    return STATUS_OK;
}

/* Users most often pass a model or a table instead of a problem file. */
static const char *what_to_do(const char *path)
{
    size_t n = strlen(path);
    if (n > 4 && !strcmp(path + n - 4, ".ode"))
        return " but, by its name, a model: see `stiffit model show`; `stiffit import --model` "
               "makes a problem of it";
    if (n > 4 && !strcmp(path + n - 4, ".csv"))
        return " but, by its name, a table: `stiffit import` makes a problem file of it";
    return "";
}

static enum status open_file(struct hdf5_file *file, const char *path, unsigned flags,
                             struct error *error)
{
    enum status status = check_openable(path, flags == H5F_ACC_RDWR ? O_RDWR : O_RDONLY, error);
    if (status)
        return status;
    if (!(file->path = strdup(path)))
        return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", path);
    hid_t list = access_list();
    htri_t is_hdf5 = H5Fis_hdf5(path);
    file->id = list && is_hdf5 > 0 ? H5Fopen(path, flags, list) : -1;
    hdf5_release(&list);
    if (file->id > 0)
        return STATUS_OK;
    if (is_hdf5 > 0)
        status = hdf5_error(file, error, STATUS_BAD_PROBLEM,
                            "cannot be read as HDF5; it may be truncated or damaged");
    else
        status = error_set(error, STATUS_BAD_PROBLEM, "%s: is not an HDF5 file%s", path,
                           what_to_do(path));
    H5Eclear2(H5E_DEFAULT);
    hdf5_close(file);
    return status;
}

enum status hdf5_open(struct hdf5_file *file, const char *path, struct error *error)
{
    library_prepare(); /* before H5F_ACC_..., a macro that initialises the library */
    return open_file(file, path, H5F_ACC_RDONLY, error);
}

enum status hdf5_edit(struct hdf5_file *file, const char *path, struct error *error)
{
    library_prepare();
    return open_file(file, path, H5F_ACC_RDWR, error);
}

enum status hdf5_create(struct hdf5_file *file, const char *path, struct error *error)
{
    library_prepare();
    /* errno says more than HDF5 does. The file is removed again, so that HDF5 creates it itself. */
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_system(error, errno, "%s: cannot be created", path);
    close(fd);
    unlink(path);
    if (!(file->path = strdup(path)))
        return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", path);
    hid_t access = access_list(), creation = H5Pcreate(H5P_FILE_CREATE);
    if (creation > 0)
        H5Pset_obj_track_times(creation, false);
    file->id = access > 0 && creation > 0 ? H5Fcreate(path, H5F_ACC_EXCL, creation, access) : -1;
    hdf5_release(&creation);
    hdf5_release(&access);
    if (file->id > 0)
        return STATUS_OK;
    enum status status =
        hdf5_error(file, error, STATUS_SYSTEM, "cannot be created (is the disk full?)");
    hdf5_close(file);
    return status;
}

static enum status not_written(const struct hdf5_file *file, struct error *error)
{
    return hdf5_error(file, error, STATUS_SYSTEM, "cannot be written (is the disk full?)");
}

enum status hdf5_flush(const struct hdf5_file *file, struct error *error)
{
    return H5Fflush(file->id, H5F_SCOPE_GLOBAL) < 0 ? not_written(file, error) : STATUS_OK;
}

enum status hdf5_finish(struct hdf5_file *file, struct error *error)
{
    enum status status = hdf5_flush(file, error);
    if (!status && H5Fclose(file->id) < 0)
        status = not_written(file, error);
    else if (!status)
        file->id = 0;
    hdf5_close(file);
    return status;
}

void hdf5_close(struct hdf5_file *file)
{
    if (file->id > 0)
        H5Fclose(file->id);
    H5Eclear2(H5E_DEFAULT);
    free(file->path);
    *file = (struct hdf5_file){0};
}

static H5O_type_t object_type(hid_t id, const char *path)
{
#if H5_VERSION_GE(1, 12, 0) /* takes the parts of the information that are wanted */
    H5O_info2_t info;
    herr_t got = H5Oget_info_by_name3(id, path, &info, H5O_INFO_BASIC, H5P_DEFAULT);
#elif H5_VERSION_GE(1, 10, 3)
    H5O_info_t info;
    herr_t got = H5Oget_info_by_name2(id, path, &info, H5O_INFO_BASIC, H5P_DEFAULT);
#else
    H5O_info_t info;
    herr_t got = H5Oget_info_by_name(id, path, &info, H5P_DEFAULT);
#endif
    return got < 0 ? H5O_TYPE_UNKNOWN : info.type;
}

/* A soft link may lead nowhere. */
static enum hdf5_kind object_kind(hid_t id, const char *path, bool is_hard)
{
    htri_t exists = is_hard ? 1 : H5Oexists_by_name(id, path, H5P_DEFAULT);
    if (exists <= 0)
        return exists == 0 ? HDF5_ABSENT : HDF5_OTHER;
    H5O_type_t type = object_type(id, path);
    return type == H5O_TYPE_GROUP     ? HDF5_GROUP
           : type == H5O_TYPE_DATASET ? HDF5_DATASET
                                      : HDF5_OTHER;
}

enum hdf5_kind hdf5_kind(const struct hdf5_file *file, const char *path)
{
    if (strcmp(path, "/") == 0)
        return HDF5_GROUP;
    char part[256];
    size_t length = strlen(path);
    if (length >= sizeof part)
        return HDF5_ABSENT;
    enum hdf5_kind kind = HDF5_GROUP;
    /* HDF5 requires each step of a path to exist before the next is queried. */
    for (size_t i = 1; i <= length && kind == HDF5_GROUP; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        H5L_info_t link;
        htri_t exists = H5Lexists(file->id, part, H5P_DEFAULT);
        if (exists <= 0)
            kind = exists == 0 ? HDF5_ABSENT : HDF5_OTHER;
        else if (H5Lget_info(file->id, part, &link, H5P_DEFAULT) < 0 ||
                 link.type == H5L_TYPE_EXTERNAL)
            kind = HDF5_OTHER;
        else
            kind = object_kind(file->id, part, link.type == H5L_TYPE_HARD);
        if (i < length && kind == HDF5_DATASET)
            kind = HDF5_ABSENT;
    }
    H5Eclear2(H5E_DEFAULT);
    return kind;
}

struct visitor {
    bool (*visit)(void *context, const char *name);
    void *context;
};

static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    (void)group, (void)info;
    const struct visitor *visitor = context;
    return visitor->visit(visitor->context, name) ? 0 : 1;
}

bool hdf5_keeps_order(const struct hdf5_file *file, const char *path)
{
    hid_t group = H5Gopen2(file->id, path, H5P_DEFAULT),
          creation = group > 0 ? H5Gget_create_plist(group) : -1;
    unsigned flags = 0;
    bool is_known = creation > 0 && H5Pget_link_creation_order(creation, &flags) >= 0;
    hdf5_release(&creation);
    hdf5_release(&group);
    H5Eclear2(H5E_DEFAULT);
    return is_known && flags & H5P_CRT_ORDER_TRACKED;
}

enum status hdf5_each_link(const struct hdf5_file *file, const char *group,
                           bool (*visit)(void *context, const char *name),
                           void *context, struct error *error)
{
    struct visitor visitor = {visit, context};
    H5_index_t index = hdf5_keeps_order(file, group) ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    if (H5Literate_by_name(file->id, group, index, H5_ITER_INC, NULL, visit_link, &visitor,
                           H5P_DEFAULT) < 0)
        return hdf5_error(file, error, STATUS_BAD_PROBLEM, "%s: cannot be listed", group);
    return STATUS_OK;
}

static herr_t visit_attribute(hid_t object, const char *name, const H5A_info_t *info, void *context)
{
    (void)object, (void)info;
    const struct visitor *visitor = context;
    return visitor->visit(visitor->context, name) ? 0 : 1;
}

enum status hdf5_each_attribute(const struct hdf5_file *file, const char *object,
                                bool (*visit)(void *context, const char *name), void *context,
                                struct error *error)
{
    struct visitor visitor = {visit, context};
    if (H5Aiterate_by_name(file->id, object, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_attribute,
                           &visitor, H5P_DEFAULT) < 0)
        return hdf5_error(file, error, STATUS_BAD_PROBLEM, "%s: its attributes cannot be listed",
                          object);
    return STATUS_OK;
}

enum status hdf5_make_group(const struct hdf5_file *file, const char *path, bool is_ordered,
                            struct error *error)
{
    hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
    hid_t group = -1;
    unsigned order = is_ordered ? H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED : 0;
    if (creation > 0 && H5Pset_obj_track_times(creation, false) >= 0 &&
        H5Pset_link_creation_order(creation, order) >= 0)
        group = H5Gcreate2(file->id, path, H5P_DEFAULT, creation, H5P_DEFAULT);
    enum status status = STATUS_OK;
    if (group < 0)
        status = hdf5_error(file, error, STATUS_SYSTEM, "%s: cannot be made", path);
    hdf5_release(&group);
    hdf5_release(&creation);
    return status;
}

enum status hdf5_delete(const struct hdf5_file *file, const char *path, struct error *error)
{
    htri_t exists = H5Lexists(file->id, path, H5P_DEFAULT);
    if (exists < 0 || (exists > 0 && H5Ldelete(file->id, path, H5P_DEFAULT) < 0))
        return hdf5_error(file, error, STATUS_SYSTEM, "%s: cannot be removed", path);
    return STATUS_OK;
}

/* Attributes of one value: read as text or numbers, whatever their type in the file. */
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
static enum status attribute_open(const struct hdf5_file *file, const char *object,
                                  const char *name, struct attribute *attribute,
                                  struct error *error)
{
    *attribute = (struct attribute){0};
    enum hdf5_kind kind = hdf5_kind(file, object);
    if (kind != HDF5_GROUP && kind != HDF5_DATASET)
        return STATUS_OK;
    htri_t exists = H5Aexists_by_name(file->id, object, name, H5P_DEFAULT);
    if (exists == 0)
        return STATUS_OK;
    hid_t space = 0;
    attribute->id = exists > 0 ? H5Aopen_by_name(file->id, object, name, H5P_DEFAULT, H5P_DEFAULT)
                               : -1;
    if (attribute->id > 0) {
        attribute->type = H5Aget_type(attribute->id);
        space = H5Aget_space(attribute->id);
    }
    enum status status = STATUS_OK;
    if (attribute->type <= 0 || space <= 0)
        status = hdf5_error(file, error, STATUS_BAD_PROBLEM, "%s @%s: cannot be read", object,
                            name);
    else if (H5Sget_simple_extent_npoints(space) != 1)
        status = error_set(error, STATUS_BAD_PROBLEM, "%s: %s @%s: must be one value", file->path,
                           object, name);
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
    if (type > 0 && H5Tset_size(type, H5T_VARIABLE) >= 0 &&
        H5Tset_cset(type, H5Tget_cset(attribute->type)) >= 0 &&
        H5Aread(attribute->id, type, &given) >= 0)
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

enum status hdf5_attribute_text(const struct hdf5_file *file, const char *object, const char *name,
                                char **text, struct error *error)
{
    *text = NULL;
    struct attribute attribute;
    enum status status = attribute_open(file, object, name, &attribute, error);
    if (status || !attribute.id)
        return status;
    if (attribute.class == H5T_STRING)
        *text = H5Tis_variable_str(attribute.type) > 0 ? variable_text(&attribute)
                                                       : fixed_text(&attribute);
    else if (attribute.class == H5T_INTEGER || attribute.class == H5T_FLOAT)
        *text = number_text(&attribute);
    if (!*text)
        status = hdf5_error(file, error, STATUS_BAD_PROBLEM,
                            "%s @%s: cannot be read as a string or number", object, name);
    attribute_close(&attribute);
    return status;
}

enum status hdf5_attribute_number(const struct hdf5_file *file, const char *object,
                                  const char *name, hid_t type, bool *present, void *value,
                                  struct error *error)
{
    struct attribute attribute;
    *present = false;
    enum status status = attribute_open(file, object, name, &attribute, error);
    if (status || !attribute.id)
        return status;
    *present = true;
    if (attribute.class != H5T_INTEGER && attribute.class != H5T_FLOAT)
        status = error_set(error, STATUS_BAD_PROBLEM, "%s: %s @%s: must be a number", file->path,
                           object, name);
    else if (H5Aread(attribute.id, type, value) < 0)
        status = hdf5_error(file, error, STATUS_BAD_PROBLEM, "%s @%s: cannot be read", object,
                            name);
    attribute_close(&attribute);
    return status;
}

enum status hdf5_put_number(const struct hdf5_file *file, const char *object, const char *name,
                            hid_t type, const void *value, struct error *error)
{
    hid_t space = H5Screate(H5S_SCALAR), id = -1;
    if (type > 0 && space > 0)
        id = H5Acreate_by_name(file->id, object, name, type, space, H5P_DEFAULT, H5P_DEFAULT,
                               H5P_DEFAULT);
    enum status status = STATUS_OK;
    if (id < 0 || H5Awrite(id, type, value) < 0)
        status = hdf5_error(file, error, STATUS_SYSTEM, "%s @%s: cannot be written", object, name);
    hdf5_release(&id);
    hdf5_release(&space);
    return status;
}

enum status hdf5_put_text(const struct hdf5_file *file, const char *object, const char *name,
                          const char *text, struct error *error)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type > 0) {
        H5Tset_size(type, strlen(text) + 1);
        H5Tset_cset(type, H5T_CSET_UTF8);
    }
    /* One value of any type. */
    enum status status = hdf5_put_number(file, object, name, type, text, error);
    hdf5_release(&type);
    return status;
}

void io_library(char *text, size_t size)
{
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    snprintf(text, size, "HDF5 %u.%u.%u", major, minor, release);
}

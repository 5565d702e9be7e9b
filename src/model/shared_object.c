/* Wraps dlopen: private copies of a plugin's bytes, and the loader's messages in the user's terms.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/shared_object.h"

#include "base/floating.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u
#endif

struct shared_object {
    void *handle;
    int fd;        /* the anonymous file, or -1 */
    char name[32]; /* the name under which dlopen opens the anonymous file */
};

static struct shared_object *object_new(struct error *error)
{
    struct shared_object *object = calloc(1, sizeof *object);
    if (!object)
        error_set(error, STATUS_NO_MEMORY, "out of memory while loading a shared object");
    else
        object->fd = -1;
    return object;
}

/* The loader's message without the name of our private copy. */
static const char *loader_message(const char *name)
{
    const char *message = dlerror();
    if (!message)
        return "unknown reason";
    size_t n = strlen(name);
    if (strncmp(message, name, n) == 0 && message[n] == ':')
        message += n + 1 + strspn(message + n + 1, " ");
    return message;
}

static bool cannot_map(const char *message)
{
    return strstr(message, "cannot open") || strstr(message, "failed to map segment");
}

static enum status load_failed(const char *origin, const char *message, struct error *error)
{
    const char *advice = "";
    if (strstr(message, "undefined symbol"))
        advice = "; compile all of the model's source files into one .so, and link with -lm";
    else if (cannot_map(message))
        advice = "; if the temporary directory is mounted noexec, set TMPDIR to one that is not";
    return error_set(error, STATUS_BAD_MODEL, "%s: cannot load this shared object: %s%s", origin, message, advice);
}

/* Code linked with -ffast-math makes the loading thread, and all threads that this one starts, flush subnormal numbers to
 * zero. */
static void *load(const char *name)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    floating_reset();
    return handle;
}

static enum status write_all(int fd, const char *bytes, size_t n_byte, struct error *error)
{
    for (size_t done = 0; done < n_byte;) {
        ssize_t n = write(fd, bytes + done, n_byte - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_system(error, n < 0 ? errno : ENOSPC, "cannot make a private copy of the model plugin");
        done += (size_t)n;
    }
    return STATUS_OK;
}

/* An anonymous file that can be opened by name; -1: the system has none. */
static int anonymous_file(void)
{
#ifdef MFD_CLOEXEC
    int fd = memfd_create("stiffit-model", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
    if (fd < 0 && errno == EINVAL) /* a kernel older than MFD_EXEC, where memory files are executable anyway */
        fd = memfd_create("stiffit-model", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd;
#else
    return -1;
#endif
}

/* glibc tells objects apart by name first: a descriptor's number must not be used again while an object of that name is
 * loaded. So the file stays open as long as the object lives. *unusable: this way does not work on this system. */
static enum status open_anonymous(struct shared_object *object, const void *bytes, size_t n_byte, const char *origin,
                                  bool *unusable, struct error *error)
{
    *unusable = true;
    object->fd = anonymous_file();
    if (object->fd < 0)
        return STATUS_SYSTEM;
    snprintf(object->name, sizeof object->name, "/proc/self/fd/%d", object->fd);
    if (access(object->name, R_OK) != 0)
        return STATUS_SYSTEM;
    enum status status = write_all(object->fd, bytes, n_byte, error);
    if (status != STATUS_OK)
        return status;
#ifdef F_ADD_SEALS
    (void)fcntl(object->fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
#endif
    object->handle = load(object->name);
    if (object->handle) {
        *unusable = false;
        return STATUS_OK;
    }
    const char *message = loader_message(object->name);
    *unusable = cannot_map(message);
    return load_failed(origin, message, error);
}

static enum status open_in_directory(struct shared_object *object, const void *bytes, size_t n_byte, const char *origin,
                                     struct error *error)
{
    char directory[4000], path[4100];
    const char *parent = getenv("TMPDIR");
    if (!parent || !*parent)
        parent = "/tmp";
    if (snprintf(directory, sizeof directory, "%s/stiffit-model-XXXXXX", parent) >= (int)sizeof directory)
        return error_set(error, STATUS_SYSTEM, "the path in TMPDIR is too long");
    if (!mkdtemp(directory))
        return error_system(error, errno, "cannot make a private directory for the model plugin: %s", directory);
    snprintf(path, sizeof path, "%s/model.so", directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    enum status status = fd < 0 ? error_system(error, errno, "cannot create %s", path) : write_all(fd, bytes, n_byte, error);
    if (!status && !(object->handle = load(path)))
        status = load_failed(origin, loader_message(path), error);
    if (fd >= 0)
        close(fd);
    unlink(path);
    rmdir(directory);
    return status;
}

void *shared_object_open_bytes(const void *bytes, size_t n_byte, const char *origin, struct error *error)
{
    struct shared_object *object = object_new(error);
    if (!object)
        return NULL;
    bool unusable;
    enum status status = open_anonymous(object, bytes, n_byte, origin, &unusable, error);
    if (status != STATUS_OK && unusable) {
        if (object->fd >= 0)
            close(object->fd);
        object->fd = -1;
        status = open_in_directory(object, bytes, n_byte, origin, error);
    }
    if (status == STATUS_OK)
        return object;
    shared_object_close(object);
    return NULL;
}

void *shared_object_open(const char *name, struct error *error)
{
    struct shared_object *object = object_new(error);
    if (!object)
        return NULL;
    object->handle = load(name);
    if (object->handle)
        return object;
    error_set(error, STATUS_SYSTEM, "cannot load the library %s: %s", name, loader_message(name));
    free(object);
    return NULL;
}

void *shared_object_symbol(void *handle, const char *name)
{
    return dlsym(((struct shared_object *)handle)->handle, name);
}

void shared_object_close(void *handle)
{
    struct shared_object *object = handle;
    if (!object)
        return;
    bool stays = false;
    if (object->handle) {
        dlclose(object->handle);
        /* Some objects are never unloaded (unique C++ symbols, -z nodelete): their name stays in use, and so must the
         * descriptor. */
        void *again = object->fd >= 0 ? dlopen(object->name, RTLD_NOW | RTLD_NOLOAD) : NULL;
        stays = again != NULL;
        if (again)
            dlclose(again);
    }
    if (object->fd >= 0 && !stays)
        close(object->fd);
    free(object);
}

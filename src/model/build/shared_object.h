/* Shared objects: the only place that calls dlopen. A plugin is loaded from bytes in memory, so
 * that the bytes that were hashed are those that run; optional libraries are loaded by name.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* OK if the bytes look like a complete shared object for this machine (or, where <elf.h> is
 * unknown, are no text); otherwise STATUS_BAD_MODEL with what they are instead and what to do.
 * `origin` names them: a path, or any label. */
enum status elf_image_check(const void *bytes, size_t n_byte, const char *origin,
                            struct error *error);

/* Other files that the object makes the loader look for by paths of its own: libraries named by
 * path, folders to search. A hash of the object says nothing of them. */
struct elf_links {
    char paths[1000];   /* "; " between them, cut to fit; "": none */
    /* the first that depends on the folder in which the program happens to run; "": none */
    char relative[256];
};
/* The object has passed elf_image_check. */
void elf_image_links(const void *bytes, size_t n_byte, struct elf_links *links);

/* Loads a library by name or path (as dlopen finds it); its symbols stay private to the handle.
 * NULL on failure, with STATUS_SYSTEM and the loader's message in `error`. None of these
 * functions is thread-safe. */
void *shared_object_open(const char *name, struct error *error);

/* Loads the `n_byte` bytes of a shared object through an anonymous, sealed file or, if the
 * system has none, through a temporary file in a private directory under TMPDIR. `origin` names
 * the bytes in messages. NULL on failure: STATUS_BAD_MODEL if the bytes are at fault, otherwise
 * STATUS_SYSTEM or STATUS_NO_MEMORY. */
void *shared_object_open_bytes(const void *bytes, size_t n_byte, const char *origin,
                               struct error *error);

/* The address of a symbol of this object (or of what it is linked with), or NULL. */
void *shared_object_symbol(void *handle, const char *name);

void shared_object_close(void *handle); /* NULL is legal */
/* Instead: the library stays, with what it has begun (threads, handlers at exit). */
void shared_object_leave(void *handle);

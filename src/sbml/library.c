/* Loads libSBML.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/library.h"

#include "model/build/shared_object.h"

#include <string.h>

#ifdef HAVE_LIBSBML
enum status library_open(struct library *library, struct error *error)
{
    static const char *const names[] = {"libsbml.so.5", "libsbml.so"};
    static void *handle; /* for the rest of the process */
    void *address;
    for (size_t i = 0; i < sizeof names / sizeof *names && !handle; i++)
        handle = shared_object_open(names[i], error);
    if (!handle)
        return error_context(error, "SBML files need libSBML (Debian: apt-get install libsbml5)");
#define LIBRARY_FIND(name) \
    if (!(address = shared_object_symbol(handle, #name))) \
        return error_set(error, STATUS_SYSTEM, "this libSBML has no function " #name \
            ": version 5.19 or newer is needed"); \
    memcpy(&library->name, &address, sizeof address);
    LIBRARY_FUNCTIONS(LIBRARY_FIND)
    return STATUS_OK;
}
#endif

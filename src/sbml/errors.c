/* What libSBML has found wrong with a file, as a fault.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/read.h"

#include <stddef.h>

#ifdef HAVE_LIBSBML
enum { FLATTENING_FAILED = 1090104 }; /* libSBML's, which only says that others follow */

enum status reading_check(struct reading *reading, SBMLDocument_t *file)
{
    const struct library *lib = &reading->lib;
    unsigned n_error = 0, line = 0;
    char text[900] = "";
    for (unsigned i = 0; i < lib->SBMLDocument_getNumErrors(file); i++) {
        const XMLError_t *at = (const XMLError_t *)lib->SBMLDocument_getError(file, i);
        /* Without an encoding, or a declaration, XML is UTF-8; packages have a check of their
         * own. */
        unsigned id = lib->XMLError_getErrorId(at);
        if (id == MissingXMLEncoding || id == MissingXMLDecl || id == RequiredPackagePresent ||
            id == FLATTENING_FAILED || lib->XMLError_getSeverity(at) < LIBSBML_SEV_ERROR ||
            n_error++)
            continue;
        line = reading->is_flat ? 0 : lib->XMLError_getLine(at);
        size_t n = 0;
        for (const char *from = lib->XMLError_getMessage(at); from && *from && n < sizeof text - 1;
             from++) {
            bool is_blank = (unsigned char)*from <= ' ';
            if (!is_blank || (n && text[n - 1] != ' '))
                text[n++] = is_blank ? ' ' : *from;
        }
        while (n && (text[n - 1] == ' ' || text[n - 1] == '.'))
            n--;
        text[n] = '\0';
    }
    if (n_error > 1)
        return document_fault(reading->document, line, "", NULL, "libSBML: %s (and %u more)", text,
                              n_error - 1);
    return n_error ? document_fault(reading->document, line, "", NULL, "libSBML: %s", text)
                   : STATUS_OK;
}
#endif

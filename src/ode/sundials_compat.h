/* The few names that differ between SUNDIALS 6.4 and 7.x. Everything else in ode/ is written
 * against 7's names.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <cvodes/cvodes.h>
#include <stddef.h>
#include <sundials/sundials_config.h>
#include <sundials/sundials_context.h>
#include <sundials/sundials_nonlinearsolver.h>
#include <sundials/sundials_nvector.h>
#include <sundials/sundials_types.h>

#if SUNDIALS_VERSION_MAJOR < 6 || (SUNDIALS_VERSION_MAJOR == 6 && SUNDIALS_VERSION_MINOR < 4)
#error "SUNDIALS 6.4 or later is needed"
#endif

#if !defined(SUNDIALS_DOUBLE_PRECISION)
#error "SUNDIALS must be built for double precision"
#endif

#if SUNDIALS_VERSION_MAJOR < 7

static inline void sundials_ignore_error(int code, const char *module, const char *function,
                                         char *message, void *data)
{
    (void)code, (void)module, (void)function, (void)message, (void)data;
}

/* A context that belongs to one thread at a time and to no communicator; NULL: out of memory. */
static inline SUNContext sundials_context_new(void)
{
    SUNContext context = NULL;
    return SUNContext_Create(NULL, &context) == 0 ? context : NULL;
}

/* Stops SUNDIALS from printing errors; they are reported in the evaluation's reason. */
static inline int sundials_silence(void *cvode_memory)
{
    return CVodeSetErrHandlerFn(cvode_memory, sundials_ignore_error, NULL);
}

#else

#include <sundials/sundials_core.h>

/* OpenMPI's SUN_COMM_NULL is the address of this variable, which is not there where the program is
 * linked with SUNDIALS' archives and without MPI (Makefile): NULL then, for SUNDIALS too. */
#pragma weak ompi_mpi_comm_null

static inline void sundials_ignore_error(int line, const char *function, const char *file,
                                         const char *message, SUNErrCode code, void *data,
                                         SUNContext context)
{
    (void)line, (void)function, (void)file, (void)message, (void)code, (void)data, (void)context;
}

static inline SUNContext sundials_context_new(void)
{
    SUNContext context = NULL;
    if (SUNContext_Create(SUN_COMM_NULL, &context) != 0)
        return NULL;
    /* All handlers on the stack are called, so the one that prints must be removed first. */
    SUNContext_ClearErrHandlers(context);
    if (SUNContext_PushErrHandler(context, sundials_ignore_error, NULL) != 0) {
        SUNContext_Free(&context);
        return NULL;
    }
    return context;
}

static inline int sundials_silence(void *cvode_memory)
{
    (void)cvode_memory; /* done by the context since 7.0 */
    return 0;
}

#endif

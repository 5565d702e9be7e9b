/* What is called of OpenCL 1.2 (Khronos Group, The OpenCL Specification 1.2, 2012): declared
 * here, so that nobody needs its headers to build.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef void *cl_handle; /* a platform, a device, a context, ... */

enum { CL_DEVICE_TYPE_GPU = 4, CL_MEM_READ_WRITE = 1 };
#define CL_DEVICE_TYPE_ALL UINT64_C(0xffffffff)
enum {
    CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101f,
    CL_DEVICE_NAME = 0x102b,
    CL_DRIVER_VERSION = 0x102d,
    CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
    CL_PROGRAM_BUILD_LOG = 0x1183
};

/* X(result, name, arguments) */
#define OPENCL_FUNCTIONS(X) \
    X(int32_t, clGetPlatformIDs, (uint32_t, cl_handle *, uint32_t *)) \
    X(int32_t, clGetDeviceIDs, (cl_handle, uint64_t, uint32_t, cl_handle *, uint32_t *)) \
    X(int32_t, clGetDeviceInfo, (cl_handle, uint32_t, size_t, void *, size_t *)) \
    X(cl_handle, clCreateContext, (const intptr_t *, uint32_t, const cl_handle *, \
                                   void (*)(const char *, const void *, size_t, void *), void *, \
                                   int32_t *)) \
    X(int32_t, clReleaseContext, (cl_handle)) \
    X(cl_handle, clCreateProgramWithSource, (cl_handle, uint32_t, const char **, const size_t *, \
                                             int32_t *)) \
    X(int32_t, clBuildProgram, (cl_handle, uint32_t, const cl_handle *, const char *, \
                                void (*)(cl_handle, void *), void *)) \
    X(int32_t, clGetProgramBuildInfo, (cl_handle, cl_handle, uint32_t, size_t, void *, size_t *)) \
    X(int32_t, clReleaseProgram, (cl_handle)) \
    X(cl_handle, clCreateCommandQueue, (cl_handle, cl_handle, uint64_t, int32_t *)) \
    X(int32_t, clReleaseCommandQueue, (cl_handle)) \
    X(cl_handle, clCreateKernel, (cl_handle, const char *, int32_t *)) \
    X(int32_t, clSetKernelArg, (cl_handle, uint32_t, size_t, const void *)) \
    X(int32_t, clReleaseKernel, (cl_handle)) \
    X(cl_handle, clCreateBuffer, (cl_handle, uint64_t, size_t, void *, int32_t *)) \
    X(int32_t, clReleaseMemObject, (cl_handle)) \
    X(int32_t, clEnqueueWriteBuffer, (cl_handle, cl_handle, uint32_t, size_t, size_t, \
                                      const void *, uint32_t, const cl_handle *, cl_handle *)) \
    X(int32_t, clEnqueueReadBuffer, (cl_handle, cl_handle, uint32_t, size_t, size_t, void *, \
                                     uint32_t, const cl_handle *, cl_handle *)) \
    X(int32_t, clEnqueueNDRangeKernel, (cl_handle, cl_handle, uint32_t, const size_t *, \
                                        const size_t *, const size_t *, uint32_t, \
                                        const cl_handle *, cl_handle *)) \
    X(int32_t, clFlush, (cl_handle)) \
    X(int32_t, clFinish, (cl_handle))

struct opencl {
#define OPENCL_MEMBER(result, name, arguments) result (*name) arguments;
    OPENCL_FUNCTIONS(OPENCL_MEMBER)
#undef OPENCL_MEMBER
};

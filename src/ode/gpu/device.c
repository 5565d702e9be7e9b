/* Finds a device, compiles for it, and tries its arithmetic.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/gpu/device.h"

#include "model/build/shared_object.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PLATFORMS = 16, MOST_DEVICES = 64 };

static enum status load(struct device *device, struct error *error)
{
    struct error own;
    device->library = shared_object_open("libOpenCL.so.1", &own);
    if (!device->library)
        return error_set(
            error, STATUS_SYSTEM,
            "--engine gpu needs OpenCL's loader, libOpenCL.so.1 (Debian: ocl-icd-libopencl1): %s",
            own.message);
    void *address;
#define LOOK_UP(result, name, arguments) \
    if (!(address = shared_object_symbol(device->library, #name))) \
        return error_set(error, STATUS_SYSTEM, "libOpenCL.so.1 has no function " #name); \
    memcpy(&device->cl.name, &address, sizeof address);
    OPENCL_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    return STATUS_OK;
}

static bool has_doubles(const struct device *device, cl_handle id)
{
    uint64_t config = 0;
    return device->cl.clGetDeviceInfo(id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof config, &config,
                                      NULL) == 0 &&
           config != 0;
}

/* Devices with double precision, the GPUs first; and the names of the others. */
struct found {
    struct {
        cl_handle id;
        char name[160]; /* with the driver's version */
    } device[MOST_DEVICES];
    size_t n, n_gpu;
    char without[200];
};

static void add(const struct device *device, cl_handle id, struct found *found)
{
    char name[100] = "?", version[50] = "?";
    size_t n = strlen(found->without);
    bool is_known = found->n == MOST_DEVICES;
    for (size_t i = 0; i < found->n; i++)
        is_known = is_known || found->device[i].id == id;
    device->cl.clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    device->cl.clGetDeviceInfo(id, CL_DRIVER_VERSION, sizeof version - 1, version, NULL);
    if (!is_known && has_doubles(device, id)) {
        found->device[found->n].id = id;
        snprintf(found->device[found->n++].name, sizeof found->device->name, "%s, driver %s", name,
                 version);
    } else if (!is_known && !strstr(found->without, name)) {
        snprintf(found->without + n, sizeof found->without - n, "%s%.60s", n ? ", " : "", name);
    }
}

static void find(const struct device *device, struct found *found)
{
    static const uint64_t types[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ALL};
    cl_handle platform[MOST_PLATFORMS], id[MOST_DEVICES];
    uint32_t n_platform = 0, n_device;
    if (device->cl.clGetPlatformIDs(MOST_PLATFORMS, platform, &n_platform) != 0)
        return;
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        for (uint32_t i = 0; i < n_platform && i < MOST_PLATFORMS; i++) {
            n_device = 0;
            if (device->cl.clGetDeviceIDs(platform[i], types[k], MOST_DEVICES, id, &n_device) != 0)
                continue;
            for (uint32_t j = 0; j < n_device && j < MOST_DEVICES; j++)
                add(device, id[j], found);
        }
        found->n_gpu = k == 0 ? found->n : found->n_gpu;
    }
}

/* Whether a list's word names device i. */
static bool is_named(const struct found *found, size_t i, const char *word, size_t n_word)
{
    char text[160], *end;
    snprintf(text, sizeof text, "%.*s", (int)n_word, word);
    unsigned long number = strtoul(text, &end, 10);
    if (end > text && !*end)
        return number == i;
    return n_word > 0 && strcasestr(found->device[i].name, text);
}

/* Marks the devices of a list. False: a word names none. */
static bool choose(const struct found *found, const char *list, bool chosen[MOST_DEVICES])
{
    bool all = true;
    for (const char *word = list;; word++) {
        size_t n_word = strcspn(word, ",");
        bool any = false;
        for (size_t i = 0; i < found->n; i++) {
            bool is = is_named(found, i, word, n_word);
            chosen[i] = chosen[i] || is;
            any = any || is;
        }
        all = all && any;
        word += n_word;
        if (!*word)
            return all;
    }
}

/* What there is instead of a device of the list. */
static enum status refuse(const struct found *found, const char *list, struct error *error)
{
    char names[400] = "";
    for (size_t i = 0, n = 0; i < found->n; i++, n = strlen(names))
        snprintf(names + n, sizeof names - n, "%s%zu: %.80s", i ? "; " : "", i,
                 found->device[i].name);
    return error_set(error, STATUS_USAGE,
                     "--devices %.100s: not all of these are numbers or parts of names of devices "
                     "with double precision, which are %s",
                     list, names);
}

static enum status open_one(struct device *device, cl_handle id, const char *name,
                            struct error *error)
{
    uint64_t n_byte = 0;
    int32_t code = 0;
    device->id = id;
    snprintf(device->name, sizeof device->name, "%s", name);
    device->cl.clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof n_byte, &n_byte, NULL);
    device->n_byte = (size_t)n_byte;
    device->context = device->cl.clCreateContext(NULL, 1, &device->id, NULL, NULL, &code);
    if (device->context)
        return STATUS_OK;
    return error_set(error, STATUS_SYSTEM, "cannot use the device %s (OpenCL's error %d)",
                     device->name, (int)code);
}

enum status device_open(const char *list, struct device device[DEVICE_MOST], size_t *n,
                        struct error *error)
{
    struct found found = {0};
    bool chosen[MOST_DEVICES] = {false};
    memset(device, 0, DEVICE_MOST * sizeof *device);
    *n = 0;
    if (load(device, error))
        return error->status;
    find(device, &found);
    if (found.n == 0)
        return *found.without
                   ? error_set(error, STATUS_SYSTEM,
                               "--engine gpu needs a device with double precision, which these "
                               "have not: %s",
                               found.without)
                   : error_set(error, STATUS_SYSTEM,
                               "--engine gpu needs a device that OpenCL can use, and there is "
                               "none (clinfo lists them; /etc/OpenCL/vendors names their "
                               "drivers)");
    for (size_t i = 0; i < (found.n_gpu ? found.n_gpu : 1); i++)
        chosen[i] = !list || !*list;
    if (list && *list && !choose(&found, list, chosen))
        return refuse(&found, list, error);
    for (size_t i = 0; i < found.n && *n < DEVICE_MOST; i++) {
        if (!chosen[i])
            continue;
        device[*n].cl = device->cl;
        if (open_one(&device[(*n)++], found.device[i].id, found.device[i].name, error))
            return error->status;
    }
    return STATUS_OK;
}

void device_close(struct device *device)
{
    if (device->context)
        device->cl.clReleaseContext(device->context);
    /* Drivers have threads and handlers at exit of their own. */
    shared_object_leave(device->library);
    *device = (struct device){0};
}

cl_handle device_build(const struct device *device, size_t n_text, const char **text, bool unrolls,
                       struct error *error)
{
    const struct opencl *cl = &device->cl;
    char log[8192] = "";
    int32_t code = 0;
    /* Denormals, division and square roots are exact without options; none that relaxes them is
     * given. */
    static const char *const options[] = {"-cl-std=CL1.2 -w -DUNROLL", "-cl-std=CL1.2 -w"};
    for (size_t k = unrolls ? 0 : 1; k < 2; k++) {
        cl_handle program = cl->clCreateProgramWithSource(device->context, (uint32_t)n_text, text,
                                                          NULL, &code);
        code = program ? cl->clBuildProgram(program, 1, &device->id, options[k], NULL, NULL) : code;
        if (program && code == 0)
            return program;
        if (program)
            cl->clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, sizeof log - 1,
                                      log, NULL);
        if (program)
            cl->clReleaseProgram(program);
    }
    error_set(error, STATUS_SYSTEM, "the device's compiler failed (%s, OpenCL's error %d): %.800s",
              device->name, (int)code, log);
    return NULL;
}

/* Operations whose results must be the CPU's. */
enum { N_OPERATION = 6, N_TRIAL = 4096 };
static const char trial[] =
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "__kernel void trial(__global double *x, int n)\n{\n"
    "    size_t i = get_global_id(0);\n    double a = x[i], b = x[i + n], s = 0;\n"
    "    __global double *out = x + 2 * n + i;\n"
    "    out[0] = a * b + b;\n    out[n] = fma(a, b, -b);\n    out[2 * n] = a / b;\n    out[3 * n] "
    "= sqrt(fabs(a));\n"
    "    out[4 * n] = (a * 1e-300) * (b * 1e-15);\n"
    "    for (int k = 0; k < 20; k++) { s = fma(a, s, b); s = s / (1.0 + fabs(s)); s = s * a - b; "
    "}\n"
    "    out[5 * n] = s;\n}\n";
static const char *const operation[N_OPERATION] = {
    "products and sums", "fused products and sums", "division",
    "square roots",      "numbers close to zero",   "sequences of operations"};

static void compute(double a, double b, double out[N_OPERATION])
{
    volatile double product = a * b, small = a * 1e-300, other = b * 1e-15, s = 0, moved;
    out[0] = product + b;
    out[1] = fma(a, b, -b);
    out[2] = a / b;
    out[3] = sqrt(fabs(a));
    out[4] = small * other;
    for (int k = 0; k < 20; k++) {
        s = fma(a, s, b);
        s = s / (1.0 + fabs(s));
        moved = s * a;
        s = moved - b;
    }
    out[5] = s;
}

/* Numbers of all sizes, by a linear congruential generator. */
static void fill(double *x, size_t n)
{
    uint64_t state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double mantissa = (double)(int64_t)(state >> 11) * 0x1p-53 - 0.5;
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        x[i] = ldexp(mantissa, (int)(state >> 58) - 32);
    }
}

static int32_t run_trial(const struct device *device, cl_handle program, double *x, size_t n_byte)
{
    const struct opencl *cl = &device->cl;
    int32_t code = 0, n = N_TRIAL;
    size_t n_item = N_TRIAL;
    cl_handle queue = cl->clCreateCommandQueue(device->context, device->id, 0, &code);
    cl_handle buffer = queue ? cl->clCreateBuffer(device->context, CL_MEM_READ_WRITE, n_byte, NULL,
                                                  &code)
                             : NULL;
    cl_handle kernel = buffer ? cl->clCreateKernel(program, "trial", &code) : NULL;
    if (kernel)
        code = cl->clEnqueueWriteBuffer(queue, buffer, 1, 0, n_byte, x, 0, NULL, NULL);
    if (kernel && code == 0)
        code = cl->clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    if (kernel && code == 0)
        code = cl->clSetKernelArg(kernel, 1, sizeof n, &n);
    if (kernel && code == 0)
        code = cl->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n_item, NULL, 0, NULL, NULL);
    if (kernel && code == 0)
        code = cl->clEnqueueReadBuffer(queue, buffer, 1, 0, n_byte, x, 0, NULL, NULL);
    if (kernel)
        cl->clReleaseKernel(kernel);
    if (buffer)
        cl->clReleaseMemObject(buffer);
    if (queue)
        cl->clReleaseCommandQueue(queue);
    return code;
}

bool device_has_same_bits(const struct device *device, struct error *error)
{
    const char *text = trial;
    size_t n_byte = (2 + N_OPERATION) * N_TRIAL * sizeof(double), k = 0, i = 0;
    double *x = calloc(1, n_byte), expected[N_OPERATION];
    cl_handle program = x ? device_build(device, 1, &text, false, error) : NULL;
    bool same = program;
    if (!x)
        error_set(error, STATUS_NO_MEMORY, "no memory to try a device");
    if (program) {
        fill(x, 2 * N_TRIAL);
        int32_t code = run_trial(device, program, x, n_byte);
        device->cl.clReleaseProgram(program);
        same = code == 0;
        if (code != 0)
            error_set(error, STATUS_SYSTEM,
                      "the device %s does not run a program (OpenCL's error %d)", device->name,
                      (int)code);
    }
    for (i = 0; same && i < N_TRIAL; i++) {
        compute(x[i], x[N_TRIAL + i], expected);
        for (k = 0; same && k < N_OPERATION; k++)
            if (memcmp(&expected[k], &x[(2 + k) * N_TRIAL + i], sizeof expected[k]) != 0) {
                same = false;
                error_set(error, STATUS_SYSTEM,
                          "the device %s does not give the bits of this CPU: %s differ",
                          device->name, operation[k]);
            }
    }
    free(x);
    return same;
}

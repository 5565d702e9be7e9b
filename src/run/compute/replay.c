/* Encodes requests and answers, and decides when they are worth a file. The format of an answer:
 *
 *   request  u32 kind and, above its 8 bits, the experiment, n_model, n_sens, n_row; i64
 *            max_steps; f64 tighter, p[n_model] for each period; u32 sens[n_sens] of the first
 *   answer   u32 outcome (and bits: it crosses a jump, it is stiff), n_reason; f64 t_reached,
 *            stiff_from; i64 n_step, n_rhs, n_jacobian, n_factor, elapsed_ns; reason[n_reason];
 *            if the outcome is OK the arrays, f64: prediction, noise, d_prediction, d_noise,
 *            gradient, as `kind` says; matrices with a column for each of sens
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/replay.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

enum { HAS_NOISE = 1, HAS_D_PREDICTION = 2, HAS_D_NOISE = 4, IS_ADJOINT = 8, BY_LANES = 16 };
enum { EXPERIMENT_SHIFT = 8 };
enum { CROSSES = 1 << 16, IS_STIFF = 1 << 17 }; /* in an answer's outcome */
enum {
    REQUEST_HEAD = 4 * 4 + 2 * 8,
    ANSWER_HEAD = 2 * 4 + 7 * 8,
    N_REASON = sizeof((struct evaluation *)0)->reason
};

/* Memory for answers that are not written yet: this many bytes, or a few answers. */
enum { MEMORY = 256 * 1024, N_ANSWER_IN_MEMORY = 4 };
/* Writing takes about a nanosecond per byte. For answers that are computed faster than this it
 * would cost over a hundredth. */
enum { NS_PER_BYTE = 80 };

/* The arrays of a successful answer to this request. */
struct parts {
    uint32_t kind;
    struct { double *values; size_t n, n_column; } part[5];
    size_t n_number;
};

static struct parts parts_of(const struct replay *replay, const struct evaluation *evaluation)
{
    const struct evaluation_adjoint *adjoint = evaluation->adjoint;
    size_t n_row = evaluation->task->n_row, n_sens = evaluation->n_sens;
    bool has_matrix = n_sens && !adjoint;
    uint32_t experiment = (uint32_t)(evaluation->task - replay->task);
    uint32_t kind = experiment << EXPERIMENT_SHIFT | (evaluation->noise ? HAS_NOISE : 0) |
                    (adjoint ? IS_ADJOINT : 0) |
                    (evaluation->engine != ENGINE_REFERENCE ? BY_LANES : 0) |
                    (has_matrix && evaluation->d_prediction ? HAS_D_PREDICTION : 0) |
                    (has_matrix && evaluation->d_noise ? HAS_D_NOISE : 0);
    struct parts parts = {.kind = kind,
                          .part = {{evaluation->prediction, n_row, 1},
                                   {evaluation->noise, n_row, kind & HAS_NOISE ? 1 : 0},
                                   {evaluation->d_prediction, n_row,
                                    kind & HAS_D_PREDICTION ? n_sens : 0},
                                   {evaluation->d_noise, n_row, kind & HAS_D_NOISE ? n_sens : 0},
                                   {adjoint ? adjoint->gradient : NULL, n_sens, adjoint ? 1 : 0}}};
    for (int i = 0; i < 5; i++)
        parts.n_number += parts.part[i].n * parts.part[i].n_column;
    return parts;
}

/* The numbers of column k of an array. */
static double *column_of(const struct evaluation *evaluation, const struct parts *parts, int i,
                         size_t k)
{
    size_t stride = evaluation->stride ? evaluation->stride : evaluation->task->n_row;
    bool is_matrix = i == 2 || i == 3;
    return parts->part[i].values +
           stride * (is_matrix && evaluation->column ? evaluation->column[k] : k);
}

static size_t n_part_of(const struct evaluation *evaluation)
{
    return 1 + evaluation->task->n_phase;
}

static size_t request_size(const struct evaluation *evaluation, size_t n_model)
{
    return REQUEST_HEAD + 8 * n_model * n_part_of(evaluation) + 4 * evaluation->n_sens;
}

static unsigned char *put_request(unsigned char *out, const struct evaluation *evaluation,
                                  size_t n_model, uint32_t kind)
{
    out = bytes_put_32(out, kind);
    out = bytes_put_32(out, (uint32_t)n_model);
    out = bytes_put_32(out, (uint32_t)evaluation->n_sens);
    out = bytes_put_32(out, (uint32_t)evaluation->task->n_row);
    out = bytes_put_64(out, (uint64_t)evaluation->max_steps);
    out = bytes_put(out, &evaluation->tighter, 1, sizeof(double));
    out = bytes_put(out, evaluation->p, n_model * n_part_of(evaluation), sizeof(double));
    for (size_t i = 0; i < evaluation->n_sens; i++)
        out = bytes_put_32(out, evaluation->sens[i]);
    return out;
}

bool replays_init(struct replays *replays, const char *journal, const struct run_identity *identity)
{
    *replays = (struct replays){.folder = answers_folder_new(journal, identity)};
    if (replays->folder && monitor_init(&replays->lock))
        return true;
    answers_folder_free(replays->folder);
    replays->folder = NULL;
    return false;
}

void replays_look(struct replays *replays, const char *journal, const struct run_identity *identity)
{
    struct answers_folder *now = replays->folder ? answers_folder_new(journal, identity) : NULL;
    if (!now)
        return;
    answers_folder_free(replays->folder);
    replays->folder = now;
}

void replays_fini(struct replays *replays)
{
    if (!replays->folder)
        return;
    answers_folder_free(replays->folder);
    monitor_fini(&replays->lock);
    replays->folder = NULL;
}

bool replays_tell(struct replays *replays, struct error *trouble)
{
    if (!replays->folder || replays->is_reported || counter_get(&replays->has_trouble) == 0)
        return false;
    monitor_enter(&replays->lock);
    *trouble = replays->trouble;
    monitor_leave(&replays->lock);
    replays->is_reported = true;
    return true;
}

static void flush(struct replay *replay, int64_t elapsed_ns)
{
    struct error error;
    struct replays *replays = replay->replays;
    replay->written_ns = elapsed_ns;
    if (answers_flush(&replay->answers, &error) == STATUS_OK)
        return;
    monitor_enter(&replays->lock);
    if (counter_get(&replays->has_trouble) == 0)
        replays->trouble = error;
    counter_set(&replays->has_trouble, 1);
    monitor_leave(&replays->lock);
}

void replay_begin(struct replay *replay, struct replays *replays, uint64_t fit, size_t n_model,
                  const struct ode_task *task, size_t n_task)
{
    size_t n_row = 0;
    for (size_t e = 0; e < n_task; e++)
        n_row = task[e].n_row > n_row ? task[e].n_row : n_row;
    const struct answers_folder *folder = replays ? replays->folder : NULL;
    size_t most = REQUEST_HEAD + 20 * n_model + ANSWER_HEAD + N_REASON + 16 * n_row * (1 + n_model);
    if (folder && !answers_folder_n(folder) && counter_get(&replays->has_trouble))
        folder = NULL;
    replay->replays = replays;
    replay->written_ns = 0;
    replay->n_model = n_model;
    replay->task = task;
    replay->payload = 0;
    answers_begin(&replay->answers, folder, fit, most);
}

void replay_fini(struct replay *replay)
{
    answers_fini(&replay->answers);
    free(replay->request);
    replay->request = NULL;
}

/* Whether the stored request is this one. */
static bool is_same_request(struct replay *replay, const struct evaluation *evaluation,
                            uint32_t kind, const unsigned char *stored, size_t n)
{
    size_t size = request_size(evaluation, replay->n_model);
    if (size > replay->capacity) {
        unsigned char *more = realloc(replay->request, size);
        if (!more)
            return false;
        replay->request = more;
        replay->capacity = size;
    }
    put_request(replay->request, evaluation, replay->n_model, kind);
    return n >= size && memcmp(replay->request, stored, size) == 0;
}

/* The answer behind a stored request that was this one; false: it is damaged. */
static bool take_answer(struct replay *replay, struct evaluation *evaluation,
                        const struct parts *parts, const unsigned char *in,
                        const unsigned char *end, int64_t *elapsed_ns)
{
    if (end - in < ANSWER_HEAD)
        return false;
    uint32_t outcome = bytes_take_32(&in), n_reason = bytes_take_32(&in);
    evaluation->crosses = outcome & CROSSES;
    evaluation->course.is_stiff = outcome & IS_STIFF;
    outcome &= ~(uint32_t)(CROSSES | IS_STIFF);
    size_t arrays = outcome == EVALUATION_OK ? 8 * parts->n_number : 0;
    if (outcome >= EVALUATION_NO_MEMORY || n_reason >= N_REASON ||
        (size_t)(end - in) != ANSWER_HEAD - 8 + n_reason + arrays)
        return false;
    evaluation->outcome = (enum evaluation_outcome)outcome;
    bytes_take(&in, &evaluation->t_reached, 1, sizeof(double));
    bytes_take(&in, &evaluation->course.stiff_from, 1, sizeof(double));
    evaluation->n_step = (int64_t)bytes_take_64(&in);
    evaluation->n_rhs = (int64_t)bytes_take_64(&in);
    evaluation->n_jacobian = (int64_t)bytes_take_64(&in);
    evaluation->n_factor = (int64_t)bytes_take_64(&in);
    *elapsed_ns = replay->written_ns = (int64_t)bytes_take_64(&in);
    memcpy(evaluation->reason, in, n_reason);
    evaluation->reason[n_reason] = '\0';
    in += n_reason;
    for (int i = 0; outcome == EVALUATION_OK && i < 5; i++)
        for (size_t k = 0; k < parts->part[i].n_column; k++)
            bytes_take(&in, column_of(evaluation, parts, i, k), parts->part[i].n, sizeof(double));
    return true;
}

bool replay_answer(struct replay *replay, struct evaluation *const *evaluations, size_t n,
                   int64_t *elapsed_ns)
{
    size_t n_byte;
    const unsigned char *in = answers_next(&replay->answers, &n_byte);
    for (size_t k = 0; in && k < n; k++) {
        struct evaluation *evaluation = evaluations[k];
        const struct parts parts = parts_of(replay, evaluation);
        if (evaluation->is_finished || evaluation->end ||
            !is_same_request(replay, evaluation, parts.kind, in, n_byte))
            continue;
        if (!take_answer(replay, evaluation, &parts, in + request_size(evaluation, replay->n_model),
                         in + n_byte, elapsed_ns))
            break;
        evaluation->is_finished = true;
        counter_add(&replay->replays->n_replayed, 1);
        return true;
    }
    if (in)
        answers_refuse(&replay->answers);
    return false;
}

/* Whether the answers in memory have to go, and whether they may go to the file. */
static void make_room(struct replay *replay, int64_t elapsed_ns)
{
    int64_t since_ns = elapsed_ns - replay->written_ns;
    size_t pending = answers_pending(&replay->answers), few = N_ANSWER_IN_MEMORY * replay->payload;
    if (since_ns < REPLAY_WORTH_NS && pending < (few > MEMORY ? few : MEMORY))
        return;
    if (since_ns < NS_PER_BYTE * (int64_t)pending)
        answers_drop(&replay->answers); /* computing them again is almost as fast as storing them */
    else
        flush(replay, elapsed_ns);
}

void replay_keep(struct replay *replay, const struct evaluation *evaluation, int64_t elapsed_ns)
{
    if (!replay->answers.folder || evaluation->end /* not kept */
        || evaluation->outcome == EVALUATION_NO_MEMORY) /* the next attempt may succeed */
        return;
    struct parts parts = parts_of(replay, evaluation);
    size_t n_reason = strnlen(evaluation->reason, N_REASON - 1);
    bool is_good = evaluation->outcome == EVALUATION_OK;
    size_t size = request_size(evaluation, replay->n_model) + ANSWER_HEAD + n_reason +
                  (is_good ? 8 * parts.n_number : 0);
    unsigned char *out = answers_add(&replay->answers, size);
    if (!out)
        return;
    out = put_request(out, evaluation, replay->n_model, parts.kind);
    out = bytes_put_32(out, (uint32_t)evaluation->outcome | (evaluation->crosses ? CROSSES : 0) |
                            (evaluation->course.is_stiff ? IS_STIFF : 0));
    out = bytes_put_32(out, (uint32_t)n_reason);
    out = bytes_put(out, &evaluation->t_reached, 1, sizeof(double));
    out = bytes_put(out, &evaluation->course.stiff_from, 1, sizeof(double));
    out = bytes_put_64(out, (uint64_t)evaluation->n_step);
    out = bytes_put_64(out, (uint64_t)evaluation->n_rhs);
    out = bytes_put_64(out, (uint64_t)evaluation->n_jacobian);
    out = bytes_put_64(out, (uint64_t)evaluation->n_factor);
    out = bytes_put_64(out, (uint64_t)elapsed_ns);
    memcpy(out, evaluation->reason, n_reason);
    out += n_reason;
    for (int i = 0; is_good && i < 5; i++)
        for (size_t k = 0; k < parts.part[i].n_column; k++)
            out = bytes_put(out, column_of(evaluation, &parts, i, k), parts.part[i].n,
                            sizeof(double));
    if (size > replay->payload)
        replay->payload = size;
    make_room(replay, elapsed_ns);
}

void replay_leave(struct replay *replay, int64_t elapsed_ns)
{
    if (replay->replays && elapsed_ns >= REPLAY_WORTH_NS)
        flush(replay, elapsed_ns);
}

void replay_end(struct replay *replay) { answers_drop(&replay->answers); }

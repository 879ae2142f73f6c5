// SPDX-License-Identifier: MIT
// Compares every instruction set's kernels with the formulas in double, at sizes with all kinds of
// remainders.
#include "base/mem.h"
#include "tests/support/tap.h"
#include "trainer/cpu/ops.h"
#include "trainer/cpu/pool.h"
#include "trainer/data/order.h"
#include "trainer/nn/density.h"
#include "trainer/tensor/memory.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static float *random_floats(size_t n, uint64_t seed, float zeros)
{
    random_state r = random_from(seed, 0);
    float *f = memory_array(n, sizeof *f);
    for (size_t i = 0; i < n; i++) {
        float value = 2 * random_unit(&r) - 1;
        f[i] = random_unit(&r) < zeros ? 0 : value;
    }
    return f;
}

// Calls fn once for every instruction set of this machine, and reports the missing ones.
static void each_cpu(void (*fn)(const cpu_ops *cpu))
{
    for (size_t i = 0; cpu_nth(i); i++) {
        if (cpu_nth(i)->usable())
            fn(cpu_nth(i));
        else
            printf("# this machine has no %s\n", cpu_nth(i)->name);
    }
}

static const size_t sizes[][3] = { // rows, inputs, width
    {64, 784, 64}, {1, 1, 16}, {7, 65, 48}, {33, 130, 32}, {13, 64, 16}, {66, 63, 64},
    {67, 321, 64}, {67, 321, 48}};

static void check_multiply(const cpu_ops *cpu)
{
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t rows = sizes[s][0], inputs = sizes[s][1], width = sizes[s][2], ldx = inputs + 3;
        float *x = random_floats(rows * ldx, 1, 0.5f), *w = random_floats(inputs * width, 2, 0);
        float *bias = random_floats(width, 3, 0), *y = random_floats(rows * 80, 4, 0);
        for (int add = 0; add < 2; add++) {
            product p = {.y = y, .x = x, .w = w, .bias = add ? NULL : bias, .ldy = 80, .ldx = ldx};
            p.rows = rows, p.inputs = inputs, p.width = width;
            cpu->multiply(&p);
        }
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < width; c++) {
                double sum = 0;
                for (size_t k = 0; k < inputs; k++)
                    sum += (double)x[r * ldx + k] * (double)w[k * width + c];
                CHECK_NEAR((double)y[r * 80 + c], (double)bias[c] + 2 * sum, 2e-4);
            }
        free(x), free(w), free(bias), free(y);
    }
}

TEST(multiply)
{
    each_cpu(check_multiply);
}

static void check_train(const cpu_ops *cpu)
{
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t rows = sizes[s][0], inputs = sizes[s][1], width = sizes[s][2], ldx = inputs + 3;
        float *x = random_floats(rows * ldx, 1, 0.5f), *d = random_floats(rows * 80, 2, 0);
        float *g = memory_array(inputs * width, sizeof *g);
        update rule = {.rule = UPDATE_STORE};
        gradient job = {.to = {.g = g}, .x = x, .d = d, .ldx = ldx, .ldd = 80, .rule = &rule};
        job.rows = rows, job.inputs = inputs, job.width = width;
        for (int times = 1; times <= 2; times++, rule.rule = UPDATE_ADD) {
            cpu->train(&job);
            for (size_t k = 0; k < inputs; k++)
                for (size_t c = 0; c < width; c++) {
                    double sum = 0;
                    for (size_t r = 0; r < rows; r++)
                        sum += (double)x[r * ldx + k] * (double)d[r * 80 + c];
                    CHECK_NEAR((double)g[k * width + c], times * sum, times * 2e-5);
                }
        }
        rule.rule = UPDATE_STORE;
        float *out = memory_array(64, sizeof *out);
        cpu->train_bias(&rule, (params){.g = out}, d, 80, rows, width);
        for (size_t c = 0; c < width; c++) {
            double sum = 0;
            for (size_t r = 0; r < rows; r++)
                sum += (double)d[r * 80 + c];
            CHECK_NEAR((double)out[c], sum, 2e-5);
        }
        free(x), free(d), free(g), free(out);
    }
}

TEST(train_stores_the_gradient_or_adds_it)
{
    each_cpu(check_train);
}

static void check_turn(const cpu_ops *cpu)
{
    static const size_t shapes[][2] = {{64, 784}, {1, 16}, {63, 17}, {65, 31}, {130, 100}, {7, 3}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        size_t rows = shapes[s][0], inputs = shapes[s][1], tiles = (rows + TILE - 1) / TILE;
        uint8_t *x = malloc(rows * inputs), *turned = memory_array(tiles * TILE * inputs, 1);
        const uint8_t **row = calloc(rows, sizeof *row);
        for (size_t i = 0; i < rows * inputs; i++)
            x[i] = (uint8_t)(i * 2654435761u >> 13);
        for (size_t r = 0; r < rows; r++)
            row[r] = x + r * inputs;
        memset(turned, 0xff, tiles * TILE * inputs);
        cpu->turn_u8(turned, row, rows, inputs);
        size_t wrong = 0;
        for (size_t r = 0; r < tiles * TILE; r++)
            for (size_t k = 0; k < inputs; k++)
                wrong +=
                    turned[(r / TILE * inputs + k) * TILE + r % TILE] != (r < rows ? row[r][k] : 0);
        CHECK_INT(wrong, 0);
        free(x), free(turned), free(row);
    }
}

// What is fetched ahead is fetched to its end, and not beyond. (No result shows a prefetch.)
static void check_ahead(const cpu_ops *cpu)
{
    enum { ROWS = 64, INPUTS = 40, WIDTH = 64, NEXT = 3 };
    static const size_t bytes[] = {1, 64, 65, 784};
    static const uint32_t rows[NEXT] = {2, 0, 1};
    static const update rule = {.rule = UPDATE_ADD};
    char data[NEXT * 784];
    uint8_t seen[INPUTS] = {0};
    const void *row[ROWS];
    float *x = random_floats(ROWS * INPUTS, 12, 0.5f), *d = random_floats(ROWS * WIDTH, 13, 0);
    float *g = memory_array(INPUTS * WIDTH, sizeof *g);
    float *turned = memory_array(TILE * INPUTS, sizeof *turned);
    for (size_t r = 0; r < ROWS; r++)
        row[r] = x + r * INPUTS;
    turn_f32(turned, (const float *const *)row, ROWS, INPUTS);
    sparse_rows input = {.row = row, .inputs = INPUTS, .turned = turned};
    for (size_t i = 0; i < 2 * (sizeof bytes / sizeof *bytes); i++) {
        upcoming ahead = {
            .data = data, .stride = 784, .bytes = bytes[i / 2], .rows = rows, .n = NEXT};
        gradient one = {.to = {.g = g},
            .x = x,
            .d = d,
            .ldx = INPUTS,
            .ldd = WIDTH,
            .rows = ROWS,
            .inputs = INPUTS,
            .width = WIDTH,
            .rule = &rule,
            .seen = seen,
            .ahead = &ahead};
        if (i % 2)
            cpu->train_sparse(&one, 1, &input);
        else
            cpu->train(&one);
        CHECK(ahead.n < NEXT); // it has begun
        upcoming_fetch(&ahead, SIZE_MAX);
        CHECK_INT(ahead.n, 0);
        CHECK_INT(ahead.at, 0);
        CHECK(ahead.rows == rows + NEXT);
    }
    free(x), free(d), free(g), free(turned);
}

TEST(the_next_batch_is_fetched_to_its_end)
{
    each_cpu(check_ahead);
}

TEST(bytes_are_turned)
{
    each_cpu(check_turn);
}

// What a panel's kernels write. Every third input was seen before, so it has moments.
struct panel {
    float *y;
    params to;
    uint8_t *seen;
};

static struct panel panel_new(size_t rows, size_t inputs, size_t width, unsigned seed)
{
    struct panel p = {.y = memory_array(rows * 80, sizeof(float)), .seen = calloc(inputs, 1)};
    p.to.w = p.to.g = random_floats(inputs * width, 9 + 20 * seed, 0);
    p.to.m = random_floats(inputs * width, 10 + 20 * seed, 0);
    p.to.v = random_floats(inputs * width, 11 + 20 * seed, 0);
    for (size_t at = 0; at < inputs * width; at++) {
        p.to.m[at] = at / width % 3 ? 0 : fabsf(p.to.m[at]);
        p.to.v[at] = at / width % 3 ? 0 : fabsf(p.to.v[at]);
    }
    for (size_t k = 0; k < inputs; k += 3)
        p.seen[k] = 1;
    return p;
}

static void panel_free(struct panel *p)
{
    free(p->y), free(p->to.w), free(p->to.m), free(p->to.v), free(p->seen);
}

// Sparse kernels read the same batch as floats and as bytes. Both must equal the dense kernels to
// the last bit, so that the choice by density never changes a result.
static void check_sparse_type(
    const cpu_ops *cpu, const update *rule, bool bytes, size_t rows, size_t inputs, size_t width)
{
    size_t tiles = (rows + TILE - 1) / TILE;
    uint8_t *b = calloc(rows, inputs);
    float *x = memory_array(rows * inputs, sizeof *x), value[256];
    float *random = random_floats(rows * inputs, 5, 0.8f), *bias = random_floats(width, 7, 0);
    float *w[] = {random_floats(inputs * width, 6, 0), random_floats(inputs * width, 16, 0)};
    float *d[] = {random_floats(rows * 80, 8, 0), random_floats(rows * 80, 18, 0)};
    const void **row = calloc(rows, sizeof *row);
    void *turned = memory_array(tiles * TILE * inputs, sizeof(float));
    for (int i = 0; i < 256; i++)
        value[i] = (float)i * (1 / 255.0f);
    for (size_t i = 0; i < rows * inputs; i++) {
        b[i] = (uint8_t)(fabsf(random[i]) * 255);
        x[i] = bytes ? value[b[i]] : random[i];
    }
    for (size_t r = 0; r < rows; r++)
        row[r] = bytes ? (void *)(b + r * inputs) : x + r * inputs;
    if (bytes)
        cpu->turn_u8(turned, (const uint8_t *const *)row, rows, inputs);
    else
        turn_f32(turned, (const float *const *)row, rows, inputs);
    sparse_rows in = {
        .row = row, .value = value, .bytes = bytes, .inputs = inputs, .turned = turned};

    // Two panels: dense, sparse one after the other, and sparse as a pair.
    struct panel panel[3][2];
    for (int way = 0; way < 3; way++) {
        product p[2];
        gradient job[2];
        for (unsigned q = 0; q < 2; q++) {
            panel[way][q] = panel_new(rows, inputs, width, q);
            p[q] = (product){.y = panel[way][q].y,
                .x = x,
                .w = w[q],
                .bias = bias,
                .ldy = 80,
                .ldx = inputs,
                .rows = rows,
                .inputs = inputs,
                .width = width};
            job[q] = (gradient){.to = panel[way][q].to,
                .x = x,
                .d = d[q],
                .ldx = inputs,
                .ldd = 80,
                .rows = rows,
                .inputs = inputs,
                .width = width,
                .rule = rule,
                .seen = panel[way][q].seen};
            if (way == 0)
                cpu->multiply(&p[q]), cpu->train(&job[q]);
            else if (way == 1)
                cpu->multiply_sparse(&p[q], 1, &in), cpu->train_sparse(&job[q], 1, &in);
        }
        if (way == 2)
            cpu->multiply_sparse(p, 2, &in), cpu->train_sparse(job, 2, &in);
    }
    for (int way = 1; way < 3; way++)
        for (int q = 0; q < 2; q++) {
            const struct panel *have = &panel[way][q], *want = &panel[0][q];
            CHECK(memcmp(have->y, want->y, rows * 80 * sizeof(float)) == 0);
            CHECK(memcmp(have->to.w, want->to.w, inputs * width * sizeof(float)) == 0);
            CHECK(memcmp(have->to.v, want->to.v, inputs * width * sizeof(float)) == 0);
        }
    for (int q = 0; q < 2; q++)
        free(w[q]), free(d[q]);
    for (int i = 0; i < 6; i++)
        panel_free(&panel[i / 2][i % 2]);
    free(b), free(x), free(random), free(bias), free(row), free(turned);
}

static void check_sparse(const cpu_ops *cpu)
{
    const update rules[] = {{.rule = UPDATE_STORE}, {UPDATE_ADAM, 0.01f, 0.9f, 0.999f, 1e-7f, 0},
        {UPDATE_ADAM, 0.01f, 0.9f, 0.999f, 1e-7f, 0.01f},
        {.rule = UPDATE_MOMENTUM, .rate = 0.01f, .beta_1 = 0.9f}};
    for (size_t u = 0; u < sizeof rules / sizeof *rules; u++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            check_sparse_type(cpu, &rules[u], true, sizes[s][0], sizes[s][1], sizes[s][2]);
            check_sparse_type(cpu, &rules[u], false, sizes[s][0], sizes[s][1], sizes[s][2]);
        }
        check_sparse_type(cpu, &rules[u], true, 200, 100, 64);
    }
}

TEST(sparse_equals_dense_to_the_last_bit)
{
    each_cpu(check_sparse);
}

// One step of a rule in double, by the formulas of nn/optimizer.h.
static void update_reference(const update *u, double *w, double *m, double *v, double *a, double g)
{
    double rate = (double)u->rate, b1 = (double)u->beta_1, b2 = (double)u->beta_2;
    double epsilon = (double)u->epsilon;
    *w -= (double)u->decay * *w;
    if (u->rule == UPDATE_SGD) {
        *w -= rate * g;
    } else if (u->rule == UPDATE_ADAM) {
        *m = b1 * *m + (1 - b1) * g;
        *v = b2 * *v + (1 - b2) * g * g;
        *w -= rate * *m / (sqrt(*v) + epsilon);
    } else if (u->rule == UPDATE_ADAGRAD) {
        *m += g * g;
        *w -= rate * g / sqrt(*m + epsilon);
    } else if (u->rule >= UPDATE_RMSPROP && u->rule <= UPDATE_RMSPROP_CENTERED_MOMENTUM) {
        bool moves =
            u->rule == UPDATE_RMSPROP_MOMENTUM || u->rule == UPDATE_RMSPROP_CENTERED_MOMENTUM;
        *m = b2 * *m + (1 - b2) * g * g;
        *a = u->rule >= UPDATE_RMSPROP_CENTERED ? b2 * *a + (1 - b2) * g : 0;
        *v = (moves ? b1 * *v : 0) + rate * g / sqrt(*m - *a * *a + epsilon);
        *w -= *v;
    } else {
        *m = b1 * *m - rate * g;
        *w += u->rule == UPDATE_NESTEROV ? b1 * *m - rate * g : *m;
    }
}

static void check_update(const cpu_ops *cpu)
{
    enum { N = 112 }; // some vectors side by side, and a rest
    static const update_rule rules[] = {UPDATE_SGD, UPDATE_MOMENTUM, UPDATE_NESTEROV, UPDATE_ADAM,
        UPDATE_RMSPROP, UPDATE_RMSPROP_MOMENTUM, UPDATE_RMSPROP_CENTERED,
        UPDATE_RMSPROP_CENTERED_MOMENTUM, UPDATE_ADAGRAD};
    for (size_t i = 0; i < 2 * ARRAY_LEN(rules); i++) {
        update u = {.rule = rules[i / 2],
            .rate = 0.01f,
            .beta_1 = 0.9f,
            .beta_2 = 0.99f,
            .epsilon = 1e-7f,
            .decay = i % 2 ? 0.03f : 0};
        float *w = random_floats(N, 1, 0), *m = memory_array(N, 4), *v = memory_array(N, 4);
        float *a = memory_array(N, 4);
        double wd[N], md[N] = {0}, vd[N] = {0}, ad[N] = {0};
        for (size_t j = 0; j < N; j++)
            wd[j] = (double)w[j];
        for (uint64_t step = 0; step < 5; step++) {
            float *g = random_floats(N, 10 + step, 0.1f);
            cpu->update(&u, (params){.w = w, .m = m, .v = v, .a = a}, g, N);
            for (size_t j = 0; j < N; j++)
                update_reference(&u, &wd[j], &md[j], &vd[j], &ad[j], (double)g[j]);
            free(g);
        }
        for (size_t j = 0; j < N; j++)
            CHECK_NEAR((double)w[j], wd[j], 1e-6);
        free(w), free(m), free(v), free(a);
    }
}

TEST(update_rules_follow_their_formulas)
{
    each_cpu(check_update);
}

static void check_activations(const cpu_ops *cpu)
{
    enum { N = 96 };
    static const activation all[] = {
        ACTIVATION_LINEAR, ACTIVATION_RELU, ACTIVATION_SIGMOID, ACTIVATION_TANH};
    for (size_t a = 0; a < 4; a++) {
        float *y = memory_array(N, 4), *d = memory_array(N, 4);
        for (int i = 0; i < N; i++)
            y[i] = (float)(i - 48) * 0.37f, d[i] = 1;
        cpu->activate(all[a], y, N, 1, N);
        cpu->derive(all[a], d, N, y, N, 1, N);
        for (int i = 0; i < N; i++) {
            double z = (double)((float)(i - 48) * 0.37f), want = z, slope = 1;
            if (all[a] == ACTIVATION_RELU)
                want = z > 0 ? z : 0, slope = z > 0;
            else if (all[a] == ACTIVATION_SIGMOID)
                want = 1 / (1 + exp(-z)), slope = want * (1 - want);
            else if (all[a] == ACTIVATION_TANH)
                want = tanh(z), slope = 1 - want * want;
            CHECK_NEAR((double)y[i], want, 3e-7);
            CHECK_NEAR((double)d[i], slope, 1e-6);
        }
        free(y), free(d);
    }
}

TEST(activations_and_their_slopes)
{
    each_cpu(check_activations);
}

// nan stays nan in every column, whatever its neighbours are; infinity goes to the function's
// limit.
static void check_not_finite(const cpu_ops *cpu)
{
    static const activation all[] = {
        ACTIVATION_LINEAR, ACTIVATION_RELU, ACTIVATION_SIGMOID, ACTIVATION_TANH};
    static const double high[] = {INFINITY, INFINITY, 1, 1}, low[] = {-INFINITY, 0, 0, -1};
    float *y = memory_array(32, 4);
    for (size_t a = 0; a < 4; a++) {
        for (int i = 0; i < 32; i++)
            y[i] = i % 4 == 1 ? NAN : i % 4 == 2 ? INFINITY : i % 4 == 3 ? -INFINITY : 0.5f;
        cpu->activate(all[a], y, 32, 1, 32);
        for (int i = 0; i < 32; i += 4) {
            CHECK(isfinite(y[i]) && isnan(y[i + 1]));
            CHECK((double)y[i + 2] == high[a]);
            CHECK_NEAR(isinf(low[a]) ? -1 / (double)y[i + 3] : (double)y[i + 3],
                isinf(low[a]) ? 0 : low[a], 1e-6);
        }
    }
    for (int at = 0; at < 20; at++) {
        float log_sum;
        for (int i = 0; i < 20; i++)
            y[i] = i == at ? NAN : (float)i;
        cpu->softmax(y, 32, 1, 20, &log_sum);
        CHECK(isnan(log_sum) && isnan(y[0]) && isnan(y[19]));
    }
    free(y);
}

TEST(what_is_not_a_number_stays_so)
{
    each_cpu(check_not_finite);
}

// Rows of classes and rows of many numbers go different ways.
static void check_softmax_sizes(const cpu_ops *cpu)
{
    for (size_t n = 1; n < 40; n += n < 18 ? 1 : 7) {
        size_t rows = 1 + n * 5 % 21, ld = (n + 15) / 16 * 16;
        float *z = random_floats(rows * ld, n, 0), *log_sum = memory_array(rows, 4);
        float *in = mem_dup(z, rows * ld * sizeof *z);
        cpu->softmax(z, ld, rows, n, log_sum);
        for (size_t r = 0; r < rows; r++) {
            double sum = 0;
            for (size_t i = 0; i < n; i++)
                sum += exp((double)in[r * ld + i]);
            CHECK_NEAR((double)log_sum[r], log(sum), 1e-5);
            for (size_t i = 0; i < ld; i++)
                CHECK_NEAR(
                    (double)z[r * ld + i], i < n ? exp((double)in[r * ld + i]) / sum : 0, 2e-7);
        }
        free(z), free(log_sum), free(in);
    }
}

TEST(softmax_of_any_size)
{
    each_cpu(check_softmax_sizes);
}

static void check_softmax(const cpu_ops *cpu)
{
    float *z = memory_array(2 * 32, 4), log_sum[2];
    for (int i = 0; i < 17; i++)
        z[i] = 1000 + (float)i, z[32 + i] = (float)i * -3;
    cpu->softmax(z, 32, 2, 17, log_sum);
    for (int r = 0; r < 2; r++) {
        double sum = 0, total = 0;
        for (int i = 0; i < 17; i++)
            sum += exp(r ? i * -3 : i - 16);
        for (int i = 0; i < 17; i++) {
            CHECK_NEAR((double)z[32 * r + i], exp(r ? i * -3 : i - 16) / sum, 2e-7);
            total += (double)z[32 * r + i];
        }
        CHECK_NEAR(total, 1, 1e-6);
        CHECK_NEAR((double)log_sum[r], (r ? 0 : 1016) + log(sum), 1e-4);
        for (int i = 17; i < 32; i++)
            CHECK_NEAR((double)z[32 * r + i], 0, 0);
    }
    free(z);
}

TEST(softmax_does_not_overflow)
{
    each_cpu(check_softmax);
}

static void check_expand(const cpu_ops *cpu)
{
    uint8_t in[37];
    float *out = memory_array(37, 4);
    for (int i = 0; i < 37; i++)
        in[i] = (uint8_t)(i * 7);
    cpu->expand(out, in, 37, 0.5f);
    for (int i = 0; i < 37; i++)
        CHECK_NEAR((double)out[i], (double)in[i] / 2, 0);
    free(out);
}

TEST(expand)
{
    each_cpu(check_expand);
}

static void check_copy_lines(const cpu_ops *cpu)
{
    enum { N = 32, LD = 48 };
    float *in = random_floats(N + 1, 1, 0), *out = memory_array(3 * LD, sizeof *out);
    uint16_t half[N + 1];
    cpu->halve(half, in, N + 1);
    for (int is_half = 0; is_half < 2; is_half++) {
        const void *from[] = {
            is_half ? half + 1 : (void *)(in + 1), NULL, is_half ? half : (void *)in};
        for (size_t i = 0; i < 3 * LD; i++)
            out[i] = 7;
        cpu->copy_lines(out, LD, from, 3, N, is_half);
        for (size_t c = 0; c < N; c++) {
            double near = is_half ? 1.0 / 256 : 0;
            CHECK_NEAR((double)out[c], (double)in[c + 1], near);
            CHECK(out[LD + c] == 0 && out[N] == 7);
            CHECK_NEAR((double)out[2 * LD + c], (double)in[c], near);
        }
    }
    free(in), free(out);
}

TEST(lines_are_copied_side_by_side)
{
    each_cpu(check_copy_lines);
}

// Its sums have the bits of the machine-independent set.
static void check_penalty(const cpu_ops *cpu)
{
    enum { N = 16 * 37 };
    const cpu_ops *plain = cpu_choose("plain", NULL);
    float *w = random_floats(N, 1, 0.3f), *g = random_floats(N, 2, 0);
    float *had = mem_dup(g, N * sizeof *g);
    double squares = 0, sizes_of = 0;
    for (size_t i = 0; i < N; i++) {
        squares += (double)w[i] * (double)w[i];
        sizes_of += fabs((double)w[i]);
    }
    CHECK_NEAR(cpu->penalty(w, N, true), squares, 1e-9);
    CHECK_NEAR(cpu->penalty(w, N, false), sizes_of, 1e-9);
    CHECK(cpu->penalty(w, N, true) == plain->penalty(w, N, true));
    CHECK(cpu->penalty(w, N, false) == plain->penalty(w, N, false));
    cpu->add_slopes(g, w, N - 3, 0.25f, 0.5f); // any number of them
    for (size_t i = 0; i < N; i++) {
        float slope = w[i] + (w[i] > 0 ? 0.25f : w[i] < 0 ? -0.25f : 0);
        CHECK_NEAR((double)g[i], (double)(i < N - 3 ? had[i] + slope : had[i]), 1e-6);
    }
    free(w), free(g);
    free(had);
}

TEST(what_regularizers_need)
{
    each_cpu(check_penalty);
}

TEST(unknown_instruction_set_lists_the_known)
{
    err e;
    CHECK(!cpu_choose("mmx", &e));
    CHECK_HAS(e.text, "unknown instruction set \"mmx\" (known: ");
    CHECK_HAS(e.text, "plain");
    CHECK_STR(cpu_choose("plain", &e)->name, "plain");
    CHECK(cpu_choose(NULL, &e)->usable());
}

struct meeting {
    pool *pool;
    atomic_int before, wrong;
};

static void meet(void *ctx, int thread)
{
    struct meeting *m = ctx;
    for (int round = 1; round <= 100; round++) {
        atomic_fetch_add(&m->before, 1);
        pool_barrier(m->pool);
        if (atomic_load(&m->before) != round * pool_threads(m->pool))
            atomic_fetch_add(&m->wrong, 1);
        pool_barrier(m->pool);
    }
}

static void count(void *ctx, int thread)
{
    struct meeting *m = ctx;
    atomic_fetch_add(&m->before, 1);
    pool_barrier(m->pool);
}

TEST(runs_alone_and_together_may_alternate)
{
    struct meeting m = {.pool = pool_new(3)};
    for (int run = 0; run < 2000; run++) {
        atomic_store(&m.before, 0);
        pool_run(m.pool, run % 3 == 0, count, &m);
        CHECK_INT(atomic_load(&m.before), run % 3 == 0 ? 1 : 3);
    }
    pool_free(m.pool);
}

TEST(nobody_passes_a_barrier_alone)
{
    for (int threads = 1; threads <= 8; threads++) {
        struct meeting m = {.pool = pool_new(threads)};
        CHECK_INT(pool_threads(m.pool), threads);
        for (int run = 0; run < 5; run++) {
            atomic_store(&m.before, 0);
            pool_run(m.pool, false, meet, &m);
        }
        CHECK_INT(atomic_load(&m.wrong), 0);
        pool_free(m.pool);
    }
}

struct places {
    cpu_set_t of[8];
    pid_t id[8];
};

static void look(void *ctx, int thread)
{
    struct places *p = ctx;
    sched_getaffinity(0, sizeof p->of[thread], &p->of[thread]);
    p->id[thread] = gettid();
}

static cpu_set_t only(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    return set;
}

// The core that no helper may run on, where they share out all others; -1: they do not.
static int home_of(const struct places *found, int threads, const cpu_set_t *all)
{
    cpu_set_t left = *all;
    int helpers = 0;
    for (int t = 1; t < threads; t++) {
        helpers += CPU_COUNT(&found->of[t]);
        CPU_XOR(&left, &left, &found->of[t]);
    }
    if (helpers != CPU_COUNT(all) - 1 || CPU_COUNT(&left) != 1)
        return -1;
    int core = 0;
    while (!CPU_ISSET(core, &left))
        core++;
    return core;
}

TEST(helpers_keep_off_the_callers_core_and_each_others)
{
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    int threads = CPU_COUNT(&all) < 8 ? CPU_COUNT(&all) : 8;
    if (threads < 2)
        SKIP("one core");
    pool *p = pool_new(threads);
    int moved = 0;
    for (int core = 0; core < CPU_SETSIZE && moved < 2; core++) {
        if (!CPU_ISSET(core, &all))
            continue;
        cpu_set_t home = only(core);
        struct places found;
        for (int again = 0, there = -1; there != core && again < 1000; again++) {
            sched_setaffinity(0, sizeof home, &home); // moves us, and we may leave again
            sched_setaffinity(0, sizeof all, &all);
            pool_run(p, false, look, &found);
            CHECK(CPU_EQUAL(&found.of[0], &all)); // the caller's own are as they were
            there = home_of(&found, threads, &all);
            CHECK(there >= 0);
            moved += there == core;
        }
    }
    CHECK_INT(moved, 2);
    pool_free(p);
}

// As `taskset -a` and launchers do, while the pool is there.
TEST(helpers_stay_where_others_put_them)
{
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    if (CPU_COUNT(&all) < 2)
        SKIP("one core");
    pool *p = pool_new(2);
    struct places found;
    pool_run(p, false, look, &found);
    for (int core = 0, tried = 0; core < CPU_SETSIZE && tried < 2; core++) {
        if (!CPU_ISSET(core, &all))
            continue;
        cpu_set_t narrow = only(core);
        for (int t = 0; t < 2; t++)
            sched_setaffinity(found.id[t], sizeof narrow, &narrow);
        pool_run(p, false, look, &found); // the caller has moved, at least once
        CHECK(CPU_EQUAL(&found.of[0], &narrow) && CPU_EQUAL(&found.of[1], &narrow));
        tried++;
    }
    sched_setaffinity(0, sizeof all, &all);
    pool_free(p);
}

static int dense_calls, sparse_calls;

static void no_multiply(const product *p)
{
    dense_calls++;
}

static void no_sparse(const product *p, size_t n, const sparse_rows *x)
{
    sparse_calls += n;
}

static void no_train(const gradient *g)
{
    dense_calls++;
}

static void no_train_sparse(const gradient *g, size_t n, const sparse_rows *x)
{
    sparse_calls += n;
}

static void check_meet(double dense, double few, double many, double meet)
{
    double found = density_meet(dense, few, many);
    if (!(fabs(found - meet) < 1e-12))
        tap_fail(__FILE__, __LINE__, "they meet at %g, not %g", found, meet);
}

TEST(where_skipping_zeros_pays_is_measured)
{
    err e;
    cpu_ops counted = *cpu_choose("plain", &e);
    counted.multiply = no_multiply;
    counted.multiply_sparse = no_sparse;
    counted.train = no_train;
    counted.train_sparse = no_train_sparse;
    for (int bytes = 0; bytes < 2; bytes++) {
        dense_calls = sparse_calls = 0;
        density_break_even(
            &(density_probe){.cpu = &counted, .bytes = bytes, .width = 64, .panels = 2});
        CHECK(dense_calls >= 4 && sparse_calls == 2 * dense_calls);
    }
    // 0.2 ms and 1 ms for the share of numbers that are not 0
    double few = 2e-4 + 1e-3 * DENSITY_FEW, many = 2e-4 + 1e-3 * DENSITY_MANY;
    check_meet(4e-4, few, many, 0.2);
    check_meet(9e-4, few, many, 0.7);
    check_meet(1e-4, few, many, 0);
    check_meet(9e-3, few, many, 1);
    check_meet(4e-4, 3e-4, 3e-4, 1);
    check_meet(4e-4, 5e-4, 5e-4, 0);
    check_meet(0, 0, 0, DENSITY_USUAL);
    check_meet(4e-4, 0, many, DENSITY_USUAL);
    for (size_t i = 0; cpu_nth(i); i++) { // the real ones, at any width
        if (!cpu_nth(i)->usable())
            continue;
        for (size_t width = 16; width <= 64; width += 16) {
            density_probe probe = {.cpu = cpu_nth(i), .bytes = true, .width = width, .panels = 1};
            double meet = density_break_even(&probe);
            CHECK(meet >= 0 && meet <= 1);
        }
    }
}

// Of every size of v, also 0; beta_1 and beta_2 are 1, so that m and v stay. w moves from 0.
TEST(adam_divides_precisely_and_passes_nan_on)
{
    const cpu_ops *cpu;
    for (size_t k = 0; (cpu = cpu_nth(k)); k++) {
        if (!cpu->usable())
            continue;
        _Alignas(64) float w[16], m[16], v[16], g[16] = {0};
        update u = {.rule = UPDATE_ADAM, .rate = 1, .beta_1 = 1, .beta_2 = 1, .epsilon = 1e-7f};
        for (int size = -44; size < 38; size++) {
            for (int i = 0; i < 16; i++) {
                w[i] = 0;
                m[i] = i % 2 ? 0.3f + 0.1f * (float)i : -1e-3f;
                v[i] = i == 7 ? 0 : ldexpf(1 + (float)i / 17, size * 3);
            }
            cpu->update(&u, (params){.w = w, .m = m, .v = v}, g, 16);
            for (int i = 0; i < 16; i++) {
                double want = -(double)m[i] / (sqrt((double)v[i]) + 1e-7);
                CHECK_NEAR((double)w[i], want, 4e-7 * fabs(want));
            }
        }
        v[3] = NAN, m[5] = NAN, v[9] = 3.4e38f;
        cpu->update(&u, (params){.w = w, .m = m, .v = v}, g, 16);
        CHECK(isnan(w[3]) && isnan(w[5]) && isfinite(w[9]));
    }
}

int main(void)
{
    return tap_run();
}

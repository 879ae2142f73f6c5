// SPDX-License-Identifier: MIT
// The reference of the epoch benchmark: MNIST 784-128-10, Adam, batch 64, dense f32, one thread,
// with all shapes constant and nothing general. It was tuned by hand before the trainer existed. It
// reaches 80 % of the peak of a Zen 4 core's multipliers, so it shows the cost of generality.
//   gcc -O3 -march=native -mprefer-vector-width=512 reference.c -lm;  ./a.out FOLDER-OF-RAW-IDX
//   EPOCHS
#define _GNU_SOURCE
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { INPUTS = 784, PANEL = 64, PANELS = 2, CLASSES = 10, LINE = 16, BATCH = 64 };
enum { TRAIN = 60000, TEST = 10000 };

#define INLINE static inline __attribute__((always_inline))
typedef __m512 v;

// 64 hidden units with everything that they need.
struct panel {
    _Alignas(64) float w[INPUTS][PANEL], m[INPUTS][PANEL], v[INPUTS][PANEL]; // the first layer
    float b[PANEL], bm[PANEL], bv[PANEL];
    float w2[PANEL][LINE], m2[PANEL][LINE], v2[PANEL][LINE]; // their rows of the second layer
    float h[BATCH][PANEL], d[BATCH][PANEL]; // outputs, and the loss by them (gradient)
};

struct net {
    struct panel panel[PANELS];
    _Alignas(64) float b2[LINE], b2m[LINE], b2v[LINE];
    float x[BATCH][INPUTS], z[BATCH][LINE];
};

struct adam {
    v b1, c1, b2, c2, r2, eps, lr;
};

INLINE void adam_step(float *w, float *m, float *s, v g, const struct adam *a)
{
    v mm = _mm512_fmadd_ps(a->b1, _mm512_load_ps(m), _mm512_mul_ps(a->c1, g));
    v ss = _mm512_fmadd_ps(a->b2, _mm512_load_ps(s), _mm512_mul_ps(a->c2, _mm512_mul_ps(g, g)));
    _mm512_store_ps(m, mm);
    _mm512_store_ps(s, ss);
    v d = _mm512_fmadd_ps(_mm512_sqrt_ps(ss), a->r2, a->eps);
    _mm512_store_ps(w, _mm512_fnmadd_ps(a->lr, _mm512_div_ps(mm, d), _mm512_load_ps(w)));
}

INLINE void forward_rows(struct panel *p, float (*x)[INPUTS], int r, const int rows)
{
    v a[6][4];
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < 4; c++)
            a[i][c] = _mm512_load_ps(p->b + c * 16);
    for (int k = 0; k < INPUTS; k++) {
        v w[4];
        for (int c = 0; c < 4; c++)
            w[c] = _mm512_load_ps(&p->w[k][c * 16]);
        for (int i = 0; i < rows; i++) {
            v xk = _mm512_set1_ps(x[r + i][k]);
            for (int c = 0; c < 4; c++)
                a[i][c] = _mm512_fmadd_ps(xk, w[c], a[i][c]);
        }
    }
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < 4; c++)
            _mm512_store_ps(&p->h[r + i][c * 16], _mm512_max_ps(a[i][c], _mm512_setzero_ps()));
}

static void forward(struct panel *p, float (*x)[INPUTS])
{
    int r = 0;
    for (; r + 6 <= BATCH; r += 6)
        forward_rows(p, x, r, 6);
    forward_rows(p, x, r, 4);
}

// z += h·w2
static void add_logits(const struct panel *p, float (*z)[LINE])
{
    for (int r = 0; r < BATCH; r += 8) {
        v a[8];
        for (int i = 0; i < 8; i++)
            a[i] = _mm512_load_ps(z[r + i]);
        for (int h = 0; h < PANEL; h++) {
            v w = _mm512_load_ps(p->w2[h]);
            for (int i = 0; i < 8; i++)
                a[i] = _mm512_fmadd_ps(_mm512_set1_ps(p->h[r + i][h]), w, a[i]);
        }
        for (int i = 0; i < 8; i++)
            _mm512_store_ps(z[r + i], a[i]);
    }
}

INLINE v exp_v(v x)
{
    static const float c[] = {1.f / 720, 1.f / 120, 1.f / 24, 1.f / 6, .5f, 1, 1};
    x = _mm512_max_ps(x, _mm512_set1_ps(-87.f));
    v n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), 0);
    v r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x), y = _mm512_set1_ps(c[0]);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
    for (int i = 1; i < 7; i++)
        y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(c[i]));
    return _mm512_scalef_ps(y, n);
}

// z becomes (softmax(z) - onehot) / n; rows past n become 0.
static void loss_gradient(float (*z)[LINE], const uint8_t *label, int n)
{
    const __mmask16 used = (1 << CLASSES) - 1;
    for (int r = 0; r < BATCH; r++) {
        v e = _mm512_setzero_ps();
        if (r < n) {
            v row = _mm512_load_ps(z[r]);
            float top = _mm512_mask_reduce_max_ps(used, row);
            e = _mm512_maskz_mov_ps(used, exp_v(_mm512_sub_ps(row, _mm512_set1_ps(top))));
            e = _mm512_mul_ps(e, _mm512_set1_ps(1 / _mm512_reduce_add_ps(e)));
            e = _mm512_mask_sub_ps(e, (__mmask16)(1u << label[r]), e, _mm512_set1_ps(1));
            e = _mm512_mul_ps(e, _mm512_set1_ps(1.f / (float)n));
        }
        _mm512_store_ps(z[r], e);
    }
}

// d = z·w2ᵀ where h > 0, then the second layer's weights and the biases.
static void backward_small(struct panel *p, float (*z)[LINE], const struct adam *a)
{
    _Alignas(64) float turned[CLASSES][PANEL];
    v sum[4] = {0};
    for (int h = 0; h < PANEL; h++)
        for (int k = 0; k < CLASSES; k++)
            turned[k][h] = p->w2[h][k];
    for (int r = 0; r < BATCH; r++) {
        v d[4] = {0};
        for (int k = 0; k < CLASSES; k++)
            for (int c = 0; c < 4; c++)
                d[c] = _mm512_fmadd_ps(
                    _mm512_set1_ps(z[r][k]), _mm512_load_ps(&turned[k][c * 16]), d[c]);
        for (int c = 0; c < 4; c++) {
            v h = _mm512_load_ps(&p->h[r][c * 16]);
            __mmask16 on = _mm512_cmp_ps_mask(h, _mm512_setzero_ps(), _CMP_GT_OQ);
            d[c] = _mm512_maskz_mov_ps(on, d[c]);
            sum[c] = _mm512_add_ps(sum[c], d[c]);
            _mm512_store_ps(&p->d[r][c * 16], d[c]);
        }
    }
    for (int c = 0; c < 4; c++)
        adam_step(p->b + c * 16, p->bm + c * 16, p->bv + c * 16, sum[c], a);
    for (int h = 0; h < PANEL; h += 8) {
        v g[8] = {0};
        for (int r = 0; r < BATCH; r++)
            for (int i = 0; i < 8; i++)
                g[i] = _mm512_fmadd_ps(_mm512_set1_ps(p->h[r][h + i]), _mm512_load_ps(z[r]), g[i]);
        for (int i = 0; i < 8; i++)
            adam_step(p->w2[h + i], p->m2[h + i], p->v2[h + i], g[i], a);
    }
}

INLINE void train_rows(
    struct panel *p, float (*x)[INPUTS], int k, const int rows, const struct adam *a)
{
    v g[6][4] = {0};
    for (int r = 0; r < BATCH; r++) {
        v d[4];
        for (int c = 0; c < 4; c++)
            d[c] = _mm512_load_ps(&p->d[r][c * 16]);
        for (int i = 0; i < rows; i++) {
            v xk = _mm512_set1_ps(x[r][k + i]);
            for (int c = 0; c < 4; c++)
                g[i][c] = _mm512_fmadd_ps(xk, d[c], g[i][c]);
        }
    }
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < 4; c++)
            adam_step(&p->w[k + i][c * 16], &p->m[k + i][c * 16], &p->v[k + i][c * 16], g[i][c], a);
}

static void train(struct panel *p, float (*x)[INPUTS], const struct adam *a)
{
    int k = 0;
    for (; k + 6 <= INPUTS; k += 6)
        train_rows(p, x, k, 6, a);
    train_rows(p, x, k, 4, a);
}

static void load_batch(struct net *n, const uint8_t *images, const uint32_t *row, int rows)
{
    v scale = _mm512_set1_ps(1.f / 255);
    memset(n->x + rows, 0, sizeof *n->x * (size_t)(BATCH - rows));
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < INPUTS; k += 16) {
            __m128i b = _mm_loadu_si128((const void *)(images + (size_t)row[r] * INPUTS + k));
            v x = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(b));
            _mm512_storeu_ps(&n->x[r][k], _mm512_mul_ps(x, scale));
        }
}

// The rows of the next batch lie anywhere in memory; they are fetched while this batch is computed.
static void fetch_batch(const uint8_t *images, const uint32_t *row, int rows)
{
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < INPUTS; k += 64)
            _mm_prefetch((const char *)images + (size_t)row[r] * INPUTS + k, _MM_HINT_T1);
}

static void logits(struct net *n)
{
    for (int r = 0; r < BATCH; r++)
        memcpy(n->z[r], n->b2, sizeof n->b2);
    for (int i = 0; i < PANELS; i++) {
        forward(&n->panel[i], n->x);
        add_logits(&n->panel[i], n->z);
    }
}

static void step(struct net *n, const uint8_t *label, int rows, double p1, double p2)
{
    struct adam a = {_mm512_set1_ps(.9f), _mm512_set1_ps(.1f), _mm512_set1_ps(.999f),
        _mm512_set1_ps(.001f), _mm512_set1_ps((float)(1 / sqrt(1 - p2))), _mm512_set1_ps(1e-8f),
        _mm512_set1_ps((float)(1e-3 / (1 - p1)))};
    v sum = _mm512_setzero_ps();
    logits(n);
    loss_gradient(n->z, label, rows);
    for (int r = 0; r < BATCH; r++)
        sum = _mm512_add_ps(sum, _mm512_load_ps(n->z[r]));
    adam_step(n->b2, n->b2m, n->b2v, sum, &a);
    for (int i = 0; i < PANELS; i++) {
        backward_small(&n->panel[i], n->z, &a);
        train(&n->panel[i], n->x, &a);
    }
}

static uint64_t state = 1;

static uint64_t draw(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static float uniform(float limit)
{
    return ((float)(draw() >> 40) * 0x1p-23f - 1) * limit;
}

static void *big(size_t n)
{
    size_t room = (n + (2 << 20)) / (2 << 20) * (2 << 20);
    void *p = aligned_alloc(2 << 20, room);
    if (!p)
        exit(1);
    madvise(p, room, MADV_HUGEPAGE);
    return memset(p, 0, room);
}

static uint8_t *load(const char *folder, const char *name, size_t header, size_t n)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    uint8_t *bytes = big(n + 64);
    if (!f || fseek(f, (long)header, SEEK_SET) || fread(bytes, 1, n, f) != n) {
        perror(path);
        exit(1);
    }
    fclose(f);
    return bytes;
}

static double accuracy(struct net *n, const uint8_t *images, const uint8_t *label)
{
    int right = 0;
    for (int at = 0; at < TEST; at += BATCH) {
        int rows = TEST - at < BATCH ? TEST - at : BATCH;
        uint32_t row[BATCH];
        for (int r = 0; r < rows; r++)
            row[r] = (uint32_t)(at + r);
        load_batch(n, images, row, rows);
        logits(n);
        for (int r = 0; r < rows; r++) {
            int best = 0;
            for (int k = 1; k < CLASSES; k++)
                best = n->z[r][k] > n->z[r][best] ? k : best;
            right += best == label[at + r];
        }
    }
    return (double)right / TEST;
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { STEPS = (TRAIN + BATCH - 1) / BATCH };

static void epoch(struct net *n, const uint8_t *images, const uint8_t *labels, uint32_t *order,
    double *p1, double *p2, double *took)
{
    for (uint32_t i = TRAIN - 1; i > 0; i--) {
        uint32_t j = (uint32_t)(((draw() >> 32) * (i + 1)) >> 32), other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
    for (int at = 0; at < TRAIN; at += BATCH) {
        double began = seconds_of(CLOCK_MONOTONIC);
        int rows = TRAIN - at < BATCH ? TRAIN - at : BATCH;
        uint8_t label[BATCH];
        for (int r = 0; r < rows; r++)
            label[r] = labels[order[at + r]];
        load_batch(n, images, order + at, rows);
        fetch_batch(
            images, order + at + rows, TRAIN - at - rows < BATCH ? TRAIN - at - rows : BATCH);
        *p1 *= .9;
        *p2 *= .999;
        step(n, label, rows, *p1, *p2);
        took[at / BATCH] = seconds_of(CLOCK_MONOTONIC) - began;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    if (argc < 3 || atoi(argv[2]) < 1)
        return 2;
    const char *folder = argv[1];
    int epochs = atoi(argv[2]);
    _mm_setcsr(_mm_getcsr() | 0x8040); // denormals are 0
    uint8_t *x = load(folder, "train-images-idx3-ubyte", 16, (size_t)TRAIN * INPUTS);
    uint8_t *y = load(folder, "train-labels-idx1-ubyte", 8, TRAIN);
    uint8_t *test_x = load(folder, "t10k-images-idx3-ubyte", 16, (size_t)TEST * INPUTS);
    uint8_t *test_y = load(folder, "t10k-labels-idx1-ubyte", 8, TEST);
    struct net *n = big(sizeof *n);
    for (int i = 0; i < PANELS; i++) {
        for (int k = 0; k < INPUTS; k++)
            for (int h = 0; h < PANEL; h++)
                n->panel[i].w[k][h] = uniform(sqrtf(6.f / (784 + 128)));
        for (int h = 0; h < PANEL; h++)
            for (int k = 0; k < CLASSES; k++)
                n->panel[i].w2[h][k] = uniform(sqrtf(6.f / 138));
    }
    uint32_t *order = malloc(TRAIN * sizeof *order);
    for (uint32_t i = 0; i < TRAIN; i++)
        order[i] = i;
    double *seconds = malloc((size_t)epochs * sizeof *seconds), p1 = 1, p2 = 1, first = 0;
    double *busy = malloc((size_t)epochs * sizeof *busy);
    double *took = malloc((size_t)epochs * STEPS * sizeof *took);
    for (int i = 0; i < epochs; i++) {
        double began = seconds_of(CLOCK_MONOTONIC), used = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        epoch(n, x, y, order, &p1, &p2, took + i * STEPS);
        seconds[i] = seconds_of(CLOCK_MONOTONIC) - began;
        busy[i] = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - used;
        first = i ? first : accuracy(n, test_x, test_y);
    }
    double last = accuracy(n, test_x, test_y);
    qsort(seconds, (size_t)epochs, sizeof *seconds, by_value);
    qsort(busy, (size_t)epochs, sizeof *busy, by_value);
    qsort(took, (size_t)epochs * STEPS, sizeof *took, by_value);
    printf("{\"cpu\": \"avx512\", \"threads\": 1, \"median\": %.4f, \"min\": %.4f, \"processor\": "
           "%.4f, \"step\": %.1f, \"accuracy_1\": %.4f, \"accuracy_%d\": %.4f}\n",
        seconds[epochs / 2], seconds[0], busy[epochs / 2], 1e6 * took[epochs * STEPS / 20], first,
        epochs, last);
    return 0;
}

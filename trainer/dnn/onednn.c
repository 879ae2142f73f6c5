// SPDX-License-Identifier: MIT
// The plug-in for oneDNN 2 and 3; onednn.h has what they differ in.
//
// A primitive is made once for each spec and kept in a list. It takes its scratch memory from the
// caller, so that several threads may run it at once.
#include "trainer/dnn/onednn.h"
#include "base/mem.h"
#include "trainer/cpu/bf16.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

// gcc's OpenMP, which Debian's oneDNN brings; only this function of it is needed.
extern void omp_set_num_threads(int n);

struct dnn_conv {
    dnn_conv_spec spec;
    dnn_conv_spec as; // in oneDNN's terms, see flatten
    bool usable;
    dnnl_primitive_t run;
    dnnl_memory_desc_t x, weights, bias, y, scratch;
    dnn_conv *next;
};

enum { BUCKETS = 256 };

static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    dnnl_engine_t engine;
    dnn_conv *bucket[BUCKETS];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void start(void)
{
    if (dnnl_engine_create(&all.engine, dnnl_cpu, 0) != dnnl_success)
        all.engine = NULL;
}

static const char *library(void)
{
    static char text[48];
    const dnnl_version_t *v = dnnl_version();
    snprintf(text, sizeof text, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
    return text;
}

static bool has_isa(dnnl_cpu_isa_t isa)
{
    return (dnnl_get_effective_cpu_isa() & isa) == isa;
}

static bool has_half(void)
{
    return has_isa(dnnl_cpu_isa_avx512_core_bf16);
}

static bool is_intel(void)
{
#ifdef __x86_64__
    return __builtin_cpu_is("intel");
#else
    return false;
#endif
}

static bool widens(void)
{
    return is_intel() && !has_isa(dnnl_cpu_isa_avx512_core_amx);
}

// (n, c, h, w) in memory as (n, h, w, c).
static bool describe(dnnl_memory_desc_t *d, size_t n, size_t c, const size_t size[2], bool half)
{
    dnnl_dims_t dims = {(dnnl_dim_t)n, (dnnl_dim_t)c, (dnnl_dim_t)size[0], (dnnl_dim_t)size[1]};
    return memory_by_tag(d, 4, dims, half ? dnnl_bf16 : dnnl_f32, dnnl_nhwc);
}

// A window of one pixel sees no neighbours, so all pixels of all rows can be one long line. oneDNN
// is faster with one long line than with many short ones: its AMX kernels take 32 pixels of a line
// at once.
static void flatten(dnn_conv_spec *s)
{
    for (int i = 0; i < 2; i++)
        if (s->size[i] != 1 || s->stride[i] != 1 || s->before[i] || s->in[i] != s->out[i])
            return;
    s->in[1] = s->out[1] = s->rows * s->in[0] * s->in[1];
    s->in[0] = s->out[0] = s->rows = 1;
}

// oneDNN counts dilation from 0, and needs the padding at the end, too.
static void set_steps(struct convolution *to, const dnn_conv_spec *s)
{
    for (int i = 0; i < 2; i++) {
        size_t reach = (s->out[i] - 1) * s->stride[i] + (s->size[i] - 1) * s->dilation[i] + 1;
        to->stride[i] = (dnnl_dim_t)s->stride[i];
        to->dilation[i] = (dnnl_dim_t)s->dilation[i] - 1;
        to->before[i] = (dnnl_dim_t)s->before[i];
        to->after[i] = (dnnl_dim_t)reach - (dnnl_dim_t)s->in[i] - (dnnl_dim_t)s->before[i];
    }
}

// The operations after a product. Scratch memory comes from the caller.
static dnnl_primitive_attr_t attributes(const dnn_conv_spec *s)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t after;
    if (dnnl_primitive_attr_create(&attr) != dnnl_success)
        return NULL;
    dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (s->sum && s->way == DNN_FORWARD && dnnl_post_ops_create(&after) == dnnl_success) {
        append_sum(after);
        dnnl_primitive_attr_set_post_ops(attr, after);
        dnnl_post_ops_destroy(after);
    }
    return attr;
}

static dnnl_primitive_desc_t plan_way(
    dnn_way way, const dnn_conv *c, dnnl_primitive_attr_t attr, dnnl_primitive_desc_t hint)
{
    struct convolution what = {way, all.engine, &c->x, &c->weights, c->spec.bias ? &c->bias : NULL,
        &c->y, {0}, {0}, {0}, {0}};
    set_steps(&what, &c->as);
    return plan_convolution(&what, attr, hint);
}

// Refuses its reference kernels, which are many times slower than our own.
static bool is_reference(dnnl_primitive_desc_t plan)
{
    const char *name = "ref";
    dnnl_primitive_desc_query(plan, dnnl_query_impl_info_str, 0, &name);
    return strstr(name, "ref") != NULL || strncmp(name, "gemm", 4) == 0;
}

static bool has_groups(const dnn_conv_spec *s)
{
    return s->groups > 1;
}

// The sizes of the weights, (filters, channels, height, width), with groups in front; how many.
static int weight_sizes(const dnn_conv_spec *s, dnnl_dims_t size)
{
    dnnl_dim_t groups = has_groups(s) ? (dnnl_dim_t)s->groups : 1;
    dnnl_dims_t sizes = {groups, (dnnl_dim_t)s->filters / groups, (dnnl_dim_t)s->channels / groups,
        (dnnl_dim_t)s->size[0], (dnnl_dim_t)s->size[1]};
    int skipped = !has_groups(s);
    memcpy(size, sizes + skipped, (size_t)(5 - skipped) * sizeof *size);
    return 5 - skipped;
}

// The two sides of the weights of groups, which are packed as a whole.
static bool describe_groups(
    const dnn_conv *c, dnnl_memory_desc_t *packed, dnnl_memory_desc_t *panel)
{
    dnnl_dims_t size;
    int dims = weight_sizes(&c->spec, size);
    dnnl_dim_t filters = (dnnl_dim_t)c->spec.filters, tap = size[2] * filters;
    dnnl_dims_t strides = {size[1], 1, filters, size[4] * tap, tap};
    return memory_copy(packed, MEMORY_ARG(&c->weights)) &&
           memory_by_strides(panel, dims, size, strides);
}

// The two sides of a part of the weights.
static bool describe_part(const dnn_conv *c, size_t ld, size_t from, size_t n,
    dnnl_memory_desc_t *packed, dnnl_memory_desc_t *panel)
{
    const dnn_conv_spec *s = &c->spec;
    if (has_groups(s))
        return describe_groups(c, packed, panel);
    dnnl_dim_t step = (dnnl_dim_t)ld, channels = (dnnl_dim_t)s->channels,
               width = (dnnl_dim_t)s->size[1];
    dnnl_dims_t dims = {(dnnl_dim_t)n, channels, (dnnl_dim_t)s->size[0], width};
    dnnl_dims_t strides = {1, step, width * channels * step, channels * step};
    dnnl_dims_t at = {(dnnl_dim_t)from};
    return memory_part(packed, &c->weights, dims, at) && memory_by_strides(panel, 4, dims, strides);
}

// Gradients of weights are floats always.
static bool packs_halves(const dnn_conv *c)
{
    return c->as.half && c->spec.way != DNN_BACK_WEIGHTS;
}

enum { PANEL = 64 }; // filters that are packed at once

static bool is_padded(const dnn_conv *c)
{
    const dnn_conv_spec *s = &c->spec;
    size_t channels = has_groups(s) ? s->channels / s->groups : s->channels;
    size_t numbers = s->filters * channels * s->size[0] * s->size[1];
    return dnnl_memory_desc_get_size(MEMORY_ARG(&c->weights)) !=
           numbers * (packs_halves(c) ? 2 : 4);
}

static bool can_reorder(const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to)
{
    dnnl_primitive_desc_t plan = NULL;
    bool can = dnnl_reorder_primitive_desc_create(&plan, MEMORY_ARG(from), all.engine,
                   MEMORY_ARG(to), all.engine, NULL) == dnnl_success;
    dnnl_primitive_desc_destroy(plan);
    return can;
}

// Can the weights be packed panel by panel? Not if oneDNN interleaves 48 filters, and not with
// padding, which must be zeroed: pack does that only for a single panel.
static bool fits_panels(const dnn_conv *c)
{
    dnnl_memory_desc_t packed = {0}, panel = {0};
    size_t filters = c->spec.filters, most = has_groups(&c->spec) ? filters : PANEL;
    bool fits = filters <= most || !is_padded(c);
    bool out = c->spec.way == DNN_BACK_WEIGHTS;
    for (size_t from = 0; fits && from < filters; from += most) {
        size_t left = filters - from, n = left < most ? left : most;
        fits = describe_part(c, n, from, n, &packed, &panel) &&
               (out ? can_reorder(&packed, &panel) : can_reorder(&panel, &packed));
        memory_done(&packed);
        memory_done(&panel);
    }
    return fits;
}

// oneDNN needs the forward plan that a backward plan belongs to.
static dnnl_primitive_desc_t plan_hint(const dnn_conv_spec *s)
{
    dnn_conv forward = {.spec = *s, .as = *s};
    dnnl_dims_t kernel;
    int dims = weight_sizes(s, kernel);
    dnnl_dims_t bias = {(dnnl_dim_t)s->filters};
    dnnl_data_type_t type = s->half ? dnnl_bf16 : dnnl_f32;
    dnnl_primitive_desc_t plan = NULL;
    if (describe(&forward.x, s->rows, s->channels, s->in, s->half) &&
        describe(&forward.y, s->rows, s->filters, s->out, s->half) &&
        memory_by_tag(&forward.weights, dims, kernel, type, dnnl_format_tag_any) &&
        memory_by_tag(&forward.bias, 1, bias, dnnl_f32, dnnl_a))
        plan = plan_way(DNN_FORWARD, &forward, NULL, NULL);
    memory_done(&forward.x);
    memory_done(&forward.y);
    memory_done(&forward.weights);
    memory_done(&forward.bias);
    return plan;
}

static bool describe_weights(dnn_conv *c, dnnl_format_tag_t order)
{
    dnnl_dims_t size;
    int dims = weight_sizes(&c->spec, size);
    dnnl_data_type_t type = packs_halves(c) ? dnnl_bf16 : dnnl_f32;
    return memory_by_tag(&c->weights, dims, size, type, order);
}

static bool describe_rows(dnn_conv *c)
{
    c->as = c->spec;
    c->as.half &= !c->as.widened;
    flatten(&c->as);
    const dnn_conv_spec *s = &c->as;
    dnnl_dims_t bias = {(dnnl_dim_t)s->filters};
    return describe(&c->x, s->rows, s->channels, s->in, s->half) &&
           describe(&c->y, s->rows, s->filters, s->out, s->half) &&
           memory_by_tag(&c->bias, 1, bias, dnnl_f32, dnnl_a);
}

// NULL: oneDNN has only its reference for weights in that order.
static dnnl_primitive_desc_t plan_conv(dnn_conv *c)
{
    dnnl_primitive_attr_t attr = attributes(&c->spec);
    dnnl_primitive_desc_t hint = NULL, plan = NULL;
    if (c->spec.way != DNN_FORWARD)
        hint = plan_hint(&c->as);
    if (attr && (hint || c->spec.way == DNN_FORWARD))
        plan = plan_way(c->spec.way, c, attr, hint);
    if (plan && is_reference(plan)) {
        dnnl_primitive_desc_destroy(plan);
        plan = NULL;
    }
    dnnl_primitive_desc_destroy(hint);
    dnnl_primitive_attr_destroy(attr);
    return plan;
}

// Weights are packed once, so their order must fit any number of rows. It is the order that oneDNN
// prefers for so many rows, if it also accepts it for fewer: its newer kernels use blocks of 16 to
// 64 filters, depending on rows and CPU, and accept no others.
enum { LAYOUT_ROWS = 4 };

static bool serves(const dnn_conv *c, size_t rows)
{
    dnn_conv other = {.spec = c->spec, .weights = c->weights};
    other.spec.rows = rows;
    dnnl_primitive_desc_t plan = describe_rows(&other) ? plan_conv(&other) : NULL;
    bool does = plan != NULL;
    dnnl_primitive_desc_destroy(plan);
    memory_done(&other.x);
    memory_done(&other.y);
    memory_done(&other.bias);
    return does;
}

static bool serves_all(const dnn_conv *c)
{
    size_t rows = 1;
    while (rows < LAYOUT_ROWS && serves(c, rows))
        rows++;
    return rows == LAYOUT_ROWS;
}

static bool take(dnnl_memory_desc_t *d, memory_arg from)
{
    dnnl_memory_desc_t copy = {0};
    if (!from || !memory_copy(&copy, from))
        return false;
    memory_done(d);
    *d = copy;
    return true;
}

// Plans it with weights in their present order, or, if that is "any", in oneDNN's; false: oneDNN
// cannot, or the weights cannot be packed.
static bool make_with(dnn_conv *c)
{
    dnnl_primitive_desc_t plan = plan_conv(c);
    if (!plan)
        return false;
    dnnl_query_t which =
        c->spec.way == DNN_BACK_WEIGHTS ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
    c->usable =
        take(&c->weights, dnnl_primitive_desc_query_md(plan, which, 0)) &&
        take(&c->scratch, dnnl_primitive_desc_query_md(plan, dnnl_query_scratchpad_md, 0)) &&
        fits_panels(c) && (c->spec.rows != LAYOUT_ROWS || serves_all(c)) &&
        dnnl_primitive_create(&c->run, plan) == dnnl_success;
    dnnl_primitive_desc_destroy(plan);
    return c->usable;
}

static void make_first(dnn_conv *c)
{
    static const dnnl_format_tag_t orders[] = {dnnl_format_tag_any, dnnl_Ohwi64o, dnnl_OIhw16i16o,
        dnnl_OhwI64o2i, dnnl_OhwI16i64o2i, dnnl_OIhw8i16o2i, MORE_ORDERS};
    size_t n = has_groups(&c->spec) ? 1 : sizeof orders / sizeof *orders; // others: of four sizes
    for (size_t i = 0; i < n && !c->usable; i++) {
        memory_done(&c->weights);
        if (describe_weights(c, orders[i]))
            make_with(c);
    }
}

static const dnn_conv *find(const dnn_conv_spec *spec);

static void make(dnn_conv *c)
{
    if (!all.engine || !describe_rows(c))
        return;
    if (c->spec.rows == LAYOUT_ROWS) {
        make_first(c);
        return;
    }
    dnn_conv_spec first;
    memcpy(&first, &c->spec, sizeof first);
    first.rows = LAYOUT_ROWS;
    const dnn_conv *usual = find(&first);
    if (usual->usable && take(&c->weights, MEMORY_ARG(&usual->weights)))
        make_with(c);
}

static size_t bucket_of(const dnn_conv_spec *spec)
{
    const unsigned char *byte = (const unsigned char *)spec;
    size_t h = 0;
    for (size_t i = 0; i < sizeof *spec; i++)
        h = h * 31 + byte[i];
    return h % BUCKETS;
}

// Under the lock.
static const dnn_conv *find(const dnn_conv_spec *spec)
{
    dnn_conv **first = &all.bucket[bucket_of(spec)], *c = *first;
    while (c && memcmp(&c->spec, spec, sizeof *spec) != 0)
        c = c->next;
    if (c)
        return c;
    c = mem_alloc(sizeof *c);
    memcpy(&c->spec, spec, sizeof *spec); // with its padding, which callers zero
    make(c);
    c->next = *first;
    return *first = c;
}

static const dnn_conv *conv(const dnn_conv_spec *spec)
{
    pthread_once(&all.once, start);
    omp_set_num_threads(1); // of this thread: what is planned here runs on one
    pthread_mutex_lock(&all.lock);
    const dnn_conv *c = find(spec);
    pthread_mutex_unlock(&all.lock);
    return c->usable ? c : NULL;
}

static size_t packed_bytes(const dnn_conv *c)
{
    return dnnl_memory_desc_get_size(MEMORY_ARG(&c->weights));
}

// Pictures converted to floats are after oneDNN's own scratch: x, then y.
static size_t rounded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static size_t wide_x(const dnn_conv *c)
{
    return rounded(dnnl_memory_desc_get_size(MEMORY_ARG(&c->scratch)));
}

static size_t wide_y(const dnn_conv *c)
{
    return wide_x(c) + rounded(dnnl_memory_desc_get_size(MEMORY_ARG(&c->x)));
}

static bool is_widened(const dnn_conv *c)
{
    return c->spec.half && !c->as.half;
}

static size_t scratch_bytes(const dnn_conv *c)
{
    return is_widened(c) ? wide_y(c) + rounded(dnnl_memory_desc_get_size(MEMORY_ARG(&c->y)))
                         : dnnl_memory_desc_get_size(MEMORY_ARG(&c->scratch));
}

static dnnl_memory_t memory_at(const dnnl_memory_desc_t *d, void *at)
{
    dnnl_memory_t m = NULL;
    dnnl_memory_create(&m, MEMORY_ARG(d), all.engine, at);
    return m;
}

// Runs it at once and frees the arguments.
static int execute(dnnl_primitive_t p, size_t n, dnnl_exec_arg_t *args)
{
    dnnl_stream_t stream = NULL;
    bool done = true;
    omp_set_num_threads(1);
    for (size_t i = 0; i < n; i++)
        done &= args[i].memory != NULL;
    done = done &&
           dnnl_stream_create(&stream, all.engine, dnnl_stream_default_flags) == dnnl_success &&
           dnnl_primitive_execute(p, stream, (int)n, args) == dnnl_success &&
           dnnl_stream_wait(stream) == dnnl_success;
    dnnl_stream_destroy(stream);
    for (size_t i = 0; i < n; i++)
        dnnl_memory_destroy(args[i].memory);
    return done ? 0 : -1;
}

static int reorder(
    const dnnl_memory_desc_t *from, void *source, const dnnl_memory_desc_t *to, void *target)
{
    dnnl_primitive_desc_t plan = NULL;
    dnnl_primitive_t p = NULL;
    int status = -1;
    omp_set_num_threads(1);
    if (dnnl_reorder_primitive_desc_create(&plan, MEMORY_ARG(from), all.engine, MEMORY_ARG(to),
            all.engine, NULL) == dnnl_success &&
        dnnl_primitive_create(&p, plan) == dnnl_success)
        status = execute(p, 2,
            (dnnl_exec_arg_t[]){
                {DNNL_ARG_FROM, memory_at(from, source)}, {DNNL_ARG_TO, memory_at(to, target)}});
    dnnl_primitive_destroy(p);
    dnnl_primitive_desc_destroy(plan);
    return status;
}

static int pack(
    const dnn_conv *c, void *packed, const float *panel, size_t ld, size_t from, size_t n)
{
    dnnl_memory_desc_t there = {0}, here = {0};
    if (n == c->spec.filters && is_padded(c))
        memset(packed, 0, dnnl_memory_desc_get_size(MEMORY_ARG(&c->weights)));
    int status = describe_part(c, ld, from, n, &there, &here)
                     ? reorder(&here, (void *)panel, &there, packed)
                     : -1;
    memory_done(&there);
    memory_done(&here);
    return status;
}

static int unpack(
    const dnn_conv *c, float *panel, const float *packed, size_t ld, size_t from, size_t n)
{
    dnnl_memory_desc_t there = {0}, here = {0};
    int status = describe_part(c, ld, from, n, &there, &here)
                     ? reorder(&there, (void *)packed, &here, panel)
                     : -1;
    memory_done(&there);
    memory_done(&here);
    return status;
}

// Also compiled for the widest registers available.
#if defined __x86_64__ && !defined __clang__ && !defined __SANITIZE_ADDRESS__ &&                   \
    !defined __SANITIZE_THREAD__
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
#define WIDE
#endif
WIDE static void clip_floats(float *y, size_t n, float most)
{
    for (size_t i = 0; i < n; i++) {
        float v = y[i] < 0 ? 0 : y[i];
        y[i] = v > most ? most : v;
    }
}

// bf16: the upper half of a float.
WIDE static void clip_halves(uint16_t *y, size_t n, float most)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)y[i] << 16, limit;
        float value;
        memcpy(&value, &bits, sizeof value);
        memcpy(&limit, &most, sizeof limit);
        limit = (limit + 0x7fff + (limit >> 16 & 1)) >> 16;
        y[i] = value < 0 ? 0 : value > most ? (uint16_t)limit : y[i];
    }
}

WIDE static void widen(float *restrict to, const uint16_t *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = bf16_value(from[i]);
}

WIDE static void narrow(uint16_t *restrict to, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = bf16_of(from[i]);
}

// oneDNN's own relu turns nan into 0.
static void clip(const dnn_conv_spec *s, void *y)
{
    size_t n = s->rows * s->out[0] * s->out[1] * s->filters;
    if (s->half)
        clip_halves(y, n, s->most);
    else
        clip_floats(y, n, s->most);
}

static size_t numbers_of(const dnnl_memory_desc_t *d)
{
    return dnnl_memory_desc_get_size(MEMORY_ARG(d)) / sizeof(float);
}

static int multiply(const dnn_conv *c, void *x, void *packed, float *bias, void *y, void *scratch)
{
    static const int names[][4] = {
        [DNN_FORWARD] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS},
        [DNN_BACK_DATA] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST, 0},
        [DNN_BACK_WEIGHTS] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST,
            DNNL_ARG_DIFF_BIAS},
    };
    const int *name = names[c->spec.way];
    dnnl_exec_arg_t args[5] = {{name[0], memory_at(&c->x, x)},
        {name[1], memory_at(&c->weights, packed)}, {name[2], memory_at(&c->y, y)},
        {DNNL_ARG_SCRATCHPAD, memory_at(&c->scratch, scratch)}};
    size_t n = 4;
    if (c->spec.bias && name[3])
        args[n++] = (dnnl_exec_arg_t){name[3], memory_at(&c->bias, bias)};
    if (execute(c->run, n, args) < 0)
        return -1;
    if (c->spec.clip && c->spec.way == DNN_FORWARD)
        clip(&c->as, y);
    return 0;
}

static int run_widened(
    const dnn_conv *c, uint16_t *x, void *packed, float *bias, uint16_t *y, char *scratch)
{
    float *wide[] = {(void *)(scratch + wide_x(c)), (void *)(scratch + wide_y(c))};
    size_t of_x = numbers_of(&c->x), of_y = numbers_of(&c->y);
    dnn_way way = c->spec.way;
    if (way != DNN_BACK_DATA)
        widen(wide[0], x, of_x);
    if (way != DNN_FORWARD || c->spec.sum)
        widen(wide[1], y, of_y);
    if (multiply(c, wide[0], packed, bias, wide[1], scratch) < 0)
        return -1;
    if (way == DNN_BACK_DATA)
        narrow(x, wide[0], of_x);
    else if (way == DNN_FORWARD)
        narrow(y, wide[1], of_y);
    return 0;
}

static int run(const dnn_conv *c, void *x, void *packed, float *bias, void *y, void *scratch)
{
    return is_widened(c) ? run_widened(c, x, packed, bias, y, scratch)
                         : multiply(c, x, packed, bias, y, scratch);
}

extern const dnn_ops firesteel_dnn;
const dnn_ops firesteel_dnn = {
    .version = DNN_VERSION,
    .library = library,
    .has_half = has_half,
    .widens = widens,
    .conv = conv,
    .packed_bytes = packed_bytes,
    .scratch_bytes = scratch_bytes,
    .pack = pack,
    .unpack = unpack,
    .run = run,
};

// SPDX-License-Identifier: MIT
// Layers as the objects of nn.lua, and the two ways to make a model of them: a row (nn.Sequential)
// and a graph (nn.Model).
#include "script/worker/fields.h"
#include "script/worker/model.h"
#include "script/worker/sharing.h"
#include "trainer/nn/op/op.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LAYERS_MAX = 1000, REMAT_ABOVE = 1024 };

// A list of sizes at the field: how many, -1 when there is none. -1 in it (a size to be found)
// becomes 0 where `open` allows it.
static int read_sizes(
    lua_State *L, int table, const char *what, const char *field, size_t *out, int most, bool open)
{
    if (lua_getfield(L, table, field) == LUA_TNIL) {
        lua_pop(L, 1);
        return -1;
    }
    lua_Integer n = lua_istable(L, -1) ? luaL_len(L, -1) : 0;
    if (n > most)
        luaL_error(L, "%s: %s has more than %d dimensions", what, field, most);
    for (int i = 0; i < n; i++) {
        lua_geti(L, -1, i + 1);
        lua_Integer size = lua_tointeger(L, -1);
        if (size < 1 && !(open && size == -1))
            luaL_error(L, "%s: %s must be positive integers, got %s", what, field,
                luaL_tolstring(L, -1, NULL));
        out[i] = size < 0 ? 0 : (size_t)size;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return (int)n;
}

static void read_dense(lua_State *L, int table, layer_spec *spec)
{
    spec->units = (size_t)opt_int_field(L, table, "Dense", "units", 0);
    spec->inputs = (size_t)opt_int_field(L, table, "Dense", "input_dim", 0);
    if (spec->in.dims == 1 && !spec->inputs)
        spec->inputs = spec->in.size[0];
    if (spec->in.dims == 1)
        spec->in.dims = 0;
}

// An object of nn.initializers, which nn.lua has made.
static void read_initializer(lua_State *L, int table, const char *layer, initializer *out)
{
    err e;
    initializer_kind kind = 0;
    const char *class = opt_string_field(L, table, layer, "class"), *name;
    double *value;
    if (!class || initializer_parse(class, &kind, &e))
        luaL_error(L, "%s: %s", layer, class ? e.text : "an initializer without a class");
    *out = initializer_of(kind);
    for (size_t i = 0; (name = initializer_number(out, i, &value)); i++)
        *value = opt_number_field(L, table, class, name, *value);
    const char *mode = opt_string_field(L, table, class, "mode");
    const char *distribution = opt_string_field(L, table, class, "distribution");
    if ((mode && fan_mode_parse(mode, &out->mode, &e)) ||
        (distribution && fan_distribution_parse(distribution, &out->distribution, &e)))
        luaL_error(L, "%s: %s", class, e.text);
    out->seeded = lua_getfield(L, table, "seed") != LUA_TNIL;
    lua_pop(L, 1);
    out->seed = opt_int_field(L, table, class, "seed", 0);
}

static void read_weights(lua_State *L, int table, const char *class, layer_spec *spec)
{
    const op *own = op_of(spec->kind);
    for (size_t i = 0; i < LAYER_WEIGHTS && own->weight[i].option; i++) {
        weight_spec *w = &spec->weight[i];
        lua_pushfstring(L, "%s_initializer", own->weight[i].option);
        if (lua_gettable(L, table) == LUA_TTABLE)
            read_initializer(L, lua_gettop(L), class, &w->start);
        lua_pushfstring(L, "%s_regularizer", own->weight[i].option);
        if (lua_gettable(L, table) == LUA_TTABLE) {
            w->l1 = opt_number_field(L, lua_gettop(L), class, "l1", 0);
            w->l2 = opt_number_field(L, lua_gettop(L), class, "l2", 0);
        }
        lua_pop(L, 2);
    }
}

static void read_window(
    lua_State *L, int table, const char *class, const char *size, layer_spec *spec)
{
    const char *padding = opt_string_field(L, table, class, "padding");
    read_sizes(L, table, class, size, spec->window, 2, false);
    read_sizes(L, table, class, "strides", spec->stride, 2, false);
    spec->same = padding && strcmp(padding, "same") == 0;
    spec->causal = padding && strcmp(padding, "causal") == 0;
    read_sizes(L, table, class, "dilation_rate", spec->dilation, 2, false);
}

static void read_filters(lua_State *L, int table, const char *class, layer_spec *spec)
{
    spec->units = (size_t)opt_int_field(L, table, class, "filters", 0);
    if (spec->units < 1 || spec->units > 1 << 24)
        luaL_error(L, "%s: filters must be from 1 to 16777216", class);
}

// padding = { { top, bottom }, { left, right } }, as nn.lua has made it.
static void read_padding(lua_State *L, int table, size_t *pad)
{
    lua_getfield(L, table, "padding");
    for (int i = 0; i < 4; i++) {
        lua_geti(L, -1, i / 2 + 1);
        lua_geti(L, -1, i % 2 + 1);
        lua_Integer n = lua_tointeger(L, -1);
        pad[i] = n < 0 ? SIZE_MAX : (size_t)n;
        lua_pop(L, 2);
    }
    lua_pop(L, 1);
}

// A list of numbers, which nn.lua has checked: how many, in *out, which the table at `kept` keeps.
static size_t read_numbers(lua_State *L, int table, const char *field, int kept, const double **out)
{
    lua_getfield(L, table, field);
    lua_Integer n = lua_istable(L, -1) ? luaL_len(L, -1) : 0;
    double *numbers = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *numbers, 0);
    lua_rawsetp(L, kept, numbers);
    for (lua_Integer i = 0; i < n; i++) {
        lua_geti(L, -1, i + 1);
        numbers[i] = lua_tonumber(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    *out = numbers;
    return (size_t)n;
}

// x·√variance + mean is (x - m)/√v with other numbers m and v.
static void invert(layer_spec *spec)
{
    for (size_t i = 0; i < spec->constants; i++) {
        double deviation = fmax(sqrt(spec->variance[i]), 1e-7);
        ((double *)(uintptr_t)spec->mean)[i] = -spec->mean[i] / deviation;
        ((double *)(uintptr_t)spec->variance)[i] = 1 / (deviation * deviation);
    }
}

static void read_normalization(lua_State *L, int table, int kept, layer_spec *spec)
{
    if (lua_getfield(L, table, "mean") != LUA_TTABLE)
        luaL_error(L, "Normalization: it has no mean and variance: call normalization:adapt(x) "
                      "before the model is made, or give them as options");
    spec->constants = read_numbers(L, table, "mean", kept, &spec->mean);
    read_numbers(L, table, "variance", kept, &spec->variance);
    if (opt_bool_field(L, table, "Normalization", "invert", false))
        invert(spec);
    lua_pushboolean(L, true); // adapt would come too late
    lua_setfield(L, table, "used");
    lua_pop(L, 1);
}

// kept: a table that keeps what the spec borrows.
static void read_kind(lua_State *L, int table, const char *class, int kept, layer_spec *spec)
{
    switch (spec->kind) {
    case LAYER_DENSE:
        read_dense(L, table, spec);
        break;
    case LAYER_DROPOUT:
        spec->rate = (float)opt_number_field(L, table, class, "rate", 0);
        break;
    case LAYER_INPUT:
        spec->dims = read_sizes(L, table, class, "shape", spec->shape, TENSOR_MAX_DIMS, false);
        break;
    case LAYER_FLATTEN:
        spec->dims = spec->in.dims;
        memcpy(spec->shape, spec->in.size, sizeof spec->shape);
        spec->in.dims = 0;
        break;
    case LAYER_RESHAPE:
        spec->dims =
            read_sizes(L, table, class, "target_shape", spec->shape, TENSOR_MAX_DIMS, true);
        break;
    case LAYER_EMBEDDING:
        spec->entries = (size_t)opt_int_field(L, table, class, "input_dim", 0);
        spec->units = (size_t)opt_int_field(L, table, class, "output_dim", 0);
        if (spec->entries < 1 || spec->entries > 1 << 24 || spec->units < 1 ||
            spec->units > 1 << 24)
            luaL_error(L, "Embedding: input_dim and output_dim must be from 1 to 16777216");
        break;
    case LAYER_CONV1D:
    case LAYER_CONV2D:
        spec->groups = (size_t)opt_int_field(L, table, class, "groups", 1);
        read_filters(L, table, class, spec);
        read_window(L, table, class, "kernel_size", spec);
        break;
    case LAYER_SEPARABLE_CONV2D:
        read_filters(L, table, class, spec);
        __attribute__((fallthrough));
    case LAYER_DEPTHWISE_CONV2D:
        spec->multiplier = (size_t)opt_int_field(L, table, class, "depth_multiplier", 1);
        read_window(L, table, class, "kernel_size", spec);
        break;
    case LAYER_RANDOM_FLIP: {
        const char *mode = opt_string_field(L, table, class, "mode");
        spec->horizontal = !mode || strncmp(mode, "horizontal", 10) == 0;
        spec->vertical = !mode || strstr(mode, "vertical");
        break;
    }
    case LAYER_RANDOM_CROP:
    case LAYER_CENTER_CROP:
        spec->shape[0] = (size_t)opt_int_field(L, table, class, "height", 0);
        spec->shape[1] = (size_t)opt_int_field(L, table, class, "width", 0);
        break;
    case LAYER_NORMALIZATION:
        read_normalization(L, table, kept, spec);
        break;
    case LAYER_ZERO_PADDING2D:
        read_padding(L, table, spec->pad);
        break;
    case LAYER_RELU:
        spec->most = opt_number_field(L, table, class, "max_value", INFINITY);
        spec->slope = opt_number_field(L, table, class, "negative_slope", 0);
        spec->threshold = opt_number_field(L, table, class, "threshold", 0);
        break;
    case LAYER_LAYER_NORMALIZATION:
    case LAYER_BATCH_NORMALIZATION:
        spec->axis = opt_int32_field(L, table, class, "axis", 0);
        spec->axes = (size_t)opt_int_field(L, table, class, "axes", 0); // by nn.lua
        spec->synchronized = opt_bool_field(L, table, class, "synchronized", false);
        spec->no_center = !opt_bool_field(L, table, class, "center", true);
        spec->no_scale = !opt_bool_field(L, table, class, "scale", true);
        break;
    case LAYER_RESCALING:
        spec->scale = opt_number_field(L, table, class, "scale", 1);
        spec->offset = opt_number_field(L, table, class, "offset", 0);
        if (!isfinite(spec->scale) || !isfinite(spec->offset))
            luaL_error(L, "Rescaling: scale and offset must be finite");
        break;
    case LAYER_CONCATENATE:
        spec->axis = opt_int32_field(L, table, class, "axis", -1);
        break;
    case LAYER_GLOBAL_MAX_POOLING1D:
    case LAYER_GLOBAL_AVERAGE_POOLING1D:
    case LAYER_GLOBAL_MAX_POOLING2D:
    case LAYER_GLOBAL_AVERAGE_POOLING2D:
        spec->keepdims = opt_bool_field(L, table, class, "keepdims", false);
        break;
    case LAYER_MAX_POOLING1D:
    case LAYER_AVERAGE_POOLING1D:
    case LAYER_MAX_POOLING2D:
    case LAYER_AVERAGE_POOLING2D:
        read_window(L, table, class, "pool_size", spec);
        break;
    default:
        break;
    }
}

// dtype = "mixed_bfloat16"; `otherwise` where there is none.
static bool read_dtype(lua_State *L, int table, const char *what, bool otherwise)
{
    const char *dtype = opt_string_field(L, table, what, "dtype");
    bool half = dtype && strcmp(dtype, "mixed_bfloat16") == 0;
    if (dtype && !half && strcmp(dtype, "float32") != 0)
        luaL_error(
            L, "%s: dtype must be \"float32\" or \"mixed_bfloat16\", got \"%s\"", what, dtype);
    return dtype ? half : otherwise;
}

// The option name, which the table keeps; NULL: there is none.
static const char *read_name(lua_State *L, int table, const char *what)
{
    const char *name = opt_string_field(L, table, what, "name");
    if (name && strlen(name) >= LAYER_NAME_SIZE)
        luaL_error(L, "%s: the name \"%s\" is too long", what, name);
    return name;
}

// Reads and checks the fields that several kinds of layers share. A layer without such a field gets
// its default.
static void read_common(lua_State *L, int table, const char *class, layer_spec *spec)
{
    err e;
    const char *name = read_name(L, table, class);
    const char *function = opt_string_field(L, table, class, "activation");
    snprintf(spec->name, sizeof spec->name, "%s", name ? name : "");
    if (function && activation_parse(function, &spec->activation, &e))
        luaL_error(L, "%s: %s", class, e.text);
    int dims = read_sizes(L, table, class, "input_shape", spec->in.size, TENSOR_MAX_DIMS, false);
    spec->in.dims = dims < 0 ? 0 : dims;
    spec->no_bias = !opt_bool_field(L, table, class, "use_bias", true);
    spec->frozen = !opt_bool_field(L, table, class, "trainable", true);
    spec->remat = opt_bool_field(L, table, class, "remat", false); // by nn.remat
    spec->momentum = opt_number_field(L, table, class, "momentum", NORM_MOMENTUM);
    spec->epsilon = opt_number_field(L, table, class, "epsilon", NORM_EPSILON);
    if (!(spec->momentum >= 0 && spec->momentum < 1) || !(spec->epsilon >= 0))
        luaL_error(L, "%s: momentum must be from 0 to less than 1, and epsilon positive", class);
}

// half: the model computes in bf16, unless the layer's dtype says otherwise.
static void read_layer(
    lua_State *L, int table, const char *what, bool half, int kept, layer_spec *spec)
{
    err e;
    const char *class = opt_string_field(L, table, "layer", "class");
    if (!class || layer_kind_parse(class, &spec->kind, &e))
        luaL_error(L, "%s: %s", what, class ? e.text : "an item that is no layer");
    read_common(L, table, class, spec);
    spec->half = spec->kind == LAYER_INPUT ? half : read_dtype(L, table, class, half);
    read_weights(L, table, class, spec);
    read_kind(L, table, class, kept, spec);
}

// inner.activation(name) → what is wrong with it, or nil
int lua_check_activation(lua_State *L)
{
    err e;
    activation a;
    bool known = activation_parse(luaL_checkstring(L, 1), &a, &e) == 0;
    lua_pushstring(L, known ? NULL : e.text);
    return 1;
}

static void mark_layer(const char *mode, size_t above, layer_spec *l)
{
    if (l->kind == LAYER_INPUT)
        return;
    if (strcmp(mode, "larger_than") == 0 && !l->remat)
        l->remat = above + 1;
    else if (strcmp(mode, "full") == 0 ||
             (strcmp(mode, "activations") == 0 &&
                 (l->kind == LAYER_ACTIVATION || l->kind == LAYER_RELU)))
        l->remat = 1;
}

// The option remat of a model: "full", "activations", or an nn.RematScope, which nn.lua has
// checked. NULL: it has none.
static const char *read_mode(lua_State *L, int at, const char *what)
{
    const char *mode = NULL;
    if (lua_istable(L, at)) {
        const char *class = opt_string_field(L, at, what, "class");
        if (class && strcmp(class, "RematScope") == 0)
            mode = opt_string_field(L, at, class, "mode");
    } else if (lua_type(L, at) == LUA_TSTRING) {
        mode = lua_tostring(L, at);
        mode = strcmp(mode, "full") == 0 || strcmp(mode, "activations") == 0 ? mode : NULL;
    }
    if (!mode && !lua_isnil(L, at))
        luaL_error(L, "%s: remat must be \"full\", \"activations\" or an nn.RematScope, got %s",
            what, luaL_tolstring(L, at, NULL));
    return mode;
}

// Marks layers by the option remat; names stay on the stack.
static void read_remat(
    lua_State *L, int table, const char *what, layer_spec *specs, graph_spec *spec)
{
    lua_getfield(L, table, "remat");
    int scope = lua_gettop(L);
    const char *mode = read_mode(L, scope, what);
    int64_t above = REMAT_ABOVE;
    if (lua_istable(L, scope)) {
        above = opt_int_field(L, scope, "RematScope", "output_size_threshold", REMAT_ABOVE);
        lua_getfield(L, scope, "layer_names");
        spec->remats = lua_istable(L, -1) ? (size_t)luaL_len(L, -1) : 0;
        const char **names = lua_newuserdatauv(L, (spec->remats + 1) * sizeof *names, 0);
        for (size_t k = 0; k < spec->remats; k++) {
            lua_geti(L, scope + 1, (lua_Integer)k + 1);
            names[k] = lua_tostring(L, -1); // the list keeps it
            lua_pop(L, 1);
        }
        spec->remat = names;
    }
    for (size_t i = 0; mode && i < spec->n; i++)
        mark_layer(mode, (size_t)above, &specs[i]);
}

// Room for n layers, as a value on the stack.
static layer_spec *push_layers(lua_State *L, lua_Integer n, const char *what)
{
    if (n < 1 || n > LAYERS_MAX)
        luaL_error(L, "%s: expects 1 to %d layers, got %I", what, LAYERS_MAX, n);
    layer_spec *specs = lua_newuserdatauv(L, (size_t)n * sizeof *specs, 0);
    memset(specs, 0, (size_t)n * sizeof *specs);
    return specs;
}

// nn.Sequential{ layer, …, seed = 42 }; the first item may be nn.Input{…}.
int lua_sequential(lua_State *L)
{
    err e;
    luaL_checktype(L, 1, LUA_TTABLE);
    check_field_names(L, 1, "Sequential", "dtype remat seed name");
    bool half = read_dtype(L, 1, "Sequential", false);
    lua_Integer n = luaL_len(L, 1);
    if (n < 1)
        return luaL_error(L, "Sequential: it has no layers: give all at once, as nn.Sequential { "
                             "layer, layer, … }; put them into a table first: nn.Sequential(list)");
    layer_spec *specs = push_layers(L, n, "Sequential");
    lua_newtable(L);
    lua_newtable(L);
    int noted = lua_gettop(L), kept = noted - 1;
    for (lua_Integer i = 0; i < n; i++) {
        if (lua_geti(L, 1, i + 1) != LUA_TTABLE && test_model(L, -1))
            return luaL_error(L,
                "Sequential: item %d is a model, which is no layer here: give its layers instead; "
                "layers that several models have share their weights",
                (int)i + 1);
        if (!lua_istable(L, -1))
            return luaL_error(L, "Sequential: item %d is a %s, not a layer", (int)i + 1,
                test_tensor(L, -1) ? "tensor" : luaL_typename(L, -1));
        int item = lua_gettop(L);
        lua_pushliteral(L, "class");
        if (lua_rawget(L, item) == LUA_TSTRING)
            return luaL_error(L,
                "Sequential: item %d is the class %s, not a layer: nn.%s { … } makes one",
                (int)i + 1, lua_tostring(L, -1), lua_tostring(L, -1));
        lua_settop(L, item);
        if (lua_getfield(L, item, "layer") == LUA_TTABLE) {
            lua_getfield(L, item, "from");
            if (i > 0 || luaL_len(L, -1) > 0)
                return luaL_error(L,
                    "Sequential: item %d is a node; nn.Model makes a model of nodes", (int)i + 1);
            item++;
        }
        read_layer(L, item, "Sequential", half, kept, &specs[i]);
        for (lua_Integer k = 1; k <= i; k++) {
            lua_rawgeti(L, noted, k);
            if (lua_rawequal(L, -1, item))
                return luaL_error(L,
                    "Sequential: items %d and %d are the same layer; nn.Model has layers that are "
                    "called twice",
                    (int)k, (int)i + 1);
            lua_pop(L, 1);
        }
        note_layer(L, noted, item, (size_t)i);
        lua_settop(L, noted);
    }
    graph_spec spec = {.layers = specs,
        .n = (size_t)n,
        .name = read_name(L, 1, "Sequential"),
        .seed = (uint64_t)opt_int_field(L, 1, "Sequential", "seed", MODEL_SEED)};
    read_remat(L, 1, "Sequential", specs, &spec);
    push_model(L, model_new_graph(&spec, &e), &e);
    join_layers(L, noted);
    return 1;
}

// The list of numbers at the top of the stack, as a value that replaces it.
static size_t *take_numbers(lua_State *L, size_t *n)
{
    int list = lua_gettop(L);
    luaL_checktype(L, list, LUA_TTABLE);
    *n = (size_t)luaL_len(L, list);
    size_t *numbers = lua_newuserdatauv(L, (*n + 1) * sizeof *numbers, 0);
    for (size_t i = 0; i < *n; i++) {
        lua_geti(L, list, (lua_Integer)i + 1);
        numbers[i] = (size_t)luaL_checkinteger(L, -1);
        lua_pop(L, 1);
    }
    lua_replace(L, list);
    return numbers;
}

// shares[i + 1] is the number of the layer's first call, from 1; 0: this is the first.
static void read_shares(lua_State *L, lua_Integer i, layer_spec *spec)
{
    lua_getfield(L, 1, "shares");
    lua_geti(L, -1, i + 1);
    spec->shares = (size_t)luaL_checkinteger(L, -1);
    if (spec->shares)
        spec->name[0] = 0;
    lua_pop(L, 2);
}

// nn.Model's part in C: {layers =, from = {{0}, …}, shares = {0, …}, inputs = {0}, outputs = {3},
// seed =}, numbers from 0.
int lua_graph(lua_State *L)
{
    err e;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lua_getfield(L, 1, "layers");
    lua_Integer n = luaL_len(L, 2);
    bool half = read_dtype(L, 1, "Model", false);
    layer_spec *specs = push_layers(L, n, "Model");
    lua_newtable(L); // keeps the lists of numbers
    lua_newtable(L);
    for (lua_Integer i = 0; i < n; i++) {
        lua_geti(L, 2, i + 1);
        read_layer(L, 6, "Model", half, 4, &specs[i]);
        lua_getfield(L, 1, "from");
        lua_geti(L, -1, i + 1);
        specs[i].from = take_numbers(L, &specs[i].froms);
        read_shares(L, i, &specs[i]);
        lua_rawseti(L, 4, i + 1);
        if (!specs[i].shares)
            note_layer(L, 5, 6, (size_t)i);
        lua_settop(L, 5);
    }
    graph_spec spec = {.layers = specs, .n = (size_t)n};
    lua_getfield(L, 1, "inputs");
    spec.inputs = take_numbers(L, &spec.input_count);
    lua_getfield(L, 1, "outputs");
    spec.outputs = take_numbers(L, &spec.output_count);
    spec.seed = (uint64_t)opt_int_field(L, 1, "Model", "seed", MODEL_SEED);
    spec.name = read_name(L, 1, "Model");
    read_remat(L, 1, "Model", specs, &spec);
    push_model(L, model_new_graph(&spec, &e), &e);
    join_layers(L, 5);
    return 1;
}

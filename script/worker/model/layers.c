// SPDX-License-Identifier: MIT
// Layers as the objects of nn.lua, and the two ways to make a model of them: a row (nn.Sequential)
// and a graph (nn.Model).
#include "script/worker/core/fields.h"
#include "script/worker/model/model.h"
#include "script/worker/model/sharing.h"
#include "script/worker/nn/attributes.h"
#include "trainer/nn/layer/op.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LAYERS_MAX = 1000, REMAT_ABOVE = 1024 };

// An object of nn.initializers, which nn.lua has made.
static void read_initializer(lua_State *L, int table, const char *layer, initializer *out)
{
    err e;
    initializer_kind kind = 0;
    const char *class = opt_string_field(L, table, layer, "class");
    if (!class || initializer_parse(class, &kind, &e))
        luaL_error(L, "%s: %s", layer, class ? e.text : "an initializer without a class");
    read_attributes(L, table, initializer_declaration(kind), 0, out);
    out->kind = kind;
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

// The options that all layers have.
static void read_common(lua_State *L, int table, const char *class, layer_spec *spec)
{
    const char *name = read_name(L, table, class);
    snprintf(spec->name, sizeof spec->name, "%s", name ? name : "");
    int dims = read_sizes(L, table, class, "input_shape", spec->in.size, TENSOR_MAX_DIMS, false);
    spec->in.dims = dims < 0 ? 0 : dims;
    spec->frozen = !opt_bool_field(L, table, class, "trainable", true);
    spec->remat = opt_bool_field(L, table, class, "remat", false); // by nn.remat
}

// What its kind can be told. The table at `kept` keeps that as long as the spec is used.
static void read_own(lua_State *L, int table, int kept, layer_spec *spec)
{
    err e;
    const op *what = op_of(spec->kind);
    if (!what->is.size)
        return;
    void *own = lua_newuserdatauv(L, what->is.size, 0);
    lua_rawsetp(L, kept, own);
    read_attributes(L, table, &what->is, kept, own);
    spec->own = own;
    if (what->settle && what->settle(spec, own, &e) < 0)
        luaL_error(L, "%s: %s", what->is.name, e.text);
}

// A class may look at a layer of which a model is made.
static void tell_taken(lua_State *L, int table)
{
    if (luaL_getmetafield(L, table, "taken") == LUA_TNIL)
        return;
    lua_pushvalue(L, table);
    lua_call(L, 1, 0);
}

// half: the model computes in bf16, unless the layer's dtype says otherwise.
static void read_layer(
    lua_State *L, int table, const char *what, bool half, int kept, layer_spec *spec)
{
    err e;
    const char *class = opt_string_field(L, table, "layer", "class");
    if (!class || layer_kind_parse(class, &spec->kind, &e))
        luaL_error(L, "%s: %s", what, class ? e.text : "an item that is no layer");
    tell_taken(L, table);
    read_common(L, table, class, spec);
    spec->half = spec->kind == LAYER_INPUT ? half : read_dtype(L, table, class, half);
    read_weights(L, table, class, spec);
    read_own(L, table, kept, spec);
}

// inner.check_layer(object): raises what is wrong with what its class alone has.
int lua_check_layer(lua_State *L)
{
    err e;
    layer_spec spec = {0};
    const char *class = opt_string_field(L, 1, "layer", "class");
    if (!class || layer_kind_parse(class, &spec.kind, &e))
        return luaL_error(L, "%s", class ? e.text : "an item that is no layer");
    lua_settop(L, 1);
    lua_newtable(L);
    read_own(L, 1, 2, &spec);
    return 0;
}

static void push_layer_class(lua_State *L, size_t i)
{
    const op *what = op_of((layer_kind)i);
    push_class(L, &what->is);
    int class = lua_gettop(L);
    for (size_t k = 0; k < LAYER_WEIGHTS && what->weight[k].option; k++) {
        const char *option = what->weight[k].option;
        add_class_field(L, class, lua_pushfstring(L, "%s_initializer", option), "initializer");
        if (!what->weight[k].statistics)
            add_class_field(L, class, lua_pushfstring(L, "%s_regularizer", option), "regularizer");
        lua_settop(L, class);
    }
}

static void push_optimizer_class(lua_State *L, size_t i)
{
    push_class(L, optimizer_declaration((optimizer_kind)i));
}

static void push_schedule_class(lua_State *L, size_t i)
{
    push_class(L, schedule_declaration((schedule_kind)(i + 1)));
}

static void push_initializer_class(lua_State *L, size_t i)
{
    push_class(L, initializer_declaration((initializer_kind)(i + 1)));
}

static void push_regularizer_class(lua_State *L, size_t i)
{
    push_class(L, regularizer_declaration(i));
}

static void push_loss_class(lua_State *L, size_t i)
{
    push_class(L, loss_declaration((loss_kind)i));
    lua_pushstring(L, loss_name((loss_kind)i));
    lua_setfield(L, -2, "other");
}

// inner.classes("layer"): of each layer (optimizer, …) what its class has, as push_class tells it.
// What options of weights take is "initializer" or "regularizer".
int lua_classes(lua_State *L)
{
    static const struct {
        void (*push)(lua_State *L, size_t i);
        size_t n;
    } groups[] = {{push_layer_class, LAYER_KIND_COUNT}, {push_optimizer_class, OPTIMIZER_COUNT},
        {push_schedule_class, SCHEDULE_COUNT - 1}, {push_initializer_class, INITIALIZER_COUNT - 1},
        {push_regularizer_class, REGULARIZERS}, {push_loss_class, LOSS_COUNT}};
    static const char *const names[] = {
        "layer", "optimizer", "schedule", "initializer", "regularizer", "loss", NULL};
    int group = luaL_checkoption(L, 1, NULL, names);
    lua_newtable(L);
    for (size_t i = 0; i < groups[group].n; i++) {
        groups[group].push(L, i);
        lua_rawseti(L, 2, (lua_Integer)i + 1);
    }
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

// SPDX-License-Identifier: MIT
#include "script/worker/core/options.h"

#include "script/worker/core/fields.h"
#include "trainer/weighting.h"

#include <math.h>
#include <string.h>

// Keeps the value on top of the stack in the list `kept`, and pops it.
static void keep(lua_State *L, int kept)
{
    lua_rawseti(L, kept, (lua_Integer)lua_rawlen(L, kept) + 1);
}

// Keeps the tensor on top of the stack in the list `kept`, and pops it. What is used is a view of
// its own: a callback may close the tensor.
static const tensor *keep_view(lua_State *L, int kept)
{
    push_tensor(L, tensor_ref(check_tensor(L, -1)), NULL);
    const tensor *view = check_tensor(L, -1);
    keep(L, kept);
    keep(L, kept);
    return view;
}

// Item i of the table, a tensor. `kept` has it then: a callback may take it out of the table.
static const tensor *item(
    lua_State *L, int table, int i, const char *what, const char *name, int kept)
{
    lua_geti(L, table, i);
    if (test_tensor(L, -1))
        return keep_view(L, kept);
    const tensor *t = strcmp(name, "inputs x") == 0 ? test_pictures(L, -1) : NULL;
    if (!t) {
        static const char *const remedies[LUA_NUMTYPES] = {
            [LUA_TTABLE] = ": data.tensor(t) makes one of a table of numbers",
            [LUA_TFUNCTION] = ": all rows are given at once; data.images with lazy = true decodes "
                              "them batch by batch, data.npy with mmap = true reads them so"};
        const char *got =
            luaL_getmetafield(L, -1, "__name") == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
        const char *remedy = got ? NULL : remedies[lua_type(L, -1) < 0 ? 0 : lua_type(L, -1)];
        luaL_error(L, "%s: item %d, the %s, must be a tensor, got %s%s", what, i, name,
            got ? got : luaL_typename(L, -1), remedy ? remedy : "");
    }
    keep(L, kept);
    return t;
}

// The name of the model's k-th input or output.
static const char *part_name(const model *m, bool input, size_t k)
{
    size_t n;
    if (!input)
        return model_output_layer(m, k)->name;
    const size_t *layers = model_input_layers(m, &n);
    return n ? model_layer(m, layers[k])->name : "";
}

// Replaces the table at `at`, if its keys are names of the model's inputs or outputs, by a list in
// their order; what it does not name is false there where `open`, else an error.
static void by_order(lua_State *L, int at, const model *m, bool input, bool open, const char *what)
{
    size_t n = input ? model_input_count(m) : model_output_count(m);
    lua_pushnil(L);
    if (!lua_next(L, at))
        return;
    bool named = lua_type(L, -2) == LUA_TSTRING;
    lua_pop(L, 2);
    if (!named)
        return;
    buf names = {0};
    size_t found = 0, given = 0;
    lua_createtable(L, (int)n, 0);
    for (size_t k = 0; k < n; k++) {
        const char *name = part_name(m, input, k);
        buf_fmt(&names, "%s%s", k ? ", " : "", name);
        if (lua_getfield(L, at, name) == LUA_TNIL) {
            lua_pop(L, 1);
            lua_pushboolean(L, false);
        } else
            found++;
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1))
        given++;
    lua_pushlstring(L, buf_cstr(&names), names.len);
    buf_done(&names);
    if (given != found || (!open && found < n))
        luaL_error(L, "%s: the model's %s are %s; give a tensor by each name", what,
            input ? "inputs" : "outputs", lua_tostring(L, -1));
    lua_pop(L, 1);
    lua_replace(L, at);
}

// A table that is no object, as a node is.
static bool is_list(lua_State *L, int at)
{
    if (!lua_istable(L, at) || luaL_getmetafield(L, at, "__name") == LUA_TNIL)
        return lua_istable(L, at);
    lua_pop(L, 1);
    return false;
}

void list_inputs(lua_State *L, int at, const model *m, const char *what)
{
    by_order(L, at, m, true, false, what);
}

// Item i: a tensor, or a list of them, or a table by the names of inputs or outputs, for a graph
// with several, which is pushed and *list set.
static const tensor *items(lua_State *L, int table, int i, const char *what, const char *name,
    int kept, const tensor *const **list)
{
    *list = NULL;
    lua_geti(L, table, i);
    int at = lua_gettop(L);
    if (is_list(L, at)) {
        by_order(L, at, check_model(L, 1), i == 1, false, what);
        lua_pushvalue(L, at);
        lua_seti(L, table, i);
    }
    lua_Integer n = is_list(L, at) ? luaL_len(L, at) : 0;
    if (n < 1) {
        lua_settop(L, at - 1);
        return item(L, table, i, what, name, kept);
    }
    const tensor **all = lua_newuserdatauv(L, (size_t)n * sizeof *all, 0);
    for (int k = 0; k < n; k++)
        all[k] = item(L, at, k + 1, what, name, kept);
    lua_replace(L, at);
    *list = n > 1 ? all : NULL;
    return all[0];
}

// How many tensors the model takes, and how many were given.
static void check_lists(lua_State *L, const char *what, const model *m, int table)
{
    static const char *const names[] = {"inputs", "outputs"};
    size_t want[] = {model_input_count(m), model_output_count(m)};
    for (int i = 0; i < 2; i++) {
        lua_geti(L, table, i + 1);
        size_t n = lua_istable(L, -1) ? (size_t)luaL_len(L, -1) : 1;
        if (n != want[i])
            luaL_error(L, "%s: the model has %d %s, item %d has %d tensors", what, (int)want[i],
                names[i], i + 1, (int)n);
        lua_pop(L, 1);
    }
}

struct given {
    const tensor *x, *y, *weights;
    const tensor *const *xs, *const *ys, *const *head_weights;
};

// The weights of the rows, at the top of the stack, which is popped: a tensor, or for a model of
// several outputs a table of them, by position or by the outputs' names; an output that it leaves
// out counts each row once.
static void take_weights(lua_State *L, const char *what, int kept, struct given *g)
{
    const model *m = check_model(L, 1);
    int at = lua_gettop(L);
    size_t n = model_output_count(m);
    const tensor *t = test_tensor(L, at);
    if ((t || lua_istable(L, at)) && (g->weights || g->head_weights))
        luaL_error(L, "%s: sample_weight is given twice", what);
    if (!t && !lua_isnil(L, at) && !(lua_istable(L, at) && n > 1))
        luaL_error(L, "%s: sample_weight must be a tensor of a number for each row, got %s", what,
            luaL_typename(L, at));
    if (!lua_istable(L, at)) {
        g->weights = t ? keep_view(L, kept) : g->weights;
        lua_settop(L, at - 1);
        return;
    }
    by_order(L, at, m, false, true, what);
    const tensor **all = lua_newuserdatauv(L, n * sizeof *all, 0);
    for (size_t k = 0; k < n; k++) {
        lua_geti(L, at, (lua_Integer)k + 1);
        all[k] = test_tensor(L, -1);
        if (!all[k] && lua_toboolean(L, -1))
            luaL_error(L,
                "%s: sample_weight of %s must be a tensor of a number for each row, got %s", what,
                part_name(m, false, k), luaL_typename(L, -1));
        if (all[k])
            all[k] = keep_view(L, kept);
        else
            lua_pop(L, 1);
    }
    g->head_weights = all;
    keep(L, kept);
    lua_settop(L, at - 1);
}

// No more than x, y and sample_weight.
static void check_items(lua_State *L, int table, int most, const char *what)
{
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1))
        if (lua_isinteger(L, -2) && (lua_tointeger(L, -2) < 1 || lua_tointeger(L, -2) > most))
            luaL_error(L, "%s: item %d is one too many", what, (int)lua_tointeger(L, -2));
}

// Puts the items of {x = …, y = …} at their places, in the list at `holder`.
static void take_named(lua_State *L, int table, int holder, const char *what)
{
    static const char *const names[] = {"x", "y"};
    for (int i = 0; i < 2; i++) {
        bool named = lua_getfield(L, table, names[i]) != LUA_TNIL;
        bool placed = lua_geti(L, holder, i + 1) != LUA_TNIL;
        lua_pop(L, 1);
        if (named && placed)
            luaL_error(L, "%s: %s is given twice", what, names[i]);
        if (named)
            lua_rawseti(L, holder, i + 1);
        else
            lua_pop(L, 1);
    }
}

// {x, y, sample_weight}, x and y each a tensor or a list of them, or a set of data that has them as
// fields: data.mnist().train. Leaves values on the stack, which keep all tensors.
static struct given data_pair(lua_State *L, int table, const char *what)
{
    struct given g = {0};
    luaL_checkstack(L, LUA_MINSTACK, NULL);
    lua_newtable(L);
    int kept = lua_gettop(L);
    lua_getfield(L, table, "sample_weight");
    take_weights(L, what, kept, &g);
    lua_geti(L, table, 1);
    int holder = lua_gettop(L); // the table that has the items
    if (lua_istable(L, -1) && lua_getfield(L, -1, "x") != LUA_TNIL) {
        check_items(L, table, 1, what);
        lua_getfield(L, holder, "sample_weight");
        take_weights(L, what, kept, &g);
        lua_getfield(L, holder, "y");
        lua_createtable(L, 2, 0);
        lua_insert(L, -3);
        lua_rawseti(L, -3, 2);
        lua_rawseti(L, -2, 1);
        lua_replace(L, holder);
    } else {
        check_items(L, table, 3, what);
        lua_settop(L, holder - 1);
        lua_createtable(L, 3, 0); // a copy: tables by name become lists
        for (int i = 1; i <= 3; i++) {
            lua_geti(L, table, i);
            lua_rawseti(L, holder, i);
        }
    }
    take_named(L, table, holder, what);
    g.x = items(L, holder, 1, what, "inputs x", kept, &g.xs);
    g.y = items(L, holder, 2, what, "labels y", kept, &g.ys);
    lua_geti(L, holder, 3);
    take_weights(L, what, kept, &g);
    check_lists(L, what, check_model(L, 1), holder);
    return g;
}

static int64_t at_least(
    lua_State *L, int table, const char *what, const char *field, int64_t least, int64_t otherwise)
{
    int64_t value = opt_int_field(L, table, what, field, otherwise);
    if (value < least)
        luaL_error(L, "%s: '%s' must be at least %I, got %I", what, field, (lua_Integer)least,
            (lua_Integer)value);
    return value;
}

static int small_at_least(lua_State *L, int table, const char *field, int least, int otherwise)
{
    opt_int32_field(L, table, "fit", field, otherwise);
    return (int)at_least(L, table, "fit", field, least, otherwise);
}

// How many classes the targets of output k have; 0: unknown.
static lua_Integer count_classes(const model *m, size_t k, const tensor *y)
{
    compile_spec head = compile_head(model_compiled(m), k);
    if (y->dims && tensor_row_size(y) > 1)
        return (lua_Integer)tensor_row_size(y);
    if (head.own || !loss_is_crossentropy(head.loss))
        return 0;
    row_shape out = model_output_shape(m, k);
    lua_Integer wide = out.dims ? (lua_Integer)out.size[out.dims - 1] : 0;
    return head.loss == LOSS_BINARY_CROSSENTROPY ? 2 : wide;
}

// The class at the key below the top of the stack; classes: how many there are, or 0.
static lua_Integer check_class(lua_State *L, lua_Integer classes)
{
    enum { CLASSES_MAX = 1 << 20 };
    if (!lua_isinteger(L, -2) || lua_type(L, -1) != LUA_TNUMBER)
        luaL_error(L, "fit: class_weight has a key or value that is no number");
    lua_Integer class = lua_tointeger(L, -2), most = classes ? classes : CLASSES_MAX;
    if (class < 0 || class >= most)
        luaL_error(L,
            "fit: class_weight names class %I; classes count from 0 to %I, but a list in Lua from "
            "1: write {[0] = 1, [1] = 5}",
            class, most - 1);
    return class;
}

// 0, 1, 2, or as Keras has it "auto", which is also what is taken where nothing is said.
static int read_verbose(lua_State *L, int table, const char *what, const worker *w)
{
    int otherwise = w->options.terminal ? 1 : 2;
    bool is_auto = lua_getfield(L, table, "verbose") == LUA_TSTRING &&
                   strcmp(lua_tostring(L, -1), "auto") == 0;
    lua_pop(L, 1);
    return is_auto ? otherwise : opt_int32_field(L, table, what, "verbose", otherwise);
}

// {[0] = 1, [1] = 5} at the top of the stack, of output k: pushes the weights of its rows.
static const tensor *push_weights(lua_State *L, const model *m, size_t k, const tensor *y)
{
    err e;
    int given = lua_gettop(L);
    lua_Integer last = -1, classes = model_compiled(m) ? count_classes(m, k, y) : 0;
    if (!lua_istable(L, given))
        luaL_error(L,
            "fit: class_weight must be a table of numbers by class, as {[0] = 1, [1] = "
            "5}, got %s",
            luaL_typename(L, given));
    for (lua_pushnil(L); lua_next(L, given); lua_pop(L, 1)) {
        lua_Integer class = check_class(L, classes);
        last = class > last ? class : last;
    }
    if (last > 1 && lua_rawlen(L, given) == (size_t)last && lua_rawgeti(L, given, 0) == LUA_TNIL)
        luaL_error(L,
            "fit: class_weight is a list, which begins at 1, so class 0 has no weight: write {[0] "
            "= 1, [1] = 5}");
    lua_settop(L, given);
    size_t n = (size_t)(last + 1);
    double *weight = lua_newuserdatauv(L, (n + 1) * sizeof *weight, 0);
    for (size_t i = 0; i < n; i++) {
        weight[i] = lua_rawgeti(L, given, (lua_Integer)i) == LUA_TNIL ? 1 : lua_tonumber(L, -1);
        lua_pop(L, 1);
    }
    push_tensor(L, class_weights(y, weight, n, &e), &e);
    return check_tensor(L, -1);
}

// class_weight of a model of several outputs, on top: {kind = {[0] = 1, [1] = 5}}, or a list; an
// output that it leaves out counts each row once. Leaves values on the stack, which keep all.
static const tensor *const *push_head_weights(lua_State *L, const tensor *const *ys)
{
    const model *m = check_model(L, 1);
    int at = lua_gettop(L);
    size_t n = model_output_count(m);
    for (lua_pushnil(L); lua_istable(L, at) && lua_next(L, at); lua_pop(L, 1))
        if (lua_isnumber(L, -1))
            luaL_error(L,
                "fit: the model has %d outputs: class_weight needs a table for each, as {%s = "
                "{[0] = 1, [1] = 5}}",
                (int)n, part_name(m, false, 0));
    if (lua_istable(L, at))
        by_order(L, at, m, false, true, "fit: class_weight");
    if (!lua_istable(L, at) || luaL_len(L, at) > (lua_Integer)n)
        luaL_error(L, "fit: class_weight must be a table by output, for a model of %d", (int)n);
    const tensor **all = lua_newuserdatauv(L, n * sizeof *all, 0);
    lua_newtable(L);
    int kept = lua_gettop(L);
    for (size_t k = 0; k < n; k++) {
        lua_geti(L, at, (lua_Integer)k + 1);
        all[k] = lua_toboolean(L, -1) ? push_weights(L, m, k, ys[k]) : NULL;
        keep(L, kept);
        lua_settop(L, kept);
    }
    return all;
}

// class_weight: pushes the weights of the rows.
static void push_class_weight(lua_State *L, int table, fit_spec *spec)
{
    if (lua_getfield(L, table, "class_weight") == LUA_TNIL)
        return;
    err e;
    model *m = check_model(L, 1);
    if (!model_is_built(m) && model_build(m, spec->x->dims - 1, spec->x->shape + 1, &e))
        raise_err(L, &e); // how many classes there are
    if (spec->weights || spec->head_weights)
        luaL_error(L, "fit: class_weight and sample_weight cannot be given at the same time");
    if (spec->ys)
        spec->head_weights = push_head_weights(L, spec->ys);
    else
        spec->weights = push_weights(L, m, 0, spec->y);
}

// One tensor, or a list of them, which has `one` first, if that is not NULL.
struct rows_of {
    const tensor *one;
    const tensor *const *list;
};

// Rows [from, to) of all n; NULL stays NULL.
static struct rows_of push_slices(
    lua_State *L, int kept, struct rows_of of, size_t n, int64_t from, int64_t to)
{
    err e;
    const tensor **all = of.list ? lua_newuserdatauv(L, n * sizeof *all, 0) : &of.one;
    if (of.list)
        keep(L, kept);
    for (size_t k = 0; k < (of.list ? n : 1); k++) {
        const tensor *t = of.list ? of.list[k] : of.one;
        all[k] = NULL;
        if (!t)
            continue;
        push_tensor(L, tensor_slice(t, from, to, &e), &e);
        all[k] = check_tensor(L, -1);
        keep(L, kept);
    }
    return (struct rows_of){of.list && of.one ? all[0] : of.one, of.list ? all : NULL};
}

// All have as many rows, and none is lazy.
static void check_rows(lua_State *L, const char *name, struct rows_of of, size_t n, int64_t rows)
{
    for (size_t k = 0; k < (of.list ? n : 1); k++) {
        const tensor *t = of.list ? of.list[k] : of.one;
        if (t && t->later)
            luaL_error(
                L, "fit: validation_split is no option for lazy pictures; data.images has it");
        if (t && tensor_rows(t) != (size_t)rows)
            luaL_error(
                L, "fit: x has %d rows, but %s has %d", (int)rows, name, (int)tensor_rows(t));
    }
}

// As Keras: the last part of the rows, before any shuffling.
static void split(lua_State *L, double share, fit_spec *spec)
{
    const model *m = check_model(L, 1);
    size_t inputs = model_input_count(m), outputs = model_output_count(m);
    int64_t n = (int64_t)tensor_rows(spec->x), at = (int64_t)floor((double)n * (1 - share));
    struct rows_of x = {spec->x, spec->xs}, y = {spec->y, spec->ys};
    struct rows_of weights = {spec->weights, spec->head_weights};
    check_rows(L, "x", x, inputs, n);
    check_rows(L, "y", y, outputs, n);
    check_rows(L, "sample_weight", weights, outputs, n);
    if (!(share > 0 && share < 1))
        luaL_error(L, "fit: validation_split must be between 0 and 1, got %f", share);
    if (at < 1 || at >= n)
        luaL_error(L, "fit: validation_split %f of %d rows leaves none for one of the parts", share,
            (int)n);
    lua_newtable(L);
    int kept = lua_gettop(L);
    struct rows_of val_x = push_slices(L, kept, x, inputs, at, n);
    struct rows_of val_y = push_slices(L, kept, y, outputs, at, n);
    struct rows_of val_weights = push_slices(L, kept, weights, outputs, at, n);
    x = push_slices(L, kept, x, inputs, 0, at);
    y = push_slices(L, kept, y, outputs, 0, at);
    weights = push_slices(L, kept, weights, outputs, 0, at);
    spec->x = x.one, spec->xs = x.list;
    spec->y = y.one, spec->ys = y.list;
    spec->weights = weights.one, spec->head_weights = weights.list;
    spec->val_x = val_x.one, spec->val_xs = val_x.list;
    spec->val_y = val_y.one, spec->val_ys = val_y.list;
    spec->val_weights = val_weights.one, spec->val_head_weights = val_weights.list;
}

static void read_validation(lua_State *L, int table, fit_spec *spec)
{
    double share = opt_number_field(L, table, "fit", "validation_split", 0);
    if (lua_getfield(L, table, "validation_data") != LUA_TNIL) {
        int data = lua_gettop(L);
        luaL_argcheck(L, lua_istable(L, data), table, "validation_data must be a table {x, y}");
        if (lua_getfield(L, data, "x") != LUA_TNIL) { // a set of data itself
            lua_createtable(L, 1, 0);
            lua_pushvalue(L, data);
            lua_rawseti(L, -2, 1);
            lua_replace(L, data);
        }
        lua_settop(L, data);
        struct given g = data_pair(L, data, "fit: validation_data");
        spec->val_x = g.x;
        spec->val_y = g.y;
        spec->val_xs = g.xs;
        spec->val_ys = g.ys;
        spec->val_weights = g.weights;
        spec->val_head_weights = g.head_weights;
    } else if (share != 0)
        split(L, share, spec);
}

void read_fit_options(lua_State *L, int table, const worker *w, fit_spec *spec)
{
    check_field_names(L, table, "fit",
        "batch_size callbacks class_weight epochs initial_epoch sample_weight seed shuffle "
        "steps_per_epoch validation_batch_size validation_data validation_split verbose x y");
    struct given g = data_pair(L, table, "fit");
    spec->x = g.x;
    spec->y = g.y;
    spec->xs = g.xs;
    spec->ys = g.ys;
    spec->batch_size = (size_t)at_least(L, table, "fit", "batch_size", 1, 32);
    spec->epochs = small_at_least(L, table, "epochs", 0, 1);
    spec->initial_epoch = small_at_least(L, table, "initial_epoch", 0, 0);
    spec->val_batch_size = (size_t)at_least(L, table, "fit", "validation_batch_size", 0, 0);
    spec->steps_per_epoch = (size_t)at_least(L, table, "fit", "steps_per_epoch", 0, 0);
    spec->seed = (uint64_t)opt_int_field(L, table, "fit", "seed", 0);
    spec->no_shuffle = !opt_bool_field(L, table, "fit", "shuffle", true);
    spec->verbose = read_verbose(L, table, "fit", w);
    spec->weights = g.weights;
    spec->head_weights = g.head_weights;
    read_validation(L, table, spec);
    push_class_weight(L, table, spec); // only for what is trained with
}

void read_batch_options(
    lua_State *L, const char *what, const char *known, bool trains, evaluate_spec *spec)
{
    if (lua_gettop(L) > 4)
        luaL_error(L, "%s: takes x, y and a table of options", what);
    lua_settop(L, 4);
    const char *names =
        lua_pushfstring(L, "sample_weight %s%s", trains ? "class_weight " : "", known);
    take_options(L, 4, what, names, names); // in Keras's order
    lua_createtable(L, 2, 1);               // as fit takes them
    int table = lua_gettop(L);
    for (int i = 1; i <= 2; i++) {
        lua_pushvalue(L, i + 1);
        lua_rawseti(L, table, i);
    }
    lua_getfield(L, 4, "sample_weight");
    lua_setfield(L, table, "sample_weight");
    struct given g = data_pair(L, table, what);
    for (size_t k = 0; k < (g.xs ? model_input_count(check_model(L, 1)) : 1); k++)
        if ((g.xs ? g.xs[k] : g.x)->later)
            luaL_error(
                L, "%s: takes no lazy pictures: decode some of them, as x:slice(0, 32)", what);
    fit_spec fit = {
        .x = g.x, .y = g.y, .ys = g.ys, .weights = g.weights, .head_weights = g.head_weights};
    if (trains)
        push_class_weight(L, 4, &fit);
    *spec = (evaluate_spec){.x = g.x,
        .y = g.y,
        .xs = g.xs,
        .ys = g.ys,
        .weights = fit.weights,
        .head_weights = fit.head_weights};
}

void read_evaluate_options(lua_State *L, int table, const worker *w, evaluate_spec *spec)
{
    check_field_names(L, table, "evaluate", "batch_size return_dict sample_weight verbose x y");
    struct given g = data_pair(L, table, "evaluate");
    spec->x = g.x;
    spec->y = g.y;
    spec->xs = g.xs;
    spec->ys = g.ys;
    spec->batch_size = (size_t)at_least(L, table, "evaluate", "batch_size", 1, 32);
    spec->verbose = read_verbose(L, table, "evaluate", w);
    spec->weights = g.weights;
    spec->head_weights = g.head_weights;
}

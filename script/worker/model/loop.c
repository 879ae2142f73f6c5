// SPDX-License-Identifier: MIT
// Loops of one's own in Lua: model:train_on_batch, test_on_batch and gradients, optimizer:apply,
// and the optimizer of a model as an object.
#include "trainer/loop.h"

#include "base/mem.h"
#include "script/worker/core/fields.h"
#include "script/worker/core/options.h"
#include "script/worker/model/model.h"
#include "script/worker/model/sharing.h"
#include "script/worker/nn/attributes.h"
#include "trainer/nn/train.h"

#include <math.h>
#include <string.h>

// Ranks compare what they are about to average: in a loop of one's own nothing has done so before,
// and a rank that is done may have joined.
static void compare_ranks(lua_State *L, bool on)
{
    worker_of(L)->compares = on;
}

static int on_batch(lua_State *L, const char *what, bool trains)
{
    err e;
    logs l = {0};
    evaluate_spec spec;
    model *m = check_model(L, 1);
    struct lua_model *box = check_lua_model(L, 1);
    if (trains)
        check_shared(L, box, what);
    read_batch_options(L, what, "return_dict", trains, &spec);
    bool as_table = opt_bool_field(L, 4, what, "return_dict", false);
    push_watches(L, 1, &spec.watches, &spec.watch_n);
    bool busy = box->busy, follows = false;
    spec.follows = &follows;
    box->busy |= trains; // what a loss uses does not take its layers
    box->uses++;
    compare_ranks(L, true);
    int status =
        trains ? model_train_on_batch(m, &spec, &l, &e) : model_test_on_batch(m, &spec, &l, &e);
    compare_ranks(L, false);
    box->uses--;
    box->busy = busy;
    worker_of(L)->bereft |= follows && worker_of(L)->place.size > 1;
    if (status)
        raise_err(L, &e);
    return return_logs(L, &l, as_table);
}

int model_train_on_batch_method(lua_State *L)
{
    return on_batch(L, "train_on_batch", true);
}

int model_test_on_batch_method(lua_State *L)
{
    return on_batch(L, "test_on_batch", false);
}

// The option `loss`, for each output; NULL when it is not given.
static const head_spec *read_losses(lua_State *L, const model *m, head_spec heads[HEADS_MAX])
{
    bool given = lua_getfield(L, 4, "loss") != LUA_TNIL;
    lua_pop(L, 1);
    lua_newtable(L); // keeps functions for the call
    int kept = lua_gettop(L);
    for (size_t k = 0; given && k < model_output_count(m); k++) {
        const compile_spec *now = model_compiled(m);
        heads[k] = (head_spec){0};
        push_loss_of_output(L, 4, "gradients", k);
        take_loss(L, "gradients", now && now->from_logits, kept, &heads[k]);
        heads[k].loss_weight = now ? compile_head(now, k).loss_weight : 0;
    }
    return given ? heads : NULL;
}

// { tensor, …, names = { "dense/kernel", … } } of the weights that are trained
static void push_gradients(lua_State *L, model *m)
{
    err e;
    lua_Integer n = 0;
    lua_newtable(L);
    lua_newtable(L);
    for (size_t i = 0; i < model_weight_count(m); i++) {
        if (!model_weight_is_trained(m, i))
            continue;
        push_tensor(L, model_weight_gradient(m, i, &e), &e);
        lua_rawseti(L, -3, ++n);
        buf name = {0};
        model_weight_name(m, i, &name);
        lua_pushlstring(L, buf_cstr(&name), name.len);
        buf_done(&name);
        lua_rawseti(L, -2, n);
    }
    lua_setfield(L, -2, "names");
}

// gradients(x, y, { sample_weight =, class_weight =, loss = }) → loss, gradients
int model_gradients_method(lua_State *L)
{
    err e;
    double loss;
    evaluate_spec spec;
    head_spec heads[HEADS_MAX];
    struct lua_model *box = check_lua_model(L, 1);
    model *m = box->m;
    read_batch_options(L, "gradients", "loss", true, &spec);
    const head_spec *losses = read_losses(L, m, heads);
    bool follows = false;
    spec.follows = &follows;
    box->uses++;
    compare_ranks(L, true); // for the statistics of layers that are synchronized
    int status = model_gradients_on_batch(m, &spec, losses, &loss, &e);
    compare_ranks(L, false);
    box->uses--;
    worker_of(L)->bereft |= follows && worker_of(L)->place.size > 1;
    if (status)
        raise_err(L, &e);
    push_double(L, loss);
    push_gradients(L, m);
    return 2;
}

static void set_class(lua_State *L, const char *name)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, "firesteel.classes");
    lua_getfield(L, -1, name);
    lua_setmetatable(L, -3);
    lua_pop(L, 1);
}

static void push_schedule(lua_State *L, schedule s)
{
    push_attributes(L, schedule_declaration(s.kind), &s);
    for (int list = 0; s.pieces && list < 2; list++) {
        lua_newtable(L);
        for (size_t i = 0; i + (list == 0) < s.pieces; i++) {
            lua_pushnumber(L, list ? s.value[i] : s.boundary[i]);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        lua_setfield(L, -2, list ? "values" : "boundaries");
    }
    set_class(L, schedule_name(s.kind));
}

static void push_like(lua_State *L, optimizer_spec o)
{
    push_attributes(L, optimizer_declaration(o.kind), &o);
    if (o.schedule.kind != SCHEDULE_NONE) {
        push_schedule(L, o.schedule);
        lua_setfield(L, -2, "learning_rate");
    }
    set_class(L, optimizer_name(o.kind));
}

// Sets the field `groups` of the optimizer at the top of the stack.
static void push_group_list(lua_State *L, const param_group *groups, size_t n)
{
    lua_createtable(L, (int)n, 0);
    for (size_t i = 0; i < n; i++) {
        const param_group *p = &groups[i];
        lua_newtable(L);
        lua_pushstring(L, p->weights);
        lua_rawseti(L, -2, 1);
        if (!isnan(p->rate)) {
            lua_pushnumber(L, p->rate);
            lua_setfield(L, -2, "learning_rate_multiplier");
        }
        if (!isnan(p->decay)) {
            lua_pushnumber(L, p->decay);
            lua_setfield(L, -2, "weight_decay");
        }
        if (p->trainable >= 0) {
            lua_pushboolean(L, p->trainable);
            lua_setfield(L, -2, "trainable");
        }
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    if (n)
        lua_setfield(L, -2, "groups");
    else
        lua_pop(L, 1);
}

void push_optimizer(lua_State *L, int index)
{
    const compile_spec *spec = model_compiled(check_model(L, index));
    if (!spec)
        luaL_error(L, "the model was not compiled: call compile first");
    if (lua_getiuservalue(L, index, MODEL_OPTIMIZER) == LUA_TTABLE)
        return;
    lua_pop(L, 1);
    push_like(L, spec->optimizer);
    push_group_list(L, spec->groups, spec->group_count);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, index, MODEL_OPTIMIZER);
}

// optimizer:apply(model, gradients): one step.
int optimizer_apply(lua_State *L)
{
    err e;
    luaL_checktype(L, 1, LUA_TTABLE);
    model *m = check_model(L, 2);
    check_shared(L, check_lua_model(L, 2), "apply");
    luaL_checktype(L, 3, LUA_TTABLE);
    push_optimizer(L, 2);
    if (!lua_rawequal(L, 1, -1))
        return luaL_error(L,
            "apply: the model was compiled with another optimizer, which holds its "
            "state: model.optimizer:apply(model, gradients)");
    size_t n = (size_t)luaL_len(L, 3);
    const tensor **list = lua_newuserdatauv(L, (n + 1) * sizeof *list, 0);
    for (size_t i = 0; i < n; i++) {
        lua_geti(L, 3, (lua_Integer)i + 1);
        if (!(list[i] = test_tensor(L, -1)))
            return luaL_error(
                L, "apply: gradient %d is a %s, not a tensor", (int)i + 1, luaL_typename(L, -1));
        lua_pop(L, 1); // the table still holds it
    }
    compare_ranks(L, true);
    int status = model_apply(m, list, n, &e);
    compare_ranks(L, false);
    if (status)
        raise_err(L, &e);
    return 0;
}

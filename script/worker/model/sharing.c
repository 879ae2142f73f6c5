// SPDX-License-Identifier: MIT
#include "script/worker/model/sharing.h"

#include "base/mem.h"
#include "script/worker/core/fields.h"

#include <string.h>

// Two weak tables in the registry: from a layer object to its box, and from what the box holds to
// the box. Lua clears the second one of what is out of reach before it runs finalizers.
static const char by_object[] = "firesteel.shared", by_shared[] = "firesteel.shared.living",
                  type_name[] = "shared layer";

// A layer object's weights, wherever they are.
struct shared {
    size_t refs;              // models that have it, and Lua's layer object
    bool object;              // that one is among them
    struct lua_model *latest; // has the weights as they are; NULL: values does, if there are any
    size_t layer;             // its number there
    char *shapes;             // "kernel (5, 3), bias (3,)"
    float *values;
    bool filled;
};

static void drop(struct shared *s)
{
    if (--s->refs)
        return;
    free(s->shapes);
    free(s->values);
    free(s);
}

static int forget_object(lua_State *L)
{
    struct shared **box = luaL_checkudata(L, 1, type_name);
    if (*box) {
        (*box)->object = false;
        drop(*box);
    }
    *box = NULL;
    return 0;
}

void note_layer(lua_State *L, int list, int index, size_t layer)
{
    index = lua_absindex(L, index);
    lua_pushvalue(L, index);
    lua_rawseti(L, list, (lua_Integer)layer + 1);
}

static void push_weak_table(lua_State *L, const char *name, const char *mode)
{
    if (luaL_getsubtable(L, LUA_REGISTRYINDEX, name))
        return;
    lua_createtable(L, 0, 1); // it is new
    lua_pushstring(L, mode);
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
}

// Pushes the box of a layer object that has none, which is at `index`. The box knows the object:
// the first table keeps neither of them for the other's sake.
static struct shared *new_shared(lua_State *L, int index)
{
    struct shared **box = lua_newuserdatauv(L, sizeof *box, 1);
    *box = NULL;
    lua_pushvalue(L, index);
    lua_setiuservalue(L, -2, 1);
    if (luaL_newmetatable(L, type_name)) {
        lua_pushcfunction(L, forget_object);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    *box = mem_alloc(sizeof **box);
    **box = (struct shared){.refs = 1, .object = true};
    push_weak_table(L, by_shared, "v");
    lua_pushvalue(L, -2);
    lua_rawsetp(L, -2, *box);
    lua_pop(L, 1);
    return *box;
}

// Pushes nothing; the layer object is at `index`. One that somebody's finalizer has brought back
// may have a box that was finalized before: it gets a new one.
static struct shared *shared_of(lua_State *L, int index)
{
    push_weak_table(L, by_object, "k");
    lua_pushvalue(L, index);
    struct shared **box = lua_rawget(L, -2) == LUA_TNIL ? NULL : lua_touserdata(L, -1);
    struct shared *s = box ? *box : NULL;
    if (!s) {
        lua_pushvalue(L, index);
        s = new_shared(L, index);
        lua_rawset(L, -4);
    }
    lua_pop(L, 2);
    return s;
}

// The shapes that the layer's weights have, from whoever knows them.
static void set_shapes(struct shared *s, const model *m, size_t layer)
{
    AUTO_BUF shapes = {0};
    if (s->shapes || !model_is_built(m))
        return;
    model_layer_shapes(m, layer, &shapes);
    s->shapes = mem_strndup(buf_cstr(&shapes), shapes.len);
}

// The newest weights, into values.
static void collect(struct shared *s)
{
    if (!s->latest)
        return;
    size_t n = model_layer_floats(s->latest->m, s->layer);
    set_shapes(s, s->latest->m, s->layer);
    s->values = mem_resize(s->values, n + 1, sizeof *s->values);
    model_read_layer(s->latest->m, s->layer, s->values);
    s->filled = true;
}

// A layer that both have must have the same weights there, so the sizes are known by now.
static void check_join(lua_State *L, struct shared *s, const struct lua_model *box, size_t layer)
{
    const char *name = model_layer(box->m, layer)->name;
    if (!model_is_built(box->m) || (s->latest && !model_is_built(s->latest->m)))
        luaL_error(L,
            "%s belongs to two models, whose first layers must tell the shape of their rows, as "
            "input_shape does",
            name);
    if (s->latest)
        set_shapes(s, s->latest->m, s->layer);
    buf shapes = {0};
    model_layer_shapes(box->m, layer, &shapes);
    bool same = !s->shapes || strcmp(s->shapes, buf_cstr(&shapes)) == 0;
    lua_pushlstring(L, buf_cstr(&shapes), shapes.len);
    buf_done(&shapes);
    if (!same)
        luaL_error(L, "%s has the weights %s in another model, and here it would have %s", name,
            s->shapes, lua_tostring(L, -1));
    lua_pop(L, 1);
}

void join_layers(lua_State *L, int list)
{
    struct lua_model *box = check_lua_model(L, -1);
    size_t n = model_layer_count(box->m);
    box->part = mem_array(n, sizeof *box->part);
    for (size_t i = 0; i < n; i++) {
        if (lua_rawgeti(L, list, (lua_Integer)i + 1) == LUA_TTABLE) {
            struct shared *s = shared_of(L, lua_gettop(L));
            if (s->latest || s->filled)
                check_join(L, s, box, i);
            else {
                s->latest = box;
                s->layer = i;
            }
            s->refs++;
            box->part[box->parts++] = (struct model_part){s, i};
        }
        lua_pop(L, 1);
    }
}

static bool is_current(const struct shared *s, const struct lua_model *box)
{
    return s->latest == box || (!s->latest && !s->filled);
}

void share_layers(lua_State *L, struct lua_model *box)
{
    bool written = false;
    for (size_t i = 0; i < box->parts; i++) {
        struct shared *s = box->part[i].of;
        if (is_current(s, box) || !model_is_built(box->m))
            continue;
        collect(s);
        model_write_layer(box->m, box->part[i].layer, s->values);
        written = true;
        if (s->latest && s->latest->busy)
            continue; // it goes on with them
        s->latest = box;
        s->layer = box->part[i].layer;
    }
    if (written)
        model_written(box->m);
}

void check_shared(lua_State *L, const struct lua_model *box, const char *what)
{
    for (size_t i = 0; i < box->parts; i++) {
        const struct lua_model *other = box->part[i].of->latest;
        if (other && other != box && other->busy)
            luaL_error(L, "%s: %s belongs to another model, too, which is being trained", what,
                model_layer(box->m, box->part[i].layer)->name);
    }
}

// Pushes the layer object, or nil where nobody has it any more.
static void push_object(lua_State *L, const struct shared *s)
{
    push_weak_table(L, by_shared, "v");
    if (lua_rawgetp(L, -1, s) != LUA_TNIL) {
        lua_getiuservalue(L, -1, 1);
        lua_replace(L, -2);
    }
    lua_remove(L, -2);
}

void follow_trainable(lua_State *L, struct lua_model *box)
{
    err e;
    for (size_t i = 0; i < box->parts; i++) {
        const struct model_part *part = &box->part[i];
        push_object(L, part->of);
        if (lua_istable(L, -1)) {
            const char *name = model_layer(box->m, part->layer)->name;
            bool trainable = opt_bool_field(L, lua_gettop(L), name, "trainable", true);
            if (model_set_trainable(box->m, part->layer, trainable, &e))
                raise_err(L, &e);
        }
        lua_pop(L, 1);
    }
}

// Is the layer object within reach?
static bool lives(lua_State *L, const struct shared *s)
{
    push_weak_table(L, by_shared, "v");
    bool yes = lua_rawgetp(L, -1, s) != LUA_TNIL;
    lua_pop(L, 2);
    return yes;
}

// May somebody ask for the weights when this model is gone? A copy of what nobody wants would
// double the memory of a large model when it goes. At the program's end only finalizers can, by a
// model.
static bool is_wanted(lua_State *L, const struct shared *s)
{
    return s->refs > (s->object ? 2 : 1) || (!worker_of(L)->closing && lives(L, s));
}

void leave_layers(lua_State *L, struct lua_model *box)
{
    for (size_t i = 0; i < box->parts; i++) {
        struct shared *s = box->part[i].of;
        if (s->latest == box) {
            if (model_is_built(box->m) && is_wanted(L, s))
                collect(s);
            s->latest = NULL;
        }
        drop(s);
    }
    free(box->part);
    box->part = NULL;
    box->parts = 0;
}

// SPDX-License-Identifier: MIT
// Pictures for the module `data`. The options were checked by data.lua.
#include "base/mem.h"
#include "base/os/path.h"
#include "script/worker/core/fields.h"
#include "script/worker/tensor/arrays.h"
#include "trainer/data/picture/gallery.h"
#include "trainer/data/picture/resize.h"

#include <math.h>
#include <string.h>

static gallery_spec read_spec(lua_State *L, int table)
{
    const worker *w = worker_of(L);
    gallery_spec s = {.stop = w->options.stop, .threads = w->link ? w->place.threads : 0};
    s.height = (size_t)opt_int_field(L, table, "images", "height", 0);
    s.width = (size_t)opt_int_field(L, table, "images", "width", 0);
    s.channels = (size_t)opt_int_field(L, table, "images", "channels", 3);
    s.type = opt_bool_field(L, table, "images", "u8", false) ? TENSOR_U8 : TENSOR_F32;
    s.rank = opt_int32_field(L, table, "images", "rank", 0);
    s.size = opt_int32_field(L, table, "images", "size", 1);
    return s;
}

static tensor *load_one(const char *path, const gallery_spec *s, err *e)
{
    AUTO_BUF bytes = {0};
    picture p;
    if (path_read(path, &bytes, 0, e) < 0)
        return NULL;
    if (picture_decode(buf_cstr(&bytes), bytes.len, s->channels, &p, e) < 0) {
        err_wrap(e, "%s", path);
        return NULL;
    }
    tensor *t = tensor_new(TENSOR_F32, 3, (size_t[]){s->height, s->width, s->channels}, e);
    if (t)
        picture_resize(&p, s->height, s->width, t->data);
    picture_done(&p);
    if (!t || s->type == TENSOR_F32)
        return t;
    tensor *rounded = tensor_new(TENSOR_U8, 3, t->shape, e);
    for (size_t i = 0; rounded && i < tensor_count(t); i++)
        ((uint8_t *)rounded->data)[i] = (uint8_t)lrintf(((float *)t->data)[i]);
    tensor_free(t);
    return rounded;
}

// read_image(path, spec) → (height, width, channels)
int read_image(lua_State *L)
{
    err e;
    const char *path = luaL_checkstring(L, 1);
    gallery_spec s = read_spec(L, 2);
    push_tensor(L, load_one(path, &s, &e), &e);
    return 1;
}

static const char pictures_name[] = "pictures";

static gallery_rows *check_rows(lua_State *L)
{
    return *(gallery_rows **)luaL_checkudata(L, 1, pictures_name);
}

const tensor *test_pictures(lua_State *L, int arg)
{
    gallery_rows **box = luaL_testudata(L, arg, pictures_name);
    return box && *box ? gallery_rows_tensor(*box) : NULL;
}

// Decodes rows [from, from + n).
static tensor *decode_rows(const tensor *t, size_t from, size_t n, err *e)
{
    size_t shape[] = {n, t->shape[1], t->shape[2], t->shape[3]};
    tensor *out = tensor_new(TENSOR_F32, 4, shape, e);
    AUTO_FREE uint32_t *rows = mem_array(n + 1, sizeof *rows);
    for (size_t i = 0; i < n; i++)
        rows[i] = (uint32_t)(from + i);
    if (out && t->later->fill(t->later->ctx, rows, n, out->data, e) == 0)
        return out;
    tensor_free(out);
    return NULL;
}

// x[i]: one picture, decoded.
static int push_picture(lua_State *L, const tensor *t, lua_Integer i)
{
    err e;
    lua_Integer n = (lua_Integer)tensor_rows(t), at = i < 0 ? i + n : i;
    if (at < 0 || at >= n)
        return luaL_error(L, "index %d is out of range for %d pictures", (int)i, (int)n);
    push_tensor(L, decode_rows(t, (size_t)at, 1, &e), &e);
    push_tensor(L, tensor_row(check_tensor(L, -1), 0, &e), &e);
    return 1;
}

// x:slice(from, to): these pictures, decoded.
static int slice_pictures(lua_State *L)
{
    err e;
    const tensor *t = gallery_rows_tensor(check_rows(L));
    lua_Integer n = (lua_Integer)tensor_rows(t);
    lua_Integer from = luaL_optinteger(L, 2, 0), to = luaL_optinteger(L, 3, n);
    from = from < 0 ? from + n : from;
    to = to < 0 ? to + n : to > n ? n : to;
    if (from < 0 || from > to)
        return luaL_error(L, "slice: there are %d pictures", (int)n);
    push_tensor(L, decode_rows(t, (size_t)from, (size_t)(to - from), &e), &e);
    return 1;
}

static int index_pictures(lua_State *L)
{
    const tensor *t = gallery_rows_tensor(check_rows(L));
    if (lua_isinteger(L, 2))
        return push_picture(L, t, lua_tointeger(L, 2));
    const char *name = luaL_checkstring(L, 2);
    if (strcmp(name, "slice") == 0) {
        lua_pushcfunction(L, slice_pictures);
    } else if (strcmp(name, "dtype") == 0) {
        lua_pushstring(L, "f32");
    } else if (strcmp(name, "shape") == 0) {
        lua_createtable(L, t->dims, 0);
        for (int i = 0; i < t->dims; i++) {
            lua_pushinteger(L, (lua_Integer)t->shape[i]);
            lua_rawseti(L, -2, i + 1);
        }
    } else {
        return luaL_error(L,
            "pictures that are decoded when they are needed have no '%s'; they have dtype, shape, "
            "slice, #x and x[i]",
            name);
    }
    return 1;
}

static int count_pictures(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)tensor_rows(gallery_rows_tensor(check_rows(L))));
    return 1;
}

static int close_pictures(lua_State *L)
{
    gallery_rows **box = luaL_checkudata(L, 1, pictures_name);
    gallery_rows_free(*box);
    *box = NULL;
    return 0;
}

static void push_pictures(lua_State *L, gallery_rows *rows)
{
    static const luaL_Reg methods[] = {
        {"__index", index_pictures},
        {"__len", count_pictures},
        {"__gc", close_pictures},
        {NULL, NULL},
    };
    gallery_rows **box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = rows;
    if (luaL_newmetatable(L, pictures_name))
        luaL_setfuncs(L, methods, 0);
    lua_setmetatable(L, -2);
}

// Everything that is made before Lua may raise.
struct loaded {
    gallery first, last;
    tensor *x[2], *y[2];
    gallery_rows *rows[2]; // instead of x
};

static void unload(struct loaded *l)
{
    for (int i = 0; i < 2; i++) {
        tensor_free(l->x[i]);
        tensor_free(l->y[i]);
        gallery_rows_free(l->rows[i]);
    }
    free(l->last.item); // the paths are those of `first`
    l->first.n += l->last.n;
    gallery_done(&l->first);
}

struct wish {
    const char *folder;
    bool shuffle, lazy;
    uint64_t seed;
    double share;
};

static int load(struct loaded *l, const struct wish *w, const gallery_spec *s, err *e)
{
    if (gallery_open(&l->first, w->folder, e) < 0)
        return -1;
    if (w->shuffle)
        gallery_shuffle(&l->first, w->seed);
    gallery_split(&l->first, w->share, &l->last);
    const gallery *parts[] = {&l->first, &l->last};
    for (int i = 0; i < (w->share > 0 ? 2 : 1); i++) {
        if (parts[i]->n == 0)
            return err_set(e, ERR_USAGE,
                "%s: validation_split %g of %zu pictures leaves none for one "
                "of the parts",
                w->folder, w->share, l->first.n + l->last.n);
        if (w->lazy)
            l->rows[i] = gallery_later(parts[i], w->folder, s, e);
        else
            l->x[i] = gallery_load(parts[i], w->folder, s, e);
        l->y[i] = l->x[i] || l->rows[i] ? gallery_labels(parts[i], s->rank, s->size, e) : NULL;
        if (!l->y[i])
            return -1;
    }
    return 0;
}

static void push_taken(lua_State *L, tensor **t)
{
    tensor *taken = STEAL(*t);
    if (taken)
        push_tensor(L, taken, NULL);
    else
        lua_pushnil(L);
}

// read_images(folder, spec) → classes, paths, x, y, x of the validation, y of the validation
int read_images(lua_State *L)
{
    err e;
    struct loaded l = {0};
    gallery_spec s = read_spec(L, 2);
    struct wish w = {.folder = luaL_checkstring(L, 1),
        .shuffle = opt_bool_field(L, 2, "images", "shuffle", true),
        .lazy = opt_bool_field(L, 2, "images", "lazy", false),
        .seed = (uint64_t)opt_int_field(L, 2, "images", "seed", 1),
        .share = opt_number_field(L, 2, "images", "share", 0)};
    if (load(&l, &w, &s, &e) < 0) {
        unload(&l);
        raise_err(L, &e);
    }
    luaL_checkstack(L, 10, NULL);
    lua_createtable(L, (int)l.first.class_n, 0);
    for (size_t i = 0; i < l.first.class_n; i++) {
        lua_pushstring(L, l.first.classes[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_newtable(L);
    size_t step = (size_t)s.size;
    for (size_t i = (size_t)s.rank, k = 1; i < l.first.n; i += step, k++) {
        lua_pushstring(L, l.first.item[i].path);
        lua_rawseti(L, -2, (lua_Integer)k);
    }
    for (int i = 0; i < 2; i++) {
        if (l.rows[i])
            push_pictures(L, STEAL(l.rows[i]));
        else
            push_taken(L, &l.x[i]);
        push_taken(L, &l.y[i]);
    }
    unload(&l);
    return 6;
}

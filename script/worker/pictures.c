// SPDX-License-Identifier: MIT
// Pictures for the module `data`. The options were checked by data.lua.
#include "base/mem.h"
#include "base/path.h"
#include "script/worker/arrays.h"
#include "script/worker/fields.h"
#include "trainer/data/gallery.h"
#include "trainer/data/picture.h"

#include <math.h>

static gallery_spec read_spec(lua_State *L, int table)
{
    const worker *w = worker_of(L);
    gallery_spec s = {.stop = w->options.stop, .threads = w->link ? w->place.threads : 0};
    s.height = (size_t)opt_int_field(L, table, "images", "height", 0);
    s.width = (size_t)opt_int_field(L, table, "images", "width", 0);
    s.channels = (size_t)opt_int_field(L, table, "images", "channels", 3);
    s.type = opt_bool_field(L, table, "images", "u8", false) ? TENSOR_U8 : TENSOR_F32;
    s.rank = (int)opt_int_field(L, table, "images", "rank", 0);
    s.size = (int)opt_int_field(L, table, "images", "size", 1);
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

// Everything that is made before Lua may raise.
struct loaded {
    gallery first, last;
    tensor *x[2], *y[2];
};

static void unload(struct loaded *l)
{
    for (int i = 0; i < 2; i++) {
        tensor_free(l->x[i]);
        tensor_free(l->y[i]);
    }
    free(l->last.item); // the paths are those of `first`
    l->first.n += l->last.n;
    gallery_done(&l->first);
}

struct wish {
    const char *folder;
    bool shuffle;
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
        l->x[i] = gallery_load(parts[i], w->folder, s, e);
        l->y[i] = l->x[i] ? gallery_labels(parts[i], s->rank, s->size, e) : NULL;
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
        push_taken(L, &l.x[i]);
        push_taken(L, &l.y[i]);
    }
    unload(&l);
    return 6;
}

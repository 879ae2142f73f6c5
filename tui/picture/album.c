// SPDX-License-Identifier: MIT
#include "tui/picture/album.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/picture/scale.h"

#include <string.h>

enum {
    BYTES_MAX = 48 << 20,   // of all pixels that are kept
    ENCODED_MAX = 24 << 20, // of one picture, in base64
    DECODED_MAX = 64 << 20, // of one picture's RGBA: 4096×4096
    SVGS = 32,              // converted ones that are kept
    SVG_BYTES = 8 << 20,    // of one
    USUAL_W = 8,
    USUAL_H = 16, // pixels of a cell where the terminal does not say
    LEAST_ROWS = 6,
    MOST_ROWS = 40,
    MOST_COLUMNS = 200,
    SMALL = 64, // what has fewer pixels on each side is enlarged to about as many
};

// The key says what of which size it is.
struct entry {
    char key[SHA256_HEX + 48];
    uint32_t id;
    int columns, rows;
    picture pixels;
    sixel few; // with colours: made when it is needed
    uint64_t used;
};

struct converted {
    char key[SHA256_HEX];
    buf png; // empty: it is being made, or could not be
    uint64_t used;
};

struct album {
    struct album_terminal terminal;
    unsigned version;
    bool waits;
    struct entry entries[ALBUM_PLACES];
    struct converted svgs[SVGS];
    uint32_t made;
    uint64_t clock;
    album_convert *convert;
    void *arg;
};

album *album_new(void)
{
    album *a = mem_alloc(sizeof *a);
    a->version = 1;
    return a;
}

static void entry_clear(struct entry *e)
{
    picture_done(&e->pixels);
    sixel_done(&e->few);
    *e = (struct entry){0};
}

void album_free(album *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < ALBUM_PLACES; i++)
        entry_clear(&a->entries[i]);
    for (size_t i = 0; i < SVGS; i++)
        buf_done(&a->svgs[i].png);
    free(a);
}

void album_tell(album *a, const struct album_terminal *t)
{
    if (memcmp(&a->terminal, t, sizeof *t) == 0)
        return;
    a->terminal = *t;
    a->version++;
}

const struct album_terminal *album_terminal(const album *a)
{
    return &a->terminal;
}

unsigned album_version(const album *a)
{
    return a ? a->version : 0;
}

bool album_waits(const album *a)
{
    return a && a->terminal.way == WAY_UNKNOWN && a->waits;
}

void album_converter(album *a, album_convert *convert, void *arg)
{
    a->convert = convert;
    a->arg = arg;
}

static struct entry *entry_of(album *a, uint32_t id)
{
    struct entry *e = id ? &a->entries[album_place(id) - 1] : NULL;
    return e && e->id == id ? e : NULL;
}

unsigned album_place(uint32_t id)
{
    return (id - 1) % ALBUM_PLACES + 1;
}

void album_use(album *a, uint32_t id)
{
    struct entry *e = entry_of(a, id);
    if (e)
        e->used = ++a->clock;
}

const picture *album_pixels(album *a, uint32_t id)
{
    struct entry *e = entry_of(a, id);
    album_use(a, id);
    return e ? &e->pixels : NULL;
}

const sixel *album_sixel(album *a, uint32_t id)
{
    struct entry *e = entry_of(a, id);
    album_use(a, id);
    if (e && !e->few.pixels &&
        sixel_init(&e->few, &e->pixels,
            a->terminal.colors ? (size_t)a->terminal.colors : SIXEL_COLORS) < 0)
        return NULL;
    return e ? &e->few : NULL;
}

bool album_size(album *a, uint32_t id, int *columns, int *rows)
{
    const struct entry *e = entry_of(a, id);
    if (e) {
        *columns = e->columns;
        *rows = e->rows;
    }
    return e != NULL;
}

static size_t bytes_of(const struct entry *e)
{
    return e->pixels.width * e->pixels.height * 3 + e->few.width * e->few.height;
}

// A place for a picture of so many bytes: an empty one, or that of what was used least recently.
static struct entry *make_room(album *a, size_t bytes)
{
    for (;;) {
        struct entry *oldest = NULL, *empty = NULL;
        size_t all = bytes;
        for (size_t i = 0; i < ALBUM_PLACES; i++) {
            struct entry *e = &a->entries[i];
            all += bytes_of(e);
            if (!e->id)
                empty = empty ? empty : e;
            else if (!oldest || e->used < oldest->used)
                oldest = e;
        }
        if (empty && (all <= BYTES_MAX || !oldest))
            return empty;
        entry_clear(oldest);
    }
}

static void cell_size(const album *a, int *w, int *h)
{
    *w = a->terminal.cell_w > 0 ? a->terminal.cell_w : USUAL_W;
    *h = a->terminal.cell_h > 0 ? a->terminal.cell_h : USUAL_H;
}

static int rounded(double value, int most)
{
    return value < 1 ? 1 : value >= most ? most : (int)(value + 0.5);
}

// How many cells a picture takes: as many as it has pixels for, unless that is too many or it is
// small. With blocks a pixel is a column, since there is nothing finer.
static void fit(
    const album *a, size_t width, size_t height, int columns, int rows, struct album_picture *p)
{
    int w, h;
    cell_size(a, &w, &h);
    bool blocks = a->terminal.way == WAY_BLOCKS;
    double side = (double)(width > height ? width : height);
    double scale = blocks ? w : side < SMALL ? SMALL / side : 1;
    double across = (double)width * scale, down = (double)height * scale;
    double room_w = (double)columns * w, room_h = (double)rows * h;
    double shrink = across > room_w ? room_w / across : 1;
    shrink = down * shrink > room_h ? room_h / down : shrink;
    p->columns = rounded(across * shrink / w, columns);
    p->rows = rounded(down * shrink / h, rows);
}

static int rows_for(const album *a, int most)
{
    int rows = a->terminal.rows * 2 / 3;
    rows = rows < LEAST_ROWS ? LEAST_ROWS : rows > MOST_ROWS ? MOST_ROWS : rows;
    return most && most < rows ? most : rows;
}

static const char *encoded(const cJSON *bundle, size_t *n)
{
    static const char *const types[] = {"image/png", "image/jpeg"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        const char *text = json_str(bundle, types[i]);
        if (text && *text) {
            *n = strlen(text);
            return text;
        }
    }
    return NULL;
}

static struct entry *find_key(album *a, const char *key)
{
    for (size_t i = 0; i < ALBUM_PLACES; i++)
        if (a->entries[i].id && str_eq(a->entries[i].key, key))
            return &a->entries[i];
    return NULL;
}

// Decodes a picture into the size in which it is shown.
static struct entry *add(album *a, const char *key, const buf *bytes, const struct album_picture *p)
{
    err e = {0};
    picture all = {0}, scaled = {0};
    int w, h;
    cell_size(a, &w, &h);
    bool blocks = a->terminal.way == WAY_BLOCKS;
    size_t width = (size_t)p->columns * (blocks ? 1u : (size_t)w),
           height = (size_t)p->rows * (blocks ? 2u : (size_t)h);
    if (picture_decode(bytes->data, bytes->len, 4, &all, &e) < 0)
        return NULL;
    int status = scale_picture(&all, width, height, &scaled);
    picture_done(&all);
    if (status < 0)
        return NULL;
    struct entry *made = make_room(a, width * height * 3);
    // Numbers that differ from all that were in this place.
    uint32_t place = (uint32_t)(made - a->entries);
    *made = (struct entry){
        .id = ++a->made * ALBUM_PLACES + place + 1, .columns = p->columns, .rows = p->rows};
    made->pixels = scaled;
    str_fit(made->key, sizeof made->key, key);
    return made;
}

static bool fits_limits(const buf *bytes, size_t *width, size_t *height)
{
    err e = {0};
    return picture_size(bytes->data, bytes->len, height, width, &e) == 0 &&
           *width <= PICTURE_SIDE_MAX && *height <= PICTURE_SIDE_MAX &&
           *width * *height <= DECODED_MAX / 4;
}

static bool find_bytes(album *a, const char digest[SHA256_HEX], const buf *bytes, int columns,
    int most_rows, struct album_picture *p)
{
    size_t width, height;
    if (!fits_limits(bytes, &width, &height))
        return false;
    columns = columns > MOST_COLUMNS ? MOST_COLUMNS : columns;
    fit(a, width, height, columns, rows_for(a, most_rows), p);
    if (a->terminal.way == WAY_UNKNOWN) {
        a->waits = true;
        return true;
    }
    AUTO_BUF key = {0};
    int w, h;
    cell_size(a, &w, &h);
    bool blocks = a->terminal.way == WAY_BLOCKS;
    buf_fmt(&key, "%s %d %d %d %d", digest, p->columns, p->rows, blocks ? 0 : w, blocks ? 0 : h);
    struct entry *e = find_key(a, buf_cstr(&key));
    e = e ? e : add(a, buf_cstr(&key), bytes, p);
    if (!e)
        return false;
    album_use(a, e->id);
    p->id = blocks ? 0 : e->id;
    p->blocks = blocks ? &e->pixels : NULL;
    return true;
}

static struct converted *find_svg(album *a, const char *key)
{
    for (size_t i = 0; i < SVGS; i++)
        if (str_eq(a->svgs[i].key, key))
            return &a->svgs[i];
    return NULL;
}

// The PNG that an SVG has become; NULL: it has not, or not yet.
static const buf *converted(album *a, const char *svg, char key[SHA256_HEX])
{
    size_t n = strlen(svg);
    if (!a->convert || n > SVG_BYTES)
        return NULL;
    sha256_hex(svg, n, key);
    struct converted *c = find_svg(a, key);
    if (!c) {
        c = &a->svgs[0];
        for (size_t i = 1; i < SVGS; i++)
            c = a->svgs[i].used < c->used ? &a->svgs[i] : c;
        buf_clear(&c->png);
        str_fit(c->key, sizeof c->key, key);
        c->used = ++a->clock;
        a->convert(a->arg, key, svg, n);
    }
    c->used = ++a->clock;
    return c->png.len ? &c->png : NULL;
}

void album_converted(album *a, const char *key, const void *png, size_t n)
{
    struct converted *c = find_svg(a, key);
    if (!c || !n)
        return;
    buf_clear(&c->png);
    buf_add(&c->png, png, n);
    a->version++;
}

bool album_find(album *a, const cJSON *bundle, int columns, int most_rows, struct album_picture *p)
{
    size_t n;
    char digest[SHA256_HEX];
    *p = (struct album_picture){0};
    if (!a || a->terminal.way == WAY_NONE || columns < 2)
        return false;
    const char *text = encoded(bundle, &n), *svg = text ? NULL : json_str(bundle, "image/svg+xml");
    if (svg) {
        const buf *png = converted(a, svg, digest);
        return png && find_bytes(a, digest, png, columns, most_rows, p);
    }
    AUTO_BUF bytes = {0};
    err e = {0};
    if (!text || n > ENCODED_MAX || base64_decode(&bytes, text, n, &e) < 0)
        return false;
    sha256_hex(bytes.data, bytes.len, digest);
    return find_bytes(a, digest, &bytes, columns, most_rows, p);
}

static color rgb_of(const uint8_t *rgb)
{
    return COLOR_RGB(rgb[0], rgb[1], rgb[2]);
}

static void draw_blocks(const struct album_picture *p, grid *g, rect clip, int x, int y)
{
    const picture *all = p->blocks;
    for (int row = 0; row < p->rows; row++)
        for (int column = 0; column < p->columns; column++) {
            const uint8_t *upper =
                all->pixels + ((size_t)row * 2 * all->width + (size_t)column) * 3;
            style st = {.fg = rgb_of(upper), .bg = rgb_of(upper + all->width * 3)};
            grid_fill(g, rect_clip((rect){x + column, y + row, 1, 1}, clip),
                style_equal((style){.fg = st.fg, .bg = st.fg}, st) ? ' ' : 0x2580, st);
        }
}

void album_draw(const struct album_picture *p, grid *g, rect clip, int x, int y)
{
    if (p->blocks)
        draw_blocks(p, g, clip, x, y);
    else if (p->id)
        grid_put_picture(g, clip, (rect){x, y, p->columns, p->rows}, p->id);
}

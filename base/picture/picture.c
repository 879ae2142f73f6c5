// SPDX-License-Identifier: MIT
#include "base/picture/picture.h"

#include "base/mem.h"
#include "base/picture/libraries.h"
#include "base/str.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

// It needs stdio.h before it.
#include <jpeglib.h>

void picture_done(picture *p)
{
    free(p->pixels);
    *p = (picture){0};
}

// Checks sizes before memory is allocated for them.
static int make(picture *p, size_t height, size_t width, size_t channels, err *e)
{
    size_t n;
    bool fits = height && width && height <= PICTURE_SIDE_MAX && width <= PICTURE_SIDE_MAX &&
                !__builtin_mul_overflow(height * width, channels, &n) && n <= PICTURE_BYTES_MAX;
    *p = (picture){height, width, channels, fits ? mem_try_array(n, 1) : NULL};
    if (!p->pixels)
        return err_set(e, ERR_LIMIT, "a picture of %zu x %zu pixels is too large", width, height);
    return 0;
}

// libjpeg reports errors through a function that must not return.
struct jpeg {
    struct jpeg_decompress_struct in;
    struct jpeg_error_mgr handler;
    jmp_buf out;
    char text[JMSG_LENGTH_MAX];
    bool warned;
};

static void jpeg_fails(j_common_ptr common)
{
    struct jpeg *j = common->client_data;
    common->err->format_message(common, j->text);
    longjmp(j->out, 1);
}

// A warning means damaged data, such as a file that ends too early; the first one counts.
static void jpeg_warns(j_common_ptr common, int level)
{
    struct jpeg *j = common->client_data;
    if (level >= 0 || j->warned)
        return;
    j->warned = true;
    common->err->format_message(common, j->text);
}

// Never returns normally after an error of the library: what it has allocated is in j and *p.
static int jpeg_read(
    struct jpeg *j, const void *bytes, size_t n, size_t channels, picture *p, err *e)
{
    jpeg_create_decompress(&j->in);
    jpeg_mem_src(&j->in, bytes, n);
    jpeg_read_header(&j->in, TRUE);
    bool gray = channels == 1;
    if (j->in.jpeg_color_space == JCS_CMYK || j->in.jpeg_color_space == JCS_YCCK)
        return err_set(e, ERR_INVALID, "a JPEG of four colours (CMYK) cannot be read");
    j->in.out_color_space = gray ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_EXT_RGBA;
    if (make(p, j->in.image_height, j->in.image_width, channels, e) < 0)
        return -1;
    jpeg_start_decompress(&j->in);
    while (j->in.output_scanline < j->in.output_height && !j->warned) {
        JSAMPROW row = p->pixels + j->in.output_scanline * p->width * channels;
        jpeg_read_scanlines(&j->in, &row, 1);
    }
    if (!j->warned)
        jpeg_finish_decompress(&j->in);
    return j->warned ? err_set(e, ERR_CORRUPT, "damaged: %s", j->text) : 0;
}

static int jpeg_decode(const void *bytes, size_t n, size_t channels, picture *p, err *e)
{
    // volatile: it is read after a longjmp.
    struct jpeg *volatile j = mem_alloc(sizeof *j);
    volatile int status;
    j->in.err = jpeg_std_error(&j->handler);
    j->in.client_data = j;
    j->handler.error_exit = jpeg_fails;
    j->handler.emit_message = jpeg_warns;
    if (setjmp(j->out) == 0)
        status = jpeg_read(j, bytes, n, channels, p, e);
    else
        status = err_set(e, ERR_CORRUPT, "damaged: %s", j->text);
    jpeg_destroy_decompress(&j->in);
    free(j);
    return status;
}

// RGBA to fewer channels, in place.
static void drop_channels(picture *p, size_t channels)
{
    for (size_t i = 0; i < p->height * p->width; i++) {
        const uint8_t *from = p->pixels + 4 * i;
        uint8_t *to = p->pixels + channels * i;
        if (channels == 1)
            to[0] = (uint8_t)((299 * from[0] + 587 * from[1] + 114 * from[2] + 500) / 1000);
        else
            memmove(to, from, channels);
    }
    p->channels = channels;
}

// libpng reports errors through a function that must not return, too.
struct png {
    png_structp in;
    png_infop info;
    const uint8_t *at; // what was not read yet
    size_t left;
    jmp_buf out;
    char text[128];
};

static void png_fails(png_structp in, png_const_charp text)
{
    struct png *g = png_get_error_ptr(in);
    str_fit(g->text, sizeof g->text, text);
    longjmp(g->out, 1);
}

static void png_warns(png_structp in, png_const_charp text)
{
}

static void png_take(png_structp in, png_bytep to, size_t n)
{
    struct png *g = png_get_io_ptr(in);
    if (n > g->left)
        png_fails(in, "read beyond end of data");
    memcpy(to, g->at, n);
    g->at += n;
    g->left -= n;
}

// Everything becomes RGBA of 8 bits, with the stored numbers, whatever a gAMA chunk says; of 16-bit
// numbers the high byte, as in TensorFlow's decode_png.
static void png_as_rgba(const struct png *g)
{
    png_set_expand(g->in);
    png_set_strip_16(g->in);
    png_set_gray_to_rgb(g->in);
    png_set_add_alpha(g->in, 0xff, PNG_FILLER_AFTER);
}

// Never returns normally after an error of the library: what it has allocated is in g and *p.
static int png_read(struct png *g, picture *p, err *e)
{
    g->in = png_create_read_struct(PNG_LIBPNG_VER_STRING, g, png_fails, png_warns);
    g->info = g->in ? png_create_info_struct(g->in) : NULL;
    if (!g->info)
        return err_set(e, ERR_LIMIT, "there is no memory for a PNG");
    png_set_benign_errors(g->in, 1);
    png_set_keep_unknown_chunks(g->in, PNG_HANDLE_CHUNK_NEVER, NULL, -1); // texts, gamma, profiles
    png_set_read_fn(g->in, g, png_take);
    png_read_info(g->in, g->info);
    if (make(p, png_get_image_height(g->in, g->info), png_get_image_width(g->in, g->info), 4, e) <
        0)
        return -1;
    png_as_rgba(g);
    int passes = png_set_interlace_handling(g->in);
    png_read_update_info(g->in, g->info);
    if (png_get_rowbytes(g->in, g->info) != 4 * p->width)
        png_fails(g->in, "its rows have another length");
    for (int pass = 0; pass < passes; pass++)
        for (size_t y = 0; y < p->height; y++)
            png_read_row(g->in, p->pixels + y * p->width * 4, NULL);
    return 0;
}

static int png_decode(const void *bytes, size_t n, size_t channels, picture *p, err *e)
{
    // volatile: it is read after a longjmp.
    struct png *volatile g = mem_alloc(sizeof *g);
    volatile int status;
    g->at = bytes;
    g->left = n;
    if (setjmp(g->out) == 0)
        status = png_read(g, p, e);
    else
        status = err_set(e, ERR_CORRUPT, "damaged: %s", g->text);
    png_destroy_read_struct(&g->in, &g->info, NULL);
    free(g);
    if (status == 0)
        drop_channels(p, channels);
    return status;
}

// The frame's header stands behind other segments: FF, its kind, two bytes of its length.
static int jpeg_size(const uint8_t *b, size_t n, size_t *height, size_t *width)
{
    for (size_t at = 2; at + 9 <= n && b[at] == 0xff; at += 2u + b[at + 2] * 256u + b[at + 3]) {
        uint8_t kind = b[at + 1];
        if (kind < 0xc0 || kind > 0xcf || kind == 0xc4 || kind == 0xc8 || kind == 0xcc)
            continue;
        *height = b[at + 5] * 256u + b[at + 6];
        *width = b[at + 7] * 256u + b[at + 8];
        return 0;
    }
    return -1;
}

static bool is_jpeg(const void *bytes, size_t n)
{
    return n >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0;
}

static bool is_png(const void *bytes, size_t n)
{
    return n >= 4 && memcmp(bytes, "\x89PNG", 4) == 0;
}

static size_t big(const uint8_t *b)
{
    return (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
}

int picture_size(const void *bytes, size_t n, size_t *height, size_t *width, err *e)
{
    enum { IHDR = 16, IHDR_END = 24 };
    const uint8_t *b = bytes;
    *height = *width = 0;
    if (is_png(b, n) && n >= IHDR_END) {
        *width = big(b + IHDR);
        *height = big(b + IHDR + 4);
    } else if (!is_jpeg(b, n) || jpeg_size(b, n, height, width) < 0) {
        return err_set(e, ERR_INVALID, "neither a PNG nor a JPEG");
    }
    return *height && *width ? 0 : err_set(e, ERR_CORRUPT, "damaged: it has no size");
}

int picture_decode(const void *bytes, size_t n, size_t channels, picture *out, err *e)
{
    int status;
    *out = (picture){0};
    if (is_jpeg(bytes, n))
        status = jpeg_late(e) < 0 ? -1 : jpeg_decode(bytes, n, channels, out, e);
    else if (is_png(bytes, n))
        status = png_late(e) < 0 ? -1 : png_decode(bytes, n, channels, out, e);
    else
        status = err_set(e, ERR_INVALID, n ? "neither a PNG nor a JPEG" : "an empty file");
    if (status < 0)
        picture_done(out);
    return status;
}

// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/picture/libraries.h"
#include "base/picture/picture.h"
#include "base/str.h"

#include <png.h>
#include <setjmp.h>

// libpng reports errors through a function that must not return.
struct writing {
    png_structp out;
    png_infop info;
    buf *bytes;
    jmp_buf fails;
    char text[128];
};

static void on_error(png_structp out, png_const_charp text)
{
    struct writing *w = png_get_error_ptr(out);
    str_fit(w->text, sizeof w->text, text);
    longjmp(w->fails, 1);
}

static void on_warning(png_structp out, png_const_charp text)
{
}

static void put(png_structp out, png_bytep bytes, size_t n)
{
    buf_add(((struct writing *)png_get_io_ptr(out))->bytes, bytes, n);
}

static void flush(png_structp out)
{
}

static void write_rows(
    struct writing *w, const picture *p, size_t x, size_t y, size_t width, size_t height)
{
    png_set_write_fn(w->out, w, put, flush);
    png_set_IHDR(w->out, w->info, (png_uint_32)width, (png_uint_32)height, 8, PNG_COLOR_TYPE_RGB,
        PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(w->out, w->info);
    for (size_t row = y; row < y + height; row++)
        png_write_row(w->out, p->pixels + (row * p->width + x) * 3);
    png_write_end(w->out, NULL);
}

int picture_png(const picture *p, size_t x, size_t y, size_t width, size_t height, buf *out, err *e)
{
    if (p->channels != 3 || x + width > p->width || y + height > p->height || !width || !height)
        return err_set(e, ERR_INVALID, "no such part of a picture");
    if (png_late(e) < 0)
        return -1;
    struct writing *volatile w = mem_alloc(sizeof *w); // volatile: it is read after a longjmp
    volatile int status = 0;
    w->bytes = out;
    w->out = png_create_write_struct(PNG_LIBPNG_VER_STRING, w, on_error, on_warning);
    w->info = w->out ? png_create_info_struct(w->out) : NULL;
    if (!w->info)
        status = err_set(e, ERR_LIMIT, "there is no memory for a PNG");
    else if (setjmp(w->fails) == 0)
        write_rows(w, p, x, y, width, height);
    else
        status = err_set(e, ERR_INVALID, "a PNG could not be written: %s", w->text);
    png_destroy_write_struct(&w->out, &w->info);
    free(w);
    return status;
}

// SPDX-License-Identifier: MIT
// libpng (base/os/late.h).
#include "base/os/late.h"
#include "base/picture/libraries.h"

#include <png.h>

#define FUNCTIONS(X)                                                                               \
    X(png_structp, png_create_read_struct,                                                         \
        (png_const_charp a, png_voidp b, png_error_ptr c, png_error_ptr d), (a, b, c, d))          \
    X(png_structp, png_create_write_struct,                                                        \
        (png_const_charp a, png_voidp b, png_error_ptr c, png_error_ptr d), (a, b, c, d))          \
    X(png_infop, png_create_info_struct, (png_const_structrp a), (a))                              \
    X(void, png_destroy_read_struct, (png_structpp a, png_infopp b, png_infopp c), (a, b, c))      \
    X(void, png_destroy_write_struct, (png_structpp a, png_infopp b), (a, b))                      \
    X(png_voidp, png_get_error_ptr, (png_const_structrp a), (a))                                   \
    X(png_voidp, png_get_io_ptr, (png_const_structrp a), (a))                                      \
    X(void, png_set_benign_errors, (png_structrp a, int b), (a, b))                                \
    X(void, png_set_keep_unknown_chunks, (png_structrp a, int b, png_const_bytep c, int d),        \
        (a, b, c, d))                                                                              \
    X(void, png_set_read_fn, (png_structrp a, png_voidp b, png_rw_ptr c), (a, b, c))               \
    X(void, png_set_write_fn, (png_structrp a, png_voidp b, png_rw_ptr c, png_flush_ptr d),        \
        (a, b, c, d))                                                                              \
    X(void, png_read_info, (png_structrp a, png_inforp b), (a, b))                                 \
    X(png_uint_32, png_get_image_height, (png_const_structrp a, png_const_inforp b), (a, b))       \
    X(png_uint_32, png_get_image_width, (png_const_structrp a, png_const_inforp b), (a, b))        \
    X(void, png_set_expand, (png_structrp a), (a))                                                 \
    X(void, png_set_strip_16, (png_structrp a), (a))                                               \
    X(void, png_set_gray_to_rgb, (png_structrp a), (a))                                            \
    X(void, png_set_add_alpha, (png_structrp a, png_uint_32 b, int c), (a, b, c))                  \
    X(int, png_set_interlace_handling, (png_structrp a), (a))                                      \
    X(void, png_read_update_info, (png_structrp a, png_inforp b), (a, b))                          \
    X(size_t, png_get_rowbytes, (png_const_structrp a, png_const_inforp b), (a, b))                \
    X(void, png_read_row, (png_structrp a, png_bytep b, png_bytep c), (a, b, c))                   \
    X(void, png_set_IHDR,                                                                          \
        (png_const_structrp a, png_inforp b, png_uint_32 c, png_uint_32 d, int f, int g, int h,    \
            int i, int j),                                                                         \
        (a, b, c, d, f, g, h, i, j))                                                               \
    X(void, png_write_info, (png_structrp a, png_const_inforp b), (a, b))                          \
    X(void, png_write_row, (png_structrp a, png_const_bytep b), (a, b))                            \
    X(void, png_write_end, (png_structrp a, png_inforp b), (a, b))

LATE_LIBRARY(png, PNG_SONAME, "libpng16-16", FUNCTIONS, LATE_NONE)

// SPDX-License-Identifier: MIT
// libjpeg (base/os/late.h).
#include "base/os/late.h"
#include "base/picture/libraries.h"

#include <stdio.h>

// It needs stdio.h before it.
#include <jpeglib.h>

#define FUNCTIONS(X)                                                                               \
    X(struct jpeg_error_mgr *, jpeg_std_error, (struct jpeg_error_mgr * a), (a))                   \
    X(void, jpeg_CreateDecompress, (j_decompress_ptr a, int b, size_t c), (a, b, c))               \
    X(void, jpeg_destroy_decompress, (j_decompress_ptr a), (a))                                    \
    X(void, jpeg_mem_src, (j_decompress_ptr a, const unsigned char *b, unsigned long c),           \
        (a, b, c))                                                                                 \
    X(int, jpeg_read_header, (j_decompress_ptr a, boolean b), (a, b))                              \
    X(boolean, jpeg_start_decompress, (j_decompress_ptr a), (a))                                   \
    X(JDIMENSION, jpeg_read_scanlines, (j_decompress_ptr a, JSAMPARRAY b, JDIMENSION c),           \
        (a, b, c))                                                                                 \
    X(boolean, jpeg_finish_decompress, (j_decompress_ptr a), (a))

LATE_LIBRARY(jpeg, JPEG_SONAME, "libjpeg62-turbo", FUNCTIONS, LATE_NONE)

// SPDX-License-Identifier: MIT
// The pictures lie in the corpus of the fuzz target: 16 x 12 pixels of (16·x, 20·y, 9·(x+y)).
#include "base/picture/picture.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "tests/support/tap.h"
#include "trainer/data/picture/gallery.h"
#include "trainer/data/picture/resize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WIDTH = 16, HEIGHT = 12 };

static void read_file(const char *name, buf *out)
{
    err e;
    AUTO_FREE char *path = path_join(tap_source("tests/fuzz/corpus/picture"), name);
    CHECK_OK(path_read(path, out, 0, &e) == 0, e);
}

static picture decoded(const char *name, size_t channels)
{
    err e;
    picture p;
    AUTO_BUF bytes = {0};
    read_file(name, &bytes);
    CHECK_OK(picture_decode(bytes.data, bytes.len, channels, &p, &e) == 0, e);
    CHECK_INT(p.width, WIDTH);
    CHECK_INT(p.height, HEIGHT);
    CHECK_INT(p.channels, channels);
    return p;
}

static int at(const picture *p, size_t y, size_t x, size_t c)
{
    return p->pixels[(y * p->width + x) * p->channels + c];
}

TEST(a_png_has_its_pixels)
{
    picture rgb = decoded("rgb.png", 3), rgba = decoded("rgba.png", 4),
            gray = decoded("rgb.png", 1);
    for (size_t y = 0; y < HEIGHT; y++)
        for (size_t x = 0; x < WIDTH; x++) {
            int want[] = {(int)(16 * x), (int)(20 * y), (int)(9 * (x + y))};
            for (size_t c = 0; c < 3; c++) {
                CHECK_INT(at(&rgb, y, x, c), want[c]);
                CHECK_INT(at(&rgba, y, x, c), want[c]);
            }
            CHECK_INT(at(&rgba, y, x, 3), 255);
            CHECK_NEAR(
                at(&gray, y, x, 0), 0.299 * want[0] + 0.587 * want[1] + 0.114 * want[2], 0.51);
        }
    picture_done(&rgb), picture_done(&rgba), picture_done(&gray);
    picture_done(&(picture){.pixels = decoded("palette.png", 3).pixels});
    picture_done(&(picture){.pixels = decoded("one.png", 1).pixels});
}

// Of 16 bits, interlaced, the low byte 0xc0; and of 8 bits with a gAMA chunk of 1.0.
TEST(a_png_has_the_numbers_that_are_stored)
{
    picture wide = decoded("gray16.png", 1), gamma = decoded("gamma.png", 3),
            rgb = decoded("rgb.png", 3);
    for (size_t y = 0; y < HEIGHT; y++)
        for (size_t x = 0; x < WIDTH; x++)
            CHECK_INT(at(&wide, y, x, 0), 16 * x);
    CHECK(memcmp(gamma.pixels, rgb.pixels, WIDTH * HEIGHT * 3) == 0);
    picture_done(&wide), picture_done(&gamma), picture_done(&rgb);
}

// The numbers are Pillow's, which uses libjpeg-turbo, too; other versions may round otherwise.
TEST(a_jpeg_has_its_pixels)
{
    picture p = decoded("rgb.jpg", 3), gray = decoded("rgb.jpg", 1), rgba = decoded("rgb.jpg", 4);
    static const int middle[] = {111, 100, 108}, sums[] = {23125, 21061, 22481};
    for (size_t c = 0; c < 3; c++) {
        double sum = 0;
        for (size_t i = 0; i < WIDTH * HEIGHT; i++)
            sum += p.pixels[3 * i + c];
        CHECK_NEAR(at(&p, 5, 7, c), middle[c], 2);
        CHECK_NEAR(at(&rgba, 5, 7, c), middle[c], 2);
        CHECK_NEAR(sum, sums[c], WIDTH * HEIGHT);
    }
    CHECK_NEAR(at(&gray, 5, 7, 0), 104, 2);
    CHECK_INT(at(&rgba, 5, 7, 3), 255);
    picture_done(&p), picture_done(&gray), picture_done(&rgba);
    picture_done(&(picture){.pixels = decoded("progressive.jpg", 3).pixels});
    picture_done(&(picture){.pixels = decoded("gray.jpg", 3).pixels});
}

static void refused(const void *bytes, size_t n, const char *why)
{
    err e;
    picture p;
    CHECK(picture_decode(bytes, n, 3, &p, &e) < 0);
    CHECK(!p.pixels);
    if (!strstr(e.text, why))
        tap_fail(__FILE__, __LINE__, "got \"%s\", want \"%s\"", e.text, why);
}

TEST(what_is_no_picture_says_so)
{
    AUTO_BUF jpeg = {0}, png = {0}, cmyk = {0};
    read_file("rgb.jpg", &jpeg);
    read_file("rgb.png", &png);
    read_file("cmyk.jpg", &cmyk);
    refused("", 0, "an empty file");
    refused("GIF89a", 6, "neither a PNG nor a JPEG");
    refused(jpeg.data, 100, "damaged: ");
    refused(jpeg.data, jpeg.len - 60, "damaged: Premature end of JPEG file");
    refused(png.data, 60, "damaged: ");
    refused(cmyk.data, cmyk.len, "a JPEG of four colours (CMYK) cannot be read");
    png.data[60] ^= 4; // in the packed pixels
    refused(png.data, png.len, "damaged: ");
    png.data[60] ^= 4;
    memcpy(png.data + 16, "\x00\x01\x00\x00\x00\x01\x00\x00", 8); // 65536 x 65536
    refused(png.data, png.len, "damaged: ");                      // the header's sum
}

// Sums and single values as tf.image.resize and jax.image.resize (linear, no antialiasing) have
// them.
TEST(a_picture_takes_another_size)
{
    static const struct {
        size_t height, width, y, x;
        float sums[3], value[3];
    } all[] = {{5, 7, 2, 3, {4200, 3850, 4095}, {120, 110, 117}},
        {20, 9, 7, 3, {21600, 19800, 21060}, {91.55556f, 80, 87.5f}},
        {HEIGHT, WIDTH, 5, 7, {23040, 21120, 22464}, {112, 100, 108}}};
    picture p = decoded("rgb.png", 3);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        AUTO_FREE float *out = mem_array(all[i].height * all[i].width * 3, sizeof *out);
        picture_resize(&p, all[i].height, all[i].width, out);
        for (size_t c = 0; c < 3; c++) {
            double sum = 0;
            for (size_t k = 0; k < all[i].height * all[i].width; k++)
                sum += (double)out[3 * k + c];
            CHECK_NEAR(sum, (double)all[i].sums[c], 0.05);
            CHECK_NEAR((double)out[(all[i].y * all[i].width + all[i].x) * 3 + c],
                (double)all[i].value[c], 1e-4);
        }
    }
    picture_done(&p);
}

static void copy(const char *name, const char *folder, const char *as)
{
    err e;
    AUTO_BUF bytes = {0};
    AUTO_FREE char *below = path_join(tap_dir(), folder), *path = path_join(below, as);
    read_file(name, &bytes);
    CHECK_OK(path_make_dirs(below, 0755, &e) == 0, e);
    CHECK_OK(path_write(path, bytes.data, bytes.len, 0644, &e) == 0, e);
}

// In the order of Keras's image_dataset_from_directory: of os.walk's folders by their paths.
TEST(pictures_in_folders_of_a_class_belong_to_it)
{
    err e;
    gallery g;
    copy("rgb.png", "deep/dogs/b", "1.png");
    copy("rgb.png", "deep/dogs/a/x", "2.png");
    copy("rgb.png", "deep/dogs/a-b", "3.png");
    copy("rgb.png", "deep/dogs/.hidden", "4.png");
    copy("rgb.png", "deep/dogs", "z.png");
    copy("rgb.png", "deep/dogs/folder.png", "5.png");
    copy("rgb.png", "elsewhere/in", "6.png");
    AUTO_FREE char *folder = path_join(tap_dir(), "deep"), *link = path_join(folder, "dogs/link");
    AUTO_FREE char *around = path_join(folder, "dogs/a/around");
    CHECK(symlink("../../elsewhere", link) == 0 && symlink("..", around) == 0);
    CHECK_OK(gallery_open(&g, folder, &e) == 0, e);
    static const char *const want[] = {
        "dogs/z.png", "dogs/a-b/3.png", "dogs/a/x/2.png", "dogs/b/1.png", "dogs/folder.png/5.png"};
    CHECK_INT(g.n, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want) && i < g.n; i++)
        CHECK_STR(g.item[i].path, want[i]);
    CHECK_INT(g.class_n, 1);
    gallery_done(&g);
}

TEST(folders_are_classes)
{
    err e;
    gallery g;
    copy("rgb.png", "set/dogs", "b.png");
    copy("rgb.jpg", "set/dogs", "a.JPG");
    copy("gray.png", "set/cats", "7.png");
    copy("rgb.jpg", "set/cats", ".hidden.jpg");
    copy("rgb.jpg", "set/cats", "notes.txt");
    AUTO_FREE char *folder = path_join(tap_dir(), "set");
    CHECK_OK(gallery_open(&g, folder, &e) == 0, e);
    CHECK_INT(g.n, 3);
    CHECK_STR(g.classes[0], "cats");
    CHECK_STR(g.item[1].path, "dogs/a.JPG");
    gallery_spec spec = {.height = 4, .width = 4, .channels = 3, .type = TENSOR_F32};
    tensor *one = NULL;
    for (spec.threads = 1; spec.threads <= 3; spec.threads++) {
        tensor *x = gallery_load(&g, folder, &spec, &e), *y = gallery_labels(&g, 0, 1, &e);
        CHECK_OK(x && y, e);
        CHECK_INT(x->shape[0], 3);
        CHECK_NEAR(tensor_at(y, 0) * 100 + tensor_at(y, 1) * 10 + tensor_at(y, 2), 11, 0);
        one = one ? one : tensor_ref(x);
        CHECK(memcmp(x->data, one->data, tensor_count(x) * sizeof(float)) == 0);
        tensor_free(x), tensor_free(y);
    }
    spec.type = TENSOR_U8;
    spec.rank = 1, spec.size = 2;
    tensor *half = gallery_load(&g, folder, &spec, &e);
    CHECK_OK(half && half->shape[0] == 1, e);
    for (size_t i = 0; i < tensor_count(half); i++)
        CHECK_NEAR(tensor_at(half, i), tensor_at(one, tensor_count(half) + i), 0.5);
    tensor_free(half), tensor_free(one);
    copy("cut.png", "set/dogs", "c.png");
    gallery_done(&g);
    CHECK_OK(gallery_open(&g, folder, &e) == 0, e);
    CHECK(!gallery_load(&g, folder, &(gallery_spec){4, 4, 3, TENSOR_U8}, &e));
    CHECK(strstr(e.text, "/set/dogs/c.png: damaged: "));
    gallery_done(&g);
    copy("rgb.png", "set/dogs", "d.gif");
    CHECK(gallery_open(&g, folder, &e) < 0);
    CHECK(strstr(e.text, "/set/dogs/d.gif is a picture of a kind that is not read"));
    gallery_done(&g);
}

int main(void)
{
    return tap_run();
}

// SPDX-License-Identifier: MIT
// libarchive, which needs libxml2 and ICU: the first layer loads it (base/os/late.h).
#include "k8s/image/archive_late.h"
#include "base/os/late.h"

#include <archive.h>
#include <archive_entry.h>

#define FUNCTIONS(X)                                                                               \
    X(mode_t, archive_entry_filetype, (struct archive_entry * a), (a))                             \
    X(void, archive_entry_free, (struct archive_entry * a), (a))                                   \
    X(const char *, archive_entry_hardlink, (struct archive_entry * a), (a))                       \
    X(time_t, archive_entry_mtime, (struct archive_entry * a), (a))                                \
    X(long, archive_entry_mtime_nsec, (struct archive_entry * a), (a))                             \
    X(struct archive_entry *, archive_entry_new, (void), ())                                       \
    X(const char *, archive_entry_pathname, (struct archive_entry * a), (a))                       \
    X(mode_t, archive_entry_perm, (struct archive_entry * a), (a))                                 \
    X(void, archive_entry_set_filetype, (struct archive_entry * a, unsigned int b), (a, b))        \
    X(void, archive_entry_set_gid, (struct archive_entry * a, la_int64_t b), (a, b))               \
    X(void, archive_entry_set_gname, (struct archive_entry * a, const char *b), (a, b))            \
    X(void, archive_entry_set_mtime, (struct archive_entry * a, time_t b, long c), (a, b, c))      \
    X(void, archive_entry_set_pathname, (struct archive_entry * a, const char *b), (a, b))         \
    X(void, archive_entry_set_perm, (struct archive_entry * a, mode_t b), (a, b))                  \
    X(void, archive_entry_set_size, (struct archive_entry * a, la_int64_t b), (a, b))              \
    X(void, archive_entry_set_symlink, (struct archive_entry * a, const char *b), (a, b))          \
    X(void, archive_entry_set_uid, (struct archive_entry * a, la_int64_t b), (a, b))               \
    X(void, archive_entry_set_uname, (struct archive_entry * a, const char *b), (a, b))            \
    X(la_int64_t, archive_entry_size, (struct archive_entry * a), (a))                             \
    X(const char *, archive_entry_symlink, (struct archive_entry * a), (a))                        \
    X(const char *, archive_error_string, (struct archive * a), (a))                               \
    X(int, archive_filter_code, (struct archive * a, int b), (a, b))                               \
    X(const char *, archive_filter_name, (struct archive * a, int b), (a, b))                      \
    X(int, archive_read_data_block,                                                                \
        (struct archive * a, const void **b, size_t *c, la_int64_t *d), (a, b, c, d))              \
    X(int, archive_read_disk_descend, (struct archive * a), (a))                                   \
    X(struct archive *, archive_read_disk_new, (void), ())                                         \
    X(int, archive_read_disk_open, (struct archive * a, const char *b), (a, b))                    \
    X(int, archive_read_disk_set_behavior, (struct archive * a, int b), (a, b))                    \
    X(int, archive_read_disk_set_symlink_hybrid, (struct archive * a), (a))                        \
    X(int, archive_read_free, (struct archive * a), (a))                                           \
    X(struct archive *, archive_read_new, (void), ())                                              \
    X(int, archive_read_next_header, (struct archive * a, struct archive_entry * *b), (a, b))      \
    X(int, archive_read_next_header2, (struct archive * a, struct archive_entry * b), (a, b))      \
    X(int, archive_read_open,                                                                      \
        (struct archive * a, void *b, archive_open_callback *c, archive_read_callback *d,          \
            archive_close_callback *e),                                                            \
        (a, b, c, d, e))                                                                           \
    X(int, archive_read_open_fd, (struct archive * a, int b, size_t c), (a, b, c))                 \
    X(int, archive_read_support_filter_all, (struct archive * a), (a))                             \
    X(int, archive_read_support_filter_gzip, (struct archive * a), (a))                            \
    X(int, archive_read_support_filter_zstd, (struct archive * a), (a))                            \
    X(int, archive_read_support_format_empty, (struct archive * a), (a))                           \
    X(int, archive_read_support_format_tar, (struct archive * a), (a))                             \
    X(int, archive_write_add_filter_zstd, (struct archive * a), (a))                               \
    X(int, archive_write_close, (struct archive * a), (a))                                         \
    X(la_ssize_t, archive_write_data, (struct archive * a, const void *b, size_t c), (a, b, c))    \
    X(int, archive_write_free, (struct archive * a), (a))                                          \
    X(int, archive_write_header, (struct archive * a, struct archive_entry * b), (a, b))           \
    X(struct archive *, archive_write_new, (void), ())                                             \
    X(int, archive_write_open,                                                                     \
        (struct archive * a, void *b, archive_open_callback *c, archive_write_callback *d,         \
            archive_close_callback *e),                                                            \
        (a, b, c, d, e))                                                                           \
    X(int, archive_write_open_fd, (struct archive * a, int b), (a, b))                             \
    X(int, archive_write_set_bytes_in_last_block, (struct archive * a, int b), (a, b))             \
    X(int, archive_write_set_filter_option,                                                        \
        (struct archive * a, const char *b, const char *c, const char *d), (a, b, c, d))           \
    X(int, archive_write_set_format_gnutar, (struct archive * a), (a))                             \
    X(int, archive_write_set_format_pax_restricted, (struct archive * a), (a))

LATE_LIBRARY(archive, ARCHIVE_SONAME, "libarchive13", FUNCTIONS, LATE_NONE)

// SPDX-License-Identifier: MIT
// For builds with AddressSanitizer alone: options that every program of ours begins with.
#include <sanitizer/asan_interface.h>

// GCC 12's runtime believes that the two words before a library's thread-local block hold the
// block's place and size, if the block happens to have a certain offset in its page. Since glibc
// 2.25 there are no such words. The leak checker then crashed, here when oneDNN's libgomp was
// loaded later (https://github.com/google/sanitizers/issues/1322). This option keeps it from
// looking there.
const char *__asan_default_options(void)
{
    return "intercept_tls_get_addr=0";
}

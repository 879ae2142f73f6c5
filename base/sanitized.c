// SPDX-License-Identifier: MIT
// For builds with AddressSanitizer alone: options that every program of ours begins with.
#include <sanitizer/asan_interface.h>

// GCC 12's runtime believes that the two words before a library's thread-local block tell its place
// and size if the block has a certain offset in its page, which it has by chance: since glibc 2.25
// there are no such words. The leak checker then ends with a signal, here when oneDNN's libgomp was
// loaded later (https://github.com/google/sanitizers/issues/1322). Now it looks into none of them.
const char *__asan_default_options(void)
{
    return "intercept_tls_get_addr=0";
}

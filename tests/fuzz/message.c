// SPDX-License-Identifier: MIT
// The bytes that a driver reads from executors before they have proved anything.
#include "trainer/dist/message.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err e;
    message m;
    seal sealed;
    uint8_t welcome[32];
    static const uint8_t nonce[NONCE_SIZE];
    buf in = {0};
    buf_add(&in, data, n);
    while (message_parse(&in, &m, &e) == 1) {
        peer_check("secret", nonce, &m, welcome, &sealed, &e);
        buf_consume(&in, MESSAGE_HEADER + m.n);
    }
    buf_done(&in);
    return 0;
}

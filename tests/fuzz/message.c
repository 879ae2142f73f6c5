// SPDX-License-Identifier: MIT
// What a driver reads from the network, and mpiexec's list of proxies.
#include "trainer/dist/message.h"
#include "tests/fuzz/fuzz.h"
#include "trainer/dist/launch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    err e;
    message m;
    struct peer_id id;
    uint8_t welcome[32];
    static const uint8_t nonce[NONCE_SIZE];
    buf in = {0}, lines[4] = {{0}};
    buf_add(&in, data, n);
    while (message_parse(&in, &m, &e) == 1) {
        peer_check("secret", nonce, &m, &id, welcome, &e);
        buf_consume(&in, MESSAGE_HEADER + m.n);
    }
    buf_clear(&in);
    buf_add(&in, data, n);
    launch_parse_proxies(&in, lines, 4, &e);
    for (int i = 0; i < 4; i++)
        buf_done(&lines[i]);
    buf_done(&in);
    return 0;
}

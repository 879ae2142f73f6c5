// SPDX-License-Identifier: MIT
#include "trainer/events.h"
#include "tests/support/tap.h"

#include <string.h>

// RFC 3720, B.4
TEST(sums_are_those_of_castagnoli)
{
    uint8_t zeros[32] = {0}, ones[32], up[32];
    memset(ones, 0xff, sizeof ones);
    for (int i = 0; i < 32; i++)
        up[i] = (uint8_t)i;
    CHECK_INT(events_crc32c(zeros, 32), 0x8a9136aa);
    CHECK_INT(events_crc32c(ones, 32), 0x62a8ab43);
    CHECK_INT(events_crc32c(up, 32), 0x46dd794e);
    CHECK_INT(events_crc32c("123456789", 9), 0xe3069283);
}

// The bytes that TensorFlow writes for this event.
TEST(a_file_begins_with_its_version)
{
    static const uint8_t first[] = {0x18, 0, 0, 0, 0, 0, 0, 0, 0xa3, 0x7f, 0x4b, 0x22};
    AUTO_BUF out = {0};
    events_version(&out, 1.5);
    CHECK_INT(out.len, 8 + 4 + 0x18 + 4);
    CHECK(memcmp(out.data, first, sizeof first) == 0);
    CHECK(memcmp(out.data + 12,
              "\x09\0\0\0\0\0\0\xf8\x3f\x1a\x0d"
              "brain.Event:2",
              24) == 0);
}

TEST(scalars_have_tag_and_step)
{
    AUTO_BUF out = {0};
    event_value values[] = {{"a", 0.5}, {"bc", -2}};
    events_scalars(&out, 0, 300, values, 2);
    static const char body[] = "\x09\0\0\0\0\0\0\0\0" // wall_time
                               "\x10\xac\x02"         // step 300
                               "\x2a\x15"             // summary
                               "\x0a\x08\x0a\x01"
                               "a\x15\0\0\0\x3f" // value {tag, simple_value}
                               "\x0a\x09\x0a\x02"
                               "bc\x15\0\0\0\xc0";
    CHECK_INT(out.len, sizeof body - 1 + 16);
    CHECK(memcmp(out.data + 12, body, sizeof body - 1) == 0);
}

int main(void)
{
    return tap_run();
}

#ifndef C_DEMO_RECORDS_H
#define C_DEMO_RECORDS_H

#include <stddef.h>

#pragma clang assume_nonnull begin

/// The records of a topic of `weir demo`: the bytes of its file in examples/demo, as they are.
struct weir_demo_topic {
    const char *name;
    const unsigned char *lines;
    size_t length;
};

/// The topics in the order in which they are published; NULL after the last.
const struct weir_demo_topic *_Nullable weir_demo_topic(size_t index);

#pragma clang assume_nonnull end

#endif

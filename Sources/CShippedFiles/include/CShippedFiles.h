#ifndef C_SHIPPED_FILES_H
#define C_SHIPPED_FILES_H

#include <stddef.h>

#pragma clang assume_nonnull begin

/// A file of this repository that is part of every program, unchanged.
struct weir_shipped_file {
    /// Its path in the repository.
    const char *path;
    /// Its bytes and a 0. Text files only: they contain no other 0.
    const unsigned char *text;
};

/// The files in no particular order; NULL after the last.
const struct weir_shipped_file *_Nullable weir_shipped_file(size_t index);

#pragma clang assume_nonnull end

#endif

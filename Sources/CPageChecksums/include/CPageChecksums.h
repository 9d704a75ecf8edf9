#ifndef CPAGECHECKSUMS_H
#define CPAGECHECKSUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;

/// Prepares a connection before its first statement: if it creates its file, each page gets eight reserved bytes with
/// a checksum. An existing file stays as it is. Returns an SQLite result code.
int weir_pages_prepare(struct sqlite3 *connection);

/// Whether the pages of a connection's main file carry checksums.
bool weir_pages_are_checked(struct sqlite3 *connection);

/// Makes `VACUUM INTO` write checksums, in a file with `weir_pages=1` in its URI. Returns an SQLite result code.
int weir_pages_request(struct sqlite3 *connection);

/// Finds an open file of a connection that was moved, removed or replaced at its path: "" for the main file, "-wal"
/// or "-shm" for its companions; NULL if all are in place.
const char *weir_moved_file(struct sqlite3 *connection);

/// The fault of a file.
struct weir_fault {
    /// Number of the page with a wrong checksum, from 1.
    int64_t page;
    /// Whether the damage is in the write-ahead log: then `page` is the number of the frame, or 0 for the log's
    /// header.
    bool is_in_wal;
    /// The errno if the operating system refused (no page is wrong); 0 if unknown.
    int error_number;
};

/// Whether a page, or the header of a write-ahead log, is wrong.
static inline bool weir_fault_is_damage(struct weir_fault fault) {
    return fault.page > 0 || fault.is_in_wal;
}

/// Returns the last fault of a file or its companions and removes it; false without a recent one.
bool weir_fault_take(const char *path, struct weir_fault *fault);

/// Adds `count` bytes, a multiple of 8, to the checksum of SQLite's write-ahead log: two sums over little-endian
/// words, and each includes the other.
void weir_sums_add(uint32_t sums[2], const void *bytes, size_t count);

/// The part of a record that a checksum covers; NULL for absent parts.
struct weir_record {
    int64_t offset;
    int64_t timestamp;
    const void *key;
    size_t key_count;
    const void *headers;
    size_t headers_count;
    const void *value;
    size_t value_count;
    bool has_key;
    bool has_value;
};

/// The checksum of a record: the sums of its numbers and lengths, then of its bytes, each part padded with zeros to a
/// multiple of 8.
int64_t weir_record_sum(const struct weir_record *record);

#endif

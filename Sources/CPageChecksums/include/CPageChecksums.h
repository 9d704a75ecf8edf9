#ifndef CPAGECHECKSUMS_H
#define CPAGECHECKSUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;

/// Prepares a connection before its first statement: when it creates its file, each page of that gets
/// eight reserved bytes with a checksum. A file that is there already stays as it is. Returns a result
/// code of SQLite.
int weir_pages_prepare(struct sqlite3 *connection);

/// Whether the pages of a connection's main file carry checksums.
bool weir_pages_are_checked(struct sqlite3 *connection);

/// Has `VACUUM INTO` write checksums, in a file whose URI says `weir_pages=1`. Returns a result code.
int weir_pages_request(struct sqlite3 *connection);

/// Which of the files that a connection has open is no longer the one at its path, because it was moved,
/// removed or replaced: "" for the main file, "-wal" or "-shm" for what lies beside it; NULL for none.
const char *weir_moved_file(struct sqlite3 *connection);

/// What went wrong with a file.
struct weir_fault {
    /// Number of the page whose checksum is wrong, from 1.
    int64_t page;
    /// Whether the page is in the write-ahead log: then `page` is the number of its frame, and 0 when it is
    /// the header of the log that is wrong.
    bool is_in_wal;
    /// What the operating system said where it refused, which is the case when no page is wrong: an errno,
    /// or 0 when it is not known.
    int error_number;
};

/// Whether a page is wrong, or the header of a write-ahead log.
static inline bool weir_fault_is_damage(struct weir_fault fault) {
    return fault.page > 0 || fault.is_in_wal;
}

/// Takes what went wrong last with a file or what belongs to it; false when nothing did lately.
bool weir_fault_take(const char *path, struct weir_fault *fault);

/// Adds `count` bytes, a multiple of 8, to the checksum that SQLite's write-ahead log uses: two sums over
/// little-endian words, each of which takes the other along.
void weir_sums_add(uint32_t sums[2], const void *bytes, size_t count);

/// The part of a record that a checksum covers; NULL for what is not there.
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

/// The checksum of a record: the sums of its numbers and lengths, then of its bytes, each filled up with
/// zeros to a multiple of 8.
int64_t weir_record_sum(const struct weir_record *record);

#endif

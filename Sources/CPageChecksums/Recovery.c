// Recovery of the write-ahead log of a killed program. Its frames belong to consecutive transactions, and each
// transaction was on disk before the first frame of the next (synchronous=FULL). So a crash leaves at most one
// incomplete transaction. If a later commit, with a frame that continues from it, follows a frame that does not fit,
// the cause is damage and not a crash.

#include "Recovery.h"

#include "CPageChecksums.h"
#include "Log.h"
#include "Sums.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/// The unit that a disk writes atomically.
enum { sector_bytes = 512 };

/// A log, and a buffer for one of its frames.
typedef struct scan {
    sqlite3_file *log;
    uint8_t header[log_header_bytes];
    int page_size;
    sqlite3_int64 frames;
    weir_sums add;
    uint8_t *frame;
} scan;

static sqlite3_int64 start(const scan *scan, sqlite3_int64 number) {
    return log_header_bytes + (number - 1) * (frame_header_bytes + (sqlite3_int64)scan->page_size);
}

static int read_header(scan *scan, sqlite3_int64 number) {
    return scan->log->pMethods->xRead(
        scan->log, scan->frame, frame_header_bytes, start(scan, number));
}

static int read_page(scan *scan, sqlite3_int64 number) {
    return scan->log->pMethods->xRead(
        scan->log, scan->frame + frame_header_bytes, scan->page_size,
        start(scan, number) + frame_header_bytes);
}

/// Adds the buffered frame to the sums of the previous one; returns whether the result matches the frame's own sums.
static bool goes_on(scan *scan, uint32_t sums[2]) {
    scan->add(sums, scan->frame, 8);
    scan->add(sums, scan->frame + frame_header_bytes, (size_t)scan->page_size);
    return weir_big_endian(scan->frame) != 0 && sums[0] == weir_big_endian(scan->frame + 16) &&
           sums[1] == weir_big_endian(scan->frame + 20);
}

static void take_sums(uint32_t sums[2], const uint8_t *at) {
    sums[0] = weir_big_endian(at);
    sums[1] = weir_big_endian(at + 4);
}

static bool is_of_this_log(const scan *scan) {
    return memcmp(scan->frame + 8, scan->header + 16, 8) == 0;
}

static bool has_commit_mark(const scan *scan) { return weir_big_endian(scan->frame + 4) != 0; }

/// Whether the buffered frame ends a transaction. A header that spans two sectors may be torn: then its mark and its
/// sum belong to different transactions. One of these was rolled back, or is older than the last reset of the log.
static bool is_commit(const scan *scan, sqlite3_int64 number, bool fits) {
    const bool is_whole = start(scan, number) % sector_bytes <= sector_bytes - frame_header_bytes;
    return has_commit_mark(scan) && (fits || is_whole);
}

static bool is_header_sound(scan *scan) {
    const uint32_t magic = weir_big_endian(scan->header);
    if ((magic & ~1u) != 0x377f0682) return false;
    scan->page_size = (int)weir_big_endian(scan->header + 8);
    if (!weir_is_page_size(scan->page_size)) return false;
    scan->add = magic & 1 ? weir_sums_add_swapped : weir_sums_add;
    uint32_t sums[2] = {0, 0}, found[2];
    scan->add(sums, scan->header, log_header_bytes - 8);
    take_sums(found, scan->header + log_header_bytes - 8);
    return memcmp(sums, found, sizeof sums) == 0;
}

/// Whether the first frame continues from an unsound header: the header was synced before any frame was written.
/// Either its contents or its own sum may be wrong.
static int look_at_first_frame(scan *scan, bool *is_live) {
    static const weir_sums orders[] = {weir_sums_add, weir_sums_add_swapped};
    *is_live = false;
    int code = read_header(scan, 1);
    if (code == SQLITE_OK) code = read_page(scan, 1);
    if (code != SQLITE_OK) return code;
    for (int order = 0; order < 2; order++) {
        scan->add = orders[order];
        uint32_t stored[2], computed[2] = {0, 0};
        take_sums(stored, scan->header + log_header_bytes - 8);
        scan->add(computed, scan->header, log_header_bytes - 8);
        if (goes_on(scan, stored) || goes_on(scan, computed)) *is_live = true;
    }
    return SQLITE_OK;
}

/// Looks for a commit, at the frame that does not fit or later, from which the next frame continues. If only the mark
/// of that frame may be torn, a whole transaction must continue from it, because a rolled back transaction has no
/// commit. `computed` are the sums that the frame should have: either its content or its sums may be wrong.
static int look_after(
    scan *scan, sqlite3_int64 first, const uint32_t computed[2], bool *is_followed
) {
    uint32_t stored[2];
    take_sums(stored, scan->frame + 16);
    bool has_sums = true, is_after_commit = is_commit(scan, first, false);
    bool is_whole_after = has_commit_mark(scan) && is_of_this_log(scan);
    for (sqlite3_int64 number = first + 1; number <= scan->frames; number++) {
        int code = read_header(scan, number);
        if (code != SQLITE_OK) return code;
        // Older than the last reset of the log.
        if (!is_of_this_log(scan)) {
            has_sums = is_after_commit = is_whole_after = false;
            continue;
        }
        code = read_page(scan, number);
        if (code != SQLITE_OK) return code;
        uint32_t sums[2] = {stored[0], stored[1]}, other[2] = {computed[0], computed[1]};
        const bool fits =
            has_sums && (goes_on(scan, sums) || (number == first + 1 && goes_on(scan, other)));
        is_whole_after = is_whole_after && fits;
        if (fits && (is_after_commit || (is_whole_after && has_commit_mark(scan)))) {
            *is_followed = true;
            return SQLITE_OK;
        }
        is_after_commit = is_commit(scan, number, fits);
        take_sums(stored, scan->frame + 16);
        has_sums = true;
    }
    return SQLITE_OK;
}

static int look(scan *scan, sqlite3_int64 size, int database_page_size, sqlite3_int64 *damaged) {
    *damaged = -1;
    const bool is_sound = is_header_sound(scan);
    if (!is_sound && weir_is_page_size(database_page_size)) scan->page_size = database_page_size;
    if (!weir_is_page_size(scan->page_size)) return SQLITE_OK;
    scan->frames = (size - log_header_bytes) / (frame_header_bytes + scan->page_size);
    if (scan->frames == 0) return SQLITE_OK;
    scan->frame = malloc(frame_header_bytes + (size_t)scan->page_size);
    if (scan->frame == NULL) return SQLITE_IOERR_NOMEM;
    bool is_proven = false;
    if (!is_sound) {
        const int code = look_at_first_frame(scan, &is_proven);
        if (is_proven) *damaged = 0;
        return code;
    }
    uint32_t sums[2];
    take_sums(sums, scan->header + log_header_bytes - 8);
    for (sqlite3_int64 number = 1; number <= scan->frames; number++) {
        int code = read_header(scan, number);
        if (code == SQLITE_OK) code = read_page(scan, number);
        if (code != SQLITE_OK) return code;
        if (goes_on(scan, sums) && is_of_this_log(scan)) continue;
        code = look_after(scan, number, sums, &is_proven);
        if (is_proven) *damaged = number;
        return code;
    }
    return SQLITE_OK;
}

static int look_once(
    sqlite3_file *log, int database_page_size, uint8_t header[log_header_bytes], sqlite3_int64 *frame
) {
    *frame = -1;
    scan scan = {.log = log};
    sqlite3_int64 size = 0;
    int code = log->pMethods->xFileSize(log, &size);
    if (code == SQLITE_OK && size > log_header_bytes) {
        code = log->pMethods->xRead(log, scan.header, log_header_bytes, 0);
        if (code == SQLITE_OK) code = look(&scan, size, database_page_size, frame);
    }
    // The log was cut during the look. Other connections cannot do so during recovery.
    if (code == SQLITE_IOERR_SHORT_READ) {
        code = SQLITE_OK;
        *frame = -1;
    }
    memcpy(header, scan.header, log_header_bytes);
    free(scan.frame);
    return code;
}

int weir_recovery_look(sqlite3_file *log, int database_page_size, sqlite3_int64 *frame) {
    uint8_t header[log_header_bytes], header_again[log_header_bytes];
    int code = look_once(log, database_page_size, header, frame);
    if (code != SQLITE_OK || *frame < 0) return code;
    // Recovery has exclusive access to the log, unless the directory is read-only: then others may write during the
    // look. A frame that they wrote before the later ones is complete by now.
    const sqlite3_int64 found = *frame;
    code = look_once(log, database_page_size, header_again, frame);
    if (*frame != found || memcmp(header, header_again, sizeof header) != 0) *frame = -1;
    return code;
}

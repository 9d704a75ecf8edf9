// A layer between SQLite and its files. It adds a checksum in the last eight bytes of each page written to a
// database, and verifies the checksum of each page read. The header of the file reserves these bytes. The sums are
// those of SQLite's own checksum VFS, so SQLite's tools can read the files. Files with another number of reserved
// bytes pass unchanged.
//
// Pages in a write-ahead log cannot carry such a sum: SQLite computes the sum of a frame before this layer sees it.
// SQLite verifies that frame sum during recovery only, so this layer verifies it at each read of a page.

#include "CPageChecksums.h"
#include "Faults.h"
#include "Log.h"
#include "Recovery.h"
#include "Sums.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    reserved_bytes = 8,
    // Positions in the header of a database.
    page_size_at = 16,
    reserved_at = 20,
    header_bytes = 100,
    write_lock = 0,
    // File controls of this layer, far from the numbers of SQLite and of others.
    prepare_control = 0x57504731,
    checked_control = 0x57504732,
    moved_control = 0x57504733,
};

static const char magic[16] = "SQLite format 3";

/// Identifies the file at a path; the inode is 0 if no file was there.
typedef struct identity {
    dev_t device;
    ino_t inode;
} identity;

/// A file of SQLite; the underlying file follows it in memory.
typedef struct page_file {
    sqlite3_file base;
    const char *path; // SQLite keeps it while the file is open
    /// The database of a write-ahead log, otherwise NULL.
    struct page_file *database;
    /// A rollback journal: SQLite sums its pages itself, so this layer notes refusals only.
    bool is_journal;
    bool is_read_only;
    /// A log or journal: its directory was not synced since the file was opened.
    bool has_new_name;
    uint8_t *buffer;
    size_t buffer_size;
    /// The file that was opened.
    identity opened;

    // In a database:
    /// Its write-ahead log while that is open, otherwise NULL.
    struct page_file *log;
    /// The `-shm` file when shared memory was first mapped.
    identity shared;
    bool has_shared;
    bool is_checked;
    /// Whether this connection holds the log's write lock.
    bool is_writing;
    int page_size;
    /// The running transaction may have rewritten frames of the log from here on. Their sums are valid again at its
    /// commit.
    sqlite3_int64 rewritten_from;

    // In a write-ahead log:
    /// Where the last write put a frame header; -1 if it wrote anything else.
    sqlite3_int64 frame_written;
} page_file;

static const sqlite3_int64 nowhere = INT64_MAX;

static sqlite3_file *below(sqlite3_file *file) { return (sqlite3_file *)((page_file *)file + 1); }

static sqlite3_vfs layer;
static sqlite3_vfs *system_vfs;

static int note_refusal(page_file *file, int code) {
    const int primary = code & 0xff;
    if (code == SQLITE_IOERR_SHORT_READ) return code;
    if (primary != SQLITE_IOERR && primary != SQLITE_FULL && primary != SQLITE_READONLY &&
        primary != SQLITE_CANTOPEN)
        return code;
    int number = 0;
    sqlite3_file *real = below(&file->base);
    real->pMethods->xFileControl(real, SQLITE_FCNTL_LAST_ERRNO, &number);
    weir_fault_note(file->path, (struct weir_fault){.error_number = number});
    // SQLite would report a corrupt file although the disk could not be read.
    return code == SQLITE_IOERR_CORRUPTFS ? SQLITE_IOERR_READ : code;
}

static int note_damage(page_file *file, sqlite3_int64 page, bool is_in_wal) {
    weir_fault_note(file->path, (struct weir_fault){.page = page, .is_in_wal = is_in_wal});
    return SQLITE_IOERR_DATA;
}

static uint8_t *buffer(page_file *file, size_t size) {
    if (file->buffer_size < size) {
        uint8_t *larger = realloc(file->buffer, size);
        if (larger == NULL) return NULL;
        file->buffer = larger;
        file->buffer_size = size;
    }
    return file->buffer;
}

// MARK: Which file is at a path

static identity identify(const char *path) {
    struct stat found;
    if (stat(path, &found) != 0) return (identity){0, 0};
    return (identity){found.st_dev, found.st_ino};
}

static bool is_in_place(const char *path, identity opened) {
    const identity found = identify(path);
    return found.inode != 0 && found.inode == opened.inode && found.device == opened.device;
}

static identity identify_shared(const page_file *file, char path[PATH_MAX]) {
    const int length = snprintf(path, PATH_MAX, "%s-shm", file->path);
    return length < PATH_MAX ? identify(path) : (identity){0, 0};
}

/// While a connection has the log and its memory open, no other can remove them: that needs exclusive use of the
/// whole file. Returns the name suffix of a file that is not in place; NULL if all are.
static const char *end_of_moved(const page_file *file) {
    if (!is_in_place(file->path, file->opened)) return "";
    if (file->log != NULL && !is_in_place(file->log->path, file->log->opened)) return "-wal";
    char path[PATH_MAX];
    if (file->has_shared) {
        (void)identify_shared(file, path);
        if (!is_in_place(path, file->shared)) return "-shm";
    }
    return NULL;
}

// MARK: Pages of a database

static void note_header(page_file *file, const uint8_t *page) {
    if (memcmp(page, magic, sizeof magic) != 0) return;
    const int size = page[page_size_at] << 8 | page[page_size_at + 1];
    file->page_size = size == 1 ? 65536 : size;
    file->is_checked = page[reserved_at] == reserved_bytes;
}

static void put_sums(uint8_t *at, const uint32_t sums[2]) {
    for (int byte = 0; byte < 8; byte++) at[byte] = (uint8_t)(sums[byte / 4] >> (8 * (byte % 4)));
}

static bool is_sound(const uint8_t *page, int size) {
    uint32_t sums[2] = {0, 0};
    uint8_t expected[reserved_bytes];
    weir_sums_add(sums, page, (size_t)(size - reserved_bytes));
    put_sums(expected, sums);
    return memcmp(expected, page + size - reserved_bytes, reserved_bytes) == 0;
}

/// Whether the first page belongs to a checked file and only its byte of reserved bytes is wrong.
static bool is_disowned(page_file *file, const uint8_t *page, int size) {
    uint8_t *copy = buffer(file, (size_t)size);
    if (copy == NULL) return false;
    memcpy(copy, page, (size_t)size);
    copy[reserved_at] = reserved_bytes;
    return is_sound(copy, size);
}

static int check_page(page_file *file, void *bytes, int count, sqlite3_int64 offset) {
    if (offset == 0 && count >= header_bytes) {
        note_header(file, bytes);
        if (!file->is_checked && count == file->page_size && is_disowned(file, bytes, count))
            return note_damage(file, 1, false);
    }
    const int size = file->page_size;
    if (!file->is_checked || !weir_is_page_size(size)) return SQLITE_OK;
    if (count == size && offset % size == 0) {
        if (is_sound(bytes, count)) return SQLITE_OK;
        return note_damage(file, offset / size + 1, false);
    }
    // SQLite reads the header on its own when it opens a file, then the whole page. A read of another part of a page
    // verifies the whole page.
    if (offset < size) return SQLITE_OK;
    const sqlite3_int64 start = offset - offset % size;
    if (offset + count > start + size) return SQLITE_OK;
    uint8_t *page = buffer(file, (size_t)size);
    if (page == NULL) return SQLITE_IOERR_NOMEM;
    sqlite3_file *real = below(&file->base);
    const int code = real->pMethods->xRead(real, page, size, start);
    if (code != SQLITE_OK) return note_refusal(file, code);
    if (!is_sound(page, size)) return note_damage(file, start / size + 1, false);
    memcpy(bytes, page + (offset - start), (size_t)count);
    return SQLITE_OK;
}

// MARK: Frames of a write-ahead log

static bool fits(
    const uint8_t *seed, const uint8_t *frame, const void *page, int size, weir_sums add
) {
    uint32_t sums[2] = {weir_big_endian(seed), weir_big_endian(seed + 4)};
    add(sums, frame, 8);
    add(sums, page, (size_t)size);
    return sums[0] == weir_big_endian(frame + 16) && sums[1] == weir_big_endian(frame + 20);
}

/// Verifies a page against the sum of its frame, which continues the sum of the previous frame.
static int check_frame(page_file *file, const void *page, int size, sqlite3_int64 offset) {
    const int frame_size = frame_header_bytes + size;
    const sqlite3_int64 start = offset - frame_header_bytes;
    if (!weir_is_page_size(size) || start < log_header_bytes ||
        (start - log_header_bytes) % frame_size != 0)
        return SQLITE_OK;
    if (file->database != NULL && start >= file->database->rewritten_from) return SQLITE_OK;
    uint8_t seed[8], frame[frame_header_bytes];
    sqlite3_file *real = below(&file->base);
    const sqlite3_int64 seed_at =
        start == log_header_bytes ? log_header_bytes - 8 : start - frame_size + 16;
    int code = real->pMethods->xRead(real, seed, sizeof seed, seed_at);
    if (code == SQLITE_OK) code = real->pMethods->xRead(real, frame, sizeof frame, start);
    if (code != SQLITE_OK) return note_refusal(file, code);
    // Once a transaction has rewritten a frame, it omits the sums of new ones until its commit. After a rollback to a
    // savepoint these frames may precede the rewritten one.
    static const uint8_t unsummed[frame_header_bytes - 8];
    if (memcmp(frame + 8, unsummed, sizeof unsummed) == 0) return SQLITE_OK;
    if (fits(seed, frame, page, size, weir_sums_add) ||
        fits(seed, frame, page, size, weir_sums_add_swapped))
        return SQLITE_OK;
    return note_damage(file, (start - log_header_bytes) / frame_size + 1, true);
}

/// Rewrites a log that another program left, unchanged, and syncs it. That program may have been killed before its
/// sync, or the sync may have failed. Readers then see a whole transaction, which recovery accepts as committed, but
/// a power loss could still remove or tear it. After a failed sync the system treats the unwritten pages as written,
/// so a second sync alone would have no effect.
static int settle_log(page_file *file) {
    sqlite3_file *real = below(&file->base);
    enum { bytes_at_once = 1 << 16 };
    uint8_t *bytes = buffer(file, bytes_at_once);
    if (bytes == NULL) return SQLITE_IOERR_NOMEM;
    sqlite3_int64 size = 0;
    int code = real->pMethods->xFileSize(real, &size);
    // Recovery has exclusive write access to the log. A process without write access to the directory is different:
    // it has its own index and locks out no other process.
    if (file->is_read_only || !file->database->is_writing) size = 0;
    for (sqlite3_int64 offset = 0; offset < size && code == SQLITE_OK; offset += bytes_at_once) {
        const int count = size - offset < bytes_at_once ? (int)(size - offset) : bytes_at_once;
        code = real->pMethods->xRead(real, bytes, count, offset);
        if (code == SQLITE_OK) code = real->pMethods->xWrite(real, bytes, count, offset);
    }
    if (code == SQLITE_OK) code = real->pMethods->xSync(real, SQLITE_SYNC_NORMAL);
    // Some file systems reject a sync of a file that is open read-only.
    return file->is_read_only ? SQLITE_OK : note_refusal(file, code);
}

/// SQLite reads the log's header on its own during recovery, and otherwise only where this does not matter.
static int check_recovery(page_file *file) {
    sqlite3_int64 frame = -1;
    sqlite3_file *real = below(&file->base);
    const int code = weir_recovery_look(real, file->database->page_size, &frame);
    if (code != SQLITE_OK) return note_refusal(file, code);
    if (frame >= 0) return note_damage(file, frame, true);
    return settle_log(file);
}

/// SQLite writes a new frame as its header, then its page. A page without a header replaces one of the same
/// transaction; SQLite repairs its sums at the commit, before other connections can see them.
static void note_frame(page_file *file, int count, sqlite3_int64 offset) {
    const bool is_new = file->frame_written == offset - frame_header_bytes;
    file->frame_written = -1;
    if (count == frame_header_bytes) {
        file->frame_written = offset;
    } else if (offset == 0 && count == log_header_bytes) {
        file->database->rewritten_from = nowhere;
    } else if (!(is_new && weir_is_page_size(count))) {
        const sqlite3_int64 start = offset - frame_header_bytes;
        if (start < file->database->rewritten_from) file->database->rewritten_from = start;
    }
}

// MARK: Methods of a file

static int close_file(sqlite3_file *base) {
    page_file *file = (page_file *)base;
    if (file->database != NULL && file->database->log == file) file->database->log = NULL;
    free(file->buffer);
    file->buffer = NULL;
    return below(base)->pMethods->xClose(below(base));
}

static int read_file(sqlite3_file *base, void *bytes, int count, sqlite3_int64 offset) {
    page_file *file = (page_file *)base;
    sqlite3_file *real = below(base);
    const int code = real->pMethods->xRead(real, bytes, count, offset);
    if (code != SQLITE_OK) return note_refusal(file, code);
    if (file->is_journal) return SQLITE_OK;
    if (file->database == NULL) return check_page(file, bytes, count, offset);
    if (offset == 0 && count == log_header_bytes) return check_recovery(file);
    return check_frame(file, bytes, count, offset);
}

static int write_file(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 offset) {
    page_file *file = (page_file *)base;
    sqlite3_file *real = below(base);
    if (file->database != NULL) {
        note_frame(file, count, offset);
    } else if (!file->is_journal) {
        if (offset == 0 && count >= header_bytes) note_header(file, bytes);
        if (file->is_checked && weir_is_page_size(count) && offset % count == 0) {
            // A copy, because SQLite may be writing its own page elsewhere at the same time.
            uint8_t *copy = buffer(file, (size_t)count);
            if (copy == NULL) return SQLITE_IOERR_NOMEM;
            memcpy(copy, bytes, (size_t)(count - reserved_bytes));
            uint32_t sums[2] = {0, 0};
            weir_sums_add(sums, copy, (size_t)(count - reserved_bytes));
            put_sums(copy + count - reserved_bytes, sums);
            bytes = copy;
        }
    }
    return note_refusal(file, real->pMethods->xWrite(real, bytes, count, offset));
}

static int truncate_file(sqlite3_file *base, sqlite3_int64 size) {
    sqlite3_file *real = below(base);
    return note_refusal((page_file *)base, real->pMethods->xTruncate(real, size));
}

/// Returns the error number, or 0.
static int sync_path(const char *path, int flags) {
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | flags);
    const int number = descriptor < 0 || fsync(descriptor) != 0 ? errno : 0;
    if (descriptor >= 0) close(descriptor);
    // EINVAL: the file system does not support the sync of a directory.
    return number == EINVAL ? 0 : number;
}

/// Syncs the directory of a new file, which a power loss could otherwise remove. SQLite syncs it too, but ignores
/// failures, and the system reports each failure only once. So this sync comes first.
static int sync_name(page_file *file) {
    char directory[PATH_MAX];
    const char *slash = strrchr(file->path, '/');
    const int length = slash == NULL ? 1 : slash == file->path ? 1 : (int)(slash - file->path);
    if (length >= PATH_MAX) return SQLITE_CANTOPEN;
    snprintf(directory, sizeof directory, "%.*s", length, slash == NULL ? "." : file->path);
    const int number = sync_path(directory, O_DIRECTORY);
    if (number == 0) {
        file->has_new_name = false;
        return SQLITE_OK;
    }
    weir_fault_note(file->path, (struct weir_fault){.error_number = number});
    return SQLITE_IOERR_DIR_FSYNC;
}

static int sync_file(sqlite3_file *base, int flags) {
    page_file *file = (page_file *)base;
    sqlite3_file *real = below(base);
    const int code = file->has_new_name ? sync_name(file) : SQLITE_OK;
    if (code != SQLITE_OK) return code;
    return note_refusal(file, real->pMethods->xSync(real, flags));
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size) {
    sqlite3_file *real = below(base);
    return note_refusal((page_file *)base, real->pMethods->xFileSize(real, size));
}

static int lock_file(sqlite3_file *base, int level) {
    page_file *file = (page_file *)base;
    sqlite3_file *real = below(base);
    const int code = real->pMethods->xLock(real, level);
    // To close a file, SQLite tries to lock it exclusively, which fails for a read-only file. SQLite continues
    // without the lock. Noting the failure would hide the reason for closing.
    if (file->is_read_only && level > SQLITE_LOCK_SHARED) return code;
    return note_refusal(file, code);
}

static int unlock_file(sqlite3_file *base, int level) {
    return below(base)->pMethods->xUnlock(below(base), level);
}

static int check_reserved_lock(sqlite3_file *base, int *result) {
    return below(base)->pMethods->xCheckReservedLock(below(base), result);
}

static int control_file(sqlite3_file *base, int operation, void *argument) {
    page_file *file = (page_file *)base;
    if (operation == prepare_control) {
        // Other pages may be written before the first one, which declares the sums.
        sqlite3_int64 size = 0;
        const int code = file_size(base, &size);
        if (code == SQLITE_OK && size == 0) file->is_checked = true;
        return code;
    }
    if (operation == checked_control) {
        *(int *)argument = file->is_checked;
        return SQLITE_OK;
    }
    if (operation == moved_control) {
        *(const char **)argument = end_of_moved(file);
        return SQLITE_OK;
    }
    if (operation == SQLITE_FCNTL_PERSIST_WAL && *(int *)argument < 0 && file->log != NULL &&
        !is_in_place(file->log->path, file->log->opened)) {
        // Closing the last connection would delete a log that belongs to another file.
        *(int *)argument = 1;
        return SQLITE_OK;
    }
    return below(base)->pMethods->xFileControl(below(base), operation, argument);
}

static int sector_size(sqlite3_file *base) { return below(base)->pMethods->xSectorSize(below(base)); }

static int characteristics(sqlite3_file *base) {
    int found = below(base)->pMethods->xDeviceCharacteristics(below(base));
#ifdef SQLITE_IOCAP_SUBPAGE_READ
    found &= ~SQLITE_IOCAP_SUBPAGE_READ;
#endif
    return found;
}

static int map_shared(sqlite3_file *base, int region, int size, int extends, void volatile **memory) {
    page_file *file = (page_file *)base;
    sqlite3_file *real = below(base);
    errno = 0;
    const int code = real->pMethods->xShmMap(real, region, size, extends, memory);
    // SQLite does not store the error number of this file.
    const int number = errno;
    const int primary = code & 0xff;
    if (!file->has_shared && (code == SQLITE_OK || code == SQLITE_READONLY)) {
        char path[PATH_MAX];
        file->shared = identify_shared(file, path);
        file->has_shared = true;
    }
    if (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN)
        weir_fault_note(file->path, (struct weir_fault){.error_number = number});
    return code;
}

static int lock_shared(sqlite3_file *base, int offset, int count, int flags) {
    page_file *file = (page_file *)base;
    const bool is_about_writing = offset == write_lock && (flags & SQLITE_SHM_EXCLUSIVE);
    if (is_about_writing && (flags & SQLITE_SHM_UNLOCK)) {
        // The transaction has ended: its frames have valid sums again or do not count.
        file->rewritten_from = nowhere;
        file->is_writing = false;
    }
    const int code = below(base)->pMethods->xShmLock(below(base), offset, count, flags);
    if (is_about_writing && (flags & SQLITE_SHM_LOCK) && code == SQLITE_OK) file->is_writing = true;
    return code;
}

static void barrier_shared(sqlite3_file *base) { below(base)->pMethods->xShmBarrier(below(base)); }

static int unmap_shared(sqlite3_file *base, int deletes) {
    ((page_file *)base)->has_shared = false;
    return below(base)->pMethods->xShmUnmap(below(base), deletes);
}

/// Disables memory mapping, which would bypass verification.
static int fetch_nothing(sqlite3_file *base, sqlite3_int64 offset, int count, void **page) {
    (void)base, (void)offset, (void)count;
    *page = NULL;
    return SQLITE_OK;
}

static int unfetch_nothing(sqlite3_file *base, sqlite3_int64 offset, void *page) {
    (void)base, (void)offset, (void)page;
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 3,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = file_size,
    .xLock = lock_file,
    .xUnlock = unlock_file,
    .xCheckReservedLock = check_reserved_lock,
    .xFileControl = control_file,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
    .xShmMap = map_shared,
    .xShmLock = lock_shared,
    .xShmBarrier = barrier_shared,
    .xShmUnmap = unmap_shared,
    .xFetch = fetch_nothing,
    .xUnfetch = unfetch_nothing,
};

/// Syncs the rollback journal that another program left. That program may have ended the journal and been killed
/// before the sync, or the sync may have failed. A power loss would then restore the journal, and recovery would roll
/// back a transaction on which others have already built.
static int sync_journal(const char *path) {
    char journal[PATH_MAX];
    if (snprintf(journal, sizeof journal, "%s-journal", path) >= (int)sizeof journal) return SQLITE_CANTOPEN;
    const int number = sync_path(journal, 0);
    if (number == 0 || number == ENOENT) return SQLITE_OK;
    weir_fault_note(path, (struct weir_fault){.error_number = number});
    return SQLITE_IOERR_FSYNC;
}

static int open_file(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *found) {
    (void)vfs;
    if ((flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) == 0)
        return system_vfs->xOpen(system_vfs, path, base, flags, found);
    page_file *file = (page_file *)base;
    memset(file, 0, sizeof *file);
    file->path = path;
    file->rewritten_from = nowhere;
    file->frame_written = -1;
    sqlite3_file *real = below(base);
    int opened_as = flags;
    int code = system_vfs->xOpen(system_vfs, path, real, flags, &opened_as);
    if (found != NULL) *found = opened_as;
    if (code != SQLITE_OK) {
        weir_fault_note(
            path, (struct weir_fault){.error_number = system_vfs->xGetLastError(system_vfs, 0, NULL)});
        return code;
    }
    if (real->pMethods->iVersion < methods.iVersion) {
        // Not SQLite's usual layer: it has no write-ahead log, and nothing here would be verified.
        real->pMethods->xClose(real);
        return SQLITE_CANTOPEN;
    }
    base->pMethods = &methods;
    file->opened = identify(path);
    file->is_read_only = (opened_as & SQLITE_OPEN_READONLY) != 0;
    file->has_new_name =
        (flags & SQLITE_OPEN_CREATE) && (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL));
    if (flags & SQLITE_OPEN_MAIN_JOURNAL) {
        file->is_journal = true;
    } else if (flags & SQLITE_OPEN_WAL) {
        sqlite3_file *database = sqlite3_database_file_object(path);
        if (database == NULL || database->pMethods != &methods) {
            base->pMethods = NULL;
            real->pMethods->xClose(real);
            return SQLITE_CANTOPEN;
        }
        file->database = (page_file *)database;
        file->database->log = file;
    } else {
        if (!file->is_read_only) code = sync_journal(path);
        if (code == SQLITE_OK && sqlite3_uri_boolean(path, "weir_pages", 0))
            code = control_file(base, prepare_control, NULL);
    }
    return code;
}

// MARK: Connections

/// Runs when the program is loaded: a connection opened without the layer would write pages with outdated sums.
__attribute__((constructor)) static void begin(void) {
    sqlite3_config(SQLITE_CONFIG_URI, 1);
    if (sqlite3_initialize() != SQLITE_OK) return;
    system_vfs = sqlite3_vfs_find(NULL);
    if (system_vfs == NULL) return;
    layer = *system_vfs;
    layer.pNext = NULL;
    layer.zName = "weir-pages";
    layer.szOsFile += (int)sizeof(page_file);
    layer.xOpen = open_file;
    sqlite3_vfs_register(&layer, 1);
}

int weir_pages_request(struct sqlite3 *connection) {
    int reserved = reserved_bytes;
    return sqlite3_file_control(connection, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
}

int weir_pages_prepare(struct sqlite3 *connection) {
    const int code = weir_pages_request(connection);
    if (code != SQLITE_OK) return code;
    return sqlite3_file_control(connection, "main", prepare_control, NULL);
}

bool weir_pages_are_checked(struct sqlite3 *connection) {
    int is_checked = 0;
    sqlite3_file_control(connection, "main", checked_control, &is_checked);
    return is_checked != 0;
}

const char *weir_moved_file(struct sqlite3 *connection) {
    const char *end = NULL;
    sqlite3_file_control(connection, "main", moved_control, &end);
    return end;
}

#define _GNU_SOURCE
#include "CSimulatedSystem.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { sector = 512, most_descriptors = 4096 };

/// A change of a file that is not synced: bytes at an offset, and how long the file was before and is after.
struct change {
    struct change *next;
    /// Which one it is of all changes.
    uint64_t number;
    int64_t offset;
    size_t count;
    uint8_t *before;
    size_t before_count;
    uint8_t *after;
    int64_t size_before;
    int64_t size_after;
};

/// A sector whose write failed at a sync. Systems then take what they have in memory for written, so that no later sync
/// writes it: until it is written once more, the disk holds something else than readers see.
struct unwritten {
    struct unwritten *next;
    int64_t offset;
    /// The last change before the failure.
    uint64_t number;
    uint8_t on_disk[sector];
};

struct file {
    struct file *next;
    char *path;
    struct change *first;
    struct change *last;
    struct unwritten *unwritten;
};

/// A change of the names in a directory that is not synced. What was replaced or removed is kept under another name.
struct naming {
    struct naming *before;
    /// Empty for a file that was removed.
    char *path;
    /// Where the file at `path` was before; empty for one that was made.
    char *old_path;
    /// Where the file is now that was there; empty for none.
    char *held;
};

struct process {
    bool is_dead;
    int64_t calls_left;
    struct weir_sim_chances chances;
    uint64_t random;
    uint64_t random_of_reads;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile bool is_active;
static char root[4096];
static size_t root_length;
static int64_t wall_ns;
static const int64_t steady_begin_ns = 1000000000;
static int64_t steady_ns;
static int current;
static struct process *processes;
static int process_count;
static struct file *files;
static struct naming *namings;
static uint64_t held_count;
static uint64_t change_count;
static struct {
    struct file *file;
    int process;
} descriptors[most_descriptors];
static uint64_t counts[WEIR_SIM_EVENTS];
static uint64_t running_seed;
static pthread_t simulated_thread;

static uint64_t next_random(uint64_t *state) {
    uint64_t mixed = *state += 0x9E3779B97F4A7C15;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
    return mixed ^ mixed >> 31;
}

static bool happens(uint64_t *state, uint32_t millionths) {
    return millionths > 0 && next_random(state) % 1000000 < millionths;
}

static void *must(void *memory) {
    if (memory == NULL) abort();
    return memory;
}

static struct process *process_of(int number) {
    if (number >= process_count) {
        int larger = number + 64;
        processes = must(realloc(processes, (size_t)larger * sizeof *processes));
        for (int place = process_count; place < larger; place++)
            processes[place] = (struct process){.calls_left = -1};
        process_count = larger;
    }
    return &processes[number];
}

// MARK: Files

static bool is_simulated(const char *path) {
    return is_active && path != NULL && strncmp(path, root, root_length) == 0 && path[root_length] == '/';
}

/// What several processes share in memory is no disk, and locks hold nothing.
static bool is_volatile(const char *path) {
    size_t length = strlen(path);
    return (length > 4 && strcmp(path + length - 4, "-shm") == 0)
        || (length > 5 && strcmp(path + length - 5, ".lock") == 0);
}

static struct file *file_at(const char *path) {
    for (struct file *file = files; file; file = file->next)
        if (strcmp(file->path, path) == 0) return file;
    struct file *file = must(calloc(1, sizeof *file));
    file->path = must(strdup(path));
    file->next = files;
    files = file;
    return file;
}

/// What failed in a part of a file, before the change of a number, is mended by it, or cut off.
static void supersede(struct file *file, uint64_t number, int64_t begin, int64_t end) {
    for (struct unwritten **link = &file->unwritten; *link;) {
        struct unwritten *place = *link;
        if (place->number < number && place->offset + sector > begin && place->offset < end) {
            *link = place->next;
            free(place);
        } else {
            link = &place->next;
        }
    }
}

/// The first sector that lies wholly behind a file of a size.
static int64_t sector_behind(int64_t size) { return (size + sector - 1) / sector * sector; }

/// The disk holds what changes have made of the file, but for what failed.
static void settle_changes(struct file *file) {
    while (file->first) {
        struct change *change = file->first;
        if (change->count > 0)
            supersede(file, change->number, change->offset, change->offset + (int64_t)change->count);
        else
            supersede(file, change->number, sector_behind(change->size_after), INT64_MAX);
        file->first = change->next;
        free(change->before);
        free(change->after);
        free(change);
    }
    file->last = NULL;
}

static void forget_changes(struct file *file) {
    settle_changes(file);
    while (file->unwritten) {
        struct unwritten *place = file->unwritten;
        file->unwritten = place->next;
        free(place);
    }
}

static bool is_in(const char *path, const char *directory) {
    size_t length = strlen(directory);
    return strncmp(path, directory, length) == 0 && path[length] == '/';
}

static bool is_directly_in(const char *path, const char *directory) {
    return is_in(path, directory) && strchr(path + strlen(directory) + 1, '/') == NULL;
}

static bool exists(const char *path) { return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0; }

static void move_changes(struct file *old, struct file *new) {
    forget_changes(new);
    new->first = old->first;
    new->last = old->last;
    new->unwritten = old->unwritten;
    old->first = old->last = NULL;
    old->unwritten = NULL;
    for (int descriptor = 0; descriptor < most_descriptors; descriptor++)
        if (descriptors[descriptor].file == old) descriptors[descriptor].file = new;
}

/// Keeps the file at a path that is about to be replaced or removed, and its changes; empty for none.
static char *hold(const char *path) {
    char held[sizeof root + 32];
    snprintf(held, sizeof held, "%s/held-%llu", root, (unsigned long long)held_count++);
    if (syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, held, 0) != 0) return must(strdup(""));
    move_changes(file_at(path), file_at(held));
    return must(strdup(held));
}

/// `held` is given away.
static void add_naming(const char *path, const char *old_path, char *held) {
    struct naming *naming = must(calloc(1, sizeof *naming));
    naming->before = namings;
    naming->path = must(strdup(path));
    naming->old_path = must(strdup(old_path));
    naming->held = held;
    namings = naming;
}

static void forget_file(const char *path) {
    for (struct file **link = &files; *link; link = &(*link)->next)
        if (strcmp((*link)->path, path) == 0) {
            struct file *file = *link;
            // Who still has it open writes to nothing that lasts.
            for (int descriptor = 0; descriptor < most_descriptors; descriptor++)
                if (descriptors[descriptor].file == file) descriptors[descriptor].file = NULL;
            *link = file->next;
            forget_changes(file);
            free(file->path);
            free(file);
            return;
        }
}

static void end_naming(struct naming *naming) {
    if (naming->held[0] && syscall(SYS_unlinkat, AT_FDCWD, naming->held, 0) == 0) forget_file(naming->held);
    free(naming->path);
    free(naming->old_path);
    free(naming->held);
    free(naming);
}

/// Names are as they are for good: all in a directory and below it, those in it, or one.
static void settle_names(bool is_meant(const char *path, const char *place), const char *place) {
    for (struct naming **link = &namings; *link;) {
        struct naming *naming = *link;
        if (is_meant(naming->path, place)) {
            *link = naming->before;
            end_naming(naming);
        } else {
            link = &naming->before;
        }
    }
}

static bool is_same(const char *path, const char *other) { return strcmp(path, other) == 0; }

static int64_t size_of(int descriptor) {
    struct stat found;
    return fstatat(descriptor, "", &found, AT_EMPTY_PATH) == 0 ? found.st_size : 0;
}

/// Keeps in mind what a file holds where it is about to change.
static struct change *begin_change(struct file *file, int descriptor, int64_t offset, size_t count) {
    struct change *change = must(calloc(1, sizeof *change));
    change->number = ++change_count;
    change->offset = offset;
    change->size_before = size_of(descriptor);
    if (offset < change->size_before && count > 0) {
        size_t there = (size_t)(change->size_before - offset);
        change->before_count = there < count ? there : count;
        change->before = must(malloc(change->before_count));
        ssize_t read = syscall(SYS_pread64, descriptor, change->before, change->before_count, offset);
        if (read < 0) abort();
        change->before_count = (size_t)read;
    }
    if (file->last) file->last->next = change;
    else file->first = change;
    file->last = change;
    return change;
}

static int64_t smaller(int64_t one, int64_t other) { return one < other ? one : other; }
static int64_t larger(int64_t one, int64_t other) { return one > other ? one : other; }

static ssize_t change_by_writing(struct file *file, int descriptor, const void *bytes, size_t count, int64_t offset) {
    struct change *change = begin_change(file, descriptor, offset, count);
    ssize_t written = syscall(SYS_pwrite64, descriptor, bytes, count, offset);
    change->count = written < 0 ? 0 : (size_t)written;
    change->after = must(malloc(change->count + 1));
    memcpy(change->after, bytes, change->count);
    // Asked for where nothing was written.
    change->size_after = change->size_before;
    return written;
}

/// Whether the process is killed at this call, or was before; counts the call.
static bool dies(struct process *process) {
    if (process->is_dead) return true;
    if (process->calls_left < 0 || process->calls_left-- > 0) return false;
    process->is_dead = true;
    process->calls_left = -1;
    counts[WEIR_SIM_CRASHES]++;
    return true;
}

/// Whether a call of a living process that changes a file or a name fails; says how, as the system does.
static bool fails_to_change(struct process *process) {
    bool fails = happens(&process->random, process->chances.write_error);
    bool is_full = !fails && happens(&process->random, process->chances.disk_full);
    if (!fails && !is_full) return false;
    counts[fails ? WEIR_SIM_WRITE_ERRORS : WEIR_SIM_DISK_FULL]++;
    errno = fails ? EIO : ENOSPC;
    return true;
}

/// How much of a write is done, when not all of it is: it ends where a sector does, as parts of files are kept by the
/// page.
static size_t part_of(uint64_t *random, size_t count, int64_t offset) {
    int64_t end = (offset + (int64_t)(next_random(random) % (count + 1))) / sector * sector;
    return end > offset ? (size_t)(end - offset) : 0;
}

static ssize_t simulated_write(int descriptor, const void *bytes, size_t count, int64_t offset, ssize_t *moved) {
    struct file *file = descriptors[descriptor].file;
    struct process *process = process_of(descriptors[descriptor].process);
    bool was_dead = process->is_dead;
    counts[WEIR_SIM_WRITES]++;
    *moved = 0;
    if (dies(process)) {
        // The call at which it is killed may have been done, or a part of it.
        uint64_t done = was_dead ? 0 : next_random(&process->random) % 3;
        size_t part = done == 1 ? part_of(&process->random, count, offset) : count;
        if (done > 0 && part > 0) change_by_writing(file, descriptor, bytes, part, offset);
        errno = EIO;
        return -1;
    }
    if (fails_to_change(process)) {
        size_t part = part_of(&process->random, count, offset);
        if (part > 0) change_by_writing(file, descriptor, bytes, part, offset);
        return -1;
    }
    if (count > 1 && happens(&process->random, process->chances.short_write)) {
        size_t part = part_of(&process->random, count, offset);
        if (part > 0) {
            counts[WEIR_SIM_SHORT_WRITES]++;
            count = part;
        }
    }
    return *moved = change_by_writing(file, descriptor, bytes, count, offset);
}

static bool is_known(int descriptor) {
    return is_active && descriptor >= 0 && descriptor < most_descriptors && descriptors[descriptor].file != NULL;
}

// MARK: Calls that come before those of the C library

static bool cannot_change_name(void) {
    pthread_mutex_lock(&lock);
    bool fails = fails_to_change(process_of(current));
    if (fails) counts[WEIR_SIM_NAME_ERRORS]++;
    pthread_mutex_unlock(&lock);
    return fails;
}

static int open_simulated(const char *path, int flags, mode_t mode) {
    if (is_simulated(path)) {
        pthread_mutex_lock(&lock);
        bool is_dead = process_of(current)->is_dead;
        pthread_mutex_unlock(&lock);
        if (is_dead && flags & (O_WRONLY | O_RDWR | O_CREAT)) {
            errno = EIO;
            return -1;
        }
    }
    bool is_kept = is_simulated(path) && !is_volatile(path);
    bool is_made = is_kept && flags & O_CREAT && !exists(path);
    if (is_made && cannot_change_name()) return -1;
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (descriptor >= 0 && descriptor < most_descriptors) {
        pthread_mutex_lock(&lock);
        if (is_made && current > 0) add_naming(path, "", must(strdup("")));
        descriptors[descriptor].file = is_kept ? file_at(path) : NULL;
        descriptors[descriptor].process = current;
        pthread_mutex_unlock(&lock);
    }
    return descriptor;
}

static mode_t mode_of(int flags, va_list rest) {
    bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    return creates ? (mode_t)va_arg(rest, int) : 0;
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return open_simulated(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return open_simulated(path, flags, mode);
}

/// SQLite keeps descriptors of a file that other connections have locked, and gives them to the next connection, which
/// looks at the file first. From then on they are the descriptors of who looks.
int fstat(int descriptor, struct stat *found) {
    if (is_known(descriptor)) {
        pthread_mutex_lock(&lock);
        descriptors[descriptor].process = current;
        pthread_mutex_unlock(&lock);
    }
    return fstatat(descriptor, "", found, AT_EMPTY_PATH);
}

int fstat64(int descriptor, struct stat64 *found) { return fstat(descriptor, (struct stat *)found); }

int close(int descriptor) {
    if (is_known(descriptor)) {
        pthread_mutex_lock(&lock);
        descriptors[descriptor].file = NULL;
        pthread_mutex_unlock(&lock);
    }
    return (int)syscall(SYS_close, descriptor);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    if (!is_known(descriptor)) return syscall(SYS_pwrite64, descriptor, bytes, count, offset);
    ssize_t moved;
    pthread_mutex_lock(&lock);
    ssize_t written = simulated_write(descriptor, bytes, count, offset, &moved);
    pthread_mutex_unlock(&lock);
    return written;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    return pwrite64(descriptor, bytes, count, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    if (!is_known(descriptor)) return syscall(SYS_write, descriptor, bytes, count);
    pthread_mutex_lock(&lock);
    bool appends = fcntl(descriptor, F_GETFL) & O_APPEND;
    int64_t offset = appends ? size_of(descriptor) : lseek(descriptor, 0, SEEK_CUR);
    ssize_t moved;
    ssize_t written = simulated_write(descriptor, bytes, count, offset, &moved);
    if (moved > 0) lseek(descriptor, offset + moved, SEEK_SET);
    pthread_mutex_unlock(&lock);
    return written;
}

/// Whether a read fails; else how much it gives at most.
static bool fails_to_read(int descriptor, size_t *count) {
    if (!is_known(descriptor)) return false;
    pthread_mutex_lock(&lock);
    struct process *process = process_of(descriptors[descriptor].process);
    bool fails = !process->is_dead && happens(&process->random_of_reads, process->chances.read_error);
    if (fails) counts[WEIR_SIM_READ_ERRORS]++;
    if (!fails && *count > 1 && happens(&process->random_of_reads, process->chances.short_read)) {
        counts[WEIR_SIM_SHORT_READS]++;
        *count = 1 + (size_t)(next_random(&process->random_of_reads) % (*count - 1));
    }
    pthread_mutex_unlock(&lock);
    if (fails) errno = EIO;
    return fails;
}

ssize_t pread64(int descriptor, void *bytes, size_t count, off64_t offset) {
    return fails_to_read(descriptor, &count) ? -1 : syscall(SYS_pread64, descriptor, bytes, count, offset);
}

ssize_t read(int descriptor, void *bytes, size_t count) {
    return fails_to_read(descriptor, &count) ? -1 : syscall(SYS_read, descriptor, bytes, count);
}

ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
    return pread64(descriptor, bytes, count, offset);
}

int ftruncate64(int descriptor, off64_t size) {
    if (!is_known(descriptor)) return (int)syscall(SYS_ftruncate, descriptor, size);
    pthread_mutex_lock(&lock);
    struct process *process = process_of(descriptors[descriptor].process);
    int result = -1;
    if (dies(process)) {
        errno = EIO;
    } else if (!fails_to_change(process)) {
        int64_t present = size_of(descriptor);
        int64_t kept = smaller(size, present);
        struct change *change =
            begin_change(descriptors[descriptor].file, descriptor, kept, (size_t)(present - kept));
        change->size_after = size;
        result = (int)syscall(SYS_ftruncate, descriptor, size);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int ftruncate(int descriptor, off_t size) { return ftruncate64(descriptor, size); }

// MARK: What the disk holds

static void put(int descriptor, const void *bytes, size_t count, int64_t offset) {
    if (count > 0 && syscall(SYS_pwrite64, descriptor, bytes, count, offset) != (ssize_t)count) abort();
}

static void cut(int descriptor, int64_t size) {
    if (syscall(SYS_ftruncate, descriptor, size) != 0) abort();
}

/// Makes of a file what it was before its changes. Returns them, in their order, and NULL after the last.
static struct change **undo_changes(struct file *file, int descriptor) {
    size_t count = 0;
    for (struct change *change = file->first; change; change = change->next) count++;
    struct change **changes = must(calloc(count + 1, sizeof *changes));
    size_t place = 0;
    for (struct change *change = file->first; change; change = change->next) changes[place++] = change;
    while (place-- > 0) {
        put(descriptor, changes[place]->before, changes[place]->before_count, changes[place]->offset);
        cut(descriptor, changes[place]->size_before);
    }
    return changes;
}

/// Does a change again, or, when it is torn, some of its sectors.
static void redo(struct file *file, int descriptor, const struct change *change, bool is_torn, uint64_t *random) {
    if (change->count == 0) {
        supersede(file, change->number, sector_behind(change->size_after), INT64_MAX);
        return cut(descriptor, change->size_after);
    }
    for (size_t at = 0; at < change->count;) {
        int64_t offset = change->offset + (int64_t)at;
        size_t rest = sector - (size_t)(offset % sector);
        size_t count = change->count - at < rest ? change->count - at : rest;
        if (!is_torn || next_random(random) % 2 == 0) {
            put(descriptor, change->after + at, count, offset);
            supersede(file, change->number, offset, offset + (int64_t)count);
        }
        at += count;
    }
}

/// Notes that the write of a sector has failed; `on_disk` is what the disk holds there if none has before.
static void add_unwritten(struct file *file, int64_t offset, const uint8_t on_disk[sector]) {
    struct unwritten *place = file->unwritten;
    while (place && place->offset != offset) place = place->next;
    if (place == NULL) {
        place = must(calloc(1, sizeof *place));
        place->offset = offset;
        memcpy(place->on_disk, on_disk, sector);
        place->next = file->unwritten;
        file->unwritten = place;
    }
    place->number = change_count;
}

/// A sync fails: nothing that it had to write is on the disk, or not all of its pages or sectors. How long the file is
/// stands elsewhere, and comes with the next sync.
static void fail_changes(struct file *file, uint64_t *random) {
    enum { page = 4096 };
    int descriptor = file->first ? (int)syscall(SYS_openat, AT_FDCWD, file->path, O_RDWR | O_CLOEXEC, 0) : -1;
    if (descriptor < 0) return;
    uint64_t kind = next_random(random) % 3, seed = next_random(random);
    struct change **changes = undo_changes(file, descriptor);
    int64_t shortest = INT64_MAX;
    for (struct change **at = changes; *at; at++) {
        struct change *change = *at;
        if (change->count == 0) shortest = smaller(shortest, change->size_after);
        int64_t offset = change->offset / sector * sector;
        for (; offset < change->offset + (int64_t)change->count; offset += sector) {
            uint64_t part = seed + (uint64_t)(kind == 1 ? offset / page : offset / sector);
            if (kind > 0 && next_random(&part) % 2) continue;
            uint8_t on_disk[sector] = {0};
            if (offset < shortest && syscall(SYS_pread64, descriptor, on_disk, sector, offset) < 0) abort();
            add_unwritten(file, offset, on_disk);
        }
    }
    for (struct change **at = changes; *at; at++) {
        if ((*at)->count > 0) put(descriptor, (*at)->after, (*at)->count, (*at)->offset);
        else cut(descriptor, (*at)->size_after);
    }
    free(changes);
    syscall(SYS_close, descriptor);
}

static int sync_file(int descriptor, long call) {
    if (!is_known(descriptor)) return (int)syscall(call, descriptor);
    pthread_mutex_lock(&lock);
    struct process *process = process_of(descriptors[descriptor].process);
    counts[WEIR_SIM_SYNCS]++;
    int result = -1;
    if (dies(process)) {
        errno = EIO;
    } else if (happens(&process->random, process->chances.sync_error)) {
        counts[WEIR_SIM_SYNC_ERRORS]++;
        fail_changes(descriptors[descriptor].file, &process->random);
        errno = EIO;
    } else {
        settle_changes(descriptors[descriptor].file);
        settle_names(is_directly_in, descriptors[descriptor].file->path);
        result = 0;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int fsync(int descriptor) { return sync_file(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return sync_file(descriptor, SYS_fdatasync); }

/// Whether a call about a path may go on.
static bool is_refused(const char *path) {
    if (!is_simulated(path)) return false;
    pthread_mutex_lock(&lock);
    bool is_dead = is_volatile(path) ? process_of(current)->is_dead : dies(process_of(current));
    pthread_mutex_unlock(&lock);
    if (is_dead) errno = EIO;
    return is_dead;
}

int unlink(const char *path) {
    if (is_refused(path)) return -1;
    if (is_simulated(path)) {
        pthread_mutex_lock(&lock);
        if (current == 0) settle_names(is_same, path);
        else if (!is_volatile(path) && exists(path)) add_naming(path, path, hold(path));
        forget_changes(file_at(path));
        pthread_mutex_unlock(&lock);
    }
    return (int)syscall(SYS_unlink, path);
}

int rename(const char *old, const char *new) {
    if (is_refused(new)) return -1;
    if (is_simulated(new)) {
        if (cannot_change_name()) return -1;
        pthread_mutex_lock(&lock);
        if (current == 0) settle_names(is_same, new);
        else add_naming(new, old, hold(new));
        move_changes(file_at(old), file_at(new));
        pthread_mutex_unlock(&lock);
    }
    return (int)syscall(SYS_rename, old, new);
}

int mkdir(const char *path, mode_t mode) {
    if (is_simulated(path) && process_of(current)->is_dead) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_mkdir, path, mode);
}

// MARK: Threads

// A run has one thread. Work that is given to another one is done where it is given away, or as late as something may
// wait for it.

static bool is_simulated_thread(void) { return is_active && pthread_equal(pthread_self(), simulated_thread); }

static bool works_late;
static struct { void *queue, *work; } waiting[16];
static int waiting_count;

void dispatch_retain(void *object);
void dispatch_release(void *object);
void *_Block_copy(const void *block);
void _Block_release(const void *block);

#define REAL(name, ...) \
    static __typeof__(name) *real; \
    if (real == NULL) *(void **)&real = must(dlsym(RTLD_NEXT, #name)); \
    return real(__VA_ARGS__)

static void sync_now(void *queue, void *work) {
    static void (*real)(void *, void *);
    if (real == NULL) *(void **)&real = must(dlsym(RTLD_NEXT, "dispatch_sync"));
    real(queue, work);
}

static void do_waiting_work(void) {
    if (!is_simulated_thread()) return;
    while (waiting_count > 0) {
        void *queue = waiting[0].queue, *work = waiting[0].work;
        memmove(waiting, waiting + 1, (size_t)--waiting_count * sizeof *waiting);
        sync_now(queue, work);
        _Block_release(work);
        dispatch_release(queue);
    }
}

static void take_work(void *queue, void *work) {
    if (!works_late || waiting_count == sizeof waiting / sizeof *waiting) {
        do_waiting_work();
        return sync_now(queue, work);
    }
    dispatch_retain(queue);
    waiting[waiting_count].queue = queue;
    waiting[waiting_count++].work = _Block_copy(work);
}

void dispatch_async(void *queue, void *work) {
    if (is_simulated_thread()) return take_work(queue, work);
    REAL(dispatch_async, queue, work);
}

void dispatch_group_async(void *group, void *queue, void *work) {
    if (is_simulated_thread()) return take_work(queue, work);
    REAL(dispatch_group_async, group, queue, work);
}

void dispatch_sync(void *queue, void *work) {
    do_waiting_work();
    sync_now(queue, work);
}

/// A block with one number, as libdispatch calls it.
struct numbered_block {
    void *isa;
    int flags, reserved;
    void (*invoke)(void *, size_t);
};

/// One iteration after the other.
void dispatch_apply(size_t iterations, void *queue, void *work) {
    if (is_simulated_thread()) {
        for (size_t number = 0; number < iterations; number++) ((struct numbered_block *)work)->invoke(work, number);
        return;
    }
    REAL(dispatch_apply, iterations, queue, work);
}

intptr_t dispatch_group_wait(void *group, uint64_t until) {
    do_waiting_work();
    REAL(dispatch_group_wait, group, until);
}

intptr_t dispatch_semaphore_wait(void *semaphore, uint64_t until) {
    do_waiting_work();
    REAL(dispatch_semaphore_wait, semaphore, until);
}

void weir_sim_work_late(bool is_late) { works_late = is_late; }

// MARK: Time

static void to_timespec(int64_t ns, struct timespec *time) {
    time->tv_sec = ns / 1000000000;
    time->tv_nsec = ns % 1000000000;
}

/// Where libdispatch lies in memory. Its timers go by the real clock, whatever a simulation says.
static uintptr_t dispatch_begin, dispatch_end;

static int find_dispatch(struct dl_phdr_info *library, size_t size, void *unused) {
    (void)size;
    (void)unused;
    if (library->dlpi_name == NULL || strstr(library->dlpi_name, "/libdispatch.so") == NULL) return 0;
    dispatch_begin = library->dlpi_addr;
    for (int place = 0; place < library->dlpi_phnum; place++) {
        uintptr_t end = library->dlpi_addr + library->dlpi_phdr[place].p_vaddr + library->dlpi_phdr[place].p_memsz;
        if (library->dlpi_phdr[place].p_type == PT_LOAD && end > dispatch_end) dispatch_end = end;
    }
    return 1;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    uintptr_t caller = (uintptr_t)__builtin_return_address(0);
    if (!is_active || (caller >= dispatch_begin && caller < dispatch_end))
        return (int)syscall(SYS_clock_gettime, clock, time);
    switch (clock) {
    case CLOCK_REALTIME: case CLOCK_REALTIME_COARSE: to_timespec(wall_ns, time); return 0;
    case CLOCK_MONOTONIC: case CLOCK_MONOTONIC_RAW: case CLOCK_MONOTONIC_COARSE: case CLOCK_BOOTTIME:
        to_timespec(steady_ns, time);
        return 0;
    default: return (int)syscall(SYS_clock_gettime, clock, time);
    }
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    if (!is_active) return (int)syscall(SYS_gettimeofday, time, zone);
    time->tv_sec = wall_ns / 1000000000;
    time->tv_usec = wall_ns % 1000000000 / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}

static void (*while_asleep)(void *context);
static void *asleep_context;

void weir_sim_while_asleep(void (*others)(void *context), void *context) {
    while_asleep = others;
    asleep_context = context;
}

void weir_sim_let_others(void) {
    void (*others)(void *context) = while_asleep;
    if (others == NULL || !is_simulated_thread()) return;
    int process = current;
    while_asleep = NULL;
    others(asleep_context);
    while_asleep = others;
    weir_sim_enter(process);
}

static void sleep_simulated(int64_t nanoseconds) {
    counts[WEIR_SIM_SLEEPS]++;
    weir_sim_pass(nanoseconds);
    weir_sim_let_others();
}

// Threads of libdispatch sleep while they wait for work, by the real clock.

int nanosleep(const struct timespec *wanted, struct timespec *left) {
    if (!is_simulated_thread()) return (int)syscall(SYS_nanosleep, wanted, left);
    sleep_simulated((int64_t)wanted->tv_sec * 1000000000 + wanted->tv_nsec);
    return 0;
}

int usleep(useconds_t microseconds) {
    struct timespec wanted = {microseconds / 1000000, (long)(microseconds % 1000000) * 1000};
    return nanosleep(&wanted, NULL);
}

/// A wait of the simulation's own thread for another one: there is none that would wake it.
int pthread_cond_timedwait(
    pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict until
) {
    static int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (wait == NULL) *(void **)&wait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    if (!is_simulated_thread()) return wait(condition, mutex, until);
    int64_t left = (int64_t)until->tv_sec * 1000000000 + until->tv_nsec - wall_ns;
    pthread_mutex_unlock(mutex);
    sleep_simulated(left < 0 ? 0 : left > 1000000000 ? 1000000000 : left);
    pthread_mutex_lock(mutex);
    return ETIMEDOUT;
}

unsigned sleep(unsigned seconds) {
    struct timespec wanted = {seconds, 0};
    nanosleep(&wanted, NULL);
    return 0;
}

// MARK: What a simulation says

/// Says which run ended the program, where nothing else can any more.
static void say_seed(int signal_number) {
    static const char text[] = " ends the program\n";
    char line[64] = "seed ", digits[24];
    size_t length = 5, count = 0;
    uint64_t rest = running_seed;
    do digits[count++] = (char)('0' + rest % 10); while (rest /= 10);
    while (count > 0) line[length++] = digits[--count];
    memcpy(line + length, text, sizeof text - 1);
    syscall(SYS_write, 1, line, length + sizeof text - 1);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

void weir_sim_begin(const char *path, int64_t now_ns, uint64_t seed) {
    static const int fatal[] = {SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT, SIGFPE};
    running_seed = seed;
    for (size_t place = 0; place < sizeof fatal / sizeof *fatal; place++) signal(fatal[place], say_seed);

    root_length = strlen(path);
    if (root_length >= sizeof root) abort();
    memcpy(root, path, root_length + 1);
    wall_ns = now_ns;
    simulated_thread = pthread_self();
    steady_ns = steady_begin_ns;
    current = 0;
    for (struct file *file = files; file;) {
        struct file *next = file->next;
        forget_changes(file);
        free(file->path);
        free(file);
        file = next;
    }
    files = NULL;
    while (namings) {
        struct naming *before = namings->before;
        end_naming(namings);
        namings = before;
    }
    memset(descriptors, 0, sizeof descriptors);
    free(processes);
    processes = NULL;
    process_count = 0;
    if (dispatch_end == 0) dl_iterate_phdr(find_dispatch, NULL);
    is_active = true;
}

void weir_sim_end(void) {
    do_waiting_work();
    is_active = false;
}

void weir_sim_enter(int process) {
    // What is given to other threads belongs to who gave it.
    do_waiting_work();
    pthread_mutex_lock(&lock);
    process_of(process);
    current = process;
    pthread_mutex_unlock(&lock);
}

void weir_sim_set_chances(int number, struct weir_sim_chances chances, uint64_t seed) {
    pthread_mutex_lock(&lock);
    struct process *process = process_of(number);
    process->chances = chances;
    process->random = seed;
    process->random_of_reads = seed ^ 0x5EED;
    pthread_mutex_unlock(&lock);
}

void weir_sim_crash_after(int number, int64_t calls) {
    pthread_mutex_lock(&lock);
    process_of(number)->calls_left = calls;
    pthread_mutex_unlock(&lock);
}

void weir_sim_kill(int number) {
    pthread_mutex_lock(&lock);
    process_of(number)->is_dead = true;
    pthread_mutex_unlock(&lock);
}

bool weir_sim_is_dead(int number) {
    pthread_mutex_lock(&lock);
    bool is_dead = process_of(number)->is_dead;
    pthread_mutex_unlock(&lock);
    return is_dead;
}

/// A cut is lost, and what failed after it lay on what was cut off.
static void forget_unwritten_after(struct file *file, const struct change *change) {
    for (struct unwritten *place = file->unwritten; place; place = place->next)
        if (place->number >= change->number && place->offset >= sector_behind(change->size_after))
            place->offset = INT64_MAX;
}

static void lose(struct file *file, uint64_t *random) {
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, file->path, O_RDWR | O_CLOEXEC, 0);
    if (descriptor < 0) return forget_changes(file);
    // What was synced, and nothing else.
    struct change **changes = undo_changes(file, descriptor);
    size_t count = 0;
    while (changes[count]) count++;
    uint64_t kind = next_random(random) % 4;
    size_t first_lost = kind == 1 ? count : (size_t)(next_random(random) % (count + 1));
    for (size_t place = 0; place < count; place++) {
        struct change *change = changes[place];
        bool is_kept = kind == 1 || (kind == 2 && place < first_lost) || (kind == 3 && next_random(random) % 2);
        bool is_torn = kind >= 2 && next_random(random) % 8 == 0;
        if (is_kept || is_torn) redo(file, descriptor, change, is_torn, random);
        else if (change->size_after < change->size_before) forget_unwritten_after(file, change);
        counts[is_torn ? WEIR_SIM_TORN_WRITES : is_kept ? WEIR_SIM_KEPT_WRITES : WEIR_SIM_LOST_WRITES]++;
    }
    free(changes);
    int64_t size = size_of(descriptor);
    for (struct unwritten *place = file->unwritten; place; place = place->next) {
        if (place->offset >= size) continue;
        put(descriptor, place->on_disk, (size_t)smaller(sector, size - place->offset), place->offset);
        counts[WEIR_SIM_UNWRITTEN]++;
    }
    syscall(SYS_close, descriptor);
    forget_changes(file);
}

/// The file is where it was before, and so is what it has replaced.
static void undo_naming(const struct naming *naming) {
    counts[WEIR_SIM_LOST_NAMES]++;
    bool was_removed = strcmp(naming->path, naming->old_path) == 0;
    if (!was_removed && naming->old_path[0]) {
        syscall(SYS_renameat2, AT_FDCWD, naming->path, AT_FDCWD, naming->old_path, 0);
        move_changes(file_at(naming->path), file_at(naming->old_path));
    } else if (!was_removed) {
        syscall(SYS_unlinkat, AT_FDCWD, naming->path, 0);
        forget_changes(file_at(naming->path));
    }
    if (naming->held[0]) {
        syscall(SYS_renameat2, AT_FDCWD, naming->held, AT_FDCWD, naming->path, 0);
        move_changes(file_at(naming->held), file_at(naming->path));
    }
}

/// The last names of a directory that were not synced are lost, and those before them are not.
static void lose_names(const char *directory, uint64_t *random) {
    size_t count = 0;
    for (struct naming *naming = namings; naming; naming = naming->before) count += is_in(naming->path, directory);
    size_t lost = (size_t)(next_random(random) % (count + 1));
    for (struct naming *naming = namings; naming && lost > 0; naming = naming->before)
        if (is_in(naming->path, directory)) {
            undo_naming(naming);
            lost--;
        }
}

void weir_sim_forget_names(const char *directory) {
    pthread_mutex_lock(&lock);
    settle_names(is_in, directory);
    pthread_mutex_unlock(&lock);
}

void weir_sim_lose_power(const char *directory, uint64_t seed, bool loses_names) {
    size_t length = strlen(directory);
    pthread_mutex_lock(&lock);
    counts[WEIR_SIM_POWER_LOSSES]++;
    uint64_t random_of_names = seed ^ 0xA3;
    if (loses_names) lose_names(directory, &random_of_names);
    settle_names(is_in, directory);
    for (struct file *file = files; file; file = file->next) {
        if (strncmp(file->path, directory, length) != 0 || file->path[length] != '/') continue;
        // The order of files must not matter to what becomes of one.
        uint64_t random = seed;
        for (const char *at = file->path + length; *at; at++) random = random * 31 + (uint8_t)*at;
        if (file->first || file->unwritten) lose(file, &random);
        size_t path_length = strlen(file->path);
        char *shared = must(malloc(path_length + 5));
        memcpy(shared, file->path, path_length);
        memcpy(shared + path_length, "-shm", 5);
        syscall(SYS_unlink, shared);
        free(shared);
    }
    pthread_mutex_unlock(&lock);
}

int64_t weir_sim_now(void) { return wall_ns; }

int64_t weir_sim_elapsed(void) { return steady_ns - steady_begin_ns; }

void weir_sim_pass(int64_t nanoseconds) {
    pthread_mutex_lock(&lock);
    wall_ns += nanoseconds;
    steady_ns += nanoseconds;
    pthread_mutex_unlock(&lock);
}

void weir_sim_jump(int64_t nanoseconds) {
    pthread_mutex_lock(&lock);
    wall_ns = larger(0, wall_ns + nanoseconds);
    pthread_mutex_unlock(&lock);
}

uint64_t weir_sim_count(enum weir_sim_event event) { return counts[event]; }

const char *weir_sim_event_name(enum weir_sim_event event) {
    static const char *const names[WEIR_SIM_EVENTS] = {
        [WEIR_SIM_WRITES] = "disk: writes", [WEIR_SIM_SYNCS] = "disk: syncs",
        [WEIR_SIM_CRASHES] = "disk: killed at a call", [WEIR_SIM_WRITE_ERRORS] = "disk: write fails",
        [WEIR_SIM_DISK_FULL] = "disk: full", [WEIR_SIM_SYNC_ERRORS] = "disk: sync fails",
        [WEIR_SIM_READ_ERRORS] = "disk: read fails", [WEIR_SIM_SHORT_READS] = "disk: short read",
        [WEIR_SIM_SHORT_WRITES] = "disk: short write", [WEIR_SIM_LOST_WRITES] = "disk: unsynced write lost",
        [WEIR_SIM_NAME_ERRORS] = "disk: making or renaming a file fails",
        [WEIR_SIM_UNWRITTEN] = "disk: sector lost after its sync failed",
        [WEIR_SIM_LOST_NAMES] = "disk: unsynced name lost", [WEIR_SIM_KEPT_WRITES] = "disk: unsynced write kept", [WEIR_SIM_TORN_WRITES] = "disk: write torn",
        [WEIR_SIM_POWER_LOSSES] = "disk: power lost", [WEIR_SIM_SLEEPS] = "sleeps",
    };
    return event < WEIR_SIM_EVENTS ? names[event] : NULL;
}

#include "Faults.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/// The last faults: at most one damage and one refusal per file. The code that ran the statement asks for them right
/// after the error, perhaps on another thread.
static struct {
    char *path; // NULL when free
    struct weir_fault fault;
    time_t seconds;
    uint64_t number;
} faults[64];
enum { fault_count = sizeof faults / sizeof faults[0] };
static uint64_t noted;
static pthread_mutex_t faults_lock = PTHREAD_MUTEX_INITIALIZER;

/// An older fault belongs to an error that was never reported.
static const time_t longest_seconds = 10;

static time_t now(void) {
    struct timespec time = {0};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

void weir_fault_note(const char *path, struct weir_fault fault) {
    if (path == NULL) return;
    char *copy = strdup(path);
    if (copy == NULL) return;
    pthread_mutex_lock(&faults_lock);
    int place = 0;
    for (int index = 0; index < fault_count; index++) {
        if (faults[index].path != NULL && strcmp(faults[index].path, path) == 0 &&
            weir_fault_is_damage(faults[index].fault) == weir_fault_is_damage(fault)) {
            place = index;
            break;
        }
        if (faults[index].number < faults[place].number) place = index;
    }
    free(faults[place].path);
    faults[place].path = copy;
    faults[place].fault = fault;
    faults[place].seconds = now();
    faults[place].number = ++noted;
    pthread_mutex_unlock(&faults_lock);
}

/// Whether a name is that of a file or of SQLite's companions FILE-wal and FILE-journal.
static bool belongs(const char *name, const char *path) {
    const size_t length = strlen(path);
    return strncmp(name, path, length) == 0 && (name[length] == 0 || name[length] == '-');
}

/// The index of the last recent fault of a file; otherwise -1. Requires the lock.
static int last_fault(const char *path, bool of_page) {
    int last = -1;
    for (int index = 0; index < fault_count; index++) {
        if (faults[index].path == NULL || !belongs(faults[index].path, path)) continue;
        if (now() - faults[index].seconds > longest_seconds) continue;
        if (weir_fault_is_damage(faults[index].fault) != of_page) continue;
        if (last < 0 || faults[index].number > faults[last].number) last = index;
    }
    return last;
}

bool weir_fault_take(const char *path, struct weir_fault *fault) {
    // SQLite's full path, under which faults are noted.
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    if (vfs == NULL) return false;
    char *full = malloc((size_t)vfs->mxPathname + 1);
    if (full == NULL) return false;
    int index = -1;
    const int code = vfs->xFullPathname(vfs, path, vfs->mxPathname + 1, full);
    if (code == SQLITE_OK || code == SQLITE_OK_SYMLINK) {
        pthread_mutex_lock(&faults_lock);
        // After a damaged page, closing the connection may add a refusal.
        index = last_fault(full, true);
        if (index < 0) index = last_fault(full, false);
        if (index >= 0) {
            *fault = faults[index].fault;
            free(faults[index].path);
            faults[index].path = NULL;
            faults[index].number = 0;
        }
        pthread_mutex_unlock(&faults_lock);
    }
    free(full);
    return index >= 0;
}

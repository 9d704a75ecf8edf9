#include "Faults.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/// What went wrong last. An error is turned into words by whoever ran the statement, right after and
/// maybe on another thread.
static struct {
    char *path;
    struct weir_fault fault;
    time_t seconds;
} faults[16];
static size_t next_fault;
static pthread_mutex_t faults_lock = PTHREAD_MUTEX_INITIALIZER;

/// What is older belongs to an error that nobody reported.
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
    free(faults[next_fault].path);
    faults[next_fault].path = copy;
    faults[next_fault].fault = fault;
    faults[next_fault].seconds = now();
    next_fault = (next_fault + 1) % (sizeof faults / sizeof faults[0]);
    pthread_mutex_unlock(&faults_lock);
}

/// Whether a name is that of a file or of what SQLite keeps beside it: FILE-wal, FILE-journal.
static bool belongs(const char *name, const char *path) {
    const size_t length = strlen(path);
    return strncmp(name, path, length) == 0 && (name[length] == 0 || name[length] == '-');
}

/// The last that was noted lately of a file; -1 for nothing. To be called with the lock.
static int last_fault(const char *path, bool of_page) {
    const int count = sizeof faults / sizeof faults[0];
    for (int back = 1; back <= count; back++) {
        const int index = ((int)next_fault + count - back) % count;
        if (faults[index].path == NULL || !belongs(faults[index].path, path)) continue;
        if (now() - faults[index].seconds > longest_seconds) return -1;
        if (weir_fault_is_damage(faults[index].fault) == of_page) return index;
    }
    return -1;
}

bool weir_fault_take(const char *path, struct weir_fault *fault) {
    // SQLite's own idea of the whole path, which is what was noted.
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    if (vfs == NULL) return false;
    char *full = malloc((size_t)vfs->mxPathname + 1);
    if (full == NULL) return false;
    int index = -1;
    const int code = vfs->xFullPathname(vfs, path, vfs->mxPathname + 1, full);
    if (code == SQLITE_OK || code == SQLITE_OK_SYMLINK) {
        pthread_mutex_lock(&faults_lock);
        // A connection that is closed after a damaged page may be refused something as well.
        index = last_fault(full, true);
        if (index < 0) index = last_fault(full, false);
        if (index >= 0) {
            *fault = faults[index].fault;
            free(faults[index].path);
            faults[index].path = NULL;
        }
        pthread_mutex_unlock(&faults_lock);
    }
    free(full);
    return index >= 0;
}

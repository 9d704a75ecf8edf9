#ifndef WEIR_RECOVERY_H
#define WEIR_RECOVERY_H

#include <sqlite3.h>

/// Looks for damage before the end of a write-ahead log that is about to be recovered. Recovery silently stops at the
/// first frame that does not fit.
///
/// `database_page_size` is 0 if unknown. `frame` becomes the number of the damaged frame, from 1; 0 for the log's
/// header, and -1 if no damage is proven. Returns a result code.
int weir_recovery_look(sqlite3_file *log, int database_page_size, sqlite3_int64 *frame);

#endif

#ifndef WEIR_RECOVERY_H
#define WEIR_RECOVERY_H

#include <sqlite3.h>

/// Looks whether a write-ahead log that is about to be recovered is damaged before its end. Recovery takes
/// the frames up to the first that does not fit, and says nothing of those after it.
///
/// `database_page_size` is 0 when it is not known. `frame` becomes the number of the damaged frame, from
/// 1; 0 when it is the header of the log, and -1 when no damage is proven. Returns a result code.
int weir_recovery_look(sqlite3_file *log, int database_page_size, sqlite3_int64 *frame);

#endif

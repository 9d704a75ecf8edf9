import Demonstration
import Foundation

/// The same numbers for the same seed, so that a failure can be repeated.
package typealias SeededGenerator = Demonstration.SeededGenerator

/// A disk that gives other bytes than were written.
package enum DamagedBytes {
    /// Changes one bit or one byte of a file, anywhere, calls `body`, and puts it back; so many times.
    ///
    /// - Parameter body: gets the place of the byte.
    package static func each(
        _ count: Int, in path: String, seed: UInt64, _ body: (Int) throws -> Void
    ) throws {
        var generator = SeededGenerator(seed: seed)
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        var found = stat()
        guard descriptor >= 0, fstat(descriptor, &found) == 0, found.st_size > 0 else {
            throw CocoaError(.fileReadUnknown)
        }
        for round in 0..<count {
            let index = Int.random(in: 0..<Int(found.st_size), using: &generator)
            var byte: UInt8 = 0
            pread(descriptor, &byte, 1, off_t(index))
            var other =
                round % 2 == 0
                ? byte ^ 1 << UInt8.random(in: 0..<8, using: &generator)
                : byte &+ UInt8.random(in: 1...255, using: &generator)
            pwrite(descriptor, &other, 1, off_t(index))
            defer { pwrite(descriptor, &byte, 1, off_t(index)) }
            try body(index)
        }
    }
}
